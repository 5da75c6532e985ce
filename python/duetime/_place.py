"""Location of a run folder: the file system, or a URL that fsspec supports."""

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
    """Return the location as a URL, or ``None`` if it is a path or a ``file://`` URL."""
    text = os.fspath(place)
    return text if "://" in text and not text.startswith("file://") else None


def path_of(place: StrPath) -> Path:
    """Return the path of a location, which may be a ``file://`` URL.

    :raises FolderError: the location is another URL.
    """
    text = os.fspath(place)
    if url_of(text) is not None:
        raise FolderError(f"`{text}` is a URL, and a path is required here")
    return Path(url2pathname(urlsplit(text).path) if text.startswith("file://") else text)


class Storage:
    """Run folder on object storage, with a copy in the file system.

    The folder is not locked: two sweeps must not write to it at the same time.
    """

    def __init__(self, url: str) -> None:
        """Open the storage of the folder at ``url``."""
        self.url = url
        try:
            import fsspec
        except ImportError as error:
            raise FolderError(f"`{url}` needs fsspec: pip install 'duetime[cloud]'") from error
        with self._folder_errors("open"):
            self._files, self._root = fsspec.core.url_to_fs(url)
        self._sent: set[str] = set()  # runs that the storage already has

    def require_empty(self, remedy: str) -> None:
        """Raise an error that names the remedy if the folder contains anything."""
        with self._folder_errors("read"):
            names = self._names()
        if names:
            raise FolderError(f"`{self.url}` exists and is not empty ({remedy})")

    def fetch(self, copy: Path, *, without: bool = False) -> None:
        """Copy the folder into ``copy``. Does nothing if the folder does not exist.

        :param without: only check that it is a run folder, because its contents will be replaced.
        :raises FolderError: the folder is not empty and is not a run folder.
        """
        with self._folder_errors("read"):
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
        with self._folder_errors("read"):
            for name in names:
                if name == _MANIFEST or name.startswith(_RUNS):
                    to = copy / name
                    to.parent.mkdir(parents=True, exist_ok=True)
                    self._files.get_file(f"{self._root}/{name}", str(to))
        self._sent = {name for name in names if name.startswith(_RUNS)}

    def uploading(self, copy: Path, then: Callable[[str], object] | None) -> Callable[[str], object]:
        """Return an event handler that uploads each finished run and then calls ``then``."""

        def handle(text: str) -> None:
            event: dict[str, Any] = json.loads(text)
            if event["event"] == "study-started":
                self._send(copy, _MANIFEST)
            elif event["event"] == "run-finished":
                run = Path(event["folder"]).resolve()
                # `run.json` marks the run as complete, so it goes last.
                for path in sorted(run.iterdir(), key=lambda path: path.name == "run.json"):
                    self._send(copy, path.relative_to(copy.resolve()).as_posix())
            if then is not None:
                then(text)

        return handle

    def finish(self, copy: Path) -> None:
        """Upload what is missing and remove runs that the copy does not have. Other files are not touched."""
        if not (copy / _MANIFEST).exists():
            return
        ours = [path.relative_to(copy).as_posix() for path in copy.rglob("*") if path.is_file()]
        ours = [name for name in ours if not any(part.startswith(".") for part in name.split("/"))]
        for name in sorted(ours, key=lambda name: (name == _MANIFEST, name.endswith("run.json"))):
            if name not in self._sent or not name.startswith(_RUNS):
                self._send(copy, name)
        with self._folder_errors("write"):
            for name in self._names():
                if name.startswith(_RUNS) and name not in ours:
                    self._files.rm_file(f"{self._root}/{name}")

    def _send(self, copy: Path, name: str) -> None:
        with self._folder_errors("write"):
            to = f"{self._root}/{name}"
            self._files.makedirs(to.rpartition("/")[0], exist_ok=True)
            self._files.put_file(str(copy / name), to)
        self._sent.add(name)

    def _names(self) -> list[str]:
        """Return the folder's files as paths relative to it."""
        try:
            found = self._files.find(self._root)
        except FileNotFoundError:
            return []
        start = self._root.rstrip("/") + "/"
        return [path[len(start) :] for path in found if path.startswith(start)]

    @contextmanager
    def _folder_errors(self, action: str) -> Iterator[None]:
        """Convert errors of the storage library to :class:`FolderError`. Each library has its own exception types."""
        try:
            yield
        except FolderError:
            raise
        except Exception as error:
            raise FolderError(f"cannot {action} `{self.url}`: {error or type(error).__name__}") from error


def temporary() -> tuple[tempfile.TemporaryDirectory[str], Path]:
    """Return a temporary folder, which is removed with its last reference, and the path of a run folder within it."""
    folder = tempfile.TemporaryDirectory(prefix="duetime-")
    return folder, Path(folder.name) / "run"
