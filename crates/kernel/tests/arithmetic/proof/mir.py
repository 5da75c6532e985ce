"""Evaluates functions of Rust crates symbolically, from the compiler's MIR.

A newtype is evaluated as its word, a reference as its target, and a struct as a tuple. The compiler's assertions become
obligations.
"""

import os
import re
import subprocess
from pathlib import Path

import z3
from symbolic import Word, constant, either, greatest, least

_WIDTHS = {"u8": 8, "u32": 32, "i32": 32, "u64": 64, "isize": 64, "usize": 64}
_NEWTYPES = ("Factor", "Fraction", "Span", "Time")
_COMPARISONS = {"Lt": z3.ULT, "Le": z3.ULE, "Gt": z3.UGT, "Ge": z3.UGE}


def emit(root, target):
    """Compiles the crates core and proto with checks of overflow and without optimisation; returns their MIR."""
    texts = []
    for crate in ("core", "proto"):
        file = Path(target) / f"{crate}.mir"
        command = ["cargo", "rustc", "--quiet", "--locked", "-p", f"duetime-{crate}", "--lib", "--"]
        options = [f"--emit=mir={file}", "-C", "opt-level=0", "-C", "overflow-checks=on"]
        environment = {**os.environ, "CARGO_TARGET_DIR": str(target)}
        subprocess.run([*command, *options], cwd=root, env=environment, check=True)
        texts.append(file.read_text(encoding="utf-8"))
    return texts


class Option:
    """An `Option`, with a condition that is true if it has the value."""

    def __init__(self, is_some, value):
        self.is_some, self.value = is_some, value


class Crates:
    """The functions and constants of crates. `unknown` maps names of functions to what is known of them."""

    def __init__(self, texts, proof, unknown):
        self.items, self.proof, self.unknown = {}, proof, unknown
        for text in texts:
            # A `const fn` is printed twice; one of them is only evaluated by the compiler.
            text = re.sub(r"^// MIR FOR CTFE\n.*?^\}", "", text, flags=re.MULTILINE | re.DOTALL)
            for item in re.findall(r"^(?:fn|const) [^\n]*(?:;$|\{$.*?^\})", text, re.MULTILINE | re.DOTALL):
                self._add(item)

    def _add(self, item):
        head = item.split("\n", 1)[0]
        name = re.match(r"(?:<impl at [^>]*>|::|[^(:])+", head.split(" ", 1)[1])[0]
        blocks = {}
        for label, body in re.findall(r"^    (bb\d+): \{\n(.*?)^    \}", item, re.MULTILINE | re.DOTALL):
            blocks[label] = [line.strip() for line in body.splitlines() if line.strip()]
        self.items.setdefault(name.split("::")[-1] if "promoted" not in name else name, []).append((name, head, blocks))

    def call(self, path, *arguments):
        """Returns the result of the function `name` or `Type::name`."""
        if path in self.unknown:
            return self.unknown[path](*arguments)
        library = _library(path, arguments, self.proof)
        if library is not None:
            return library
        _, _, blocks = self._find(path)
        scope = {f"_{number}": value for number, value in enumerate(arguments, start=1)}
        return self._run(blocks, "bb0", scope)

    def _find(self, path):
        *owners, name = path.split("::")
        found = self.items.get(name, [])
        if len(found) > 1:
            # Methods and constants of types: by the type in the signature, or of another item of the same `impl`.
            owner = owners[-1]
            found = [item for item in found if self._owner(item[0]) == owner]
        if len(found) != 1:
            raise LookupError(f"{len(found)} items named {path}")
        return found[0]

    def _owner(self, name):
        """Returns the type of an item's `impl`: that of the receiver, or of a constant of it."""
        scope = name.rsplit("::", 1)[0]
        for others in self.items.values():
            for other, head, _ in others:
                if other.rsplit("::", 1)[0] == scope:
                    found = re.search(r"::(?:ZERO|ONE): (\w+) = |\(_1: &?(\w+)", head)
                    if found:
                        return found[1] or found[2]
        return None

    def _run(self, blocks, label, scope):
        for line in blocks[label]:
            line = line.rstrip(";")
            if line == "return":
                return scope["_0"]
            if line == "unreachable":
                self.proof.require(False, "an arm that is unreachable")
                return scope.get("_0")
            if match := re.fullmatch(r"goto -> (bb\d+)", line):
                return self._run(blocks, match[1], scope)
            if match := re.fullmatch(r"assert\((!?)(.+?), \"(.*?)\".*\) -> \[success: (bb\d+), .*\]", line):
                condition = self._operand(match[2], scope)
                self.proof.require(z3.Not(condition) if match[1] else condition, match[3])
                return self._run(blocks, match[4], scope)
            if match := re.fullmatch(r"switchInt\((.+)\) -> \[(.*)\]", line):
                targets = [target.split(": ") for target in match[2].split(", ")]
                return self._switch(blocks, self._operand(match[1], scope), targets, scope)
            if match := re.fullmatch(r"(_\d+) = (.+?)\((.*)\) -> \[return: (bb\d+), .*\]", line):
                arguments = [self._operand(part, scope) for part in _split(match[3])]
                scope[match[1]] = self.call(match[2].split("duetime_core::")[-1], *arguments)
                return self._run(blocks, match[4], scope)
            if not line.startswith(("StorageLive", "StorageDead")):
                place, value = line.split(" = ", 1)
                scope[place] = self._rvalue(value, scope)
        raise ValueError(f"{label} does not end")

    def _switch(self, blocks, value, targets, scope):
        (case, target), *others = targets
        if case == "otherwise":
            return self._run(blocks, target, dict(scope))
        matches = value.term == int(case) if isinstance(value, Word) else (z3.Not(value) if case == "0" else value)
        return self.proof.choose(
            matches,
            lambda: self._run(blocks, target, dict(scope)),
            lambda: self._switch(blocks, value, others, scope),
        )

    def _rvalue(self, text, scope):
        if match := re.fullmatch(r"(\w+)\((.*)\)", text):
            operator, operands = match[1], _split(match[2])
            if operator == "discriminant":
                value = self._place(operands[0], scope)
                if isinstance(value, Option):
                    return either(value.is_some, constant(1, 64), constant(0, 64))
                return value
            values = [self._operand(operand, scope) for operand in operands]
            if operator in _COMPARISONS:
                return _COMPARISONS[operator](values[0].term, values[1].term)
            if operator in ("Eq", "Ne"):
                equal = values[0].term == values[1].term
                return equal if operator == "Eq" else z3.Not(equal)
            if operator in ("Add", "Sub", "Mul", "Div", "Shl", "Shr"):
                return self._combine(operator, *values)
            if operator.endswith("WithOverflow"):
                # The obligation is here, so the flag is false.
                return (self._combine(operator.removesuffix("WithOverflow"), *values), z3.BoolVal(False))
            if operator == "Not":
                return z3.Not(values[0])
            if operator in _NEWTYPES:
                return values[0]
            raise NotImplementedError(text)
        if match := re.fullmatch(r"(.+) as (\w+) \(IntToInt\)", text):
            return self.proof.convert(self._operand(match[1], scope), _WIDTHS[match[2]])
        if text.startswith("&"):
            return self._place(text[1:], scope)
        if text.startswith("("):
            return tuple(self._operand(part, scope) for part in _split(text[1:-1]))
        return self._operand(text, scope)

    def _combine(self, operator, a, b):
        calls = {
            "Add": self.proof.add,
            "Sub": self.proof.subtract,
            "Mul": self.proof.multiply,
            "Div": self.proof.divide,
            "Shl": self.proof.shift_left,
            "Shr": self.proof.shift_right,
        }
        return calls[operator](a, b)

    def _operand(self, text, scope):
        if match := re.fullmatch(r"const (-?\d+)_(\w+)", text):
            return constant(int(match[1]), _WIDTHS[match[2]])
        if text.startswith("const "):
            return self._constant(text.removeprefix("const "))
        return self._place(re.sub(r"^(copy|move) ", "", text), scope)

    def _constant(self, path):
        if "promoted" in path:
            # `Type::function::promoted[0]`: only the function identifies it in the list.
            (item,) = [
                item
                for name, items in self.items.items()
                for item in items
                if name.split("::")[-2:] == path.split("::")[-2:]
            ]
        else:
            item = self._find(path)
        _, head, blocks = item
        if blocks:
            return self._run(blocks, "bb0", {})
        return self._operand(head.split(" = ", 1)[1].rstrip(";"), {})

    def _place(self, text, scope):
        """Returns the value of a place such as `((*_3).0: u64)`."""
        if re.fullmatch(r"_\d+", text):
            return scope[text]
        if match := re.fullmatch(r"\(\*(.+)\)", text):
            return self._place(match[1], scope)
        if match := re.fullmatch(r"\((.+)\.(\d+): [^()]*(?:\([^()]*\))?[^()]*\)", text):
            value = self._place(match[1], scope)
            return value[int(match[2])] if isinstance(value, tuple) else value
        if match := re.fullmatch(r"\((.+) as Some\)", text):
            return self._place(match[1], scope).value
        raise ValueError(f"a place: {text}")


def _library(path, arguments, proof):
    """Returns the result of a function of the standard library or of a derived trait, or None."""
    method = path.rsplit("::", 1)[-1]
    if re.fullmatch(r"<\w+ as Ord>::(min|max)", path):
        return (least if method == "min" else greatest)(*arguments)
    if path == "<u64 as Ord>::clamp":
        value, low, high = arguments
        proof.require(low.high <= high.low, "a clamp between bounds in the wrong order")
        return least(greatest(value, low), high)
    if re.fullmatch(r"<\w+ as Partial(Eq|Ord)>::(eq|le|lt)", path):
        a, b = (argument.term for argument in arguments)
        return {"eq": a == b, "le": z3.ULE(a, b), "lt": z3.ULT(a, b)}[method]
    if path == "<u64 as From<u32>>::from":
        return proof.convert(arguments[0], 64)
    if method == "saturating_sub":
        a, b = arguments
        term = z3.If(z3.UGE(a.term, b.term), a.term - b.term, z3.BitVecVal(0, a.width))
        return Word(term, a.width, max(a.low - b.high, 0), max(a.high - b.low, 0))
    if method == "leading_zeros":
        (value,) = arguments
        count = z3.BitVecVal(value.width, 32)
        for bit in range(value.width):
            count = z3.If(z3.Extract(bit, bit, value.term) == 1, z3.BitVecVal(value.width - 1 - bit, 32), count)
        return Word(count, 32, 0, value.width)
    return None


def _split(text):
    """Splits at the commas outside brackets."""
    parts, depth, part = [], 0, ""
    for letter in text:
        depth += (letter in "(<[") - (letter in ")>]")
        if letter == "," and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += letter
    return [*parts, part.strip()] if part.strip() else parts
