"""A server answers 50 streams of `duetime.d3` while one client's bytes wait for a slow reader."""

import signal
import threading
import time

from duetime.d3 import Socket

RATE_BPS, STREAMS, ANSWER, SLOW = 1_000_000_000, 50, 20_000, 3_000_000

signal.signal(signal.SIGINT, signal.default_int_handler)


def serve(stream, others_answered):
    with stream:
        if stream.receive(1) == b"s":
            others_answered.wait()
            received = stream.read(timeout=5)
            assert received == bytes(SLOW), len(received)
            return
        assert stream.read(timeout=5) == b"uery"
        stream.open(ANSWER, 5_000_000)
        stream.send(bytes(ANSWER), timeout=5)


def ask(client, address):
    with client.connect(address, 5, 5_000_000) as stream:
        stream.send(b"query")
        stream.finish()
        answer = stream.read(timeout=5)
        assert answer == bytes(ANSWER), len(answer)


def send_slowly(client, address):
    with client.connect(address, 1 + SLOW) as stream:
        stream.send(b"s" + bytes(SLOW))


def in_thread(call, *arguments):
    def guarded():
        try:
            call(*arguments)
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=guarded)
    thread.start()
    return thread


failures = []
for host in ("127.0.0.1", "[::1]"):
    for mtu in (1280, 9000):
        with Socket(f"{host}:0", RATE_BPS, backlog=64, mtu=mtu) as server, Socket(f"{host}:0", RATE_BPS, mtu=mtu) as client:
            address = f"{host}:{server.port()}"
            others_answered = threading.Event()
            slow = in_thread(send_slowly, client, address)
            asking = [in_thread(ask, client, address) for _ in range(STREAMS - 1)]
            serving = [in_thread(serve, server.accept(timeout=5), others_answered) for _ in range(STREAMS)]
            for thread in asking:
                thread.join()
            time.sleep(0.05)
            assert slow.is_alive(), "the slow reader's buffer is full"
            others_answered.set()
            for thread in [slow, *serving]:
                thread.join()
            assert not failures, (host, mtu, failures)
