"""Messages with deadlines over UDP, through the C library of ``crates/due``.

The wheel does not contain the library. Install it from the repository, or name its path in ``DUETIME_DUE``::

    export DUETIME_DUE=$(script/library due)

The first :class:`Socket` loads the library.

    >>> from duetime.due import Socket, random_query
    >>> with Socket("0.0.0.0:0", 10_000_000_000) as socket:
    ...     socket.send("10.0.0.2:7000", b"query", deadline_us=10_000, query=random_query())
    ...     print(socket.receive(timeout=0.01).data)
"""

# Tests of the Rust crates load this module where the native module is not built: it must not import `_native`.

from __future__ import annotations

import ctypes
import os
import weakref
from ctypes import POINTER, c_char, c_char_p, c_int, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from os import PathLike
from typing import Any

from ._errors import DuetimeError
from ._library import SLICE_MS, Library

__all__ = ["DueError", "Message", "Sending", "Socket", "random_query"]


class DueError(DuetimeError):
    """Failed call. The arguments are the library's code and message."""


class _Options(ctypes.Structure):
    """Options of a socket, ``due_options_t``."""

    _fields_ = [("bits_per_second", c_uint64), ("mtu", c_uint32), ("link_file", c_char_p)]


class _Outgoing(ctypes.Structure):
    """Message to send, ``due_outgoing_t``."""

    _fields_ = [
        ("data", c_char_p),
        ("length", c_size_t),
        ("deadline_us", c_uint64),
        ("query", c_uint64),
        ("is_request", c_int),
    ]


class _Incoming(ctypes.Structure):
    """Received message, ``due_incoming_t``."""

    _fields_ = [
        ("data", c_void_p),
        ("length", c_size_t),
        ("time_left_us", c_int64),
        ("query", c_uint64),
        ("sender", c_char * 64),
    ]


_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "due_socket": (c_void_p, c_char_p, POINTER(_Options)),
    "due_port": (c_int, c_void_p),
    "due_send": (c_void_p, c_void_p, c_char_p, POINTER(_Outgoing)),
    "due_answer": (c_void_p, c_void_p, c_void_p, c_char_p, c_size_t),
    "due_wait": (c_int, c_void_p, c_uint64),
    "due_abort": (None, c_void_p),
    "due_release": (None, c_void_p),
    "due_receive": (c_void_p, c_void_p, c_uint64),
    "due_try_receive": (c_void_p, c_void_p),
    "due_incoming_fd": (c_int, c_void_p),
    "due_free": (None, c_void_p),
    "due_random_query": (c_uint64,),
    "due_socket_close": (None, c_void_p),
}
"""Type of the result and of each argument."""

_LIBRARY = Library("due", _FUNCTIONS, blocked=6, error=DueError)


class Message:
    """Received message."""

    sender: str
    """Address and port of the sender, such as ``"10.0.0.2:7000"``."""
    time_left_us: int | None
    """Time until the deadline when the message was received, in microseconds: 0 if it had passed, ``None`` without a deadline."""
    query: int | None
    """Query that the message belongs to."""

    def __init__(self, pointer: int) -> None:
        """Use :meth:`Socket.receive`."""
        self._pointer = pointer
        weakref.finalize(self, _LIBRARY.loaded.due_free, pointer)
        incoming = _Incoming.from_address(pointer)
        self.sender = incoming.sender.decode()
        self.time_left_us = incoming.time_left_us if incoming.time_left_us >= 0 else None
        self.query = incoming.query or None

    @property
    def data(self) -> bytes:
        """Contents. Each access makes a copy."""
        incoming = _Incoming.from_address(self._pointer)
        return ctypes.string_at(incoming.data, incoming.length)


class Sending:
    """Message under way. Without references to it, the message stays under way."""

    def __init__(self, pointer: int) -> None:
        """Use :meth:`Socket.send` or :meth:`Socket.answer`."""
        self._pointer = pointer
        self._release = weakref.finalize(self, _LIBRARY.loaded.due_release, pointer)

    def wait(self, timeout: float | None = None) -> None:
        """Wait until the peer's socket has received the message.

        :param timeout: maximum time in seconds; default: no limit.
        :raises TimeoutError: the time passed, and the message is still under way.
        :raises DueError: the message cannot be delivered, or was abandoned.
        """
        if not self._release.alive:
            raise DueError(1, "the message was abandoned")
        _LIBRARY.wait(timeout, "due_wait", self._pointer, SLICE_MS)

    def abort(self) -> None:
        """Abandon the message. The peer drops what it has received, unless the message was complete."""
        if self._release.detach():
            _LIBRARY.loaded.due_abort(self._pointer)


class Socket:
    """Socket on a UDP address. The end of a ``with`` block closes it."""

    def __init__(
        self, address: str, bits_per_second: int, mtu: int = 1500, link_file: str | PathLike[str] | None = None
    ) -> None:
        """Open a socket.

        :param address: address and port, such as ``"0.0.0.0:7000"``; port 0: any free port.
        :param bits_per_second: rate of the interface.
        :param mtu: largest IP packet, in bytes. Packets are not fragmented.
        :param link_file: file of the sockets that share the interface's link, if it has several (Linux). It is created if it
            does not exist.
        :raises OSError: the C library cannot be loaded.
        :raises DueError: the address is invalid or in use, or the file cannot be used.
        """
        options = _Options(bits_per_second, mtu, None if link_file is None else os.fsencode(link_file))
        self._pointer: int = _LIBRARY.call("due_socket", address.encode(), options)

    def __enter__(self) -> Socket:
        return self

    def __exit__(self, *_: object) -> None:
        _LIBRARY.loaded.due_socket_close(self._pointer)

    def port(self) -> int:
        """Return the port of the socket."""
        port: int = _LIBRARY.call("due_port", self._pointer)
        return port

    def send(
        self, peer: str, data: bytes, *, deadline_us: int = 0, query: int | None = None, is_request: bool = False
    ) -> Sending:
        """Submit a message. Waits while too many bytes are under way.

        :param peer: address and port of the receiver.
        :param data: contents.
        :param deadline_us: time until the deadline, in microseconds; 0: none.
        :param query: query that the message belongs to, from :func:`random_query`.
        :param is_request: true for a short message without a deadline that another host waits for.
        """
        message = _Outgoing(data, len(data), deadline_us, query or 0, is_request)
        return Sending(_LIBRARY.call("due_send", self._pointer, peer.encode(), message))

    def answer(self, message: Message, data: bytes) -> Sending:
        """Submit an answer to the sender of a message, with its query and deadline."""
        return Sending(_LIBRARY.call("due_answer", self._pointer, message._pointer, data, len(data)))

    def receive(self, timeout: float | None = None) -> Message:
        """Wait for the next message and return it.

        :param timeout: maximum time in seconds; 0: do not wait; default: no limit.
        :raises TimeoutError: the time passed.
        """
        if timeout == 0:
            return Message(_LIBRARY.attempt("due_try_receive", self._pointer))
        return Message(_LIBRARY.wait(timeout, "due_receive", self._pointer, SLICE_MS))

    def fileno(self) -> int:
        """Return a descriptor for ``select``, ``selectors`` and ``asyncio``.

        It is readable when ``receive(timeout=0)`` may succeed. After a report, receive until :class:`TimeoutError`.
        """
        descriptor: int = _LIBRARY.call("due_incoming_fd", self._pointer)
        return descriptor


def random_query() -> int:
    """Draw the number of a query, so that only its workers know it."""
    query: int = _LIBRARY.loaded.due_random_query()
    return query
