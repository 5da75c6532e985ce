"""Prepares the sources of the site and checks the built site.

    site_pages.py lay-out FOLDER    copies the documents to FOLDER and adapts their links to the site
    site_pages.py links FOLDER      fails if a page of the built site in FOLDER has a dead link
    site_pages.py names FOLDER      fails if the Python reference in FOLDER lacks a public name

Links in the documents are paths in the repository. In the site, links to pages are kept; links to files that the site does
not contain point to the repository. Uses only the standard library, except for `names`.
"""

from __future__ import annotations

import re
import shutil
import sys
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from html.parser import HTMLParser
from pathlib import Path
from posixpath import join, normpath, relpath
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[2]

FROM_ROOT = {
    "ARCHITECTURE.md": "development/architecture.md",
    "CONTRIBUTING.md": "development/contributing.md",
    "CHANGELOG.md": "development/changelog.md",
    "papers/README.md": "development/papers.md",
}
"""Pages from outside `docs/`, with their paths in the site."""

ELSEWHERE = {"README.md": "index.md"}
"""Pages with another form in the site."""

NOT_PAGES = {"conf.py", "requirements.txt"}
"""Files in `docs/` that are not sources of the site."""


class Dead(Exception):
    """A link with a missing target."""


def sources() -> dict[str, str]:
    """Return the path in the site of every source file, by its path in the repository."""
    docs = ROOT / "docs"
    found = dict(FROM_ROOT)
    for path in sorted(docs.rglob("*")):
        place = path.relative_to(docs).as_posix()
        hidden = any(part.startswith((".", "__")) for part in path.relative_to(docs).parts)
        if path.is_file() and not hidden and place not in NOT_PAGES and not place.startswith("check/"):
            found[f"docs/{place}"] = place
    return found


def lay_out(folder: Path) -> int:
    """Copy all sources to the folder and return the number of pages."""
    shutil.rmtree(folder, ignore_errors=True)
    places = sources()
    pages = 0
    for path, place in places.items():
        target = folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.endswith(".md"):
            text = (ROOT / path).read_text(encoding="utf-8")
            target.write_text(in_site(text, path, places), encoding="utf-8")
        else:
            shutil.copyfile(ROOT / path, target)
        pages += path.endswith((".md", ".ipynb"))
    return pages


LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\[\]]*\])*\]\()([^)\s]+)(\))")
PATTERN = re.compile(r"[a-z/]*\*")


def in_site(text: str, path: str, places: dict[str, str]) -> str:
    """Return a page with its links adapted to the site. Code is unchanged."""
    lines, code = [], False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            code = not code
        if code or line.startswith("```"):
            # Drop patterns of a table of contents that match no page.
            if not PATTERN.fullmatch(line) or any(fnmatch(place, f"{line}.*") for place in places.values()):
                lines.append(line)
            continue
        try:
            lines.append(LINK.sub(lambda link: f"{link[1]}{target(link[2], path, places)}{link[3]}", line))
        except Dead as error:
            raise Dead(f"{path}:{number}: {error}") from error
    return "\n".join(lines) + "\n"


def target(link: str, path: str, places: dict[str, str]) -> str:
    """Return the site's form of a link on the page at `path`."""
    parts = urlsplit(link)
    if parts.scheme or not parts.path:
        return link
    wanted = normpath(join(Path(path).parent.as_posix(), unquote(parts.path)))
    anchor = f"#{parts.fragment}" if parts.fragment else ""
    there = ELSEWHERE.get(wanted) or places.get(wanted)
    if there is not None:
        return relpath(there, Path(places[path]).parent.as_posix()) + anchor
    if not (ROOT / wanted).exists():
        raise Dead(f"no such file: {link}")
    kind = "tree" if (ROOT / wanted).is_dir() else "blob"
    return f"{repository()}/{kind}/main/{wanted}{anchor}"


def repository() -> str:
    """Return the URL of the repository."""
    manifest = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    return str(manifest["workspace"]["package"]["repository"])


class Page(HTMLParser):
    """Links, loaded resources and link targets of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record the attributes of an element."""
        values = {name: value for name, value in attrs if value is not None}
        if "id" in values:
            self.ids.add(values["id"])
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        # Other `link` elements, such as the next page, are not loaded.
        loading = tag == "link" and values.get("rel") in ("stylesheet", "icon", "preload")
        if "src" in values or loading:
            self.loads.append(values.get("src") or values.get("href", ""))


def dead_links(folder: Path) -> Iterator[str]:
    """Iterate over dead links within the site and resources loaded from elsewhere. Print the counts."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.html"))}
    within, outside = 0, set()
    for path, page in pages.items():
        place = path.relative_to(folder)
        for link in page.links + page.loads:
            parts = urlsplit(link)
            if parts.scheme == "data":
                continue
            if parts.scheme or parts.netloc:
                outside.add(link)
                if link in page.loads:
                    yield f"{place}: loads {link}: the site must work without a network"
                continue
            within += 1
            there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if there.is_dir():
                there /= "index.html"
            if not there.is_file():
                yield f"{place}: no such page: {link}"
            elif parts.fragment and there in pages and unquote(parts.fragment) not in pages[there].ids:
                yield f"{place}: no such anchor in the page: {link}"
    print(f"{len(pages)} pages, {within} links within the site, {len(outside)} to elsewhere")


def undocumented(folder: Path) -> list[str]:
    """Return the public names of the package that the reference page lacks."""
    import duetime

    page = Page((folder / "api.html").read_text(encoding="utf-8"))
    # Sphinx prefixes the anchors of modules.
    ids = {anchor.removeprefix("module-") for anchor in page.ids}
    return [name for name in duetime.__all__ if f"duetime.{name}" not in ids]


def main() -> int:
    """Run a subcommand and return the exit code."""
    match sys.argv[1:]:
        case ["lay-out", folder]:
            try:
                print(f"{lay_out(Path(folder))} pages laid out")
            except Dead as error:
                print(error)
                return 1
            return 0
        case ["links", folder]:
            dead = list(dead_links(Path(folder).resolve()))
        case ["names", folder]:
            dead = [f"api.md has no {name}" for name in undocumented(Path(folder))]
        case _:
            print(__doc__)
            return 2
    for line in dead:
        print(line)
    return 1 if dead else 0


if __name__ == "__main__":
    sys.exit(main())
