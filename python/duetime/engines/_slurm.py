"""Slurm engine, based on submitit."""

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
    """Slurm jobs, submitted with submitit as one job array.

    Each job is a worker with its share of all runs. If a job ends early, its finished runs are kept and another job executes
    the remaining ones.
    """

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
        """Configure the engine.

        :param folder: folder for submitit's scripts, logs and pickles, which must be visible to all nodes.
        :param jobs: number of jobs to submit.
        :param jobs_per_worker: number of concurrent runs of a job, and of CPUs that it requests.
        :param cluster: ``"slurm"``, or ``"local"`` for processes on this machine; default: Slurm if installed, otherwise local.
        :param parameters: arguments of ``submitit.AutoExecutor.update_parameters``, such as ``timeout_min=60``,
            ``slurm_partition="short"`` or ``mem_gb=4``.
        """
        for name, count in (("jobs", jobs), ("jobs_per_worker", jobs_per_worker)):
            if count < 1:
                raise ValueError(f"{name}={count}: must be at least 1")
        self.folder = Path(folder)
        self.jobs = jobs
        self.jobs_per_worker = jobs_per_worker
        self.cluster = cluster
        self.parameters = {"cpus_per_task": jobs_per_worker, "name": "duetime", **parameters}

    def start(self) -> int:
        submitit = imported("submitit", "slurm")
        self._gone: dict[str, float] = {}
        if self.cluster == "slurm" and shutil.which("srun") is None:
            raise EngineError("Slurm is not installed: command srun not found")
        try:
            self._executor = submitit.AutoExecutor(self.folder, cluster=self.cluster)
            self._executor.update_parameters(**self.parameters)
            # Each poll accesses the shared folder once per job.
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
        """Return true if the job's result exists, or if the job ended without one and the result has not appeared since."""
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
