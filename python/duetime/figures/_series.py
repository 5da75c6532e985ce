"""Figures of queues and throughput over time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from .._errors import FigureError
from .._types import names
from ._axes import Numbers, plain, time_unit
from ._data import At, Data, Source, numbers, where
from ._style import Style, Width, drawing, legend, widths

_MAX_LINKS = 12


def queues(
    result: Source,
    links: str | Iterable[str] | None = None,
    *,
    run: int = 0,
    transports: str | Iterable[str] | None = None,
    at: At | None = None,
    ax: Axes | None = None,
    style: Style = "sans",
    width: Width | None = None,
) -> Figure:
    """Draw the queue of sampled links (in KB, including the packet in service) over time, in one run.

    Each link has a panel. Time is in milliseconds since the start of the run, unless very short or long.

    :param links: names of the links, such as ``"switch->host0"``; default: the link with the longest queue.
    :param run: run number, from 0.
    :raises FigureError: no link was sampled (key ``record.every``), or a selected one was not.

    The other arguments are those of :func:`duetime.figures.in_time`.
    """
    return _series("queues", result, links, run, transports, at, ax, style, width)


def throughput(
    result: Source,
    links: str | Iterable[str] | None = None,
    *,
    run: int = 0,
    transports: str | Iterable[str] | None = None,
    at: At | None = None,
    ax: Axes | None = None,
    style: Style = "sans",
    width: Width | None = None,
) -> Figure:
    """Draw the throughput of sampled links (in Gbps on the wire, averaged between samples) over time, in one run.

    Each link has a panel. Time is in milliseconds since the start of the run, unless very short or long.

    :param links: names of the links, such as ``"switch->host0"``; default: the link that carried the most bytes.
    :param run: run number, from 0.
    :raises FigureError: no link was sampled (key ``record.every``), or a selected one was not.

    The other arguments are those of :func:`duetime.figures.in_time`.
    """
    return _series("throughput", result, links, run, transports, at, ax, style, width)


def _series(
    name: Literal["queues", "throughput"],
    result: Source,
    links: str | Iterable[str] | None,
    run: int,
    transports: str | Iterable[str] | None,
    at: At | None,
    ax: Axes | None,
    style: Style,
    width: Width | None,
) -> Figure:
    data = Data(result, transports, at)
    value = "queue_bytes" if name == "queues" else "sent_bytes"
    table = data.table(name, ["run", "link", "at_ns", value])
    if not table.num_rows:
        raise FigureError(
            f"the table `{name}` is empty: no link was sampled"
            "\n   help: set record.every, such as \"100 us\"; without trees or bursts record.links as well"
        )
    table = where(table, run=run)
    if not table.num_rows:
        raise FigureError(f"run={run}: must be 0 to {data.result.manifest['seeds'] - 1}")
    chosen = names(links) or [_busiest(table, value)]
    sampled = set(table["link"].unique().to_pylist())
    for link in chosen:
        if link not in sampled:
            some = sorted(sampled)[:8]
            more = " and others" if len(sampled) > len(some) else ""
            raise FigureError(f"links: `{link}` was not sampled in run {run}; there are {', '.join(some)}{more}")
    if len(chosen) > _MAX_LINKS:
        raise FigureError(f"links: {len(chosen)} are too many for one figure, at most {_MAX_LINKS}")
    with drawing(ax, len(chosen), style=style, width=width, panel_height=1.9) as (figure, axes):
        for place, link in zip(axes, chosen):
            _lines(place, data, where(table, link=link), value)
            place.set_title(link)
        axes[0].set_ylabel("Queue (KB)" if name == "queues" else "Throughput (Gbps)")
        legend(figure, axes)
    return figure


def _busiest(table: Any, value: str) -> str:
    how = "max" if value == "queue_bytes" else "sum"
    by_link = table.group_by("link").aggregate([(value, how)]).sort_by([(f"{value}_{how}", "descending"), ("link", "ascending")])
    link: str = by_link["link"][0].as_py()
    return link


def _lines(ax: Axes, data: Data, table: Any, value: str) -> None:
    unit, name = time_unit(float(np.nanmax(numbers(table, "at_ns"))))
    for look, line in zip(data.looks, widths(len(data.looks))):
        samples = where(table, transport=look.transport).sort_by("at_ns")
        at = numbers(samples, "at_ns")
        if not at.size:
            continue
        values = numbers(samples, value)
        x, y = (at, values / 1e3) if value == "queue_bytes" else _rates(at, values)
        ax.plot(x / unit, y, **{**look.line, "lw": 0.8 * line})
    ax.set_ylim(bottom=0)
    ax.margins(x=0.01)
    ax.xaxis.set_major_formatter(FuncFormatter(plain))
    ax.set_xlabel(f"Time ({name})")


def _rates(at: Numbers, sent: Numbers) -> tuple[Numbers, Numbers]:
    """Convert bytes since the last sample to Gbps, as steps over each interval."""
    edges = np.concatenate([[0.0], at])
    gbps = 8 * sent / np.diff(edges)
    return np.repeat(edges, 2)[1:-1], np.repeat(gbps, 2)
