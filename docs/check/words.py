"""Counts words that Duetime's English avoids in the repository's text files; fails where there are more than allowed.

`python3 docs/check/words.py [-v] [PATH...]`: with paths, counts in them and does not fail; `-v` prints the lines.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXT = {"", ".c", ".cff", ".css", ".h", ".html", ".ipynb", ".js", ".lua", ".md", ".mjs", ".py", ".pyi", ".rs", ".sh", ".toml"}
EXEMPT = ("docs/check/words.py", "LICENSE", "fuzz/seeds", "fuzz/corpus")

DOC_COMMENT = r"^\s*//[/!] (What|Whether|How|The same|That of|Those|Who|Whose)\b"

WORDS = (
    (DOC_COMMENT, 'a sentence with a verb, or a noun phrase: "Returns …", "True if …", "Rate of the port"', 0),
    (r"\bbesides?\b", "with, and, next to", 0),
    (r"\b(tell|tells|told|telling)\b", "print, report, return, notify, pass", 2),
    (r"\b(lie|lies)\b", "is in, is between, equals", 2),
    (r"\banew\b", "again", 0),
    (r"\b(whoever|whosoever)\b", "the user, the caller, the name of the thing", 0),
    (r"\b(hear|hears|heard)\b", "receive, be notified", 0),
    (r"\bg(ive|ives|ave|iven|iving) up\b", "abandon, time out, stop", 1),
    (r"\b(hold|holds|held)\b[^.]{0,40}\bagainst\b", "compare with", 0),
    (r"\blikewise\b", "also; repeat the noun", 0),
    (r"\bwhat comes out\b", "results", 0),
    (r"\bof (its|their) own\b", "separate; its own", 3),
    (r"\bnobody\b", "no …; nothing", 6),
)
"""Each pattern, a regular expression in any case, with its replacement and the number of lines in which the word has its
technical or literal sense. Lower a number when its count falls; raise none."""


def lines(paths: list[str]):
    """Yields the place and text of every line, and whether it continues a doc comment."""
    files = subprocess.run(["git", "ls-files", *paths], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in files.stdout.splitlines():
        path = ROOT / name
        if path.suffix not in TEXT or name.startswith(EXEMPT) or not path.is_file():
            continue
        continues = False
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            yield f"{name}:{number}", line, continues
            continues = line.lstrip().startswith(("///", "//!"))


def main() -> int:
    verbose = "-v" in sys.argv[1:]
    paths = [path for path in sys.argv[1:] if path != "-v"]
    found = [[] for _ in WORDS]
    for place, line, continues in lines(paths):
        for (pattern, _, _), hits in zip(WORDS, found):
            is_later_line = pattern is DOC_COMMENT and continues
            if not is_later_line and re.search(pattern, line, re.IGNORECASE):
                hits.append(f"{place}: {line.strip()}")
    failed = False
    for (pattern, instead, most), hits in zip(WORDS, found):
        too_many = not paths and len(hits) > most
        failed |= too_many
        if too_many or verbose:
            print("\n".join(hits))
        print(f"{len(hits):5} lines, at most {most}: {pattern}  (instead: {instead})")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
