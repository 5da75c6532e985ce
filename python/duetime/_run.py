"""Simulation of a scenario."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from . import _native
from ._result import Result, execute
from ._scenario import Scenario, Value, scenario_of, source_of
from ._types import Progress, StrPath, names


def run(
    scenario: Scenario | StrPath | Mapping[str, object],
    transports: str | Iterable[str] | None = None,
    seeds: int | None = None,
    *,
    seed: int | None = None,
    out: StrPath | None = None,
    resume: bool = False,
    overwrite: bool = False,
    report: bool | None = None,
    jobs: int | None = None,
    threads: int = 1,
    progress: Progress = None,
) -> Result:
    """Simulate a scenario under each of its transports and seeds.

    The call releases the GIL. Ctrl-C stops it within a second; finished runs stay in ``out``, and ``resume=True`` continues
    from there. The same scenario, seed and version give the same bytes for any number of jobs and threads.

    :param scenario: a scenario, or a file, string or dict to create one from.
    :param transports: names of the transports to compare; default: those of the scenario.
    :param seeds: number of runs of each transport, each with separate random streams; default: the scenario's.
    :param seed: root of all random streams; default: the scenario's.
    :param out: run folder, as written by ``duetime run --out``: a path, or a URL that fsspec supports, such as
        ``s3://bucket/run``; default: a temporary folder, which is deleted with the result.
    :param resume: keep finished runs of the same study in ``out`` and run only the missing ones.
    :param overwrite: replace the contents of ``out``.
    :param report: also write ``report.html``; default: if ``out`` is given.
    :param jobs: number of concurrent runs; default: one per core.
    :param threads: number of threads of one run.
    :param progress: a function that is called with every event; ``True``: show a bar; ``False``: show nothing; default: a bar
        on a terminal or in a notebook.
    :raises ScenarioError: the scenario cannot be used; nothing was run or written.
    :raises FolderError: ``out`` contains other results, or cannot be written.
    :raises RunError: runs failed.
    """
    if resume and overwrite:
        raise ValueError("resume and overwrite exclude each other")
    if jobs is not None and jobs < 1:
        raise ValueError(f"jobs={jobs}: must be at least 1")
    if threads < 1:
        raise ValueError(f"threads={threads}: must be at least 1")
    wanted = {"seeds": seeds, "seed": seed}
    changes: dict[str, Value] = {key: value for key, value in wanted.items() if value is not None}
    resolved = scenario_of(scenario)
    if changes:
        resolved = resolved.with_(changes)
    with_report = out is not None if report is None else report

    def make(place: Path, on_event: Callable[[str], object] | None) -> _native.Folder:
        return _native.run(
            source_of(resolved),
            place,
            transports=names(transports),
            jobs=jobs,
            threads=threads,
            if_exists="resume" if resume else "replace" if overwrite else "refuse",
            report=with_report,
            on_event=on_event,
        )

    return execute(out, progress, make, overwrite=overwrite, resume=resume)
