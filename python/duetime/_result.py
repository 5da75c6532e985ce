"""Results of runs: tables, summary and run folder."""

from __future__ import annotations

import html
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args, overload

from . import _native
from ._errors import FolderError
from ._grid import Cell, Grid
from ._place import Storage, path_of, temporary, url_of
from ._progress import Reporter
from ._scenario import Scenario
from ._summary import Summary, table
from ._types import Progress, StrPath

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

TableName: TypeAlias = Literal["queries", "flows", "ports", "servers", "queues", "throughput"]
"""Name of a table of a run folder; ``docs/results.md`` lists the columns."""

_SHOWN = 8
"""Number of rows in the HTML view of a table."""


class Table:
    """A table in Arrow's memory format: one row per query, flow, port or sample of all runs, with ``transport`` and ``run``.

    The table has the Arrow PyCapsule interface: ``polars.DataFrame(table)``, ``pyarrow.table(table)`` and DuckDB read it
    without copying. Column names end in their units; missing values are null. The metadata of each field has its meaning under
    ``description`` and its unit, if any, under ``unit``. Tables of a sweep start with the name of the ``point`` and the axes:
    ``workload.deadline`` in milliseconds is the column ``workload_deadline_ms``.
    """

    def __init__(self, table: _native.Table, name: TableName, additions: Mapping[str, str] | None = None) -> None:
        """Wrap a native table. ``additions`` describes the columns that are not in the files, by name."""
        self._table = table
        self._name = name
        self._additions = dict(additions or {})

    @property
    def columns(self) -> dict[str, str]:
        """Meaning and unit of each column, by name."""
        meanings = {**dict(_native.columns(self._name)), **self._additions}
        return {name: meanings[name] for name in self._table.names}

    def __reduce__(self) -> tuple[object, ...]:
        return _table_of, (self._table.to_ipc(), self._name, self._additions)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return self._table.num_rows, len(self._table.names)

    def __len__(self) -> int:
        return self._table.num_rows

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the table as an Arrow stream, without copying."""
        return self._table.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """Return the columns as an Arrow schema."""
        return self._table.__arrow_c_schema__()

    def to_arrow(self) -> pyarrow.Table:
        """Return a pyarrow table that shares the memory. Requires pyarrow."""
        import pyarrow

        return pyarrow.table(self)

    def to_polars(self) -> polars.DataFrame:
        """Return a polars frame; numbers are not copied. Requires polars."""
        import polars

        return polars.DataFrame(self)

    def to_pandas(self, *, arrow: bool = False) -> pandas.DataFrame:
        """Return a pandas frame. Requires pandas and pyarrow.

        Integer columns with nulls become floats, as usual in pandas. With ``arrow=True`` the columns keep Arrow's types and
        memory.
        """
        import pandas

        frame: pandas.DataFrame
        if arrow:
            frame = self.to_arrow().to_pandas(types_mapper=pandas.ArrowDtype)
        else:
            frame = self.to_arrow().to_pandas()
        return frame

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"<Table {self._name}: {rows} rows, {columns} columns>"

    def _repr_html_(self) -> str:
        """Return the first rows as HTML, or the meanings of the columns if neither pyarrow nor polars is installed."""
        title = f"<p>{html.escape(self._name)}: {self.shape[0]:,} rows, {self.shape[1]} columns</p>"
        rows = self._first(_SHOWN)
        if rows is None:
            return title + table(["column", "meaning"], [[*column] for column in self.columns.items()])
        return title + table(self._table.names, [["" if cell is None else str(cell) for cell in row] for row in rows])

    def _first(self, count: int) -> list[tuple[object, ...]] | None:
        try:
            import polars
        except ImportError:
            try:
                head = self.to_arrow().slice(0, count)
            except ImportError:
                return None
            return list(zip(*(column.to_pylist() for column in head.columns)))
        return polars.DataFrame(self).head(count).rows()


@dataclass(frozen=True)
class Failure:
    """A run that failed."""

    point: str | None
    """Folder name of the sweep's point; ``None`` without a sweep."""
    transport: str
    """Name of the transport."""
    run: int
    """Run number, from 0."""
    reason: str
    """Error message."""


class Result:
    """The runs of a scenario: tables, summary and run folder.

    A pickled result contains the path of its run folder or, if the folder is temporary, all of its files.
    """

    def __init__(self, folder: StrPath) -> None:
        """Open an existing run folder; :func:`run` creates one."""
        self._open(_native.Folder(folder), Path(folder), None)

    def _open(
        self,
        opened: _native.Folder,
        path: Path,
        temporary: tempfile.TemporaryDirectory[str] | None,
    ) -> None:
        self._folder = opened
        self._path = path
        # Keeps the temporary folder alive as long as the result.
        self._temporary = temporary
        self._tables: dict[tuple[str, bool], Table] = {}

    @property
    def folder(self) -> Path:
        """Path of the run folder. A temporary folder is deleted with the result; :meth:`save` keeps it."""
        return self._path

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """Contents of ``manifest.json``: the request, version and machine, and the state of each run."""
        manifest: dict[str, Any] = json.loads(self._folder.manifest())
        return manifest

    @cached_property
    def scenario(self) -> Scenario:
        """The simulated scenario."""
        manifest = self.manifest
        settings = [(key, value) for key, value in manifest["overrides"]]
        source = _native.Source(manifest["scenario_text"], manifest["scenario_file"], settings)
        return Scenario._of(source)

    @property
    def transports(self) -> list[str]:
        """Names of the transports."""
        return list(self.manifest["transports"])

    @property
    def digests(self) -> dict[tuple[str, int], str]:
        """Digest of each finished run by transport and run number. Equal runs have equal digests on any machine.

        In a sweep, the transport's name is preceded by the point's.
        """
        done = (run for run in self.manifest["runs"] if run["digest"] is not None)
        names = (
            (f"{run['point']}, {run['transport']}" if run["point"] else run["transport"], run)
            for run in done
        )
        return {(name, run["run"]): run["digest"] for name, run in names}

    @property
    def failures(self) -> list[Failure]:
        """Failed runs with their reasons.

        The folder contains the reasons too, as ``NUMBER.failed.txt`` in place of the results. Resuming the run or sweep
        repeats the failed runs.
        """
        failed = (run for run in self.manifest["runs"] if run["state"] == "failed")
        return [Failure(run["point"], run["transport"], run["run"], run["reason"]) for run in failed]

    @cached_property
    def summary(self) -> Summary:
        """Summary over all runs; ``print(result.summary)`` prints the tables of ``duetime run``."""
        return Summary(text=self._folder.text(), **json.loads(self._folder.rows()), _grid=self._grid)

    @cached_property
    def _grid(self) -> Grid:
        return Grid.of(self.manifest)

    def table(self, name: TableName, *, all: bool = False) -> Table:
        """Return a table of all finished runs. The table is read once and then shared.

        :param all: return every row of queries and flows; default: only the rows that :attr:`summary` counts. These exclude
            queries and flows that start before ``warm_up`` or from ``duration`` on, and answers that a hedge or retry made
            redundant (column ``spare``).
        """
        if (name, all) not in self._tables:
            grid = self._grid
            meanings = {"point": "The point of the sweep."}
            columns: list[tuple[str, str | None, str, dict[str, Cell]]] = []
            for axis in grid.columns:
                unit = f", in {axis.unit}" if axis.unit else ""
                meanings[axis.name] = f"`{axis.key}` of the point{unit}."
                values = {point: axis.at(settings) for point, settings in grid.points.items()}
                columns.append((axis.name, axis.unit, meanings[axis.name], values))
            swept = grid.find("seed")
            seeds: dict[str, Cell] = dict.fromkeys(grid.points or [""], self.manifest["seed"])
            if swept is not None:
                seeds = {point: swept.at(settings) for point, settings in grid.points.items()}
            meanings["seed"] = "`seed` of the scenario. Runs with the same `seed` and `run` have the same random draws."
            seed = ("seed", None, meanings["seed"], seeds)
            self._tables[name, all] = Table(self._folder.table(name, all, columns, seed), name, meanings)
        return self._tables[name, all]

    @property
    def queries(self) -> Table:
        """One row per measured query, as seen by the root of its tree.

        ``met`` is false for a query that never received enough answers. ``result.table("queries", all=True)`` includes
        queries that are not measured.
        """
        return self.table("queries")

    @property
    def flows(self) -> Table:
        """One row per measured flow. ``result.table("flows", all=True)`` includes flows that are not measured."""
        return self.table("flows")

    @property
    def ports(self) -> Table:
        """One row per port, the sending side of one direction of a link."""
        return self.table("ports")

    @property
    def servers(self) -> Table:
        """One row per computing host: utilisation and waits of its servers. Empty if ``host.servers`` is unlimited."""
        return self.table("servers")

    @property
    def queues(self) -> Table:
        """One row per sampled link and time: length of the queue. Empty unless the scenario has ``record.every``."""
        return self.table("queues")

    @property
    def throughput(self) -> Table:
        """One row per sampled link and time: bytes sent. Empty unless the scenario has ``record.every``."""
        return self.table("throughput")

    def to_arrow(self, table: TableName = "flows") -> pyarrow.Table:
        """Return a table as a pyarrow table: see :meth:`table` and :meth:`Table.to_arrow`."""
        return self.table(table).to_arrow()

    def to_polars(self, table: TableName = "flows") -> polars.DataFrame:
        """Return a table as a polars frame: see :meth:`table` and :meth:`Table.to_polars`."""
        return self.table(table).to_polars()

    def to_pandas(self, table: TableName = "flows", *, arrow: bool = False) -> pandas.DataFrame:
        """Return a table as a pandas frame: see :meth:`table` and :meth:`Table.to_pandas`."""
        return self.table(table).to_pandas(arrow=arrow)

    @overload
    def save(self, folder: os.PathLike[str], *, report: bool = True, overwrite: bool = False) -> Path: ...

    @overload
    def save(self, folder: str, *, report: bool = True, overwrite: bool = False) -> Path | str: ...

    def save(self, folder: StrPath, *, report: bool = True, overwrite: bool = False) -> Path | str:
        """Write the run folder to ``folder``, in the format of ``duetime run --out``.

        A path is written completely or not at all. Object storage cannot replace a folder atomically, so the manifest, which
        makes it a run folder, is written last.

        :param folder: a path, or a URL that fsspec supports, such as ``s3://bucket/run``. It must be empty, or a run folder if
            ``overwrite`` is set.
        :param report: include ``report.html``.
        :param overwrite: replace an existing run folder.
        :returns: the path or the URL.
        """
        url = url_of(folder)
        if url is not None:
            self._send(Storage(url), report, overwrite)
            return url
        place = path_of(folder)
        self._write_report(report)
        occupied = place.exists() and (not place.is_dir() or any(place.iterdir()))
        if occupied and overwrite:
            # Raises an error unless it is a run folder: nothing else is replaced.
            _native.Folder(place)
        elif occupied:
            raise FolderError(f"`{place}` exists and is not empty (overwrite=True)")
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{place.name}.", dir=place.parent) as staging:
            copy = Path(staging) / "run"
            shutil.copytree(self._path, copy)
            if place.exists():
                place.rename(Path(staging) / "old")
            copy.rename(place)
        return place

    def _send(self, storage: Storage, report: bool, overwrite: bool) -> None:
        if overwrite:
            # Raises an error unless it is a run folder: nothing else is replaced.
            storage.fetch(self._path, without=True)
        else:
            storage.require_empty("overwrite=True")
        self._write_report(report)
        storage.finish(self._path)

    def _write_report(self, report: bool) -> None:
        if report and not (self._path / "report.html").exists():
            self._folder.report()

    def __reduce__(self) -> tuple[object, ...]:
        # A temporary folder is deleted with its result, so the pickle contains its files.
        if self._temporary is None:
            return Result, (str(self._path.resolve()),)
        files = (path for path in self._path.rglob("*") if path.is_file())
        return _unpacked, ({path.relative_to(self._path).as_posix(): path.read_bytes() for path in files},)

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(repr(self)[1:-1])}</p>{self.summary._repr_html_()}"

    def __repr__(self) -> str:
        done = sum(run["state"] == "done" for run in self.manifest["runs"])
        return f"<Result of {self.manifest['name']!r}: {done} runs of {', '.join(self.transports)}>"


def load(folder: StrPath) -> Result:
    """Open a run folder written by :func:`run`, :func:`sweep` or the command.

    :param folder: a path, or a URL that fsspec supports. A folder at a URL is copied to a temporary one, which is deleted with
        the result.
    :raises FolderError: the folder does not exist, is damaged, or has another version.
    """
    url = url_of(folder)
    if url is None:
        return Result(path_of(folder))
    holder, copy = temporary()
    try:
        Storage(url).fetch(copy)
        if not copy.exists():
            raise FolderError(f"no run folder at `{url}`")
        return result_of(_native.Folder(copy), copy, holder)
    except BaseException:
        holder.cleanup()
        raise


def _table_of(content: bytes, name: TableName, additions: Mapping[str, str]) -> Table:
    return Table(_native.Table.from_ipc(content), name, additions)


def _unpacked(files: Mapping[str, bytes]) -> Result:
    """Return a result with the given files in a new temporary folder."""
    holder, place = temporary()
    for name, content in files.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return result_of(_native.Folder(place), place, holder)


def result_of(
    opened: _native.Folder,
    path: Path,
    temporary: tempfile.TemporaryDirectory[str] | None,
) -> Result:
    """Return a result that owns its temporary folder, if it has one."""
    result = Result.__new__(Result)
    result._open(opened, path, temporary)
    return result


def execute(
    out: StrPath | None,
    progress: Progress,
    make: Callable[[Path, Callable[[str], object] | None], _native.Folder],
    *,
    overwrite: bool = False,
    resume: bool = True,
) -> Result:
    """Execute runs in a folder and return their result.

    :param out: a path, or a URL to which each finished run is copied; ``None``: a temporary folder.
    :param make: executes the runs in the folder and calls a function with every event.
    :param overwrite: replace the contents of the URL.
    :param resume: keep the contents of the URL. If neither option is set, the URL must be empty.
    """
    url = None if out is None else url_of(out)
    storage = None if url is None else Storage(url)
    holder = None
    if out is None or storage is not None:
        holder, place = temporary()
    else:
        place = path_of(out)
    try:
        if storage is not None:
            if not (overwrite or resume):
                storage.require_empty("resume=True, overwrite=True")
            storage.fetch(place, without=overwrite)
        with Reporter(progress) as reporter:
            on_event = reporter.on_event if storage is None else storage.uploading(place, reporter.on_event)
            try:
                folder = make(place, on_event)
            finally:
                if storage is not None:
                    storage.finish(place)
    except BaseException:
        if holder is not None:
            holder.cleanup()
        raise
    return result_of(folder, place, holder)


TABLES: tuple[TableName, ...] = get_args(TableName)
"""Names of all tables."""
