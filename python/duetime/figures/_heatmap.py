"""Heat map of a measure over two axes of a sweep."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from .._errors import FigureError
from .._grid import Axis
from ._axes import Numbers, plain
from ._data import At, Data, Source
from ._style import TEXT_COLOUR, Style, Width, drawing, looks, small
from ._sweep import Measure, axes_of, axis_of, check_measure, measured, only

_MAP = "Blues"
_DARK = 0.55
"""Position on the colour scale, 0 to 1, above which text is white."""


def heatmap(
    result: Source,
    x: str | None = None,
    y: str | None = None,
    metric: Measure = "missed",
    *,
    transport: str | Iterable[str] | None = None,
    workload: str | None = None,
    at: At | None = None,
    ax: Axes | None = None,
    style: Style = "sans",
    width: Width | None = None,
) -> Figure:
    """Draw a heat map of a measure over two axes of a sweep.

    Each transport and workload has a panel, and each point a cell with its value from ``result.summary``. All panels share one
    colour scale.

    :param x: horizontal axis: a key, such as ``"workload.fan_in"``, or a column name; default: the last axis of the sweep.
    :param y: vertical axis; default: the axis before it.
    :param metric: measure to show: see :data:`duetime.figures.Measure`.
    :param transport: names of the transports; default: all of the result.
    :param workload: name of the only workload to draw.
    :param at: values of the other axes, such as ``{"workload.fan_in": 40}``.
    :raises FigureError: the result does not have both axes, other axes have several values, or nothing was measured.

    The other arguments are those of :func:`duetime.figures.in_time`.
    """
    data = Data(result, transport, at)
    across, up = _pair(data, x, y)
    check_measure("metric", metric)
    only(data, [axis for axis in data.grid.axes if axis not in (across, up)], across, up)
    selected = [look.transport for look in data.looks]
    cells: dict[tuple[str, str], Numbers] = {}
    label = ""
    for name, settings, title, words, estimate in measured(data, metric, workload, "metric"):
        if name in selected:
            label = words
            cell = cells.setdefault((title, name), np.full((len(up.values), len(across.values)), np.nan))
            cell[_place(up, settings), _place(across, settings)] = estimate.value
    if not cells:
        raise FigureError(f"nothing was measured that metric={metric!r} shows")
    titles = {title for title, _ in cells}
    ordered = dict.fromkeys(title for title, _ in cells)
    panels = [(title, name) for title in ordered for name in selected if (title, name) in cells]
    labels = {look.transport: look.label for look in looks(selected)}
    scale = _scale(list(cells.values()), label)
    with drawing(ax, len(panels), style=style, width=width, share=True) as (figure, drawn):
        mesh: Any = None
        for place, (title, name) in zip(drawn, panels):
            mesh = _draw(place, cells[title, name], scale)
            place.set_title(labels[name] if len(titles) == 1 else f"{title}, {labels[name]}")
            place.set_xticks(range(len(across.values)), _ticks(across))
            place.set_yticks(range(len(up.values)), _ticks(up))
            place.set_xlabel(across.label)
        drawn[0].set_ylabel(up.label)
        bar = figure.colorbar(mesh, ax=drawn, label=label, aspect=30, pad=0.02)
        bar.outline.set_visible(False)
    return figure


def _pair(data: Data, x: str | None, y: str | None) -> tuple[Axis, Axis]:
    axes = axes_of(data)
    chosen = [None if name is None else axis_of(axes, argument, name) for argument, name in (("x", x), ("y", y))]
    free = [axis for axis in data.grid.independent if axis not in chosen]
    across = chosen[0] or (free.pop() if free else None)
    up = chosen[1] or (free.pop() if free else None)
    if across is None or up is None or across == up:
        raise FigureError(f"a heat map needs two axes of the sweep; there are {', '.join(axis.key for axis in axes)}")
    if data.grid.leads(across, up):
        raise FigureError(f"{across.key} and {up.key} change together: there is one point for each value of both")
    return across, up


def _place(axis: Axis, settings: dict[str, str]) -> int:
    return list(axis.values).index(settings[axis.key])


def _ticks(axis: Axis) -> list[str]:
    """Return the values as tick labels, in the unit of the axis label."""
    if not axis.is_numeric:
        return list(axis.values)
    return [plain(float(value)) for value in axis.values.values()]


def _scale(cells: list[Numbers], label: str) -> Normalize:
    values = np.concatenate([cell[np.isfinite(cell)] for cell in cells])
    low, high = float(values.min()), float(values.max())
    if "%" in label and high - low < 1:
        # Show at least one percentage point, so that the colours do not amplify noise.
        low, high = max(0.0, min(low, 99.0)), min(100.0, max(high, low + 1))
    return Normalize(low, high if high > low else low + 1)


def _draw(ax: Axes, cell: Numbers, scale: Normalize) -> Any:
    ax.grid(False)
    rows, columns = cell.shape
    mesh = ax.pcolormesh(
        np.arange(columns + 1) - 0.5, np.arange(rows + 1) - 0.5, np.ma.masked_invalid(cell), cmap=colormaps[_MAP], norm=scale
    )
    for row in range(rows):
        for column in range(columns):
            value = float(cell[row, column])
            known = np.isfinite(value)
            colour = "white" if known and float(scale(value)) > _DARK else TEXT_COLOUR
            text = plain(float(f"{value:.3g}")) if known else "–"
            ax.text(column, row, text, ha="center", va="center", color=colour, fontproperties=small())
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    return mesh
