"""The driver's side of a sweep whose runs an engine's workers make."""

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
"""How often a run is given to workers that do not finish it, before it counts as failed."""

_LOOK_S = 0.1
"""Between two looks for Ctrl-C."""
_TELL_S = 0.5
"""Between two messages of how far things are."""
_LAST_S = 5.0
"""How long the folder of the workers is tried to be removed."""
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
    """Has an engine make the runs that the folder ``out`` lacks."""
    # Workers may have another current folder.
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
            _ask(engine, order, engine.answers_within_s)
        made = _made(out)
        remote = _native.Remote(plan, out, overwrite)
        _Driver(plan, remote, engine, workers, order, staging, on_event).drive(made)
    finally:
        engine.stop()
    return remote.summarise(report)


def _ask(engine: Engine, order: dict[str, Any], within_s: float) -> None:
    """Asks a worker for its version, with a batch of nothing."""
    handles = engine.submit(make, order, [[]])
    until = time.monotonic() + within_s
    ended: list[Handle] = []
    while not ended:
        if time.monotonic() >= until:
            engine.cancel(handles)
            raise EngineError(f"no worker has answered within {within_s:g} s")
        ended = engine.wait(handles, _LOOK_S)
    try:
        report = engine.result(ended[0])
    except Exception as error:
        raise EngineError(f"a worker cannot make runs: {error}") from error
    _check(report)


def _check(report: Report) -> None:
    if report["version"] != _native.VERSION:
        raise EngineError(
            f"a worker has duetime {report['version']}, this is {_native.VERSION}: results of different versions do not mix"
        )


class _Driver:
    """One sweep, from its first batch to its last."""

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
            # Each worker's share has runs of all kinds, as long ones tend to be neighbours.
            missing = [number for worker in range(workers) for number in missing[worker::workers]]
        # Runs that are in no batch, and those that are neither kept nor failed.
        self._waiting = deque(missing)
        self._open = set(missing)
        self._attempts: dict[int, int] = {}
        self._ended = 0
        self._seconds = 0.0
        self._share = max(math.ceil(len(missing) / workers), 1)

    def drive(self, made: list[Path]) -> None:
        """Makes all runs; leaves a folder that can be read, however it ends."""
        finished = unusable = False
        try:
            self._tell()
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
                    _remove(self._staging.parent, made)
        self._tell()

    def _work(self) -> None:
        at_work: dict[Handle, Batch] = {}
        told = 0.0
        try:
            while self._open:
                batches: list[Batch] = []
                while len(at_work) + len(batches) < self._workers * self._engine.batches_per_worker:
                    batch = self._batch()
                    if not batch:
                        break
                    batches.append(batch)
                if batches:
                    handles = self._engine.submit(make, self._order, batches)
                    at_work.update(zip(handles, batches))
                for handle in self._engine.wait(list(at_work), _LOOK_S):
                    self._take(handle, at_work.pop(handle))
                if time.monotonic() - told > _TELL_S:
                    self._take_staged()
                    self._remote.tell(self._workers * self._engine.jobs_per_worker)
                    told = time.monotonic()
                self._tell()
        except BaseException:
            # What the engine says now must not hide why the sweep ends.
            with contextlib.suppress(Exception):
                self._engine.cancel(list(at_work))
            raise

    def _batch(self) -> Batch:
        """The next runs for a worker; empty if there are none."""
        batch: Batch = []
        size = self._size()
        while self._waiting and len(batch) < size:
            number = self._waiting.popleft()
            if number not in self._open:
                continue
            if number in self._attempts and self._engine.batch_s is not None:
                # What a worker was lost with is tried alone: it may be why.
                size = 1
                if batch:
                    self._waiting.appendleft(number)
                    break
            batch.append(self._runs[number])
        return batch

    def _size(self) -> int:
        """How many runs make a batch: few at the end, so that all workers end together."""
        if self._engine.batch_s is None:
            return self._share
        if not self._ended:
            return 1
        wanted = self._engine.batch_s * self._ended / max(self._seconds, 1e-9)
        fair = math.ceil(len(self._waiting) / (self._workers * self._engine.batches_per_worker))
        return max(1, min(round(wanted), fair))

    def _take(self, handle: Handle, batch: Batch) -> None:
        """What became of a batch."""
        why = "its worker ended without it"
        try:
            report = self._engine.result(handle)
        except EngineError:
            raise
        except Exception as error:
            for cause in (error, error.__cause__):
                if isinstance(cause, ImportError):
                    raise EngineError(f"a worker cannot make runs: {cause}") from error
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
        # The other way round: what comes after a run that takes its worker with it comes before it then.
        for number in reversed([run[0] for run in batch]):
            if number in self._open:
                self._again(number, why)

    def _again(self, number: int, why: str) -> None:
        attempts = self._attempts[number] = self._attempts.get(number, 0) + 1
        if attempts < ATTEMPTS:
            self._waiting.append(number)
        else:
            self._fail(number, f"given up after {attempts} workers: {why}")

    def _fail(self, number: int, why: str) -> None:
        if number in self._open:
            self._remote.fail(number, why)
            self._open.discard(number)

    def _write(self, number: int, files: dict[str, bytes]) -> str:
        """The files of a run that was made where the folder is not seen."""
        place = self._staging / f".{number}.sent"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        for name, content in files.items():
            (place / Path(name).name).write_bytes(content)
        return place.name

    def _take_staged(self) -> None:
        """Keeps what workers have finished, of batches too that are not."""
        if self._staging.is_dir():
            for number, name in staged(self._staging).items():
                self._adopt(number, name)

    def _adopt(self, number: int, name: str) -> None:
        if number not in self._open:
            return
        try:
            seconds = self._remote.adopt(number, self._staging / name)
        except FolderError:
            # Not whole: it is made again.
            shutil.rmtree(self._staging / name, ignore_errors=True)
            return
        self._open.discard(number)
        if seconds is not None:
            self._ended += 1
            self._seconds += seconds

    def _tell(self) -> None:
        for event in self._remote.events():
            if self._on_event is not None:
                self._on_event(event)


def _remove_staging(staging: Path) -> None:
    """Removes the folder of the workers, also while one that has lost its cluster still writes to it."""
    until = time.monotonic() + _LAST_S
    shutil.rmtree(staging, ignore_errors=True)
    while staging.exists() and time.monotonic() < until:
        time.sleep(_LOOK_S)
        shutil.rmtree(staging, ignore_errors=True)


def _made(out: Path) -> list[Path]:
    """The folders that are not there yet, innermost first."""
    return [of for of in (out, *out.parents) if not of.exists()]


def _remove(out: Path, made: Sequence[Path]) -> None:
    """A folder in which there is no run goes again, if it was not there before."""
    if out in made:
        shutil.rmtree(out, ignore_errors=True)
        for parent in made[1:]:
            try:
                parent.rmdir()
            except OSError:
                return
