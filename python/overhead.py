"""Counts the instructions that the package adds to a run of about ten seconds. Fails at 2 % or more.

Processor times on a virtual machine vary by a quarter from run to run, instructions hardly.

Usage: overhead.py BINARY
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

MAX_OVERHEAD = 0.02
# Simulated time that takes about ten seconds, and the times counted, in milliseconds: valgrind is 50 times slower.
TEN_SECONDS_MS = 20_000
SHORT_MS, LONG_MS = 200, 1000
SCENARIO = """
name = "ten-seconds"
transport = "dctcp"
seeds = 1
duration = "{duration_ms} ms"
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


def instructions(command: list[str]) -> int:
    """Return the instructions of a command in user space."""
    valgrind = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    report = subprocess.run([*valgrind, *command], check=True, text=True, capture_output=True).stderr
    found = re.search(r"I +refs: +([\d,]+)", report)
    if found is None:
        sys.exit(f"valgrind counted nothing:\n{report}")
    return int(found[1].replace(",", ""))


def ten_seconds(short: int, long: int) -> float:
    """Return the instructions of the run of ten seconds, from those of the two times counted."""
    per_ms = (long - short) / (LONG_MS - SHORT_MS)
    return long + per_ms * (TEN_SECONDS_MS - LONG_MS)


def main(binary: str) -> None:
    """Count and print the overhead, and exit with an error if it is too large."""
    if shutil.which("valgrind") is None:
        sys.exit("the overhead is counted by valgrind, which script/bootstrap --python installs")
    counts: list[tuple[int, int]] = []
    with tempfile.TemporaryDirectory() as folder:
        for duration_ms in (SHORT_MS, LONG_MS):
            file = Path(folder) / f"{duration_ms}.toml"
            file.write_text(SCENARIO.format(duration_ms=duration_ms), encoding="utf-8")
            rest = ["--jobs", "1", "--no-report", "--quiet"]
            native = instructions([binary, "run", str(file), "--out", f"{folder}/native-{duration_ms}", *rest])
            python = instructions([sys.executable, "-c", RUN, str(file), f"{folder}/python-{duration_ms}"])
            counts.append((native, python))
    (native_short, python_short), (native_long, python_long) = counts
    native, python = ten_seconds(native_short, native_long), ten_seconds(python_short, python_long)
    overhead = python / native - 1
    print(f"start and end of a run: {(python_short - native_short) / 1e6:.0f} million instructions more with Python")
    print(
        f"ten seconds: {native / 1e9:.2f} billion, with Python {python / 1e9:.2f}: "
        f"overhead {overhead:.2%}, limit {MAX_OVERHEAD:.0%}"
    )
    if overhead >= MAX_OVERHEAD:
        sys.exit("the overhead of Python is too large")


main(sys.argv[1])
