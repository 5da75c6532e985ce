"""Runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from . import _native
from ._result import Result, made
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
    """Simulates a scenario under each of its transports and seeds.

    The GIL is released meanwhile. Ctrl-C stops within a second; finished runs stay in ``out``, and ``resume=True`` goes on
    from there. The same scenario, seed and version give the same bytes, for any number of jobs and threads.

    :param scenario: a scenario, or what one is made from: a file, a text or a dict.
    :param transports: compare only these, by name; default: those of the scenario.
    :param seeds: runs of each transport, each with random streams of its own; default: the scenario's.
    :param seed: root of all random streams; default: the scenario's.
    :param out: the run folder, as ``duetime run --out`` writes it: a path, or a URL that fsspec knows, such as
        ``s3://bucket/run``; default: a temporary one, which goes with the result.
    :param resume: keep finished runs of this very study in ``out``, and make only what is missing.
    :param overwrite: replace what ``out`` holds.
    :param report: write ``report.html`` as well; default: if ``out`` is given.
    :param jobs: runs at the same time; default: one per core.
    :param threads: threads that one run is split over.
    :param progress: a function that gets every event; ``True``: a bar; ``False``: nothing; default: a bar on a terminal and
        in a notebook.
    :raises ScenarioError: the scenario cannot be used; nothing was run or written.
    :raises FolderError: ``out`` holds something else, or cannot be written.
    :raises RunError: runs failed.
    """
    if resume and overwrite:
        raise ValueError("resume and overwrite: one of the two")
    if jobs is not None and jobs < 1:
        raise ValueError(f"jobs={jobs}: at least 1")
    if threads < 1:
        raise ValueError(f"threads={threads}: at least 1")
    wanted = {"seeds": seeds, "seed": seed}
    changes: dict[str, Value] = {key: value for key, value in wanted.items() if value is not None}
    of = scenario_of(scenario)
    if changes:
        of = of.with_(changes)
    with_report = out is not None if report is None else report

    def make(place: Path, on_event: Callable[[str], object] | None) -> _native.Folder:
        return _native.run(
            source_of(of),
            place,
            transports=names(transports),
            jobs=jobs,
            threads=threads,
            if_exists="resume" if resume else "replace" if overwrite else "refuse",
            report=with_report,
            on_event=on_event,
        )

    return made(out, progress, make, overwrite=overwrite, resume=resume)
