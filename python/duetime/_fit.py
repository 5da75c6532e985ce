"""Scenarios fitted to recorded packets, spans or calls."""

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
    """A scenario fitted to a file, and the quality of the fit."""

    scenario: Scenario
    """The fitted scenario; its text has comments."""
    text: str
    """The output of ``duetime fit``: input and fitted scenario as a table."""
    answer: str
    """First sentence of ``text``: how well the scenario reproduces the input."""
    rows: list[dict[str, Any]]
    """One row per ``quantity``, with its ``unit`` (``B``, ``ns``, ``/s``, ``share``, or empty for counts), ``input``,
    ``fitted``, ``difference`` (as a share of the input's value; for the missed share the plain difference) and ``ks``, the
    largest difference between both CDFs, 0 to 1. The missed share also has ``input_interval`` and ``fitted_interval``, each
    with ``low`` and ``high`` of the 95 % interval. Unknown values are ``None``."""
    notes: list[str]
    """Omissions, assumptions and uncertainties."""

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
    """Fit a scenario to recorded traffic and simulate it to measure the quality of the fit.

    ``docs/fit.md`` describes the required contents of each kind of file, and the fitted quantities.

    :param source: a packet capture (pcap or pcapng), spans as JSON lines, or a table of calls in CSV.
    :param kind: format of the file; default: detected from its first bytes.
    :param budget: time within which all answers of a query must arrive, such as ``"50 ms"``; default: the answers'
        deadlines, or the time that 99 % of the queries took.
    :param link: rate of each host's link, such as ``"10 Gbps"``; default: 10 Gbps.
    :param hosts: number of hosts of the network; default: the hosts in the file.
    :param buffer: buffer of the switches, such as ``"250 packets"`` for each port; default: ``"4 MB"``.
    :param other_load: mean share of each host's link taken by other transfers, such as ``"2 %"`` or 0.02; default: the other
        transfers in the file. Spans and tables of calls contain none.
    :param transports: transports of the scenario; the first is the one that the service used; default: ``cubic``,
        ``dctcp``, ``d2tcp``, ``d3`` and ``due``.
    :param burst: longest gap between calls of one query of a client, such as ``"100 us"``; default: derived from the gaps.
    :raises ScenarioError: the file cannot be read or used, for example because it is truncated; has its name, line and value.
    """
    fields_json = _native.fit(
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
    fields: dict[str, Any] = json.loads(fields_json)
    fields["scenario"] = Scenario.from_toml(fields["scenario"])
    return Fit(**fields)
