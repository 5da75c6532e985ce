"""Figures of queries in time and of their budget."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.compute
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from .._errors import FigureError
from ._axes import late_from, percent, plain, share_axis, time_axis, time_unit
from ._curves import curve, share_above
from ._data import At, Data, Estimate, Source, numbers, where
from ._style import GUIDE_COLOUR, Style, Width, drawing, legend, offset_transform, small, widths

BOUND = "no transport can do better"
"""Name of the bound in the summary."""

NO_BUDGET = "nothing says when a query or a flow is late (keys `workload.objective` and `workload.deadline`)"


def in_time(
    result: Source,
    *,
    transports: str | Iterable[str] | None = None,
    workload: str | None = None,
    at: At | None = None,
    ax: Axes | None = None,
    style: Style = "sans",
    width: Width | None = None,
) -> Figure:
    """Draw the share of queries in time under each transport, with its 95 % interval over runs, and the bound.

    If no query has a budget, the share of flows that met their deadlines is drawn. The numbers are those of
    ``result.summary``.

    :param result: a result, or the path of a run folder.
    :param transports: names of the transports; default: all of the result.
    :param workload: name of the only workload to draw; default: one panel for each that has a budget.
    :param at: point of a sweep, by the values of its axes.
    :param ax: axes to draw into, in their own style; default: a new figure.
    :param style: font family of the text: ``"sans"`` or ``"serif"``.
    :param width: ``"column"`` (3.5 in), ``"page"`` (7 in), or inches; default: a column for one panel, otherwise a page.
    :raises FigureError: nothing in the result has a budget or a deadline.
    """
    data = Data(result, transports, at)
    shares = [share for share in _shares(data) if workload in (None, share.workload)]
    titles = list(dict.fromkeys(share.title for share in shares))
    if not titles:
        raise FigureError(NO_BUDGET if workload is None else f"workload {workload!r}: {NO_BUDGET}")
    high = 0.3 + 0.2 * (len(data.looks) + 1)
    with drawing(ax, len(titles), style=style, width=width, panel_height=high) as (figure, axes):
        for place, title in zip(axes, titles):
            panel = [share for share in shares if share.title == title]
            _dots(place, data, [(share.transport, share.estimate) for share in panel])
            place.set_xlabel(panel[0].words)
            if len(titles) > 1:
                place.set_title(title)
    return figure


@dataclass(frozen=True)
class _Share:
    """Share in time of a workload, or of one class of its flows, under a transport."""

    workload: str
    title: str
    transport: str
    estimate: Estimate
    words: str


def _shares(data: Data) -> list[_Share]:
    # Only the proven bound; the summary also has the values of an ideal scheduler on the receivers' links.
    best = [row for row in data.rows("best") if row["transport"] == BOUND]
    found: list[_Share] = []

    def add(row: dict[str, Any], title: str, fields: dict[str, Any], words: str) -> None:
        estimate = Estimate.of(fields)
        if estimate is not None:
            found.append(_Share(row["workload_name"], title, row["transport"], estimate, words))

    for row in data.rows("queries"):
        if row["objective"] is not None:
            add(row, row["workload_name"], row["objective"]["in_time"], "Queries in time (%)")
    if found:
        named = {share.workload for share in found}
        for row in best:
            if row["class"] is None and row["workload_name"] in named:
                add(row, row["workload_name"], row["in_time"], "Queries in time (%)")
        return found
    for row in data.rows("rows"):
        if row["deadlines"] is not None:
            met = row["deadlines"]["application_throughput"]
            add(row, f"{row['workload_name']} {row['class']}", met, "Deadlines met (%)")
    for row in best:
        if row["class"] is not None:
            add(row, f"{row['workload_name']} {row['class']}", row["in_time"], "Deadlines met (%)")
    return found


def _dots(ax: Axes, data: Data, rows: list[tuple[str, Estimate]]) -> None:
    """Draw a line of the panel per transport, from top to bottom, and the bound below them."""
    look_of = {look.transport: look for look in data.looks}
    transports = [(look_of[name], share) for name, share in rows if name in look_of]
    transports.sort(key=lambda row: data.looks.index(row[0]))
    bounds = [(name, share) for name, share in rows if name not in data.result.transports]
    labels = []
    for line, (look, share) in enumerate(transports):
        lengths, has_interval = share.around()
        ax.errorbar([share.value], [line], xerr=lengths if has_interval else None, label=look.label, **look.dot)
        labels.append(look.label)
    for line, (name, share) in enumerate(bounds, len(transports)):
        ax.plot([share.value], [line], marker="D", ms=3.4, mfc="none", mec=GUIDE_COLOUR, ls="none", label=name)
        labels.append(name)
    shares = [share for _, share in transports] + [share for _, share in bounds]
    for line, share in enumerate(shares):
        ax.annotate(
            _format_share(share),
            (1, line),
            xycoords=("axes fraction", "data"),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontproperties=small(),
            annotation_clip=False,
        )
    low = min(share.low for share in shares)
    left = max(0.0, min(low - 0.06 * (1 - low), 0.95))
    ax.set_xlim(left, 1 + 0.03 * (1 - left))
    ax.set_ylim(len(labels) - 0.5, -0.5)
    ax.set_yticks(range(len(labels)), [label.replace(" can", "\ncan") for label in labels])
    ax.tick_params(axis="y", length=0)
    ax.grid(False, axis="y")
    ax.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
    ax.xaxis.set_major_formatter(FuncFormatter(percent))


def _format_share(share: Estimate) -> str:
    def digits(value: float) -> str:
        text = f"{100 * value:.1f}"
        return plain(round(100 * value, 2)) if text == "100.0" or 0.999 <= value < 1 else text

    interval = f" [{digits(share.low)}, {digits(share.high)}]" if share.high > share.low else ""
    return f"{digits(share.value)} %{interval}"


def budget(
    result: Source,
    *,
    transports: str | Iterable[str] | None = None,
    workload: str | None = None,
    at: At | None = None,
    log: bool | None = None,
    ax: Axes | None = None,
    style: Style = "sans",
    width: Width | None = None,
) -> Figure:
    """Draw the distribution of the queries' times until enough answers arrived, with their budget.

    Start with this figure. Each curve shows the share of measured queries (vertical, in percent, logarithmic) that took longer
    than a time (horizontal, in milliseconds unless very short or long). The curve crosses the budget at the share of late
    queries; the point there has its 95 % interval over runs, from ``result.summary``. With several budgets, times are
    multiples of each query's budget.

    :param workload: name of the only workload to draw; default: one panel for each that has a budget.
    :param log: draw times logarithmically; default: only if the longest is far from the median.
    :raises FigureError: no query has a budget.

    The other arguments are those of :func:`in_time`.
    """
    data = Data(result, transports, at)
    rows = [
        row
        for row in data.rows("queries")
        if row["objective"] is not None and workload in (None, row["workload_name"])
    ]
    columns = ["workload", "enough_ns", "budget_ns", "judged"]
    table = where(data.table("queries", columns), judged=True)
    table = table.filter(pyarrow.compute.is_valid(table["budget_ns"]))
    numbered = {row["workload"]: row["workload_name"] for row in rows}
    shown = [index for index in numbered if where(table, workload=index).num_rows]
    if not shown:
        named = "" if workload is None else f"workload {workload!r}: "
        raise FigureError(f"{named}no query has a budget (key `workload.objective.within`); see in_time()")
    with drawing(ax, len(shown), style=style, width=width) as (figure, axes):
        for place, number in zip(axes, shown):
            shares = {row["transport"]: row["objective"] for row in rows if row["workload"] == number}
            _budget(place, data, where(table, workload=number), shares, log)
            if len(shown) > 1:
                place.set_title(numbered[number], pad=14)
        legend(figure, axes, title="In time")
    return figure


def _budget(ax: Axes, data: Data, table: Any, shares: dict[str, Any], log: bool | None) -> None:
    budgets = np.unique(numbers(table, "budget_ns"))
    alone = budgets.size == 1
    unit, name = time_unit(float(budgets[0])) if alone else (1.0, "")
    drawn = []
    for look in data.looks:
        queries = where(table, transport=look.transport)
        took = numbers(queries, "enough_ns") / (unit if alone else numbers(queries, "budget_ns"))
        if took.size:
            drawn.append((look, took))
    limit = float(budgets[0]) / unit if alone else 1.0
    time_axis(ax, np.concatenate([took for _, took in drawn] + [np.array([limit])]), log=log)
    fewest = min(1 / took.size for _, took in drawn)
    lows = [
        shares[look.transport]["in_time"]["value"] for look, _ in drawn if look.transport in shares
    ]
    late = [1 - low for low in lows if low < 1]
    lowest = min([fewest, *late]) / 1.6
    share_axis(ax, lowest=lowest)
    right = ax.get_xlim()[1]
    lines = widths(len(drawn))
    for index, (look, took) in enumerate(drawn):
        times, above = share_above(took)
        never = float(np.isnan(took).mean())
        above = np.maximum(above, lowest / 10)
        end = max(never, lowest / 10)
        curve(ax, look, times, above, begin=1.0, end=end, right=right if never else 0.0, width=lines[index])
        objective = shares.get(look.transport)
        estimate = Estimate.of(objective["in_time"]) if objective else None
        if estimate is not None:
            ax.lines[-1].set_label(f"{look.label}: {_format_share(estimate)}")
            missed = estimate.complement()
            if missed.value > 0:
                lengths, has_interval = missed.around()
                errors = lengths if has_interval else None
                transform = offset_transform(ax, index, len(drawn))
                ax.errorbar([limit], [missed.value], yerr=errors, transform=transform, zorder=3, **look.dot)
    ax.set_xlim(right=right)
    words = f"budget {plain(limit)} {name}" if alone else "budget"
    late_from(ax, limit, words)
    ax.set_xlabel(f"Time until enough answers ({name})" if alone else "Time until enough answers (budgets)")
    ax.set_ylabel("Queries that take longer (%)")
