"""What can go wrong."""

from __future__ import annotations


class DuetimeError(Exception):
    """Any error of Duetime."""


class ScenarioError(DuetimeError, ValueError):
    """A scenario, a table of flows, or an input of :func:`fit`, that cannot be used. Nothing was run and nothing was written.

    The exception's text shows the place and says what is allowed; the attributes are its parts.
    """

    file: str | None
    """The file; ``--set`` for a value that was set, ``<flows>`` for a table of flows; ``None`` if no place is known."""
    line: int | None
    """The line, from 1; of a table of flows the row, from 1; ``None`` if the mistake is in no line."""
    column: int | None
    """The column, from 1, in characters; ``None`` if the mistake is in no line."""
    key: str | None
    """The key's path, such as ``workload.fan_in``, or the name of the column of a table; ``None`` if there is none."""
    value: str | None
    """The value as it was written; ``None`` where a key is missing or unknown."""
    reason: str
    """What is wrong with it."""
    allowed: str | None
    """What is allowed."""
    help: str | None
    """What to do about it."""

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
    """A run folder that cannot be written, read or trusted: it holds other results, is damaged, or is of another version."""


class RunError(DuetimeError):
    """Runs that failed. What was finished is kept in the folder, if one was given."""


class FigureError(DuetimeError, ValueError):
    """A figure for which the result has no data, such as queues where no link was sampled. It says what to change."""


class EngineError(DuetimeError):
    """An engine that cannot be used: it is not installed, its cluster is not there, or a worker has another version."""
