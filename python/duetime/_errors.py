"""Exceptions of the package."""

from __future__ import annotations


class DuetimeError(Exception):
    """Base class of all errors of Duetime."""


class ScenarioError(DuetimeError, ValueError):
    """Error in a scenario, a table of flows or an input of :func:`fit`. Nothing was run or written.

    The exception's text shows the position and the allowed values; the attributes hold its parts.
    """

    file: str | None
    """File; ``--set`` for a value that was set, ``<flows>`` for a table of flows; ``None`` if unknown."""
    line: int | None
    """Line, from 1; row, from 1, of a table of flows; ``None`` if the error is not in a line."""
    column: int | None
    """Column in characters, from 1; ``None`` if the error is not in a line."""
    key: str | None
    """Key path, such as ``workload.fan_in``, or column name of a table; ``None`` if there is none."""
    value: str | None
    """Value as written; ``None`` if a key is missing or unknown."""
    reason: str
    """Description of the error."""
    allowed: str | None
    """Allowed values."""
    help: str | None
    """Suggested fix."""

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        key: str | None = None,
        value: str | None = None,
        reason: str | None = None,
        allowed: str | None = None,
        help: str | None = None,
    ) -> None:
        super().__init__(message)
        self.file = file
        self.line = line
        self.column = column
        self.key = key
        self.value = value
        self.reason = message if reason is None else reason
        self.allowed = allowed
        self.help = help


class FolderError(DuetimeError):
    """Error in a run folder: it contains other results, is damaged, has another version, or cannot be read or written."""


class RunError(DuetimeError):
    """Failed runs. If a folder was given, finished runs are kept there."""


class FigureError(DuetimeError, ValueError):
    """Data missing for a figure, such as queues if no link was sampled. The message says what to change."""


class EngineError(DuetimeError):
    """Unusable engine: it is not installed, its cluster cannot be reached, or a worker has another version."""
