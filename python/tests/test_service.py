"""Scenarios for services, as written by `duetime new`."""

from __future__ import annotations

import datetime
import subprocess
from pathlib import Path
from typing import Any

import pytest

from duetime import Scenario, ScenarioError


@pytest.mark.parametrize("kind", ["search", "feed", "storage", "inference"])
def test_service_matches_command(command: str, tmp_path: Path, kind: Any) -> None:
    def new(*flags: str) -> str:
        arguments = [command, "new", kind, "--defaults", "--quiet", *flags]
        return subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    assert Scenario.for_service(kind).to_toml() == new()
    changed = Scenario.for_service(kind, fan_in=8, budget="60 ms", answer="10 KB", rate=500, hosts=32, link="25 Gbps")
    flags = ["--fan-in=8", "--budget=60ms", "--answer=10KB", "--rate=500 /s", "--hosts=32", "--link=25 Gbps"]
    assert changed.to_toml() == new(*flags)


def test_service_number_formats() -> None:
    wanted = Scenario.for_service("feed", fan_in="4,10", budget="50 ms", rate="1500 /s")
    layers = Scenario.for_service("feed", fan_in=(4, 10), budget=datetime.timedelta(milliseconds=50), rate=1500)
    assert wanted.to_toml() == layers.to_toml()
    assert Scenario.for_service() == Scenario.for_service("search")


@pytest.mark.parametrize(
    ("wrong", "key", "value", "allowed"),
    [
        ({"fan_in": 0}, "fan_in", "0", "1 to 1000"),
        ({"fan_in": (1, 2, 3)}, "fan_in", "1,2,3", "two numbers"),
        ({"fan_in": 80}, "fan_in", "80", "hosts 81"),
        ({"budget": "5 parsecs"}, "budget", "5 parsecs", "ms"),
        ({"budget": "1 ms"}, "budget", "1 ms", "at least"),
        ({"answer": "0 B"}, "answer", "0 B", "1 B"),
        ({"rate": -3}, "rate", "-3 /s", "/s"),
        ({"rate": float("nan")}, "rate", "nan /s", "/s"),
        ({"rate": 50_000}, "rate", "50000 /s", "at most"),
        ({"hosts": 1}, "hosts", "1", "2 to 10000"),
        ({"link": "10"}, "link", "10", "Gbps"),
        ({"kind": "web"}, "kind", "web", "search, feed, storage, inference"),
    ],
)
def test_invalid_number_is_rejected(wrong: dict[str, Any], key: str, value: str, allowed: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        Scenario.for_service(**wrong)
    error = caught.value
    assert (error.file, error.key, error.value) == ("<service>", key, value)
    assert error.allowed is not None and allowed in error.allowed
    assert str(error).count(value) >= 1 and "--" not in str(error)


def test_invalid_default_is_marked() -> None:
    with pytest.raises(ScenarioError, match="was not given") as caught:
        Scenario.for_service("search", hosts=10)
    assert caught.value.key == "fan_in"
