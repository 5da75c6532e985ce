"""Scenarios."""

from __future__ import annotations

import datetime
import html
import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Union

from . import _native
from ._errors import ScenarioError
from ._times import is_missing, kind_of, picoseconds, written
from ._types import ArrowStream, StrPath

if TYPE_CHECKING:
    import numpy

    from ._keys import KnownKey

Duration: TypeAlias = Union[datetime.timedelta, "numpy.timedelta64"]
"""A duration, taken to the picosecond: a ``timedelta``, a ``Timedelta`` of pandas, or a ``timedelta64`` of NumPy."""

Value: TypeAlias = Union[str, int, float, bool, Duration, Sequence["Value"], Mapping[str, "Value"]]
"""A value of a scenario. Quantities are texts with their unit, such as ``"10 Gbps"`` or ``"250 packets"``; a time may be a
:data:`Duration` too."""

Flows: TypeAlias = Union[ArrowStream, Mapping[str, Sequence[object]]]
"""A table of flows: anything with the Arrow PyCapsule interface, or with ``to_dict``, or a dict of columns."""

_TEXT = "<text>"
_DICT = "<dict>"
_SERVICE = "<service>"
_SET = "--set"
_SHOWN = 20_000
"""Characters of a scenario that a notebook shows: a table of flows may be many millions."""


class Scenario:
    """An experiment: a network, its traffic, the transports to compare and the number of runs.

    A scenario never changes: :meth:`set`, :meth:`with_` and :meth:`with_flows` give a new one. Each is checked when it is
    made; a mistake is a :class:`ScenarioError`. ``docs/scenario.md`` has every key with its range and default.
    """

    __slots__ = ("_source",)
    _source: _native.Source

    def __init__(self, source: StrPath | Mapping[str, object]) -> None:
        """From a file, a text in TOML or a dict: as :meth:`from_toml` and :meth:`from_dict`."""
        of = self.from_dict(source) if isinstance(source, Mapping) else self.from_toml(source)
        self._source = of._source

    @classmethod
    def _of(cls, source: _native.Source) -> Scenario:
        made = cls.__new__(cls)
        made._source = source
        return made

    @classmethod
    def from_toml(cls, path_or_text: StrPath) -> Scenario:
        """From a file, or from a text in TOML: a string of several lines, or with a ``=`` where no file has that name. An
        empty string is an empty text.

        Files that the scenario names are looked for beside its file; those of a text in the current folder.
        """
        if isinstance(path_or_text, str):
            is_text = (
                "\n" in path_or_text
                or not path_or_text.strip()
                or ("=" in path_or_text and not Path(path_or_text).exists())
            )
            if is_text:
                return cls._of(_native.Source(path_or_text, _TEXT, []))
        return cls._of(_native.Source.read(path_or_text))

    @classmethod
    def from_dict(cls, scenario: Mapping[str, object]) -> Scenario:
        """From a dict with the keys of the file; workloads are a list of dicts under ``workload``."""
        plain = _plain(scenario, "")
        return cls._of(_native.Source.from_json(json.dumps(plain), _DICT))

    @classmethod
    def for_service(
        cls,
        kind: Literal["search", "feed", "storage", "inference"] = "search",
        *,
        fan_in: int | str | Sequence[int] | None = None,
        budget: str | Duration | None = None,
        answer: str | None = None,
        rate: str | float | None = None,
        hosts: int | None = None,
        link: str | None = None,
    ) -> Scenario:
        """A first scenario for a service, from numbers that its owner knows: what ``duetime new`` writes, with a comment for
        every choice (:meth:`to_toml`). For a number that is not given a usual one is taken, the same as the command's.

            >>> Scenario.for_service("search", fan_in=40, budget="50 ms", answer="20 KB", rate="2000 /s", hosts=48)

        :param kind: ``search``: a root asks its leaves; ``feed``: a root asks aggregators, each asks its leaves;
            ``storage``: a reader asks for fragments, of which a quarter are spare; ``inference``: inputs are as large as
            outputs, and all outputs are needed.
        :param fan_in: how many servers a query asks; of two layers ``(4, 10)``: aggregators, and leaves of each.
        :param budget: time within which enough answers must be at the root, such as ``"50 ms"``.
        :param answer: size of each answer, such as ``"20 KB"``.
        :param rate: queries of the whole service, such as ``"2000 /s"``; a number is per second.
        :param hosts: hosts of the network.
        :param link: rate of each host's link, such as ``"10 Gbps"``.
        :raises ScenarioError: a number is none, or the network cannot carry the service; ``key`` is the argument, and
            ``allowed`` says what would do.
        """
        if isinstance(fan_in, Sequence) and not isinstance(fan_in, str):
            fan_in = ",".join(str(of) for of in fan_in)
        if isinstance(rate, (int, float)):
            rate = f"{rate} /s"
        given: dict[str, object] = {
            "fan-in": fan_in,
            "budget": text_of("budget", budget),
            "answer": answer,
            "rate": rate,
            "hosts": hosts,
            "link": link,
        }
        answers = [(flag, str(value)) for flag, value in given.items() if value is not None]
        return cls._of(_native.Source(_native.service(kind, answers), _SERVICE, []))

    def set(self, key: KnownKey | str, value: Value) -> Scenario:
        """The same scenario with another value at a key path, as ``--set`` of the command takes it.

        ``workload.KEY`` is a key of the first workload, ``workload.NAME.KEY`` and ``workload[1].KEY`` of another.

            >>> scenario.set("workload.fan_in", 40).set("switch.buffer", "512 KB")
        """
        return self.with_({key: value})

    def with_(
        self, changes: Mapping[KnownKey | str, Value] | None = None, /, **values: Value
    ) -> Scenario:
        """The same scenario with several other values. Only all of them together must make sense.

            >>> scenario.with_({"topology.hosts": 11, "workload.senders": 10}, seeds=3)
        """
        wanted: dict[str, Value] = {**(changes or {}), **values}
        return Scenario._of(
            self._source.set([(key, toml_of(key, value)) for key, value in wanted.items()])
        )

    def with_flows(
        self,
        flows: Flows,
        *,
        name: str = "flows",
        beside: bool = False,
        accept_extra_columns: bool = False,
    ) -> Scenario:
        """The same scenario with these flows as its traffic; ``beside=True``: beside its workloads.

        A row is a flow. Its columns, of any order:

        - ``src``, ``dst``: hosts of the topology, from 0;
        - ``bytes``: what the application sends, 1 to 10¹²;
        - ``start``: when, since the start of the run, in seconds or as a duration;
        - ``deadline``: after the start, in seconds or as a duration; null: none. The column may be absent.

        The names of trace files serve as well: ``source``, ``destination``, ``size_bytes``, and ``start_ns`` and
        ``deadline_ns`` in nanoseconds. Numbers are rounded to the nanosecond; a duration that is not a whole number of
        nanoseconds is an error. ``name`` is the workload's in the results. A column of any other name is an error;
        ``accept_extra_columns=True`` leaves it out, also where its name is a misspelt ``deadline``. What was
        set before becomes a part of the scenario's text, and so do the flows: run folders repeat without the table.
        """
        text = _native.flows_csv(_columns(flows), self._source.hosts, accept_extra_columns)
        return Scenario._of(self._source.with_trace(text, name, beside))

    def to_toml(self, path: StrPath | None = None) -> str:
        """The scenario as TOML: as it was written or, where something was set, without comments. With a ``path`` it is
        written there too; files that the scenario names are then looked for beside it."""
        text = self._source.to_toml()
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    @property
    def resolved(self) -> dict[str, Any]:
        """The scenario with every default filled in."""
        resolved: dict[str, Any] = json.loads(self._source.resolved())
        return resolved

    @property
    def name(self) -> str:
        """Its name."""
        return self._source.name

    @property
    def seeds(self) -> int:
        """Runs of each transport, each with random streams of its own."""
        return self._source.seeds

    @property
    def hosts(self) -> int:
        """Hosts of the topology; they are numbered from 0."""
        return self._source.hosts

    @property
    def transports(self) -> list[str]:
        """Names of the transports to compare."""
        return self._source.transports

    @property
    def workloads(self) -> list[str]:
        """Names of the workloads."""
        return self._source.workloads

    @property
    def duration(self) -> float:
        """Simulated time until the sources stop, in seconds."""
        return self._source.duration_s

    def __reduce__(self) -> tuple[object, ...]:
        of = self._source
        return _restore, (of.text, os.fspath(of.file), of.settings)

    def __eq__(self, other: object) -> bool:
        """Whether both are the same experiment: equal with every default filled in."""
        if not isinstance(other, Scenario):
            return NotImplemented
        return self._source.resolved() == other._source.resolved()

    def __hash__(self) -> int:
        return hash(self._source.resolved())

    def _repr_html_(self) -> str:
        """What it is in a line, and its text below."""
        text = html.escape(self.to_toml())
        if len(text) > _SHOWN:
            text = text[:_SHOWN] + "…"
        title = html.escape(repr(self)[1:-1])
        return f"<p>{title}</p><details><summary>TOML</summary><pre>{text}</pre></details>"

    def __repr__(self) -> str:
        return (
            f"<Scenario {self.name!r}: {self.hosts} hosts; {', '.join(self.workloads)}; "
            f"{', '.join(self.transports)}; {self.seeds} seeds>"
        )


def scenario_of(of: Scenario | StrPath | Mapping[str, object]) -> Scenario:
    """A scenario, or what one is made from."""
    return of if isinstance(of, Scenario) else Scenario(of)


def source_of(scenario: Scenario) -> _native.Source:
    """What the part in Rust knows of it."""
    return scenario._source


def toml_of(key: str, value: Value) -> str:
    """A value for a key, in TOML."""
    return _toml(_plain(value, key))


def text_of(name: str, value: str | float | Duration | None) -> str | None:
    """Returns an argument that is a quantity as text, with its unit if it is a duration."""
    return None if value is None else str(_plain(value, name))


def _restore(text: str, file: str, settings: list[tuple[str, str]]) -> Scenario:
    return Scenario._of(_native.Source(text, file, settings))


def _plain(value: object, path: str) -> Any:
    """A value of bools, numbers, texts, lists and dicts alone."""
    if isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise _wrong(path, value, "not a finite number")
        return value
    try:
        ps = picoseconds(value)
    except ValueError as error:
        raise _wrong(path, value, str(error)) from None
    if ps is not None:
        return written(ps)
    if isinstance(value, Mapping):
        plain = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise _wrong(path, key, "a key that is no text")
            plain[key] = _plain(item, f"{path}.{key}" if path else key)
        return plain
    # Numbers of numpy and the like. A number that has no counterpart in Python, and a date, remain what they are.
    item_of = getattr(value, "item", None)
    if callable(item_of) and getattr(value, "ndim", 0) == 0:
        item = item_of()
        if kind_of(value) == "M" or type(item) is type(value):
            raise _wrong(path, value, "no value of a scenario")
        return _plain(item, path)
    if hasattr(value, "tolist"):
        value = _items(value)
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return [_plain(item, f"{path}[{index}]") for index, item in enumerate(value)]
    raise _wrong(path, value, "no value of a scenario")


def _wrong(path: str, value: object, reason: str) -> ScenarioError:
    allowed = "texts, numbers, booleans, timedeltas, and lists and dicts of them"
    return ScenarioError(
        f"{path} = {value!r}: {reason}\n   allowed: {allowed}",
        file=_SET,
        key=path,
        value=repr(value),
        reason=reason,
        allowed=allowed,
    )


def _toml(plain: Any) -> str:
    """A plain value in TOML, on one line."""
    if isinstance(plain, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_toml(of)}" for key, of in plain.items()) + " }"
    if isinstance(plain, list):
        return "[" + ", ".join(map(_toml, plain)) + "]"
    if isinstance(plain, str):
        return json.dumps(plain, ensure_ascii=False).replace("\x7f", "\\u007f")
    return json.dumps(plain)


def _columns(flows: Any) -> object:
    """An Arrow stream in a capsule, or a dict of lists."""
    stream = getattr(flows, "__arrow_c_stream__", None)
    if stream is not None:
        try:
            return stream()
        except ImportError:
            # pandas needs pyarrow for it.
            pass
    if not isinstance(flows, Mapping):
        as_dict = getattr(flows, "to_dict", None)
        if as_dict is None:
            raise TypeError(
                f"flows: {type(flows).__name__} has neither the Arrow PyCapsule interface nor to_dict"
            )
        # What pandas calls missing is NaN in some columns; elsewhere NaN is a mistake.
        missing = getattr(flows, "isna", None)
        if missing is not None:
            flows = flows.astype(object).where(~missing(), None)
            as_dict = flows.to_dict
        try:
            flows = as_dict("list")
        except TypeError:
            flows = as_dict()
    columns = {}
    for name, column in dict(flows).items():
        columns[str(name)] = [_cell(value, str(name), row) for row, value in enumerate(_items(column))]
    return columns


def _items(column: Any) -> list[Any]:
    """Returns the items of a column or an array; durations and dates keep their types."""
    if str(getattr(column, "dtype", "")).startswith("Duration"):
        # The items of a series of polars are timedeltas, which have no nanoseconds.
        column = column.to_numpy()
    if kind_of(column) in ("m", "M") or not hasattr(column, "tolist"):
        return list(column)
    items: list[Any] = column.tolist()
    return items


def _cell(value: object, column: str, row: int) -> object:
    if is_missing(value):
        return None
    try:
        ps = picoseconds(value)
        ns, rest = (None, 0) if ps is None else divmod(ps, 1_000)
        if rest:
            raise ValueError("not a whole number of nanoseconds")
    except ValueError as error:
        raise _wrong_cell(column, row, value, str(error)) from None
    if ns is not None:
        return ns if column.endswith("_ns") else ns / 1e9
    if kind_of(value) == "M":
        return str(value)
    item = getattr(value, "item", None)
    return item() if callable(item) else value


def _wrong_cell(column: str, row: int, value: object, reason: str) -> ScenarioError:
    allowed = "durations in whole nanoseconds"
    return ScenarioError(
        f"<flows>: row {row}, counted from 0: {column} = {value!r}: {reason}\n   allowed: {allowed}",
        file="<flows>",
        line=row + 1,
        key=column,
        value=repr(value),
        reason=reason,
        allowed=allowed,
    )
