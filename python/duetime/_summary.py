"""The summary of a result: text, rows, and one row per number."""

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
    "metric": "Name of the number.",
    "unit": "Its unit: `share`, `s`, `bytes/s`, `bytes` or `count`.",
    "value": "The number over all runs.",
    "low": "Lower end of its 95 % interval over runs; null without an interval.",
    "high": "Upper end of its 95 % interval over runs; null without an interval.",
    "runs": "Runs behind the interval; null without an interval.",
}
"""Columns of a summary that are the same for all sweeps, next to ``point`` and ``transport``."""

_ENDS = {"_bytes_per_s": "bytes/s", "_bytes": "bytes", "_s": "s", "_per_flow": "count"}
_COUNTS = ("drops", "losses", "marks", "most_drops")
# Names that say less alone than in their row.
_OTHER = {
    "in_time": "answers_in_time_per_query",
    "below_95": "queries_below_95",
    "objective_in_time": "in_time",
    "deadlines_application_throughput": "in_time",
    "deadlines_missed": "missed",
}
_PERCENTILES = ("p50", "p90", "p95", "p99", "p999")


@dataclass(frozen=True)
class Number:
    """A number of the summary."""

    point: str | None
    """Name of the point's folder; ``None`` without a sweep."""
    transport: str
    """The transport, or the name of a bound."""
    workload: str | None
    """The workload; ``None`` for the network."""
    kind: str
    """``queries``, the class of the flows, or ``network``."""
    metric: str
    """Its name."""
    unit: str
    """Its unit."""
    value: float
    """The number over all runs."""
    low: float | None
    """Lower end of its interval."""
    high: float | None
    """Upper end of its interval."""
    runs: int | None
    """Runs behind the interval."""


@dataclass(frozen=True)
class Summary:
    """What all runs of each transport amount to. Its text is the table that ``duetime run`` prints.

    :meth:`to_pandas`, :meth:`to_polars` and :meth:`to_arrow` return a row per point, transport, workload and metric, with the
    95 % interval over runs. ``docs/python.md`` lists the columns.
    """

    text: str
    """The tables as text, with warnings first."""
    warnings: list[dict[str, Any]]
    """What to know before any number: ``about`` and ``text``."""
    queries: list[dict[str, Any]]
    """A row per transport and workload with queries that can be late, as ``duetime run --json`` prints them."""
    best: list[dict[str, Any]]
    """The same of what no transport can beat."""
    rows: list[dict[str, Any]]
    """A row per transport, workload and class of flows."""
    verdicts: list[dict[str, Any]]
    """What limits the queries under the first transport, per workload: ``text`` says it, ``settings`` and ``command`` try
    what may help, ``limits`` counts the late queries by what took most of their time. A sweep has none."""
    _grid: Grid = field(default=Grid([], {}, {}), repr=False, compare=False)

    @cached_property
    def numbers(self) -> list[Number]:
        """All numbers: a row of :meth:`to_pandas` each."""
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

    def _of(self, row: Mapping[str, Any], kind: str, told: Mapping[str, Any], counts: set[str]) -> Iterator[Number]:
        about = (self._point(row), row["transport"], row["workload_name"], kind)
        for count in sorted(counts, reverse=True):
            yield Number(*about, count, "count", float(told[count]), None, None, None)
        for path, of in _estimates(told):
            metric, unit = _named(path)
            # The bound's `in_time` is that of the queries or flows themselves.
            if path == ["in_time"] and "asked" in told and "if_prompt" in told:
                metric = "in_time"
            interval = of["interval"] or {}
            value, low, high = of["value"], interval.get("low"), interval.get("high")
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
            columns["point"] = [of.point for of in numbers]
            points = [self._grid.points[of.point] if of.point is not None else {} for of in numbers]
            for axis in axes:
                if axis.name != "transport":
                    columns[axis.name] = [axis.at(point) if point else None for point in points]
        columns["transport"] = [of.transport for of in numbers]
        for name in NUMBERS:
            columns[name] = [getattr(of, name) for of in numbers]
        return columns

    def to_arrow(self) -> pyarrow.Table:
        """Returns a row per point, transport, workload and metric as a table of pyarrow. Needs pyarrow."""
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
        """Returns a row per point, transport, workload and metric as a frame of polars. Needs polars."""
        import polars

        kinds = {"value": polars.Float64, "low": polars.Float64, "high": polars.Float64, "runs": polars.Int64}
        return polars.DataFrame(self._columns(), schema_overrides=kinds)

    def to_pandas(self) -> pandas.DataFrame:
        """Returns a row per point, transport, workload and metric as a frame of pandas. Needs pandas."""
        import pandas

        frame = pandas.DataFrame(self._columns())
        return frame.astype({"value": "float64", "low": "float64", "high": "float64", "runs": "Int64"})

    def to_xarray(self) -> xarray.Dataset:
        """Returns the numbers as an ``xarray.Dataset``. Its dimensions are the axes of the sweep, ``transport`` and
        ``subject``, such as ``"oldi queries"``. Each metric is a variable, next to its interval in ``METRIC_low`` and
        ``METRIC_high``; what is absent is NaN. An axis that changes with another one is a coordinate along it.

        :raises ImportError: xarray is not installed: ``pip install 'duetime[xarray]'``.
        """
        try:
            import numpy
            import xarray
        except ImportError as error:
            raise ImportError(f"to_xarray needs {error.name}: pip install 'duetime[xarray]'", name=error.name) from None
        numbers = [of for of in self.numbers if of.point is not None or not self._grid.points]
        axes = [axis for axis in self._grid.independent if axis.name != "transport"]
        dims: dict[str, list[Cell]] = {axis.name: list(dict.fromkeys(axis.values.values())) for axis in axes}
        dims["transport"] = list(dict.fromkeys(of.transport for of in numbers))
        dims["subject"] = list(dict.fromkeys(_subject(of) for of in numbers))
        places = {name: {value: at for at, value in enumerate(values)} for name, values in dims.items()}
        shape = [len(values) for values in dims.values()]
        units = {of.metric: of.unit for of in numbers}
        arrays = {
            metric + end: numpy.full(shape, numpy.nan) for metric in units for end in ("", "_low", "_high")
        }
        for of in numbers:
            point = self._grid.points[of.point] if of.point is not None else {}
            at = (*(places[axis.name][axis.at(point)] for axis in axes), places["transport"][of.transport])
            at = (*at, places["subject"][_subject(of)])
            for end, number in (("", of.value), ("_low", of.low), ("_high", of.high)):
                if number is not None:
                    arrays[of.metric + end][at] = number
        coordinates: dict[str, Any] = {}
        for axis in axes:
            coordinates[axis.name] = (axis.name, dims[axis.name], {"key": axis.key, "units": axis.unit or ""})
        for axis in self._grid.axes:
            if axis not in self._grid.independent and axis.name != "transport":
                leader = next(of for of in axes if self._grid.leads(of, axis))
                partner = {leader.at(point): axis.at(point) for point in self._grid.points.values()}
                attributes = {"key": axis.key, "units": axis.unit or ""}
                coordinates[axis.name] = (leader.name, [partner[of] for of in dims[leader.name]], attributes)
        coordinates["transport"], coordinates["subject"] = dims["transport"], dims["subject"]
        variables = {
            name: (list(dims), array, {"units": units[name.removesuffix("_low").removesuffix("_high")]})
            for name, array in arrays.items()
        }
        return xarray.Dataset(variables, coordinates)

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        """The numbers of each transport as a table, with the text below."""
        warnings = "".join(f"<p><b>Warning:</b> {html.escape(str(of['text']))}</p>" for of in self.warnings)
        whole = f"<details><summary>All tables</summary><pre>{html.escape(self.text)}</pre></details>"
        return warnings + self._table() + whole

    def _table(self) -> str:
        """In time, median and 99th percentile of queries or, without queries, of flows."""
        numbers: dict[tuple[str | None, str, str | None, str], dict[str, Number]] = {}
        for of in self.numbers:
            if of.kind != "network":
                numbers.setdefault((of.point, of.transport, of.workload, of.kind), {})[of.metric] = of
        if any(kind == "queries" for *_, kind in numbers):
            numbers = {about: of for about, of in numbers.items() if about[3] == "queries"}
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


def _subject(of: Number) -> str:
    return of.kind if of.workload is None else f"{of.workload} {of.kind}"


def _shown(of: Number | None) -> str:
    """A number with its interval: shares in percent, times in milliseconds."""
    if of is None:
        return "–"
    factor, unit = (100, " %") if of.unit == "share" else (1e3, " ms")
    text = f"{of.value * factor:.4g}{unit}"
    if of.low is not None and of.high is not None and of.high > of.low:
        text += f" [{of.low * factor:.4g}, {of.high * factor:.4g}]"
    return text


def table(head: list[str], rows: list[list[str]]) -> str:
    """Returns a table in HTML."""
    names = "".join(f"<th>{html.escape(of)}</th>" for of in head)
    lines = ["".join(f"<td>{html.escape(of)}</td>" for of in row) for row in rows]
    body = "".join(f"<tr>{of}</tr>" for of in lines)
    return f"<table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>"


def _estimates(told: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[list[str], Mapping[str, Any]]]:
    """All estimates below a row, with their paths."""
    for key, of in told.items():
        if isinstance(of, Mapping):
            here = (*path, key)
            if of.keys() >= {"value", "interval"}:
                yield list(here), of
            else:
                yield from _estimates(of, here)


def _named(path: list[str]) -> tuple[str, str]:
    """Name and unit of a number, of its path in a row: the unit is in the path, not in the name."""
    unit = "count" if path[-1] in _COUNTS else "share"
    parts = []
    for part in path:
        end = next((end for end in _ENDS if part.endswith(end)), None)
        if end is not None:
            unit = _ENDS[end]
            part = part if end == "_per_flow" else part.removesuffix(end)
        parts.append(part)
    name = "_".join(parts)
    return _OTHER.get(name, name), unit
