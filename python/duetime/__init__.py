"""Packet-level simulator of deadline-aware datacenter transports: TCP, DCTCP, D2TCP, D3 and RCPdc.

A :class:`Scenario` describes a network, its traffic and the transports to compare. :func:`run` simulates it and returns a
:class:`Result`: tables in Arrow's memory format, and the same run folder as the command ``duetime``. :func:`sweep` runs it at
every point of a grid, on this machine or on a cluster. :func:`capacity` searches for the largest load or tightest budget of
each transport, :func:`compare` compares two results, :func:`paper` repeats the papers' experiments, and
:mod:`duetime.figures` draws figures. :func:`start` runs any of these calls in the background. :func:`fit` creates a scenario
from packets, spans or a table of calls.

:mod:`duetime.deadline` and :mod:`duetime.d3` are for real sockets: deadlines of TCP messages, and D3 streams over UDP.

    >>> import duetime
    >>> scenario = duetime.Scenario.from_file("scenarios/incast.toml").set("workload.senders", 20)
    >>> result = duetime.run(scenario, transports=["dctcp", "d3"], seeds=2)
    >>> print(result.summary)
    >>> result.flows.to_polars()
"""

import importlib as _importlib
from typing import TYPE_CHECKING as _TYPE_CHECKING

from . import engines
from ._compare import Comparison, compare
from ._errors import (
    DuetimeError,
    EngineError,
    FigureError,
    FolderError,
    RunError,
    ScenarioError,
)
from ._fit import Fit, fit
from ._keys import KnownKey
from ._native import VERSION as __version__
from ._result import Failure, Result, Table, TableName, load
from ._run import run
from ._scenario import Duration, Flows, Scenario, Value
from ._searches import Capacity, Experiment, PaperResult, capacity, experiments, paper
from ._start import Run, start
from ._summary import Number, Summary
from ._sweep import Plan, Vary, plan, sweep
from ._types import ArrowStream, Event

if _TYPE_CHECKING:
    from types import ModuleType as _ModuleType

    from . import d3 as d3
    from . import deadline as deadline
    from . import figures as figures

__all__ = [
    "ArrowStream",
    "Capacity",
    "Comparison",
    "DuetimeError",
    "Duration",
    "EngineError",
    "Event",
    "Experiment",
    "Failure",
    "FigureError",
    "Fit",
    "Flows",
    "FolderError",
    "KnownKey",
    "Number",
    "PaperResult",
    "Plan",
    "Result",
    "Run",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Summary",
    "Table",
    "TableName",
    "Value",
    "Vary",
    "__version__",
    "capacity",
    "compare",
    "engines",
    "experiments",
    "fit",
    "load",
    "paper",
    "plan",
    "run",
    "start",
    "sweep",
]

_LAZY = ("d3", "deadline", "figures")


def __getattr__(name: str) -> "_ModuleType":
    # Import on first use: figures need matplotlib, and d3 and deadline have no part in a simulation.
    if name in _LAZY:
        return _importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
