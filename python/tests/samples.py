"""Scenarios and helpers of the tests."""

from __future__ import annotations

import json
from pathlib import Path

STAR = """\
# A comment.
name = "star"
transport = ["dctcp", "d3"]
seeds = 2

[topology]
kind = "star"
hosts = 11
link = { rate = "1 Gbps", latency = "20 us" }

[[workload]]
kind = "burst"
senders = 8
receiver = 0
size = "uniform 2 KB..50 KB"
deadline = "10 ms"
repeat = 3
every = "20 ms"
"""

SERVICE = """\
name = "service"
transport = ["dctcp", "d3"]
seeds = 2
duration = "40 ms"

[topology]
kind = "star"
hosts = 12
link = { rate = "1 Gbps", latency = "20 us" }

[[workload]]
kind = "oldi"
trees = 2
share_hosts = true
fan_in = 5
response = "10 KB"
load = 0.2
deadline = "5 ms"
objective = { within = "5 ms", share = "99 %" }
"""

LONG = """\
name = "long"
transport = "dctcp"
seeds = 1
duration = "5 h"

[topology]
kind = "star"
hosts = 4
link = { rate = "1 Gbps", latency = "20 us" }

[[workload]]
kind = "long"
pairs = [[1, 0], [2, 0]]
"""


def files(folder: Path) -> dict[str, bytes]:
    """Return the content of every file in a folder, by path."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def results(folder: Path) -> dict[str, bytes]:
    """Return the contents that do not depend on the engine: tables, pages, and `run.json` without the wall time."""
    found = {}
    for name, content in files(folder).items():
        if name.endswith("run.json"):
            info = json.loads(content)
            del info["wall_seconds"]
            content = json.dumps(info).encode()
        if name != "manifest.json":
            found[name] = content
    return found


def stored(url: str) -> dict[str, bytes]:
    """Return the content of every file on the storage."""
    import fsspec

    memory, root = fsspec.core.url_to_fs(url)
    return {path[len(root) + 1 :]: memory.cat_file(path) for path in memory.find(root)}
