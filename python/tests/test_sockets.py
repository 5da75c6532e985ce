"""Modules for real sockets, without the kernel's controllers and the C libraries. Tests of the Rust crates use both."""

from __future__ import annotations

import socket
import struct
from pathlib import Path

import pytest

import duetime
from duetime import d3, deadline, due


class Recorder(socket.socket):
    """Socket that records the option it is given and returns a fixed status."""

    option: tuple[object, ...] = ()
    status = b""

    def setsockopt(self, *option: object) -> None:
        """Record the option."""
        self.option = option

    def getsockopt(self, level: int, name: int, length: int = 0) -> bytes:  # type: ignore[override]
        """Return the status."""
        assert (level, name, length) == (deadline.SOL_DUETIME, deadline.DUETIME_DEADLINE, len(self.status))
        return self.status


def test_deadline_fills_option() -> None:
    with Recorder() as sock:
        deadline.choose(sock)
        assert sock.option == (socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"duetime_d2tcp")
        deadline.set_deadline(sock, 10_240, 0.035)
        assert sock.option == (53970, 1, struct.pack("=QQII", 10_240, 35_000, 0, 0))
        deadline.clear(sock)
        assert sock.option == (53970, 1, struct.pack("=QQII", 0, 0, 1, 0))
        for wrong in ((-1, 0.035), (10_240, -0.035)):
            with pytest.raises(ValueError, match="negative"):
                deadline.set_deadline(sock, *wrong)


def test_status_has_units() -> None:
    with Recorder() as sock:
        sock.status = struct.pack("=QqIIQII", 10_240, -2_500, 1 << 19, 3, 3 << 15, 7, 2)
        assert deadline.status(sock) == deadline.Status(10_240, -0.0025, 0.5, 3, 1.5, 7, 2)


def test_missing_library_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUETIME_D3", str(tmp_path / "none.so"))
    with pytest.raises(OSError, match=r"none\.so(.|\n)*script/library d3.*set DUETIME_D3"):
        d3.Socket("127.0.0.1:0", 1_000_000_000)
    monkeypatch.delenv("DUETIME_D3")
    with pytest.raises(OSError, match=r"libduetime_d3\.so"):
        d3.Socket("127.0.0.1:0", 1_000_000_000)
    with pytest.raises(OSError, match=r"libduetime_due(.|\n)*script/library due.*set DUETIME_DUE"):
        due.Socket("127.0.0.1:0", 1_000_000_000)


def test_error_is_error_of_package() -> None:
    assert issubclass(d3.D3Error, duetime.DuetimeError)
    assert issubclass(due.DueError, duetime.DuetimeError)
