"""Scenarios: construction, changes and conversion of values."""

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
"""Duration, exact to the picosecond: a ``timedelta``, a pandas ``Timedelta`` or a NumPy ``timedelta64``."""

Value: TypeAlias = Union[str, int, float, bool, Duration, Sequence["Value"], Mapping[str, "Value"]]
"""Value of a scenario key. Quantities are strings with a unit, such as ``"10 Gbps"`` or ``"250 packets"``; a time may also be a
:data:`Duration`."""

Flows: TypeAlias = Union[ArrowStream, Mapping[str, Sequence[object]]]
"""Table of flows: an object with the Arrow PyCapsule interface or ``to_dict``, or a dict of columns."""

_TEXT = "<text>"
_DICT = "<dict>"
_SERVICE = "<service>"
_SET = "--set"
_SHOWN = 20_000
"""Maximum number of characters in the HTML view: a table of flows may have many millions."""


class Scenario:
    """An experiment: a network, its traffic, the transports to compare and the number of runs.

    Scenarios are immutable: :meth:`set`, :meth:`with_` and :meth:`with_flows` return a new one. Each scenario is checked when
    it is created; errors raise :class:`ScenarioError`. ``docs/scenario.md`` lists every key with its range and default.
    """

    __slots__ = ("_source",)
    _source: _native.Source

    def __init__(self, source: StrPath | Mapping[str, object]) -> None:
        """Create a scenario from a file, TOML text or a dict: see :meth:`from_file`, :meth:`from_toml` and :meth:`from_dict`.

        A string is TOML if it is empty, has several lines, or contains ``=`` and neither ends in ``.toml`` nor names a file.
        """
        if isinstance(source, Mapping):
            created = self.from_dict(source)
        elif isinstance(source, str) and _is_toml(source):
            created = self.from_toml(source)
        else:
            created = self.from_file(source)
        self._source = created._source

    @classmethod
    def _of(cls, source: _native.Source) -> Scenario:
        scenario = cls.__new__(cls)
        scenario._source = source
        return scenario

    @classmethod
    def from_file(cls, path: StrPath) -> Scenario:
        """Create a scenario from a TOML file. Relative paths in the file are relative to it."""
        if isinstance(path, str) and _is_toml(path):
            raise ScenarioError(f"{path[:60]!r} is not a file: for TOML text, use Scenario.from_toml")
        return cls._of(_native.Source.read(path))

    @classmethod
    def from_toml(cls, text: str) -> Scenario:
        """Create a scenario from TOML text. Relative paths in the text are relative to the current directory."""
        if not isinstance(text, str):
            raise TypeError(f"{type(text).__name__} is not TOML text: to read a file, use Scenario.from_file")
        if _is_path(text):
            raise ScenarioError(f"{text!r} is not TOML text: to read a file, use Scenario.from_file", file=_TEXT)
        return cls._of(_native.Source(text, _TEXT, []))

    @classmethod
    def from_dict(cls, scenario: Mapping[str, object]) -> Scenario:
        """Create a scenario from a dict with the keys of the file. Workloads are a list of dicts under ``workload``."""
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
        """Create a starting scenario for a service, like ``duetime new``, with a comment for every choice (:meth:`to_toml`).

        Omitted numbers have the command's defaults.

            >>> Scenario.for_service("search", fan_in=40, budget="50 ms", answer="20 KB", rate="2000 /s", hosts=48)

        :param kind: ``search``: a root queries its leaves; ``feed``: a root queries aggregators, which query their leaves;
            ``storage``: a reader requests fragments, a quarter of which are redundant; ``inference``: inputs are as large as
            outputs, and all outputs are required.
        :param fan_in: number of servers that a query reaches; for two layers ``(4, 10)``: aggregators, and leaves of each.
        :param budget: time within which enough answers must reach the root, such as ``"50 ms"``.
        :param answer: size of each answer, such as ``"20 KB"``.
        :param rate: query rate of the whole service, such as ``"2000 /s"``; a number is per second.
        :param hosts: number of hosts of the network.
        :param link: rate of each host's link, such as ``"10 Gbps"``.
        :raises ScenarioError: a number is invalid, or the network cannot carry the service; ``key`` is the argument, and
            ``allowed`` describes valid values.
        """
        if isinstance(fan_in, Sequence) and not isinstance(fan_in, str):
            fan_in = ",".join(str(count) for count in fan_in)
        if isinstance(rate, (int, float)):
            rate = f"{rate} /s"
        numbers: dict[str, object] = {
            "fan-in": fan_in,
            "budget": text_of("budget", budget),
            "answer": answer,
            "rate": rate,
            "hosts": hosts,
            "link": link,
        }
        answers = [(flag, str(value)) for flag, value in numbers.items() if value is not None]
        return cls._of(_native.Source(_native.service(kind, answers), _SERVICE, []))

    def set(self, key: KnownKey | str, value: Value) -> Scenario:
        """Return a copy of the scenario with a new value at a key path, as with the command's ``--set``.

        ``workload.KEY`` is a key of the first workload; ``workload.NAME.KEY`` and ``workload[1].KEY`` address others.

            >>> scenario.set("workload.fan_in", 40).set("switch.buffer", "512 KB")
        """
        return self.with_({key: value})

    def with_(
        self, changes: Mapping[KnownKey | str, Value] | None = None, /, **values: Value
    ) -> Scenario:
        """Return a copy of the scenario with several new values. The changes are checked after all of them are applied.

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
        keep_workloads: bool = False,
        accept_extra_columns: bool = False,
    ) -> Scenario:
        """Return a copy of the scenario with these flows as its traffic.

        Each row is a flow. The columns, in any order, are:

        - ``src``, ``dst``: hosts of the topology, from 0;
        - ``bytes``: size of the message, 1 to 10¹²;
        - ``start``: time since the start of the run, in seconds or as a duration;
        - ``deadline``: time after the start, in seconds or as a duration; null if the flow has none. Optional.

        The column names of trace files are accepted too: ``source``, ``destination``, ``size_bytes``, and ``start_ns`` and
        ``deadline_ns`` in nanoseconds. Numbers are rounded to the nanosecond; a duration that is not a whole number of
        nanoseconds is an error. Earlier changes and the flows become part of the scenario's text, so run folders do not need
        the table.

        :param name: name of the workload in the results.
        :param keep_workloads: keep the scenario's workloads and add the flows; default: replace them.
        :param accept_extra_columns: ignore columns with other names, including a misspelt ``deadline``; default:
            raise an error.
        """
        text = _native.flows_csv(_columns(flows), self._source.hosts, accept_extra_columns)
        return Scenario._of(self._source.with_trace(text, name, keep_workloads))

    def to_toml(self, path: StrPath | None = None) -> str:
        """Return the scenario as TOML: its text with the changed values. Comments are kept.

        :param path: also write the text to this file. Relative paths in the scenario are then relative to the file.
        """
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
        """Name of the scenario."""
        return self._source.name

    @property
    def seeds(self) -> int:
        """Number of runs of each transport, each with separate random streams."""
        return self._source.seeds

    @property
    def hosts(self) -> int:
        """Number of hosts of the topology, which are numbered from 0."""
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
        source = self._source
        return _restore, (source.text, os.fspath(source.file), source.settings)

    def __eq__(self, other: object) -> bool:
        """Return true if both scenarios are equal with every default filled in."""
        if not isinstance(other, Scenario):
            return NotImplemented
        return self._source.resolved() == other._source.resolved()

    def __hash__(self) -> int:
        return hash(self._source.resolved())

    def _repr_html_(self) -> str:
        """Return the description of ``repr`` and the TOML text, as HTML."""
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


def scenario_of(source: Scenario | StrPath | Mapping[str, object]) -> Scenario:
    """Return the scenario, or create one from a file, string or dict."""
    return source if isinstance(source, Scenario) else Scenario(source)


def source_of(scenario: Scenario) -> _native.Source:
    """Return the native object of a scenario."""
    return scenario._source


def toml_of(key: str, value: Value) -> str:
    """Return a value for a key, in TOML."""
    return _toml(_plain(value, key))


def text_of(name: str, value: str | float | Duration | None) -> str | None:
    """Return a quantity argument as a string; durations get a unit."""
    return None if value is None else str(_plain(value, name))


def _restore(text: str, file: str, settings: list[tuple[str, str]]) -> Scenario:
    return Scenario._of(_native.Source(text, file, settings))


def _is_toml(source: str) -> bool:
    """Return true if a string is TOML text and not a path."""
    return "\n" in source or not (_is_path(source) or os.path.exists(source))


def _is_path(source: str) -> bool:
    """Return true if a string cannot be TOML text."""
    if "\n" in source or not source.strip():
        return False
    return "=" not in source or source.endswith(".toml")


def _plain(value: object, path: str) -> Any:
    """Return the value as booleans, numbers, strings, lists and dicts."""
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
                raise _wrong(path, key, "a key that is not a string")
            plain[key] = _plain(item, f"{path}.{key}" if path else key)
        return plain
    # NumPy scalars and similar. Dates, and numbers without a Python counterpart, are rejected.
    item_of = getattr(value, "item", None)
    if callable(item_of) and getattr(value, "ndim", 0) == 0:
        item = item_of()
        if kind_of(value) == "M" or type(item) is type(value):
            raise _wrong(path, value, "not a scenario value")
        return _plain(item, path)
    if hasattr(value, "tolist"):
        value = _items(value)
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return [_plain(item, f"{path}[{index}]") for index, item in enumerate(value)]
    raise _wrong(path, value, "not a scenario value")


def _wrong(path: str, value: object, reason: str) -> ScenarioError:
    allowed = "strings, numbers, booleans, timedeltas, and lists and dicts of these"
    return ScenarioError(
        f"{path} = {value!r}: {reason}\n   allowed: {allowed}",
        file=_SET,
        key=path,
        value=repr(value),
        reason=reason,
        allowed=allowed,
    )


def _toml(plain: Any) -> str:
    """Return a plain value in TOML, on one line."""
    if isinstance(plain, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_toml(item)}" for key, item in plain.items()) + " }"
    if isinstance(plain, list):
        return "[" + ", ".join(map(_toml, plain)) + "]"
    if isinstance(plain, str):
        return json.dumps(plain, ensure_ascii=False).replace("\x7f", "\\u007f")
    return json.dumps(plain)


def _columns(flows: Any) -> object:
    """Return a table of flows as an Arrow stream in a capsule, or as a dict of lists."""
    stream = getattr(flows, "__arrow_c_stream__", None)
    if stream is not None:
        try:
            return stream()
        except ImportError:
            # pandas needs pyarrow for this interface.
            pass
    if not isinstance(flows, Mapping):
        as_dict = getattr(flows, "to_dict", None)
        if as_dict is None:
            raise TypeError(
                f"flows: {type(flows).__name__} has neither the Arrow PyCapsule interface nor to_dict"
            )
        # pandas represents missing values as NaN in some columns; in other tables NaN is an error.
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
    """Return the items of a column or an array. Durations and dates keep their types."""
    if str(getattr(column, "dtype", "")).startswith("Duration"):
        # Items of a polars series are timedeltas, which lack nanoseconds.
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
