"""Scenarios: construction, changes, output and errors."""

from __future__ import annotations

import datetime
import pickle
import tomllib
from pathlib import Path
from typing import Any

import numpy
import pandas
import pytest

import duetime
from duetime import Scenario, ScenarioError

from samples import STAR


def test_text_file_and_dict_are_equal(tmp_path: Path) -> None:
    file = tmp_path / "star.toml"
    file.write_text(STAR, encoding="utf-8")
    text = Scenario.from_toml(STAR)
    assert text == Scenario.from_file(file) == Scenario.from_file(str(file))
    assert text == Scenario.from_dict(tomllib.loads(STAR))
    sources: list[str | Path | dict[str, Any]] = [STAR, file, str(file), tomllib.loads(STAR)]
    for source in sources:
        assert Scenario(source) == text
    assert (text.name, text.seeds, text.hosts) == ("star", 2, 11)
    assert (text.transports, text.workloads) == (["dctcp", "d3"], ["burst"])
    assert text.to_toml() == STAR
    assert text.resolved["topology"]["hosts"] == 11


def test_set_returns_new_scenario(star: Scenario) -> None:
    changed = star.set("workload.senders", 5)
    assert changed != star
    assert changed.resolved["workloads"][0]["does"]["senders"] == 5
    assert star.resolved["workloads"][0]["does"]["senders"] == 8
    again = Scenario.from_toml(changed.to_toml())
    assert again == changed
    assert pickle.loads(pickle.dumps(changed)) == changed


def test_set_accepts_all_value_types(star: Scenario) -> None:
    values: dict[str, duetime.Value] = {
        "transport": ["tcp", "d2tcp"],
        "seeds": 7,
        "switch.buffer": {"kind": "static", "size": "64 KB"},
        "workload.deadline": datetime.timedelta(milliseconds=7),
        "workload.share_hosts": True,
        "name": "other",
    }
    changed = star.with_(values)
    assert changed.transports == ["tcp", "d2tcp"]
    assert changed.seeds == 7
    assert changed.name == "other"
    of_text = star.with_({**values, "workload.deadline": "7 ms"})
    assert changed == of_text
    of_numpy = star.set("workload.senders", numpy.int64(5))  # type: ignore[arg-type]
    assert of_numpy == star.set("workload.senders", 5)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (pandas.Timedelta("700ns"), "700 ns"),
        (pandas.Timedelta(1_500, unit="us"), "1500 us"),
        (datetime.timedelta(microseconds=3), "3 us"),
        (numpy.timedelta64(2, "ms"), "2 ms"),
        (numpy.timedelta64(700, "ns"), "700 ns"),
        (numpy.timedelta64(1_234_567, "ps"), "1234567 ps"),
        (numpy.timedelta64(700_000, "fs"), "700 ps"),
        (numpy.array(700, "m8[ns]"), "700 ns"),
        (numpy.array([5, 7], "m8[25ns]")[1], "175 ns"),
    ],
    ids=repr,
)
def test_durations_are_exact(star: Scenario, value: Any, text: str) -> None:
    expected = star.set("topology.link.latency", text)
    assert star.set("topology.link.latency", value) == expected
    mapping = tomllib.loads(STAR)
    mapping["topology"]["link"]["latency"] = value
    assert Scenario.from_dict(mapping) == expected


def test_arrays_of_durations_are_exact(service: Scenario) -> None:
    values = numpy.array([6_000_000, 7_000_001], "m8[ns]")
    several: list[Any] = [["6 ms", "7000001 ns"], values, list(values), pandas.Series(values), pandas.to_timedelta(values)]
    changes: dict[str, Any] = {"workload.applications": 2, "workload.objective.within": "6 ms"}
    scenarios = [service.with_({**changes, "workload.deadline": item}) for item in several]
    assert all(item == scenarios[0] for item in scenarios)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (numpy.timedelta64("NaT", "ns"), "not a time"),
        (numpy.timedelta64(700, "as"), "not a whole number of picoseconds"),
        (numpy.timedelta64(1, "M"), "no fixed length"),
        (numpy.timedelta64(700), "no unit"),
        (numpy.datetime64(700, "ns"), "not a scenario value"),
        (pandas.NaT, "not a scenario value"),
        (numpy.longdouble(0.5), "not a scenario value"),
    ],
    ids=repr,
)
def test_inexact_durations_are_rejected(star: Scenario, value: Any, reason: str) -> None:
    with pytest.raises(ScenarioError, match=reason) as caught:
        star.set("topology.link.latency", value)
    assert (caught.value.file, caught.value.key) == ("--set", "topology.link.latency")


def test_service_budget_accepts_durations() -> None:
    expected = Scenario.for_service("search", budget="50 ms")
    for budget in (numpy.timedelta64(50, "ms"), pandas.Timedelta("50ms"), datetime.timedelta(milliseconds=50)):
        assert Scenario.for_service("search", budget=budget) == expected


def test_changes_are_validated_together(star: Scenario) -> None:
    both = star.with_({"workload.senders": 30, "topology.hosts": 31})
    assert both.hosts == 31
    with pytest.raises(ScenarioError):
        star.set("workload.senders", 30)


def test_file_error_has_position(tmp_path: Path) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text(STAR.replace("senders = 8", "senders = 800"), encoding="utf-8")
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_file(file)
    error = caught.value
    assert isinstance(error, ValueError)
    assert (error.file, error.line, error.column) == (str(file), 13, 11)
    assert (error.key, error.value) == ("workload.senders", "800")
    assert error.allowed is not None and "10" in error.allowed
    assert "senders = 800" in str(error)


@pytest.mark.parametrize(
    ("source", "file", "line"),
    [
        ("no-such-file.toml", "no-such-file.toml", None),
        ("seed=3/none.toml", "seed=3/none.toml", None),
        ("name = \n", "<text>", 1),
        ("name = 'x'", "<text>", 1),
        ("", "<text>", 1),
    ],
)
def test_non_scenario_is_rejected(source: str, file: str, line: int | None) -> None:
    with pytest.raises(ScenarioError) as caught:
        Scenario(source)
    assert (caught.value.file, caught.value.line) == (file, line)


@pytest.mark.parametrize("path", [Path("star.toml"), "star.toml", "scenarios/star", "out/seed=3/scenario.toml"], ids=str)
def test_path_is_not_text(path: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("star.toml").write_text(STAR, encoding="utf-8")
    with pytest.raises((TypeError, ScenarioError), match="is not TOML text.*Scenario.from_file"):
        Scenario.from_toml(path)


@pytest.mark.parametrize("text", [STAR, "name = 'x'", "", "=" * 5000], ids=["scenario", "line", "empty", "long"])
def test_text_is_not_path(text: str) -> None:
    with pytest.raises(ScenarioError, match="is not a file.*Scenario.from_toml"):
        Scenario.from_file(text)


def test_file_name_may_contain_equals_sign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("seed=3").write_text(STAR, encoding="utf-8")
    assert Scenario("seed=3") == Scenario.from_file("seed=3") == Scenario.from_toml(STAR)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("workload.senders", -1),
        ("workload.senders", float("nan")),
        ("workload.senders", None),
        ("workload.senders", object()),
        ("workload.sendrs", 3),
        ("no.such.key", 3),
        ("switch.buffer", "64 XB"),
        ("seeds", 2**70),
    ],
)
def test_invalid_change_is_rejected(star: Scenario, key: str, value: object) -> None:
    with pytest.raises(ScenarioError) as caught:
        star.set(key, value)  # type: ignore[arg-type]
    assert caught.value.file == "--set"
    assert caught.value.key is not None


def test_none_and_nan_are_rejected() -> None:
    wrong = tomllib.loads(STAR)
    wrong["topology"]["hosts"] = None
    with pytest.raises(ScenarioError, match=r"topology\.hosts"):
        Scenario.from_dict(wrong)
    wrong["topology"]["hosts"] = float("inf")
    with pytest.raises(ScenarioError, match=r"topology\.hosts"):
        Scenario.from_dict(wrong)
