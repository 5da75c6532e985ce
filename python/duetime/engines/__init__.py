"""Where the runs of a sweep are made: on this machine, or by Ray, Dask or Slurm.

Each engine takes batches of runs to workers and says how they ended; everything else is the same for all of them, and so
are the results. A cluster of another kind is a class that implements :class:`Engine`.
"""

from ._dask import Dask
from ._engine import Batch, Engine, Handle, Local, Report, Work
from ._ray import Ray
from ._slurm import Slurm

__all__ = ["Batch", "Dask", "Engine", "Handle", "Local", "Ray", "Report", "Slurm", "Work"]
