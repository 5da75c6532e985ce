"""Types of arguments and events."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeAlias

Event: TypeAlias = dict[str, Any]
"""Event as a dict, as printed by ``duetime run --json``. ``docs/events.md`` lists each ``event`` with its fields."""

Progress: TypeAlias = Callable[[Event], object] | bool | None
"""Receiver of progress: a function that is called with every :data:`Event`; ``True``: a bar; ``False``: nothing; ``None``: a
bar on a terminal or in a notebook."""

StrPath: TypeAlias = str | os.PathLike[str]
"""Path in the file system."""


class ArrowStream(Protocol):
    """Object with the Arrow PyCapsule interface, such as a polars or pandas frame, a pyarrow table or a DuckDB relation."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the table as a capsule named ``arrow_array_stream``."""
        ...


def names(argument: str | Iterable[str] | None) -> list[str]:
    """Return a list of names from an iterable or a comma-separated string."""
    if argument is None:
        return []
    if isinstance(argument, str):
        return [name.strip() for name in argument.split(",")]
    return list(argument)
