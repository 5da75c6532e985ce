"""Ray."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Iterator, Sequence
from typing import Any

from .._errors import EngineError
from ._engine import Batch, Engine, Handle, Report, Work, imported


_LOOK_S = 1.0
"""Between two looks whether the cluster is alive."""
_HEAD_S = 20.0
"""How long the head of a cluster may take to return, as it does where it is started again. Ray itself waits for a minute."""


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
        self._dead = False
        self._places: list[str] = []
        self._next_look = 0.0
        self._silent: dict[str, float] = {}

    def start(self) -> int:
        self._ray = ray = imported("ray", "ray")
        self._dead = False
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
        self._places = _places(ray)
        self._silent = {}
        cpus = int(ray.cluster_resources().get("CPU", 0))
        if cpus < 1:
            self.stop()
            raise EngineError(f"Ray at {self.address!r} has no CPU")
        return min(cpus, self.workers or cpus)

    def submit(self, work: Work, order: dict[str, Any], batches: Sequence[Batch]) -> list[Handle]:
        self._look()
        with self._lost():
            if id(order) not in self._orders:
                # One copy for all batches.
                self._orders = {id(order): self._ray.put(order)}
                self._work = self._ray.remote(**self.options)(work)
            return [self._work.remote(self._orders[id(order)], batch) for batch in batches]

    def wait(self, handles: Sequence[Handle], timeout_s: float) -> list[Handle]:
        self._look()
        with self._lost():
            ended, _ = self._ray.wait(list(handles), num_returns=1, timeout=timeout_s)
            more, _ = self._ray.wait(list(handles), num_returns=len(handles), timeout=0) if ended else ([], [])
        return list(more or ended)

    def result(self, handle: Handle) -> Report:
        self._look()
        with self._lost():
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
        # Ray ends the process of a driver whose cluster has died, unless the driver leaves it.
        if self._ours or self._dead:
            with contextlib.suppress(Exception):
                self._ray.shutdown()
            self._ours = False

    def _look(self) -> None:
        """Raises an error if a service of the cluster that this process needs is gone. Ray itself would wait, and then end the
        process."""
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + _LOOK_S
        for place in self._places:
            try:
                _connect(place)
                self._silent.pop(place, None)
            except OSError as error:
                patience = 0 if place.startswith("/") else _HEAD_S
                if now - self._silent.setdefault(place, now) < patience:
                    continue
                self._dead = True
                raise EngineError(f"the Ray cluster has died: {place} does not answer ({error})") from error

    @contextlib.contextmanager
    def _lost(self) -> Iterator[None]:
        """A lost connection is an error of the engine, and not of a batch."""
        try:
            yield
        except (self._ray.exceptions.RaySystemError, ConnectionError) as error:
            self._dead = True
            raise EngineError(f"the Ray cluster has died: {error}") from error


def _places(ray: Any) -> list[str]:
    """Returns the sockets of the services that a driver needs: of the cluster's head, and of this machine's node. There are
    none where Ray does not say, as with ``ray://``."""
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


def _reach(address: str) -> None:
    """Ray tries for a minute; a socket knows at once whether anybody is there."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if not host or not port.isdigit():
        return
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except OSError as error:
        raise EngineError(f"there is no Ray cluster at {address!r}: {error}") from error
