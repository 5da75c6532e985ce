"""Answers each query with its bytes in upper case, repeated, within 5 s: server.py ADDRESS QUERIES."""

import sys
import threading

from duetime.d3 import Socket

RATE_BPS, DEADLINE_US, TIMES = 1_000_000_000, 5_000_000, 4_000


def serve(stream):
    with stream:  # waits until the client has received the answer
        answer = stream.read().upper() * TIMES
        stream.open(len(answer), DEADLINE_US)
        stream.send(answer)


with Socket(sys.argv[1], RATE_BPS, backlog=128) as listener:
    print(listener.port(), flush=True)
    threads = []
    for _ in range(int(sys.argv[2])):
        threads.append(threading.Thread(target=serve, args=[listener.accept()]))
        threads[-1].start()
    for thread in threads:
        thread.join()
