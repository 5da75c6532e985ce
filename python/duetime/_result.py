"""What a run leaves."""

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
from ._progress import Teller
from ._scenario import Scenario
from ._summary import Summary, table
from ._types import Progress, StrPath

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

TableName: TypeAlias = Literal["queries", "flows", "ports", "servers", "queues", "throughput"]
"""The tables of a run folder; ``docs/results.md`` has every column."""

_SHOWN = 8
"""Rows of a table that a notebook shows."""


class Table:
    """A table in Arrow's memory: one row per query, flow, port or sample of all runs, with its ``transport`` and ``run``.

    It has the Arrow PyCapsule interface: ``polars.DataFrame(table)``, ``pyarrow.table(table)`` and DuckDB read it without
    copying. Column names end in their units; what is absent is null. Each field has its meaning in the metadata under
    ``description`` and, if it has a unit, the unit under ``unit``. The tables of a sweep have its axes in front, next to the
    name of the ``point``: ``workload.deadline`` in milliseconds is the column ``workload_deadline_ms``.
    """

    def __init__(self, table: _native.Table, name: TableName, additions: Mapping[str, str] | None = None) -> None:
        """Of a table of the part in Rust; ``additions`` are its columns that are not in the files, with what they mean."""
        self._table = table
        self._name = name
        self._additions = dict(additions or {})

    @property
    def columns(self) -> dict[str, str]:
        """What each column means, with its unit, by its name."""
        meanings = {**dict(_native.columns(self._name)), **self._additions}
        return {name: meanings[name] for name in self._table.names}

    def __reduce__(self) -> tuple[object, ...]:
        return _table_of, (self._table.to_ipc(), self._name, self._additions)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self._table.num_rows, len(self._table.names)

    def __len__(self) -> int:
        return self._table.num_rows

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The table as an Arrow stream, without copying."""
        return self._table.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """The columns as an Arrow schema."""
        return self._table.__arrow_c_schema__()

    def to_arrow(self) -> pyarrow.Table:
        """As a table of pyarrow, in the same memory. Needs pyarrow."""
        import pyarrow

        return pyarrow.table(self)

    def to_polars(self) -> polars.DataFrame:
        """As a frame of polars; numbers stay where they are. Needs polars."""
        import polars

        return polars.DataFrame(self)

    def to_pandas(self, *, arrow: bool = False) -> pandas.DataFrame:
        """As a frame of pandas. Needs pandas and pyarrow.

        Columns of integers with nulls become floats, as pandas has it. With ``arrow=True`` the columns keep Arrow's types
        and memory.
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
        """The first rows where pyarrow or polars is installed, otherwise what the columns mean."""
        title = f"<p>{html.escape(self._name)}: {self.shape[0]:,} rows, {self.shape[1]} columns</p>"
        rows = self._first(_SHOWN)
        if rows is None:
            return title + table(["column", "meaning"], [[*of] for of in self.columns.items()])
        return title + table(self._table.names, [["" if of is None else str(of) for of in row] for row in rows])

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
    """The point of the sweep, by the name of its folder; ``None`` without a sweep."""
    transport: str
    """The transport."""
    run: int
    """The run's number, from 0."""
    reason: str
    """Why."""


class Result:
    """The runs of a scenario: tables, their summary, and the run folder behind them.

    A pickle has the path of the run folder, and of a temporary one all files.
    """

    def __init__(self, folder: StrPath) -> None:
        """Of a run folder that is there; :func:`run` makes one."""
        self._open(_native.Folder(folder), Path(folder), None)

    def _open(
        self,
        opened: _native.Folder,
        path: Path,
        temporary: tempfile.TemporaryDirectory[str] | None,
    ) -> None:
        self._folder = opened
        self._path = path
        # A temporary folder goes with its last user.
        self._temporary = temporary
        self._tables: dict[tuple[str, bool], Table] = {}

    @property
    def folder(self) -> Path:
        """The run folder. A temporary one is removed with the result: :meth:`save` keeps it."""
        return self._path

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """What was asked, by which version, on which machine, and how each run ended: ``manifest.json``."""
        manifest: dict[str, Any] = json.loads(self._folder.manifest())
        return manifest

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario that was run."""
        of = self.manifest
        settings = [(key, value) for key, value in of["overrides"]]
        source = _native.Source(of["scenario_text"], of["scenario_file"], settings)
        return Scenario._of(source)

    @property
    def transports(self) -> list[str]:
        """The transports that were compared."""
        return list(self.manifest["transports"])

    @property
    def digests(self) -> dict[tuple[str, int], str]:
        """The digest of each finished run by transport and number: equal for equal runs, on any machine. Of a sweep the
        name has the point in front."""
        done = (run for run in self.manifest["runs"] if run["digest"] is not None)
        names = (
            (f"{run['point']}, {run['transport']}" if run["point"] else run["transport"], run)
            for run in done
        )
        return {(name, run["run"]): run["digest"] for name, run in names}

    @property
    def failures(self) -> list[Failure]:
        """Runs that failed, and why. Their reasons are in the folder too, as ``NUMBER.failed.txt`` where their results would
        be. A run or a sweep that is taken up again tries them again."""
        failed = (run for run in self.manifest["runs"] if run["state"] == "failed")
        return [Failure(run["point"], run["transport"], run["run"], run["reason"]) for run in failed]

    @cached_property
    def summary(self) -> Summary:
        """What the runs amount to; ``print(result.summary)`` shows the tables that ``duetime run`` prints."""
        return Summary(text=self._folder.text(), **json.loads(self._folder.rows()), _grid=self._grid)

    @cached_property
    def _grid(self) -> Grid:
        return Grid.of(self.manifest)

    def table(self, name: TableName, *, all: bool = False) -> Table:
        """Returns a table of all finished runs. It is read once and then shared.

        :param all: of queries and flows, every row; default: only the rows that :attr:`summary` counts. It leaves out
            queries and flows that start before ``warm_up`` or from ``duration`` on, and answers that another question to
            the same leaf made useless (column ``spare``).
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
        """One row per measured query, as the root of its tree sees it. ``met`` is false for a query that never had enough
        answers. ``result.table("queries", all=True)`` has the others too."""
        return self.table("queries")

    @property
    def flows(self) -> Table:
        """One row per measured flow. ``result.table("flows", all=True)`` has the others too."""
        return self.table("flows")

    @property
    def ports(self) -> Table:
        """One row per port, which is one direction of a link."""
        return self.table("ports")

    @property
    def servers(self) -> Table:
        """One row per computing host: utilisation and waits of its servers. Empty where ``host.servers`` is unlimited."""
        return self.table("servers")

    @property
    def queues(self) -> Table:
        """One row per sampled link and time: its queue. Empty unless the scenario has ``record.every``."""
        return self.table("queues")

    @property
    def throughput(self) -> Table:
        """One row per sampled link and time: what crossed it. Empty unless the scenario has ``record.every``."""
        return self.table("throughput")

    def to_arrow(self, table: TableName = "flows") -> pyarrow.Table:
        """Returns a table for pyarrow: see :meth:`table` and :meth:`Table.to_arrow`."""
        return self.table(table).to_arrow()

    def to_polars(self, table: TableName = "flows") -> polars.DataFrame:
        """Returns a table for polars: see :meth:`table` and :meth:`Table.to_polars`."""
        return self.table(table).to_polars()

    def to_pandas(self, table: TableName = "flows", *, arrow: bool = False) -> pandas.DataFrame:
        """Returns a table for pandas: see :meth:`table` and :meth:`Table.to_pandas`."""
        return self.table(table).to_pandas(arrow=arrow)

    @overload
    def save(self, folder: os.PathLike[str], *, report: bool = True, overwrite: bool = False) -> Path: ...

    @overload
    def save(self, folder: str, *, report: bool = True, overwrite: bool = False) -> Path | str: ...

    def save(self, folder: StrPath, *, report: bool = True, overwrite: bool = False) -> Path | str:
        """Writes the run folder to ``folder``, as ``duetime run --out`` does: whole, or not at all. Object storage cannot
        replace a folder at once; the manifest, without which it is not a run folder, comes last there.

        :param folder: a path, or a URL that fsspec knows, such as ``s3://bucket/run``. It must be empty, unless
            ``overwrite`` is set and it is a run folder.
        :param report: with ``report.html``.
        :param overwrite: replace the run folder that is there.
        :returns: the path, or the URL.
        """
        url = url_of(folder)
        if url is not None:
            self._send(Storage(url), report, overwrite)
            return url
        place = path_of(folder)
        self._write_report(report)
        holds = place.exists() and (not place.is_dir() or any(place.iterdir()))
        if holds and overwrite:
            # Only a run folder gives way.
            _native.Folder(place)
        elif holds:
            raise FolderError(f"`{place}` is there already, and not empty (overwrite=True)")
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{place.name}.", dir=place.parent) as beside:
            whole = Path(beside) / "run"
            shutil.copytree(self._path, whole)
            if place.exists():
                place.rename(Path(beside) / "old")
            whole.rename(place)
        return place

    def _send(self, storage: Storage, report: bool, overwrite: bool) -> None:
        if overwrite:
            # Only a run folder gives way.
            storage.fetch(self._path, without=True)
        else:
            storage.require_empty("overwrite=True")
        self._write_report(report)
        storage.finish(self._path)

    def _write_report(self, report: bool) -> None:
        if report and not (self._path / "report.html").exists():
            self._folder.report()

    def __reduce__(self) -> tuple[object, ...]:
        # A temporary folder is gone once its last user is: its files go along.
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
    """Opens a run folder of :func:`run`, of :func:`sweep` or of the command.

    :param folder: its path, or a URL that fsspec knows: then it is copied to a temporary folder, which goes with the result.
    :raises FolderError: there is none, it is damaged, or it is of another version.
    """
    url = url_of(folder)
    if url is None:
        return Result(path_of(folder))
    holder, copy = temporary()
    try:
        Storage(url).fetch(copy)
        if not copy.exists():
            raise FolderError(f"there is no run folder at `{url}`")
        return result_of(_native.Folder(copy), copy, holder)
    except BaseException:
        holder.cleanup()
        raise


def _table_of(content: bytes, name: TableName, additions: Mapping[str, str]) -> Table:
    return Table(_native.Table.from_ipc(content), name, additions)


def _unpacked(files: Mapping[str, bytes]) -> Result:
    """Returns a result whose files are in a new temporary folder."""
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
    """A result whose temporary folder, if it has one, goes with it."""
    made = Result.__new__(Result)
    made._open(opened, path, temporary)
    return made


def made(
    out: StrPath | None,
    progress: Progress,
    make: Callable[[Path, Callable[[str], object] | None], _native.Folder],
    *,
    overwrite: bool = False,
    resume: bool = True,
) -> Result:
    """Makes runs into a folder and returns their result.

    :param out: a path, or a URL, to which each run is copied once it is finished; ``None``: a temporary folder.
    :param make: makes the runs at a path, and calls a function with every event.
    :param overwrite: what is at the URL is replaced.
    :param resume: what is at the URL is kept; if neither is set, it must be empty.
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
        with Teller(progress) as teller:
            on_event = teller.on_event if storage is None else storage.hears(place, teller.on_event)
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
"""The names of all tables."""
