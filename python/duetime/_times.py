"""Exact conversion of Python, NumPy and pandas durations."""

from __future__ import annotations

import datetime
from typing import Any

_UNITS = {"s": 10**12, "ms": 10**9, "us": 10**6, "ns": 10**3, "ps": 1}
"""Time units of a scenario in picoseconds, longest first."""
_LONGER = {"W": 604_800 * 10**12, "D": 86_400 * 10**12, "h": 3_600 * 10**12, "m": 60 * 10**12}
_SHORTER = {"fs": 10**3, "as": 10**6}
"""Units shorter than a picosecond, in units per picosecond."""


def kind_of(value: object) -> str:
    """Return the kind of the value's NumPy type, such as ``"m"`` for durations and ``"M"`` for dates; ``""`` without one."""
    return str(getattr(getattr(value, "dtype", None), "kind", ""))


def is_missing(value: object) -> bool:
    """Return true if the value is pandas' or NumPy's ``NaT``."""
    if kind_of(value) in ("m", "M") and getattr(value, "ndim", 0) == 0:
        return bool(value != value)
    return type(value).__name__ == "NaTType"


def picoseconds(value: object) -> int | None:
    """Return a duration in picoseconds, or ``None`` if the value is not a duration.

    :raises ValueError: the duration is ``NaT``, has no fixed length, or is not a whole number of picoseconds.
    """
    if isinstance(value, datetime.timedelta):
        # pandas' Timedelta extends timedelta by nanoseconds, which timedelta arithmetic ignores.
        exact = getattr(value, "to_timedelta64", None)
        if exact is None:
            return value // datetime.timedelta(microseconds=1) * _UNITS["us"]
        value = exact()
    if kind_of(value) != "m" or getattr(value, "ndim", 0) != 0:
        return None
    if is_missing(value):
        raise ValueError("not a time")
    import numpy

    duration: Any = value
    unit, steps = numpy.datetime_data(duration.dtype)
    count = int(duration.astype("int64")) * steps
    size = _UNITS.get(unit) or _LONGER.get(unit)
    if size is not None:
        return count * size
    if unit not in _SHORTER:
        length = "no unit" if unit == "generic" else "no fixed length: it is in months or years"
        raise ValueError(f"a duration with {length}")
    whole, rest = divmod(count, _SHORTER[unit])
    if rest:
        raise ValueError("not a whole number of picoseconds")
    return whole


def written(ps: int) -> str:
    """Return a duration in the scenario's notation, such as ``"700 ns"``."""
    unit = next(unit for unit, size in _UNITS.items() if ps % size == 0)
    return f"{ps // _UNITS[unit]} {unit}"
