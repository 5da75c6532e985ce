"""Deadlines for messages of a TCP socket with the kernel's congestion control ``duetime_d2tcp`` (Linux).

    >>> from duetime import deadline
    >>> sock = socket.socket()
    >>> deadline.choose(sock)                       # before connect() or listen(), at both ends
    >>> sock.connect(("10.0.0.2", 9000))
    >>> deadline.set_deadline(sock, 10_240, 0.035)  # the next 10,240 bytes, within 35 ms
    >>> sock.sendall(message)
    >>> print(deadline.status(sock))

``duetime kernel attach`` loads the congestion control. Programs that use it need no privileges. Errors are ``OSError`` with
the codes in ``docs/d2tcp.md``.
"""

# Tests of the Rust crates load this module where the native module is not built: it must not import `_native`.

from __future__ import annotations

import socket
import struct
from typing import NamedTuple

__all__ = ["CLEAR", "DUETIME_DEADLINE", "SOL_DUETIME", "Status", "choose", "clear", "set_deadline", "status"]

SOL_DUETIME = 53970
"""Level of the socket option."""
DUETIME_DEADLINE = 1
"""Number of the socket option."""
CLEAR = 1
"""Flag of the option: forget the announced messages."""

_DEADLINE = struct.Struct("=QQII")
_STATUS = struct.Struct("=QqIIQII")


class Status(NamedTuple):
    """Kernel state of a socket's message and congestion controller."""

    remaining_bytes: int
    """Unacknowledged bytes of the first announced message; 0 without one."""
    left_s: float
    """Time until the deadline of this message, in seconds; negative if it has passed."""
    alpha: float
    """Average marked fraction."""
    messages: int
    """Number of announced and unacknowledged messages."""
    imminence: float
    """Imminence d that a mark would use now."""
    marks: int
    """Number of packets acknowledged with a mark."""
    reductions: int
    """Number of window reductions by marks."""


def choose(sock: socket.socket, name: str = "duetime_d2tcp") -> None:
    """Select the congestion control. Do so at both ends before connecting, or ECN is not negotiated.

    :param name: ``duetime_d2tcp`` or ``duetime_dctcp``.
    """
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())


def set_deadline(sock: socket.socket, length: int, within_s: float) -> None:
    """Announce the next message: the next bytes written, with their deadline.

    :param length: length of the message in bytes, at most 2³⁷.
    :param within_s: time until the deadline, in seconds, at most one day.
    """
    if length < 0 or within_s < 0:
        raise ValueError("length and time must not be negative")
    value = _DEADLINE.pack(length, round(within_s * 1e6), 0, 0)
    sock.setsockopt(SOL_DUETIME, DUETIME_DEADLINE, value)


def clear(sock: socket.socket) -> None:
    """Forget the announced messages."""
    sock.setsockopt(SOL_DUETIME, DUETIME_DEADLINE, _DEADLINE.pack(0, 0, CLEAR, 0))


def status(sock: socket.socket) -> Status:
    """Return the state of the socket's message and controller."""
    value = sock.getsockopt(SOL_DUETIME, DUETIME_DEADLINE, _STATUS.size)
    remaining, left_us, alpha, messages, imminence, marks, reductions = _STATUS.unpack(value)
    return Status(remaining, left_us / 1e6, alpha / 2**20, messages, imminence / 2**16, marks, reductions)
