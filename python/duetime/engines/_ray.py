"""Ray engine."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Iterator, Sequence
from typing import Any

from .._errors import EngineError
from ._engine import Batch, Engine, Handle, Report, Work, imported


_POLL_S = 1.0
"""Interval between checks that the cluster is alive, in seconds."""
_HEAD_S = 20.0
"""Time limit in seconds for a cluster's head to come back after a restart. Ray itself waits for a minute."""


class Ray(Engine):
    """A Ray cluster, or a temporary one on this machine.

    Each CPU counts as a worker. If a worker dies, another one executes its batch.
    """

    def __init__(self, address: str | None = None, *, workers: int | None = None, **options: Any) -> None:
        """Configure the engine.

        :param address: address for ``ray.init``, such as ``"auto"``, ``"host:6379"`` or ``"ray://host:10001"``; default: the
            cluster that this process is connected to or that RAY_ADDRESS names, otherwise one that is started on this machine
            for each sweep.
        :param workers: number of CPUs to use; default: all.
        :param options: additional options of Ray tasks, such as ``memory=2e9``. ``num_cpus`` defaults to 1 and
            ``max_retries`` to 3.
        """
        if workers is not None and workers < 1:
            raise ValueError(f"workers={workers}: must be at least 1")
        self.address = address
        self.workers = workers
        self.options = {"num_cpus": 1, "max_retries": 3, **options}
        self._orders: dict[int, Any] = {}
        self._ours = False
        self._dead = False
        self._places: list[str] = []
        self._next_check = 0.0
        self._silent: dict[str, float] = {}

    def start(self) -> int:
        self._ray = ray = imported("ray", "ray")
        self._dead = False
        self._ours = not ray.is_initialized()
        if self._ours:
            address = self.address or os.environ.get("RAY_ADDRESS") or "local"
            _check_reachable(address)
            # By default, Ray lowers the priority of its workers, which starves them on a busy machine.
            fair = {"worker_niceness": 0}
            own = {"num_cpus": self.workers, "include_dashboard": False, "_system_config": fair}
            here = own if address == "local" else {}
            try:
                ray.init(address, log_to_driver=False, logging_level="error", **here)
            except Exception as error:
                self._ours = False
                raise EngineError(f"Ray at {self.address!r} cannot be used: {error}") from error
        self._places = _places(ray)
        self._silent = {}
        cpus = int(ray.cluster_resources().get("CPU", 0))
        if cpus < 1:
            self.stop()
            raise EngineError(f"Ray at {self.address!r} has no CPU")
        return min(cpus, self.workers or cpus)

    def submit(self, work: Work, order: dict[str, Any], batches: Sequence[Batch]) -> list[Handle]:
        self._check_alive()
        with self._connection_errors():
            if id(order) not in self._orders:
                # Store one copy for all batches.
                self._orders = {id(order): self._ray.put(order)}
                self._work = self._ray.remote(**self.options)(work)
            return [self._work.remote(self._orders[id(order)], batch) for batch in batches]

    def wait(self, handles: Sequence[Handle], timeout_s: float) -> list[Handle]:
        self._check_alive()
        with self._connection_errors():
            ended, _ = self._ray.wait(list(handles), num_returns=1, timeout=timeout_s)
            more, _ = self._ray.wait(list(handles), num_returns=len(handles), timeout=0) if ended else ([], [])
        return list(more or ended)

    def result(self, handle: Handle) -> Report:
        self._check_alive()
        with self._connection_errors():
            report: Report = self._ray.get(handle)
        return report

    def cancel(self, handles: Sequence[Handle]) -> None:
        if self._dead:
            return
        with contextlib.suppress(Exception):
            for handle in handles:
                self._ray.cancel(handle, force=True)

    def stop(self) -> None:
        self._orders = {}
        # Ray terminates the process of a driver whose cluster has died unless the driver disconnects.
        if self._ours or self._dead:
            with contextlib.suppress(Exception):
                self._ray.shutdown()
            self._ours = False

    def _check_alive(self) -> None:
        """Raise an error if a required service of the cluster is gone. Ray itself waits and then terminates the process."""
        now = time.monotonic()
        if now < self._next_check:
            return
        self._next_check = now + _POLL_S
        for place in self._places:
            try:
                _connect(place)
                self._silent.pop(place, None)
            except OSError as error:
                patience = 0 if place.startswith("/") else _HEAD_S
                if now - self._silent.setdefault(place, now) < patience:
                    continue
                self._dead = True
                raise EngineError(f"the Ray cluster has died: {place} does not respond ({error})") from error

    @contextlib.contextmanager
    def _connection_errors(self) -> Iterator[None]:
        """Convert a lost connection to an error of the engine instead of the batch."""
        try:
            yield
        except (self._ray.exceptions.RaySystemError, ConnectionError) as error:
            self._dead = True
            raise EngineError(f"the Ray cluster has died: {error}") from error


def _places(ray: Any) -> list[str]:
    """Return the sockets of the services that a driver needs: the cluster's head and this machine's node.

    Empty if Ray does not expose them, as with ``ray://``.
    """
    places: list[str] = []
    with contextlib.suppress(Exception):
        node = ray._private.worker._global_node
        places += [node.gcs_address, node.raylet_socket_name]
    return [place for place in places if isinstance(place, str) and (place.startswith("/") or ":" in place)]


def _connect(place: str) -> None:
    if place.startswith("/"):
        with socket.socket(socket.AF_UNIX) as to:
            to.settimeout(5)
            to.connect(place)
        return
    host, _, port = place.rpartition(":")
    socket.create_connection((host.strip("[]"), int(port)), timeout=5).close()


def _check_reachable(address: str) -> None:
    """Raise an error at once if nothing listens on the address. Ray itself retries for a minute."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if not host or not port.isdigit():
        return
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except OSError as error:
        raise EngineError(f"no Ray cluster at {address!r}: {error}") from error
