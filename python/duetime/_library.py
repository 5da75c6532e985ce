"""C libraries of the transports, which the wheel does not contain."""

# Tests of the Rust crates load this module where the native module is not built: it must not import `_native`.

from __future__ import annotations

import ctypes
import functools
import os
import time
from typing import Any

from ._errors import DuetimeError

SLICE_MS = 100
"""Maximum time of a waiting call of a library, so that Ctrl-C ends a wait."""


class Library:
    """C library of a transport, loaded at the first call."""

    def __init__(
        self, transport: str, functions: dict[str, tuple[Any, ...]], blocked: int, error: type[DuetimeError]
    ) -> None:
        """Describe a library.

        :param transport: name of the transport, such as ``"d3"``, with which the functions begin.
        :param functions: type of the result and of each argument, by name; ``_error`` and ``_message`` are added.
        :param blocked: code of a wait whose time has passed.
        :param error: exception for failed calls, with the library's code and message.
        """
        self._transport = transport
        self._functions = functions | {f"{transport}_error": (ctypes.c_int,), f"{transport}_message": (ctypes.c_char_p,)}
        self._blocked = blocked
        self._error = error

    @functools.cached_property
    def loaded(self) -> ctypes.CDLL:
        """The library, with the types of its functions."""
        variable = f"DUETIME_{self._transport.upper()}"
        path = os.environ.get(variable, f"libduetime_{self._transport}.so")
        try:
            library = ctypes.CDLL(path)
        except OSError as error:
            raise OSError(
                f"cannot load the C library of {self._transport}: {error}\n"
                f"   help: build it in the repository with `script/library {self._transport}`, which prints its path, and set"
                f" {variable} to the path"
            ) from None
        for name, (result, *arguments) in self._functions.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
        return library

    def call(self, name: str, *arguments: object) -> Any:
        """Call a function and raise the transport's exception if it fails."""
        result = getattr(self.loaded, name)(*arguments)
        if result is None or result == -1:
            code = getattr(self.loaded, f"{self._transport}_error")()
            message = getattr(self.loaded, f"{self._transport}_message")()
            raise self._error(code, message.decode())
        return result

    def attempt(self, name: str, *arguments: object) -> Any:
        """Call a function that does not wait.

        :raises TimeoutError: the call would wait.
        """
        try:
            return self.call(name, *arguments)
        except DuetimeError as error:
            if error.args[0] != self._blocked:
                raise
        raise TimeoutError("the call would wait")

    def wait(self, timeout: float | None, name: str, *arguments: object) -> Any:
        """Repeat a call that waits for at most :data:`SLICE_MS`, until it succeeds.

        :param timeout: maximum time in seconds; ``None``: no limit.
        :raises TimeoutError: the time passed.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            try:
                return self.attempt(name, *arguments)
            except TimeoutError:
                pass
            if end is not None and time.monotonic() >= end:
                raise TimeoutError("the time of the call passed")
