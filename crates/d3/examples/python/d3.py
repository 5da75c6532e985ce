"""D3 sockets for Python with ctypes; see duetime_d3(3) for the calls.

DUETIME_D3 is the path of the library, which this command builds:
cargo rustc --release -p duetime-d3 --features c --crate-type cdylib
"""

import ctypes
import os
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_ssize_t, c_uint64, c_void_p

D3 = ctypes.CDLL(os.environ.get("DUETIME_D3", "target/release/libduetime_d3.so"))


class Statistics(ctypes.Structure):
    """Statistics of a stream."""

    NAMES = ("granted_bps", "requests", "retransmissions", "acked", "received")
    _fields_ = [(name, c_uint64) for name in NAMES] + [("exceeded", c_int)]


FUNCTIONS = {
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
for name, (result, *arguments) in FUNCTIONS.items():
    getattr(D3, name).restype, getattr(D3, name).argtypes = result, arguments


class D3Error(Exception):
    """Failed call, with the library's code and message."""


def call(function, *arguments):
    """Calls a function of the library and raises D3Error if it fails."""
    result = function(*arguments)
    if result is None and function.restype is c_void_p or result == -1:
        raise D3Error(D3.d3_error(), D3.d3_message().decode())
    return result


class Stream:
    """Bidirectional stream; each direction is a flow with a length and a deadline in microseconds (0: none)."""

    def __init__(self, pointer):
        self.pointer = pointer

    def __enter__(self):
        return self

    def __exit__(self, *_):
        call(D3.d3_close, self.pointer)

    def open(self, length, deadline_us=0):
        call(D3.d3_open, self.pointer, length, deadline_us)

    def send(self, data):
        call(D3.d3_send, self.pointer, data, len(data))

    def finish(self):
        call(D3.d3_finish, self.pointer)

    def read(self):
        """Reads to the end of the peer's flow."""
        parts, buffer = [], ctypes.create_string_buffer(1 << 16)
        while length := call(D3.d3_recv, self.pointer, buffer, len(buffer)):
            parts.append(buffer.raw[:length])
        return b"".join(parts)

    def statistics(self):
        filled = Statistics()
        call(D3.d3_statistics, self.pointer, filled)
        return filled


class Socket:
    """Endpoint on an interface with a rate, optionally with the rate of the network's slowest link. Accepts streams if
    backlog is above zero."""

    def __init__(self, address, bits_per_second, backlog=0, slowest_bits_per_second=None):
        slowest = slowest_bits_per_second or bits_per_second
        self.pointer = call(D3.d3_socket_slowest, address.encode(), bits_per_second, slowest, backlog)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        D3.d3_socket_close(self.pointer)

    def port(self):
        return call(D3.d3_port, self.pointer)

    def connect(self, address, length, deadline_us=0):
        return Stream(call(D3.d3_connect, self.pointer, address.encode(), length, deadline_us))

    def accept(self):
        return Stream(call(D3.d3_accept, self.pointer))
