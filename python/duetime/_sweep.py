"""Sweeps: all transports and seeds at every point of a grid of values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias, Union

from . import _native
from ._drive import drive
from ._keys import KnownKey
from ._place import Storage, path_of, temporary, url_of
from ._result import Result, execute
from ._scenario import Scenario, Value, scenario_of, source_of, toml_of
from ._types import Progress, StrPath, names
from .engines import Engine, Local


Vary: TypeAlias = Union[Mapping[Union[KnownKey, str], Union[Iterable[Value], str]], Mapping[Any, Any]]
"""Axes of a sweep: a key with its values, or a tuple of keys that change together with a tuple of values per point of the
axis."""


@dataclass(frozen=True)
class Plan:
    """The runs of a sweep, not yet executed."""

    points: list[dict[str, str]]
    """Points of the grid: the value of every key, written as for ``--vary``."""
    transports: list[str]
    """Names of the transports."""
    runs: int
    """Total number of runs: points × transports × seeds."""
    missing: int
    """Number of runs that the folder does not contain."""
    _plan: _native.Plan = field(repr=False, compare=False)
    _missing: list[int] = field(repr=False, compare=False)

    def estimate_s(self, jobs: int | None = None) -> float:
        """Estimate the seconds that the missing runs take on this machine, by starting runs of the middle point briefly.

        :param jobs: number of concurrent runs; default: one per core. For a cluster of similar machines, the number of its
            workers.
        """
        if jobs is not None and jobs < 1:
            raise ValueError(f"jobs={jobs}: must be at least 1")
        return self._plan.estimate_s(self._missing, jobs)

    def write(self, file: StrPath) -> Path:
        """Write the plan as a ``manifest.json`` without runs, which ``duetime sweep FILE.json`` executes.

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
    """Return the runs of :func:`sweep` with these arguments, without executing or writing anything.

    :raises ScenarioError: a point cannot be simulated.
    :raises FolderError: ``out`` contains other results.
    """
    native = _plan(scenario, vary, transports, seeds, seed)
    native.check()
    url = None if out is None else url_of(out)
    if out is None:
        missing = native.missing(None)
    elif url is None:
        missing = native.missing(path_of(out))
    else:
        holder, copy = temporary()
        with holder:
            Storage(url).fetch(copy)
            missing = native.missing(copy)
    runs = native.runs()
    return Plan(
        points=[dict(point) for point in native.points],
        transports=list(dict.fromkeys(transport for _, transport, _ in runs)),
        runs=len(runs),
        missing=len(missing),
        _plan=native,
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
    """Simulate a scenario at every point of a grid, under each of its transports and seeds.

    Only runs that ``out`` does not contain are executed, so the same call continues a stopped one, and a larger grid or more
    seeds extend the folder. ``duetime sweep`` and this function can continue each other's folders, and every engine produces
    the same bytes. Failed runs do not stop the others: :attr:`Result.failures` lists them, and the next call repeats them.
    Ctrl-C stops the sweep and keeps finished runs.

    :param scenario: a scenario, or a file, string or dict to create one from.
    :param vary: values of each key; the grid has all combinations, and the last key varies fastest. A string is parsed as for
        ``--vary``, such as ``"5..40:5"``. A tuple of keys is one axis, with a tuple of values per point:
        ``{("switch.buffer", "switch.ecn_threshold"): [("100 KB", "20 KB"), ("1 MB", "65 KB")]}``. Default: the ``[sweep]``
        table of the scenario.
    :param transports: names of the transports to compare; default: those of the scenario.
    :param seeds: number of runs of each transport at each point; default: the scenario's.
    :param seed: root of all random streams; default: the scenario's.
    :param out: run folder: a path, or a URL that fsspec supports, such as ``s3://bucket/sweep``; default: a temporary folder,
        which is deleted with the result.
    :param engine: ``"local"``, or an engine of :mod:`duetime.engines`.
    :param jobs: number of concurrent runs on this machine; default: one per core. Only for the local engine.
    :param overwrite: replace the contents of ``out``.
    :param report: also write ``report.html``; default: if ``out`` is given.
    :param progress: see :func:`run`.
    :raises ScenarioError: a point cannot be simulated; nothing was run or written.
    :raises FolderError: ``out`` contains other results, or cannot be written.
    :raises EngineError: the engine is not installed, its cluster cannot be reached, or a worker has another version.
    :raises RunError: no run succeeded.
    """
    if isinstance(engine, str):
        if engine != "local":
            raise ValueError(f"engine={engine!r}: must be \"local\" or an engine of duetime.engines")
        engine = Local(jobs)
    elif jobs is not None:
        raise ValueError("jobs: only for engine=\"local\"; other engines set their own number of workers")
    native = _plan(scenario, vary, transports, seeds, seed)
    with_report = out is not None if report is None else report
    chosen = engine

    def make(place: Path, on_event: Callable[[str], object] | None) -> _native.Folder:
        if isinstance(chosen, Local):
            return _native.sweep(
                native, place, jobs=chosen.jobs, overwrite=overwrite, report=with_report, on_event=on_event
            )
        return drive(native, place, chosen, overwrite=overwrite, report=with_report, on_event=on_event)

    return execute(out, progress, make, overwrite=overwrite)


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
    """Return an axis as a list of its keys, each with its values in TOML."""
    if isinstance(keys, str):
        return [(keys, values if isinstance(values, str) else [toml_of(keys, value) for value in values])]
    rows = [] if isinstance(values, str) else [row if isinstance(row, Sequence) else (row,) for row in values]
    for row in rows:
        if isinstance(row, str) or len(row) != len(keys):
            raise ValueError(f"vary: {row!r} is not a tuple of {len(keys)} values, one for each of {', '.join(keys)}")
    if not rows or not keys:
        raise ValueError(f"vary: {keys!r}: needs one or more keys, and a list of tuples with a value for each key")
    return [(key, [toml_of(key, row[place]) for row in rows]) for place, key in enumerate(keys)]
