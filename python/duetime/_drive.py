"""Driver of a sweep whose runs are executed by an engine's workers."""

from __future__ import annotations

import contextlib
import math
import secrets
import shutil
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from . import _native
from ._errors import EngineError, FolderError
from ._worker import make, staged
from .engines._engine import Batch, Engine, Handle, Report

ATTEMPTS = 3
"""Number of workers that may fail to finish a run before the run counts as failed."""

_POLL_S = 0.1
"""Interval between checks for Ctrl-C, in seconds."""
_PROGRESS_S = 0.5
"""Interval between progress events, in seconds."""
_CLEANUP_S = 5.0
"""Time limit for removing the staging folder, in seconds."""
_STAGING = ".workers-"


def drive(
    plan: _native.Plan,
    out: Path,
    engine: Engine,
    *,
    overwrite: bool,
    report: bool,
    on_event: Callable[[str], object] | None,
) -> _native.Folder:
    """Run the missing runs of the folder ``out`` on an engine."""
    # Workers may have another current directory.
    out = out.resolve()
    staging = out / f"{_STAGING}{secrets.token_hex(8)}"
    order = {
        "version": _native.VERSION,
        "manifest": plan.manifest(),
        "files": plan.files(),
        "staging": str(staging),
        "jobs": engine.jobs_per_worker,
    }
    workers = engine.start()
    try:
        if engine.answers_within_s is not None and plan.missing(None if overwrite else out):
            _check_worker(engine, order, engine.answers_within_s)
        created = _missing_folders(out)
        remote = _native.Remote(plan, out, overwrite)
        _Driver(plan, remote, engine, workers, order, staging, on_event).drive(created)
    finally:
        engine.stop()
    return remote.summarise(report)


def _check_worker(engine: Engine, order: dict[str, Any], within_s: float) -> None:
    """Check the version of a worker by submitting an empty batch."""
    handles = engine.submit(make, order, [[]])
    until = time.monotonic() + within_s
    ended: list[Handle] = []
    while not ended:
        if time.monotonic() >= until:
            engine.cancel(handles)
            raise EngineError(f"no worker responded within {within_s:g} s")
        ended = engine.wait(handles, _POLL_S)
    try:
        report = engine.result(ended[0])
    except Exception as error:
        raise EngineError(f"a worker cannot execute runs: {error}") from error
    _check(report)


def _check(report: Report) -> None:
    if report["version"] != _native.VERSION:
        raise EngineError(
            f"a worker has duetime {report['version']}, this is {_native.VERSION}: results of different versions cannot be mixed"
        )


class _Driver:
    """State of one sweep, from its first batch to its last."""

    def __init__(
        self,
        plan: _native.Plan,
        remote: _native.Remote,
        engine: Engine,
        workers: int,
        order: dict[str, Any],
        staging: Path,
        on_event: Callable[[str], object] | None,
    ) -> None:
        self._remote = remote
        self._engine = engine
        self._workers = workers
        self._order = order
        self._staging = staging
        self._on_event = on_event
        self._runs = [(number, *run) for number, run in enumerate(plan.runs())]
        missing = remote.missing()
        if engine.batch_s is None:
            # Interleave the shares, because runs of similar length tend to be neighbours.
            missing = [number for worker in range(workers) for number in missing[worker::workers]]
        # Runs that are in no batch, and runs that are neither stored nor failed.
        self._waiting = deque(missing)
        self._open = set(missing)
        self._attempts: dict[int, int] = {}
        self._ended = 0
        self._seconds = 0.0
        self._share = max(math.ceil(len(missing) / workers), 1)

    def drive(self, created: list[Path]) -> None:
        """Execute all runs. The folder is readable however this call ends."""
        finished = unusable = False
        try:
            self._forward_events()
            for left in self._staging.parent.glob(f"{_STAGING}*"):
                shutil.rmtree(left, ignore_errors=True)
            self._staging.mkdir()
            self._work()
            finished = True
        except EngineError:
            unusable = True
            raise
        finally:
            try:
                self._take_staged()
            finally:
                _remove_staging(self._staging)
                self._remote.end(not finished)
                if unusable and not self._ended:
                    _remove(self._staging.parent, created)
        self._forward_events()

    def _work(self) -> None:
        pending: dict[Handle, Batch] = {}
        reported = 0.0
        try:
            while self._open:
                batches: list[Batch] = []
                while len(pending) + len(batches) < self._workers * self._engine.batches_per_worker:
                    batch = self._batch()
                    if not batch:
                        break
                    batches.append(batch)
                if batches:
                    handles = self._engine.submit(make, self._order, batches)
                    pending.update(zip(handles, batches))
                for handle in self._engine.wait(list(pending), _POLL_S):
                    self._take(handle, pending.pop(handle))
                if time.monotonic() - reported > _PROGRESS_S:
                    self._take_staged()
                    self._remote.report_progress(self._workers * self._engine.jobs_per_worker)
                    reported = time.monotonic()
                self._forward_events()
        except BaseException:
            # An error of the cancellation must not hide the original one.
            with contextlib.suppress(Exception):
                self._engine.cancel(list(pending))
            raise

    def _batch(self) -> Batch:
        """Return the next runs for a worker; empty if none are left."""
        batch: Batch = []
        size = self._size()
        while self._waiting and len(batch) < size:
            number = self._waiting.popleft()
            if number not in self._open:
                continue
            if number in self._attempts and self._engine.batch_s is not None:
                # Retry a run that was in a lost batch alone: it may have crashed the worker.
                size = 1
                if batch:
                    self._waiting.appendleft(number)
                    break
            batch.append(self._runs[number])
        return batch

    def _size(self) -> int:
        """Return the size of the next batch. It shrinks towards the end, so that all workers finish together."""
        if self._engine.batch_s is None:
            return self._share
        if not self._ended:
            return 1
        wanted = self._engine.batch_s * self._ended / max(self._seconds, 1e-9)
        fair = math.ceil(len(self._waiting) / (self._workers * self._engine.batches_per_worker))
        return max(1, min(round(wanted), fair))

    def _take(self, handle: Handle, batch: Batch) -> None:
        """Process the end of a batch: store its runs, and requeue or fail the others."""
        why = "its worker ended without finishing it"
        try:
            report = self._engine.result(handle)
        except EngineError:
            raise
        except Exception as error:
            for cause in (error, error.__cause__):
                if isinstance(cause, ImportError):
                    raise EngineError(f"a worker cannot execute runs: {cause}") from error
            why = str(error) or type(error).__name__
        else:
            _check(report)
            for number, files in report["files"].items():
                report["staged"][number] = self._write(number, files)
            for number, name in report["staged"].items():
                self._adopt(number, name)
            for number, reason in report["failed"]:
                self._fail(number, reason)
        self._take_staged()
        # Requeue in reverse order, so that runs after one that crashes its worker are retried before it.
        for number in reversed([run[0] for run in batch]):
            if number in self._open:
                self._retry(number, why)

    def _retry(self, number: int, why: str) -> None:
        attempts = self._attempts[number] = self._attempts.get(number, 0) + 1
        if attempts < ATTEMPTS:
            self._waiting.append(number)
        else:
            self._fail(number, f"abandoned after {attempts} workers: {why}")

    def _fail(self, number: int, why: str) -> None:
        if number in self._open:
            self._remote.fail(number, why)
            self._open.discard(number)

    def _write(self, number: int, files: dict[str, bytes]) -> str:
        """Write the files of a run from a worker without access to the folder. Return the name of the run's folder."""
        place = self._staging / f".{number}.sent"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        for name, content in files.items():
            (place / Path(name).name).write_bytes(content)
        return place.name

    def _take_staged(self) -> None:
        """Store the finished runs in the staging folder, including those of unfinished batches."""
        if self._staging.is_dir():
            for number, name in staged(self._staging).items():
                self._adopt(number, name)

    def _adopt(self, number: int, name: str) -> None:
        if number not in self._open:
            return
        try:
            seconds = self._remote.adopt(number, self._staging / name)
        except FolderError:
            # The run is incomplete, so it is run again.
            shutil.rmtree(self._staging / name, ignore_errors=True)
            return
        self._open.discard(number)
        if seconds is not None:
            self._ended += 1
            self._seconds += seconds

    def _forward_events(self) -> None:
        for event in self._remote.events():
            if self._on_event is not None:
                self._on_event(event)


def _remove_staging(staging: Path) -> None:
    """Remove the staging folder, even if a worker that lost its cluster still writes to it."""
    until = time.monotonic() + _CLEANUP_S
    shutil.rmtree(staging, ignore_errors=True)
    while staging.exists() and time.monotonic() < until:
        time.sleep(_POLL_S)
        shutil.rmtree(staging, ignore_errors=True)


def _missing_folders(out: Path) -> list[Path]:
    """Return the folders of the path that do not exist yet, innermost first."""
    return [folder for folder in (out, *out.parents) if not folder.exists()]


def _remove(out: Path, created: Sequence[Path]) -> None:
    """Remove the folder if this call created it, and its created parents if they are empty."""
    if out in created:
        shutil.rmtree(out, ignore_errors=True)
        for parent in created[1:]:
            try:
                parent.rmdir()
            except OSError:
                return
