"""Waits of `duetime.d3` end at a timeout, at an interrupt, and when the peer aborts."""

import _thread
import select
import signal
import threading

from duetime.d3 import D3Error, Socket

RATE_BPS = 1_000_000_000

# Shells start background commands with the signal ignored, which Python keeps.
signal.signal(signal.SIGINT, signal.default_int_handler)


def raises(kind, call, *arguments, **named):
    try:
        call(*arguments, **named)
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__}")


with Socket("127.0.0.1:0", RATE_BPS, backlog=8, mtu=1280) as server, Socket("127.0.0.1:0", RATE_BPS) as client:
    raises(TimeoutError, server.accept, timeout=0.01)
    threading.Timer(0.2, _thread.interrupt_main).start()
    raises(KeyboardInterrupt, server.accept)

    address = f"127.0.0.1:{server.port()}"
    with client.connect(address, 10_000_000) as sending, server.accept() as accepted:
        assert sending.peer() == address, sending.peer()
        assert accepted.peer() == f"127.0.0.1:{client.port()}"
        raises(TimeoutError, accepted.read, timeout=0.01)
        # The peer does not read, so its buffer fills.
        raises(TimeoutError, sending.send, bytes(10_000_000), timeout=0.5)
        assert accepted.receive(100) == bytes(100)
        assert accepted.receive(100, timeout=0) == bytes(100)
        while True:
            try:
                sending.try_send(bytes(1000))
            except TimeoutError:
                break
        raises(TimeoutError, server.accept, timeout=0)
        changed = select.poll()
        changed.register(accepted, select.POLLIN)
        assert changed.poll(5000), "the buffer has bytes"
        sending.abort()
        aborted = raises(D3Error, accepted.read)
        assert aborted.args[0] == 3, aborted
