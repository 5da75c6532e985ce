"""Figure of a measure along an axis of a sweep."""

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
"""Measure drawn by :func:`sweep` and :func:`heatmap`. ``missed``: late queries or, if no query has a budget, missed deadlines
of flows, in percent; ``in_time``: the complement, in percent; ``p50`` to ``p999``: percentiles of completion times in
milliseconds, of queries if there are any; ``goodput``: mean over the flows without deadlines, in Gbps."""

Measured: TypeAlias = tuple[str, dict[str, str], str, str, Estimate]
"""Transport, settings of the point, title of the panel, label of the axis, and value."""

_MAX_TICKS = 8
"""Number of values up to which each has a tick."""

_LOG_RATIO = 20
"""Ratio of an axis's largest and smallest value from which the axis is logarithmic."""
_PERCENTILES = ("p50", "p90", "p99", "p999")
_WORDS = {"p50": "median", "p90": "90th percentile", "p99": "99th percentile", "p999": "99.9th percentile"}


@dataclass
class _Panel:
    """Panel for one setting of the other axes and one workload."""

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
    """Draw a measure along an axis of a sweep.

    Each transport has a curve with its 95 % intervals over runs as a band; the bound is drawn if known. Each workload and each
    setting of the other axes has a panel. The numbers are those of ``result.summary``.

    :param x: horizontal axis: a key, such as ``"workload.fan_in"``, or a column name; default: the axis with the most values.
    :param y: measure to show: see :data:`duetime.figures.Measure`.
    :param workload: name of the only workload to draw.
    :param facet: an axis with one panel per value, all with the same scale. Any other axis then needs its value in ``at``.
    :param at: only draw points with these values, such as ``{"switch.buffer": "1 MB"}``.
    :param log: draw the measure logarithmically, without zero values.
    :raises FigureError: the result is not a sweep, does not have the axis, or has no values of the measure.

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
            raise FigureError(f"facet={facet!r}: {along.key} is the x axis; choose another axis")
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
    """Label the axis with names if values are not numbers; make it logarithmic if they span a large range."""
    if not along.is_numeric:
        ax.set_xticks(range(len(along.values)), list(along.values))
        return
    values = [float(value) for value in along.values.values()]
    is_log = min(values) > 0 and max(values) >= _LOG_RATIO * min(values)
    if is_log:
        ax.set_xscale("log")
        ax.xaxis.set_minor_formatter(NullFormatter())
    if is_log or len(values) <= _MAX_TICKS:
        ax.set_xticks(values)
    ax.xaxis.set_major_formatter(FuncFormatter(plain))


def axes_of(data: Data) -> list[Axis]:
    """Return the axes of the sweep, or raise an error if there are none."""
    if not data.grid.axes:
        raise FigureError("this result is not a sweep: create one with duetime.sweep() or `duetime sweep`")
    return data.grid.axes


def axis_of(axes: list[Axis], argument: str, name: str) -> Axis:
    """Return the axis that an argument names by its key or column."""
    for axis in axes:
        if name in (axis.key, axis.name):
            return axis
    available = ", ".join(axis.key for axis in axes)
    raise FigureError(f"{argument}={name!r}: no axis of this sweep; there are {available}")


def check_measure(argument: str, measure: str) -> None:
    """Raise an error if the measure is unknown."""
    if measure not in (*_PERCENTILES, "missed", "in_time", "goodput"):
        allowed = "\"missed\", \"in_time\", \"p50\", \"p90\", \"p99\", \"p999\" or \"goodput\""
        raise ValueError(f"{argument}={measure!r}: must be {allowed}")


def only(data: Data, others: list[Axis], *shown: Axis) -> list[Axis]:
    """Return the shown axes among the others, or raise an error if a remaining axis has several values."""
    points = [point for name, point in data.grid.points.items() if data.is_at(name)]
    for axis in others:
        if axis in shown or any(data.grid.leads(leader, axis) for leader in shown):
            continue
        if len({point[axis.key] for point in points}) > 1:
            raise FigureError(f"{axis.key} varies as well: choose one of {', '.join(axis.values)} with at={{{axis.key!r}: …}}")
    return [axis for axis in others if axis in shown]


def measured(data: Data, measure: Measure, workload: str | None, argument: str) -> list[Measured]:
    """Return the summary's values of a measure at the selected points, each with the settings of its point."""
    found: list[Measured] = []
    for row, title, label, estimate in _estimates(data, measure):
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


_Row: TypeAlias = tuple[dict[str, Any], str, str, Estimate | None]


def _estimates(data: Data, y: Measure) -> list[_Row]:
    """Return rows of the summary, each with the title of its panel, the label of the axis, and the value."""
    summary = data.result.summary
    queries: list[_Row] = []
    flows: list[_Row] = []

    def scaled(estimate: Estimate | None, factor: float) -> Estimate | None:
        if estimate is None:
            return None
        return Estimate(estimate.value * factor, estimate.low * factor, estimate.high * factor)

    def share(fields: dict[str, Any]) -> Estimate | None:
        estimate = Estimate.of(fields)
        if estimate is not None and y == "missed":
            estimate = estimate.complement()
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
        for row in (bound for bound in summary.best if bound["transport"] == BOUND):
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
        points = [(at, estimate) for at, estimate in panel.curves.get(look.transport, []) if estimate.value > 0 or not log]
        if points:
            _curve(ax, look, points, log)
            values += [estimate.value for _, estimate in points]
    known = data.result.transports
    for name, points in panel.curves.items():
        if name not in known:
            x, y = [at for at, _ in points], [bound.value for _, bound in points]
            ax.plot(x, y, color=GUIDE_COLOUR, lw=0.9, dashes=(4, 2), label=name, zorder=1.8)
    if log and values:
        ax.set_yscale("log")
        low, high = min(values) / 1.5, max(values) * 1.5
        ax.set_ylim(low, high)
        log_ticks(ax, "y", low, high)
    elif "%" in panel.label:
        # If all values are zero, the default limits would include negative shares.
        low, high = ax.get_ylim() if any(values) else (-0.04, 1.0)
        ax.set_ylim(max(low, -1.0), min(high, 102.0))


def _curve(ax: Axes, look: Look, points: list[tuple[float, Estimate]], log: bool) -> None:
    x = [at for at, _ in points]
    estimates = [estimate for _, estimate in points]
    ax.plot(x, [estimate.value for estimate in estimates], marker=look.marker, ms=look.size, **look.line)
    lowest = min((estimate.value for estimate in estimates), default=0) / 10 if log else None
    low = [estimate.low if lowest is None else max(estimate.low, lowest) for estimate in estimates]
    ax.fill_between(x, low, [estimate.high for estimate in estimates], color=look.colour, alpha=BAND_ALPHA, lw=0)
