"""Flows from tables."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy
import pandas
import polars
import pyarrow
import pytest

import duetime
from duetime import Scenario, ScenarioError

COLUMNS: dict[str, list[Any]] = {
    "src": [1, 2, 3],
    "dst": [0, 0, 4],
    "bytes": [20_000, 30_000, 1],
    "start": [0.002, 0.001, 0.001],
    "deadline": [0.01, None, 0.005],
}

FRAMES: list[Callable[[dict[str, list[Any]]], Any]] = [dict, pandas.DataFrame, polars.DataFrame, pyarrow.table]


class Plain:
    """A table with only `to_dict`."""

    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self.columns = columns

    def to_dict(self) -> dict[str, list[Any]]:
        return self.columns


@pytest.mark.parametrize("frame", [*FRAMES, Plain], ids=lambda item: item.__name__)
def test_flows_run_as_given(star: Scenario, frame: Callable[[Any], Any]) -> None:
    scenario = star.with_flows(frame(COLUMNS), name="mine")
    assert scenario.workloads == ["mine"]
    flows = duetime.run(scenario, transports="d3", seeds=1).to_polars().sort("start_ns", "source")
    seen = flows.select("start_ns", "source", "destination", "size_bytes", "deadline_ns").rows()
    assert seen == [
        (1_000_000, 2, 0, 30_000, None),
        (1_000_000, 3, 4, 1, 5_000_000),
        (2_000_000, 1, 0, 20_000, 10_000_000),
    ]


def test_times_as_durations_or_nanoseconds(star: Scenario) -> None:
    wanted = star.with_flows(COLUMNS)
    start = [timedelta(seconds=item) for item in COLUMNS["start"]]
    deadline = [None if item is None else timedelta(seconds=item) for item in COLUMNS["deadline"]]
    durations = {**COLUMNS, "start": start, "deadline": deadline}
    for frame in (dict, polars.DataFrame, pandas.DataFrame, pyarrow.table):
        assert star.with_flows(frame(durations)) == wanted
    names = {"src": "source", "dst": "destination", "bytes": "size_bytes"}
    of_trace = {names[key]: values for key, values in COLUMNS.items() if key in names}
    of_trace["start_ns"] = [2_000_000, 1_000_000, 1_000_000]
    of_trace["deadline_ns"] = [10_000_000, None, 5_000_000]
    assert star.with_flows(polars.DataFrame(of_trace)) == wanted


def test_nanosecond_durations_are_exact(star: Scenario) -> None:
    start, deadline = [2_000_700, 1_000_001, 1_000_001], [10_000_300, None, 5_000_001]
    wanted = star.with_flows(
        {
            "src": COLUMNS["src"],
            "dst": COLUMNS["dst"],
            "bytes": COLUMNS["bytes"],
            "start_ns": start,
            "deadline_ns": deadline,
        }
    )
    missing = numpy.timedelta64("NaT", "ns")
    arrays: list[Any] = [numpy.array([missing if item is None else item for item in ns], "m8[ns]") for ns in (start, deadline)]
    durations: list[Callable[[Any], Any]] = [
        lambda array: array,
        list,
        pandas.Series,
        lambda array: list(pandas.Series(array)),
        polars.Series,
    ]
    for column in durations:
        table = {**COLUMNS, "start": column(arrays[0]), "deadline": column(arrays[1])}
        assert star.with_flows(table) == wanted
    for frame in (pandas.DataFrame, polars.DataFrame, pyarrow.table):
        table = {**COLUMNS, "start": arrays[0], "deadline": arrays[1]}
        assert star.with_flows(frame(table)) == wanted
    in_ns: dict[str, Any] = {key: COLUMNS[key] for key in ("src", "dst", "bytes")}
    assert star.with_flows({**in_ns, "start_ns": arrays[0], "deadline_ns": arrays[1]}) == wanted


@pytest.mark.parametrize(
    ("start", "reason"),
    [
        (numpy.array([1, 2_500, 1], "m8[ps]"), "not a whole number of nanoseconds"),
        (numpy.array([0, 1, 0], "m8[M]"), "no fixed length"),
    ],
    ids=["picoseconds", "months"],
)
def test_invalid_durations_are_rejected(star: Scenario, start: Any, reason: str) -> None:
    with pytest.raises(ScenarioError, match=reason) as caught:
        star.with_flows({**COLUMNS, "start": start})
    assert (caught.value.file, caught.value.key) == ("<flows>", "start")


def test_dates_are_rejected(star: Scenario) -> None:
    dates: Any = numpy.array([1, 2, 3], "M8[ns]")
    with pytest.raises(ScenarioError, match="not a time"):
        star.with_flows({**COLUMNS, "start": dates})


def test_result_flows_can_be_replayed(star: Scenario) -> None:
    first = duetime.run(star, transports="d3", seeds=1)
    columns = ["start_ns", "source", "destination", "size_bytes", "deadline_ns"]
    again = star.with_flows(first.to_polars().select(columns))
    second = duetime.run(again, transports="d3", seeds=1)
    assert sorted(second.to_polars()["size_bytes"]) == sorted(first.to_polars()["size_bytes"])


@pytest.mark.parametrize("frame", FRAMES, ids=lambda item: item.__name__)
def test_extra_columns_are_optional(star: Scenario, frame: Callable[[Any], Any]) -> None:
    more = frame({**COLUMNS, "user": ["a", "b", "c"], "deadlin": [1.0, 2.0, 3.0]})
    with pytest.raises(ScenarioError, match="unknown column `user`") as caught:
        star.with_flows(more)
    assert caught.value.help is not None and "accept_extra_columns=True" in caught.value.help
    assert star.with_flows(more, accept_extra_columns=True) == star.with_flows(COLUMNS)
    with pytest.raises(ScenarioError, match="column `src` is missing"):
        star.with_flows(frame({"source_host": [1], "dst": [0]}), accept_extra_columns=True)


def test_flow_table_replays_unchanged(star: Scenario) -> None:
    first = duetime.run(star, transports="d3", seeds=1)
    second = duetime.run(star.with_flows(first.flows, accept_extra_columns=True), transports="d3", seeds=1)
    columns = ["start_ns", "source", "destination", "size_bytes", "deadline_ns"]
    tables = [item.to_polars().select(columns).sort(columns) for item in (first, second)]
    assert tables[0].equals(tables[1])


def test_flows_with_other_workloads(star: Scenario) -> None:
    both = star.set("workload.senders", 3).with_flows(COLUMNS, keep_workloads=True)
    assert both.workloads == ["burst", "flows"]
    assert both.resolved["workloads"][0]["does"]["senders"] == 3


def test_folder_repeats_without_table(star: Scenario, tmp_path: Path) -> None:
    result = duetime.run(star.with_flows(COLUMNS), seeds=1, out=tmp_path / "out")
    again = duetime.run(duetime.load(tmp_path / "out").scenario)
    assert again.digests == result.digests


WRONG: list[tuple[dict[str, Any], str, int | None, str]] = [
    ({"src": [1, 2, 11]}, "src", 3, "0..=10"),
    ({"dst": [0, -1, 4]}, "dst", 2, "0..=10"),
    ({"dst": [1, 0, 4]}, "dst", 1, "two different hosts"),
    ({"src": [1.0, 2.5, 3.0]}, "src", 2, "0..=10"),
    ({"bytes": [20_000, -5, 1]}, "bytes", 2, "1..="),
    ({"bytes": [0, 1, 1]}, "bytes", 1, "1..="),
    ({"start": [0.0, -1.0, 0.0]}, "start", 2, "0 to 24 hours"),
    ({"start": [0.0, 0.0, 1e9]}, "start", 3, "0 to 24 hours"),
    ({"start": [0.0, None, 0.0]}, "start", 2, "0 to 24 hours"),
    ({"start": ["a", "b", "c"]}, "start", 1, "0 to 24 hours"),
    ({"deadline": [0.0, None, 1.0]}, "deadline", 1, "1 ns to 24 hours"),
    ({"deadlin": [1.0, 1.0, 1.0]}, "deadlin", None, "src, dst"),
    ({"source": [1, 2, 3]}, "source", None, "src, dst"),
]


@pytest.mark.parametrize("frame", FRAMES, ids=lambda item: item.__name__)
@pytest.mark.parametrize(("wrong", "key", "row", "allowed"), WRONG, ids=lambda item: str(item)[:30])
def test_invalid_table_is_rejected(
    star: Scenario,
    frame: Callable[[Any], Any],
    wrong: dict[str, Any],
    key: str,
    row: int | None,
    allowed: str,
) -> None:
    with pytest.raises(ScenarioError) as caught:
        star.with_flows(frame({**COLUMNS, **wrong}))
    error = caught.value
    assert (error.file, error.line, error.key) == ("<flows>", row, key)
    assert error.allowed is not None and allowed in error.allowed
    assert (error.value is None) == (row is None)


@pytest.mark.parametrize("column", ["src", "bytes", "start", "deadline"])
def test_nan_is_rejected(star: Scenario, column: str) -> None:
    values = [1.0, float("nan"), 3.0]
    for frame in (dict, polars.DataFrame):
        with pytest.raises(ScenarioError) as caught:
            star.with_flows(frame({**COLUMNS, column: values}))
        assert (caught.value.line, caught.value.key) == (2, column)
        assert "not a number" in str(caught.value)


def test_missing_column_is_rejected(star: Scenario) -> None:
    for column in ("src", "dst", "bytes", "start"):
        left = {key: values for key, values in COLUMNS.items() if key != column}
        with pytest.raises(ScenarioError, match=f"column `{column}` is missing"):
            star.with_flows(polars.DataFrame(left))
    left = {key: values for key, values in COLUMNS.items() if key != "deadline"}
    assert star.with_flows(polars.DataFrame(left)).workloads == ["flows"]


def test_non_table_is_rejected(star: Scenario) -> None:
    nothings: list[Any] = [polars.DataFrame(), {}, polars.DataFrame(COLUMNS).head(0)]
    for nothing in nothings:
        with pytest.raises(ScenarioError):
            star.with_flows(nothing)
    with pytest.raises(ScenarioError, match="rows"):
        star.with_flows({**COLUMNS, "bytes": [1, 2]})
    with pytest.raises(TypeError):
        star.with_flows(3)  # type: ignore[arg-type]
