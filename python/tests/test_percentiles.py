"""Percentiles, recomputed from the rows of the tables."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import polars
import pytest

import duetime
from duetime import Result, Scenario

from samples import SERVICE

RANKS = {
    "p50": Fraction(1, 2),
    "p90": Fraction(9, 10),
    "p95": Fraction(95, 100),
    "p99": Fraction(99, 100),
    "p999": Fraction(999, 1000),
}


def pooled(took: list[int | None], share: Fraction) -> float | None:
    """Return the nearest-rank percentile in seconds, if at least ten samples are beyond it. Missing ends count as latest."""
    if len(took) * (1 - share) < 10:
        return None
    ascending = sorted(took, key=lambda value: (value is None, value))
    rank = -(-len(took) * share // 1)
    found = ascending[int(rank) - 1]
    return None if found is None else found * 1e-9


def check(rows: list[dict[str, Any]], table: polars.DataFrame, column: str) -> int:
    """Compare the percentiles of the summary with those of the table's rows. Return the number of percentiles."""
    found = 0
    for row in rows:
        own = table.filter(polars.col("measured") & (polars.col("transport") == row["transport"]))
        own = own.filter(polars.col("workload") == row["workload"])
        if "class" in row:
            own = own.filter(polars.col("class") == row["class"])
        took = own[column].to_list()
        for name, share in RANKS.items():
            reported, expected = row["completion_s"][name], pooled(took, share)
            if expected is None:
                assert reported is None, (row["transport"], name)
                continue
            found += 1
            # Tables are rounded to nanoseconds.
            assert reported["value"] == pytest.approx(expected, abs=1e-9), (row["transport"], name)
            assert reported["interval"] is None or reported["interval"]["low"] <= reported["value"] <= reported["interval"]["high"]
    return found


def run(seeds: int, load: float, duration: str, out: Path) -> Result:
    scenario = Scenario.from_toml(SERVICE).with_({"workload.load": load, "duration": duration})
    return duetime.run(scenario, seeds=seeds, out=out, report=False)


def test_percentiles_cover_all_runs(tmp_path: Path) -> None:
    result = run(4, 0.5, "150 ms", tmp_path / "out")
    queries = result.queries.to_polars()
    assert check(result.summary.queries, queries.with_columns(took=queries["enough_ns"]), "took") >= 6
    assert check(result.summary.rows, result.flows.to_polars(), "fct_ns") >= 6


def test_no_percentile_of_few_queries(tmp_path: Path) -> None:
    result = run(1, 0.02, "40 ms", tmp_path / "out")
    for row in result.summary.queries:
        assert row["queries"] < 20
        assert [row["completion_s"][name] for name in RANKS] == [None] * 5
    assert "–" in str(result.summary)
