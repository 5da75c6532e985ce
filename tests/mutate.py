#!/usr/bin/env python3
"""Checks that tests and proofs find seeded faults: applies each mutation of a file to a copy of the tree and runs its check.

    mutate.py MUTATIONS.toml [PART]     PART: only mutations with this in their names

A `[check.NAME]` has a `command`, in which `{python}` is this interpreter and `{target}` the build folder of the copy, and
`found`, a regular expression that matches the check's finding in its output. A `[[mutation]]` has a `name`, a `check` and
`changes`: lists of a file, a text that occurs once in it, and the new text. Prints a table. Fails if a check finds
something in the unchanged copy, if a mutation does not apply or build, or if its check does not find it. The copy and its
build are in target/mutations.
"""

import os
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WORK = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve() / "mutations"
# The builds take longer than the tests.
ENVIRONMENT = {
    "CARGO_TARGET_DIR": str(WORK / "target"),
    "CARGO_PROFILE_FAULTS_OPT_LEVEL": "1",
    "CARGO_PROFILE_FAULTS_DEBUG": "false",
    "RUST_BACKTRACE": "0",
}


def copy() -> Path:
    """Copies the files that git knows or would add, and returns the folder of the copy."""
    tree = WORK / "tree"
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listing, cwd=ROOT, check=True, capture_output=True).stdout.decode().split("\0")
    sources = {name: ROOT / name for name in names if name and (ROOT / name).is_file()}
    for path in [path for path in tree.rglob("*") if path.is_file()]:
        if path.relative_to(tree).as_posix() not in sources:
            path.unlink()
    for name, source in sources.items():
        target = tree / name
        # Cargo compares times: a file that replaces a mutated one must be newer, and others should not be.
        if not target.is_file() or target.read_bytes() != source.read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read_bytes())
    return tree


def run(tree: Path, check: dict) -> str | None:
    """Runs a check in the copy. Returns what it found, or `None`."""
    places = {"{python}": sys.executable, "{target}": ENVIRONMENT["CARGO_TARGET_DIR"]}
    command = [places.get(word, word) for word in check["command"]]
    result = subprocess.run(command, cwd=tree, env=os.environ | ENVIRONMENT, text=True, capture_output=True, check=False)
    if result.returncode == 0:
        return None
    output = result.stdout + result.stderr
    found = re.search(check["found"], output, re.MULTILINE)
    if found is None:
        sys.exit(f"{' '.join(command)} fails without a finding:\n{output}")
    return found[found.lastindex or 0].strip()


def change(tree: Path, changes: list[list[str]]) -> dict[Path, str]:
    """Applies changes and returns the original texts."""
    originals: dict[Path, str] = {}
    for name, old, new in changes:
        file = tree / name
        text = file.read_text()
        originals.setdefault(file, text)
        if text.count(old) != 1:
            sys.exit(f"{name}: {text.count(old)} places with `{old}`")
        file.write_text(text.replace(old, new))
    return originals


def restore(originals: dict[Path, str]) -> None:
    """Writes the original texts back."""
    for file, text in originals.items():
        file.write_text(text)


def main() -> None:
    path, *part = sys.argv[1:]
    plan = tomllib.loads(Path(path).read_text())
    mutations = [mutation for mutation in plan["mutation"] if not part or part[0] in mutation["name"]]
    tree = copy()
    for mutation in mutations:
        restore(change(tree, mutation["changes"]))
    for name in sorted({mutation["check"] for mutation in mutations}):
        found = run(tree, plan["check"][name])
        if found is not None:
            sys.exit(f"{name} finds a fault without a mutation: {found}")
    found = 0
    for mutation in mutations:
        originals = change(tree, mutation["changes"])
        start = time.monotonic()
        finding = run(tree, plan["check"][mutation["check"]])
        seconds = time.monotonic() - start
        restore(originals)
        found += finding is not None
        print(f"{mutation['name']:<50} {seconds:>5.0f} s  {(finding or 'NOT FOUND')[:100]}", flush=True)
    print(f"{found} of {len(mutations)} faults found")
    if found < len(mutations):
        sys.exit(1)


if __name__ == "__main__":
    main()
