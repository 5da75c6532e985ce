"""Runs, results and run folders."""

from __future__ import annotations

import gc
import html
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

import fsspec
import pandas
import polars
import pyarrow
import pytest

import duetime
from duetime import FolderError, Scenario, ScenarioError
from duetime._result import TABLES

from samples import STAR, files, stored


def test_results_are_tables(service: Scenario) -> None:
    result = duetime.run(service)
    queries = result.queries
    assert queries.shape == (len(queries), len(queries.columns))
    assert len(queries) > 10
    assert "Budget" in queries.columns["budget_ns"]
    frames = queries.to_polars(), queries.to_pandas(), queries.to_arrow()
    assert [len(frame) for frame in frames] == [len(queries)] * 3
    assert set(frames[0]["transport"].unique()) == {"dctcp", "d3"}
    assert set(frames[1]["run"]) == {0, 1}
    assert frames[0]["met"].dtype == polars.Boolean
    grouped = frames[0].group_by("transport").agg(polars.len(), polars.col("met").sum())
    counted = {name: (count, met) for name, count, met in grouped.iter_rows()}
    objectives = {row["transport"]: row["objective"] for row in result.summary.queries}
    assert counted == {name: (item["queries"], item["met"]) for name, item in objectives.items()}
    for name in TABLES:
        assert result.table(name).to_arrow().num_columns == len(result.table(name).columns)
    assert result.to_polars("ports").height == len(result.ports)


def test_verdict_counts_late_queries(service: Scenario) -> None:
    late = service.with_({"workload.compute": "exponential 2 ms"})
    result = duetime.run(late)
    (verdict,) = result.summary.verdicts
    queries = result.queries.to_polars().filter(polars.col("transport") == "dctcp")
    assert verdict["transport"] == "dctcp"
    assert verdict["late"] == queries.filter(~polars.col("met")).height > 0
    assert sum(item["queries"] for item in verdict["limits"]) == verdict["explained"] == verdict["late"]
    assert verdict["limits"][0]["limit"] == "computing"
    assert verdict["text"] in result.summary.text.replace("\n", " ")


def test_tables_have_rows_of_summary(service: Scenario) -> None:
    hedged = service.with_({"warm_up": "20 ms", "workload.hedge": {"after": "100 us"}})
    result = duetime.run(hedged)
    queries, flows = result.queries.to_polars(), result.flows.to_polars()
    assert queries["measured"].all() and flows["measured"].all() and not flows["spare"].any()
    for row in result.summary.rows:
        own = flows.filter((polars.col("transport") == row["transport"]) & (polars.col("class") == row["class"]))
        assert len(own) == row["flows"]
        if row["deadlines"]:
            assert (own["met"].count(), own["met"].sum()) == (row["deadlines"]["flows"], row["deadlines"]["met"])
    every = {name: result.table(name, all=True).to_polars() for name in TABLES}
    measured = polars.col("measured")
    assert 0 < len(queries) < len(every["queries"])
    assert every["queries"].filter(measured).equals(queries)
    assert every["flows"].filter(measured & ~polars.col("spare")).equals(flows)
    assert every["flows"].filter(measured & polars.col("spare")).height > 0
    assert every["ports"].equals(result.ports.to_polars())


def test_tables_share_memory(star: Scenario) -> None:
    flows = duetime.run(star, transports="d3", seeds=1).flows
    column = flows.to_arrow()["size_bytes"].chunk(0)
    address = column.buffers()[1].address
    assert flows.to_arrow()["size_bytes"].chunk(0).buffers()[1].address == address
    series = flows.to_polars()["size_bytes"].to_arrow()
    assert series.buffers()[1].address == address
    frame: Any = flows.to_pandas(arrow=True)["size_bytes"]
    assert frame.array.__arrow_array__().chunk(0).buffers()[1].address == address


def test_tables_outlive_their_result(star: Scenario) -> None:
    result = duetime.run(star, transports="d3", seeds=1)
    folder = result.folder
    table = result.flows.to_arrow()
    assert folder.is_dir()
    del result
    gc.collect()
    assert not folder.exists()
    assert table["size_bytes"].to_pylist()[0] >= 2000


def test_summary_matches_command(star: Scenario, command: str, tmp_path: Path) -> None:
    (tmp_path / "star.toml").write_text(STAR, encoding="utf-8")
    arguments = [command, "run", "star.toml", "--set", "workload.senders=5", "--out", "cli", "--wide"]
    done = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, check=True)
    scenario = Scenario.from_file(tmp_path / "star.toml").set("workload.senders", 5)
    result = duetime.run(scenario, out=tmp_path / "python")
    assert str(result.summary) in done.stdout
    assert "deadline" in str(result.summary)
    assert str(result.summary) in html.unescape(result.summary._repr_html_())
    ours, theirs = files(tmp_path / "python"), files(tmp_path / "cli")
    assert ours.keys() == theirs.keys()
    assert "report.html" in ours
    tables = [name for name in ours if name.endswith(".parquet")]
    assert len(tables) == 5 * 2 * 2
    assert all(ours[name] == theirs[name] for name in tables)
    assert ours["summary.json"] == theirs["summary.json"]
    manifests = [json.loads(item["manifest.json"]) for item in (ours, theirs)]
    for manifest in manifests:
        for key in ("started", "finished"):
            del manifest[key]
    assert manifests[0] == manifests[1]
    assert duetime.load(tmp_path / "cli").digests == result.digests


def test_save_is_atomic(star: Scenario, tmp_path: Path) -> None:
    result = duetime.run(star, seeds=1)
    place = result.save(tmp_path / "new" / "kept")
    assert (place / "report.html").is_file()
    again = duetime.load(place)
    assert again.digests == result.digests
    assert again.scenario == star.set("seeds", 1)
    assert again.flows.to_arrow().equals(result.flows.to_arrow())
    assert str(again.summary) == str(result.summary)
    with pytest.raises(FolderError):
        result.save(place)
    other = tmp_path / "other"
    other.mkdir()
    (other / "mine.txt").write_text("mine")
    with pytest.raises(FolderError):
        result.save(other, overwrite=True)
    assert (other / "mine.txt").read_text() == "mine"
    result.save(place, overwrite=True)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_runs_are_uploaded(star: Scenario, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    first = duetime.run(star, out=url)
    kept = stored(url)
    assert "manifest.json" in kept and "report.html" in kept
    assert duetime.load(url).digests == first.digests
    with pytest.raises(FolderError, match=f"`{url}` exists and is not empty"):
        duetime.run(star, out=url)
    assert stored(url) == kept
    events: list[duetime.Event] = []
    duetime.run(star, out=url, resume=True, progress=events.append)
    assert events[0]["event"] == "study-started" and events[0]["kept"] == 4
    assert len(duetime.run(star, "d3", out=url, overwrite=True).digests) == 2
    assert len(duetime.load(url).digests) == 2
    assert list(tmp_path.iterdir()) == []


def test_save_to_url(star: Scenario, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = duetime.run(star, seeds=1)
    assert result.save(url) == url
    again = duetime.load(url)
    assert again.digests == result.digests
    assert {name for name in files(result.folder) if not name.startswith(".")} == set(stored(url))
    with pytest.raises(FolderError, match=r"exists and is not empty.*overwrite=True"):
        result.save(url)
    duetime.run(star, "d3", seeds=1).save(url, overwrite=True)
    assert duetime.load(url).transports == ["d3"]
    other = url.replace("sweep", "other")
    with fsspec.open(f"{other}/mine.txt", "wb") as file:
        file.write(b"mine")
    with pytest.raises(FolderError, match="not a run folder"):
        result.save(other, overwrite=True)
    assert stored(other) == {"mine.txt": b"mine"}
    assert list(tmp_path.iterdir()) == []


def test_file_url_is_a_path(star: Scenario, tmp_path: Path) -> None:
    result = duetime.run(star, seeds=1, out=(tmp_path / "run").as_uri())
    assert result.folder == tmp_path / "run"
    assert result.save((tmp_path / "kept").as_uri()) == tmp_path / "kept"
    assert duetime.load((tmp_path / "kept").as_uri()).digests == result.digests


def test_urls_require_fsspec(star: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = duetime.run(star, seeds=1)
    monkeypatch.setitem(sys.modules, "fsspec", None)
    url = "s3://bucket/run"
    calls: list[Callable[[], object]] = [
        lambda: duetime.run(star, out=url),
        lambda: result.save(url),
        lambda: duetime.compare(result, url),
    ]
    for call in calls:
        with pytest.raises(FolderError, match=r"`s3://bucket/run` needs fsspec: pip install 'duetime\[cloud\]'"):
            call()
    assert list(tmp_path.iterdir()) == []


def test_other_folders_are_paths(star: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FolderError, match="a path is required"):
        duetime.capacity(star, "senders", out="s3://bucket/journal")
    with pytest.raises(FolderError, match="a path is required"):
        duetime.paper("d3", out="s3://bucket/paper")
    assert list(tmp_path.iterdir()) == []


def test_resume_and_overwrite(star: Scenario, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = duetime.run(star, out=out, report=False)
    with pytest.raises(FolderError):
        duetime.run(star, out=out)
    events: list[duetime.Event] = []
    duetime.run(star, out=out, resume=True, progress=events.append)
    assert events[0]["event"] == "study-started" and events[0]["kept"] == 4
    assert duetime.run(star, out=out, overwrite=True, report=False).digests == first.digests
    with pytest.raises(FolderError):
        duetime.run(star.set("workload.senders", 3), out=out, resume=True)


def test_progress_is_reported(star: Scenario, capsys: pytest.CaptureFixture[str]) -> None:
    events: list[duetime.Event] = []
    duetime.run(star, progress=events.append)
    kinds = [event["event"] for event in events]
    assert kinds[0] == "study-started" and kinds[-1] == "study-finished"
    assert kinds.count("run-finished") == 4
    assert capsys.readouterr().err == ""
    duetime.run(star, progress=True)
    assert "4" in capsys.readouterr().err


def test_progress_lines_without_tqdm(
    star: Scenario, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    duetime.run(star, progress=True)
    assert "of 4 runs" in capsys.readouterr().err


def test_callback_error_stops_runs(long: Scenario) -> None:
    def stop(event: duetime.Event) -> None:
        raise KeyError(event["event"])

    with pytest.raises(KeyError):
        duetime.run(long, progress=stop)


def test_run_releases_gil(long: Scenario) -> None:
    ticks = 0
    started = threading.Event()
    stop = threading.Event()

    def tick() -> None:
        nonlocal ticks
        started.wait()
        while not stop.is_set():
            ticks += 1
            time.sleep(0.001)

    def on_event(event: duetime.Event) -> None:
        started.set()
        # Progress arrives a few times per second; with the GIL held, no tick would occur in between.
        if ticks > 20:
            raise StopIteration

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        with pytest.raises(StopIteration):
            duetime.run(long, progress=on_event)
    finally:
        started.set()
        stop.set()
        thread.join()


WAITS = """
import sys
import duetime

def on_event(event):
    if event["event"] == "progress":
        print("at work", flush=True)

try:
    duetime.run(sys.stdin.read(), out=sys.argv[1], progress=on_event)
except KeyboardInterrupt:
    print("stopped", flush=True)
"""


def test_ctrl_c_stops_run(long: Scenario, tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = subprocess.Popen(
        [sys.executable, "-c", WAITS, str(out)],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(long.to_toml())
    process.stdin.close()
    assert process.stdout.readline() == "at work\n"
    began = time.monotonic()
    os.kill(process.pid, signal.SIGINT)
    rest = process.stdout.read()
    took = time.monotonic() - began
    assert process.wait() == 0
    assert rest.splitlines()[-1] == "stopped"
    # The target is one second on an idle machine; a loaded one takes longer.
    assert took < 20, f"{took:.1f} s"
    print(f"Ctrl-C to the end of the process: {took:.2f} s")
    states = [run["state"] for run in json.loads((out / "manifest.json").read_text())["runs"]]
    assert "done" not in states


def test_jobs_do_not_change_results(service: Scenario) -> None:
    digests = [duetime.run(service, jobs=jobs, threads=threads).digests for jobs, threads in ((1, 1), (4, 2))]
    assert digests[0] == digests[1] and len(digests[0]) == 4


def test_transports_are_selected(star: Scenario) -> None:
    assert duetime.run(star, transports="d3", seeds=1).transports == ["d3"]
    assert duetime.run(star, transports=["tcp", "d3"], seeds=1).transports == ["tcp", "d3"]
    assert duetime.run(star, "d3,tcp", 1).transports == ["d3", "tcp"]
    with pytest.raises(ScenarioError, match="d4"):
        duetime.run(star, transports="d4")


@pytest.mark.parametrize(
    "wrong",
    [{"jobs": 0}, {"threads": 0}, {"seeds": 0}, {"resume": True, "overwrite": True}],
)
def test_invalid_arguments_are_rejected(star: Scenario, tmp_path: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        duetime.run(star, out=tmp_path / "out", **wrong)
    assert not (tmp_path / "out").exists()


def test_non_run_folder_is_rejected(tmp_path: Path, star: Scenario) -> None:
    with pytest.raises(FolderError):
        duetime.load(tmp_path)
    out = duetime.run(star, seeds=1, out=tmp_path / "out").folder
    manifest = json.loads((out / "manifest.json").read_text())
    (out / "manifest.json").write_text(json.dumps({**manifest, "format": 99}))
    with pytest.raises(FolderError, match="99"):
        duetime.load(out)
    (out / "manifest.json").write_text(json.dumps(manifest))
    table = next(out.rglob("flows.parquet"))
    table.write_bytes(table.read_bytes()[:-20])
    with pytest.raises(FolderError, match="flows.parquet"):
        duetime.load(out).flows


def test_command_sweep_is_readable(command: str, tmp_path: Path) -> None:
    (tmp_path / "star.toml").write_text(STAR, encoding="utf-8")
    arguments = [command, "sweep", "star.toml", "--vary", "workload.senders=3,5", "--out", "out", "--seeds", "1"]
    subprocess.run(arguments, cwd=tmp_path, capture_output=True, check=True)
    result = duetime.load(tmp_path / "out")
    flows = result.to_polars()
    assert flows.columns[0] == "point" and flows["point"].n_unique() == 2
    assert len(result.digests) == 4
    assert pyarrow.table(result.flows).num_rows == flows.height
    assert isinstance(result.to_pandas(), pandas.DataFrame)


def test_background_run_is_cancelled(long: Scenario, tmp_path: Path) -> None:
    at_work = threading.Event()

    def on_event(event: duetime.Event) -> None:
        if event["event"] == "progress":
            at_work.set()

    run = duetime.start(duetime.run, long, out=tmp_path / "out", progress=on_event)
    assert at_work.wait(60)
    assert not run.done() and not run.cancelled()
    with pytest.raises(TimeoutError):
        run.result(timeout=0.01)
    began = time.monotonic()
    run.cancel()
    with pytest.raises(CancelledError):
        run.result(timeout=60)
    print(f"cancel to the end of the run: {time.monotonic() - began:.2f} s")
    assert run.done() and run.cancelled() and "cancelled" in repr(run)
    states = [run["state"] for run in json.loads((tmp_path / "out" / "manifest.json").read_text())["runs"]]
    assert "done" not in states


def test_background_call_returns_result(star: Scenario) -> None:
    wanted = duetime.run(star, "d3", 1)
    run = duetime.start(duetime.run, star, "d3", seeds=1)
    sweep = duetime.start(duetime.sweep, star, {"workload.senders": [2]}, "d3", 1)
    assert run.result(60).digests == wanted.digests
    assert len(sweep.result(60).digests) == 1
    run.cancel()
    assert run.done() and not run.cancelled() and run.result().digests == wanted.digests
    wrong = duetime.start(duetime.run, star, "d4")
    with pytest.raises(ScenarioError, match="d4"):
        wrong.result(60)
