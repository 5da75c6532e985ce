"""The part in Rust. Use the package ``duetime``, which gives it types: records of many fields pass here as JSON."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, final

__all__ = [
    "Folder",
    "Plan",
    "Remote",
    "Source",
    "Table",
    "VERSION",
    "capacity",
    "cli",
    "columns",
    "compare",
    "compare_transports",
    "experiments",
    "fit",
    "flows_csv",
    "looks",
    "make_runs",
    "numbers",
    "paper",
    "run",
    "schema",
    "service",
    "sweep",
]

VERSION: Final[str]
"""The version of Duetime: results of the same scenario, seed and version are the same bytes."""

@final
class Source:
    """A scenario that was read and found to make sense. It never changes."""

    def __new__(cls, text: str, file: str | os.PathLike[str], settings: list[tuple[str, str]]) -> Source:
        """From a text and what is set over it; `file` is what errors call it, and where the files that it names are looked
        for."""

    @staticmethod
    def read(file: str | os.PathLike[str]) -> Source:
        """From a file."""

    @staticmethod
    def from_json(json: str, file: str | os.PathLike[str]) -> Source:
        """From the JSON of an object with the keys of the file."""

    def set(self, changes: list[tuple[str, str]]) -> Source:
        """The same with other values, in TOML, at key paths. Only all of them together must make sense."""

    def with_trace(self, flows: str, name: str, beside: bool) -> Source:
        """The same with this trace in place of its workloads, or beside them."""

    def to_toml(self) -> str:
        """As TOML: as it was written or, where something was set, without comments."""

    def resolved(self) -> str:
        """As JSON, with every default filled in."""

    @property
    def text(self) -> str:
        """The scenario as it was written."""

    @property
    def file(self) -> Path:
        """What errors call it."""

    @property
    def settings(self) -> list[tuple[str, str]]:
        """Key paths and values, in TOML, that are set over it in turn."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def seeds(self) -> int:
        """Runs of each transport."""

    @property
    def hosts(self) -> int:
        """Hosts of the topology."""

    @property
    def transports(self) -> list[str]:
        """Names of the transports to compare."""

    @property
    def workloads(self) -> list[str]:
        """Names of the workloads."""

    @property
    def duration_s(self) -> float:
        """Simulated time until the sources stop, s."""

@final
class Table:
    """A table in Arrow's memory, one batch per run."""

    @staticmethod
    def from_ipc(bytes: bytes) -> Table:
        """Reads a table from the bytes of an Arrow IPC stream."""

    def to_ipc(self) -> bytes:
        """Returns the table as the bytes of an Arrow IPC stream."""

    @property
    def num_rows(self) -> int:
        """Rows."""

    @property
    def names(self) -> list[str]:
        """Names of the columns."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any:
        """The table as an Arrow stream, without copying."""

    def __arrow_c_schema__(self) -> Any:
        """The columns as an Arrow schema."""

@final
class Folder:
    """A run folder, opened to read."""

    def __new__(cls, path: str | os.PathLike[str]) -> Folder:
        """Opens the run folder at `path`."""

    def manifest(self) -> str:
        """`manifest.json`, as JSON."""

    def text(self) -> str:
        """The tables that `duetime run` prints."""

    def rows(self) -> str:
        """The rows of those tables, as JSON: `warnings`, `queries`, `best`, `rows`, `verdicts`."""

    def table(
        self,
        name: str,
        all: bool,
        axes: list[tuple[str, str | None, str, dict[str, bool | int | float | str]]],
        seed: tuple[str, str | None, str, dict[str, bool | int | float | str]],
    ) -> Table:
        """Returns one table of all finished runs; unless `all`, only the rows that the summary counts. `axes` are columns in
        front, `seed` is a column behind the number of the run: name, unit, meaning, and values by points."""

    def report(self) -> Path:
        """Writes `report.html`."""

@final
class Plan:
    """A sweep, resolved: points × transports × runs. It never changes."""

    def __new__(
        cls, source: Source, transports: list[str], axes: list[list[tuple[str, str | list[str]]]] | None
    ) -> Plan:
        """Of a grid over these axes: their values, each in TOML, or as `--vary` takes them all; none: those of the
        scenario. The keys of one axis change together."""

    def check(self) -> None:
        """Whether every point can be simulated; a sweep looks itself."""

    @property
    def name(self) -> str:
        """The scenario's name."""

    @property
    def points(self) -> list[list[tuple[str, str]]]:
        """The settings of each point."""

    def runs(self) -> list[tuple[int, str, int]]:
        """Every run, in the order in which they are begun: the point's number, the transport, the run's number."""

    def manifest(self) -> str:
        """`manifest.json` of the sweep before its first run."""

    def files(self) -> dict[str, bytes]:
        """The files that the scenario names, by the paths that it gives them."""

    def missing(self, out: str | os.PathLike[str] | None) -> list[int]:
        """The numbers of the runs that the folder does not hold; an error if it holds another study."""

    def estimate_s(self, missing: list[int], jobs: int | None) -> float:
        """Wall time that the runs of these numbers may take here with so many at a time, s: some are begun."""

@final
class Remote:
    """The folder of a sweep whose runs other processes make."""

    def __new__(cls, plan: Plan, out: str | os.PathLike[str], overwrite: bool) -> Remote:
        """Makes the folder `out` ready to take runs over."""

    def events(self) -> list[str]:
        """What has happened since the last call: the JSON of each event."""

    def missing(self) -> list[int]:
        """The numbers of the runs that are neither kept nor failed."""

    def adopt(self, run: int, staged: str | os.PathLike[str]) -> float | None:
        """Takes over the run that `make_runs` left at `staged`; gives its wall time, s, unless it is kept already."""

    def fail(self, run: int, why: str) -> None:
        """Notes that a run failed, and why."""

    def tell(self, at_once: int) -> None:
        """Tells how far things are, with so many runs at a time."""

    def end(self, cancelled: bool) -> None:
        """Finishes the manifest. Others may write to the folder from now on."""

    def summarise(self, report: bool) -> Folder:
        """Writes the summary of what the folder holds, and its report, once it has ended."""

def cli(arguments: list[str]) -> int:
    """Does what the command `duetime` does with these arguments, the first of them the program's name; gives the exit
    code."""

def schema() -> str:
    """The JSON Schema of the scenario file, as JSON."""

def run(
    source: Source,
    out: str | os.PathLike[str],
    *,
    transports: list[str],
    jobs: int | None,
    threads: int,
    if_exists: str,
    report: bool,
    on_event: Callable[[str], object] | None,
) -> Folder:
    """Makes the runs of a scenario that the folder `out` does not hold."""

def sweep(
    plan: Plan,
    out: str | os.PathLike[str],
    *,
    jobs: int | None,
    overwrite: bool,
    report: bool,
    on_event: Callable[[str], object] | None,
) -> Folder:
    """Makes the runs of a sweep that the folder `out` does not hold, here."""

def make_runs(
    manifest: str,
    files: dict[str, bytes],
    runs: list[tuple[int, str, int, Path]],
    *,
    jobs: int,
    on_event: Callable[[str], object] | None,
) -> list[tuple[int, str]]:
    """Makes runs of the sweep that a manifest describes, each a folder at a place of its own: the point's number, the
    transport, the run's number, the place. Gives what failed: the index of the run, and why."""

def columns(table: str) -> list[tuple[str, str]]:
    """The columns of a table: names and what they mean, with units."""

def compare(
    a: str | os.PathLike[str], b: str | os.PathLike[str], transports: list[str]
) -> tuple[str, str]:
    """What `duetime compare` prints of two run folders, and its events as JSON: pairs of a name and fields."""

def compare_transports(folder: str | os.PathLike[str], a: str, b: str) -> tuple[str, str]:
    """Compares two transports of one run folder; returns what `compare` returns."""

def looks(names: list[str]) -> list[tuple[str, str, str, list[float]]]:
    """How the series of these transports look in one figure: name for readers, colour as `#rrggbb`, name of the marker, and
    lengths of strokes and gaps, none for a solid line."""

def numbers(values: list[str]) -> tuple[list[float], str] | None:
    """The values of a key of a scenario as numbers, and their unit; `None` if they are not numbers of one unit."""

def service(kind: str, answers: list[tuple[str, str]]) -> str:
    """What `duetime new` writes for a service of this kind: `answers` are names of its flags with what they are given; for
    the others usual values are taken."""

def flows_csv(table: object, hosts: int, accept_extra: bool) -> str:
    """The text of a trace in CSV, sorted by start, of a table of flows: an Arrow stream in a capsule, or a dict of lists.
    `hosts` is how many hosts the flows may be between. With `accept_extra`, columns of other names are left out."""

def capacity(
    source: Source,
    journal: str | os.PathLike[str],
    *,
    of: str,
    layer: int | None,
    on: str | None,
    target: str | None,
    workload: list[str],
    step: str | None,
    check_all: bool,
    transports: list[str],
    jobs: int | None,
    on_event: Callable[[str], object] | None,
) -> str:
    """Searches for the most that each transport carries; gives the answers as JSON."""

def fit(
    source: str | os.PathLike[str],
    *,
    kind: str | None,
    budget: str | None,
    link: str | None,
    hosts: int | None,
    buffer: str | None,
    other_load: str | None,
    transports: list[str],
    burst: str | None,
) -> str:
    """Fits a scenario to a file; gives it, what the command prints, and both sides as JSON."""

def experiments(papers: str | os.PathLike[str] | None) -> str:
    """The papers' experiments, as JSON."""

def paper(
    which: list[str],
    out: str | os.PathLike[str],
    *,
    quick: bool,
    papers: str | os.PathLike[str] | None,
    jobs: int | None,
    on_event: Callable[[str], object] | None,
) -> str:
    """Runs some of the papers' experiments; gives rows, counts and files as JSON."""
