"""Durations of Python, NumPy and pandas, without rounding."""

from __future__ import annotations

import datetime
from typing import Any

_UNITS = {"s": 10**12, "ms": 10**9, "us": 10**6, "ns": 10**3, "ps": 1}
"""Units of a scenario's times, in picoseconds, longest first."""
_LONGER = {"W": 604_800 * 10**12, "D": 86_400 * 10**12, "h": 3_600 * 10**12, "m": 60 * 10**12}
_SHORTER = {"fs": 10**3, "as": 10**6}
"""How many of a unit are a picosecond."""


def kind_of(value: object) -> str:
    """Returns the kind of NumPy's type: ``"m"`` for durations, ``"M"`` for dates; ``""`` without such a type."""
    return str(getattr(getattr(value, "dtype", None), "kind", ""))


def is_missing(value: object) -> bool:
    """Returns true if the value is pandas' or NumPy's ``NaT``."""
    if kind_of(value) in ("m", "M") and getattr(value, "ndim", 0) == 0:
        return bool(value != value)
    return type(value).__name__ == "NaTType"


def picoseconds(value: object) -> int | None:
    """Returns a duration in picoseconds, or ``None`` if the value is not a duration.

    :raises ValueError: it is ``NaT``, has no fixed length, or is not a whole number of picoseconds.
    """
    if isinstance(value, datetime.timedelta):
        # pandas' Timedelta is a timedelta with nanoseconds, which arithmetic of timedeltas leaves out.
        exact = getattr(value, "to_timedelta64", None)
        if exact is None:
            return value // datetime.timedelta(microseconds=1) * _UNITS["us"]
        value = exact()
    if kind_of(value) != "m" or getattr(value, "ndim", 0) != 0:
        return None
    if is_missing(value):
        raise ValueError("not a time")
    import numpy

    of: Any = value
    unit, steps = numpy.datetime_data(of.dtype)
    count = int(of.astype("int64")) * steps
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
    """Returns picoseconds as a scenario has them, such as ``"700 ns"``."""
    unit = next(unit for unit, size in _UNITS.items() if ps % size == 0)
    return f"{ps // _UNITS[unit]} {unit}"
