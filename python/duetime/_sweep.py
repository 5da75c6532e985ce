"""Sweeps: a grid of values, with all transports and seeds at each of its points."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias, Union

from . import _native
from ._drive import drive
from ._keys import KnownKey
from ._place import Storage, path_of, temporary, url_of
from ._result import Result, made
from ._scenario import Scenario, Value, scenario_of, source_of, toml_of
from ._types import Progress, StrPath, names
from .engines import Engine, Local


Vary: TypeAlias = Union[Mapping[Union[KnownKey, str], Union[Iterable[Value], str]], Mapping[Any, Any]]
"""The axes of a sweep: a key with its values, or a tuple of keys that change together, with a tuple of values for each point
of the axis."""


@dataclass(frozen=True)
class Plan:
    """What a sweep would run."""

    points: list[dict[str, str]]
    """The points of the grid: of each the value of every key, as ``--vary`` of the command takes it."""
    transports: list[str]
    """The transports that are compared."""
    runs: int
    """Runs in all: points × transports × seeds."""
    missing: int
    """Runs that the folder does not hold."""
    _plan: _native.Plan = field(repr=False, compare=False)
    _missing: list[int] = field(repr=False, compare=False)

    def estimate_s(self, jobs: int | None = None) -> float:
        """Seconds that the missing runs may take on this machine: runs of the middle point are begun for a moment.

        :param jobs: runs at the same time; default: one per core. Of a cluster like this machine: all of its workers.
        """
        if jobs is not None and jobs < 1:
            raise ValueError(f"jobs={jobs}: at least 1")
        return self._plan.estimate_s(self._missing, jobs)

    def write(self, file: StrPath) -> Path:
        """Writes the plan as ``duetime sweep FILE.json`` takes it; it is a ``manifest.json`` without runs.

        :returns: ``file``.
        """
        place = Path(file)
        place.write_text(self._plan.manifest() + "\n", encoding="utf-8")
        return place

    def __str__(self) -> str:
        return (
            f"{len(self.points)} points, {len(self.transports)} transports ({', '.join(self.transports)}): "
            f"{self.runs} runs, {self.missing} of them missing"
        )


def plan(
    scenario: Scenario | StrPath | Mapping[str, object],
    vary: Vary | None = None,
    transports: str | Iterable[str] | None = None,
    seeds: int | None = None,
    *,
    seed: int | None = None,
    out: StrPath | None = None,
) -> Plan:
    """What :func:`sweep` would run with these arguments; nothing is written.

    :raises ScenarioError: a point cannot be run.
    :raises FolderError: ``out`` holds other results.
    """
    of = _plan(scenario, vary, transports, seeds, seed)
    of.check()
    url = None if out is None else url_of(out)
    if out is None:
        missing = of.missing(None)
    elif url is None:
        missing = of.missing(path_of(out))
    else:
        holder, copy = temporary()
        with holder:
            Storage(url).fetch(copy)
            missing = of.missing(copy)
    runs = of.runs()
    return Plan(
        points=[dict(point) for point in of.points],
        transports=list(dict.fromkeys(transport for _, transport, _ in runs)),
        runs=len(runs),
        missing=len(missing),
        _plan=of,
        _missing=missing,
    )


def sweep(
    scenario: Scenario | StrPath | Mapping[str, object],
    vary: Vary | None = None,
    transports: str | Iterable[str] | None = None,
    seeds: int | None = None,
    *,
    seed: int | None = None,
    out: StrPath | None = None,
    engine: Literal["local"] | Local | Engine = "local",
    jobs: int | None = None,
    overwrite: bool = False,
    report: bool | None = None,
    progress: Progress = None,
) -> Result:
    """Simulates a scenario at every point of a grid, under each of its transports and seeds.

    Only what ``out`` lacks is run, so the same call goes on where an earlier one was stopped, and a larger grid or more seeds
    add to what is there. The folder is that of ``duetime sweep``; either goes on where the other was stopped, and every engine
    leaves the same bytes. Failed runs do not stop the others: :attr:`Result.failures` has them, and the next call tries them
    again. Ctrl-C stops and keeps what is finished.

    :param scenario: a scenario, or what one is made from: a file, a text or a dict.
    :param vary: the values of each key; the grid has all combinations, the last key fastest. A text in place of the values is
        what ``--vary`` takes, such as ``"5..40:5"``. A tuple of keys is one axis, with a tuple of values each:
        ``{("switch.buffer", "switch.ecn_threshold"): [("100 KB", "20 KB"), ("1 MB", "65 KB")]}``. Default: the ``[sweep]`` table of the scenario.
    :param transports: compare only these, by name; default: those of the scenario.
    :param seeds: runs of each transport at each point; default: the scenario's.
    :param seed: root of all random streams; default: the scenario's.
    :param out: the run folder: a path, or a URL that fsspec knows, such as ``s3://bucket/sweep``; default: a temporary one,
        which goes with the result.
    :param engine: where runs are made: ``"local"``, or one of :mod:`duetime.engines`.
    :param jobs: runs at the same time on this machine; default: one per core. Other engines say themselves.
    :param overwrite: replace what ``out`` holds.
    :param report: write ``report.html`` as well; default: if ``out`` is given.
    :param progress: as of :func:`run`.
    :raises ScenarioError: a point cannot be run; nothing was run or written.
    :raises FolderError: ``out`` holds something else, or cannot be written.
    :raises EngineError: the engine is not installed, its cluster is not there, or a worker has another version.
    :raises RunError: no run succeeded.
    """
    if isinstance(engine, str):
        if engine != "local":
            raise ValueError(f"engine={engine!r}: it is \"local\" or an object of duetime.engines")
        engine = Local(jobs)
    elif jobs is not None:
        raise ValueError("jobs: only for engine=\"local\"; other engines say themselves how many workers they use")
    of = _plan(scenario, vary, transports, seeds, seed)
    with_report = out is not None if report is None else report
    where = engine

    def make(place: Path, on_event: Callable[[str], object] | None) -> _native.Folder:
        if isinstance(where, Local):
            return _native.sweep(
                of, place, jobs=where.jobs, overwrite=overwrite, report=with_report, on_event=on_event
            )
        return drive(of, place, where, overwrite=overwrite, report=with_report, on_event=on_event)

    return made(out, progress, make, overwrite=overwrite)


def _plan(
    scenario: Scenario | StrPath | Mapping[str, object],
    vary: Vary | None,
    transports: str | Iterable[str] | None,
    seeds: int | None,
    seed: int | None,
) -> _native.Plan:
    wanted = {"seeds": seeds, "seed": seed}
    changes: dict[str, Value] = {key: value for key, value in wanted.items() if value is not None}
    scenario = scenario_of(scenario)
    if changes:
        scenario = scenario.with_(changes)
    axes: list[list[tuple[str, str | list[str]]]] | None = None
    if vary is not None:
        axes = [_axis(keys, values) for keys, values in vary.items()]
    return _native.Plan(source_of(scenario), names(transports), axes)


def _axis(keys: str | tuple[str, ...], values: Any) -> list[tuple[str, str | list[str]]]:
    """An axis: its key, or its keys, with their values in TOML."""
    if isinstance(keys, str):
        return [(keys, values if isinstance(values, str) else [toml_of(keys, value) for value in values])]
    rows = [] if isinstance(values, str) else [row if isinstance(row, Sequence) else (row,) for row in values]
    for row in rows:
        if isinstance(row, str) or len(row) != len(keys):
            raise ValueError(f"vary: {row!r} is not a tuple of {len(keys)} values, one for each of {', '.join(keys)}")
    if not rows or not keys:
        raise ValueError(f"vary: {keys!r}: one or more keys, with a list of tuples of a value for each")
    return [(key, [toml_of(key, row[place]) for row in rows]) for place, key in enumerate(keys)]
