"""Engines that execute the runs of a sweep: this machine, Ray, Dask or Slurm.

An engine only submits batches of runs to workers and collects their reports, so the results do not depend on it. To support
another kind of cluster, implement :class:`Engine`.
"""

from ._dask import Dask
from ._engine import Batch, Engine, Handle, Local, Report, Work
from ._ray import Ray
from ._slurm import Slurm

__all__ = ["Batch", "Dask", "Engine", "Handle", "Local", "Ray", "Report", "Slurm", "Work"]
