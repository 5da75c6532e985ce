"""Bad input raises a clear exception and writes nothing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import polars
import pytest

import duetime
from duetime import FolderError, Result, Scenario, ScenarioError, figures

from samples import STAR, files


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An intact run folder."""
    out = tmp_path_factory.mktemp("whole") / "out"
    duetime.run(STAR, "d3", 1, out=out)
    return out


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    """A copy of the run folder to damage."""
    shutil.copytree(whole, tmp_path / "out")
    return tmp_path / "out"


CALLS: list[Callable[[Any, Path], object]] = [
    lambda scenario, out: duetime.run(scenario, out=out),
    lambda scenario, out: duetime.capacity(scenario, "senders", out=out),
]


@pytest.mark.parametrize("call", CALLS, ids=["run", "capacity"])
@pytest.mark.parametrize(
    ("scenario", "line", "words"),
    [
        ("no-such-file.toml", None, "no-such-file.toml"),
        (Path("no") / "such" / "folder.toml", None, "folder.toml"),
        (STAR.replace("burst", "brust"), 12, "brust"),
        (STAR.replace('"1 Gbps"', "1"), 9, "Gbps"),
        (STAR + "[[workload]]\nkind = 'trace'\nfile = 'none.csv'\n", 21, "none.csv"),
        (STAR.encode("utf-16"), 1, "UTF-16"),
    ],
    ids=["file", "folder", "kind", "unit", "trace", "bytes"],
)
def test_invalid_scenario_writes_nothing(
    call: Callable[[Any, Path], object], scenario: Any, line: int | None, words: str, tmp_path: Path
) -> None:
    if isinstance(scenario, bytes):
        (tmp_path / "bytes.toml").write_bytes(scenario)
        scenario = tmp_path / "bytes.toml"
    before = sorted(tmp_path.iterdir())
    with pytest.raises(ScenarioError) as caught:
        call(scenario, tmp_path / "out")
    assert words in str(caught.value) and caught.value.line == line
    assert caught.value.file is not None
    assert sorted(tmp_path.iterdir()) == before


def test_unwritable_folder(star: Scenario, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    with pytest.raises(FolderError, match="file"):
        duetime.run(star, seeds=1, out=tmp_path / "file")
    with pytest.raises(FolderError, match="file"):
        duetime.run(star, seeds=1, out=tmp_path / "file" / "below")
    assert files(tmp_path) == {"file": b"mine"}


COLUMNS: dict[str, list[Any]] = {"src": [1, 2], "dst": [0, 0], "bytes": [100.0, 200.0], "start": [0.0, 0.1]}


@pytest.mark.parametrize(
    ("column", "values", "row"),
    [
        ("bytes", [100.0, float("nan")], 2),
        ("bytes", [-100.0, 200.0], 1),
        ("start", [float("nan"), 0.1], 1),
        ("start", [0.0, float("inf")], 2),
        ("src", [1, 400], 2),
        ("src", ["host1", "host2"], 1),
        ("dst", [0.5, 0.0], 1),
    ],
)
@pytest.mark.parametrize("frame", [pandas.DataFrame, polars.DataFrame], ids=["pandas", "polars"])
def test_invalid_cell_reports_row_and_column(
    star: Scenario, frame: Callable[[Any], Any], column: str, values: list[Any], row: int
) -> None:
    with pytest.raises(ScenarioError) as caught:
        star.with_flows(frame({**COLUMNS, column: values}))
    error = caught.value
    assert (error.file, error.line, error.key) == ("<flows>", row, column)
    assert error.allowed and column in str(error)


def change(folder: Path, **values: object) -> None:
    """Change values in the manifest; `None` removes the key."""
    file = folder / "manifest.json"
    manifest = {**json.loads(file.read_text()), **values}
    file.write_text(json.dumps({key: value for key, value in manifest.items() if value is not None}))


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "another format": (lambda folder: change(folder, format=99), "99"),
    "no manifest": (lambda folder: (folder / "manifest.json").unlink(), "run folder"),
    "no JSON": (lambda folder: (folder / "manifest.json").write_text("{ 'a"), "manifest"),
    "a key is missing": (lambda folder: change(folder, runs=None), "runs"),
    "a key of another type": (lambda folder: change(folder, seeds="three"), "three"),
    "a table is short": (lambda folder: shorten(folder / "runs/d3/0/flows.parquet"), "flows.parquet"),
    "a table is gone": (lambda folder: (folder / "runs/d3/0/flows.parquet").unlink(), "flows.parquet"),
    "totals are gone": (lambda folder: (folder / "runs/d3/0/run.json").unlink(), "run.json|1 of 1 finished runs"),
}


def shorten(file: Path) -> None:
    """Truncate the file."""
    file.write_bytes(file.read_bytes()[:-20])


READERS: list[Callable[[Path], object]] = [
    lambda folder: duetime.load(folder).flows.to_arrow(),
    lambda folder: duetime.load(folder).summary,
    lambda folder: figures.in_time(folder),
    lambda folder: figures.slack(folder),
    lambda folder: duetime.compare(folder, folder),
]


@pytest.mark.parametrize("read", READERS, ids=["flows", "summary", "in_time", "slack", "compare"])
@pytest.mark.parametrize("damage", list(DAMAGES))
def test_damaged_folder_is_reported(damage: str, read: Callable[[Path], object], folder: Path) -> None:
    harm, words = DAMAGES[damage]
    harm(folder)
    before = files(folder)
    # compare reports that the folders have nothing in common.
    expected: tuple[type[duetime.DuetimeError], str] = (FolderError, words)
    if damage == "totals are gone" and read is READERS[-1]:
        expected = (ScenarioError, "0 finished runs")
    with pytest.raises(expected[0], match=expected[1]):
        read(folder)
    assert files(folder) == before


def test_older_results_stay_readable(folder: Path) -> None:
    change(folder, duetime="0.0.1")
    old = duetime.load(folder)
    assert old.manifest["duetime"] == "0.0.1" and len(old.flows) > 0
    compared = duetime.compare(folder, Result(folder))
    assert compared.in_time["differs"] == "few-seeds" or compared.in_time["differs"] == "equal"


def test_save_keeps_foreign_files(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "note.txt").write_text("mine", encoding="utf-8")
    for overwrite in (False, True):
        with pytest.raises(FolderError):
            duetime.load(folder).save(tmp_path / "mine", overwrite=overwrite)
    assert files(tmp_path / "mine") == {"note.txt": b"mine"}
