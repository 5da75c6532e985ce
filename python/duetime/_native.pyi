"""Native module in Rust. Use the package ``duetime`` instead; here, records with many fields are passed as JSON."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Literal, final

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
"""Version of Duetime. Equal scenario, seed and version give equal bytes."""

@final
class Source:
    """A valid scenario. Immutable."""

    def __new__(cls, text: str, file: str | os.PathLike[str], settings: list[tuple[str, str]]) -> Source:
        """Create a scenario from TOML text and settings. Errors name `file`, and relative paths are relative to it."""

    @staticmethod
    def read(file: str | os.PathLike[str]) -> Source:
        """Read a scenario from a file."""

    @staticmethod
    def from_json(json: str, file: str | os.PathLike[str]) -> Source:
        """Create a scenario from a JSON object with the keys of the file."""

    def set(self, changes: list[tuple[str, str]]) -> Source:
        """Return a copy with new values, in TOML, at key paths. The result is checked after all of them are applied."""

    def with_trace(self, flows: str, name: str, keep_workloads: bool) -> Source:
        """Return a copy with this trace as its workload, or as an additional workload if `keep_workloads` is true."""

    def to_toml(self) -> str:
        """Return the scenario as TOML: its text with the settings."""

    def resolved(self) -> str:
        """Return the scenario as JSON, with every default filled in."""

    @property
    def text(self) -> str:
        """Original text of the scenario."""

    @property
    def file(self) -> Path:
        """File name in error messages."""

    @property
    def settings(self) -> list[tuple[str, str]]:
        """Key paths and values, in TOML, applied to the text in this order."""

    @property
    def name(self) -> str:
        """Name of the scenario."""

    @property
    def seeds(self) -> int:
        """Number of runs of each transport."""

    @property
    def hosts(self) -> int:
        """Number of hosts of the topology."""

    @property
    def transports(self) -> list[str]:
        """Names of the transports."""

    @property
    def workloads(self) -> list[str]:
        """Names of the workloads."""

    @property
    def duration_s(self) -> float:
        """Simulated time until the sources stop, in seconds."""

@final
class Table:
    """A table in Arrow's memory format, with one batch per run."""

    @staticmethod
    def from_ipc(bytes: bytes) -> Table:
        """Read a table from the bytes of an Arrow IPC stream."""

    def to_ipc(self) -> bytes:
        """Return the table as the bytes of an Arrow IPC stream."""

    @property
    def num_rows(self) -> int:
        """Number of rows."""

    @property
    def names(self) -> list[str]:
        """Names of the columns."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any:
        """Return the table as an Arrow stream, without copying."""

    def __arrow_c_schema__(self) -> Any:
        """Return the columns as an Arrow schema."""

@final
class Folder:
    """A run folder, open for reading."""

    def __new__(cls, path: str | os.PathLike[str]) -> Folder:
        """Open the run folder at `path`."""

    def manifest(self) -> str:
        """Return the contents of `manifest.json`."""

    def text(self) -> str:
        """Return the tables that `duetime run` prints."""

    def rows(self) -> str:
        """Return the rows of the printed tables as JSON: `warnings`, `queries`, `best`, `rows`, `verdicts`."""

    def table(
        self,
        name: str,
        all: bool,
        axes: list[tuple[str, str | None, str, dict[str, bool | int | float | str]]],
        seed: tuple[str, str | None, str, dict[str, bool | int | float | str]],
    ) -> Table:
        """Return a table of all finished runs. Unless `all` is true, it has only the rows that the summary counts.

        `axes` are inserted as the first columns, `seed` after the run number; each is a name, unit, meaning, and values by
        point.
        """

    def report(self) -> Path:
        """Write `report.html` and return its path."""

@final
class Plan:
    """The runs of a sweep: points × transports × seeds. Immutable."""

    def __new__(
        cls, source: Source, transports: list[str], axes: list[list[tuple[str, str | list[str]]]] | None
    ) -> Plan:
        """Create the plan of a grid over these axes; default: the axes of the scenario.

        The keys of one axis change together. Values are a list in TOML, or a string as for `--vary`.
        """

    def check(self) -> None:
        """Raise an error unless every point can be simulated. `sweep` checks this itself."""

    @property
    def name(self) -> str:
        """Name of the scenario."""

    @property
    def points(self) -> list[list[tuple[str, str]]]:
        """Settings of each point."""

    def runs(self) -> list[tuple[int, str, int]]:
        """Return every run in the order of their start: index of the point, transport, and run number."""

    def manifest(self) -> str:
        """Return the `manifest.json` of the sweep before its first run."""

    def files(self) -> dict[str, bytes]:
        """Return the contents of the files that the scenario names, by their paths in the scenario."""

    def missing(self, out: str | os.PathLike[str] | None) -> list[int]:
        """Return the indices of the runs that the folder does not contain. Raise an error if it contains another study."""

    def estimate_s(self, missing: list[int], jobs: int | None) -> float:
        """Estimate the wall time of the runs with these indices, in seconds, by starting some of them. `jobs` run concurrently."""

@final
class Remote:
    """Folder of a sweep whose runs are executed by other processes."""

    def __new__(cls, plan: Plan, out: str | os.PathLike[str], overwrite: bool) -> Remote:
        """Prepare the folder `out` to receive runs."""

    def events(self) -> list[str]:
        """Return the events since the last call, each as JSON."""

    def missing(self) -> list[int]:
        """Return the indices of the runs that are neither stored nor failed."""

    def adopt(self, run: int, staged: str | os.PathLike[str]) -> float | None:
        """Store the run that `make_runs` wrote to `staged`. Return its wall time in seconds, or `None` if already stored."""

    def fail(self, run: int, why: str) -> None:
        """Record a failed run with its reason."""

    def report_progress(self, at_once: int) -> None:
        """Emit a progress event, given the number of concurrent runs."""

    def end(self, cancelled: bool) -> None:
        """Complete the manifest and release the folder to other writers."""

    def summarise(self, report: bool) -> Folder:
        """Write the summary of the folder and, if `report` is true, its report. Requires that the sweep has ended."""

def cli(arguments: list[str]) -> int:
    """Run the command `duetime` and return its exit code. The first argument is the program's name."""

def schema() -> str:
    """Return the JSON Schema of the scenario file."""

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
    """Execute the runs of a scenario that the folder `out` does not contain."""

def sweep(
    plan: Plan,
    out: str | os.PathLike[str],
    *,
    jobs: int | None,
    overwrite: bool,
    report: bool,
    on_event: Callable[[str], object] | None,
) -> Folder:
    """Execute the runs of a sweep that the folder `out` does not contain, in this process."""

def make_runs(
    manifest: str,
    files: dict[str, bytes],
    runs: list[tuple[int, str, int, Path]],
    *,
    jobs: int,
    on_event: Callable[[str], object] | None,
) -> list[tuple[int, str]]:
    """Execute runs of the sweep in a manifest, each into a separate folder. Return the index and reason of each failed run.

    A run is the index of its point, its transport, its run number, and the path of its folder.
    """

def columns(table: str) -> list[tuple[str, str]]:
    """Return the columns of a table: names and meanings with units."""

def compare(
    a: str | os.PathLike[str], b: str | os.PathLike[str], transports: list[str]
) -> tuple[str, str]:
    """Return the output of `duetime compare` for two run folders, and its events as JSON: pairs of a name and fields."""

def compare_transports(folder: str | os.PathLike[str], a: str, b: str) -> tuple[str, str]:
    """Compare two transports of one run folder. Returns the same types as `compare`."""

def looks(names: list[str]) -> list[tuple[str, str, str, list[float]]]:
    """Return the style of each transport's series in a figure.

    A style is a display name, a colour as `#rrggbb`, a marker name, and dash lengths, empty for a solid line.
    """

def numbers(values: list[str]) -> tuple[list[float], str] | None:
    """Return the values of a scenario key as numbers, and their unit, or `None` if they are not numbers of one unit."""

def service(kind: str, answers: list[tuple[str, str]]) -> str:
    """Return the scenario that `duetime new` writes for a service. `answers` are flags with values; the others have defaults."""

def flows_csv(table: object, hosts: int, accept_extra: bool) -> str:
    """Convert a table of flows to the CSV text of a trace, sorted by start.

    The table is an Arrow stream in a capsule, or a dict of lists. `hosts` is the number of hosts of the topology. If
    `accept_extra` is true, unknown columns are ignored.
    """

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
    """Search for the capacity of each transport. Return the results as JSON."""

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
    """Fit a scenario to a file. Return the scenario, the command's output and the comparison with the input as JSON."""

def experiments(papers: str | os.PathLike[str] | None) -> str:
    """Return the papers' experiments as JSON."""

def paper(
    which: list[str],
    out: str | os.PathLike[str],
    *,
    extent: Literal["quick", "settled", "full"],
    papers: str | os.PathLike[str] | None,
    jobs: int | None,
    on_event: Callable[[str], object] | None,
) -> str:
    """Run some of the papers' experiments. Return rows, counts and files as JSON."""
