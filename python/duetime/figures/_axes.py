"""Units, ticks and guides of axes."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from ._style import GUIDE_COLOUR, LATE_COLOUR, small

Numbers = npt.NDArray[np.float64]
"""Numbers of a column; NaN if missing."""


def time_unit(most_ns: float) -> tuple[float, str]:
    """Return a readable unit for times up to ``most_ns``: its length in nanoseconds and its name."""
    if most_ns < 1e5:
        return 1e3, "µs"
    return (1e6, "ms") if most_ns < 1e10 else (1e9, "s")


def percent(value: float, _: object = None) -> str:
    """Format a share in percent, for a tick."""
    return plain(round(100 * value, 10))


def plain(value: float, _: object = None) -> str:
    """Format a number, with an exponent only if it is very large or small."""
    if value != 0 and not 1e-4 <= abs(value) < 1e6:
        return f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e")
    return f"{value:.10g}".replace("-", "−")


def share_axis(ax: Axes, *, lowest: float | None = None) -> None:
    """Set the vertical axis to shares: from 0 to 100 % or, with ``lowest``, logarithmically from there to 100 %."""
    axis = ax.yaxis
    if lowest is None:
        ax.set_ylim(0, 1.02)
        axis.set_major_locator(MaxNLocator(5))
    else:
        ax.set_yscale("log")
        ax.set_ylim(lowest, 1.15)
        axis.set_major_locator(LogLocator(10, numticks=12))
        axis.set_minor_formatter(NullFormatter())
    axis.set_major_formatter(FuncFormatter(percent))


def time_axis(ax: Axes, values: Numbers, *, log: bool | None = None) -> None:
    """Set the horizontal axis to positive times.

    The axis is logarithmic if ``log`` is true, or by default if the longest time is more than six times the median.
    """
    found = values[np.isfinite(values) & (values > 0)]
    if not found.size:
        return
    low, high = float(found.min()), float(found.max())
    if log is None:
        log = high > 6 * float(np.median(found))
    if log:
        ax.set_xscale("log")
        ax.set_xlim(low / 1.15, high * 1.15)
        log_ticks(ax, "x", low / 1.15, high * 1.15)
    else:
        ax.set_xlim(0, high * 1.04)
        ax.xaxis.set_major_formatter(FuncFormatter(plain))


def log_ticks(ax: Axes, which: str, low: float, high: float) -> None:
    """Set ticks of a logarithmic axis, labelled without exponents; over a short range at 1, 2 and 5."""
    axis = ax.xaxis if which == "x" else ax.yaxis
    narrow = math.log10(high / low) < 2.2
    axis.set_major_locator(LogLocator(10, subs=(1.0, 2.0, 5.0) if narrow else (1.0,), numticks=12))
    axis.set_major_formatter(FuncFormatter(plain))
    axis.set_minor_formatter(NullFormatter())


def late_from(ax: Axes, at: float, words: str) -> None:
    """Draw a guide at the end of a budget and shade the late side, to its right."""
    low, high = ax.get_xlim()
    ax.axvspan(at, max(high, at), color=LATE_COLOUR, lw=0, zorder=0)
    _guide(ax, at, words)
    ax.set_xlim(low, high)


def late_until(ax: Axes, at: float, words: str) -> None:
    """Draw a guide at slack zero and shade the late side, to its left."""
    low, high = ax.get_xlim()
    ax.axvspan(min(low, at), at, color=LATE_COLOUR, lw=0, zorder=0)
    _guide(ax, at, words)
    ax.set_xlim(low, high)


def _guide(ax: Axes, at: float, words: str) -> None:
    # Near an edge, align the text with the guide so that it stays inside the axes.
    place = float(ax.transAxes.inverted().transform(ax.transData.transform((at, 1)))[0])
    side: Literal["left", "center", "right"] = "right" if place > 0.75 else "left" if place < 0.25 else "center"
    ax.axvline(at, color=GUIDE_COLOUR, lw=0.8, dashes=(4, 2), zorder=1.5)
    ax.annotate(
        words,
        (at, 1),
        xycoords=("data", "axes fraction"),
        xytext=(0, 2),
        textcoords="offset points",
        ha=side,
        va="bottom",
        color=GUIDE_COLOUR,
        fontproperties=small(),
        annotation_clip=False,
    )
