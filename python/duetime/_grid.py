"""Axes of a sweep as columns, with the same name and type in tables, the summary, arrays and figures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias, Union

Cell: TypeAlias = Union[bool, int, float, str]
"""Value of an axis."""

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
"""Units by dimension, in increasing size, each as a multiple of the smallest one."""
_NAMES = {"µs": "us", "packet": "packets", "B": "bytes", "/s": "per_s", "per second": "per_s", "%": "percent"}
"""Spellings of units in column names that differ from the unit in lower case."""
_SHORT = {word: word.upper() for word in ("ecn", "mss", "mtu", "nic", "rto")}
_NUMBER = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(.*)")


@dataclass(frozen=True)
class Axis:
    """Scenario key that a sweep varies."""

    key: str
    """Key path, such as ``workload.deadline``."""
    name: str
    """Column name, which ends in the unit, such as ``workload_deadline_ms``."""
    unit: str | None
    """Unit of the numbers, spelled as in the scenario, or ``None``."""
    values: dict[str, Cell]
    """Values by their text in the scenario, in the order of the sweep. Numbers if all texts are numbers of one dimension."""

    @property
    def is_numeric(self) -> bool:
        """True if the values are numbers."""
        return all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in self.values.values())

    @property
    def label(self) -> str:
        """Axis label for figures: the last part of the key in words, with the unit."""
        words = [_SHORT.get(word, word) for word in self.key.rsplit(".", 1)[-1].split("_")]
        text = " ".join(words).replace("fan in", "fan-in")
        return f"{text[:1].upper()}{text[1:]}" + (f" ({self.unit})" if self.unit else "")

    def at(self, point: Mapping[str, str]) -> Cell:
        """Return the value at a point, given the point's settings."""
        return self.values[point[self.key]]


@dataclass(frozen=True)
class Grid:
    """Axes and points of a sweep; both are empty without a sweep."""

    axes: list[Axis]
    """Axes; the last one varies fastest."""
    points: dict[str, dict[str, str]]
    """Settings of each point, by the name of its folder."""
    labels: dict[str, str]
    """Folder name of each point, by the point's name in the summary."""

    @classmethod
    def of(cls, manifest: Mapping[str, Any]) -> Grid:
        """Return the grid of a run folder, given its manifest."""
        points = {point["id"]: {key: bare(value) for key, value in point["values"]} for point in manifest["points"]}
        labels = {
            ",".join(f"{key}={value}" for key, value in point["values"]): point["id"] for point in manifest["points"]
        }
        texts: dict[str, dict[str, None]] = {}
        for settings in points.values():
            for key, text in settings.items():
                texts.setdefault(key, {})[text] = None
        return cls([_axis(key, list(values)) for key, values in texts.items()], points, labels)

    def find(self, name: str) -> Axis | None:
        """Return the axis with this key or column name, or ``None`` if there is none."""
        return next((axis for axis in self.axes if name in (axis.key, axis.name)), None)

    @property
    def columns(self) -> list[Axis]:
        """Axes that are additional columns of tables: all but ``transport`` and ``seed``, which every table has."""
        return [axis for axis in self.axes if axis.name not in ("transport", "seed")]

    @property
    def independent(self) -> list[Axis]:
        """Axes without those that change together with an earlier axis."""
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
        """Return true if ``leader`` determines ``follower``, and ``follower`` has more than one value."""
        pairs = {(point[leader.key], point[follower.key]) for point in self.points.values()}
        return len(pairs) == len(leader.values) and len(follower.values) > 1


def bare(value: str) -> str:
    """Return a value of a sweep without TOML quotes."""
    return value.strip('"')


def _axis(key: str, texts: list[str]) -> Axis:
    values, unit = numbers_of(texts)
    name = re.sub(r"\W+", "_", key).strip("_")
    if unit is not None:
        name += "_" + _NAMES.get(unit, unit.lower())
    return Axis(key, name, unit, dict(zip(texts, values)))


def numbers_of(texts: Iterable[str]) -> tuple[list[Cell], str | None]:
    """Return the values as numbers in the smallest unit used, and that unit.

    The values stay strings unless all are numbers of one dimension; true and false become booleans.
    """
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
        dimension = next((sizes for sizes in _UNITS if units <= sizes.keys()), None)
        if dimension is None:
            return [*texts], None
        unit = min(units, key=list(dimension).index)
        smallest = dimension[unit]
        found = [(number * dimension[part_unit] / smallest, part_unit) for number, part_unit in found]
    numbers = [number for number, _ in found]
    if all(number == number.to_integral_value() for number in numbers) and not any(_is_real(text) for text in texts):
        return [int(number) for number in numbers], unit
    return [float(number) for number in numbers], unit


def _is_real(text: str) -> bool:
    return bool(re.match(r"[+-]?\d*\.", text))
