"""Scenarios fitted to what a service already has."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from . import _native
from ._scenario import Duration, Scenario, text_of
from ._types import StrPath, names


@dataclass(frozen=True)
class Fit:
    """A scenario fitted to a file, and how well it reproduces what the file holds."""

    scenario: Scenario
    """The scenario; its text has comments."""
    text: str
    """What ``duetime fit`` prints: both sides as a table."""
    answer: str
    """Its first sentence: how well the input is reproduced."""
    rows: list[dict[str, Any]]
    """Both sides, one ``quantity`` each, with its ``unit`` (``B``, ``ns``, ``/s``, ``share``, or nothing for counts),
    ``input``, ``fitted``, ``difference`` (as a share of the input's; of the missed share the plain difference) and ``ks``, the
    largest difference between both CDFs, 0 to 1. The missed share has ``input_interval`` and ``fitted_interval``, each with
    ``low`` and ``high``, 95 %. ``None``: not known."""
    notes: list[str]
    """What was left out, taken for granted, or is uncertain."""

    def __str__(self) -> str:
        return self.text


def fit(
    source: StrPath,
    *,
    kind: Literal["pcap", "spans", "csv"] | None = None,
    budget: str | Duration | None = None,
    link: str | None = None,
    hosts: int | None = None,
    buffer: str | None = None,
    other_load: str | float | None = None,
    transports: str | Iterable[str] | None = None,
    burst: str | Duration | None = None,
) -> Fit:
    """Makes a scenario of what a service already has, and simulates it to say how well it reproduces that.
    ``docs/fit.md`` says what each kind of file must hold, and what is fitted.

    :param source: a capture of packets (pcap or pcapng), spans as JSON lines, or a table of calls in CSV.
    :param kind: what the file holds; default: its first bytes tell.
    :param budget: time within which all answers of a query must be there, such as ``"50 ms"``; default: the answers'
        deadlines, or what 99 % of the queries took.
    :param link: rate of each host's link, such as ``"10 Gbps"``; default: 10 Gbps.
    :param hosts: hosts of the network; default: those that the file shows.
    :param buffer: buffers of the switches, such as ``"250 packets"`` for each port; default: ``"4 MB"``.
    :param other_load: mean share of each host's link that other transfers take, such as ``"2 %"`` or 0.02; default: those
        that the file shows, which spans and tables of calls do not.
    :param transports: those of the scenario; the first is the one that the service used; default: ``tcp``, ``dctcp``,
        ``d2tcp`` and ``d3``.
    :param burst: calls of a client belong to one query if no gap between them is longer, such as ``"100 us"``; default: the
        gaps themselves tell.
    :raises ScenarioError: the file cannot be read or used, as one that ends in the middle: with its name, line and value.
    """
    told = _native.fit(
        source,
        kind=kind,
        budget=text_of("budget", budget),
        link=link,
        hosts=hosts,
        buffer=buffer,
        other_load=None if other_load is None else str(other_load),
        transports=names(transports),
        burst=text_of("burst", burst),
    )
    of: dict[str, Any] = json.loads(told)
    of["scenario"] = Scenario.from_toml(of["scenario"])
    return Fit(**of)
