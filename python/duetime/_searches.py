"""The search for a capacity, and the papers' experiments."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from . import _native
from ._place import path_of
from ._progress import Teller
from ._scenario import Duration, Scenario, Value, scenario_of, source_of, text_of
from ._types import Progress, StrPath, names


@dataclass(frozen=True)
class Capacity:
    """The most that a transport carries, or that any could."""

    transport: str | None
    """The transport; ``None``: what no transport can beat."""
    value: float
    """The largest value (of deadlines and budgets: the tightest) such that it and every easier one reach the target."""
    unit: str
    """Its unit; empty for counts and factors."""
    low: float | None
    """Lower end of the 95 % interval over seeds; ``None`` without one."""
    high: float | None
    """Its upper end."""
    at_limit: bool
    """Nothing harder can be tried: the capacity is this or more."""
    untried: int
    """Easier values that were not tried."""
    target: float
    """The share that must be in time, in (0, 1]."""
    on: str
    """What must be in time: ``queries`` or ``answers``."""
    runs: int
    """Runs of each value."""
    keys: list[str]
    """The keys of the scenario that the value stands for."""
    deadlines_ms: list[float] | None
    """The deadlines at that value, in milliseconds, where they are what is searched for."""
    loads: tuple[float, float] | None
    """For a rate of queries: the load that it means, from the least to the most of the workloads; otherwise ``None``."""
    if_prompt: bool
    """Of the best possible: it holds for transports that deliver queries at once."""
    curve: list[dict[str, Any]]
    """All that was tried, as ``duetime capacity --json`` prints it: ``value``, ``met``, ``measured``, ``throughput`` with
    ``low`` and ``high``, ``reached``."""


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
    """Searches for the most senders, the highest rate, the tightest deadlines or the tightest budget that each transport
    carries; the last one is what no transport can beat, where that is known. ``docs/capacity.md`` says how.

    :param scenario: a scenario, or what one is made from.
    :param of: what to search for. ``deadline``: a factor on those of the scenario; ``budget``: in milliseconds.
    :param transports: search only for these; default: those of the scenario.
    :param seeds: runs of each value; default: the scenario's.
    :param seed: root of all random streams; default: the scenario's.
    :param layer: which layer of trees ``fan-in`` is about; the root's is 1.
    :param on: what must be in time; default: queries where a workload has an objective, otherwise answers.
    :param target: the share that must be in time, such as ``0.99`` or ``"99%"``; default: the objective's.
    :param workload: names of the workloads that change; default: those with deadlines.
    :param step: resolution, such as ``2``, ``"50 /s"``, ``"1%"``, ``"0.1 ms"``.
    :param check_all: try every value below the answer.
    :param out: folder for the journal of runs: what it holds is not run again; default: a temporary one.
    :param jobs: runs at the same time; default: one per core.
    :param progress: as of :func:`run`.
    :raises ScenarioError: the scenario cannot be used, or not for this search.
    """
    wanted = {"seeds": seeds, "seed": seed}
    changes: dict[str, Value] = {key: value for key, value in wanted.items() if value is not None}
    scenario = scenario_of(scenario).with_(changes)
    with tempfile.TemporaryDirectory(prefix="duetime-") as temporary, Teller(progress) as teller:
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
            on_event=teller.on_event,
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
    """Its name, such as ``fig10``."""
    title: str
    """What it shows."""
    numbers: int
    """Published numbers that ours are held against."""
    checks: int
    """Orderings, trends and bounds that are checked."""
    runs: bool
    """Whether there is something to run."""


@dataclass(frozen=True)
class PaperResult:
    """Experiments of the papers beside what the papers say."""

    rows: list[dict[str, Any]]
    """A row per number and check, as ``duetime paper --json`` prints them."""
    met: str
    """Published numbers met, of how many."""
    orderings: str
    """Stated orderings and trends that hold, of how many."""
    failures: list[str]
    """Runs that failed, and why."""
    files: dict[str, Path]
    """``page``, ``figures`` and ``rows`` in the folder."""


def experiments(*, papers: StrPath | None = None) -> list[Experiment]:
    """The papers' experiments.

    :param papers: folder of the experiments; default: those that the package brings.
    """
    return [Experiment(**of) for of in json.loads(_native.experiments(papers))]


def paper(
    *which: str,
    out: StrPath,
    quick: bool = False,
    papers: StrPath | None = None,
    jobs: int | None = None,
    progress: Progress = None,
) -> PaperResult:
    """Runs experiments of the papers and holds what comes out against what the papers say.

    :param which: a paper, with or without names of its experiments, such as ``"d3", "fig10"``; or ``"all"``.
    :param out: folder for the results; runs that it holds already are kept.
    :param quick: fewer repetitions and points: wider intervals, in a fraction of the time.
    :param papers: folder of the experiments; default: those that the package brings.
    :param jobs: runs at the same time; default: one per core.
    :param progress: as of :func:`run`.
    """
    if not which:
        raise ValueError("which experiments? paper(\"all\", ...), or see experiments()")
    with Teller(progress) as teller:
        told = _native.paper(
            list(which), path_of(out), quick=quick, papers=papers, jobs=jobs, on_event=teller.on_event
        )
    of: dict[str, Any] = json.loads(told)
    of["files"] = {name: Path(path) for name, path in of["files"].items()}
    return PaperResult(**of)
