"""Figures of a result, for notebooks and papers. Requires matplotlib and pyarrow: ``pip install 'duetime[figures]'``.

Each function takes a :class:`duetime.Result` or the path of a run folder and returns a ``matplotlib.figure.Figure``. Figures
are as wide as a journal's column (3.5 in) or page (7 in), have embedded fonts, and use the colours of the reports, which
colour-blind readers can distinguish. Intervals are 95 % intervals over runs, as in ``result.summary``.

    >>> import duetime
    >>> duetime.figures.budget(result).savefig("budget.pdf")

Start with :func:`budget`. :func:`in_time`, :func:`completion_times`, :func:`slack` and :func:`deadlines` show queries and
flows, :func:`queues` and :func:`throughput` show links over time, and :func:`sweep` and :func:`heatmap` show a measure over
one or two axes of a sweep.
"""

try:
    import matplotlib as _matplotlib
    import pyarrow as _pyarrow
except ImportError as _missing:
    raise ImportError(
        f"duetime.figures needs {_missing.name}: pip install 'duetime[figures]'", name=_missing.name
    ) from None

from ._distributions import completion_times, deadlines, slack
from ._heatmap import heatmap
from ._queries import budget, in_time
from ._series import queues, throughput
from ._style import Style, Width
from ._sweep import Measure, sweep

del _matplotlib, _pyarrow

__all__ = [
    "Measure",
    "Style",
    "Width",
    "budget",
    "completion_times",
    "deadlines",
    "heatmap",
    "in_time",
    "queues",
    "slack",
    "sweep",
    "throughput",
]
