"""The axes of a sweep as columns: one name and one type in tables, the summary, arrays and figures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias, Union

Cell: TypeAlias = Union[bool, int, float, str]
"""A value of an axis."""

_UNITS: list[dict[str, int]] = [
    {
        "ps": 1,
        "ns": 10**3,
        "us": 10**6,
        "µs": 10**6,
        "ms": 10**9,
        "s": 10**12,
        "min": 60 * 10**12,
        "h": 3_600 * 10**12,
    },
    {"bps": 1, "Kbps": 10**3, "Mbps": 10**6, "Gbps": 10**9, "Tbps": 10**12},
    {
        "B": 1,
        "KB": 10**3,
        "KiB": 2**10,
        "MB": 10**6,
        "MiB": 2**20,
        "GB": 10**9,
        "GiB": 2**30,
        "TB": 10**12,
    },
    {"packets": 1, "packet": 1},
    {"/s": 1, "per second": 1},
    {"%": 1},
]
"""Units by dimension, the smallest first, each with its size in the smallest one."""
_NAMES = {"µs": "us", "packet": "packets", "B": "bytes", "/s": "per_s", "per second": "per_s", "%": "percent"}
"""Units as the name of a column has them, where that is not the unit in small letters."""
_SHORT = {word: word.upper() for word in ("ecn", "mss", "mtu", "nic", "rto")}
_NUMBER = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(.*)")


@dataclass(frozen=True)
class Axis:
    """A key of the scenario that a sweep varies."""

    key: str
    """The key, such as ``workload.deadline``."""
    name: str
    """The name of its column, which ends in the unit, such as ``workload_deadline_ms``."""
    unit: str | None
    """The unit of its numbers, as the scenario has it; ``None`` without a unit."""
    values: dict[str, Cell]
    """Its values by the texts of the scenario, in the order of the sweep. They are numbers if all of them are numbers of
    one dimension."""

    @property
    def is_numeric(self) -> bool:
        """True if the values are numbers."""
        return all(isinstance(of, (int, float)) and not isinstance(of, bool) for of in self.values.values())

    @property
    def label(self) -> str:
        """The last part of the key in words, with the unit, as figures have it."""
        words = [_SHORT.get(word, word) for word in self.key.rsplit(".", 1)[-1].split("_")]
        text = " ".join(words)
        return f"{text[:1].upper()}{text[1:]}" + (f" ({self.unit})" if self.unit else "")

    def at(self, point: Mapping[str, str]) -> Cell:
        """Returns its value at a point: see :func:`settings_of`."""
        return self.values[point[self.key]]


@dataclass(frozen=True)
class Grid:
    """The axes and the points of a sweep; both are empty without a sweep."""

    axes: list[Axis]
    """The axes, the last one fastest."""
    points: dict[str, dict[str, str]]
    """The settings of each point by the name of its folder."""
    labels: dict[str, str]
    """The name of the folder of each point by its name in the summary."""

    @classmethod
    def of(cls, manifest: Mapping[str, Any]) -> Grid:
        """Returns the axes of a run folder."""
        points = {of["id"]: {key: bare(value) for key, value in of["values"]} for of in manifest["points"]}
        labels = {",".join(f"{key}={value}" for key, value in of["values"]): of["id"] for of in manifest["points"]}
        texts: dict[str, dict[str, None]] = {}
        for point in points.values():
            for key, text in point.items():
                texts.setdefault(key, {})[text] = None
        return cls([_axis(key, list(of)) for key, of in texts.items()], points, labels)

    def find(self, name: str) -> Axis | None:
        """Returns the axis with this key, or with this name of a column; ``None`` if there is none."""
        return next((axis for axis in self.axes if name in (axis.key, axis.name)), None)

    @property
    def columns(self) -> list[Axis]:
        """The axes that tables have as columns of their own: all but ``transport`` and ``seed``, which they have anyway."""
        return [axis for axis in self.axes if axis.name not in ("transport", "seed")]

    @property
    def independent(self) -> list[Axis]:
        """The axes without those that change with an axis before them."""
        sizes = 1
        for axis in self.axes:
            sizes *= len(axis.values)
        if sizes == len(self.points):
            return self.axes
        found: list[Axis] = []
        for axis in self.axes:
            if not any(self.leads(other, axis) for other in found):
                found.append(axis)
        return found

    def leads(self, leader: Axis, follower: Axis) -> bool:
        """Returns true if each value of ``leader`` comes with one value of ``follower``, and with more than one overall."""
        pairs = {(point[leader.key], point[follower.key]) for point in self.points.values()}
        return len(pairs) == len(leader.values) and len(follower.values) > 1


def bare(value: str) -> str:
    """Returns a value of a sweep without the quotes of TOML."""
    return value.strip('"')


def _axis(key: str, texts: list[str]) -> Axis:
    values, unit = numbers_of(texts)
    name = re.sub(r"\W+", "_", key).strip("_")
    if unit is not None:
        name += "_" + _NAMES.get(unit, unit.lower())
    return Axis(key, name, unit, dict(zip(texts, values)))


def numbers_of(texts: Iterable[str]) -> tuple[list[Cell], str | None]:
    """Returns values as numbers with their unit: the smallest one that any of them has. They stay texts unless all are numbers
    of one dimension; true and false become booleans."""
    texts = list(texts)
    if all(text in ("true", "false") for text in texts):
        return [text == "true" for text in texts], None
    parts = [_NUMBER.fullmatch(text.strip()) for text in texts]
    found = [(Decimal(part[1]), part[2].strip()) for part in parts if part is not None]
    if len(found) < len(texts):
        return [*texts], None
    units = {unit for _, unit in found}
    unit = None
    if units != {""}:
        dimension = next((of for of in _UNITS if units <= of.keys()), None)
        if dimension is None:
            return [*texts], None
        unit = min(units, key=list(dimension).index)
        smallest = dimension[unit]
        found = [(number * dimension[of] / smallest, of) for number, of in found]
    numbers = [number for number, _ in found]
    if all(number == number.to_integral_value() for number in numbers) and not any(_is_real(text) for text in texts):
        return [int(number) for number in numbers], unit
    return [float(number) for number in numbers], unit


def _is_real(text: str) -> bool:
    return bool(re.match(r"[+-]?\d*\.", text))
