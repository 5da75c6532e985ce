"""Access of figures to a result."""

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
"""Result, or run folder as a path or a URL that fsspec supports. Folders of older versions are accepted if this version can
read them."""

At: TypeAlias = Mapping[str, object]
"""Point of a sweep: values by axis key, such as ``{"workload.fan_in": 40}``, or by column name, such as
``{"workload_deadline_ms": 5}``."""


@dataclass(frozen=True)
class Estimate:
    """Number of the summary with its 95 % interval over runs."""

    value: float
    low: float
    """Lower end; equal to the value if there is no interval."""
    high: float
    """Upper end; equal to the value if there is no interval."""

    @classmethod
    def of(cls, fields: Mapping[str, Any] | None) -> Estimate | None:
        """Create an estimate from its JSON object. Return ``None`` for ``None``."""
        if fields is None:
            return None
        value: float = fields["value"]
        interval = fields["interval"] or {"low": value, "high": value}
        return cls(value, interval["low"], interval["high"])

    def complement(self) -> Estimate:
        """Return the estimate of one minus a share."""
        return Estimate(1 - self.value, 1 - self.high, 1 - self.low)

    def around(self) -> tuple[list[list[float]], bool]:
        """Return the error lengths for ``Axes.errorbar``, and true if there is an interval."""
        sides = [[max(0.0, self.value - self.low)], [max(0.0, self.high - self.value)]]
        return sides, self.high > self.low


class Data:
    """Selected runs of a result: some of its transports, at one point of its sweep."""

    def __init__(
        self, source: Source, transports: str | Iterable[str] | None, at: At | None = None
    ) -> None:
        """Select transports of a result; default: all."""
        self.result = source if isinstance(source, Result) else load(source)
        wanted = names(transports)
        available = self.result.transports
        for name in wanted:
            if name not in available:
                raise FigureError(f"transports: `{name}` is not in this result; there are {', '.join(available)}")
        self.looks: list[Look] = looks(wanted or available)
        self._at = at

    @cached_property
    def point(self) -> tuple[str, str] | None:
        """Name and settings of the selected point, or ``None`` if the result is not a sweep."""
        points = self.result.manifest["points"]
        if not points and self._at is None:
            return None
        fits = [point for point in points if self.is_at(point["id"])]
        if len(fits) != 1:
            wanted = {str(key): _as_written(value) for key, value in (self._at or {}).items()}
            axes = "; ".join(f"{axis.key} = {', '.join(axis.values)}" for axis in self.grid.axes)
            raise FigureError(
                f"at={wanted}: {len(fits)} points of the sweep; choose one, or use sweep()"
                f"\n   axes: {axes or 'none, because the result is not a sweep'}"
            )
        values = ",".join(f"{key}={value}" for key, value in fits[0]["values"])
        return fits[0]["id"], values

    @property
    def grid(self) -> Grid:
        """Axes and points of the sweep."""
        return self.result._grid

    def is_at(self, point: str) -> bool:
        """Return true if a point has all values of ``at``, each as in the scenario or as in its column."""
        for name, value in (self._at or {}).items():
            axis = self.grid.find(str(name))
            if axis is None:
                return False
            text = self.grid.points[point][axis.key]
            if _as_written(value) != text and (isinstance(value, str) or value != axis.values[text]):
                return False
        return True

    def rows(self, which: str) -> list[dict[str, Any]]:
        """Return the rows ``queries``, ``rows`` or ``best`` of the summary, at the selected point."""
        found: list[dict[str, Any]] = getattr(self.result.summary, which)
        point = self.point
        return found if point is None else [row for row in found if row["point"] == point[1]]

    def table(self, name: TableName, columns: Sequence[str]) -> pyarrow.Table:
        """Return ``transport`` and other columns of a table, for the rows that the summary counts."""
        table = self.result.table(name).to_arrow()
        if self.point is not None:
            table = table.filter(pyarrow.compute.equal(table["point"], self.point[0]))
        return table.select(["transport", *columns])


def _as_written(value: object) -> str:
    """Return a value in the notation of the axes."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def where(table: pyarrow.Table, **equal: object) -> pyarrow.Table:
    """Return the rows whose columns equal these values."""
    for column, value in equal.items():
        table = table.filter(pyarrow.compute.equal(table[column], value))
    return table


def numbers(table: pyarrow.Table, column: str) -> Numbers:
    """Return a column as numbers; null becomes NaN."""
    values = table[column].cast(pyarrow.float64()).to_numpy()
    return np.asarray(values, dtype=np.float64)
