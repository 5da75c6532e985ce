"""Ray."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from typing import Any

from .._errors import EngineError
from ._engine import Batch, Engine, Handle, Report, Work, imported


class Ray(Engine):
    """A Ray cluster, or Ray on this machine. A worker is one of its CPUs; a batch whose worker dies is made by another."""

    def __init__(self, address: str | None = None, *, workers: int | None = None, **options: Any) -> None:
        """Of the cluster at an address; ``None``: the one that this process is connected to or that RAY_ADDRESS names,
        otherwise one of its own that is started on this machine and stopped again.

        :param address: as ``ray.init`` takes it: ``"auto"``, ``"host:6379"``, ``"ray://host:10001"``.
        :param workers: CPUs to use; default: all.
        :param options: further options of Ray's tasks, such as ``memory=2e9``; ``num_cpus`` is 1, ``max_retries`` 3.
        """
        if workers is not None and workers < 1:
            raise ValueError(f"workers={workers}: at least 1")
        self.address = address
        self.workers = workers
        self.options = {"num_cpus": 1, "max_retries": 3, **options}
        self._orders: dict[int, Any] = {}
        self._ours = False

    def start(self) -> int:
        self._ray = ray = imported("ray", "ray")
        self._ours = not ray.is_initialized()
        if self._ours:
            address = self.address or os.environ.get("RAY_ADDRESS") or "local"
            _reach(address)
            # On a machine with other work, workers that give way to it all, as Ray has them, hardly move.
            fair = {"worker_niceness": 0}
            own = {"num_cpus": self.workers, "include_dashboard": False, "_system_config": fair}
            here = own if address == "local" else {}
            try:
                ray.init(address, log_to_driver=False, logging_level="error", **here)
            except Exception as error:
                self._ours = False
                raise EngineError(f"Ray at {self.address!r} cannot be used: {error}") from error
        cpus = int(ray.cluster_resources().get("CPU", 0))
        if cpus < 1:
            self.stop()
            raise EngineError(f"Ray at {self.address!r} has no CPU")
        return min(cpus, self.workers or cpus)

    def submit(self, work: Work, order: dict[str, Any], batches: Sequence[Batch]) -> list[Handle]:
        if id(order) not in self._orders:
            # One copy for all batches.
            self._orders = {id(order): self._ray.put(order)}
            self._work = self._ray.remote(**self.options)(work)
        return [self._work.remote(self._orders[id(order)], batch) for batch in batches]

    def wait(self, handles: Sequence[Handle], timeout_s: float) -> list[Handle]:
        ended, _ = self._ray.wait(list(handles), num_returns=1, timeout=timeout_s)
        more, _ = self._ray.wait(list(handles), num_returns=len(handles), timeout=0) if ended else ([], [])
        return list(more or ended)

    def result(self, handle: Handle) -> Report:
        try:
            report: Report = self._ray.get(handle)
        except self._ray.exceptions.RaySystemError as error:
            raise EngineError(f"Ray: {error}") from error
        return report

    def cancel(self, handles: Sequence[Handle]) -> None:
        for handle in handles:
            self._ray.cancel(handle, force=True)

    def stop(self) -> None:
        self._orders = {}
        if self._ours:
            self._ray.shutdown()
            self._ours = False


def _reach(address: str) -> None:
    """Ray tries for a minute; a socket knows at once whether anybody is there."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if not host or not port.isdigit():
        return
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except OSError as error:
        raise EngineError(f"there is no Ray cluster at {address!r}: {error}") from error
