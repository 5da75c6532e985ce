"""Proves that the kernel controllers' header and the Rust controllers compute the same bits, without overflow.

    prove.py TARGET               TARGET: cargo's target folder for these builds, which no other build should use
    prove.py --only "Tc" TARGET   only the claims whose names contain the text

Both languages are read from their compilers' output, so nothing is copied by hand. Every claim is about all inputs in
the ranges that the functions document. The logarithm and the exponential are unknown functions here; `exhaustive.rs`
compares them for every input.
"""

import argparse
import math
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import z3
from c_source import Source
from mir import Crates, Option, emit
from symbolic import Proof, Word, constant, either, greatest, least

ROOT = Path(__file__).resolve().parents[5]
HEADER = ROOT / "crates/kernel/src/bpf/arithmetic.h"
ONE = 1 << 20
FACTOR_ONE = 1 << 16
MAX_WINDOW = 2**43 - 1
MAX_MSS = 2**16 - 1
_WORDS = z3.BitVecSort(64)
_HALF = z3.BitVecSort(32)


class Comparison:
    """One function in both languages, with the same unknown functions."""

    def __init__(self, header, texts):
        self.proof = Proof()
        root = self._square_root()
        logarithm = self._unknown("logarithm", [_HALF], _WORDS, lambda _: (0, 20 << 30))
        exponential = self._unknown("exponential", [_WORDS], _HALF, lambda _: (1, ONE))
        power = {"minus_log2": logarithm, "exp2_of_minus": exponential}
        self.c = Source(header, self.proof, {"square_root": root, **power})
        rust = {
            **power,
            "core::num::<impl u64>::isqrt": root,
            # The options are any factors.
            "Factor::from_f64": lambda option: option,
        }
        self.rust = Crates(texts, self.proof, rust)

    def _unknown(self, name, domain, result, span):
        """Returns a function of which only the result's interval is known."""
        function = z3.Function(name, *domain, result)

        def call(*arguments):
            word = Word(function(*(argument.term for argument in arguments)), result.size(), *span(*arguments))
            self.proof.bound(word)
            return word

        return call

    def _square_root(self):
        function = self._unknown("square_root", [_WORDS], _WORDS, lambda _: (0, 2**31 - 1))

        def call(value):
            self.proof.require(value.high < 2**62 or z3.ULT(value.term, 2**62), "a square root of 2^62 or more")
            root = function(value)
            self.proof.learn(z3.Implies(value.term != 0, root.term != 0))
            return root

        return call

    def hide_completion_and_imminence(self):
        """Makes functions that other claims compare unknown; their callers must meet the conditions of those claims."""
        approximate = self._unknown("approximate", [_WORDS] * 2, _WORDS, lambda *_: (0, None))
        precise = self._unknown("precise", [_WORDS, _WORDS, _HALF], _WORDS, lambda *_: (0, None))
        ratio = self._unknown("imminence", [_WORDS] * 3, _WORDS, lambda *_: (0, None))

        def above_zero(function):
            def call(*arguments):
                for argument in arguments:
                    self.proof.require(argument.term != 0, "an argument of zero")
                return function(*arguments)

            return call

        def rtts(form, data, window, mss):
            return either(form.term == 0, above_zero(approximate)(data, window), above_zero(precise)(data, window, mss))

        def imminence_of(rtts, srtt, left):
            above_zero(lambda *_: None)(srtt, left)
            return ratio(rtts, srtt, left)

        self.c.unknown |= {
            "completion_approximate": above_zero(approximate),
            "completion_precise": above_zero(precise),
            "imminence": imminence_of,
        }
        self.rust.unknown |= {"completion_rtts": rtts, "imminence": imminence_of}

    def agree(self, in_c, in_rust):
        """Returns the common result, or the inputs for which they differ or overflow."""
        self.proof.wraps = True
        a = in_c(self.c)
        self.proof.wraps = False
        b = in_rust(self.rust)
        fault = self.proof.unmet() or self.proof.counterexample(a.term == b.term)
        return b, fault


def averaged(check, shift):
    variable = check.proof.variable
    alpha, whole = variable("alpha", 32, 0, ONE), variable("whole", 64, 1, 2**44 - 1)
    part = variable("part", 64, 0, 2**44 - 1)
    gain = variable("gain_shift", 32, shift, shift)
    check.proof.known.append(z3.ULE(part.term, whole.term))
    result, fault = check.agree(
        lambda c: c.call("fraction_averaged", alpha, gain, part, whole),
        lambda rust: rust.call("Fraction::averaged", alpha, gain, part, whole),
    )
    return fault or check.proof.counterexample(z3.ULE(result.term, ONE))


def power(check):
    alpha, d = check.proof.variable("alpha", 32, 0, ONE), check.proof.variable("d")
    result, fault = check.agree(
        lambda c: c.call("fraction_power", alpha, d), lambda rust: rust.call("Fraction::power", alpha, d)
    )
    positive = z3.And(z3.ULE(result.term, ONE), (result.term == 0) == (alpha.term == 0))
    return fault or check.proof.counterexample(positive)


def share(check):
    p, amount = check.proof.variable("p", 32, 0, ONE), check.proof.variable("amount", 64, 0, MAX_WINDOW)
    result, fault = check.agree(
        lambda c: c.call("fraction_of", p, amount), lambda rust: rust.call("Fraction::of", p, amount)
    )
    return fault or check.proof.counterexample(z3.ULE(result.term, amount.term))


def reduction(check):
    variable = check.proof.variable
    window, p, floor = variable("window", 64, 0, MAX_WINDOW), variable("p", 32, 0, ONE), variable("floor")
    result, fault = check.agree(
        lambda c: c.call("reduced", window, p, floor), lambda rust: rust.call("reduced", window, p, floor)
    )
    upper = greatest(window, floor).term
    between = z3.And(
        z3.UGE(result.term, floor.term), z3.UGE(result.term, window.term - window.term / 2), z3.ULE(result.term, upper)
    )
    return fault or check.proof.counterexample(between)


def completion(check, precise):
    variable = check.proof.variable
    data, window, mss = variable("bytes", 64, 1), variable("window", 64, 1, MAX_WINDOW), variable("mss", 32, 1, MAX_MSS)
    form = variable("form", 64, int(precise), int(precise))

    def in_c(c):
        if precise:
            return c.call("completion_precise", data, window, mss)
        return c.call("completion_approximate", data, window)

    _, fault = check.agree(in_c, lambda rust: rust.call("completion_rtts", form, data, window, mss))
    return fault


def imminence(check):
    variable = check.proof.variable
    arguments = variable("rtts"), variable("srtt", 64, 1), variable("left", 64, 1)
    _, fault = check.agree(lambda c: c.call("imminence", *arguments), lambda rust: rust.call("imminence", *arguments))
    return fault


def flow(check):
    check.hide_completion_and_imminence()
    variable = check.proof.variable
    d_min, d_max, d_expired = variable("d_min"), variable("d_max"), variable("d_expired")
    has_deadline, precise = variable("has_deadline", 32, 0, 1), variable("precise", 32, 0, 1)
    now, deadline, srtt = variable("now"), variable("deadline"), variable("srtt")
    remaining, window = variable("remaining"), variable("window", 64, 1, MAX_WINDOW)
    mss = variable("mss", 32, 1, MAX_MSS)
    left = either(z3.UGT(deadline.term, now.term), Word(deadline.term - now.term, 64), constant(0, 64))
    options = {"d_min": d_min, "d_max": d_max, "d_expired": d_expired, "precise": precise}
    progress = {
        "has_deadline": has_deadline,
        "mss": mss,
        "left_ps": left,
        "remaining": remaining,
        "window": window,
        "srtt_ps": srtt,
    }
    form = Word(z3.ZeroExt(32, precise.term), 64, 0, 1)
    in_rust = (Option(has_deadline.term != 0, deadline), remaining, window, mss, srtt)
    result, fault = check.agree(
        lambda c: c.call("imminence_of", options, progress),
        lambda rust: rust.call("D2tcp::imminence_of", (d_min, d_max, d_expired, form), now, in_rust),
    )
    clamped = z3.And(z3.UGE(result.term, least(d_min, d_max).term), z3.ULE(result.term, d_max.term))
    return fault or check.proof.counterexample(z3.If(has_deadline.term == 0, result.term == FACTOR_ONE, clamped))


def rounding(check):
    """With Tc, D and d rounded down, the error of d is at most 2^-15, if a round trip is left and d is at most 2.

    Integer divisions round down, and other claims prove that nothing overflows.
    """
    tc, left, d = z3.Reals("tc left d")
    rounded = {name: z3.Real(f"rounded_{name}") for name in ("tc", "left", "d")}
    unit = FACTOR_ONE
    solver = z3.Solver()
    solver.add(tc >= 0, left >= unit, d == tc / left, d <= 2)
    solver.add(rounded["tc"] <= tc, tc < rounded["tc"] + 1, rounded["left"] <= left, left < rounded["left"] + 1)
    quotient = rounded["tc"] * unit / rounded["left"]
    solver.add(rounded["left"] >= unit, rounded["d"] <= quotient, quotient < rounded["d"] + 1)
    error = rounded["d"] / unit - d
    solver.add(z3.Or(error * unit > 2, error * unit < -2))
    return None if solver.check() == z3.unsat else f"the error is larger, or unknown: {solver}"


def square_root_loop(check):
    """The loop runs from bit 30 to bit 0, starts from zero and returns the root."""
    bits, _ = check.c.loop("square_root")
    check.proof.wraps = True
    del check.c.unknown["square_root"]
    for value in [0, 1, 2, 3, 4, 2**62 - 1, 2**61, *(3**power for power in range(2, 39))]:
        root = check.c.call("square_root", constant(value, 64))
        if z3.simplify(root.term).as_long() != math.isqrt(value):
            return f"of {value}: {z3.simplify(root.term)}"
    return None if bits == list(range(30, -1, -1)) else f"bits {bits}"


def square_root(check, bit):
    """A step of the loop keeps `value` the rest V - root^2 of its argument V, and root^2 <= V < (root + 2^(bit + 1))^2.

    After bit 0 the root is the largest integer whose square is at most V, as in Rust's library.
    """
    proof, one = check.proof, 1 << bit
    root, rest = proof.variable("root", 64, 0, 2**31 - 1), proof.variable("rest", 64, 0, 2**62 - 1)
    # (root + 2 one)^2 - root^2 is the bound of the rest.
    proof.known += [z3.URem(root.term, 2 * one) == 0, z3.ULT(rest.term, (root.term + one) * (4 * one))]
    proof.wraps = True
    _, body = check.c.loop("square_root")
    after = check.c.step(body, {"root": root, "value": rest, "bit": constant(bit, 32)})
    new_root, new_rest = after["root"].term, after["value"].term
    # The root may grow by `one`, and then the rest shrinks by (root + one)^2 - root^2, not below zero.
    shrinks = (2 * root.term + one) * one
    grown = z3.And(new_root == root.term + one, new_rest == rest.term - shrinks, z3.UGE(rest.term, shrinks))
    same = z3.And(new_root == root.term, new_rest == rest.term)
    below = z3.ULT(new_rest, (2 * new_root + one) * one)
    invariant = z3.And(z3.Or(grown, same), below, z3.URem(new_root, one) == 0)
    return proof.unmet() or proof.counterexample(invariant)


def claims():
    """Returns the functions that check the claims, by name; the longest first."""
    listed = {
        "d of a flow": flow,
        "Tc, precise": lambda check: completion(check, precise=True),
        "Tc, approximate": lambda check: completion(check, precise=False),
        "d from Tc": imminence,
        "error of d": rounding,
        "p from logarithm and exponential": power,
        "p of an amount": share,
        "window after a reduction": reduction,
        "square root": square_root_loop,
    }
    for shift in range(21):
        listed[f"alpha, gain 2^-{shift}"] = lambda check, shift=shift: averaged(check, shift)
    for bit in range(30, -1, -1):
        listed[f"square root, bit {bit}"] = lambda check, bit=bit: square_root(check, bit)
    return listed


def verdict(name, header, texts):
    """Checks a claim; returns its fault or None, the numbers of obligations for z3 and by intervals, and seconds."""
    began = time.monotonic()
    check = Comparison(header, texts)
    fault = claims()[name](check)
    if fault is None and check.proof.counterexample(z3.BoolVal(False)) is None:
        fault = "the assumptions contradict each other, so they prove anything"
    return fault, len(check.proof.obligations), check.proof.by_interval, time.monotonic() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="text in the names of the claims")
    parser.add_argument("target", type=Path, help="cargo's target folder")
    arguments = parser.parse_args()
    texts = emit(ROOT, arguments.target.resolve())
    names = [name for name in claims() if arguments.only in name]
    solved = intervals = 0
    started = time.monotonic()
    with ProcessPoolExecutor() as pool:
        jobs = {name: pool.submit(verdict, name, HEADER, texts) for name in names}
        for name, job in jobs.items():
            fault, by_z3, by_interval, seconds = job.result()
            if fault is not None:
                pool.shutdown(cancel_futures=True, wait=False)
                sys.exit(f"{name}: not proved: {fault}")
            solved, intervals = solved + by_z3, intervals + by_interval
            print(f"{name}: proved, {seconds:.1f} s", flush=True)
    elapsed = time.monotonic() - started
    print(f"{len(names)} claims; no overflow: {solved} places by z3, {intervals} by intervals; {elapsed:.0f} s")


if __name__ == "__main__":
    main()
