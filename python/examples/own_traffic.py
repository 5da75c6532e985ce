"""Simulate flows from a table and show which ones are late under each transport."""

import polars

import duetime

flows = polars.DataFrame(
    {
        "src": [1, 2, 3, 4],
        "dst": [0, 0, 0, 0],
        "bytes": [400_000, 300_000, 200_000, 100_000],
        "start": [0.0, 0.0, 0.001, 0.001],
        "deadline": [0.008, 0.010, 0.004, None],
    }
)
network = {
    "name": "own-traffic",
    "transport": ["dctcp", "d2tcp", "d3"],
    "seeds": 1,
    "topology": {
        "kind": "star",
        "hosts": 8,
        "link": {"rate": "1 Gbps", "latency": "20 us"},
    },
    "workload": [{"kind": "burst", "senders": 1, "size": "1 KB"}],
}
result = duetime.run(duetime.Scenario.from_dict(network).with_flows(flows))
frame = result.flows.to_polars()
print(frame.select("transport", "source", "size_bytes", "fct_ns", "slack_ns", "met"))
