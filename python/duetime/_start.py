"""Calls on a background thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import CancelledError
from typing import Any, Generic, ParamSpec, TypeVar

from ._types import Event

P = ParamSpec("P")
T = TypeVar("T")


class Run(Generic[T]):
    """A call of :func:`run`, :func:`sweep` or :func:`capacity` on another thread, created by :func:`start`."""

    def __init__(self, call: Callable[..., T], arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        """Start the call on a new thread."""
        progress = named.get("progress")
        if isinstance(progress, bool) or progress is None:
            progress = None
        self._callback: Callable[[Event], object] | None = progress
        self._stop = threading.Event()
        self._ended = threading.Event()
        self._value: T | None = None
        self._error: BaseException | None = None
        self._call: Callable[[], T] = lambda: call(*arguments, **{**named, "progress": self._on})
        # Not a daemon thread: the interpreter waits for it at exit, because it cannot be stopped within Rust.
        threading.Thread(target=self._work, name="duetime").start()

    def _work(self) -> None:
        try:
            self._value = self._call()
        except BaseException as error:
            self._error = error
        finally:
            self._ended.set()

    def _on(self, event: Event) -> None:
        if self._stop.is_set():
            raise CancelledError
        if self._callback is not None:
            self._callback(event)

    def done(self) -> bool:
        """Return true if the call has returned, failed or was cancelled."""
        return self._ended.is_set()

    def cancelled(self) -> bool:
        """Return true if the call was ended by :meth:`cancel`."""
        return self.done() and isinstance(self._error, CancelledError)

    def cancel(self) -> None:
        """Stop the call at its next event, which comes within a second, and return immediately.

        Finished runs stay in ``out``, and the same call continues from there. A call that is already writing its summary ends
        normally.
        """
        self._stop.set()

    def result(self, timeout: float | None = None) -> T:
        """Wait for the call and return its result or raise its exception. Ctrl-C while waiting cancels the call.

        :param timeout: seconds to wait; default: until the call ends.
        :raises TimeoutError: the call has not ended.
        :raises concurrent.futures.CancelledError: the call was cancelled.
        """
        try:
            ended = self._ended.wait(timeout)
        except KeyboardInterrupt:
            self.cancel()
            raise
        if not ended:
            raise TimeoutError(f"not done after {timeout:g} s")
        if self._error is not None:
            raise self._error
        value: Any = self._value
        result: T = value
        return result

    def __repr__(self) -> str:
        state = "cancelled" if self.cancelled() else "done" if self.done() else "running"
        return f"<Run: {state}>"


def start(call: Callable[P, T], /, *arguments: P.args, **named: P.kwargs) -> Run[T]:
    """Start a call of :func:`run`, :func:`sweep` or :func:`capacity` on another thread, and return immediately.

        >>> at_work = duetime.start(duetime.run, scenario, seeds=20, out="out/long")
        >>> at_work.cancel()

    No progress bar is shown. ``progress`` may be a function, which is called on the other thread.
    """
    return Run(call, arguments, dict(named))
