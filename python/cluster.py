"""Measures the overhead of the sweep engines compared with two local jobs.

Fails if the results differ, if a sweep does not survive the loss of a worker, or if an engine with running workers takes 5 %
longer.

Usage: cluster.py SEARCH-FANOUT.toml
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import distributed
import ray

import duetime
from duetime.engines import Dask, Engine, Local, Ray, Slurm

ROUNDS = 5
POINTS = 200
RUN_S = 0.1
MAX_OVERHEAD = 0.05
TENTH = """
name = "tenth"
transport = "dctcp"
seeds = 1
duration = "{ms} ms"
[topology]
kind = "star"
hosts = 17
link = {{ rate = "1 Gbps", latency = "20 us" }}
[[workload]]
kind = "poisson"
size = "web-search"
load = 0.6
deadline = "20 ms"
"""
Grid = dict[str, Any]


def contents(folder: Path) -> dict[str, bytes]:
    """Return all files except the manifest, which has the time of day, and without the wall time of each run."""
    found = {}
    for path in folder.rglob("*"):
        if path.is_file() and path.name != "manifest.json":
            content = path.read_bytes()
            if path.name == "run.json":
                info = json.loads(content)
                del info["wall_seconds"]
                content = json.dumps(info).encode()
            found[str(path.relative_to(folder))] = content
    return found


class Sweep:
    """One sweep, repeated on several engines into separate folders."""

    def __init__(self, name: str, scenario: duetime.Scenario, vary: Grid, place: Path) -> None:
        self.name = name
        self.scenario = scenario
        self.vary = vary
        self.place = place
        self.first: dict[str, bytes] | None = None
        self.number = 0
        self.same = True

    def run(self, engine: Local | Engine, on_event: Callable[[duetime.Event], object] | bool = False) -> float:
        """Return the seconds of the whole call, and compare the bytes with those of the first call."""
        self.number += 1
        out = self.place / f"{self.name}-{self.number}"
        began = time.monotonic()
        result = duetime.sweep(self.scenario, self.vary, out=out, engine=engine, report=False, progress=on_event)
        took = time.monotonic() - began
        assert not result.failures, result.failures
        found = contents(out)
        if self.first is None:
            self.first = found
        self.same = found == self.first
        return took


def tenth(place: Path) -> Sweep:
    """Return a sweep whose points take about a tenth of a second each on this machine."""
    duration = 200.0
    for attempt in range(3):
        scenario = duetime.Scenario.from_toml(TENTH.format(ms=round(duration)))
        out = place / f"tried-{attempt}"
        duetime.sweep(scenario, {"seed": list(range(8))}, out=out, engine=Local(2), report=False, progress=False)
        took = [json.loads(path.read_text())["wall_seconds"] for path in out.rglob("run.json")]
        duration *= RUN_S / statistics.median(took)
    scenario = duetime.Scenario.from_toml(TENTH.format(ms=round(duration)))
    return Sweep("tenth", scenario, {"workload.load": [round(0.5 + 0.001 * step, 3) for step in range(POINTS)]}, place)


def show(name: str, took: list[float], local: list[float], same: bool, note: str = "") -> float:
    """Print a line of the table and return the overhead compared with the local jobs of the same rounds."""
    overhead = statistics.median(engine_s / local_s for engine_s, local_s in zip(took, local)) - 1
    shown = "" if name == "local" else f"{overhead:+7.1%}"
    print(f"{name:8}{statistics.median(took):8.2f} s {shown:8}  bytes equal: {'yes' if same else 'no'}{note}", flush=True)
    return overhead


def kill_at(count: int, killed: list[int]) -> Callable[[duetime.Event], None]:
    """Return a callback that kills a Ray worker after ``count`` runs have finished."""
    ended = 0

    def on_event(event: duetime.Event) -> None:
        nonlocal ended
        ended += event["event"] == "run-finished"
        if ended < count or killed:
            return
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and b"ray::make" in (entry / "cmdline").read_bytes():
                os.kill(int(entry.name), signal.SIGKILL)
                killed.append(int(entry.name))
                return

    return on_event


def main(search_fanout: str) -> None:
    """Measure and print the table, and exit with an error if a check fails."""
    wrong = []
    with tempfile.TemporaryDirectory(prefix="duetime-cluster-") as temporary:
        place = Path(temporary)
        began = time.monotonic()
        # By default, Ray lowers the priority of its workers below that of local jobs.
        fair = {"worker_niceness": 0}
        quiet = {"include_dashboard": False, "log_to_driver": False, "logging_level": "error"}
        ray.init("local", num_cpus=2, _system_config=fair, **quiet)
        small = {"workload.load": [0.5, 0.6, 0.7, 0.8]}
        scenario = duetime.Scenario.from_toml(TENTH.format(ms=50))
        duetime.sweep(scenario, small, engine=Ray(), progress=False)
        print(f"Ray with two workers starts in {time.monotonic() - began:.1f} s", flush=True)
        began = time.monotonic()
        cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
        dask = Dask(cluster.scheduler_address)
        duetime.sweep(scenario, small, engine=dask, progress=False)
        print(f"Dask with two workers starts in {time.monotonic() - began:.1f} s", flush=True)

        def slurm() -> Slurm:
            return Slurm(tempfile.mkdtemp(dir=place), jobs=2, cluster="local")

        starts = []
        for _ in range(ROUNDS):
            began = time.monotonic()
            duetime.sweep(scenario, {"workload.load": [0.01, 0.02]}, engine=slurm(), progress=False)
            starts.append(time.monotonic() - began)
        jobs_s = statistics.median(starts)
        print(f"two jobs of submitit start and end in {jobs_s:.1f} s", flush=True)

        sweep = tenth(place)
        took: dict[str, list[float]] = {"local": [], "Ray": [], "Dask": [], "submitit": []}
        same = dict.fromkeys(took, True)
        for _ in range(ROUNDS):
            for name, engine in (("local", Local(2)), ("Ray", Ray()), ("Dask", dask), ("submitit", slurm())):
                took[name].append(sweep.run(engine))
                same[name] = same[name] and sweep.same
        print(f"\n{POINTS} points of about {RUN_S * 1e3:.0f} ms, two workers; median of {ROUNDS} rounds")
        local = took["local"]
        for name, rounds in took.items():
            if name == "submitit":
                started = [seconds - jobs_s for seconds in rounds]
                overhead = statistics.median(engine_s / local_s for engine_s, local_s in zip(started, local)) - 1
                note = f"; without the start of its jobs {statistics.median(started):.2f} s, {overhead:+.1%}"
                show(name, rounds, local, same[name], note)
            else:
                overhead = show(name, rounds, local, same[name])
            if overhead > MAX_OVERHEAD:
                wrong.append(f"{name} takes {overhead:.1%} longer")
            if not same[name]:
                wrong.append(f"{name} leaves other bytes")
        killed: list[int] = []
        seconds = sweep.run(Ray(), kill_at(POINTS // 2, killed))
        show("Ray", [seconds], [statistics.median(local)], sweep.same, f"; worker {killed} killed after {POINTS // 2} runs, all {POINTS} there")
        if not killed or not sweep.same:
            wrong.append("the loss of a worker of Ray")

        scenario = duetime.Scenario.from_file(search_fanout)
        scenario = scenario.with_({"transport": "d2tcp"}, seeds=1)
        grid: Grid = {
            "workload.search.fan_in": list(range(4, 44, 4)),
            "workload.search.load": [round(0.05 + 0.02 * step, 2) for step in range(10)],
        }
        fanout = Sweep("fanout", scenario, grid, place)
        print("\n100 points of search-fanout, 1,000 hosts, unchanged scenario, two workers; one round")
        for name, engine in (("local", Local(2)), ("Ray", Ray()), ("Dask", dask)):
            seconds = fanout.run(engine)
            if name == "local":
                local = [seconds]
            overhead = show(name, [seconds], local, fanout.same)
            if overhead > MAX_OVERHEAD:
                wrong.append(f"search-fanout on {name} takes {overhead:.1%} longer")
            if not fanout.same:
                wrong.append(f"search-fanout on {name} leaves other bytes")
        cluster.close()
        ray.shutdown()
    if wrong:
        sys.exit("; ".join(wrong))


if __name__ == "__main__":
    main(sys.argv[1])
