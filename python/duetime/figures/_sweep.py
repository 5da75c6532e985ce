"""What changes along an axis of a sweep."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from .. import _native
from .._errors import FigureError
from ._axes import log_ticks, plain
from ._data import Data, Estimate, Source, axes_of, bare
from ._queries import BOUND
from ._style import BAND_ALPHA, GUIDE_COLOUR, Look, Style, Width, drawing, legend

Measure: TypeAlias = Literal["missed", "in_time", "p50", "p90", "p99", "p999", "goodput"]
"""What :func:`sweep` shows. ``missed``: late queries or, where no query has a budget, missed deadlines of flows, in percent;
``in_time``: the others, in percent; ``p50`` to ``p999``: percentiles of completion times, of queries where there are any,
in milliseconds; ``goodput``: mean over the flows without deadlines, in Gbps."""

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
    log: bool = False,
    ax: Axes | None = None,
    style: Style = "sans",
    width: Width | None = None,
) -> Figure:
    """What a measure does along an axis of a sweep: a curve per transport with its 95 % intervals over runs as a band, and
    what no transport can beat where that is known. One panel per workload, and per setting of the other axes. The numbers
    are those of ``result.summary``.

    :param x: the key along which curves run, such as ``"workload.fan_in"``; default: the axis with the most values.
    :param y: what to show: see :data:`duetime.figures.Measure`.
    :param workload: only this workload, by name.
    :param log: the measure by logarithm; what is zero is left out there.
    :raises FigureError: the result is no sweep, has no such axis, or nothing was measured that ``y`` shows.

    The other arguments are those of :func:`duetime.figures.in_time`.
    """
    data = Data(result, transports)
    axes = axes_of(data.result)
    if not axes:
        raise FigureError("this result is no sweep: make one with duetime.sweep() or `duetime sweep`")
    if x is None:
        x = max(axes, key=lambda key: len(axes[key]))
    if x not in axes:
        raise FigureError(f"x={x!r}: no axis of this sweep; there are {', '.join(axes)}")
    if y not in (*_PERCENTILES, "missed", "in_time", "goodput"):
        raise ValueError(f"y={y!r}: \"missed\", \"in_time\", \"p50\", \"p90\", \"p99\", \"p999\" or \"goodput\"")
    found = _native.numbers(axes[x])
    places = dict(zip(axes[x], found[0] if found else map(float, range(len(axes[x])))))
    panels = _panels(data, x, y, places, workload)
    if not panels:
        named = "" if workload is None else f"workload {workload!r}: "
        raise FigureError(f"{named}nothing was measured that y={y!r} shows")
    with drawing(ax, len(panels), style=style, width=width) as (figure, drawn):
        for place, panel in zip(drawn, panels):
            _draw(place, data, panel, log)
            if len(panels) > 1:
                place.set_title(panel.title)
            _axis(place, x, found[1] if found else "", None if found else axes[x])
        drawn[0].set_ylabel(panels[0].label)
        legend(figure, drawn)
    return figure


def _panels(data: Data, x: str, y: Measure, places: dict[str, float], workload: str | None) -> list[_Panel]:
    points = {
        ",".join(f"{key}={value}" for key, value in point["values"]): {
            key: bare(value) for key, value in point["values"]
        }
        for point in data.result.manifest["points"]
    }
    panels: dict[str, _Panel] = {}
    for row, title, label, estimate in _told(data, y):
        settings = points.get(row["point"])
        if settings is None or estimate is None or workload not in (None, row["workload_name"]):
            continue
        others = [f"{key} = {value}" for key, value in settings.items() if key != x]
        whole = ", ".join([title, *others])
        panel = panels.setdefault(whole, _Panel(whole, label))
        panel.curves.setdefault(row["transport"], []).append((places[settings[x]], estimate))
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
        low, high = ax.get_ylim()
        ax.set_ylim(max(low, -1.0), min(high, 102.0))


def _curve(ax: Axes, look: Look, points: list[tuple[float, Estimate]], log: bool) -> None:
    x = [at for at, _ in points]
    ax.plot(x, [of.value for _, of in points], marker=look.marker, ms=look.size, **look.line)
    lowest = min((of.value for _, of in points), default=0) / 10 if log else None
    low = [of.low if lowest is None else max(of.low, lowest) for _, of in points]
    ax.fill_between(x, low, [of.high for _, of in points], color=look.colour, alpha=BAND_ALPHA, lw=0)


def _axis(ax: Axes, key: str, unit: str, values: list[str] | None) -> None:
    """Ticks and label of the axis of the key: names where its values are not numbers."""
    words = key.rsplit(".", 1)[-1].replace("_", " ")
    ax.set_xlabel(f"{words[:1].upper()}{words[1:]}" + (f" ({unit})" if unit else ""))
    if values is not None:
        ax.set_xticks(range(len(values)), values)
    else:
        ax.xaxis.set_major_formatter(FuncFormatter(plain))
