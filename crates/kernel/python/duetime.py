"""Deadlines for messages of a TCP socket with the congestion control duetime_d2tcp (Linux).

    sock = socket.socket()
    duetime.choose(sock)                      # before connect() or listen(), at both ends
    sock.connect(("10.0.0.2", 9000))
    duetime.set_deadline(sock, 10_240, 0.035) # the next 10,240 bytes, within 35 ms
    sock.sendall(message)
    print(duetime.status(sock))

No privilege is required. Errors are OSError with the codes in include/duetime.h.
"""

import socket
import struct
from typing import NamedTuple

SOL_DUETIME = 53970
DUETIME_DEADLINE = 1
CLEAR = 1

_DEADLINE = struct.Struct("=QQII")
_STATUS = struct.Struct("=QqIIQII")


class Status(NamedTuple):
    """Kernel state of a socket's message and congestion controller."""

    remaining_bytes: int  # unacknowledged, of the first announced message; 0 without one
    left_s: float  # until its deadline; negative if it has passed
    alpha: float  # average marked fraction
    messages: int  # announced and unacknowledged
    imminence: float  # d that a mark would use now
    marks: int  # packets acknowledged with a mark
    reductions: int  # window reductions by marks


def choose(sock: socket.socket, name: str = "duetime_d2tcp") -> None:
    """Selects the congestion control. Do so at both ends before connecting, or ECN is not negotiated."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())


def set_deadline(sock: socket.socket, length: int, within_s: float) -> None:
    """Announces the next message: the next `length` bytes written, due in `within_s` seconds."""
    if length < 0 or within_s < 0:
        raise ValueError("length and time must not be negative")
    value = _DEADLINE.pack(length, round(within_s * 1e6), 0, 0)
    sock.setsockopt(SOL_DUETIME, DUETIME_DEADLINE, value)


def clear(sock: socket.socket) -> None:
    """Forgets the announced messages."""
    sock.setsockopt(SOL_DUETIME, DUETIME_DEADLINE, _DEADLINE.pack(0, 0, CLEAR, 0))


def status(sock: socket.socket) -> Status:
    """Reads the state of the socket's message and controller."""
    value = sock.getsockopt(SOL_DUETIME, DUETIME_DEADLINE, _STATUS.size)
    remaining, left_us, alpha, messages, imminence, marks, reductions = _STATUS.unpack(value)
    return Status(remaining, left_us / 1e6, alpha / 2**20, messages, imminence / 2**16, marks, reductions)
