"""Checks the option. option.rs runs `option.py inside|outside MODULES` as root; it drops its privileges first."""

import errno
import os
import socket
import struct
import sys
import types

where, modules = sys.argv[1:]
sys.dont_write_bytecode = True
# The package without its native module, which is not built here.
package = types.ModuleType("duetime")
package.__path__ = [modules]
sys.modules["duetime"] = package
from duetime import deadline  # noqa: E402

os.setgroups([])
os.setgid(65534)
os.setuid(65534)

GOOD = struct.pack("=QQII", 10_240, 35_000, 0, 0)


def refused(number, sock, *value):
    try:
        sock.setsockopt(deadline.SOL_DUETIME, deadline.DUETIME_DEADLINE, *value)
    except OSError as error:
        assert error.errno == number, (value, error, errno.errorcode[number])
    else:
        raise AssertionError((value, "was accepted"))


def packed(length, within_us, flags=0, reserved=0):
    return struct.pack("=QQII", length, within_us, flags, reserved)


tcp = socket.socket()
if where == "outside":
    refused(errno.ENOPROTOOPT, tcp, GOOD)
    sys.exit()

for wrong in (b"", b"12", GOOD[:-1], GOOD + b"\0", GOOD * 200):
    refused(errno.EINVAL, tcp, wrong)
refused(errno.EFAULT, tcp, None, len(GOOD))
refused(errno.EINVAL, tcp, packed(0, 35_000))
refused(errno.ERANGE, tcp, packed((1 << 37) + 1, 35_000))
refused(errno.ERANGE, tcp, packed((1 << 64) - 1, 35_000))
refused(errno.ETIME, tcp, packed(10_240, 0))
refused(errno.ETIME, tcp, packed(10_240, (1 << 64) - 5))
refused(errno.ERANGE, tcp, packed(10_240, 24 * 3_600_000_000 + 1))
refused(errno.EINVAL, tcp, packed(10_240, 35_000, 2))
refused(errno.EINVAL, tcp, packed(10_240, 35_000, 0, 1))
refused(errno.EOPNOTSUPP, socket.socket(type=socket.SOCK_DGRAM), GOOD)
refused(errno.EOPNOTSUPP, socket.socket(socket.AF_UNIX), GOOD)
try:
    multipath = socket.socket(proto=socket.IPPROTO_MPTCP)
except OSError:  # a kernel without MPTCP
    pass
else:
    refused(errno.EOPNOTSUPP, multipath, GOOD)
state = deadline.status(tcp)
assert (state.messages, state.remaining_bytes, state.left_s) == (0, 0, 0), state

listener = socket.socket()
deadline.choose(listener)
listener.bind(("127.0.0.1", 0))
listener.listen()
refused(errno.EINVAL, listener, GOOD)
deadline.choose(tcp)
tcp.connect(listener.getsockname())
peer, _ = listener.accept()
ecn = 8
assert tcp.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192)[5] & ecn, "ECN was not negotiated"

for message in range(3):
    deadline.set_deadline(tcp, 10_240, 3)
    state = deadline.status(tcp)
    assert (state.messages, state.remaining_bytes) == (1, 10_240), state
    assert 0 < state.left_s <= 3, state
    tcp.sendall(bytes(10_240))
    left = 10_240
    while left:
        left -= len(peer.recv(left))
    peer.sendall(b"!")  # carries the acknowledgement
    tcp.recv(1)
    state = deadline.status(tcp)
    assert (state.messages, state.remaining_bytes) == (0, 0), state
for message in range(8):
    deadline.set_deadline(tcp, 10_240, 3)
refused(errno.ENOBUFS, tcp, GOOD)
assert deadline.status(tcp).messages == 8
deadline.clear(tcp)
assert deadline.status(tcp).messages == 0
