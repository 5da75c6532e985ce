"""Two run folders, or two transports of one, in pairs of runs."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from . import _native
from ._place import url_of
from ._result import Result, load
from ._types import StrPath, names


@dataclass(frozen=True)
class Comparison:
    """What two run folders differ in, by pairs of runs with the same seed. Its text is what ``duetime compare`` prints."""

    text: str
    """The answer, the keys that differ, and the table, as text."""
    transports: list[str]
    """Transports that are compared."""
    seeds: int
    """Different seeds among the pairs of runs."""
    pairs: int
    """Pairs of runs, over all transports and points."""
    in_time_of: Literal["queries", "flows"] | None
    """What ``in_time`` is a share of; ``None``: nothing in both has a budget or a deadline."""
    in_time: dict[str, Any]
    """The share in time: estimates ``a``, ``b`` and ``difference`` (B less A), shares of 1, each with ``value`` and
    ``interval`` (``low``, ``high``, ``runs``); and ``differs``, as in ``rows``."""
    method: str
    """What the intervals of differences are."""
    notes: list[str]
    """What only one of them has, and which runs have no pair."""
    settings: list[dict[str, str]]
    """Keys on which the scenarios disagree: ``key``, and its values ``a`` and ``b``."""
    rows: list[dict[str, Any]]
    """A row per number: ``point``, ``transport``, ``workload_name``, ``class``, ``number``, ``unit`` (``share``, ``s``,
    ``bytes/s``, ``bytes`` or ``count``), ``pairs``, estimates ``a``, ``b`` and ``difference``, and ``differs``: ``higher``
    or ``lower``: the interval leaves out 0; ``open``: it holds 0; ``equal``: in every pair; ``few-seeds``: fewer than four
    pairs; ``None`` without a difference."""

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"


def compare(
    a: Result | StrPath,
    b: Result | StrPath | None = None,
    transports: str | Iterable[str] | None = None,
    *,
    pair: tuple[str, str] | None = None,
) -> Comparison:
    """Compares two results, or two transports of one result, in pairs of runs with the same seed, as ``duetime compare`` does.

        >>> duetime.compare(result, pair=("dctcp", "d2tcp"))

    Runs of the same number and ``seed`` have the same random draws. What the draws have in common cancels from the
    difference, so its interval is narrower than what two intervals beside each other suggest. ``docs/compare.md`` says more.

    :param a: a result, or the run folder of one: a path, or a URL that fsspec knows.
    :param b: the result that is compared with it.
    :param transports: compare only these, by name; default: those that both have.
    :param pair: in place of ``b``, two transports of ``a``: the second is compared with the first. The transport of the rows
        is ``"dctcp -> d2tcp"`` then.
    :raises ScenarioError: they have nothing in common, or their ``seed`` differs.
    :raises FolderError: one is no run folder, or cannot be read.
    """
    if (b is None) == (pair is None):
        raise ValueError("compare: a second result, or pair=(\"dctcp\", \"d2tcp\")")
    if pair is not None and (transports is not None or isinstance(pair, str) or len(pair) != 2):
        raise ValueError(f"pair={pair!r}: two transports, without `transports`")
    given = [a] if b is None else [a, b]
    # A copy of what is behind a URL goes with its result.
    results = [of if isinstance(of, Result) else load(of) for of in given]
    if pair is not None:
        text, told = _native.compare_transports(results[0].folder, *pair)
    else:
        text, told = _native.compare(results[0].folder, results[1].folder, names(transports))
    for of, result in zip(given, results):
        if not isinstance(of, Result) and url_of(of) is not None:
            text = text.replace(str(result.folder), str(of))
    events: list[tuple[str, dict[str, Any]]] = json.loads(told)
    answer = dict(events[0][1])
    del answer["a"], answer["b"]
    return Comparison(
        text=text,
        settings=[of for event, of in events if event == "setting"],
        rows=[of for event, of in events if event == "difference"],
        **answer,
    )
