"""Completion times, slack and deadlines."""

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
from ._style import GUIDE_COLOUR, Look, Style, Width, beside, drawing, legend, widths

_PERCENTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
_MANY = 1500
"""More points than that become pixels in a vector file."""


@dataclass(frozen=True)
class _Group:
    """Queries of a workload, or its flows of one class."""

    title: str
    workload: int
    name: str
    flows: str | None
    """The class; ``None``: queries."""
    told: dict[str, dict[str, Any]]
    """Rows of the summary by transport."""

    def rows_of(self, table: Any) -> Any:
        """Its rows of a table."""
        table = where(table, workload=self.workload)
        return table if self.flows is None else where(table, **{"class": self.flows})


def _groups(data: Data, of: str, workload: str | None, flows: str | None) -> list[_Group]:
    found: dict[tuple[int, str | None], _Group] = {}
    for row in data.rows("queries" if of == "queries" else "rows"):
        own = row.get("class") if of == "flows" else None
        if workload not in (None, row["workload_name"]) or flows not in (None, own):
            continue
        name: str = row["workload_name"]
        title = name if own in (None, name, "flow") else f"{name} {own}"
        made = found.setdefault((row["workload"], own), _Group(title, row["workload"], name, own, {}))
        made.told[row["transport"]] = row
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
    """Distributions of completion times: the share of the measured queries or flows (vertical, in percent) that took at
    most a time (horizontal; milliseconds, unless they are very short or long). What never ended counts as longer than
    every time. Points are the 50th, 90th and 99th percentile with their 95 % intervals over runs, from ``result.summary``:
    percentiles of all runs together, so on the curve. A percentile of too few of them is absent.

    :param of: ``"queries"``: from a query's arrival until enough answers were at its root; ``"flows"``: from a flow's
        start until its last byte was delivered; default: queries where there are any.
    :param workload: only this workload, by name; default: a panel for each.
    :param flows: only flows of this class: ``"query"``, ``"response"``, ``"flow"``; default: a panel for each.
    :param log: times by logarithm; ``None``: if the longest is far from the usual.
    :raises FigureError: there are none.

    The other arguments are those of :func:`duetime.figures.in_time`.
    """
    data = Data(result, transports, at)
    if of is None:
        of = "queries" if data.rows("queries") and flows is None else "flows"
    if of not in ("queries", "flows"):
        raise ValueError(f"of={of!r}: \"queries\" or \"flows\"")
    groups = _groups(data, of, workload, flows)
    time = "enough_ns" if of == "queries" else "fct_ns"
    columns = ["workload", time, *(["class", "size_bytes"] if of == "flows" else [])]
    table = data.table("queries" if of == "queries" else "flows", columns)
    if of == "flows":
        # Flows without an end have no completion time.
        table = table.filter(pyarrow.compute.is_valid(table["size_bytes"]))
    table = _finished(table, time)
    groups = [group for group in groups if group.rows_of(table[0]).num_rows]
    if not groups:
        raise FigureError(f"no {of} of this choice have ended: there is no completion time to show")
    with drawing(ax, len(groups), style=style, width=width) as (figure, axes):
        for place, group in zip(axes, groups):
            _times(place, data, group, table[1], time, log)
            if len(groups) > 1:
                place.set_title(group.title)
        axes[0].set_ylabel("Queries (%)" if of == "queries" else "Flows (%)")
        legend(figure, axes)
    return figure


def _finished(table: Any, time: str) -> tuple[Any, Any]:
    """Rows with a time, and all rows."""
    return table.filter(pyarrow.compute.is_valid(table[time])), table


def _times(ax: Axes, data: Data, group: _Group, table: Any, time: str, log: bool | None) -> None:
    own = group.rows_of(table)
    took = {look.transport: numbers(where(own, transport=look.transport), time) for look in data.looks}
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
        told = group.told.get(look.transport, {}).get("completion_s") or {}
        for percentile, y in _PERCENTILES.items():
            across(ax, look, Estimate.of(told.get(percentile)), y, unit / 1e9)
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
    """Distributions of slack, which is deadline less finish: the share of the measured flows with deadlines (vertical, in
    percent, by logarithm) that has at most a slack (horizontal; milliseconds, unless it is very short or long). What is
    left of zero is late; what never ended is later than all. The point at zero is the share of missed deadlines with its
    95 % interval over runs, from ``result.summary``.

    :param workload: only this workload, by name; default: a panel for each.
    :param flows: only flows of this class: ``"query"``, ``"response"``, ``"flow"``; default: a panel for each.
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
    """The measured flows with deadlines, and the groups that have some."""
    data = Data(result, transports, at)
    table = data.table("flows", ["workload", "class", "deadline_ns", *columns])
    table = table.filter(pyarrow.compute.is_valid(table["deadline_ns"]))
    groups = [of for of in _groups(data, "flows", workload, flows) if of.rows_of(table).num_rows]
    if not groups:
        raise FigureError("no measured flow of this choice has a deadline (key `workload.deadline`)")
    return data, groups, table


def _slack(ax: Axes, data: Data, group: _Group, table: Any) -> None:
    own = group.rows_of(table)
    has = {look.transport: numbers(where(own, transport=look.transport), "slack_ns") for look in data.looks}
    together = np.concatenate(list(has.values()))
    together = together[np.isfinite(together)]
    if not together.size:
        raise FigureError(f"{group.title}: no flow ended, so there is no slack to show")
    low, high = float(together.min()), float(together.max())
    unit, name = time_unit(max(abs(low), abs(high)))
    low, high = min(low, 0.0) / unit, max(high, 0.0) / unit
    if low < -4 * high and high > 0:
        # Few are very late: what is usual keeps its place.
        ax.set_xscale("symlog", linthresh=high, linscale=1.0)
        ax.xaxis.set_major_formatter(FuncFormatter(plain))
        left, right = low * 1.3, high * 1.1
    else:
        margin = 0.04 * (high - low or 1)
        ax.xaxis.set_major_locator(MaxNLocator(6))
        ax.xaxis.set_major_formatter(FuncFormatter(plain))
        left, right = low - margin, high + margin
    ax.set_xlim(left, right)
    fewest = min(1 / of.size for of in has.values() if of.size)
    share_axis(ax, lowest=fewest / 1.6)
    lines = widths(len(data.looks))
    for index, look in enumerate(data.looks):
        slacks = has[look.transport]
        if not slacks.size:
            continue
        never = float(np.isnan(slacks).mean())
        values, shares = share_up_to(slacks / unit)
        # What never ended is left of all.
        shares = shares + never
        begin = max(never, fewest / 16)
        curve(ax, look, values, shares, begin=begin, end=1.0, right=right, width=lines[index])
        deadlines = group.told.get(look.transport, {}).get("deadlines")
        missed = Estimate.of(deadlines["missed"]) if deadlines else None
        if missed is not None and missed.value > 0:
            lengths, has_interval = missed.around()
            place = beside(ax, index, len(data.looks))
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
    """Each measured flow with a deadline: the time it took, over the time it had. What is above the line is late; what
    never ended is at the upper edge. One panel per transport, with the count of those that are late above it.

    :param workload: only this workload, by name.
    :param flows: only flows of this class: ``"query"``, ``"response"``, ``"flow"``.
    :param against: horizontally: the deadline (milliseconds, by logarithm), the flow's size (KB) or its start
        (milliseconds); default: the deadline if there are several, otherwise the size if there are several.
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
        raise ValueError(f"against={against!r}: \"deadline\", \"size\" or \"start\"")
    plane = _Plane.of(rows, against)
    shown = [look for look in data.looks if where(rows, transport=look.transport).num_rows]
    panels = len(shown) if ax is None else 1
    with drawing(ax, panels, style=style, width=width, share=True) as (figure, axes):
        places = axes if ax is None else [ax] * len(shown)
        for place, look in zip(places, shown):
            plane.scatter(place, look, where(rows, transport=look.transport))
            if ax is None:
                told = [group.told[look.transport] for group in groups if look.transport in group.told]
                place.set_title(look.label + _late(told))
        for place in dict.fromkeys(places):
            plane.finish(place)
        places[0].set_ylabel(f"Completion time ({plane.name})")
        if ax is not None:
            ax.legend()
    return figure


_AGAINST = {"deadline": "deadline_ns", "size": "size_bytes", "start": "start_ns"}


@dataclass(frozen=True)
class _Plane:
    """Completion times over something else."""

    against: str
    column: str
    unit: float
    """Nanoseconds per unit of the completion times."""
    name: str
    """That unit."""
    x_unit: float
    words: str
    log_x: bool
    x_ends: tuple[float, float]
    y_ends: tuple[float, float]
    due: Numbers
    """All deadlines, in that unit."""

    @classmethod
    def of(cls, rows: Any, against: str) -> _Plane:
        """For the flows of all transports together."""
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
        """A point per flow; what never ended is a cross at the upper edge."""
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
        """Limits, ticks, and the line above which flows are late."""
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


def _late(told: list[dict[str, Any]]) -> str:
    """How many are late, by the summary."""
    counts = [row["deadlines"] for row in told if row["deadlines"]]
    flows = sum(of["flows"] for of in counts)
    return f": {flows - sum(of['met'] for of in counts)} of {flows} late" if flows else ""


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
