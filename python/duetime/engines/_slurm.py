"""Slurm, by submitit."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from .._errors import EngineError
from .._types import StrPath
from ._engine import Batch, Engine, Handle, Report, Work, imported


_PATIENCE_S = 5.0


class Slurm(Engine):
    """Jobs of Slurm, by submitit. A job is a worker with its share of all runs; all of them are one job array. What a job has
    finished is kept when it ends early, and another job makes the rest."""

    batch_s = None
    batches_per_worker = 1
    answers_within_s = None

    def __init__(
        self,
        folder: StrPath,
        *,
        jobs: int = 8,
        jobs_per_worker: int = 1,
        cluster: Literal["slurm", "local"] | None = None,
        **parameters: Any,
    ) -> None:
        """With submitit's files in a folder that all nodes see.

        :param folder: for what submitit writes: scripts, logs, pickles.
        :param jobs: jobs to submit.
        :param jobs_per_worker: runs that a job makes at the same time; so many CPUs it asks for.
        :param cluster: ``slurm``; ``local``: processes on this machine; ``None``: Slurm where it is, otherwise this machine.
        :param parameters: what ``submitit.AutoExecutor.update_parameters`` takes, such as ``timeout_min=60``,
            ``slurm_partition="short"``, ``mem_gb=4``.
        """
        for name, of in (("jobs", jobs), ("jobs_per_worker", jobs_per_worker)):
            if of < 1:
                raise ValueError(f"{name}={of}: at least 1")
        self.folder = Path(folder)
        self.jobs = jobs
        self.jobs_per_worker = jobs_per_worker
        self.cluster = cluster
        self.parameters = {"cpus_per_task": jobs_per_worker, "name": "duetime", **parameters}

    def start(self) -> int:
        submitit = imported("submitit", "slurm")
        self._gone: dict[str, float] = {}
        if self.cluster == "slurm" and shutil.which("srun") is None:
            raise EngineError("there is no Slurm here: no command srun")
        try:
            self._executor = submitit.AutoExecutor(self.folder, cluster=self.cluster)
            self._executor.update_parameters(**self.parameters)
            # Each look is one at the shared folder for every job.
            self._pause_s = 1.0 if self._executor.cluster == "slurm" else 0.05
        except Exception as error:
            raise EngineError(f"submitit cannot be used: {error}") from error
        return self.jobs

    def submit(self, work: Work, order: dict[str, Any], batches: Sequence[Batch]) -> list[Handle]:
        with self._executor.batch():
            return [self._executor.submit(work, order, batch) for batch in batches]

    def wait(self, handles: Sequence[Handle], timeout_s: float) -> list[Handle]:
        ended = [job for job in handles if self._has_ended(job)]
        if not ended:
            time.sleep(self._pause_s)
        return ended

    def _has_ended(self, job: Any) -> bool:
        """A job has ended once its result is there; one that ended without, after a while in which it may still appear."""
        if os.path.exists(job.paths.result_pickle):
            return True
        if not job.done():
            return False
        return time.monotonic() - self._gone.setdefault(job.job_id, time.monotonic()) > _PATIENCE_S

    def result(self, handle: Handle) -> Report:
        if not os.path.exists(handle.paths.result_pickle):
            raise ConnectionError(f"job {handle.job_id} ended without a result: {handle.state}; {handle.paths.stderr}")
        report: Report = handle.result()
        return report

    def cancel(self, handles: Sequence[Handle]) -> None:
        for job in handles:
            job.cancel(check=False)
