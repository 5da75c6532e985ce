"""Worker side of a sweep, in a process started by an engine.

Driver and worker exchange only built-in types, so that a worker of another version can be recognized.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
from pathlib import Path
from typing import Any

from . import _native
from .engines._engine import Batch, Report


class Abandoned(Exception):
    """The driver has removed the staging folder and no longer waits for the runs."""


def make(order: dict[str, Any], batch: Batch) -> Report:
    """Execute the runs of a batch.

    If this process can access the folder ``staging`` of the order, each run is stored there as a folder ``NUMBER.NAME``;
    otherwise the report contains the run's files.
    """
    report: Report = {"version": _native.VERSION, "failed": [], "staged": {}, "files": {}}
    if order["version"] != _native.VERSION:
        return report
    with contextlib.ExitStack() as stack:
        staging = Path(order["staging"])
        shared = staging.is_dir()
        if not shared:
            staging = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="duetime-")))
        # A worker that was presumed dead may still execute the same runs, so the name is unique.
        name = secrets.token_hex(6)
        finished = staged(staging)
        todo = [run for run in batch if run[0] not in finished]
        pieces = [(*run[1:], staging / f"{run[0]}.{name}") for run in todo]

        def check_driver(event: str) -> None:
            if not staging.is_dir():
                raise Abandoned

        failed = _native.make_runs(
            order["manifest"], order["files"], pieces, jobs=order["jobs"], on_event=check_driver if shared else None
        )
        report["failed"] = [(todo[index][0], why) for index, why in failed]
        found = staged(staging)
        wanted = {run[0]: found[run[0]] for run in batch if run[0] in found}
        if shared:
            report["staged"] = wanted
        else:
            report["files"] = {number: _files(staging / folder) for number, folder in wanted.items()}
    return report


def staged(staging: Path) -> dict[int, str]:
    """Return the folder name of each complete run in the staging folder, by run number."""
    names = (name for name in os.listdir(staging) if not name.startswith("."))
    return {int(name.split(".")[0]): name for name in names}


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}
