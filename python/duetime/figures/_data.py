"""What figures take from a result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias, Union

import numpy as np
import pyarrow
import pyarrow.compute

from .._errors import FigureError
from .._grid import Grid
from .._result import Result, TableName, load
from .._types import StrPath, names
from ._axes import Numbers
from ._style import Look, looks

Source: TypeAlias = Union[Result, StrPath]
"""A result, or a run folder of any age that this version reads: its path, or a URL that fsspec knows."""

At: TypeAlias = Mapping[str, object]
"""A point of a sweep: the values of its axes by their keys, such as ``{"workload.fan_in": 40}``, or by the names of their
columns, such as ``{"workload_deadline_ms": 5}``."""


@dataclass(frozen=True)
class Estimate:
    """A number with its 95 % interval over runs, as the summary has it."""

    value: float
    low: float
    """Lower end; the value itself where one run gives no interval."""
    high: float
    """Upper end; likewise."""

    @classmethod
    def of(cls, told: Mapping[str, Any] | None) -> Estimate | None:
        """Of the JSON of an estimate."""
        if told is None:
            return None
        value: float = told["value"]
        interval = told["interval"] or {"low": value, "high": value}
        return cls(value, interval["low"], interval["high"])

    def less_than_one(self) -> Estimate:
        """Of the share of the others."""
        return Estimate(1 - self.value, 1 - self.high, 1 - self.low)

    def around(self) -> tuple[list[list[float]], bool]:
        """Lengths below and above the value, as ``Axes.errorbar`` takes them, and whether there is an interval."""
        sides = [[max(0.0, self.value - self.low)], [max(0.0, self.high - self.value)]]
        return sides, self.high > self.low


class Data:
    """The runs of a result under some of its transports, at one point of its sweep."""

    def __init__(
        self, source: Source, transports: str | Iterable[str] | None, at: At | None = None
    ) -> None:
        """Of all transports if there are no names."""
        self.result = source if isinstance(source, Result) else load(source)
        wanted = names(transports)
        there = self.result.transports
        for name in wanted:
            if name not in there:
                raise FigureError(f"transports: `{name}` is not in this result; there are {', '.join(there)}")
        self.looks: list[Look] = looks(wanted or there)
        self._at = at

    @cached_property
    def point(self) -> tuple[str, str] | None:
        """Name and settings of the point that is shown; ``None``: it is not a sweep."""
        points = self.result.manifest["points"]
        if not points and self._at is None:
            return None
        fits = [of for of in points if self.is_at(of["id"])]
        if len(fits) != 1:
            wanted = {str(key): _as_written(value) for key, value in (self._at or {}).items()}
            axes = "; ".join(f"{axis.key} = {', '.join(axis.values)}" for axis in self.grid.axes)
            raise FigureError(
                f"at={wanted}: {len(fits)} points of the sweep; choose one, or use sweep()"
                f"\n   axes: {axes or 'none: it is no sweep'}"
            )
        values = ",".join(f"{key}={value}" for key, value in fits[0]["values"])
        return fits[0]["id"], values

    @property
    def grid(self) -> Grid:
        """The axes of the sweep, and its points."""
        return self.result._grid

    def is_at(self, point: str) -> bool:
        """Returns true if a point has all the values of ``at``: each as the scenario has it, or as its column has it."""
        for name, value in (self._at or {}).items():
            axis = self.grid.find(str(name))
            if axis is None:
                return False
            text = self.grid.points[point][axis.key]
            if _as_written(value) != text and (isinstance(value, str) or value != axis.values[text]):
                return False
        return True

    def rows(self, which: str) -> list[dict[str, Any]]:
        """Rows of the summary: ``queries``, ``rows`` or ``best``."""
        found: list[dict[str, Any]] = getattr(self.result.summary, which)
        point = self.point
        return found if point is None else [row for row in found if row["point"] == point[1]]

    def table(self, name: TableName, columns: Sequence[str]) -> pyarrow.Table:
        """Returns the column ``transport`` and others of a table, of the rows that the summary counts."""
        table = self.result.table(name).to_arrow()
        if self.point is not None:
            table = table.filter(pyarrow.compute.equal(table["point"], self.point[0]))
        return table.select(["transport", *columns])


def _as_written(value: object) -> str:
    """A value as an axis of a sweep has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def where(table: pyarrow.Table, **equal: object) -> pyarrow.Table:
    """Rows whose columns equal these values."""
    for column, value in equal.items():
        table = table.filter(pyarrow.compute.equal(table[column], value))
    return table


def numbers(table: pyarrow.Table, column: str) -> Numbers:
    """A column as numbers; NaN where it is null."""
    values = table[column].cast(pyarrow.float64()).to_numpy()
    return np.asarray(values, dtype=np.float64)
