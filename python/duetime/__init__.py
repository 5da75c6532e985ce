"""Which transport meets your service's deadlines, at which fan-in, and how tight can the budget be?

A :class:`Scenario` describes a network, its traffic and the transports to compare. :func:`run` simulates it and gives a
:class:`Result`: tables in Arrow's memory, and the same run folder as the command ``duetime``. :func:`sweep` does so
at every point of a grid, here or on a cluster. :func:`capacity` searches for the most that each transport carries,
:func:`paper` repeats the papers' experiments.

    >>> import duetime
    >>> scenario = duetime.Scenario.from_toml("scenarios/incast.toml").set("workload.senders", 20)
    >>> result = duetime.run(scenario, transports=["dctcp", "d3"], seeds=2)
    >>> print(result.summary)
    >>> result.flows.to_polars()
"""

from . import engines
from ._errors import DuetimeError, EngineError, FolderError, RunError, ScenarioError
from ._keys import KnownKey
from ._native import VERSION as __version__
from ._result import Failure, Result, Summary, Table, TableName, load
from ._run import run
from ._scenario import Flows, Scenario, Value
from ._searches import Capacity, Experiment, PaperResult, capacity, experiments, paper
from ._sweep import Plan, plan, sweep
from ._types import ArrowStream, Event

__all__ = [
    "ArrowStream",
    "Capacity",
    "DuetimeError",
    "EngineError",
    "Event",
    "Experiment",
    "Failure",
    "Flows",
    "FolderError",
    "KnownKey",
    "PaperResult",
    "Plan",
    "Result",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Summary",
    "Table",
    "TableName",
    "Value",
    "__version__",
    "capacity",
    "engines",
    "experiments",
    "load",
    "paper",
    "plan",
    "run",
    "sweep",
]
