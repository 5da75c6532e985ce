"""Summary of a result as text, as rows, and as a table with one row per metric."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ._grid import Cell, Grid

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow
    import xarray

NUMBERS = {
    "workload": "Name of the workload; null for the network.",
    "kind": "`queries`, the class of the flows, or `network`.",
    "metric": "Name of the metric.",
    "unit": "Unit: `share`, `s`, `bytes/s`, `bytes` or `count`.",
    "value": "Value over all runs.",
    "low": "Lower end of the 95 % interval over runs; null without an interval.",
    "high": "Upper end of the 95 % interval over runs; null without an interval.",
    "runs": "Runs behind the interval; null without an interval.",
}
"""Columns that every summary has, in addition to ``point`` and ``transport``."""

_ENDS = {"_bytes_per_s": "bytes/s", "_bytes": "bytes", "_s": "s", "_per_flow": "count"}
_COUNTS = ("drops", "losses", "marks", "most_drops")
# Metrics whose name is ambiguous outside of their row.
_RENAMED = {
    "in_time": "answers_in_time_per_query",
    "below_95": "queries_below_95",
    "objective_in_time": "in_time",
    "deadlines_application_throughput": "in_time",
    "deadlines_missed": "missed",
}
_PERCENTILES = ("p50", "p90", "p95", "p99", "p999")


@dataclass(frozen=True)
class Number:
    """A metric of the summary."""

    point: str | None
    """Name of the point's folder; ``None`` without a sweep."""
    transport: str
    """Name of the transport or of a bound."""
    workload: str | None
    """Name of the workload; ``None`` for the network."""
    kind: str
    """``queries``, the class of the flows, or ``network``."""
    metric: str
    """Name of the metric."""
    unit: str
    """Unit: ``share``, ``s``, ``bytes/s``, ``bytes`` or ``count``."""
    value: float
    """Value over all runs."""
    low: float | None
    """Lower end of the 95 % interval over runs, or ``None``."""
    high: float | None
    """Upper end of the 95 % interval over runs, or ``None``."""
    runs: int | None
    """Number of runs behind the interval, or ``None``."""


@dataclass(frozen=True)
class Summary:
    """Metrics over all runs of each transport. ``str`` of it is the table that ``duetime run`` prints.

    :meth:`to_pandas`, :meth:`to_polars` and :meth:`to_arrow` return a row per point, transport, workload and metric, with the
    95 % interval over runs. ``docs/python.md`` lists the columns.
    """

    text: str
    """The printed tables, preceded by warnings."""
    warnings: list[dict[str, Any]]
    """Warnings about the results: ``about`` and ``text``."""
    queries: list[dict[str, Any]]
    """One row per transport and workload with queries that can be late, as printed by ``duetime run --json``."""
    best: list[dict[str, Any]]
    """One row per bound on the share in time of any transport."""
    rows: list[dict[str, Any]]
    """One row per transport, workload and class of flows."""
    verdicts: list[dict[str, Any]]
    """Causes that limit the queries under the first transport, one entry per workload: ``text`` describes them, ``settings``
    and ``command`` may help, and ``limits`` counts the late queries by the cause of most of their time. Empty for a sweep."""
    _grid: Grid = field(default=Grid([], {}, {}), repr=False, compare=False)

    @cached_property
    def numbers(self) -> list[Number]:
        """All metrics, one per row of :meth:`to_pandas`."""
        return list(self._numbers())

    def _numbers(self) -> Iterator[Number]:
        network: set[tuple[str | None, str]] = set()
        for row in self.queries:
            yield from self._of(row, "queries", row, {"queries"})
        for row in self.rows:
            yield from self._of(row, row["class"], {**row, "network": None, "queries": None}, {"flows", "finished"})
            place = self._point(row), row["transport"]
            if place not in network:
                network.add(place)
                yield from self._of({**row, "workload_name": None}, "network", row["network"], set())
        for row in self.best:
            yield from self._of(row, row["class"] or "queries", row, set())

    def _of(self, row: Mapping[str, Any], kind: str, values: Mapping[str, Any], counts: set[str]) -> Iterator[Number]:
        about = (self._point(row), row["transport"], row["workload_name"], kind)
        for count in sorted(counts, reverse=True):
            yield Number(*about, count, "count", float(values[count]), None, None, None)
        for path, estimate in _estimates(values):
            metric, unit = _metric_of(path)
            # In a row of `best`, `in_time` is the share of the queries or flows, not of the answers per query.
            if path == ["in_time"] and "asked" in values and "if_prompt" in values:
                metric = "in_time"
            interval = estimate["interval"] or {}
            value, low, high = estimate["value"], interval.get("low"), interval.get("high")
            runs = interval.get("runs")
            yield Number(*about, metric, unit, value, low, high, runs)
            if kind == "queries" and path == ["objective", "in_time"]:
                below, above = (None, None) if low is None or high is None else (1 - high, 1 - low)
                yield Number(*about, "missed", unit, 1 - value, below, above, runs)

    def _point(self, row: Mapping[str, Any]) -> str | None:
        return self._grid.labels.get(row["point"])

    def _columns(self) -> dict[str, list[Any]]:
        numbers = self.numbers
        axes = self._grid.axes
        columns: dict[str, list[Any]] = {}
        if axes:
            columns["point"] = [number.point for number in numbers]
            points = [self._grid.points[number.point] if number.point is not None else {} for number in numbers]
            for axis in axes:
                if axis.name != "transport":
                    columns[axis.name] = [axis.at(point) if point else None for point in points]
        columns["transport"] = [number.transport for number in numbers]
        for name in NUMBERS:
            columns[name] = [getattr(number, name) for number in numbers]
        return columns

    def to_arrow(self) -> pyarrow.Table:
        """Return a pyarrow table with a row per point, transport, workload and metric. Requires pyarrow."""
        import pyarrow

        kinds = {"value": pyarrow.float64(), "low": pyarrow.float64(), "high": pyarrow.float64(), "runs": pyarrow.int64()}
        units = {axis.name: axis.unit for axis in self._grid.axes}
        fields, arrays = [], []
        for name, values in self._columns().items():
            metadata = {"description": NUMBERS[name]} if name in NUMBERS else {}
            if units.get(name):
                metadata["unit"] = str(units[name])
            array = pyarrow.array(values, kinds.get(name))
            fields.append(pyarrow.field(name, array.type, metadata=metadata or None))
            arrays.append(array)
        return pyarrow.table(arrays, schema=pyarrow.schema(fields))

    def to_polars(self) -> polars.DataFrame:
        """Return a polars frame with a row per point, transport, workload and metric. Requires polars."""
        import polars

        kinds = {"value": polars.Float64, "low": polars.Float64, "high": polars.Float64, "runs": polars.Int64}
        return polars.DataFrame(self._columns(), schema_overrides=kinds)

    def to_pandas(self) -> pandas.DataFrame:
        """Return a pandas frame with a row per point, transport, workload and metric. Requires pandas."""
        import pandas

        frame = pandas.DataFrame(self._columns())
        return frame.astype({"value": "float64", "low": "float64", "high": "float64", "runs": "Int64"})

    def to_xarray(self) -> xarray.Dataset:
        """Return the metrics as an ``xarray.Dataset``.

        Its dimensions are the axes of the sweep, ``transport`` and ``subject``, such as ``"oldi queries"``. Each metric is a
        variable, with its interval in ``METRIC_low`` and ``METRIC_high``; missing values are NaN. An axis that changes with
        another one is a coordinate along it.

        :raises ImportError: xarray is not installed: ``pip install 'duetime[xarray]'``.
        """
        try:
            import numpy
            import xarray
        except ImportError as error:
            raise ImportError(f"to_xarray needs {error.name}: pip install 'duetime[xarray]'", name=error.name) from None
        numbers = [number for number in self.numbers if number.point is not None or not self._grid.points]
        axes = [axis for axis in self._grid.independent if axis.name != "transport"]
        dims: dict[str, list[Cell]] = {axis.name: list(dict.fromkeys(axis.values.values())) for axis in axes}
        dims["transport"] = list(dict.fromkeys(number.transport for number in numbers))
        dims["subject"] = list(dict.fromkeys(_subject(number) for number in numbers))
        places = {name: {value: at for at, value in enumerate(values)} for name, values in dims.items()}
        shape = [len(values) for values in dims.values()]
        units = {number.metric: number.unit for number in numbers}
        arrays = {
            metric + end: numpy.full(shape, numpy.nan) for metric in units for end in ("", "_low", "_high")
        }
        for number in numbers:
            point = self._grid.points[number.point] if number.point is not None else {}
            at = (*(places[axis.name][axis.at(point)] for axis in axes), places["transport"][number.transport])
            at = (*at, places["subject"][_subject(number)])
            for end, value in (("", number.value), ("_low", number.low), ("_high", number.high)):
                if value is not None:
                    arrays[number.metric + end][at] = value
        coordinates: dict[str, Any] = {}
        for axis in axes:
            coordinates[axis.name] = (axis.name, dims[axis.name], {"key": axis.key, "units": axis.unit or ""})
        for axis in self._grid.axes:
            if axis not in self._grid.independent and axis.name != "transport":
                leader = next(other for other in axes if self._grid.leads(other, axis))
                partner = {leader.at(point): axis.at(point) for point in self._grid.points.values()}
                attributes = {"key": axis.key, "units": axis.unit or ""}
                coordinates[axis.name] = (leader.name, [partner[value] for value in dims[leader.name]], attributes)
        coordinates["transport"], coordinates["subject"] = dims["transport"], dims["subject"]
        variables = {
            name: (list(dims), array, {"units": units[name.removesuffix("_low").removesuffix("_high")]})
            for name, array in arrays.items()
        }
        return xarray.Dataset(variables, coordinates)

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        """Return the main metrics of each transport and the printed tables, as HTML."""
        warnings = "".join(f"<p><b>Warning:</b> {html.escape(str(row['text']))}</p>" for row in self.warnings)
        whole = f"<details><summary>All tables</summary><pre>{html.escape(self.text)}</pre></details>"
        return warnings + self._table() + whole

    def _table(self) -> str:
        """Return share in time, median and 99th percentile of queries or, without queries, of flows, as HTML."""
        numbers: dict[tuple[str | None, str, str | None, str], dict[str, Number]] = {}
        for number in self.numbers:
            if number.kind != "network":
                numbers.setdefault((number.point, number.transport, number.workload, number.kind), {})[number.metric] = number
        if any(kind == "queries" for *_, kind in numbers):
            numbers = {about: metrics for about, metrics in numbers.items() if about[3] == "queries"}
        shown = {"in_time": "in time", "completion_p50": "median", "completion_p99": "99th percentile"}
        axes = [axis for axis in self._grid.axes if axis.name != "transport"]
        head = [*(axis.name for axis in axes), "transport", "workload", "of", *shown.values()]
        lines = []
        for (point, transport, workload, kind), own in numbers.items():
            settings = self._grid.points[point] if point is not None else {}
            cells = [*(settings.get(axis.key, "") for axis in axes), transport, workload or "", kind]
            cells += [_shown(own.get(metric)) for metric in shown]
            lines.append(cells)
        return table(head, lines)


def _subject(number: Number) -> str:
    return number.kind if number.workload is None else f"{number.workload} {number.kind}"


def _shown(number: Number | None) -> str:
    """Format a number with its interval: shares in percent, times in milliseconds."""
    if number is None:
        return "–"
    factor, unit = (100, " %") if number.unit == "share" else (1e3, " ms")
    text = f"{number.value * factor:.4g}{unit}"
    if number.low is not None and number.high is not None and number.high > number.low:
        text += f" [{number.low * factor:.4g}, {number.high * factor:.4g}]"
    return text


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a table in HTML."""
    names = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    lines = ["".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in rows]
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>"


def _estimates(values: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[list[str], Mapping[str, Any]]]:
    """Iterate over all estimates in a row, with their paths."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            here = (*path, key)
            if value.keys() >= {"value", "interval"}:
                yield list(here), value
            else:
                yield from _estimates(value, here)


def _metric_of(path: list[str]) -> tuple[str, str]:
    """Return name and unit of a metric from its path in a row. The path contains the unit, the name does not."""
    unit = "count" if path[-1] in _COUNTS else "share"
    parts = []
    for part in path:
        end = next((end for end in _ENDS if part.endswith(end)), None)
        if end is not None:
            unit = _ENDS[end]
            part = part if end == "_per_flow" else part.removesuffix(end)
        parts.append(part)
    name = "_".join(parts)
    return _RENAMED.get(name, name), unit
