"""Checks that `SO_MAX_PACING_RATE` limits a controller's pacing rate. programs.rs runs `pacing.py CONTROL`."""

import socket
import struct
import sys

SO_MAX_PACING_RATE = 47
MAX_RATE = 1_250_000  # bytes per second

control = sys.argv[1].encode()
listener, tcp = socket.socket(), socket.socket()
for end in (listener, tcp):
    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control)
listener.bind(("127.0.0.1", 0))
listener.listen()
tcp.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, struct.pack("=Q", MAX_RATE))
tcp.connect(listener.getsockname())
peer, _ = listener.accept()

for message in range(20):
    tcp.sendall(bytes(10_000))
    left = 10_000
    while left:
        left -= len(peer.recv(left))
    peer.sendall(b"!")  # carries the acknowledgement
    tcp.recv(1)
    info = tcp.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192)
    rate, limit = struct.unpack_from("=QQ", info, 104)
    assert limit == MAX_RATE, limit
    # Without a limit, the window would allow gigabits per second.
    assert rate == MAX_RATE, (message, rate)
