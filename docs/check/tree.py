"""Follows a guide that changes the sources, in a copy of the repository.

    tree.py DOCUMENT

Blocks marked ``<!-- file: PATH -->`` are written to files. Of the blocks marked as checked by this program, `diff` blocks are
applied and the commands of `console` blocks are run in the copy, in order, with a separate build folder.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from blocks import ROOT, SHELL, Block, Session, Wrong, blocks_of, equal, steps_of


def copied(folder: Path) -> Path:
    """Copy all files known to git, with their times so that cargo rebuilds only changed crates next time."""
    shutil.rmtree(folder, ignore_errors=True)
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        source, target = ROOT / name, folder / name
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    return folder


def patch(block: Block, folder: Path) -> None:
    """Apply a diff of one file. The old text of each hunk must occur exactly once; line numbers are ignored."""
    lines = block.text.splitlines()
    names = [line.removeprefix("+++ b/") for line in lines if line.startswith("+++ b/")]
    if len(names) != 1:
        raise Wrong(f"{block.place}: a diff of one file has one line that starts with `+++ b/`")
    place = folder / names[0]
    text = place.read_text(encoding="utf-8")
    starts = [number for number, line in enumerate(lines) if line.startswith("@@")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        part = lines[start + 1 : end]
        old = "".join(f"{line[1:]}\n" for line in part if not line.startswith("+"))
        new = "".join(f"{line[1:]}\n" for line in part if not line.startswith("-"))
        if text.count(old) != 1:
            raise Wrong(f"{block.place}: found {text.count(old)} times in {names[0]}:\n{old}")
        text = text.replace(old, new)
    place.write_text(text, encoding="utf-8")


def follow(path: Path, folder: Path) -> int:
    """Follow the document and return the number of blocks."""
    shell = Session(["bash"], folder, SHELL)
    done = 0
    try:
        for block in blocks_of(path):
            if block.note == "file":
                place = folder / block.reason
                if place.exists():
                    raise Wrong(f"{block.place}: file {block.reason} exists")
                place.write_text(block.text, encoding="utf-8")
            elif block.note != "checked by":
                continue
            elif block.language == "diff":
                patch(block, folder)
            else:
                run(block, shell)
            done += 1
    finally:
        shell.close()
    return done


def run(block: Block, shell: Session) -> None:
    """Run the commands of a console block."""
    for step in steps_of(block):
        print(f"{block.place}: {step.command}", flush=True)
        out, _ = shell.run(block.place, step.command)
        if step.output and not equal(step.output, out.splitlines()):
            raise Wrong(f"{block.place}: `{step.command}` wrote something else:\n{out}")


def main() -> int:
    """Follow the document and return the exit code."""
    document = Path(sys.argv[1])
    place = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve() / "site"
    # In a shared build folder, cargo takes the changed crates of the copy for those of the sources.
    os.environ["CARGO_TARGET_DIR"] = str(place / "build")
    try:
        done = follow(document, copied(place / "tree"))
    except Wrong as error:
        print(error)
        return 1
    print(f"{document}: {done} blocks followed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
