"""Capacity searches and the papers' experiments."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

import duetime
from duetime import Scenario, ScenarioError

from samples import STAR


def test_capacity_matches_command(command: str, tmp_path: Path) -> None:
    file = tmp_path / "star.toml"
    file.write_text(STAR, encoding="utf-8")
    events: list[duetime.Event] = []
    found = duetime.capacity(file, "senders", seeds=2, progress=events.append)
    arguments = [command, "capacity", "star.toml", "--of", "senders", "--seeds", "2", "--json", "--quiet"]
    done = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, check=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    rows = [row for row in lines if row["event"] in ("capacity", "best-capacity")]
    assert [(item.transport, item.value, item.curve) for item in found] == [
        (row["transport"], row["value"], row["curve"]) for row in rows
    ]
    assert [item.transport for item in found][:2] == ["dctcp", "d3"]
    assert "value-finished" in {event["event"] for event in events}


def test_invalid_search_is_rejected(star: Scenario) -> None:
    with pytest.raises(ScenarioError):
        duetime.capacity(star, "rate", seeds=1)
    for wrong in ({"of": "hosts"}, {"of": "senders", "on": "flows"}, {"of": "senders", "target": 2}):
        with pytest.raises(ValueError):
            duetime.capacity(star, **wrong)


def test_experiments_are_listed() -> None:
    listed = {(item.paper, item.experiment) for item in duetime.experiments()}
    assert {"d3", "d2tcp"} <= {paper for paper, _ in listed}


def test_experiment_runs(tmp_path: Path) -> None:
    result = duetime.paper("d3", "fig01", out=tmp_path / "out", quick=True)
    assert result.rows and not result.failures
    assert result.files["page"].is_file()
    with pytest.raises(ValueError, match="at most one"):
        duetime.paper("d3", "fig01", out=tmp_path / "out", quick=True, full=True)
    with pytest.raises(ScenarioError):
        duetime.paper("d4", out=tmp_path / "none")
    assert not (tmp_path / "none").exists()
