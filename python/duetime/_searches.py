"""Capacity searches and the papers' experiments."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from . import _native
from ._place import path_of
from ._progress import Reporter
from ._scenario import Duration, Scenario, Value, scenario_of, source_of, text_of
from ._types import Progress, StrPath, names


@dataclass(frozen=True)
class Capacity:
    """Capacity of a transport, or the upper bound for any transport."""

    transport: str | None
    """Name of the transport, or ``None`` for the bound."""
    value: float
    """Largest value (tightest, for deadlines and budgets) such that it and every easier value reach the target."""
    unit: str
    """Unit of the value; empty for counts and factors."""
    low: float | None
    """Lower end of the 95 % interval over seeds, or ``None``."""
    high: float | None
    """Upper end of the 95 % interval over seeds, or ``None``."""
    at_limit: bool
    """True if no harder value can be tried: the capacity is at least this value."""
    untried: int
    """Number of easier values that were not tried."""
    target: float
    """Share that must be in time, in (0, 1]."""
    on: str
    """Subject of the target: ``queries`` or ``answers``."""
    runs: int
    """Number of runs of each value."""
    keys: list[str]
    """Scenario keys that the value sets."""
    deadlines_ms: list[float] | None
    """Deadlines at the value, in milliseconds, if the search is for deadlines; otherwise ``None``."""
    loads: tuple[float, float] | None
    """Smallest and largest load of the workloads at the value, if the search is for a rate; otherwise ``None``."""
    if_prompt: bool
    """True if the bound only applies to transports that deliver queries without delay."""
    curve: list[dict[str, Any]]
    """Tried values, as printed by ``duetime capacity --json``: ``value``, ``met``, ``measured``, ``throughput`` with ``low``
    and ``high``, ``reached``."""


def capacity(
    scenario: Scenario | StrPath | Mapping[str, object],
    of: Literal["senders", "fan-in", "rate", "load", "deadline", "budget"],
    transports: str | Iterable[str] | None = None,
    seeds: int | None = None,
    *,
    seed: int | None = None,
    layer: int | None = None,
    on: Literal["queries", "answers"] | None = None,
    target: float | str | None = None,
    workload: str | Iterable[str] | None = None,
    step: float | str | Duration | None = None,
    check_all: bool = False,
    out: StrPath | None = None,
    jobs: int | None = None,
    progress: Progress = None,
) -> list[Capacity]:
    """Search for the largest load (senders, fan-in, rate or load) or tightest deadlines or budget of each transport.

    The last element of the result is the bound for any transport, if known. ``docs/capacity.md`` describes the method.

    :param scenario: a scenario, or a file, string or dict to create one from.
    :param of: quantity to search for. ``deadline`` is a factor on the deadlines of the scenario; ``budget`` is in
        milliseconds.
    :param transports: names of the transports; default: those of the scenario.
    :param seeds: number of runs of each value; default: the scenario's.
    :param seed: root of all random streams; default: the scenario's.
    :param layer: layer of the trees that ``fan-in`` changes; the root's is 1.
    :param on: subject of the target; default: queries if a workload has an objective, otherwise answers.
    :param target: share that must be in time, such as ``0.99`` or ``"99%"``; default: the objective's.
    :param workload: names of the workloads to change; default: those with deadlines.
    :param step: resolution, such as ``2``, ``"50 /s"``, ``"1%"`` or ``"0.1 ms"``.
    :param check_all: try every easier value.
    :param out: folder for the journal of runs; runs in the journal are not repeated; default: a temporary folder.
    :param jobs: number of concurrent runs; default: one per core.
    :param progress: see :func:`run`.
    :raises ScenarioError: the scenario cannot be used, or not for this search.
    """
    wanted = {"seeds": seeds, "seed": seed}
    changes: dict[str, Value] = {key: value for key, value in wanted.items() if value is not None}
    scenario = scenario_of(scenario).with_(changes)
    with tempfile.TemporaryDirectory(prefix="duetime-") as temporary, Reporter(progress) as reporter:
        found = _native.capacity(
            source_of(scenario),
            Path(temporary) / "journal" if out is None else path_of(out),
            of=of,
            layer=layer,
            on=on,
            target=None if target is None else str(target),
            workload=names(workload),
            step=text_of("step", step),
            check_all=check_all,
            transports=names(transports),
            jobs=jobs,
            on_event=reporter.on_event,
        )
    rows: list[dict[str, Any]] = json.loads(found)
    for row in rows:
        del row["event"]
        row["loads"] = row["loads"] and tuple(row["loads"])
    return [Capacity(**row) for row in rows]


@dataclass(frozen=True)
class Experiment:
    """An experiment of a paper."""

    paper: str
    """The paper: ``d3`` or ``d2tcp``."""
    experiment: str
    """Name of the experiment, such as ``fig10``."""
    title: str
    """Short description."""
    numbers: int
    """Number of published values to compare with."""
    checks: int
    """Number of orderings, trends and bounds to check."""
    runs: bool
    """True if the experiment has runs."""


@dataclass(frozen=True)
class PaperResult:
    """Results of the papers' experiments, compared with the papers."""

    rows: list[dict[str, Any]]
    """One row per published value and check, as printed by ``duetime paper --json``."""
    met: str
    """Published values that are met, out of all."""
    orderings: str
    """Published orderings and trends that are confirmed, out of all."""
    failures: list[str]
    """Failed runs with their reasons."""
    files: dict[str, Path]
    """Paths of ``page``, ``figures`` and ``rows``."""


def experiments(*, papers: StrPath | None = None) -> list[Experiment]:
    """Return the papers' experiments.

    :param papers: folder of the experiments; default: the experiments included in the package.
    """
    return [Experiment(**fields) for fields in json.loads(_native.experiments(papers))]


def paper(
    *which: str,
    out: StrPath,
    quick: bool = False,
    full: bool = False,
    papers: StrPath | None = None,
    jobs: int | None = None,
    progress: Progress = None,
) -> PaperResult:
    """Run experiments of the papers and compare the results with the published values.

    Points are repeated until the verdicts that need them are settled.

    :param which: a paper, optionally with names of its experiments, such as ``"d3", "fig10"``; or ``"all"``.
    :param out: folder for the results; existing runs are kept.
    :param quick: use few repetitions and points, whether or not they settle the verdicts.
    :param full: use all repetitions, not only those that settle the verdicts.
    :param papers: folder of the experiments; default: the experiments included in the package.
    :param jobs: number of concurrent runs; default: one per core.
    :param progress: see :func:`run`.
    """
    if not which:
        raise ValueError("no experiment: pass \"all\" or names from experiments()")
    if quick and full:
        raise ValueError("quick and full: pass at most one of them")
    extent: Literal["quick", "settled", "full"] = "quick" if quick else "full" if full else "settled"
    with Reporter(progress) as reporter:
        fields_json = _native.paper(
            list(which), path_of(out), extent=extent, papers=papers, jobs=jobs, on_event=reporter.on_event
        )
    fields: dict[str, Any] = json.loads(fields_json)
    fields["files"] = {name: Path(path) for name, path in fields["files"].items()}
    return PaperResult(**fields)
