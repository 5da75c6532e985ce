"""Figures of a result, for notebooks and papers. Needs matplotlib and pyarrow: ``pip install 'duetime[figures]'``.

Each function takes a :class:`duetime.Result`, or the path of a run folder, and gives a ``matplotlib.figure.Figure``: as wide
as a column of a journal (3.5 in) or its page (7 in), with fonts in the file, in colours that colour-blind readers tell apart
and that a transport has in every report of Duetime. Intervals are 95 % intervals over runs, those of ``result.summary``.

    >>> import duetime
    >>> duetime.figures.budget(result).savefig("budget.pdf")

:func:`budget` is the one to look at first. :func:`in_time`, :func:`completion_times`, :func:`slack` and :func:`deadlines`
show what became of queries and flows, :func:`queues` and :func:`throughput` what happened on links over time, and
:func:`sweep` what changes along an axis, and :func:`heatmap` what changes over two axes.
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
