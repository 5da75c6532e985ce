"""Two results in pairs of runs."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

import duetime
from duetime import FolderError, Scenario, ScenarioError


def test_a_comparison_is_that_of_the_command(command: str, service: Scenario, tmp_path: Path) -> None:
    a = duetime.run(service, seeds=4, out=tmp_path / "a", report=False)
    b = duetime.run(service.set("switch.buffer", "20 KB"), seeds=4, out=tmp_path / "b", report=False)
    compared = duetime.compare(a, tmp_path / "b", "d3,dctcp")

    def told(*flags: str) -> str:
        arguments = [command, "compare", "a", "b", "--transport", "d3,dctcp", *flags]
        return subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    # The folders are named as they were given.
    assert str(compared).replace(f"{tmp_path}/", "") == told()
    lines = [json.loads(line) for line in told("--json").splitlines()]
    assert compared.in_time == lines[0]["in_time"]
    assert (compared.pairs, compared.seeds, compared.in_time_of) == (8, 4, "queries")
    events = {"setting": compared.settings, "difference": compared.rows}
    for event, rows in events.items():
        assert rows == [{key: of[key] for key in of if key != "event"} for of in lines if of["event"] == event]
    assert [of["key"] for of in compared.settings] == ["switch.buffer.pool"]
    assert compared.rows and "B - A" in compared._repr_html_()
    assert duetime.compare(a, a).in_time["differs"] == "equal"
    assert duetime.compare(b, a, ["d3"]).transports == ["d3"]


def test_urls_are_compared(service: Scenario, url: str) -> None:
    a = duetime.run(service, out=url, report=False)
    b = duetime.run(service.set("switch.buffer", "20 KB"), report=False)
    compared = duetime.compare(url, b)
    assert compared.rows == duetime.compare(a, b).rows
    assert f"\nA  {url}\n" in str(compared)


def test_what_has_no_pairs_is_refused(star: Scenario, service: Scenario, tmp_path: Path) -> None:
    a = duetime.run(star, seeds=2)
    with pytest.raises(ScenarioError, match="seed 1.*seed 7"):
        duetime.compare(a, duetime.run(star, seeds=2, seed=7))
    with pytest.raises(ScenarioError, match="tcp"):
        duetime.compare(a, duetime.run(star, "tcp", seeds=2))
    with pytest.raises(ScenarioError):
        duetime.compare(a, duetime.run(service))
    with pytest.raises(FolderError):
        duetime.compare(a, tmp_path)
