#!/usr/bin/env python3
"""Checks that a test finds seeded faults: applies each mutation of a file to a copy of the tree and runs the test.

    mutate.py MUTATIONS.toml FOLDER TEST [ARGUMENT...]

FOLDER is the folder of the mutated files in the tree, TEST a test program of `duetime-proto`. The copy and its build are
in target/mutations. Prints a table. Fails if the unchanged copy fails, if a mutation does not apply or compile, or if the
test finds nothing.
"""

import os
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
WORK = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "mutations"


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


def run(tree: Path, arguments: list[str]) -> subprocess.CompletedProcess:
    """Runs the test in the copy."""
    command = ["cargo", "test", "--profile", "faults", "--locked", "--quiet", "-p", "duetime-proto", "--test", *arguments]
    # The builds take longer than the tests.
    environment = os.environ | {
        "CARGO_TARGET_DIR": str(WORK / "target"),
        "CARGO_PROFILE_FAULTS_OPT_LEVEL": "1",
        "CARGO_PROFILE_FAULTS_DEBUG": "false",
        "RUST_BACKTRACE": "0",
    }
    return subprocess.run(command, cwd=tree, env=environment, text=True, capture_output=True)


def main() -> int:
    path, folder, *arguments = sys.argv[1:]
    mutations = tomllib.loads(Path(path).read_text())["mutation"]
    tree = copy()
    unchanged = run(tree, arguments)
    if unchanged.returncode != 0:
        print(f"the unchanged tree fails:\n{unchanged.stdout}{unchanged.stderr}")
        return 1
    found = 0
    print(f"{'mutation':<50} {'s':>5}  found")
    for mutation in mutations:
        file = tree / folder / mutation["file"]
        text = file.read_text()
        if text.count(mutation["find"]) != 1:
            print(f"{mutation['name']}: its text is not once in {mutation['file']}")
            return 1
        file.write_text(text.replace(mutation["find"], mutation["replace"]))
        start = time.monotonic()
        result = run(tree, arguments)
        seconds = time.monotonic() - start
        file.write_text(text)
        broken = re.search(r"^(.*): Some\((\w+)\) is broken$", result.stdout + result.stderr, re.M)
        if result.returncode != 0 and broken is None and "panicked" not in result.stdout:
            print(f"{mutation['name']}: does not compile:\n{result.stderr}")
            return 1
        case = f"{broken[2]}, {broken[1]}" if broken else "panic"
        found += result.returncode != 0
        print(f"{mutation['name']:<50} {seconds:>5.0f}  {case if result.returncode else 'NO'}", flush=True)
    print(f"found {found} of {len(mutations)}")
    return 0 if found == len(mutations) else 1


if __name__ == "__main__":
    sys.exit(main())
