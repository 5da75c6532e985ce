"""Checks that the documents name only files that exist: in relative links, and in the code of the guides.

    paths.py DOCUMENT...
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GUIDES = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")
LINK = re.compile(r"\]\(([^)#\s]+)")
PATH = re.compile(r"(?:benches|crates|docs|fuzz|papers|python|scenarios|script|tests)/[^\s:]*")
PLACEHOLDER = re.compile(r"CRATE|NAME|PAPER|[*…]")


def links(text: str) -> list[str]:
    """Return the relative targets of the links."""
    return [link for link in LINK.findall(text) if not re.match("https?:|mailto:", link)]


def paths(text: str) -> list[str]:
    """Return the code spans that are paths in the repository, without fenced blocks and placeholders."""
    unfenced = "".join(text.split("```")[::2])
    found = [PATH.match(span) for span in re.findall(r"`([^`]+)`", unfenced)]
    return [path[0] for path in found if path and not PLACEHOLDER.search(path[0])]


def missing(document: Path) -> list[str]:
    """Return the errors of a document."""
    text = document.read_text(encoding="utf-8")
    places = [document.parent / link for link in links(text)]
    if document.name in GUIDES and document.resolve().parent == ROOT:
        places += [ROOT / path for path in paths(text)]
    return [f"{document}: no such file: {place}" for place in places if not place.exists()]


if __name__ == "__main__":
    sys.exit("\n".join(error for name in sys.argv[1:] for error in missing(Path(name))) or None)
