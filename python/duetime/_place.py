"""Where a run folder is: in the file system, or behind a URL that fsspec knows."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from ._errors import FolderError
from ._types import StrPath

_MANIFEST = "manifest.json"
_RUNS = ("runs/", "points/")


def url_of(place: StrPath) -> str | None:
    """The URL that a place is, unless it is a path."""
    text = os.fspath(place)
    return text if "://" in text and not text.startswith("file://") else None


def path_of(place: StrPath) -> Path:
    """Returns the path of a place, which may be the URL of a file.

    :raises FolderError: it is another URL.
    """
    text = os.fspath(place)
    if url_of(text) is not None:
        raise FolderError(f"`{text}` is a URL, and a path is required here")
    return Path(url2pathname(urlsplit(text).path) if text.startswith("file://") else text)


class Storage:
    """A run folder on object storage, with a copy of it in the file system. Nothing there locks it: two sweeps must not write
    to it at the same time."""

    def __init__(self, url: str) -> None:
        """Of the folder at ``url``."""
        self.url = url
        try:
            import fsspec
        except ImportError as error:
            raise FolderError(f"`{url}` needs fsspec: pip install 'duetime[cloud]'") from error
        with self._told("open"):
            self._files, self._root = fsspec.core.url_to_fs(url)
        self._sent: set[str] = set()

    def require_empty(self, remedy: str) -> None:
        """Raises an error that names the remedy if the folder contains anything."""
        with self._told("read"):
            names = self._names()
        if names:
            raise FolderError(f"`{self.url}` is there already, and not empty ({remedy})")

    def fetch(self, copy: Path, *, without: bool = False) -> None:
        """Copies the folder here. There may be none; what is there and is no run folder is refused.

        :param without: only look whether it is one; what it holds will be replaced.
        """
        with self._told("read"):
            names = self._names()
            if not names:
                return
            if _MANIFEST not in names:
                raise FolderError(f"`{self.url}` is not a run folder (it has no {_MANIFEST}) and is not empty")
            content = self._files.cat_file(f"{self._root}/{_MANIFEST}")
        try:
            ours = "duetime" in json.loads(content)
        except (ValueError, TypeError):
            ours = False
        if not ours:
            raise FolderError(f"`{self.url}/{_MANIFEST}` is damaged: it was not written by duetime")
        if without:
            return
        with self._told("read"):
            for name in names:
                if name == _MANIFEST or name.startswith(_RUNS):
                    to = copy / name
                    to.parent.mkdir(parents=True, exist_ok=True)
                    self._files.get_file(f"{self._root}/{name}", str(to))
        self._sent = {name for name in names if name.startswith(_RUNS)}

    def hears(self, copy: Path, then: Callable[[str], object] | None) -> Callable[[str], object]:
        """Sends each run away as it is finished; ``then`` hears of every event too."""

        def heard(text: str) -> None:
            event: dict[str, Any] = json.loads(text)
            if event["event"] == "study-started":
                self._send(copy, _MANIFEST)
            elif event["event"] == "run-finished":
                run = Path(event["folder"]).resolve()
                # What vouches for the other files comes last.
                for path in sorted(run.iterdir(), key=lambda of: of.name == "run.json"):
                    self._send(copy, path.relative_to(copy.resolve()).as_posix())
            if then is not None:
                then(text)

        return heard

    def finish(self, copy: Path) -> None:
        """Makes the folder there what the copy is; files of others stay."""
        if not (copy / _MANIFEST).exists():
            return
        ours = [path.relative_to(copy).as_posix() for path in copy.rglob("*") if path.is_file()]
        ours = [name for name in ours if not any(part.startswith(".") for part in name.split("/"))]
        for name in sorted(ours, key=lambda of: (of == _MANIFEST, of.endswith("run.json"))):
            if name not in self._sent or not name.startswith(_RUNS):
                self._send(copy, name)
        with self._told("write"):
            for name in self._names():
                if name.startswith(_RUNS) and name not in ours:
                    self._files.rm_file(f"{self._root}/{name}")

    def _send(self, copy: Path, name: str) -> None:
        with self._told("write"):
            to = f"{self._root}/{name}"
            self._files.makedirs(to.rpartition("/")[0], exist_ok=True)
            self._files.put_file(str(copy / name), to)
        self._sent.add(name)

    def _names(self) -> list[str]:
        """Its files, by their paths within it."""
        try:
            found = self._files.find(self._root)
        except FileNotFoundError:
            return []
        start = self._root.rstrip("/") + "/"
        return [path[len(start) :] for path in found if path.startswith(start)]

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        """What storage says is an error of the folder; the kinds are those of its library."""
        try:
            yield
        except FolderError:
            raise
        except Exception as error:
            raise FolderError(f"cannot {what} `{self.url}`: {error or type(error).__name__}") from error


def temporary() -> tuple[tempfile.TemporaryDirectory[str], Path]:
    """A folder that goes with its last user, and the place of a run folder within it."""
    folder = tempfile.TemporaryDirectory(prefix="duetime-")
    return folder, Path(folder.name) / "run"
