"""Measures the overhead of the package over the binary for a run of about ten seconds, in pairs. Fails at 2 % or more.

Usage: overhead.py BINARY
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PAIRS = 5
MAX_OVERHEAD = 0.02
SCENARIO = """
name = "ten-seconds"
transport = "dctcp"
seeds = 1
duration = "{duration} ms"
[topology]
kind = "star"
hosts = 17
link = {{ rate = "1 Gbps", latency = "20 us" }}
[[workload]]
kind = "poisson"
size = "web-search"
load = 0.6
"""
RUN = "import sys, duetime; duetime.run(sys.argv[1], out=sys.argv[2], jobs=1, report=False, progress=False).summary"


def timed(command: list[str]) -> tuple[float, float]:
    """Return wall time and processor time of a command, in seconds.

    Other programs affect the wall time only.
    """
    before, began = os.times(), time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    wall, after = time.monotonic() - began, os.times()
    spent = after.children_user + after.children_system
    return wall, spent - before.children_user - before.children_system


def main(binary: str) -> None:
    """Measure and print the overhead, and exit with an error if it is too large."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scenario.toml"

        def native() -> tuple[float, float]:
            rest = ["--jobs", "1", "--no-report", "--overwrite", "--quiet"]
            return timed([binary, "run", str(file), "--out", f"{folder}/native", *rest])

        def python() -> tuple[float, float]:
            out = Path(folder) / "python"
            subprocess.run(["rm", "-rf", str(out)], check=True)
            return timed([sys.executable, "-c", RUN, str(file), str(out)])

        def write(duration: float) -> None:
            file.write_text(SCENARIO.format(duration=round(duration)), encoding="utf-8")

        write(1000)
        write(1000 * 10 / native()[1])
        pairs = [(native(), python()) for _ in range(PAIRS)]
    walls = [[item[0] for item in side] for side in zip(*pairs)]
    spent = [[item[1] for item in side] for side in zip(*pairs)]
    shown = [f"{statistics.median(item):.2f} s" for item in (*walls, *spent)]
    added = statistics.median(theirs / ours - 1 for ours, theirs in zip(*spent))
    print(f"median of {PAIRS} pairs: wall time {shown[0]}, with Python {shown[1]}")
    print(f"processor time {shown[2]}, with Python {shown[3]}: overhead {added:.2%}, limit {MAX_OVERHEAD:.0%}")
    if added >= MAX_OVERHEAD:
        sys.exit("the overhead of Python is too large")


main(sys.argv[1])
