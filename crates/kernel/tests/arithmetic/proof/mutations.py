"""Applies seeded faults, one at a time, to a copy of the repository; fails unless the checks find each of them.

    mutations.py TARGET   TARGET: cargo's target folder for the copy

A fault is in the kernel's header, in Rust or in both. Each is given to the part of the checks that it concerns: the
enumeration of the tests, or the claims of prove.py with a text in their names.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[5]
HEADER = "crates/kernel/src/bpf/arithmetic.h"
FIXED = "crates/core/src/fixed.rs"
D2TCP = "crates/proto/src/window/d2tcp.rs"
IMMINENCE = "crates/proto/src/window/imminence.rs"
ENUMERATION = "enumeration"

# Name, the part that must find it, and the changes: file, text, new text.
FAULTS = [
    ("C: off by one in the shift of 2^-x", ENUMERATION, [(HEADER, "INNER_BITS, 32) + 1 +", "INNER_BITS, 32) + 2 +")]),
    ("C: digits of a coefficient swapped", ENUMERATION, [(HEADER, "378899413", "378894913")]),
    (
        "both: p rounded down",
        ENUMERATION,
        [
            (HEADER, "(twice + (1ull << (shift - 1))) >> shift", "twice >> shift"),
            (FIXED, "(double + (1 << (shift - 1))) >> shift", "double >> shift"),
        ],
    ),
    (
        "both: p may be zero",
        ENUMERATION,
        [
            (HEADER, "(shift - 1))) >> shift, 1)", "(shift - 1))) >> shift, 0)"),
            (FIXED, "0 => Fraction(1)", "0 => Fraction(0)"),
        ],
    ),
    ("C: size of a message not limited", "Tc, approximate", [(HEADER, "4 * at_most(bytes, MAX_BYTES)", "4 * bytes")]),
    (
        "C: operands of D in round trips swapped",
        "d from Tc",
        [(HEADER, "(left << FACTOR_BITS) / srtt", "(srtt << FACTOR_BITS) / left")],
    ),
    (
        "C: square root compares with > for >=",
        "square root, bit 7",
        [(HEADER, "((value - trial) >> 63)", "((value - trial - 1) >> 63)")],
    ),
    ("Rust: off by one in the shift of D", "d from Tc", [(IMMINENCE, "saturating_sub(47)", "saturating_sub(48)")]),
    ("Rust: d not raised to its minimum", "d of a flow", [(D2TCP, "d.max(min).min(max)", "d.min(max)")]),
    ("Rust: alpha never decays to zero", "alpha, gain 2^-4", [(FIXED, "0 => self.0,", "0 => 0,")]),
]


def copy(to):
    """Copies the tracked files and those that would be tracked."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0"):
        if name and (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, to / name)


def change(tree, changes):
    """Applies changes; returns the original texts."""
    originals = {}
    for name, old, new in changes:
        text = (tree / name).read_text(encoding="utf-8")
        originals.setdefault(name, text)
        if text.count(old) != 1:
            sys.exit(f"{name}: {text.count(old)} places with `{old}`")
        (tree / name).write_text(text.replace(old, new), encoding="utf-8")
    return originals


def restore(tree, originals):
    for name, text in originals.items():
        (tree / name).write_text(text, encoding="utf-8")


def check(tree, target, part):
    """Returns None if the part finds nothing, otherwise the line that says what is wrong."""
    environment = {**os.environ, "CARGO_TARGET_DIR": str(target), "RUST_BACKTRACE": "0"}

    def run(*command):
        return subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)

    if part == ENUMERATION:
        test = ["cargo", "test", "--locked", "--quiet", "-p", "duetime-kernel", "--test", "arithmetic"]
        built = run(*test, "--no-run")
        if built.returncode != 0:
            sys.exit(built.stderr)
        result = run(*test, "exhaustive::")
        lines = (result.stdout + result.stderr).splitlines()
        found = [after for before, after in pairwise(lines) if "panicked at" in before]
        return found[0] if result.returncode != 0 else None
    prove = tree / "crates/kernel/tests/arithmetic/proof/prove.py"
    result = run(sys.executable, str(prove), "--only", part, str(target))
    found = [line for line in result.stderr.splitlines() if "not proved" in line]
    if result.returncode != 0 and not found:
        sys.exit(result.stderr)
    return found[0] if found else None


def main():
    target = Path(sys.argv[1]).resolve()
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        copy(tree)
        for _, _, changes in FAULTS:
            restore(tree, change(tree, changes))
        for part in sorted({part for _, part, _ in FAULTS}):
            fault = check(tree, target, part)
            if fault is not None:
                sys.exit(f"{part}: finds a fault without a change: {fault}")
        for name, part, changes in FAULTS:
            began = time.monotonic()
            originals = change(tree, changes)
            fault = check(tree, target, part)
            restore(tree, originals)
            missed += fault is None
            verdict = "found" if fault is not None else "NOT FOUND"
            seconds = time.monotonic() - began
            print(f"{name:40} {part:19} {verdict:9} {seconds:4.0f} s  {(fault or '')[:90]}", flush=True)
    print(f"{len(FAULTS) - missed} of {len(FAULTS)} faults found")
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
