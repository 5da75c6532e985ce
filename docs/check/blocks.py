"""Checks the code blocks of documents: every block is run, compared, compiled or parsed.

    blocks.py DOCUMENT...                 requires `duetime` on the path
    blocks.py --package DOCUMENT...       also runs blocks that need the Python package, with this interpreter
    blocks.py --literally WHEEL DOCUMENT  like --package, in a folder that contains only the wheel
    blocks.py --real-stacks DOCUMENT...   runs only the sessions on real stacks; requires root

The language of a block selects the check:

- ``console``: lines that start with ``$ `` are run. All commands of a document run in one shell, in a folder with copies of
  ``scenarios`` and ``papers``. Lines below a command must equal its standard output.
- ``text``: part of the output of an earlier command or block. Each line must be present, in this order; spaces may differ.
- ``python``: run. All blocks of a document share a session, in the folder of its commands. ``sql``: run by DuckDB.
- ``toml``: a complete scenario must pass ``duetime check``; anything else must be valid TOML. ``json``: one value per line.
  ``csv``: a file that a command reads (``saved as``).
- ``c``: compiled. ``rust``: compiled as a documentation test, by the crate that includes the document.
- ``{name}``: a directive of the site, built by Sphinx.
- ``sh``: commands for another environment. They are not run and need a reason; their syntax and the scripts that they name
  are checked.

In output, ``…`` matches any text, and alone on a line any lines. A comment above a block changes the check:

- ``<!-- not run: REASON -->`` and ``<!-- not compared: REASON -->``
- ``<!-- saved as: NAME -->``: also written to a file in the folder of the document's commands
- ``<!-- package -->``: requires the Python package; commands run only with ``--literally``
- ``<!-- real stacks -->``: requires root and the feature ``lab``; all such blocks of a document are one session
- ``<!-- needs: PROGRAM -->``: skipped if the program is not installed
- ``<!-- checked by: PATH -->``: run by the program at PATH
- ``<!-- file: PATH -->``: a source file, which ``tree.py`` writes to this path in a copy of the sources

Uses only the standard library. Existing tools do less: trycmd runs commands without a shell and compares the whole output of
each; scrut allows one command per block; mktestdocs compares no output; Sybil leaves the shell, the comparison and the rules to
its user.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

WITH_REASON = ("not run", "not compared", "needs", "saved as", "checked by", "file")
NOTES = (*WITH_REASON, "package", "real stacks")
TIMEOUT = 900
"""Maximum duration of a command or block, in seconds."""


class Wrong(Exception):
    """A block of a document fails its check."""


@dataclass(frozen=True)
class Block:
    """A fenced block of a document."""

    document: str
    line: int
    """Line of the opening fence, from 1."""
    language: str
    text: str
    note: str
    """Keyword of the comment above the block, such as `package`; empty if there is none."""
    reason: str
    """Text after the colon of the note."""

    @property
    def place(self) -> str:
        """Document and line, for messages."""
        return f"{self.document}:{self.line}"


@dataclass(frozen=True)
class Step:
    """A command with its output in the document."""

    command: str
    output: list[str]


def blocks_of(path: Path) -> list[Block]:
    """Return the fenced blocks of a document, in order."""
    place = path.resolve()
    name = str(place.relative_to(ROOT) if place.is_relative_to(ROOT) else place)
    found: list[Block] = []
    lines = path.read_text(encoding="utf-8").splitlines()
    note, reason, language, start, inside = "", "", "", 0, None
    for number, line in enumerate(lines, 1):
        if inside is not None:
            if line.startswith("```"):
                text = "\n".join(lines[start : number - 1]) + "\n"
                found.append(Block(name, start, language, text, note, reason))
                note, reason, inside = "", "", None
        elif line.startswith("```"):
            language, start, inside = line[3:].strip(), number, True
        elif comment := re.fullmatch(r"<!-- ([a-z ]+)(?:: (.*?))? -->", line):
            note, reason = comment[1], comment[2] or ""
            if note not in NOTES:
                raise Wrong(f"{name}:{number}: no such note: {note}; there are: {', '.join(NOTES)}")
        elif line.strip():
            note, reason = "", ""
    if inside is not None:
        raise Wrong(f"{name}:{start}: the block does not end")
    return found


def steps_of(block: Block) -> list[Step]:
    """Return the commands of a console block."""
    steps: list[Step] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            steps.append(Step(line[2:], []))
        elif steps and steps[-1].command.endswith("\\"):
            steps[-1] = Step(f"{steps[-1].command}\n{line}", [])
        elif steps:
            steps[-1].output.append(line)
        else:
            raise Wrong(f"{block.place}: output without a command: {line}")
    return steps


class Session:
    """A process that runs pieces of code one after another, with the output of each in files."""

    def __init__(self, program: list[str], folder: Path, loop: str) -> None:
        self._pieces = Path(tempfile.mkdtemp(prefix="duetime-blocks-"))
        self._count = 0
        ask, self._ask = os.pipe()
        self._answer, answer = os.pipe()
        script = self._pieces / "loop"
        script.write_text(loop.format(ask=ask, answer=answer), encoding="utf-8")
        self._process = subprocess.Popen(
            [*program, str(script)], cwd=folder, pass_fds=(ask, answer), start_new_session=True
        )
        os.close(ask)
        os.close(answer)

    def run(self, place: str, text: str) -> tuple[str, str]:
        """Run a piece and return its standard output and standard error. If it fails, the session ends."""
        self._count += 1
        piece = self._pieces / f"piece-{self._count}"
        piece.write_text(text, encoding="utf-8")
        os.write(self._ask, f"{piece}\n".encode())
        answered, _, _ = select.select([self._answer], [], [], TIMEOUT)
        passed = answered and os.read(self._answer, 1)
        files = (piece.with_suffix(".out"), piece.with_suffix(".err"))
        out, err = (file.read_text(encoding="utf-8", errors="replace") if file.exists() else "" for file in files)
        if not passed:
            raise Wrong(f"{place}: failed{'' if answered else f' ({TIMEOUT} s)'}: {text}\n{out}{err}")
        return out, err

    def close(self) -> None:
        """Stop the process and its background processes."""
        os.close(self._ask)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._answer)
        try:
            os.killpg(self._process.pid, signal.SIGINT)
        except ProcessLookupError:
            pass
        shutil.rmtree(self._pieces, ignore_errors=True)


SHELL = """
set -euo pipefail
while IFS= read -r -u {ask} piece; do
    . "$piece" >"$piece.out" 2>"$piece.err" </dev/null {ask}<&- {answer}>&-
    printf . >&{answer}
done
"""

PYTHON = """
import contextlib, os, sys, traceback
names = {{"__name__": "__main__"}}
with os.fdopen({ask}) as asked:
    while piece := asked.readline().strip():
        with open(piece + ".out", "w") as out, open(piece + ".err", "w") as err:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                try:
                    exec(compile(open(piece, encoding="utf-8").read(), "block", "exec"), names)
                except BaseException:
                    traceback.print_exc()
                    err.flush()
                    os._exit(1)
        os.write({answer}, b".")
"""


def missing(expected: str, actual: str) -> str | None:
    """Return the first line of `expected` that does not follow its predecessors in `actual`, or `None`."""
    actual, at = " ".join(actual.split()), 0
    for line in expected.splitlines():
        for part in line.split("…"):
            wanted = " ".join(part.split())
            found = actual.find(wanted, at)
            if found < 0:
                return line
            at = found + len(wanted)
    return None


def equal(expected: list[str], actual: list[str]) -> bool:
    """Return true if the lines are equal. `…` matches any text, and alone on a line any lines."""
    pattern = ""
    for line in expected:
        if line.strip() == "…":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*".join(re.escape(part) for part in line.rstrip().split("…")) + r"\n"
    text = "".join(f"{line.rstrip()}\n" for line in actual)
    return re.fullmatch(pattern, text) is not None


@dataclass
class Mode:
    """Options of a check."""

    package: bool = False
    """True if the Python package is installed."""
    wheel: Path | None = None
    """The only file in the folder of a document that is followed literally, or `None`."""
    real_stacks: bool = False
    """True to check only the sessions on real stacks; otherwise all other blocks."""


class Document:
    """Check of one document in a folder with copies of the files that its commands use."""

    def __init__(self, mode: Mode) -> None:
        self.counts: Counter[str] = Counter()
        self._mode = mode
        self._folder = Path(tempfile.mkdtemp(prefix="duetime-document-"))
        self._shell: Session | None = None
        self._interpreter: Session | None = None
        self._written: list[str] = []
        """Output so far, by command or block; standard output before standard error."""
        self._unknown = False
        """True if an earlier block was not run, so its output is unknown."""

    def check(self, path: Path) -> None:
        """Check the blocks in order. The first error stops the check."""
        try:
            blocks = [block for block in blocks_of(path) if (block.note == "real stacks") == self._mode.real_stacks]
            if self._mode.wheel is not None:
                shutil.copy(self._mode.wheel, self._folder)
            elif blocks:
                for name in ("scenarios", "papers"):
                    shutil.copytree(ROOT / name, self._folder / name)
                # The package's README names it as a file in the current directory.
                shutil.copy(ROOT / "scenarios" / "feature-store.toml", self._folder)
            for block in blocks:
                self.counts[self._check(block)] += 1
        finally:
            for session in (self._shell, self._interpreter):
                if session is not None:
                    session.close()
            shutil.rmtree(self._folder, ignore_errors=True)

    def _check(self, block: Block) -> str:
        """Check a block and return what was done with it."""
        if block.language.startswith("{"):
            return "checked elsewhere"
        if block.note in WITH_REASON and not block.reason:
            raise Wrong(f"{block.place}: `{block.note}` without a reason")
        if block.note == "checked by" and not (ROOT / block.reason).is_file():
            raise Wrong(f"{block.place}: no such file: {block.reason}")
        if block.note in ("checked by", "file"):
            return "checked elsewhere"
        if block.language not in LANGUAGES:
            raise Wrong(f"{block.place}: language `{block.language}` is not one of {', '.join(LANGUAGES)}")
        if block.note == "needs" and shutil.which(block.reason) is None:
            return f"without {block.reason}"
        if block.note == "package" and block.language == "console" and self._mode.wheel is None:
            return "installed already"
        if block.note == "saved as":
            (self._folder / block.reason).write_text(block.text, encoding="utf-8")
        if block.note == "not compared":
            return block.note
        needs_package = block.note == "package" or block.language in ("python", "sql")
        if block.note == "not run" or needs_package and not self._mode.package:
            self._unknown |= block.language != "text"
            if block.language in SYNTAX:
                SYNTAX[block.language](block)
            return "not run"
        getattr(self, f"_{block.language}")(block)
        return block.language

    def _console(self, block: Block) -> None:
        if self._shell is None:
            self._shell = Session(["bash"], self._folder, SHELL)
        for step in steps_of(block):
            command = patient(step.command) if self._mode.real_stacks else step.command
            out, err = self._shell.run(block.place, command)
            self._written.append(out + err)
            self.counts["commands"] += 1
            if step.output:
                if not equal(step.output, out.splitlines()):
                    raise Wrong(f"{block.place}: `{step.command}` wrote something else:\n{out}")
                self.counts["outputs"] += 1

    def _python(self, block: Block) -> None:
        self._run_python(block.place, block.text)

    def _sql(self, block: Block) -> None:
        self._run_python(block.place, f"import duckdb\nprint(duckdb.sql({block.text!r}))\n")

    def _run_python(self, place: str, text: str) -> None:
        if self._interpreter is None:
            # A document may create a virtual environment.
            created = self._folder / ".venv" / "bin" / "python"
            program = str(created) if created.exists() else sys.executable
            self._interpreter = Session([program], self._folder, PYTHON)
        self._written.append("".join(self._interpreter.run(place, text)))

    def _text(self, block: Block) -> None:
        if not self._written:
            raise Wrong(f"{block.place}: no command above it; use `not compared` with a reason")
        misses = [missing(block.text, text) for text in self._written]
        if None in misses:
            self.counts["outputs"] += 1
        elif self._mode.package or not self._unknown:
            stated = block.text.splitlines()
            furthest = max(misses, key=lambda line: stated.index(line or ""))
            raise Wrong(f"{block.place}: nothing above it writes this; the first line missing:\n{furthest}")

    def _toml(self, block: Block) -> None:
        if {"topology", "workload"} <= parsed_toml(block).keys():
            checked(block, ["duetime", "check", "-"], block.text, self._folder)

    def _json(self, block: Block) -> None:
        try:
            for line in block.text.splitlines():
                json.loads(line)
        except json.JSONDecodeError as error:
            raise Wrong(f"{block.place}: {error}") from error

    def _csv(self, block: Block) -> None:
        if block.note != "saved as":
            raise Wrong(f"{block.place}: no command reads it: add `saved as` with a name")

    def _c(self, block: Block) -> None:
        headers = "".join(f"#include <{name}.h>\n" for name in ("stdio", "stdint", "sys/types"))
        for transport in ("d3", "due"):
            headers += f'#include "{ROOT}/crates/{transport}/include/duetime_{transport}.h"\n'
        text = f"{headers}int main(void) {{\n{block.text}return 0;\n}}\n"
        checked(block, ["cc", "-fsyntax-only", "-Wall", "-Werror", "-xc", "-"], text)

    def _rust(self, block: Block) -> None:
        including = f'include_str!("../../../{block.document}")'
        sources = (ROOT / "crates").glob("*/src/lib.rs")
        if not any(including in source.read_text(encoding="utf-8") for source in sources):
            raise Wrong(f"{block.place}: no crate has #[doc = {including}], so nothing compiles it")

    def _sh(self, block: Block) -> None:
        raise Wrong(f"{block.place}: `sh` is not run: add `not run` with a reason, or use `console`")


def checked(block: Block, command: list[str], text: str, folder: Path | None = None) -> None:
    """Run a command with the text as its input; it must succeed."""
    run = subprocess.run(command, input=text, cwd=folder, capture_output=True, text=True)
    if run.returncode != 0:
        raise Wrong(f"{block.place}: {run.stderr}")


def parsed_toml(block: Block) -> dict[str, object]:
    """Return the values of a block."""
    try:
        return tomllib.loads(block.text)
    except tomllib.TOMLDecodeError as error:
        raise Wrong(f"{block.place}: {error}") from error


def parse_python(block: Block) -> None:
    """Parse a block that is not run."""
    try:
        ast.parse(block.text)
    except SyntaxError as error:
        raise Wrong(f"{block.place}: {error}") from error


def parse_sh(block: Block) -> None:
    """Parse commands that are not run. Scripts and packages that they name must exist."""
    checked(block, ["bash", "-n"], block.text)
    for name in re.findall(r"\bscript/[a-z-]+", block.text):
        if not (ROOT / name).is_file():
            raise Wrong(f"{block.place}: no such script: {name}")
    for name in re.findall(r"-p duetime-([a-z0-9-]+)", block.text):
        if not any((ROOT / place).is_dir() for place in (f"crates/{name}", f"benches/{name[6:]}")):
            raise Wrong(f"{block.place}: no such package: duetime-{name}")


LANGUAGES = ("console", "text", "python", "sql", "toml", "json", "csv", "c", "rust", "sh")
SYNTAX = {"python": parse_python, "sh": parse_sh, "toml": parsed_toml}
"""Checks of blocks that are not run."""


def patient(command: str) -> str:
    """Return the command for a loaded machine: processes start slowly, and runs may be invalid, which gives exit code 3."""
    command = re.sub(r"sleep ([0-9]+)", r"sleep $((\1 * 5))", command)
    return re.sub(r"^(duetime lab (?:run|compare) .*[^&])$", r"\1 || [ $? = 3 ]", command)


def checked_document(mode: Mode, path: Path) -> tuple[list[str], Counter[str], bool]:
    """Check a document. Return lines to print, counts by kind, and true if it passed."""
    document, began, lines, passed = Document(mode), time.monotonic(), [], True
    try:
        document.check(path)
    except Wrong as error:
        passed = False
        lines.append(f"WRONG {error}")
    if document.counts:
        lines.append(f"{path}: {document.counts.total()} ok, {time.monotonic() - began:.1f} s")
    return lines, document.counts, passed


def main() -> int:
    """Run the check and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("documents", nargs="+", type=Path)
    parser.add_argument("--package", action="store_true", help="the Python package is installed")
    parser.add_argument("--literally", type=Path, metavar="WHEEL", help="in a folder with the wheel alone")
    parser.add_argument("--real-stacks", action="store_true", help="only what needs root")
    options = parser.parse_args()
    mode = Mode(options.package or options.literally is not None, options.literally, options.real_stacks)
    counts: Counter[str] = Counter()
    failed = False
    # Runs on real stacks need the machine to themselves.
    jobs = 1 if mode.real_stacks else os.cpu_count()
    with ThreadPoolExecutor(jobs) as pool:
        for lines, of_document, passed in pool.map(lambda path: checked_document(mode, path), options.documents):
            print(*lines, sep="\n", end="\n" if lines else "", flush=True)
            counts += of_document
            failed |= not passed
    print(", ".join(f"{count} {kind}" for kind, count in counts.items()))
    return failed


if __name__ == "__main__":
    sys.exit(main())
