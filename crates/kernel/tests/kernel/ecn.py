"""Checks that a controller without ECN gives way to Reno: ecn.py CONTROL."""

import socket
import sys

IPTOS_ECN_MASK = 3
TCPI_OPT_ECN = 8
control = sys.argv[1].encode()


def connection(listening, connecting):
    """Open a connection with these controls. Return the control of each end, and whether ECN was negotiated."""
    listener, tcp = socket.socket(), socket.socket()
    for end, name in ((listener, listening), (tcp, connecting)):
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    tcp.connect(listener.getsockname())
    peer, _ = listener.accept()
    options = tcp.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192)[5]
    return tcp, peer, bool(options & TCPI_OPT_ECN)


def control_of(end):
    return end.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0")


def sends_ect(end):
    return bool(end.getsockopt(socket.IPPROTO_IP, socket.IP_TOS) & IPTOS_ECN_MASK)


tcp, peer, has_ecn = connection(control, control)
assert has_ecn and control_of(tcp) == control_of(peer) == control
assert sends_ect(tcp) and sends_ect(peer)

# The listener's control does not request ECN, so the connection has none.
tcp, peer, has_ecn = connection(b"cubic", control)
assert not has_ecn
assert (control_of(tcp), control_of(peer)) == (b"reno", b"cubic"), (control_of(tcp), control_of(peer))
assert not sends_ect(tcp)
# It cannot be selected later either.
tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control)
assert control_of(tcp) == b"reno" and not sends_ect(tcp), control_of(tcp)
tcp.sendall(b"still works")
assert peer.recv(100) == b"still works"
