"""Curves of distributions."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from ._axes import Numbers
from ._data import Estimate
from ._style import Look

_MOST_STEPS = 4000
"""Maximum number of steps of a curve; more would only make the file larger."""


def share_up_to(values: Numbers) -> tuple[Numbers, Numbers]:
    """Return the sorted values and the share of values that are at most each. NaN counts as larger than every value."""
    ordered = np.sort(values[np.isfinite(values)])
    shares = np.arange(1, ordered.size + 1) / max(values.size, 1)
    return _thinned(ordered, shares)


def share_above(values: Numbers) -> tuple[Numbers, Numbers]:
    """Return the sorted values and the share of values that are larger than each. NaN counts as larger than every value."""
    ordered, shares = share_up_to(values)
    return ordered, 1 - shares


def _thinned(ordered: Numbers, shares: Numbers) -> tuple[Numbers, Numbers]:
    count = ordered.size
    if count <= _MOST_STEPS:
        return ordered, shares
    # Keep evenly spaced steps, and more near both ends, which logarithmic axes enlarge.
    evenly = np.linspace(0, count - 1, _MOST_STEPS // 2)
    towards = np.geomspace(1, count, _MOST_STEPS // 4) - 1
    kept = np.unique(np.concatenate([evenly, towards, count - 1 - towards]).astype(np.int64))
    return ordered[kept], shares[kept]


def curve(
    ax: Axes, look: Look, x: Numbers, y: Numbers, *, begin: float, end: float, right: float, width: float
) -> None:
    """Draw a step curve with ``begin`` before the first value and ``end`` after the last, up to ``right``."""
    if not x.size:
        return
    low = ax.get_xlim()[0]
    left = min(low, float(x[0]))
    ax.plot([left, *x, max(right, float(x[-1]))], [begin, *y, end], drawstyle="steps-post", lw=width, **look.line)


def across(ax: Axes, look: Look, estimate: Estimate | None, y: float, unit: float) -> None:
    """Draw a percentile with its horizontal interval on its curve."""
    if estimate is None:
        return
    lengths, has_interval = estimate.around()
    lengths = [[length / unit for length in side] for side in lengths]
    ax.errorbar([estimate.value / unit], [y], xerr=lengths if has_interval else None, zorder=3, **look.dot)
