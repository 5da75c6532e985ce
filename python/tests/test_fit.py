"""Scenarios fitted to files."""

from __future__ import annotations

import datetime
import random
from pathlib import Path

import pytest

import duetime
from duetime import ScenarioError


@pytest.fixture
def calls(tmp_path: Path) -> Path:
    """A table of 400 queries of 5 calls each, at random times."""
    draw = random.Random(5)
    lines = ["query,client,server,start_us,duration_us,bytes,compute_us"]
    start = 0.0
    for query in range(400):
        start += draw.expovariate(1 / 2000)
        for server in range(5):
            compute = draw.expovariate(1 / 300)
            size = draw.randint(4000, 8000)
            lines.append(f"{query},f,s{server},{start:.3f},{compute + 60:.3f},{size},{compute:.3f}")
    file = tmp_path / "calls.csv"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def test_fit_of_calls(calls: Path) -> None:
    fit = duetime.fit(calls, budget=datetime.timedelta(milliseconds=2), link="10 Gbps", transports="dctcp")
    assert fit.answer.startswith("The fitted scenario reproduces answer size, fan-in and load")
    assert fit.text.startswith(fit.answer) and str(fit) == fit.text
    rows = {row["quantity"]: row for row in fit.rows}
    assert rows["fan-in, mean"]["fitted"] == 5
    assert rows["answer size, mean"]["fitted"] == pytest.approx(6000, rel=0.05)
    assert rows["queries per second"]["input"] == pytest.approx(500, rel=0.15)
    assert "fan_in = 5 " in fit.scenario.to_toml()
    assert fit.scenario.transports == ["dctcp"]
    # The fitted text, with comments, is a complete scenario.
    assert duetime.Scenario.from_toml(fit.scenario.to_toml()).resolved == fit.scenario.resolved


def test_fit_with_other_load(calls: Path) -> None:
    for load in ("3 %", 0.03):
        fit = duetime.fit(calls, budget="2 ms", transports="dctcp", other_load=load)
        assert "load = 0.03 " in fit.scenario.to_toml()
        (missed,) = (row for row in fit.rows if row["quantity"] == "missed share")
        assert missed["fitted_interval"]["low"] <= missed["fitted"] <= missed["fitted_interval"]["high"]


def test_error_names_file_line_and_value(calls: Path) -> None:
    text = calls.read_text(encoding="utf-8").splitlines()
    text[3] = text[3].replace("f,s", "f,s,", 1)
    calls.write_text("\n".join(text), encoding="utf-8")
    with pytest.raises(ScenarioError) as wrong:
        duetime.fit(calls)
    assert wrong.value.file == str(calls) and wrong.value.line == 4
    with pytest.raises(ScenarioError, match="cannot be read"):
        duetime.fit(calls.with_name("none.csv"))
    for arguments in ({"kind": "xml"}, {"budget": "5"}, {"link": "10 GB"}, {"other_load": 2}):
        with pytest.raises(ValueError):
            duetime.fit(calls, **arguments)


def test_truncated_capture_is_rejected(tmp_path: Path) -> None:
    head = bytes.fromhex("d4c3b2a1 0200 0400 00000000 00000000 00000400 65000000")
    packet = bytes.fromhex("01000000 02000000 14000000 14000000") + bytes([0x45]) + bytes(19)
    file = tmp_path / "cut.pcap"
    file.write_bytes(head + packet * 3 + packet[:-5])
    with pytest.raises(ScenarioError, match="ends in the middle of a packet: after packet 3"):
        duetime.fit(file)
