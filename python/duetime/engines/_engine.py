"""Interface of the engines, and the local engine."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from .._errors import EngineError

Batch: TypeAlias = list[tuple[int, int, str, int]]
"""Runs that a worker executes together. Each is the index of the run, the index of its point, its transport, and its run
number."""

Report: TypeAlias = dict[str, Any]
"""Result of a batch."""

Work: TypeAlias = Callable[[Any, Batch], Report]
"""Function that a worker calls with an order and a batch. Can be pickled."""

Handle: TypeAlias = Any
"""Hashable identifier of a submitted batch, chosen by the engine."""


class Engine(ABC):
    """Submits batches of runs to workers.

    Each call of :func:`duetime.sweep` starts, uses and stops the engine, which can then be used again.
    """

    batch_s: float | None = 1.0
    """Target duration of a batch in seconds; ``None``: each worker gets one batch with its share of all runs."""
    batches_per_worker: int = 2
    """Number of submitted batches per worker. With two, a worker does not wait for its next batch."""
    jobs_per_worker: int = 1
    """Number of concurrent runs of a worker."""
    answers_within_s: float | None = 60.0
    """Time limit in seconds for the first worker to respond, before anything is written; ``None``: do not check, because
    workers may wait in a queue for a long time."""

    @abstractmethod
    def start(self) -> int:
        """Connect to the cluster within seconds and return its number of workers.

        :raises EngineError: a required package is not installed, or the cluster cannot be reached.
        """

    @abstractmethod
    def submit(self, work: Work, order: dict[str, Any], batches: Sequence[Batch]) -> list[Handle]:
        """Schedule ``work(order, batch)`` on a worker for each batch and return the handles.

        ``order`` is the same object for all batches of a sweep.
        """

    @abstractmethod
    def wait(self, handles: Sequence[Handle], timeout_s: float) -> list[Handle]:
        """Wait for at least one batch to end, for about ``timeout_s`` at most, and return the batches that have ended.

        A failed batch has ended too.
        """

    @abstractmethod
    def result(self, handle: Handle) -> Report:
        """Return the report of a batch that has ended, or raise the exception that ended it.

        After an exception, the unfinished runs of the batch are retried. An :class:`duetime.EngineError` ends the sweep.
        """

    @abstractmethod
    def cancel(self, handles: Sequence[Handle]) -> None:
        """Cancel these batches, if possible."""

    def stop(self) -> None:
        """Disconnect from the cluster and stop everything that :meth:`start` started. Called after every ``start``."""


@dataclass(frozen=True)
class Local:
    """Engine that executes runs on threads of this process."""

    jobs: int | None = None
    """Number of concurrent runs; ``None``: one per core."""

    def __post_init__(self) -> None:
        if self.jobs is not None and self.jobs < 1:
            raise ValueError(f"jobs={self.jobs}: must be at least 1")


def imported(module: str, extra: str) -> Any:
    """Import a module that an engine needs, or raise an error that names the extra to install."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise EngineError(
            f"this engine needs {module}, which cannot be imported ({error}): pip install 'duetime[{extra}]'"
        ) from error
