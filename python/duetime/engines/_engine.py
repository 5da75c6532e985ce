"""What an engine is."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from .._errors import EngineError

Batch: TypeAlias = list[tuple[int, int, str, int]]
"""Runs that a worker makes in one go: of each its number, its point's number, its transport, and its number among the runs
of both."""

Report: TypeAlias = dict[str, Any]
"""What a worker says of a batch."""

Work: TypeAlias = Callable[[Any, Batch], Report]
"""What a worker does with an order and a batch. It can be pickled."""

Handle: TypeAlias = Any
"""A batch at work, as an engine names it. It can be hashed."""


class Engine(ABC):
    """Takes batches of runs to workers.

    One call of :func:`duetime.sweep` starts it, uses it and stops it; then it can be used again.
    """

    batch_s: float | None = 1.0
    """Seconds that a batch shall take; ``None``: each worker gets one batch, with its share of all runs."""
    batches_per_worker: int = 2
    """Batches that wait or are at work for each worker: with two, none waits for its next one."""
    jobs_per_worker: int = 1
    """Runs that a worker makes at the same time."""
    answers_within_s: float | None = 60.0
    """How long the first worker may take to answer before anything is written, in seconds; ``None``: it is not asked, since
    workers may wait in a queue for long."""

    @abstractmethod
    def start(self) -> int:
        """Finds its cluster, within seconds; gives how many workers it has.

        :raises EngineError: what it needs is not installed, or the cluster is not there.
        """

    @abstractmethod
    def submit(self, work: Work, order: dict[str, Any], batches: Sequence[Batch]) -> list[Handle]:
        """Has workers call ``work(order, batch)`` for each of these batches. ``order`` is the same object for all batches of
        a sweep."""

    @abstractmethod
    def wait(self, handles: Sequence[Handle], timeout_s: float) -> list[Handle]:
        """Those of these batches that have ended, in any way; waits until there is one, for about so many seconds at
        most."""

    @abstractmethod
    def result(self, handle: Handle) -> Report:
        """What ``work`` gave for a batch that has ended. An exception says why it did not: then its runs that are not
        finished are tried again, unless it is an :class:`duetime.EngineError`, which ends the sweep."""

    @abstractmethod
    def cancel(self, handles: Sequence[Handle]) -> None:
        """Stops these batches, as far as it can."""

    def stop(self) -> None:
        """Leaves the cluster, and stops what :meth:`start` started. Called whenever ``start`` was."""


@dataclass(frozen=True)
class Local:
    """This process: runs side by side on threads."""

    jobs: int | None = None
    """Runs at the same time; ``None``: one per core."""

    def __post_init__(self) -> None:
        if self.jobs is not None and self.jobs < 1:
            raise ValueError(f"jobs={self.jobs}: at least 1")


def imported(module: str, extra: str) -> Any:
    """A module that an engine needs."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise EngineError(
            f"this engine needs {module}, which cannot be imported ({error}): pip install 'duetime[{extra}]'"
        ) from error
