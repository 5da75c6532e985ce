"""Figures of completion times, slack and deadlines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow.compute
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from .._errors import FigureError
from ._axes import Numbers, late_until, log_ticks, plain, share_axis, time_axis, time_unit
from ._curves import across, curve, share_up_to
from ._data import At, Data, Estimate, Source, numbers, where
from ._style import GUIDE_COLOUR, Look, Style, Width, drawing, legend, offset_transform, widths

_PERCENTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
_MANY = 1500
"""Number of points from which they are rasterized in vector files."""


@dataclass(frozen=True)
class _Group:
    """Queries of a workload, or flows of one of its classes."""

    title: str
    workload: int
    name: str
    flows: str | None
    """Class of the flows; ``None``: queries."""
    summary: dict[str, dict[str, Any]]
    """Rows of the summary, by transport."""

    def rows_of(self, table: Any) -> Any:
        """Return the group's rows of a table."""
        table = where(table, workload=self.workload)
        return table if self.flows is None else where(table, **{"class": self.flows})


def _groups(data: Data, of: str, workload: str | None, flows: str | None) -> list[_Group]:
    found: dict[tuple[int, str | None], _Group] = {}
    for row in data.rows("queries" if of == "queries" else "rows"):
        flow_class = row.get("class") if of == "flows" else None
        if workload not in (None, row["workload_name"]) or flows not in (None, flow_class):
            continue
        name: str = row["workload_name"]
        title = name if flow_class in (None, name, "flow") else f"{name} {flow_class}"
        group = found.setdefault((row["workload"], flow_class), _Group(title, row["workload"], name, flow_class, {}))
        group.summary[row["transport"]] = row
    return list(found.values())


def completion_times(
    result: Source,
    of: Literal["queries", "flows"] | None = None,
    *,
    transports: str | Iterable[str] | None = None,
    workload: str | None = None,
    flows: str | None = None,
    at: At | None = None,
    log: bool | None = True,
    ax: Axes | None = None,
    style: Style = "sans",
    width: Width | None = None,
) -> Figure:
    """Draw the distributions of completion times.

    Curves show the share of measured queries or flows (vertical, in percent) that completed within a time (horizontal, in
    milliseconds unless very short or long). Queries and flows that never finished count as longer than every time. Points
    are the 50th, 90th and 99th percentile over all runs with their 95 % intervals, from ``result.summary``; percentiles of
    too few samples are omitted.

    :param of: ``"queries"``: from a query's arrival until its root has enough answers; ``"flows"``: from a flow's start until
        its last byte is delivered; default: queries if the result has any.
    :param workload: name of the only workload to draw; default: one panel each.
    :param flows: the only class of flows to draw: ``"query"``, ``"response"`` or ``"flow"``; default: one panel each.
    :param log: draw times logarithmically; ``None``: only if the longest is far from the median.
    :raises FigureError: no such query or flow has finished.

    The other arguments are those of :func:`duetime.figures.in_time`.
    """
    data = Data(result, transports, at)
    if of is None:
        of = "queries" if data.rows("queries") and flows is None else "flows"
    if of not in ("queries", "flows"):
        raise ValueError(f"of={of!r}: must be \"queries\" or \"flows\"")
    groups = _groups(data, of, workload, flows)
    time = "enough_ns" if of == "queries" else "fct_ns"
    columns = ["workload", time, *(["class", "size_bytes"] if of == "flows" else [])]
    table = data.table("queries" if of == "queries" else "flows", columns)
    if of == "flows":
        # Flows without a size never end, so they have no completion time.
        table = table.filter(pyarrow.compute.is_valid(table["size_bytes"]))
    table = _finished(table, time)
    groups = [group for group in groups if group.rows_of(table[0]).num_rows]
    if not groups:
        raise FigureError(f"no selected {of} have finished, so there are no completion times to show")
    with drawing(ax, len(groups), style=style, width=width) as (figure, axes):
        for place, group in zip(axes, groups):
            _times(place, data, group, table[1], time, log)
            if len(groups) > 1:
                place.set_title(group.title)
        axes[0].set_ylabel("Queries (%)" if of == "queries" else "Flows (%)")
        legend(figure, axes)
    return figure


def _finished(table: Any, time: str) -> tuple[Any, Any]:
    """Return the rows with a time, and all rows."""
    return table.filter(pyarrow.compute.is_valid(table[time])), table


def _times(ax: Axes, data: Data, group: _Group, table: Any, time: str, log: bool | None) -> None:
    rows = group.rows_of(table)
    took = {look.transport: numbers(where(rows, transport=look.transport), time) for look in data.looks}
    together = np.concatenate(list(took.values()))
    unit, name = time_unit(float(np.nanmax(together)))
    time_axis(ax, together / unit, log=log)
    share_axis(ax)
    right = ax.get_xlim()[1]
    for look, line in zip(data.looks, widths(len(data.looks))):
        times, shares = share_up_to(took[look.transport] / unit)
        if not times.size:
            continue
        curve(ax, look, times, shares, begin=0.0, end=float(shares[-1]), right=right, width=line)
        percentiles = group.summary.get(look.transport, {}).get("completion_s") or {}
        for percentile, y in _PERCENTILES.items():
            across(ax, look, Estimate.of(percentiles.get(percentile)), y, unit / 1e9)
    ax.set_xlim(right=right)
    ax.set_xlabel(f"Completion time ({name})")


def slack(
    result: Source,
    *,
    transports: str | Iterable[str] | None = None,
    workload: str | None = None,
    flows: str | None = None,
    at: At | None = None,
    ax: Axes | None = None,
    style: Style = "sans",
    width: Width | None = None,
) -> Figure:
    """Draw the distributions of slack, which is deadline minus completion.

    Curves show the share of measured flows with deadlines (vertical, in percent, logarithmic) that have at most a slack
    (horizontal, in milliseconds unless very short or long). Flows left of zero are late; flows that never finished count as
    later than all others. The point at zero is the share of missed deadlines with its 95 % interval over runs, from
    ``result.summary``.

    :param workload: name of the only workload to draw; default: one panel each.
    :param flows: the only class of flows to draw: ``"query"``, ``"response"`` or ``"flow"``; default: one panel each.
    :raises FigureError: no flow has a deadline.

    The other arguments are those of :func:`duetime.figures.in_time`.
    """
    data, groups, table = _with_deadlines(result, transports, at, workload, flows, ["slack_ns"])
    with drawing(ax, len(groups), style=style, width=width) as (figure, axes):
        for place, group in zip(axes, groups):
            _slack(place, data, group, table)
            if len(groups) > 1:
                place.set_title(group.title, pad=14)
        axes[0].set_ylabel("Flows with at most this slack (%)")
        legend(figure, axes)
    return figure


def _with_deadlines(
    result: Source,
    transports: str | Iterable[str] | None,
    at: At | None,
    workload: str | None,
    flows: str | None,
    columns: list[str],
) -> tuple[Data, list[_Group], Any]:
    """Return the measured flows with deadlines, and the groups that have some."""
    data = Data(result, transports, at)
    table = data.table("flows", ["workload", "class", "deadline_ns", *columns])
    table = table.filter(pyarrow.compute.is_valid(table["deadline_ns"]))
    groups = [group for group in _groups(data, "flows", workload, flows) if group.rows_of(table).num_rows]
    if not groups:
        raise FigureError("no selected flow has a deadline (key `workload.deadline`)")
    return data, groups, table


def _slack(ax: Axes, data: Data, group: _Group, table: Any) -> None:
    rows = group.rows_of(table)
    slack_of = {look.transport: numbers(where(rows, transport=look.transport), "slack_ns") for look in data.looks}
    together = np.concatenate(list(slack_of.values()))
    together = together[np.isfinite(together)]
    if not together.size:
        raise FigureError(f"{group.title}: no flow has finished, so there is no slack to show")
    low, high = float(together.min()), float(together.max())
    unit, name = time_unit(max(abs(low), abs(high)))
    low, high = min(low, 0.0) / unit, max(high, 0.0) / unit
    if low < -4 * high and high > 0:
        # A few flows are very late: compress their range so that the others stay readable.
        ax.set_xscale("symlog", linthresh=high, linscale=1.0)
        ax.xaxis.set_major_formatter(FuncFormatter(plain))
        left, right = low * 1.3, high * 1.1
    else:
        margin = 0.04 * (high - low or 1)
        ax.xaxis.set_major_locator(MaxNLocator(6))
        ax.xaxis.set_major_formatter(FuncFormatter(plain))
        left, right = low - margin, high + margin
    ax.set_xlim(left, right)
    fewest = min(1 / slacks.size for slacks in slack_of.values() if slacks.size)
    share_axis(ax, lowest=fewest / 1.6)
    lines = widths(len(data.looks))
    for index, look in enumerate(data.looks):
        slacks = slack_of[look.transport]
        if not slacks.size:
            continue
        never = float(np.isnan(slacks).mean())
        values, shares = share_up_to(slacks / unit)
        # Flows that never finished count as later than all others.
        shares = shares + never
        begin = max(never, fewest / 16)
        curve(ax, look, values, shares, begin=begin, end=1.0, right=right, width=lines[index])
        deadlines = group.summary.get(look.transport, {}).get("deadlines")
        missed = Estimate.of(deadlines["missed"]) if deadlines else None
        if missed is not None and missed.value > 0:
            lengths, has_interval = missed.around()
            place = offset_transform(ax, index, len(data.looks))
            ax.errorbar([0.0], [missed.value], yerr=lengths if has_interval else None, transform=place, zorder=3, **look.dot)
    ax.set_xlim(left, right)
    late_until(ax, 0.0, "deadline")
    ax.set_xlabel(f"Slack ({name})")


def deadlines(
    result: Source,
    *,
    transports: str | Iterable[str] | None = None,
    workload: str | None = None,
    flows: str | None = None,
    at: At | None = None,
    against: Literal["deadline", "size", "start"] | None = None,
    ax: Axes | None = None,
    style: Style = "sans",
    width: Width | None = None,
) -> Figure:
    """Draw a point per measured flow with a deadline: its completion time over its deadline.

    Flows above the line are late; flows that never finished are at the upper edge. Each transport has a panel with its number
    of late flows in the title.

    :param workload: name of the only workload to draw.
    :param flows: the only class of flows to draw: ``"query"``, ``"response"`` or ``"flow"``.
    :param against: horizontal axis: the deadline (milliseconds, logarithmic), the flow's size (KB) or its start (milliseconds);
        default: the deadline if there are several, otherwise the size if there are several, otherwise the start.
    :param ax: axes to draw all transports into, in their own style; default: a new figure.
    :raises FigureError: no flow has a deadline.

    The other arguments are those of :func:`duetime.figures.in_time`.
    """
    columns = ["size_bytes", "start_ns", "fct_ns"]
    data, groups, table = _with_deadlines(result, transports, at, workload, flows, columns)
    parts = [group.rows_of(table) for group in groups]
    rows = pyarrow.concat_tables(parts)
    if against is None:
        several = {name: np.unique(numbers(rows, column)).size > 1 for name, column in _AGAINST.items()}
        against = "deadline" if several["deadline"] else "size" if several["size"] else "start"
    if against not in _AGAINST:
        raise ValueError(f"against={against!r}: must be \"deadline\", \"size\" or \"start\"")
    plane = _Plane.of(rows, against)
    shown = [look for look in data.looks if where(rows, transport=look.transport).num_rows]
    panels = len(shown) if ax is None else 1
    with drawing(ax, panels, style=style, width=width, share=True) as (figure, axes):
        places = axes if ax is None else [ax] * len(shown)
        for place, look in zip(places, shown):
            plane.scatter(place, look, where(rows, transport=look.transport))
            if ax is None:
                summary = [group.summary[look.transport] for group in groups if look.transport in group.summary]
                place.set_title(look.label + _late(summary))
        for place in dict.fromkeys(places):
            plane.finish(place)
        places[0].set_ylabel(f"Completion time ({plane.name})")
        if ax is not None:
            ax.legend()
    return figure


_AGAINST = {"deadline": "deadline_ns", "size": "size_bytes", "start": "start_ns"}


@dataclass(frozen=True)
class _Plane:
    """Axes of completion time over deadline, size or start."""

    against: str
    column: str
    unit: float
    """Unit of the completion times, in nanoseconds."""
    name: str
    """Name of that unit."""
    x_unit: float
    words: str
    log_x: bool
    x_ends: tuple[float, float]
    y_ends: tuple[float, float]
    due: Numbers
    """All deadlines, in ``unit``."""

    @classmethod
    def of(cls, rows: Any, against: str) -> _Plane:
        """Choose units and limits that fit the flows of all transports."""
        column = _AGAINST[against]
        x, took, due = (numbers(rows, name) for name in (column, "fct_ns", "deadline_ns"))
        unit, name = time_unit(float(np.nanmax(np.concatenate([took, due]))))
        start = time_unit(float(np.nanmax(x)))
        x_unit, words = {
            "deadline": (unit, f"Deadline ({name})"),
            "size": (1e3, "Size (KB)"),
            "start": (start[0], f"Start ({start[1]})"),
        }[against]
        log_x = against == "deadline" or (against == "size" and _wide(x))
        y_ends = _ends(np.concatenate([took, due]) / unit, True)
        return cls(against, column, unit, name, x_unit, words, log_x, _ends(x / x_unit, log_x), y_ends, due / unit)

    def scatter(self, ax: Axes, look: Look, rows: Any) -> None:
        """Draw a point per flow, and a cross at the upper edge for each flow that never finished."""
        x = numbers(rows, self.column) / self.x_unit
        took = numbers(rows, "fct_ns") / self.unit
        never = np.isnan(took)
        of_look: dict[str, Any] = {"c": look.colour, "clip_on": False}
        ax.scatter(
            x[~never],
            took[~never],
            s=6 if x.size < 300 else 3,
            marker=look.marker,
            alpha=0.55 if x.size < 3000 else 0.25,
            linewidths=0,
            rasterized=x.size > _MANY,
            label=look.label,
            **of_look,
        )
        if never.any():
            edge = np.full(int(never.sum()), self.y_ends[1])
            ax.scatter(x[never], edge, s=10, marker="x", linewidths=0.8, **of_look)

    def finish(self, ax: Axes) -> None:
        """Set limits and ticks, and draw the line above which flows are late."""
        ax.set_xlim(*self.x_ends)
        ax.set_ylim(*self.y_ends)
        if self.log_x:
            ax.set_xscale("log")
            log_ticks(ax, "x", *self.x_ends)
        else:
            ax.xaxis.set_major_formatter(FuncFormatter(plain))
        ax.set_yscale("log")
        log_ticks(ax, "y", *self.y_ends)
        ax.set_xlabel(self.words)
        look: dict[str, Any] = {"color": GUIDE_COLOUR, "lw": 0.8, "dashes": (4, 2), "zorder": 1.5}
        if self.against == "deadline":
            ax.plot(self.x_ends, self.x_ends, **look)
            return
        for value in np.unique(self.due)[:4]:
            ax.axhline(float(value), **look)


def _late(summary: list[dict[str, Any]]) -> str:
    """Return the number of late flows in the summary, for a title."""
    counts = [row["deadlines"] for row in summary if row["deadlines"]]
    flows = sum(count["flows"] for count in counts)
    return f": {flows - sum(count['met'] for count in counts)} of {flows} late" if flows else ""


def _wide(values: Numbers) -> bool:
    found = values[np.isfinite(values) & (values > 0)]
    return bool(found.size) and float(found.max()) > 20 * float(found.min())


def _ends(values: Numbers, log: bool) -> tuple[float, float]:
    found = values[np.isfinite(values) & ((values > 0) | (not log))]
    if not found.size:
        return (0.1, 1.0)
    low, high = float(found.min()), float(found.max())
    if log:
        return low / 1.25, high * 1.35
    margin = 0.04 * (high - low) or 1.0
    return low - margin, high + margin
