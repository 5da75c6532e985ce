"""Dask engine."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from typing import Any

from .._errors import EngineError
from ._engine import Batch, Engine, Handle, Report, Work, imported

_SECONDS = 10


class Dask(Engine):
    """A dask.distributed cluster, or a temporary cluster on this machine.

    Each thread of Dask's workers counts as a worker. If a worker dies, another one executes its batch.
    """

    def __init__(self, cluster: Any = None, *, workers: int | None = None) -> None:
        """Configure the engine.

        :param cluster: address of a scheduler, such as ``"tcp://host:8786"``, a ``distributed.Client``, or a cluster object,
            such as a ``dask_jobqueue.SLURMCluster``; default: a cluster that is started on this machine for each sweep.
        :param workers: number of worker threads to use; default: all.
        """
        if workers is not None and workers < 1:
            raise ValueError(f"workers={workers}: must be at least 1")
        self.cluster = cluster
        self.workers = workers

    def start(self) -> int:
        distributed = imported("distributed", "dask")
        self._ended = threading.Event()
        self._client: Any = None
        self._own_cluster: Any = None
        self._ours = not isinstance(self.cluster, distributed.Client)
        try:
            if not self._ours:
                self._client = self.cluster
            elif self.cluster is None:
                # Unlike a LocalCluster, it does not execute the user's script again in each worker.
                start = imported("distributed.deploy.subprocess", "dask").SubprocessCluster
                self._own_cluster = start(
                    n_workers=self.workers, threads_per_worker=1, dashboard_address=None, silence_logs=logging.ERROR
                )
                self._client = distributed.Client(self._own_cluster, set_as_default=False)
            else:
                self._client = distributed.Client(self.cluster, timeout=_SECONDS, set_as_default=False)
        except Exception as error:
            self.stop()
            raise EngineError(f"no Dask cluster at {self.cluster!r}: {error}") from error
        try:
            self._client.wait_for_workers(1, timeout=_SECONDS)
        except Exception as error:
            self.stop()
            raise EngineError(f"the Dask cluster at {self.cluster!r} has no worker: {error}") from error
        threads: int = sum(self._client.nthreads().values())
        return min(threads, self.workers or threads)

    def submit(self, work: Work, order: dict[str, Any], batches: Sequence[Batch]) -> list[Handle]:
        # Not pure: a retried batch must be executed again instead of returning an earlier result.
        handles = [self._client.submit(work, order, batch, pure=False) for batch in batches]
        for handle in handles:
            handle.add_done_callback(lambda _: self._ended.set())
        return handles

    def wait(self, handles: Sequence[Handle], timeout_s: float) -> list[Handle]:
        # Not distributed.wait, which would send a message to the scheduler on each poll.
        self._ended.clear()
        if not any(handle.done() for handle in handles):
            self._ended.wait(timeout_s)
        return [handle for handle in handles if handle.done()]

    def result(self, handle: Handle) -> Report:
        if handle.status == "lost" or self._client.status not in ("running", "connecting"):
            raise EngineError("the connection to Dask's scheduler was lost")
        report: Report = handle.result()
        return report

    def cancel(self, handles: Sequence[Handle]) -> None:
        self._client.cancel(list(handles))

    def stop(self) -> None:
        if self._ours and self._client is not None:
            self._client.close()
        if self._own_cluster is not None:
            self._own_cluster.close()
