"""Messages of `duetime.due`: 50 answers of a worker, waits that end, and failures."""

import _thread
import asyncio
import gc
import signal
import socket
import tempfile
import threading
from pathlib import Path

from duetime.due import DueError, Socket, random_query

RATE_BPS, WORKERS, ANSWER = 1_000_000_000, 50, 20_000

# Shells start background commands with the signal ignored, which Python keeps.
signal.signal(signal.SIGINT, signal.default_int_handler)


def raises(kind, call, *arguments, **named):
    try:
        call(*arguments, **named)
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__}")


def work(worker):
    query = worker.receive(timeout=5)
    assert query.time_left_us is not None and 0 < query.time_left_us <= 5_000_000
    worker.answer(query, bytes(ANSWER)).wait(timeout=5)


async def next_message(receiver):
    """Return the next message of a socket without blocking the event loop."""
    loop = asyncio.get_running_loop()
    arrived = asyncio.Event()
    loop.add_reader(receiver, arrived.set)
    try:
        while True:
            try:
                return receiver.receive(timeout=0)
            except TimeoutError:
                arrived.clear()
                await asyncio.wait_for(arrived.wait(), 5)
    finally:
        loop.remove_reader(receiver)


async def event_loop(link_file):
    """One thread is parent and worker, which share a link."""
    with (
        Socket("127.0.0.1:0", RATE_BPS, link_file=link_file) as parent,
        Socket("127.0.0.1:0", RATE_BPS, link_file=link_file) as worker,
    ):

        async def answer_twice():
            for _ in range(2):
                query = await next_message(worker)
                worker.answer(query, query.data.upper())

        answering = asyncio.create_task(answer_twice())
        for text in (b"one", b"two"):
            parent.send(f"127.0.0.1:{worker.port()}", text, deadline_us=5_000_000)
            answer = await next_message(parent)
            assert answer.data == text.upper()
        await answering


with tempfile.TemporaryDirectory() as folder:
    asyncio.run(event_loop(Path(folder) / "link"))
    asyncio.run(event_loop(f"{folder}/link"))
    assert [file.name for file in Path(folder).iterdir()] == ["link"]
    error = raises(DueError, Socket, "127.0.0.1:0", RATE_BPS, link_file=folder)
    assert folder in str(error)
for host in ("127.0.0.1", "[::1]"):
    workers = [Socket(f"{host}:0", RATE_BPS, mtu=1280) for _ in range(WORKERS)]
    threads = [threading.Thread(target=work, args=[worker]) for worker in workers]
    for thread in threads:
        thread.start()
    with Socket(f"{host}:0", RATE_BPS, mtu=9000) as parent:
        query = random_query()
        assert query > 0
        for worker in workers:
            parent.send(f"{host}:{worker.port()}", b"query", deadline_us=5_000_000, query=query)
        senders = set()
        for _ in range(WORKERS):
            answer = parent.receive(timeout=5)
            assert answer.data == bytes(ANSWER)
            assert answer.query == query
            senders.add(answer.sender)
        assert senders == {f"{host}:{worker.port()}" for worker in workers}
        for thread in threads:
            thread.join()

        raises(TimeoutError, parent.receive, timeout=0.01)
        threading.Timer(0.2, _thread.interrupt_main).start()
        raises(KeyboardInterrupt, parent.receive)

        # A message without a deadline and query.
        parent.send(f"{host}:{workers[0].port()}", b"", is_request=True).wait(timeout=5)
        plain = workers[0].receive(timeout=5)
        assert (plain.data, plain.time_left_us, plain.query) == (b"", None, None)

        abandoned = parent.send(f"{host}:{workers[0].port()}", bytes(10_000_000))
        abandoned.abort()
        raises(DueError, abandoned.wait)
        # A plain socket closes at once; the thread of a `due` socket may still run, and then refuses.
        family = socket.AF_INET if host == "127.0.0.1" else socket.AF_INET6
        with socket.socket(family, socket.SOCK_DGRAM) as closed:
            closed.bind((host.strip("[]"), 0))
            port = closed.getsockname()[1]
        unreachable = raises(DueError, parent.send(f"{host}:{port}", b"query").wait, timeout=4)
        assert unreachable.args[0] == 2, unreachable
        unknown = raises(DueError, parent.send, "nonsense", b"query")
        assert unknown.args[0] == 1, unknown
    for worker in workers:
        worker.__exit__()
raises(DueError, Socket, "127.0.0.1:0", 0)
gc.collect()
