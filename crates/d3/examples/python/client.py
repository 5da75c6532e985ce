"""Sends a query with a deadline of 5 s and prints the answer: client.py ADDRESS QUERY."""

import sys

from duetime.d3 import Socket

RATE_BPS, DEADLINE_US = 1_000_000_000, 5_000_000

query = sys.argv[2].encode()
with Socket("0.0.0.0:0", RATE_BPS) as socket:
    with socket.connect(sys.argv[1], len(query), DEADLINE_US) as stream:
        stream.send(query)
        stream.finish()
        answer = stream.read()
        statistics = stream.statistics()
start = answer[: len(query)].decode()
print(f"{len(answer)} bytes: {start}…; {statistics.requests} requests, granted {statistics.granted_bps} bit/s")
