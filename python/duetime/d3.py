"""D3 streams over UDP, through the C library of ``crates/d3``.

The wheel does not contain the library. Install it from the repository, or name its path in ``DUETIME_D3``::

    export DUETIME_D3=$(script/library d3)

The first :class:`Socket` loads the library.

    >>> from duetime.d3 import Socket
    >>> with Socket("0.0.0.0:0", 10_000_000_000) as socket:
    ...     with socket.connect("10.0.0.2:7000", 5, 10_000) as stream:  # 5 bytes within 10 ms
    ...         stream.send(b"query")
    ...         stream.finish()
    ...         print(stream.read())
"""

# Tests of the Rust crates load this module where the native module is not built: it must not import `_native`.

from __future__ import annotations

import ctypes
import time
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_ssize_t, c_uint32, c_uint64, c_void_p
from typing import Any

from ._errors import DuetimeError
from ._library import SLICE_MS, Library

__all__ = ["D3Error", "Socket", "Statistics", "Stream"]

class D3Error(DuetimeError):
    """Failed call. The arguments are the library's code and message."""


class Statistics(ctypes.Structure):
    """Statistics of a stream."""

    granted_bps: int
    """Rate granted for the current round trip, in bits per second."""
    requests: int
    """Number of rate requests sent."""
    retransmissions: int
    """Number of data packets retransmitted."""
    acked: int
    """Number of bytes acknowledged by the peer."""
    received: int
    """Number of bytes received in order."""
    exceeded: int
    """1 if more bytes were sent than declared, otherwise 0."""

    _fields_ = [
        ("granted_bps", c_uint64),
        ("requests", c_uint64),
        ("retransmissions", c_uint64),
        ("acked", c_uint64),
        ("received", c_uint64),
        ("exceeded", c_int),
    ]


class _Options(ctypes.Structure):
    """Options of a socket, ``d3_options_t``."""

    _fields_ = [
        ("bits_per_second", c_uint64),
        ("slowest_bits_per_second", c_uint64),
        ("mtu", c_uint32),
        ("backlog", c_int),
    ]


_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "d3_socket_with": (c_void_p, c_char_p, POINTER(_Options)),
    "d3_port": (c_int, c_void_p),
    "d3_connect": (c_void_p, c_void_p, c_char_p, c_uint64, c_uint64),
    "d3_accept_within": (c_void_p, c_void_p, c_uint64),
    "d3_try_accept": (c_void_p, c_void_p),
    "d3_incoming_fd": (c_int, c_void_p),
    "d3_open": (c_int, c_void_p, c_uint64, c_uint64),
    "d3_set_timeouts": (c_int, c_void_p, c_uint64, c_uint64),
    "d3_peer": (c_int, c_void_p, c_char_p, c_size_t),
    "d3_send": (c_ssize_t, c_void_p, c_void_p, c_size_t),
    "d3_recv": (c_ssize_t, c_void_p, c_char_p, c_size_t),
    "d3_try_send": (c_ssize_t, c_void_p, c_void_p, c_size_t),
    "d3_try_recv": (c_ssize_t, c_void_p, c_char_p, c_size_t),
    "d3_changed_fd": (c_int, c_void_p),
    "d3_finish": (c_int, c_void_p),
    "d3_abort": (c_int, c_void_p),
    "d3_close": (c_int, c_void_p),
    "d3_statistics": (c_int, c_void_p, POINTER(Statistics)),
    "d3_socket_close": (None, c_void_p),
}
"""Type of the result and of each argument."""

_LIBRARY = Library("d3", _FUNCTIONS, blocked=13, error=D3Error)


class Stream:
    """Bidirectional stream; each direction is a flow with a length and a deadline.

    At the end of a ``with`` block, the flow is finished, and the stream is closed after the peer has received the flow. If an
    exception ends the block, the flow is aborted.
    """

    def __init__(self, pointer: int) -> None:
        """Use :meth:`Socket.connect` or :meth:`Socket.accept`."""
        self._pointer = pointer
        self._is_aborted = False
        _LIBRARY.call("d3_set_timeouts", pointer, SLICE_MS, SLICE_MS)

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            _LIBRARY.loaded.d3_abort(self._pointer)
        if kind is not None or self._is_aborted:
            # It cannot deliver the flow, but frees the stream.
            _LIBRARY.loaded.d3_close(self._pointer)
        else:
            _LIBRARY.call("d3_close", self._pointer)

    def open(self, length: int, deadline_us: int = 0) -> None:
        """Declare the outgoing flow of an accepted stream.

        :param length: length in bytes.
        :param deadline_us: time until the deadline, in microseconds; 0: none.
        """
        _LIBRARY.call("d3_open", self._pointer, length, deadline_us)

    def peer(self) -> str:
        """Return the peer's address and port, such as ``"10.0.0.2:7000"``."""
        out = ctypes.create_string_buffer(64)
        _LIBRARY.call("d3_peer", self._pointer, out, len(out))
        return out.value.decode()

    def send(self, data: bytes, timeout: float | None = None) -> None:
        """Send all bytes. Waits for space in the send buffer.

        :param timeout: maximum time in seconds; default: no limit.
        :raises TimeoutError: the time passed. Part of the bytes may have been sent.
        """
        end = None if timeout is None else time.monotonic() + timeout
        buffer = ctypes.create_string_buffer(data, len(data))
        sent = 0
        while sent < len(data):
            left = None if end is None else max(0.0, end - time.monotonic())
            sent += _LIBRARY.wait(left, "d3_send", self._pointer, ctypes.byref(buffer, sent), len(data) - sent)

    def finish(self) -> None:
        """End the outgoing flow. The peer can still send."""
        _LIBRARY.call("d3_finish", self._pointer)

    def abort(self) -> None:
        """Abort the outgoing flow. Unsent bytes are dropped, and the peer gets an error."""
        _LIBRARY.call("d3_abort", self._pointer)
        self._is_aborted = True

    def receive(self, length: int = 1 << 16, timeout: float | None = None) -> bytes:
        """Return at least one byte of the peer and at most ``length``, or ``b""`` at the end of its flow.

        :param timeout: maximum time in seconds; 0: do not wait; default: no limit.
        :raises TimeoutError: the time passed.
        """
        buffer = ctypes.create_string_buffer(length)
        received: int
        if timeout == 0:
            received = _LIBRARY.attempt("d3_try_recv", self._pointer, buffer, length)
        else:
            received = _LIBRARY.wait(timeout, "d3_recv", self._pointer, buffer, length)
        return buffer.raw[:received]

    def try_send(self, data: bytes) -> int:
        """Send the bytes that the send buffer has space for, without waiting, and return their number.

        :raises TimeoutError: there is no space.
        """
        sent: int = _LIBRARY.attempt("d3_try_send", self._pointer, data, len(data))
        return sent

    def fileno(self) -> int:
        """Return a descriptor for ``select``, ``selectors`` and ``asyncio``.

        It is readable when ``receive(timeout=0)`` or :meth:`try_send` may succeed. After a report, call them until
        :class:`TimeoutError`.
        """
        descriptor: int = _LIBRARY.call("d3_changed_fd", self._pointer)
        return descriptor

    def read(self, timeout: float | None = None) -> bytes:
        """Return the peer's bytes up to the end of its flow.

        :param timeout: maximum time between bytes in seconds; default: no limit.
        :raises TimeoutError: the time passed. The bytes before are lost; use :meth:`receive` to keep them.
        """
        parts: list[bytes] = []
        while part := self.receive(timeout=timeout):
            parts.append(part)
        return b"".join(parts)

    def statistics(self) -> Statistics:
        """Return the statistics of the stream."""
        filled = Statistics()
        _LIBRARY.call("d3_statistics", self._pointer, filled)
        return filled


class Socket:
    """Endpoint on a UDP address. The end of a ``with`` block closes it."""

    def __init__(
        self,
        address: str,
        bits_per_second: int,
        backlog: int = 0,
        slowest_bits_per_second: int | None = None,
        mtu: int = 1500,
    ) -> None:
        """Create an endpoint.

        :param address: address and port, such as ``"0.0.0.0:7000"``; port 0: any free port.
        :param bits_per_second: rate of the interface.
        :param backlog: maximum number of streams that wait for :meth:`accept`; 0: do not accept streams.
        :param slowest_bits_per_second: rate of the network's slowest link; default: the interface's rate. All endpoints and
            routers of a network must use the same.
        :param mtu: largest IP packet, in bytes. Packets are not fragmented.
        :raises OSError: the C library cannot be loaded.
        :raises D3Error: the address is invalid or in use.
        """
        options = _Options(bits_per_second, slowest_bits_per_second or 0, mtu, backlog)
        self._pointer: int = _LIBRARY.call("d3_socket_with", address.encode(), options)

    def __enter__(self) -> Socket:
        return self

    def __exit__(self, *_: object) -> None:
        _LIBRARY.loaded.d3_socket_close(self._pointer)

    def port(self) -> int:
        """Return the port of the endpoint."""
        port: int = _LIBRARY.call("d3_port", self._pointer)
        return port

    def connect(self, address: str, length: int, deadline_us: int = 0) -> Stream:
        """Open a stream to a peer.

        :param address: address and port of the peer.
        :param length: length of the outgoing flow, in bytes.
        :param deadline_us: time until the flow's deadline, in microseconds; 0: none.
        """
        return Stream(_LIBRARY.call("d3_connect", self._pointer, address.encode(), length, deadline_us))

    def accept(self, timeout: float | None = None) -> Stream:
        """Wait for a stream from a peer and return it.

        :param timeout: maximum time in seconds; 0: do not wait; default: no limit.
        :raises TimeoutError: the time passed.
        """
        if timeout == 0:
            return Stream(_LIBRARY.attempt("d3_try_accept", self._pointer))
        return Stream(_LIBRARY.wait(timeout, "d3_accept_within", self._pointer, SLICE_MS))

    def fileno(self) -> int:
        """Return a descriptor for ``select``, ``selectors`` and ``asyncio``.

        It is readable when ``accept(timeout=0)`` may succeed. After a report, accept until :class:`TimeoutError`.
        """
        descriptor: int = _LIBRARY.call("d3_incoming_fd", self._pointer)
        return descriptor
