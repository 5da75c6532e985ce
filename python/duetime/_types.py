"""Types of arguments."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeAlias

Event: TypeAlias = dict[str, Any]
"""Something that happened, as ``duetime run --json`` prints it: ``docs/events.md`` has each ``event`` with its fields."""

Progress: TypeAlias = Callable[[Event], object] | bool | None
"""Who hears of progress: a function that gets every :data:`Event`; ``True``: a bar; ``False``: nobody; ``None``: a bar where
somebody looks, on a terminal and in a notebook."""

StrPath: TypeAlias = str | os.PathLike[str]
"""A path in the file system."""


class ArrowStream(Protocol):
    """Anything with the Arrow PyCapsule interface: frames of polars and pandas, tables of pyarrow, relations of DuckDB."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The table as a capsule named ``arrow_array_stream``."""
        ...


def names(of: str | Iterable[str] | None) -> list[str]:
    """A list of names: one name, several, or names with commas as the command takes them."""
    if of is None:
        return []
    if isinstance(of, str):
        return [name.strip() for name in of.split(",")]
    return list(of)
