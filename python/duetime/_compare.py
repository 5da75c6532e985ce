"""Paired comparison of two run folders, or of two transports of one."""

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
    """Differences between two run folders A and B, over pairs of runs with the same seed.

    ``str`` of it is the output of ``duetime compare``.
    """

    text: str
    """The summary, the keys that differ and the table, as text."""
    transports: list[str]
    """Compared transports."""
    seeds: int
    """Number of distinct seeds among the pairs of runs."""
    pairs: int
    """Number of pairs of runs, over all transports and points."""
    in_time_of: Literal["queries", "flows"] | None
    """The kind that ``in_time`` counts, or ``None`` if no budget or deadline is common to both folders."""
    in_time: dict[str, Any]
    """Share in time: estimates ``a``, ``b`` and ``difference`` (B minus A), as fractions of 1, each with ``value`` and
    ``interval`` (``low``, ``high``, ``runs``); and ``differs``, as in ``rows``."""
    method: str
    """Method of the intervals of differences."""
    notes: list[str]
    """Contents that only one folder has, and runs without a pair."""
    settings: list[dict[str, str]]
    """Keys with different values in the two scenarios: ``key``, and its values ``a`` and ``b``."""
    rows: list[dict[str, Any]]
    """One row per metric: ``point``, ``transport``, ``workload_name``, ``class``, ``number`` (the metric), ``unit``
    (``share``, ``s``, ``bytes/s``, ``bytes`` or ``count``), ``pairs``, estimates ``a``, ``b`` and ``difference``, and
    ``differs``: ``higher`` or ``lower`` (the interval excludes 0), ``open`` (the interval contains 0), ``equal`` (in every
    pair), ``few-seeds`` (fewer than four pairs), or ``None`` without a difference."""

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
    """Compare two results, or two transports of one result, over pairs of runs with the same seed, like ``duetime compare``.

        >>> duetime.compare(result, pair=("dctcp", "d2tcp"))

    Runs with equal run number and ``seed`` have the same random draws. Their common variation cancels from the difference,
    so its interval is narrower than two separate intervals suggest. See ``docs/compare.md``.

    :param a: a result, or a run folder as a path or a URL that fsspec supports.
    :param b: the result to compare with ``a``.
    :param transports: names of the transports to compare; default: those that both results have.
    :param pair: instead of ``b``, two transports of ``a``: the second is compared with the first. The rows then have the
        transport ``"dctcp -> d2tcp"``.
    :raises ScenarioError: the results have nothing in common, or their ``seed`` differs.
    :raises FolderError: a folder is not a run folder or cannot be read.
    """
    if (b is None) == (pair is None):
        raise ValueError("compare: pass a second result, or pair=(\"dctcp\", \"d2tcp\")")
    if pair is not None and (transports is not None or isinstance(pair, str) or len(pair) != 2):
        raise ValueError(f"pair={pair!r}: must be two transports, without `transports`")
    sources = [a] if b is None else [a, b]
    # A result loaded from a URL owns its temporary copy, so keep the results alive until the comparison is done.
    results = [source if isinstance(source, Result) else load(source) for source in sources]
    if pair is not None:
        text, events_json = _native.compare_transports(results[0].folder, *pair)
    else:
        text, events_json = _native.compare(results[0].folder, results[1].folder, names(transports))
    for source, result in zip(sources, results):
        if not isinstance(source, Result) and url_of(source) is not None:
            text = text.replace(str(result.folder), str(source))
    events: list[tuple[str, dict[str, Any]]] = json.loads(events_json)
    summary = dict(events[0][1])
    del summary["a"], summary["b"]
    return Comparison(
        text=text,
        settings=[fields for event, fields in events if event == "setting"],
        rows=[fields for event, fields in events if event == "difference"],
        **summary,
    )
