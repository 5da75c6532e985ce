"""What a worker of a sweep does, in whatever process an engine has put it.

What passes between both sides is made of plain types, so that a worker of another version can still be told so.
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
    """Nobody waits for the runs any more."""


def make(order: dict[str, Any], batch: Batch) -> Report:
    """Makes the runs of a batch.

    Where this process sees the folder ``staging`` of the order, each run appears there as a folder ``NUMBER.NAME``;
    otherwise the report has the content of its files.
    """
    report: Report = {"version": _native.VERSION, "failed": [], "staged": {}, "files": {}}
    if order["version"] != _native.VERSION:
        return report
    with contextlib.ExitStack() as stack:
        staging = Path(order["staging"])
        shared = staging.is_dir()
        if not shared:
            staging = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="duetime-")))
        # Another worker, thought to be dead, may be at the same runs.
        name = secrets.token_hex(6)
        there = staged(staging)
        todo = [run for run in batch if run[0] not in there]
        pieces = [(*run[1:], staging / f"{run[0]}.{name}") for run in todo]

        def heard(event: str) -> None:
            if not staging.is_dir():
                raise Abandoned

        failed = _native.make_runs(
            order["manifest"], order["files"], pieces, jobs=order["jobs"], on_event=heard if shared else None
        )
        report["failed"] = [(todo[index][0], why) for index, why in failed]
        found = staged(staging)
        wanted = {run[0]: found[run[0]] for run in batch if run[0] in found}
        if shared:
            report["staged"] = wanted
        else:
            report["files"] = {number: _files(staging / of) for number, of in wanted.items()}
    return report


def staged(staging: Path) -> dict[int, str]:
    """The runs that are there, whole: the name of the folder of each, by its number."""
    names = (name for name in os.listdir(staging) if not name.startswith("."))
    return {int(name.split(".")[0]): name for name in names}


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}
