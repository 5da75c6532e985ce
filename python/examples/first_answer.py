"""Count the flows of a burst that meet their deadline."""

import duetime

scenario = duetime.Scenario.from_toml(
    """
    name = "first"
    transport = ["dctcp", "d3"]
    [topology]
    kind = "star"
    hosts = 21
    link = { rate = "1 Gbps", latency = "50 us" }
    [[workload]]
    kind = "burst"
    senders = 16
    size = "uniform 2 KB..50 KB"
    deadline = "10 ms"
    repeat = 20
    every = "30 ms"
    """
)
result = duetime.run(scenario, seeds=3)
print(result.summary)
