"""Runs random faults for hours, in pieces of a minute with new seeds, and reports what was survived (script/faults --soak).

Each piece is a call of script/faults. FOLDER/pieces.jsonl gets a line per finished piece, so that a second start continues
after the last piece. A failure does not end the soak: it is recorded with the command that repeats it, FOLDER/failures gets
the output, and the exit status is 1.
"""

import argparse
import fcntl
import json
import os
import re
import resource
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Above the seeds of the tests and of script/faults.
FIRST_SEED = 1_000_000
# Target duration of a piece, in seconds.
PIECE = 60
# Options of script/faults, with the seeds of the first piece; later pieces are adjusted to the target duration.
PARTS = {
    "": 1_000,
    "--d3": 2_000,
    "--due": 2_000,
    "--sockets": 30,
    "--due-sockets": 30,
    "--namespaces": 20,
    "--harnesses": 5_000,
}
NAMES = {"": "simulator", "--d3": "D3", "--due": "due", "--sockets": "D3 sockets", "--due-sockets": "due sockets"}
# Parts whose failing piece runs to its end, and prints all failing seeds. Others stop at the first, which they print last.
RUN_ON = ("", "--harnesses")
FAULTS = ("losses", "duplicates", "reorderings", "corruptions", "deaths", "restarts", "silences", "aborts")
FAILING = re.compile(r"(?:_SEEDS=|to replay: script/faults --\w+ )(\d+)\.\.\d+")


def run_piece(part: str, pieces: list[dict], folder: Path) -> dict:
    """Run the next piece of a part and return its record."""
    earlier = [piece for piece in pieces if piece["part"] == part]
    first, size = FIRST_SEED, PARTS[part]
    if earlier:
        last = earlier[-1]
        first, seeds = last["end"], last["end"] - last["first"]
        size = max(1, min(2 * seeds, int(seeds * PIECE / max(1, last["seconds"]))))
    counts = folder / "counts"
    counts.write_text("")
    command = ["script/faults", *([part] if part else [])]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    result = subprocess.run(
        [*command, f"{first}..{first + size}"],
        cwd=ROOT,
        env={**os.environ, "FAULT_COUNTS": str(counts)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    piece = {
        "part": part,
        "first": first,
        "end": first + size,
        "seconds": round(time.monotonic() - began, 1),
        "processor": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1),
        "version": version(),
        "counts": Counter(),
        "failures": [],
    }
    for line in counts.read_text().splitlines():
        for count in line.split():
            kind, number = count.split("=")
            piece["counts"][kind] += int(number)
    if result.returncode != 0:
        seeds = sorted({int(seed) for seed in FAILING.findall(result.stdout)})
        if not seeds:
            sys.exit(f"{result.stdout[-3000:]}\n{' '.join(command)}: failed without a seed")
        if part not in RUN_ON:
            seeds = seeds[-1:]
            piece["end"] = seeds[0] + 1
        piece["failures"] = [" ".join([*command, f"{seed}..{seed + 1}"]) for seed in seeds]
        with (folder / "failures").open("a") as log:
            log.write(result.stdout)
    return piece


def build(part: str) -> None:
    """Build a part, so that no piece includes the time of its build."""
    command = ["script/faults", *([part] if part else []), "0..0"]
    result = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    if result.returncode != 0:
        sys.exit(result.stdout)


def version() -> str:
    """Return the revision of the working tree."""
    command = ["git", "describe", "--always", "--dirty"]
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def load(file: Path) -> list[dict]:
    """Return the records of the finished pieces."""
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def hours(pieces: list[dict], key: str = "seconds") -> float:
    """Return the sum of a duration of all pieces, in hours."""
    return sum(piece[key] for piece in pieces) / 3600


def show_progress(pieces: list[dict], wanted: float) -> None:
    """Print the last piece and the expected end; on a terminal, in one line."""
    done, last = hours(pieces), pieces[-1]
    end = time.strftime("%a %H:%M", time.localtime(time.time() + 3600 * max(0.0, wanted - done)))
    name = NAMES.get(last["part"], last["part"].removeprefix("--"))
    outcome = f"{len(last['failures'])} failures" if last["failures"] else "ok"
    line = f"{done:.2f} of {wanted:g} hours, until {end}; {name} {last['first']}..{last['end']}: {outcome}"
    print(f"\r\033[K{line}" if sys.stdout.isatty() else line, end="" if sys.stdout.isatty() else "\n", flush=True)


def report(pieces: list[dict]) -> None:
    """Print what has run."""
    total = Counter()
    rows = []
    for part in PARTS:
        own = [piece for piece in pieces if piece["part"] == part]
        if not own:
            continue
        counts = Counter()
        for piece in own:
            counts.update(piece["counts"])
        total.update(counts)
        name = NAMES.get(part, part.removeprefix("--"))
        seeds = f"{own[0]['first']}..{own[-1]['end']}"
        numbers = [
            counts["executions"] + counts["inputs"],
            sum(counts[kind] for kind in FAULTS),
            counts["messages"],
            counts["delivered"],
            counts["bytes"],
        ]
        times = [f"{60 * hours(own):.1f}", f"{60 * hours(own, 'processor'):.1f}"]
        rows.append([name, seeds, *times, *(f"{number:,}" for number in numbers)])
    failures = [failure for piece in pieces for failure in piece["failures"]]
    print(
        f"Soak: {hours(pieces):.2f} hours ({hours(pieces, 'processor'):.2f} of processor time), "
        f"{total['executions']:,} executions and {total['inputs']:,} fuzzed inputs, "
        f"{sum(total[kind] for kind in FAULTS):,} faults survived, bytes lost: {'see the failures' if failures else 'none'}.\n"
    )
    head = ["part", "seeds", "minutes", "processor", "executions", "faults", "messages", "delivered", "bytes"]
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    for name, *cells in [head, *rows]:
        print("  ".join([name.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(cells, widths[1:]))]))
    kinds = ", ".join(f"{total[kind]:,} {kind}" for kind in FAULTS)
    print(f"\nFaults: {kinds}. Packets dropped by full buffers: {total['drops']:,}.")
    print("Endpoints and sockets: every byte of a delivered message was compared; every other message ended with an error or its host died.")
    print("Between namespaces, faults that the kernel's netem injects are not counted.")
    print("Simulator: bytes sent, delivered, dropped and in flight add up in each run.")
    print("Versions: " + ", ".join(dict.fromkeys(piece["version"] for piece in pieces)))
    print(f"Failures: {len(failures) or 'none'}")
    for failure in failures:
        print(f"  {failure}")


def main() -> int:
    """Run pieces of all parts in turn, until they have taken the given time."""
    parser = argparse.ArgumentParser(prog="script/faults --soak", description=__doc__.split("\n")[0])
    parser.add_argument("--hours", type=float, default=24, help="hours of all starts together; 24 by default")
    parser.add_argument("--out", type=Path, default=ROOT / "target/soak", metavar="FOLDER", help="target/soak by default")
    parser.add_argument("--report", action="store_true", help="print the report of the finished pieces only")
    options = parser.parse_args()
    file = options.out / "pieces.jsonl"
    pieces = load(file)
    if not options.report:
        options.out.mkdir(parents=True, exist_ok=True)
        parts = list(PARTS)
        if os.geteuid() != 0:
            print("skipping the namespaces, which require root")
            parts.remove("--namespaces")
        with file.open("a") as record:
            try:
                fcntl.flock(record, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                sys.exit(f"{options.out}: another soak is running")
            try:
                for part in parts:
                    print(f"building {NAMES.get(part, part.removeprefix('--'))}", flush=True)
                    build(part)
                while hours(pieces) < options.hours:
                    # The part that has run for the shortest time.
                    part = min(parts, key=lambda part: hours([piece for piece in pieces if piece["part"] == part]))
                    pieces.append(run_piece(part, pieces, options.out))
                    record.write(json.dumps(pieces[-1]) + "\n")
                    record.flush()
                    show_progress(pieces, options.hours)
            except KeyboardInterrupt:
                print("\nStopped. The same command continues.")
                return 130
        print()
    if not pieces:
        sys.exit(f"{options.out}: no finished piece")
    report(pieces)
    return int(any(piece["failures"] for piece in pieces))


if __name__ == "__main__":
    sys.exit(main())
