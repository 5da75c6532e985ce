"""What changes along an axis of a sweep."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from .._errors import FigureError
from .._grid import Axis
from ._axes import log_ticks, plain
from ._data import At, Data, Estimate, Source
from ._queries import BOUND
from ._style import BAND_ALPHA, GUIDE_COLOUR, Look, Style, Width, drawing, legend

Measure: TypeAlias = Literal["missed", "in_time", "p50", "p90", "p99", "p999", "goodput"]
"""What :func:`sweep` shows. ``missed``: late queries or, where no query has a budget, missed deadlines of flows, in percent;
``in_time``: the others, in percent; ``p50`` to ``p999``: percentiles of completion times, of queries where there are any,
in milliseconds; ``goodput``: mean over the flows without deadlines, in Gbps."""

Measured: TypeAlias = tuple[str, dict[str, str], str, str, Estimate]
"""Transport, settings of the point, what the number is about, its label, and the number."""

_FAR = 20
"""Largest value of an axis over its smallest, from which on the axis is logarithmic."""
_PERCENTILES = ("p50", "p90", "p99", "p999")
_WORDS = {"p50": "median", "p90": "90th percentile", "p99": "99th percentile", "p999": "99.9th percentile"}


@dataclass
class _Panel:
    """A setting of the other axes, and a workload."""

    title: str
    label: str
    curves: dict[str, list[tuple[float, Estimate]]] = field(default_factory=dict)
    """Points by transport."""


def sweep(
    result: Source,
    x: str | None = None,
    y: Measure = "missed",
    *,
    transports: str | Iterable[str] | None = None,
    workload: str | None = None,
    facet: str | None = None,
    at: At | None = None,
    log: bool = False,
    ax: Axes | None = None,
    style: Style = "sans",
    width: Width | None = None,
) -> Figure:
    """What a measure does along an axis of a sweep: a curve per transport with its 95 % intervals over runs as a band, and
    what no transport can beat where that is known. One panel per workload, and per setting of the other axes. The numbers
    are those of ``result.summary``.

    :param x: the axis along which curves run: its key, such as ``"workload.fan_in"``, or the name of its column; default: the
        axis with the most values.
    :param y: what to show: see :data:`duetime.figures.Measure`.
    :param workload: only this workload, by name.
    :param facet: one panel per value of this axis, with the same scale. Any further axis needs its value in ``at``.
    :param at: only points with these values, such as ``{"switch.buffer": "1 MB"}``.
    :param log: the measure by logarithm; what is zero is left out there.
    :raises FigureError: the result is no sweep, has no such axis, or nothing was measured that ``y`` shows.

    The other arguments are those of :func:`duetime.figures.in_time`.
    """
    data = Data(result, transports, at)
    axes = axes_of(data)
    along = axis_of(axes, "x", x) if x is not None else max(axes, key=lambda axis: len(axis.values))
    check_measure("y", y)
    others = [axis for axis in axes if axis != along and not data.grid.leads(along, axis)]
    if facet is not None:
        facets = axis_of(axes, "facet", facet)
        if facets not in others:
            raise FigureError(f"facet={facet!r}: {along.key} is along x; choose another axis")
        others = only(data, others, facets)
    panels = _panels(data, along, others, y, workload, named=facet is None)
    with drawing(ax, len(panels), style=style, width=width, share=facet is not None) as (figure, drawn):
        for place, panel in zip(drawn, panels):
            place.set_xlabel(along.label)
            _draw(place, data, panel, log)
            if len(panels) > 1:
                place.set_title(panel.title)
            _ticks(place, along)
        drawn[0].set_ylabel(panels[0].label)
        legend(figure, drawn)
    return figure


def _ticks(ax: Axes, along: Axis) -> None:
    """Names where the values are no numbers; a logarithmic axis, with a tick at each value, where they are far apart."""
    if not along.is_numeric:
        ax.set_xticks(range(len(along.values)), list(along.values))
        return
    values = [float(of) for of in along.values.values()]
    if min(values) > 0 and max(values) >= _FAR * min(values):
        ax.set_xscale("log")
        ax.set_xticks(values)
        ax.xaxis.set_minor_formatter(NullFormatter())
    ax.xaxis.set_major_formatter(FuncFormatter(plain))


def axes_of(data: Data) -> list[Axis]:
    """Returns the axes of the sweep; a result without any is an error."""
    if not data.grid.axes:
        raise FigureError("this result is no sweep: make one with duetime.sweep() or `duetime sweep`")
    return data.grid.axes


def axis_of(axes: list[Axis], argument: str, name: str) -> Axis:
    """Returns the axis that an argument names by its key or by its column."""
    for axis in axes:
        if name in (axis.key, axis.name):
            return axis
    there = ", ".join(axis.key for axis in axes)
    raise FigureError(f"{argument}={name!r}: no axis of this sweep; there are {there}")


def check_measure(argument: str, measure: str) -> None:
    """Raises an error if there is no such measure."""
    if measure not in (*_PERCENTILES, "missed", "in_time", "goodput"):
        allowed = "\"missed\", \"in_time\", \"p50\", \"p90\", \"p99\", \"p999\" or \"goodput\""
        raise ValueError(f"{argument}={measure!r}: {allowed}")


def only(data: Data, others: list[Axis], *shown: Axis) -> list[Axis]:
    """Returns the axes among the others that are shown, if all the remaining ones have one value at the points in question."""
    points = [point for name, point in data.grid.points.items() if data.is_at(name)]
    for axis in others:
        if axis in shown or any(data.grid.leads(of, axis) for of in shown):
            continue
        if len({point[axis.key] for point in points}) > 1:
            raise FigureError(f"{axis.key} varies as well: choose one of {', '.join(axis.values)} with at={{{axis.key!r}: …}}")
    return [axis for axis in others if axis in shown]


def measured(data: Data, measure: Measure, workload: str | None, argument: str) -> list[Measured]:
    """Returns what the summary has of a measure at the points that are shown, each with the settings of its point."""
    found: list[Measured] = []
    for row, title, label, estimate in _told(data, measure):
        point = data.grid.labels.get(row["point"])
        if point is None or estimate is None or workload not in (None, row["workload_name"]) or not data.is_at(point):
            continue
        found.append((row["transport"], data.grid.points[point], title, label, estimate))
    if not found:
        named = "" if workload is None else f"workload {workload!r}: "
        raise FigureError(f"{named}nothing was measured that {argument}={measure!r} shows")
    return found


def _panels(
    data: Data, along: Axis, others: list[Axis], y: Measure, workload: str | None, *, named: bool
) -> list[_Panel]:
    places = {
        text: float(value) if along.is_numeric else float(index)
        for index, (text, value) in enumerate(along.values.items())
    }
    rows = measured(data, y, workload, "y")
    titled = named or len({title for _, _, title, _, _ in rows}) > 1
    panels: dict[str, _Panel] = {}
    for transport, settings, title, label, estimate in rows:
        about = [f"{axis.key} = {settings[axis.key]}" for axis in others]
        whole = ", ".join([title, *about] if titled else about)
        panel = panels.setdefault(whole, _Panel(whole, label))
        panel.curves.setdefault(transport, []).append((places[settings[along.key]], estimate))
    for panel in panels.values():
        for curve in panel.curves.values():
            curve.sort(key=lambda at: at[0])
    return list(panels.values())


_Told: TypeAlias = tuple[dict[str, Any], str, str, Estimate | None]


def _told(data: Data, y: Measure) -> list[_Told]:
    """Rows of the summary with what they are about, the label of the axis, and the number."""
    summary = data.result.summary
    queries: list[_Told] = []
    flows: list[_Told] = []

    def scaled(estimate: Estimate | None, factor: float) -> Estimate | None:
        if estimate is None:
            return None
        return Estimate(estimate.value * factor, estimate.low * factor, estimate.high * factor)

    def share(told: dict[str, Any]) -> Estimate | None:
        estimate = Estimate.of(told)
        if estimate is not None and y == "missed":
            estimate = estimate.less_than_one()
        return scaled(estimate, 100)

    if y in ("missed", "in_time"):
        late, met = ("Late queries (%)", "Missed deadlines (%)") if y == "missed" else ("Queries in time (%)", "Deadlines met (%)")
        for row in summary.queries:
            if row["objective"] is not None:
                queries.append((row, row["workload_name"], late, share(row["objective"]["in_time"])))
        for row in summary.rows:
            if row["deadlines"] is not None:
                title = f"{row['workload_name']} {row['class']}"
                flows.append((row, title, met, share(row["deadlines"]["application_throughput"])))
        named = {title for _, title, _, _ in (queries or flows)}
        for row in (of for of in summary.best if of["transport"] == BOUND):
            title = row["workload_name"] if row["class"] is None else f"{row['workload_name']} {row['class']}"
            if title in named:
                (queries if queries else flows).append((row, title, "", share(row["in_time"])))
        return queries or flows
    if y == "goodput":
        for row in summary.rows:
            if row["deadlines"] is None and row["class"] in ("flow", "long"):
                estimate = Estimate.of(row["goodput_bytes_per_s"]["mean"])
                flows.append((row, f"{row['workload_name']} {row['class']}", "Mean goodput (Gbps)", scaled(estimate, 8e-9)))
        return flows
    for row in summary.queries:
        label = f"Query time, {_WORDS[y]} (ms)"
        queries.append((row, row["workload_name"], label, scaled(Estimate.of(row["completion_s"][y]), 1e3)))
    for row in summary.rows:
        label = f"Completion time, {_WORDS[y]} (ms)"
        flows.append((row, f"{row['workload_name']} {row['class']}", label, scaled(Estimate.of(row["completion_s"][y]), 1e3)))
    return queries or flows


def _draw(ax: Axes, data: Data, panel: _Panel, log: bool) -> None:
    values = []
    for look in data.looks:
        points = [(at, of) for at, of in panel.curves.get(look.transport, []) if of.value > 0 or not log]
        if points:
            _curve(ax, look, points, log)
            values += [of.value for _, of in points]
    known = data.result.transports
    for name, points in panel.curves.items():
        if name not in known:
            x, y = [at for at, _ in points], [of.value for _, of in points]
            ax.plot(x, y, color=GUIDE_COLOUR, lw=0.9, dashes=(4, 2), label=name, zorder=1.8)
    if log and values:
        ax.set_yscale("log")
        low, high = min(values) / 1.5, max(values) * 1.5
        ax.set_ylim(low, high)
        log_ticks(ax, "y", low, high)
    elif "%" in panel.label:
        # Around zero alone the axis would have negative shares.
        low, high = ax.get_ylim() if any(values) else (-0.04, 1.0)
        ax.set_ylim(max(low, -1.0), min(high, 102.0))


def _curve(ax: Axes, look: Look, points: list[tuple[float, Estimate]], log: bool) -> None:
    x = [at for at, _ in points]
    ax.plot(x, [of.value for _, of in points], marker=look.marker, ms=look.size, **look.line)
    lowest = min((of.value for _, of in points), default=0) / 10 if log else None
    low = [of.low if lowest is None else max(of.low, lowest) for _, of in points]
    ax.fill_between(x, low, [of.high for _, of in points], color=look.colour, alpha=BAND_ALPHA, lw=0)
