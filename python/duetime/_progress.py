"""Progress display: a tqdm bar if tqdm is installed, otherwise a line of text.

In a notebook without widgets, one line is replaced, so a published notebook contains only the last one.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
import time
import warnings
from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol

from ._types import Event, Progress


class _Bar(Protocol):
    """Interface of the progress displays."""

    def show(self, done: float, runs: int, note: str) -> None:
        """Show the number of finished runs, including fractions of running ones."""

    def close(self) -> None:
        """Close the display and keep the last state visible."""


class Reporter:
    """Forwards events to a callback and a progress bar. As a context manager it closes the bar."""

    def __init__(self, progress: Progress) -> None:
        """Create a reporter for the argument ``progress`` of a call."""
        self._callback: Callable[[Event], object] | None = progress if callable(progress) else None
        wanted = progress is True or (progress is None and _is_interactive())
        self._bar: _Bar | None = _bar() if wanted else None
        self._runs = 0
        self._done = 0
        self._parts: dict[int, float] = {}
        self._note = ""

    @property
    def on_event(self) -> Callable[[str], object] | None:
        """Callback for the JSON of each event, or ``None`` if events are not needed."""
        return None if self._callback is None and self._bar is None else self._on

    def _on(self, text: str) -> None:
        event: Event = json.loads(text)
        if self._callback is not None:
            self._callback(event)
        if self._bar is not None:
            self._show(event, self._bar)

    def _show(self, event: Event, bar: _Bar) -> None:
        kind = event["event"]
        if kind in ("study-started", "value-started"):
            self._runs, self._done = event["runs"], event["kept"]
            self._parts.clear()
            if kind == "value-started":
                self._note = f"{event['transport']} at {event['value']}"
        elif kind == "progress":
            self._parts[event["job"]] = min(event["simulated_s"] / event["of_s"], 1.0)
            return
        elif kind in ("run-finished", "run-failed"):
            self._parts.pop(event["job"], None)
            self._done += 1
        elif kind != "overall":
            return
        bar.show(self._done + sum(self._parts.values()), self._runs, self._note)

    def __enter__(self) -> Reporter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()


def _is_interactive() -> bool:
    """Return true in a notebook or on a terminal."""
    return _in_notebook() or (sys.stderr is not None and sys.stderr.isatty())


def _in_notebook() -> bool:
    # Programs that only start kernels import ipykernel too, so also check for an active shell.
    shell: Any = sys.modules.get("IPython")
    return "ipykernel" in sys.modules and shell is not None and shell.get_ipython() is not None


def _bar() -> _Bar:
    if not _in_notebook():
        return _tqdm() or _Lines()
    if importlib.util.find_spec("ipywidgets") is None:
        return _Replaced()
    return _tqdm() or _Replaced()


def _tqdm() -> _Bar | None:
    try:
        with warnings.catch_warnings():
            # tqdm warns if ipywidgets is missing, but its text bar is fine.
            warnings.simplefilter("ignore")
            from tqdm.auto import tqdm
    except ImportError:
        return None

    class Tqdm:
        def __init__(self) -> None:
            self._bar: Any = None

        def show(self, done: float, runs: int, note: str) -> None:
            if self._bar is None:
                shape = "{desc}{percentage:3.0f}%|{bar}| {n:.1f}/{total} runs [{elapsed}<{remaining}]"
                self._bar = tqdm(total=runs, bar_format=shape)
            elif self._bar.total != runs:
                # Notebook widgets update their total only on reset.
                self._bar.reset(runs)
            self._bar.set_description(note, refresh=False)
            self._bar.n = round(done, 3)
            self._bar.refresh()

        def close(self) -> None:
            if self._bar is not None:
                self._bar.close()

    return Tqdm()


class _Lines:
    """A line of text that is overwritten at most twice a second."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._next = 0.0
        self._wide = 0

    def show(self, done: float, runs: int, note: str) -> None:
        now = time.monotonic()
        if now < self._next and done < runs:
            return
        self._next = now + 0.5
        share = done / runs if runs else 0.0
        parts = [note] if note else []
        parts += [f"{share:4.0%}", f"{done:.1f} of {runs} runs", f"{now - self._began:.0f} s"]
        self._write("  ".join(parts))

    def _write(self, line: str) -> None:
        sys.stderr.write("\r" + line.ljust(self._wide))
        sys.stderr.flush()
        self._wide = len(line)

    def close(self) -> None:
        if self._wide:
            sys.stderr.write("\n")
            sys.stderr.flush()


class _Replaced(_Lines):
    """A line of text in a notebook cell's output that is replaced in place."""

    _handle: Any = None

    def _write(self, line: str) -> None:
        text = {"text/plain": line}
        if self._handle is None:
            # IPython has no type annotations.
            shown: Any = importlib.import_module("IPython.display")
            self._handle = shown.display(text, raw=True, display_id=True)
        else:
            self._handle.update(text, raw=True)
