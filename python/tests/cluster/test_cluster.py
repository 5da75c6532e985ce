"""Sweeps on clusters started on this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import distributed
import pytest
import ray

import duetime
from duetime import EngineError, Scenario
from duetime.engines import Dask, Engine, Ray, Slurm

from samples import results

GRID: dict[str, Any] = {"workload.senders": [2, 3, 4, 5, 6, 7]}
MANY: dict[str, Any] = {"workload.senders": [4, 6], "seed": list(range(1, 31))}


@pytest.fixture(scope="module")
def on_ray() -> Iterator[Ray]:
    """Ray with two workers."""
    fair = {"worker_niceness": 0}
    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, _system_config=fair)
    yield Ray()
    ray.shutdown()


@pytest.fixture(scope="module")
def on_dask() -> Iterator[Dask]:
    """Dask with two workers, addressed by its scheduler."""
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        yield Dask(cluster.scheduler_address)


@pytest.fixture
def on_slurm(tmp_path: Path) -> Slurm:
    """Two submitit jobs on this machine."""
    return Slurm(tmp_path / "jobs", jobs=2, cluster="local")


ENGINES = ["on_ray", "on_dask", "on_slurm"]


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Engine:
    """Each engine in turn."""
    found: Engine = request.getfixturevalue(request.param)
    return found


def processes(*words: str) -> list[int]:
    """Return the processes whose command lines contain all of these words."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                command = (entry / "cmdline").read_bytes().decode(errors="replace")
            except OSError:
                continue
            if all(word in command for word in words):
                found.append(int(entry.name))
    return found


def test_engines_produce_same_bytes(star: Scenario, tmp_path: Path, engine: Engine) -> None:
    here = duetime.sweep(star, GRID, out=tmp_path / "here")
    events: list[duetime.Event] = []
    there = duetime.sweep(star, GRID, out=tmp_path / "there", engine=engine, progress=events.append)
    assert results(tmp_path / "here") == results(tmp_path / "there")
    assert here.digests == there.digests and len(there.digests) == 24
    kinds = [event["event"] for event in events]
    assert kinds[0] == "study-started" and kinds[-1] == "study-finished"
    assert kinds.count("run-finished") == 24
    more = {"workload.senders": [*GRID["workload.senders"], 8]}
    again = duetime.sweep(star, more, out=tmp_path / "there", engine=engine, progress=events.append)
    assert [event["kept"] for event in events if event["event"] == "study-started"] == [0, 24]
    assert len(again.digests) == 28


def test_results_are_uploaded(star: Scenario, engine: Engine) -> None:
    url = "memory://cluster/sweep"
    result = duetime.sweep(star, GRID, out=url, engine=engine, overwrite=True)
    assert duetime.load(url).digests == result.digests


def workers(engine: Engine) -> list[int]:
    """Return the processes of an engine's workers."""
    if isinstance(engine, Dask):
        with distributed.Client(engine.cluster, set_as_default=False) as client:
            return list(client.run(os.getpid).values())
    if isinstance(engine, Slurm):
        # Each worker process has a supervisor; a lost node loses both.
        return processes("submitit.core._submit", str(engine.folder))
    return processes("ray::make")


@pytest.mark.parametrize("name", ENGINES)
def test_killed_worker_is_replaced(
    star: Scenario, tmp_path: Path, request: pytest.FixtureRequest, name: str
) -> None:
    engine: Engine = request.getfixturevalue(name)
    duetime.sweep(star, MANY, out=tmp_path / "here")
    killed: list[int] = []
    ended = 0

    def kill(event: duetime.Event) -> None:
        nonlocal ended
        ended += event["event"] == "run-finished"
        if ended >= 20 and not killed:
            found = workers(engine)
            for worker in found if name == "on_slurm" else found[:1]:
                os.kill(worker, signal.SIGKILL)
                killed.append(worker)

    result = duetime.sweep(star, MANY, out=tmp_path / "there", engine=engine, progress=kill)
    assert killed
    assert result.failures == []
    assert results(tmp_path / "here") == results(tmp_path / "there")


@pytest.mark.parametrize("name", ["on_ray", "on_dask", "on_slurm"])
def test_interrupt_keeps_finished_runs(
    star: Scenario, tmp_path: Path, request: pytest.FixtureRequest, name: str
) -> None:
    engine: Engine = request.getfixturevalue(name)

    def stop(event: duetime.Event) -> None:
        if event["event"] == "run-finished":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        duetime.sweep(star, MANY, out=tmp_path / "out", engine=engine, progress=stop)
    assert not list((tmp_path / "out").glob(".*"))
    kept = len(duetime.load(tmp_path / "out").digests)
    assert 0 < kept < 240
    result = duetime.sweep(star, MANY, out=tmp_path / "out", report=False)
    assert len(result.digests) == 240


@pytest.mark.parametrize(
    "absent",
    [
        Ray("127.0.0.1:1"),
        Ray("ray://127.0.0.1:1"),
        Ray("auto"),
        Dask("tcp://127.0.0.1:1"),
        Slurm("jobs", cluster="slurm"),
    ],
    ids=["ray", "ray client", "ray auto", "dask", "slurm"],
)
def test_unreachable_cluster_is_reported(
    star: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, absent: Engine
) -> None:
    monkeypatch.chdir(tmp_path)
    # Disconnect from the Ray of another test.
    ray.shutdown()
    with pytest.raises(EngineError):
        duetime.sweep(star, GRID, out="out", engine=absent)
    assert not Path("out").exists()


def test_cluster_without_workers_is_reported(star: Scenario, tmp_path: Path) -> None:
    with distributed.LocalCluster(n_workers=0, dashboard_address=None) as cluster:
        with pytest.raises(EngineError, match="no worker"):
            duetime.sweep(star, GRID, out=tmp_path / "out", engine=Dask(cluster.scheduler_address))
    assert not (tmp_path / "out").exists()


SCRIPT = """
import duetime
from duetime.engines import Dask, Ray

scenario = duetime.Scenario.from_file("star.toml")
digests = []
for engine in (Ray(workers=2), Dask(workers=2)):
    digests.append(duetime.sweep(scenario, {"workload.senders": [2, 3]}, engine=engine).digests)
assert digests[0] == digests[1] and len(digests[0]) == 8
"""


def test_engines_start_local_clusters(star: Scenario, tmp_path: Path) -> None:
    # A typical user script, which workers must not execute again.
    star.to_toml(tmp_path / "star.toml")
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    subprocess.run([sys.executable, "script.py"], cwd=tmp_path, check=True, timeout=300)


DIES = """
import os, signal, sys
import duetime, ray
from pathlib import Path
from duetime.engines import Ray

ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
raylet = ray._private.worker._global_node.all_processes["raylet"][0].process.pid
ended = 0

def on_event(event):
    global ended
    ended += event["event"] == "run-finished"
    if ended == 3 and event["event"] == "run-finished":
        os.kill(raylet, signal.SIGKILL)

vary = {"workload.senders": [4, 6], "seed": list(range(1, 101))}
try:
    duetime.sweep(sys.stdin.read(), vary, "d3", 1, out=sys.argv[1], engine=Ray(), progress=on_event)
except duetime.EngineError as error:
    print(error)
"""


def test_dead_cluster_is_reported(star: Scenario, tmp_path: Path) -> None:
    out = tmp_path / "out"
    # Ray terminates a driver that stays connected to a dead cluster.
    done = subprocess.run(
        [sys.executable, "-c", DIES, str(out)], input=star.to_toml(), capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0 and "the Ray cluster has died" in done.stdout, done.stderr
    assert not list(out.glob(".workers*"))
    assert 0 < len(duetime.load(out).digests) < 200
