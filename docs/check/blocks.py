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
- ``toml``: a complete scenario must pass ``duetime check``; anything else must be valid TOML. ``json``: one value, or one per
  line.
- ``csv``: every line must have as many fields as the first.
- ``c``: compiled. ``rust``: compiled as a documentation test, by the crate that includes the document.
- ``{name}``: a directive of the site, built by Sphinx.
- ``sh``: commands for another environment. They are not run and need a reason; their syntax and the scripts that they name
  are checked.

In output, ``…`` matches any text, and alone on a line any lines. A comment above a block changes the check:

- ``<!-- not run: REASON -->`` and ``<!-- not compared: REASON -->``
- ``<!-- saved as: NAME -->``: also written to a file in the folder of the document's commands
- ``<!-- package -->``: requires the Python package; commands run only with ``--literally``
- ``<!-- real stacks -->``: requires root and the feature ``lab``; all such blocks of a document are one session
- ``<!-- needs: PROGRAM -->``: skipped with a message if the program, or for Python code the module, is not installed
- ``<!-- checked by: PATH -->``: run by the program at PATH
- ``<!-- file: PATH -->``: a source file, which ``tree.py`` writes to this path in a copy of the sources

Uses only the standard library.
"""

from __future__ import annotations

import argparse
import ast
import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

NOTES = ("not run", "not compared", "package", "real stacks", "needs", "saved as", "checked by", "file")


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
        self._folder = folder
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

    def run(self, text: str) -> tuple[str, str] | None:
        """Run a piece and return its standard output and standard error, or `None` if it fails, which ends the session."""
        self._count += 1
        piece = self._pieces / f"piece-{self._count}"
        piece.write_text(text, encoding="utf-8")
        os.write(self._ask, f"{piece}\n".encode())
        return self._written() if os.read(self._answer, 1) else None

    def _written(self) -> tuple[str, str]:
        piece = self._pieces / f"piece-{self._count}"
        texts = [
            path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
            for path in (piece.with_suffix(".out"), piece.with_suffix(".err"))
        ]
        return texts[0], texts[1]

    def last(self) -> str:
        """Return the output of the last piece, for a message."""
        return "".join(self._written())

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
    . "$piece" >"$piece.out" 2>"$piece.err" </dev/null
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


def collapsed(text: str) -> str:
    """Replace each run of white space by one space."""
    return " ".join(text.split())


def missing(expected: str, actual: str) -> str | None:
    """Return the first line of `expected` that does not follow its predecessors in `actual`, or `None`."""
    actual, at = collapsed(actual), 0
    for line in expected.splitlines():
        for part in line.split("…"):
            wanted = collapsed(part)
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
class Documents:
    """Options and counts of a check of documents."""

    package: bool
    wheel: Path | None = None
    """The only file in the folder of a document that is followed literally, or `None`."""
    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def check(self, path: Path) -> None:
        """Check each block of a document."""
        try:
            blocks = [block for block in blocks_of(path) if block.note != "real stacks"]
        except Wrong as error:
            self.wrong.append(str(error))
            return
        if not blocks:
            return
        began = time.monotonic()
        before = self.counts.total()
        folder = Path(tempfile.mkdtemp(prefix="duetime-document-"))
        try:
            if self.wheel is None:
                for name in ("scenarios", "papers"):
                    shutil.copytree(ROOT / name, folder / name)
                # The package's README names it as a file in the current directory.
                shutil.copy(ROOT / "scenarios" / "feature-store.toml", folder)
            else:
                shutil.copy(self.wheel, folder)
            Document(self, folder).check(blocks)
        except Wrong as error:
            self.wrong.append(str(error))
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        done = self.counts.total() - before
        print(f"{blocks[0].document}: {done} ok, {time.monotonic() - began:.1f} s", flush=True)


class Document:
    """Check of one document in its folder."""

    def __init__(self, documents: Documents, folder: Path) -> None:
        self._all = documents
        self._folder = folder
        self._shell: Session | None = None
        self._python: Session | None = None
        self._written: list[str] = []
        """Output so far, by command or block; standard output before standard error."""
        self._unknown = False
        """True if an earlier block was not run, so its output is unknown."""

    def check(self, blocks: list[Block]) -> None:
        """Check the blocks in order. The first error stops the check."""
        try:
            for block in blocks:
                self._check(block)
        finally:
            for session in (self._shell, self._python):
                if session is not None:
                    session.close()

    def _check(self, block: Block) -> None:
        actions = {
            "console": self._console,
            "text": self._text,
            "python": self._run_python,
            "sql": self._sql,
            "toml": self._toml,
            "json": self._json,
            "csv": self._csv,
            "c": self._c,
            "rust": self._rust,
            "sh": self._sh,
        }
        if block.language.startswith("{"):
            self._all.counts["elsewhere"] += 1
            return
        if block.language not in actions and block.note not in ("checked by", "file"):
            allowed = ", ".join(actions)
            raise Wrong(f"{block.place}: language `{block.language}` is not one of {allowed}")
        if block.note in ("not run", "not compared", "needs", "saved as", "checked by", "file") and not block.reason:
            raise Wrong(f"{block.place}: `{block.note}` without a reason")
        if block.note == "checked by" and not (ROOT / block.reason).is_file():
            raise Wrong(f"{block.place}: no such file: {block.reason}")
        if block.note in ("checked by", "file"):
            self._all.counts["elsewhere"] += 1
            return
        if block.note == "needs" and not self._has(block):
            self._syntax(block)
            self._all.left_out.append(f"{block.place}: {block.reason} is not installed")
            return
        if block.note == "saved as":
            (self._folder / block.reason).write_text(block.text, encoding="utf-8")
        if self._all.wheel is None and self._installs(block):
            return
        needs_package = block.note == "package" or block.language in ("python", "sql")
        if block.note == "not run":
            self._unknown = True
            self._syntax(block)
            self._all.counts["not run"] += 1
        elif needs_package and not self._all.package and block.language != "text":
            self._unknown = True
            self._syntax(block)
        else:
            actions[block.language](block)
            self._all.counts[block.language] += 1

    def _installs(self, block: Block) -> bool:
        """Return true if the block installs the package, which is only missing if the document is followed literally."""
        return block.note == "package" and block.language == "console"

    def _has(self, block: Block) -> bool:
        """Return true if the program or module that the block needs is installed."""
        if block.language != "python":
            return shutil.which(block.reason) is not None
        wanted = f"import importlib.util, sys\nsys.exit(importlib.util.find_spec({block.reason!r}) is None)"
        return self._all.package and subprocess.run([self._interpreter(), "-c", wanted]).returncode == 0

    def _interpreter(self) -> str:
        """Return the Python of the virtual environment that the document created, or this one."""
        created = self._folder / ".venv" / "bin" / "python"
        return str(created) if created.exists() else sys.executable

    def _syntax(self, block: Block) -> None:
        """Parse a block that is not run."""
        if block.language == "python":
            try:
                ast.parse(block.text)
            except SyntaxError as error:
                raise Wrong(f"{block.place}: {error}") from error
        elif block.language == "sh":
            self._sh(block)
        elif block.language == "toml":
            self._parsed_toml(block)

    def _console(self, block: Block) -> None:
        if self._shell is None:
            self._shell = Session(["bash"], self._folder, SHELL)
        for step in steps_of(block):
            written = self._shell.run(step.command)
            if written is None:
                raise Wrong(f"{block.place}: failed: {step.command}\n{self._shell.last()}")
            out, err = written
            self._written.append(out + err)
            self._all.counts["commands"] += 1
            if not step.output:
                continue
            if not equal(step.output, out.splitlines()):
                raise Wrong(f"{block.place}: `{step.command}` wrote something else:\n{out}")
            self._all.counts["outputs compared"] += 1

    def _run_python(self, block: Block) -> None:
        if self._python is None:
            self._python = Session([self._interpreter()], self._folder, PYTHON)
        written = self._python.run(block.text)
        if written is None:
            raise Wrong(f"{block.place}: failed:\n{block.text}\n{self._python.last()}")
        self._written.append("".join(written))

    def _sql(self, block: Block) -> None:
        code = f"import duckdb\nprint(duckdb.sql({block.text!r}))\n"
        self._run_python(Block(block.document, block.line, "python", code, "", ""))

    def _text(self, block: Block) -> None:
        if block.note == "not compared":
            return
        if block.note == "package" and not self._all.package:
            return
        if not self._written:
            raise Wrong(f"{block.place}: no command above it; use `not compared` with a reason")
        misses = [missing(block.text, text) for text in self._written]
        if None not in misses:
            if self._unknown and not self._all.package:
                # It may be the output of a block that was not run.
                return
            stated = block.text.splitlines()
            furthest = max(misses, key=lambda line: stated.index(line or ""))
            raise Wrong(f"{block.place}: nothing above it writes this; the first line missing:\n{furthest}")
        self._all.counts["outputs compared"] += 1

    def _toml(self, block: Block) -> None:
        values = self._parsed_toml(block)
        if not {"topology", "workload"} <= values.keys():
            return
        run = subprocess.run(
            ["duetime", "check", "-"],
            input=block.text,
            cwd=self._folder,
            capture_output=True,
            text=True,
        )
        if run.returncode != 0:
            raise Wrong(f"{block.place}: duetime check:\n{run.stderr}")

    def _parsed_toml(self, block: Block) -> dict[str, object]:
        try:
            return tomllib.loads(block.text)
        except tomllib.TOMLDecodeError as error:
            raise Wrong(f"{block.place}: {error}") from error

    def _json(self, block: Block) -> None:
        try:
            json.loads(block.text)
        except json.JSONDecodeError:
            try:
                for line in block.text.splitlines():
                    json.loads(line)
            except json.JSONDecodeError as error:
                raise Wrong(f"{block.place}: {error}") from error

    def _csv(self, block: Block) -> None:
        lines = [line for line in block.text.splitlines() if not line.startswith("#")]
        fields = {len(row) for row in csv.reader(lines)}
        if len(fields) != 1:
            raise Wrong(f"{block.place}: lines of {sorted(fields)} fields")

    def _c(self, block: Block) -> None:
        compiler = shutil.which("cc")
        if compiler is None:
            self._all.left_out.append(f"{block.place}: cc is not installed")
            return
        headers = "".join(f"#include <{name}.h>\n" for name in ("stdio", "stdint", "sys/types"))
        text = f'{headers}#include "duetime_d3.h"\nint main(void) {{\n{block.text}return 0;\n}}\n'
        include = ROOT / "crates" / "d3" / "include"
        command = [compiler, "-fsyntax-only", "-Wall", "-Werror", f"-I{include}", "-xc", "-"]
        run = subprocess.run(command, input=text, capture_output=True, text=True)
        if run.returncode != 0:
            raise Wrong(f"{block.place}: {run.stderr}")

    def _rust(self, block: Block) -> None:
        including = f'include_str!("../../../{block.document}")'
        sources = (ROOT / "crates").glob("*/src/lib.rs")
        if not any(including in source.read_text(encoding="utf-8") for source in sources):
            raise Wrong(f"{block.place}: no crate has #[doc = {including}], so nothing compiles it")

    def _sh(self, block: Block) -> None:
        if block.note != "not run":
            raise Wrong(f"{block.place}: `sh` is not run: add `not run` with a reason, or use `console`")
        run = subprocess.run(["bash", "-n"], input=block.text, capture_output=True, text=True)
        if run.returncode != 0:
            raise Wrong(f"{block.place}: {run.stderr}")
        for name in re.findall(r"\bscript/[a-z-]+", block.text):
            if not (ROOT / name).is_file():
                raise Wrong(f"{block.place}: no such script: {name}")
        for name in re.findall(r"-p duetime-([a-z0-9-]+)", block.text):
            if not any((ROOT / place).is_dir() for place in (f"crates/{name}", f"benches/{name[6:]}")):
                raise Wrong(f"{block.place}: no such package: duetime-{name}")


# On a loaded machine, processes start slowly and runs may be invalid, which gives exit code 3.
PATIENT = ((r"sleep ([0-9]+)", r"sleep $((\1 * 5))"),)
BUSY = r"^(duetime lab (?:run|compare) .*[^&])$"


def real_stacks(path: Path) -> int:
    """Run the session of a document on real stacks and return its number of commands."""
    blocks = [block for block in blocks_of(path) if block.note == "real stacks"]
    commands = [step.command for block in blocks for step in steps_of(block)]
    if not commands:
        return 0
    print(f"{blocks[0].document}: its {len(commands)} commands on real stacks", flush=True)
    folder = Path(tempfile.mkdtemp(prefix="duetime-document-"))
    for name in ("scenarios", "papers"):
        shutil.copytree(ROOT / name, folder / name)
    text = "\n".join(commands)
    for pattern, patient in PATIENT:
        text = re.sub(pattern, patient, text)
    busy = "too busy for valid runs"
    text = re.sub(BUSY, rf'\1 || {{ [ $? = 3 ] \&\& echo "{busy}"; }}', text, flags=re.MULTILINE)
    log = folder / "log"
    with log.open("w") as output:
        process = subprocess.Popen(
            ["bash", "-euxo", "pipefail", "-c", text],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            status = process.wait(900)
        except subprocess.TimeoutExpired:
            process.kill()
            status = process.wait()
    # Stop the processes that the session left in the background.
    subprocess.run(["pkill", "-INT", "--session", str(process.pid), "duetime"], check=False)
    written = log.read_text(encoding="utf-8", errors="replace")
    if busy in written.splitlines():
        print(f"{blocks[0].document}: this machine is {busy}")
    shutil.rmtree(folder, ignore_errors=True)
    if status != 0:
        raise Wrong(f"{written}\n{blocks[0].document}: failed")
    return len(commands)


def described(counts: Counter[str]) -> Iterator[str]:
    """Describe the counts in words."""
    yield f"{counts['commands']} commands"
    yield f"{counts['outputs compared']} outputs compared"
    for language in ("python", "sql", "toml", "json", "csv", "c", "rust"):
        if counts[language]:
            yield f"{counts[language]} blocks of {language}"
    yield f"{counts['elsewhere']} blocks checked by another program"
    yield f"{counts['not run']} not run, each with its reason"


def main() -> int:
    """Run the check and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("documents", nargs="+", type=Path)
    parser.add_argument("--package", action="store_true", help="the Python package is installed")
    parser.add_argument("--literally", type=Path, metavar="WHEEL", help="in a folder with the wheel alone")
    parser.add_argument("--real-stacks", action="store_true", help="only what needs root")
    options = parser.parse_args()
    if options.real_stacks:
        try:
            total = sum(real_stacks(path) for path in options.documents)
        except Wrong as error:
            print(error)
            return 1
        print(f"{total} commands on real stacks: ok")
        return 0
    literally: Path | None = options.literally
    documents = Documents(package=options.package or literally is not None, wheel=literally)
    for path in options.documents:
        documents.check(path)
    for line in documents.left_out:
        print(f"left out: {line}")
    for line in documents.wrong:
        print(f"WRONG {line}")
    print("; ".join(described(documents.counts)))
    return 1 if documents.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
