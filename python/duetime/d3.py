"""D3 streams over UDP, through the C library of ``crates/d3``.

The wheel does not contain the library. Build it in the repository and name its path in ``DUETIME_D3``::

    cargo rustc --release -p duetime-d3 --features c --crate-type cdylib
    export DUETIME_D3=$PWD/target/release/libduetime_d3.so

Without the variable, the path is ``target/release/libduetime_d3.so`` in the current directory. The first :class:`Socket` loads
the library.

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
import functools
import os
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_ssize_t, c_uint64, c_void_p
from typing import Any

from ._errors import DuetimeError

__all__ = ["D3Error", "Socket", "Statistics", "Stream"]

_DEFAULT_PATH = "target/release/libduetime_d3.so"


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


_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "d3_socket_slowest": (c_void_p, c_char_p, c_uint64, c_uint64, c_int),
    "d3_port": (c_int, c_void_p),
    "d3_connect": (c_void_p, c_void_p, c_char_p, c_uint64, c_uint64),
    "d3_accept": (c_void_p, c_void_p),
    "d3_open": (c_int, c_void_p, c_uint64, c_uint64),
    "d3_send": (c_ssize_t, c_void_p, c_char_p, c_size_t),
    "d3_recv": (c_ssize_t, c_void_p, c_char_p, c_size_t),
    "d3_finish": (c_int, c_void_p),
    "d3_close": (c_int, c_void_p),
    "d3_statistics": (c_int, c_void_p, POINTER(Statistics)),
    "d3_socket_close": (None, c_void_p),
    "d3_error": (c_int,),
    "d3_message": (c_char_p,),
}
"""Type of the result and of each argument."""


class Stream:
    """Bidirectional stream; each direction is a flow with a length and a deadline.

    At the end of a ``with`` block, the flow is finished, and the stream is closed after the peer has received the flow.
    """

    def __init__(self, pointer: int) -> None:
        """Use :meth:`Socket.connect` or :meth:`Socket.accept`."""
        self._pointer = pointer

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        _call("d3_close", self._pointer)

    def open(self, length: int, deadline_us: int = 0) -> None:
        """Declare the outgoing flow of an accepted stream.

        :param length: length in bytes.
        :param deadline_us: time until the deadline, in microseconds; 0: none.
        """
        _call("d3_open", self._pointer, length, deadline_us)

    def send(self, data: bytes) -> None:
        """Send all bytes. Waits for space in the send buffer."""
        _call("d3_send", self._pointer, data, len(data))

    def finish(self) -> None:
        """End the outgoing flow. The peer can still send."""
        _call("d3_finish", self._pointer)

    def read(self) -> bytes:
        """Return the peer's bytes up to the end of its flow."""
        parts: list[bytes] = []
        buffer = ctypes.create_string_buffer(1 << 16)
        while length := _call("d3_recv", self._pointer, buffer, len(buffer)):
            parts.append(buffer.raw[:length])
        return b"".join(parts)

    def statistics(self) -> Statistics:
        """Return the statistics of the stream."""
        filled = Statistics()
        _call("d3_statistics", self._pointer, filled)
        return filled


class Socket:
    """Endpoint on a UDP address. The end of a ``with`` block closes it."""

    def __init__(
        self,
        address: str,
        bits_per_second: int,
        backlog: int = 0,
        slowest_bits_per_second: int | None = None,
    ) -> None:
        """Create an endpoint.

        :param address: address and port, such as ``"0.0.0.0:7000"``; port 0: any free port.
        :param bits_per_second: rate of the interface.
        :param backlog: maximum number of streams that wait for :meth:`accept`; 0: do not accept streams.
        :param slowest_bits_per_second: rate of the network's slowest link; default: the interface's rate. All endpoints and
            routers of a network must use the same.
        :raises OSError: the C library cannot be loaded.
        :raises D3Error: the address is invalid or in use.
        """
        slowest = slowest_bits_per_second or bits_per_second
        self._pointer: int = _call("d3_socket_slowest", address.encode(), bits_per_second, slowest, backlog)

    def __enter__(self) -> Socket:
        return self

    def __exit__(self, *_: object) -> None:
        _library().d3_socket_close(self._pointer)

    def port(self) -> int:
        """Return the port of the endpoint."""
        port: int = _call("d3_port", self._pointer)
        return port

    def connect(self, address: str, length: int, deadline_us: int = 0) -> Stream:
        """Open a stream to a peer.

        :param address: address and port of the peer.
        :param length: length of the outgoing flow, in bytes.
        :param deadline_us: time until the flow's deadline, in microseconds; 0: none.
        """
        return Stream(_call("d3_connect", self._pointer, address.encode(), length, deadline_us))

    def accept(self) -> Stream:
        """Wait for a stream from a peer and return it."""
        return Stream(_call("d3_accept", self._pointer))


@functools.cache
def _library() -> ctypes.CDLL:
    """Load the C library and declare its functions."""
    path = os.environ.get("DUETIME_D3", _DEFAULT_PATH)
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise OSError(
            f"cannot load the C library of D3: {error}\n"
            "   help: build it with `cargo rustc --release -p duetime-d3 --features c --crate-type cdylib`,"
            " and set DUETIME_D3 to its path"
        ) from None
    for name, (result, *arguments) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def _call(name: str, *arguments: object) -> Any:
    """Call a function of the library and raise :class:`D3Error` if it fails."""
    library = _library()
    result = getattr(library, name)(*arguments)
    if result is None or result == -1:
        raise D3Error(library.d3_error(), library.d3_message().decode())
    return result
