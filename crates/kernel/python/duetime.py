"""Deadlines for the messages of a TCP socket, under the congestion control duetime_d2tcp (Linux).

    sock = socket.socket()
    duetime.choose(sock)                      # before connect() or listen(), at both ends
    sock.connect(("10.0.0.2", 9000))
    duetime.set_deadline(sock, 10_240, 0.035) # the next 10,240 bytes, within 35 ms
    sock.sendall(message)
    print(duetime.status(sock))

No privilege is needed. Errors are OSError, with the numbers that include/duetime.h describes.
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
    """What the kernel knows of a socket's message and of its congestion controller."""

    remaining_bytes: int  # of the first announced message; 0 without a message
    left_s: float  # until its deadline; negative when it has passed
    alpha: float  # the average marked fraction
    messages: int  # announced and not acknowledged
    imminence: float  # d, as it would be for a mark now
    marks: int  # packets acknowledged with a mark
    reductions: int  # of the window, because of marks


def choose(sock: socket.socket, name: str = "duetime_d2tcp") -> None:
    """Chooses the congestion control. Both ends must, before the connection is made, or ECN is not negotiated."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())


def set_deadline(sock: socket.socket, length: int, within_s: float) -> None:
    """Announces the next message: the next `length` bytes written, due in `within_s` seconds."""
    if length < 0 or within_s < 0:
        raise ValueError("a length and a time are not negative")
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
