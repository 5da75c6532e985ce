"""Paired comparison of results."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

import duetime
from duetime import FolderError, Scenario, ScenarioError


def test_comparison_matches_command(command: str, service: Scenario, tmp_path: Path) -> None:
    a = duetime.run(service, seeds=4, out=tmp_path / "a", report=False)
    b = duetime.run(service.set("switch.buffer", "20 KB"), seeds=4, out=tmp_path / "b", report=False)
    compared = duetime.compare(a, tmp_path / "b", "d3,dctcp")

    def run_command(*flags: str) -> str:
        arguments = [command, "compare", "a", "b", "--transport", "d3,dctcp", *flags]
        return subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    # The output names the folders as passed.
    assert str(compared).replace(f"{tmp_path}/", "") == run_command("--wide")
    lines = [json.loads(line) for line in run_command("--json").splitlines()]
    assert compared.in_time == lines[0]["in_time"]
    assert (compared.pairs, compared.seeds, compared.in_time_of) == (8, 4, "queries")
    events = {"setting": compared.settings, "difference": compared.rows}
    for event, rows in events.items():
        assert rows == [{key: item[key] for key in item if key != "event"} for item in lines if item["event"] == event]
    assert [item["key"] for item in compared.settings] == ["switch.buffer.pool"]
    assert compared.rows and "B - A" in compared._repr_html_()
    assert duetime.compare(a, a).in_time["differs"] == "equal"
    assert duetime.compare(b, a, ["d3"]).transports == ["d3"]


def test_pair_compares_two_transports(service: Scenario, tmp_path: Path) -> None:
    result = duetime.run(service.set("workload.load", 0.5), "dctcp,d2tcp,d3", 4, out=tmp_path / "out", report=False)
    compared = duetime.compare(result, pair=("dctcp", "d3"))
    assert (compared.transports, compared.pairs, compared.settings) == (["dctcp -> d3"], 4, [])
    assert f"\nA  {result.folder}, dctcp\nB  {result.folder}, d3\n" in str(compared)
    numbers = {
        (row["transport"], row["kind"], row["metric"]): row["value"] for row in result.summary.to_polars().to_dicts()
    }
    medians = [item for item in compared.rows if item["number"] == "completion p50" and item["class"] is None]
    for row in medians:
        assert row["a"]["value"] == pytest.approx(numbers["dctcp", "queries", "completion_p50"])
        assert row["b"]["value"] == pytest.approx(numbers["d3", "queries", "completion_p50"])
        assert row["difference"]["value"] == pytest.approx(row["b"]["value"] - row["a"]["value"])
    assert medians
    back = duetime.compare(tmp_path / "out", pair=("d3", "dctcp"))
    for one, other in zip(compared.rows, back.rows):
        if one["difference"] is not None:
            assert one["difference"]["value"] == pytest.approx(-other["difference"]["value"])
    with pytest.raises(ScenarioError, match="d4.*allowed: dctcp, d2tcp, d3"):
        duetime.compare(result, pair=("dctcp", "d4"))
    with pytest.raises(ScenarioError, match="named twice"):
        duetime.compare(result, pair=("d3", "d3"))
    wrong: list[dict[str, Any]] = [{}, {"b": result, "pair": ("dctcp", "d3")}, {"pair": "d3"}, {"pair": ("d3",)}]
    for arguments in wrong:
        with pytest.raises(ValueError, match="pair"):
            duetime.compare(result, **arguments)


def test_compare_accepts_urls(service: Scenario, url: str) -> None:
    a = duetime.run(service, out=url, report=False)
    b = duetime.run(service.set("switch.buffer", "20 KB"), report=False)
    compared = duetime.compare(url, b)
    assert compared.rows == duetime.compare(a, b).rows
    assert f"\nA  {url}\n" in str(compared)


def test_results_without_pairs_are_rejected(star: Scenario, service: Scenario, tmp_path: Path) -> None:
    a = duetime.run(star, seeds=2)
    with pytest.raises(ScenarioError, match="seed 1.*seed 7"):
        duetime.compare(a, duetime.run(star, seeds=2, seed=7))
    with pytest.raises(ScenarioError, match="tcp"):
        duetime.compare(a, duetime.run(star, "tcp", seeds=2))
    with pytest.raises(ScenarioError):
        duetime.compare(a, duetime.run(service))
    with pytest.raises(FolderError):
        duetime.compare(a, tmp_path)
