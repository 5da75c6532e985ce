"""Sweeps on this machine, and behaviour common to all engines."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import duetime
from duetime import EngineError, FolderError, RunError, Scenario, ScenarioError, _native
from duetime.engines import Batch, Dask, Engine, Handle, Local, Ray, Report, Slurm, Work

from samples import STAR, files, results, stored

GRID: dict[str, Any] = {"workload.senders": [3, 5], "switch.buffer": ["100 KB", "1 MB"]}


class Here(Engine):
    """Executes batches in this process, one after another, and loses some of them."""

    batch_s: float | None = 1.0

    def __init__(self, *lost: int, sees: bool = True) -> None:
        self.lost = set(lost)
        self.sees = sees
        self.batches: list[Batch] = []
        self.at_work: dict[int, tuple[Work, dict[str, Any]]] = {}
        self.cancelled: list[Handle] = []
        self.stopped = False

    def start(self) -> int:
        return 2

    def submit(self, work: Work, order: dict[str, Any], batches: Sequence[Batch]) -> list[Handle]:
        handles = []
        for batch in batches:
            handles.append(len(self.batches))
            self.at_work[len(self.batches)] = (work, order)
            self.batches.append(batch)
        return handles

    def wait(self, handles: Sequence[Handle], timeout_s: float) -> list[Handle]:
        return list(handles[:1])

    def result(self, handle: Handle) -> Report:
        work, order = self.at_work.pop(handle)
        batch = self.batches[handle]
        if handle in self.lost:
            # The worker dies during its last run.
            work(order, batch[:-1])
            raise ConnectionError("the worker is gone")
        if not self.sees:
            order = {**order, "staging": "/no/such/folder"}
        return work(order, batch)

    def cancel(self, handles: Sequence[Handle]) -> None:
        self.cancelled += handles

    def stop(self) -> None:
        self.stopped = True


@pytest.fixture
def reference(star: Scenario, tmp_path: Path) -> Path:
    """The sweep executed in this process."""
    return duetime.sweep(star, GRID, out=tmp_path / "reference").folder


def test_sweep_matches_command(star: Scenario, reference: Path, command: str, tmp_path: Path) -> None:
    (tmp_path / "star.toml").write_text(STAR, encoding="utf-8")
    arguments = [command, "sweep", "star.toml", "--out", "cli", "--vary", "workload.senders=3..5:2"]
    arguments += ["--vary", "switch.buffer=100 KB,1 MB"]
    subprocess.run(arguments, cwd=tmp_path, capture_output=True, check=True)
    ours, theirs = results(reference), results(tmp_path / "cli")
    # The report contains the name of the scenario's file.
    del ours["report.html"], theirs["report.html"]
    assert ours == theirs
    assert len([name for name in ours if name.endswith(".parquet")]) == 4 * 2 * 2 * 5
    ranged = duetime.sweep(star, {**GRID, "workload.senders": "3..5:2"}, out=reference)
    assert results(reference)["summary.json"] == ours["summary.json"]
    assert ranged.to_polars()["point"].n_unique() == 4


def test_command_and_package_resume_each_other(
    star: Scenario, reference: Path, command: str, tmp_path: Path
) -> None:
    (tmp_path / "star.toml").write_text(STAR, encoding="utf-8")
    wanted = results(reference)

    def finished(out: Path) -> None:
        found = results(out)
        for name in wanted:
            if name != "report.html":
                assert found[name] == wanted[name], name

    ours = tmp_path / "ours"
    duetime.sweep(star, {**GRID, "workload.senders": [3]}, out=ours)
    grid = ["--vary", "workload.senders=3,5", "--vary", "switch.buffer=100 KB,1 MB"]

    def sweep(out: Path, *vary: str) -> str:
        arguments = [command, "sweep", "star.toml", "--out", str(out), *vary]
        return subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, check=True).stderr

    assert "8 already finished" in sweep(ours, *grid)
    finished(ours)
    theirs = tmp_path / "theirs"
    sweep(theirs, "--vary", "workload.senders=3", *grid[2:])
    engine = Here()
    assert duetime.plan(star, GRID, out=theirs).missing == 8
    duetime.sweep(star, GRID, out=theirs, engine=engine)
    assert sum(map(len, engine.batches)) == 8
    finished(theirs)


def test_command_runs_plan(star: Scenario, reference: Path, command: str, tmp_path: Path) -> None:
    file = duetime.plan(star, GRID).write(tmp_path / "plan.json")
    arguments = [command, "sweep", str(file), "--out", "out"]
    subprocess.run(arguments, cwd=tmp_path, capture_output=True, check=True)
    ours, theirs = results(reference), results(tmp_path / "out")
    assert ours == theirs


def test_plan_counts_missing_runs(star: Scenario, tmp_path: Path) -> None:
    plan = duetime.plan(star, GRID, out=tmp_path / "out")
    assert (plan.runs, plan.missing) == (16, 16)
    assert plan.transports == ["dctcp", "d3"]
    assert plan.points[1] == {"workload.senders": "3", "switch.buffer": "1 MB"}
    assert 0 < plan.estimate_s(2) < 600
    with pytest.raises(ValueError):
        plan.estimate_s(0)
    assert "16 runs, 16 of them missing" in str(plan)
    assert not (tmp_path / "out").exists()
    duetime.sweep(star, GRID, "d3", 1, out=tmp_path / "out", report=False)
    assert duetime.plan(star, GRID, out=tmp_path / "out").missing == 12
    assert duetime.plan(star, GRID, "d3", 1, out=tmp_path / "out").estimate_s() == 0
    with pytest.raises(FolderError, match="seed"):
        duetime.plan(star, GRID, seed=7, out=tmp_path / "out")


def test_scenario_sweep_table_is_default(star: Scenario) -> None:
    text = star.to_toml() + "\n[sweep]\nworkload.senders = [2, 4]\n"
    assert duetime.plan(text).points == [{"workload.senders": "2"}, {"workload.senders": "4"}]
    with pytest.raises(ScenarioError, match="nothing to vary"):
        duetime.plan(star)


def test_only_missing_runs_are_executed(star: Scenario, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = duetime.sweep(star, GRID, "d3", out=out)
    wanted = results(out)
    table = next(out.rglob("flows.parquet"))
    table.write_bytes(table.read_bytes()[:-1])
    for engine in (Local(1), Here()):
        events: list[duetime.Event] = []
        again = duetime.sweep(star, GRID, "d3", out=out, engine=engine, progress=events.append)
        assert events[0]["kept"] == (7 if engine == Local(1) else 8)
        assert again.digests == first.digests
        assert results(out) == wanted


@pytest.mark.parametrize(
    "engine",
    [Here(), Here(sees=False), Here(1), Here(1, 2, 4), Here(3, sees=False)],
    ids=["shared", "sent", "lost", "lost often", "sent and lost"],
)
def test_engine_produces_same_bytes(star: Scenario, reference: Path, tmp_path: Path, engine: Here) -> None:
    events: list[duetime.Event] = []
    result = duetime.sweep(star, GRID, out=tmp_path / "out", engine=engine, progress=events.append)
    assert results(tmp_path / "out") == results(reference)
    assert result.failures == [] and engine.stopped
    kinds = [event["event"] for event in events]
    assert kinds[0] == "study-started" and kinds[-1] == "study-finished"
    assert kinds.count("run-finished") == 16
    assert not list((tmp_path / "out").glob(".*"))


class Striped(Here):
    """One batch for each worker, as with Slurm."""

    batch_s = None
    batches_per_worker = 1
    answers_within_s = None


def test_one_batch_per_worker(star: Scenario, reference: Path, tmp_path: Path) -> None:
    engine = Striped(1)
    duetime.sweep(star, GRID, out=tmp_path / "out", engine=engine)
    assert [len(batch) for batch in engine.batches] == [8, 8, 1]
    assert results(tmp_path / "out") == results(reference)


def test_scenario_files_reach_workers(star: Scenario, tmp_path: Path) -> None:
    (tmp_path / "sizes.csv").write_text("# unit: bytes\n1000,0\n20000,1\n", encoding="utf-8")
    file = tmp_path / "cdf.toml"
    file.write_text(STAR.replace('"uniform 2 KB..50 KB"', '{ cdf = "sizes.csv" }'), encoding="utf-8")
    here = duetime.sweep(file, {"workload.senders": [2, 3]})

    class Elsewhere(Here):
        def submit(self, work: Work, order: dict[str, Any], batches: Sequence[Batch]) -> list[Handle]:
            (tmp_path / "sizes.csv").unlink(missing_ok=True)
            return super().submit(work, order, batches)

    there = duetime.sweep(file, {"workload.senders": [2, 3]}, engine=Elsewhere(sees=False), report=False)
    assert there.digests == here.digests


def test_transport_axis(star: Scenario, tmp_path: Path) -> None:
    vary: dict[str, Any] = {"transport": ["tcp", "d3"], "workload.senders": [2, 3]}
    here = duetime.sweep(star, vary, out=tmp_path / "here")
    duetime.sweep(star, vary, out=tmp_path / "there", engine=Here())
    assert results(tmp_path / "here") == results(tmp_path / "there")
    assert str(duetime.load(tmp_path / "here").summary) == str(here.summary)
    assert len(here.digests) == 8


class Failing(Here):
    """Workers on which one run fails."""

    def result(self, handle: Handle) -> Report:
        report = super().result(handle)
        failed = [number for number in report["staged"] if number == 5]
        for number in failed:
            report["failed"].append((number, "no luck"))
            folder = Path(self.order["staging"]) / report["staged"].pop(number)
            folder.rename(folder.with_name(f".{folder.name}"))
        return report

    def submit(self, work: Work, order: dict[str, Any], batches: Sequence[Batch]) -> list[Handle]:
        self.order = order
        return super().submit(work, order, batches)


def test_failed_runs_are_reported_and_retried(star: Scenario, reference: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = duetime.sweep(star, GRID, out=out, engine=Failing())
    assert [(item.run, item.transport, item.reason) for item in result.failures] == [(0, "d3", "no luck")]
    point = result.failures[0].point
    assert point is not None
    failed = out / "points" / point / "runs" / "d3" / "0.failed.txt"
    assert failed.read_text() == "no luck"
    assert len(result.digests) == 15
    again = duetime.sweep(star, GRID, out=out)
    assert again.failures == [] and results(out) == results(reference)


class Hopeless(Here):
    """Workers that all die."""

    def result(self, handle: Handle) -> Report:
        if self.batches[handle]:
            raise ConnectionError("the worker is gone")
        return super().result(handle)


def test_runs_that_kill_workers_are_abandoned(star: Scenario, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="4 of 4 runs failed") as caught:
        duetime.sweep(star, {"workload.senders": [2, 3]}, seeds=1, out=tmp_path / "out", engine=Hopeless())
    assert "abandoned after 3 workers: the worker is gone" in str(caught.value)
    assert len(duetime.load(tmp_path / "out").failures) == 4


class SimpleHandle:
    """Handle of a batch that has ended."""

    def __init__(self, report: Report) -> None:
        self.report = report


class Dead(Here):
    """A cluster that dies, so that every later call fails."""

    def wait(self, handles: Sequence[Handle], timeout_s: float) -> list[Handle]:
        if len(self.batches) > 5:
            raise EngineError("the cluster has died")
        return super().wait(handles, timeout_s)

    def cancel(self, handles: Sequence[Handle]) -> None:
        raise ConnectionError("no connection")


def test_dead_cluster_leaves_no_staging_folder(star: Scenario, reference: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(EngineError, match="the cluster has died"):
        duetime.sweep(star, GRID, out=out, engine=Dead())
    assert not list(out.glob(".workers*"))
    assert 0 < len(duetime.load(out).digests) < 16
    duetime.sweep(star, GRID, out=out)
    assert results(out) == results(reference)


@pytest.mark.parametrize("lost", ["node", "connection"])
def test_dead_ray_is_an_engine_error(
    star: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    class RaySystemError(Exception):
        pass

    place = tmp_path / "raylet"
    node = socket.socket(socket.AF_UNIX)
    node.bind(str(place))
    node.listen()
    calls: list[str] = []
    fake: Any = ModuleType("ray")

    def wait(handles: list[Any], num_returns: int, timeout: float) -> tuple[list[Any], list[Any]]:
        calls.append("wait")
        if len(calls) > 3 and lost == "connection":
            raise RaySystemError("connection lost")
        if len(calls) > 3:
            node.close()
            return [], handles
        return handles[:1], handles[1:]

    class Remote:
        def __init__(self, work: Work) -> None:
            self.work = work

        def remote(self, order: dict[str, Any], batch: Batch) -> SimpleHandle:
            return SimpleHandle(self.work(order, batch))

    fake.exceptions = SimpleNamespace(RaySystemError=RaySystemError)
    fake._private = SimpleNamespace(
        worker=SimpleNamespace(_global_node=SimpleNamespace(gcs_address=None, raylet_socket_name=str(place)))
    )
    fake.is_initialized = lambda: True
    fake.cluster_resources = lambda: {"CPU": 2.0}
    fake.put = lambda order: order
    fake.remote = lambda **options: Remote
    fake.wait = wait
    fake.get = lambda handle: handle.report
    fake.cancel = lambda handle, force: calls.append("cancel")
    fake.shutdown = lambda: calls.append("shutdown")
    monkeypatch.setitem(sys.modules, "ray", fake)
    with pytest.raises(EngineError, match="the Ray cluster has died"):
        duetime.sweep(star, GRID, out=tmp_path / "out", engine=Ray())
    # Ray terminates a driver that stays connected.
    assert calls[-1] == "shutdown" and "cancel" not in calls
    assert not list((tmp_path / "out").glob(".workers*"))


class Old(Here):
    """A worker of another version."""

    def result(self, handle: Handle) -> Report:
        return {"version": "0.0.1", "failed": [], "staged": {}, "files": {}}


class Late(Old):
    """A worker of another version that is not checked before the sweep."""

    answers_within_s = None


class Foreign(Here):
    """A worker without the package."""

    def result(self, handle: Handle) -> Report:
        raise ModuleNotFoundError("No module named 'duetime'")


class LateForeign(Foreign):
    """A worker without the package that is not checked before the sweep."""

    answers_within_s = None


class Silent(Here):
    """A cluster that never executes a batch."""

    answers_within_s = 0.2

    def wait(self, handles: Sequence[Handle], timeout_s: float) -> list[Handle]:
        time.sleep(timeout_s)
        return []


@pytest.mark.parametrize(
    ("engine", "why"),
    [(Old(), "0.0.1"), (Late(), "0.0.1"), (Foreign(), "No module"), (LateForeign(), "No module"), (Silent(), "no worker")],
)
def test_incompatible_worker_is_rejected(star: Scenario, tmp_path: Path, engine: Here, why: str) -> None:
    with pytest.raises(EngineError, match=why):
        duetime.sweep(star, GRID, out=tmp_path / "new" / "out", engine=engine)
    assert engine.stopped
    assert not (tmp_path / "new").exists()


def test_worker_rejects_other_version(star: Scenario, tmp_path: Path) -> None:
    from duetime._worker import make

    plan = _native.Plan(star._source, [], [[("workload.senders", ["2"])]])
    order = {"version": "0.0.1", "manifest": plan.manifest(), "files": {}, "staging": str(tmp_path), "jobs": 1}
    assert make(order, [(0, 0, "d3", 0)])["version"] == duetime.__version__
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("module", "engine"),
    [("ray", Ray()), ("distributed", Dask()), ("submitit", Slurm("jobs"))],
    ids=["ray", "dask", "slurm"],
)
def test_missing_engine_package_is_named(
    star: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, engine: Engine
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(EngineError, match=f"{module}.*pip install"):
        duetime.sweep(star, GRID, out="out", engine=engine)
    assert list(tmp_path.iterdir()) == []


def test_other_version_folder_is_rejected(star: Scenario, tmp_path: Path) -> None:
    out = tmp_path / "out"
    duetime.sweep(star, {"workload.senders": [2]}, seeds=1, out=out)
    manifest = json.loads((out / "manifest.json").read_text())
    for key, value, why in (("duetime", "0.0.1", "0.0.1"), ("format", 99, "99")):
        (out / "manifest.json").write_text(json.dumps({**manifest, key: value}))
        before = files(out)
        for engine in (Local(), Here()):
            with pytest.raises(FolderError, match=why):
                duetime.sweep(star, {"workload.senders": [2, 3]}, seeds=1, out=out, engine=engine)
        assert files(out) == before


@pytest.mark.parametrize(
    ("vary", "why"),
    [
        ({"workload.senders": [3, 300]}, "300"),
        ({"workload.sendrs": [3]}, "sendrs"),
        ({"workload.senders": []}, "missing"),
        ({"workload.senders": [3, 3]}, "twice"),
        ({"workload.senders": [float("nan")]}, "nan"),
        ({"workload.senders": "9..5"}, "wrong way round"),
        ({}, "nothing to vary"),
    ],
)
def test_invalid_grid_is_rejected(star: Scenario, tmp_path: Path, vary: Any, why: str) -> None:
    with pytest.raises(ScenarioError, match=why):
        duetime.sweep(star, vary, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_invalid_arguments_are_rejected(star: Scenario) -> None:
    wrong: list[dict[str, Any]] = [{"engine": "spark"}, {"engine": Local(), "jobs": 2}, {"jobs": 0}]
    for arguments in wrong:
        with pytest.raises(ValueError):
            duetime.sweep(star, GRID, **arguments)


class Stopped(Here):
    """Ctrl-C while batches are running."""

    def wait(self, handles: Sequence[Handle], timeout_s: float) -> list[Handle]:
        if len(self.batches) > 8:
            raise KeyboardInterrupt
        return super().wait(handles, timeout_s)


def test_interrupt_keeps_finished_runs(star: Scenario, reference: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    engine = Stopped()
    with pytest.raises(KeyboardInterrupt):
        duetime.sweep(star, GRID, out=out, engine=engine)
    assert engine.stopped and engine.cancelled
    states = [run["state"] for run in duetime.load(out).manifest["runs"]]
    assert 0 < states.count("done") < 16 and states.count("missing") == 16 - states.count("done")
    assert not list(out.glob(".*"))
    duetime.sweep(star, GRID, out=out)
    assert results(out) == results(reference)


WAITS = """
import sys
import duetime

def on_event(event):
    if event["event"] == "progress":
        print("at work", flush=True)

try:
    duetime.sweep(sys.stdin.read(), {"seed": [1, 2]}, out=sys.argv[1], progress=on_event)
except KeyboardInterrupt:
    print("stopped", flush=True)
"""


def test_ctrl_c_stops_sweep(long: Scenario, tmp_path: Path) -> None:
    arguments = [sys.executable, "-c", WAITS, str(tmp_path / "out")]
    process = subprocess.Popen(arguments, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(long.to_toml())
    process.stdin.close()
    assert process.stdout.readline() == "at work\n"
    os.kill(process.pid, signal.SIGINT)
    assert process.stdout.read().splitlines()[-1] == "stopped"
    assert process.wait() == 0


@pytest.mark.parametrize("engine", [Local(2), Here(), Here(sees=False)], ids=["local", "shared", "sent"])
def test_results_are_uploaded(
    star: Scenario, reference: Path, tmp_path: Path, url: str, engine: Local | Engine
) -> None:
    half = {**GRID, "workload.senders": [3]}
    duetime.sweep(star, half, out=url, engine=engine)
    assert duetime.plan(star, GRID, out=url).missing == 8
    events: list[duetime.Event] = []
    result = duetime.sweep(star, GRID, out=url, engine=engine, progress=events.append)
    assert events[0]["kept"] == 8
    there = stored(url)
    for name, content in there.items():
        (tmp_path / "copy" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "copy" / name).write_bytes(content)
    assert results(tmp_path / "copy") == results(reference)
    again = duetime.load(url)
    assert again.digests == result.digests and len(again.digests) == 16
    duetime.sweep(star, half, out=url, overwrite=True)
    assert len(duetime.load(url).digests) == 8


def test_foreign_storage_is_not_modified(star: Scenario, url: str) -> None:
    import fsspec

    with pytest.raises(FolderError, match="no run folder"):
        duetime.load(url)
    with fsspec.open(f"{url}/mine.txt", "wb") as file:
        file.write(b"mine")
    for overwrite in (False, True):
        with pytest.raises(FolderError, match="not a run folder"):
            duetime.sweep(star, GRID, out=url, overwrite=overwrite)
    assert stored(url) == {"mine.txt": b"mine"}
    with pytest.raises(FolderError, match="no-such-protocol"):
        duetime.sweep(star, GRID, out="no-such-protocol://bucket/sweep")


def test_stopped_sweep_resumes_on_storage(star: Scenario, reference: Path, url: str) -> None:
    with pytest.raises(KeyboardInterrupt):
        duetime.sweep(star, GRID, out=url, engine=Stopped())
    kept = len(duetime.load(url).digests)
    assert 0 < kept < 16
    events: list[duetime.Event] = []
    result = duetime.sweep(star, GRID, out=url, progress=events.append)
    assert events[0]["kept"] == kept
    assert result.digests == duetime.load(reference).digests
