"""Evaluates functions of a C header symbolically, from clang's syntax tree."""

import json
import subprocess

import z3
from symbolic import Word, constant, either, greatest, is_true, least

_WIDTHS = {"int": 32, "unsigned int": 32, "unsigned long long": 64, "unsigned long": 64}
_COMPARISONS = {"<": z3.ULT, "<=": z3.ULE, ">": z3.UGT, ">=": z3.UGE}
_ARITHMETIC = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide"}
_PRELUDE = """
typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
#undef __always_inline
#define __always_inline inline
"""


class Source:
    """The functions of a header. `unknown` maps names of functions to what is known of them."""

    def __init__(self, header, proof, unknown):
        command = ["clang", "-Xclang", "-ast-dump=json", "-fsyntax-only", "-w", "-x", "c", "-"]
        text = _PRELUDE + f'#include "{header}"\n'
        tree = json.loads(subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout)
        self.functions = {node["name"]: node for node in tree["inner"] if node["kind"] == "FunctionDecl"}
        self.proof, self.unknown = proof, unknown

    def call(self, name, *arguments):
        """Returns the result of a function."""
        if name in self.unknown:
            return self.unknown[name](*arguments)
        parts = self.functions[name]["inner"]
        parameters = [part["name"] for part in parts if part["kind"] == "ParmVarDecl"]
        return self._run(parts[-1]["inner"], dict(zip(parameters, arguments, strict=True)))

    def loop(self, name):
        """Returns the values that the counter of the function's only loop takes, and the loop's body for `step`."""
        (first, _, condition, advance, body), scope, values = self._loop_parts(name), {}, []
        self._run([first], scope)
        while is_true(self._condition(condition, scope)):
            (counter,) = scope.values()
            values.append(counter.constant)
            self._run([advance], scope)
        return values, body

    def step(self, body, variables):
        """Runs statements without `return`; returns the variables."""
        self._run([body], variables)
        return variables

    def _loop_parts(self, name):
        (loop,) = [part for part in self.functions[name]["inner"][-1]["inner"] if _loop(part)]
        return _loop(loop)["inner"]

    def _run(self, statements, scope):
        statements = list(statements)
        while statements:
            node = statements.pop(0)
            kind = node["kind"]
            if kind == "CompoundStmt":
                statements = node.get("inner", []) + statements
            elif kind == "DeclStmt":
                for variable in node["inner"]:
                    scope[variable["name"]] = self._value(variable["inner"][0], scope) if "init" in variable else None
            elif kind == "ReturnStmt":
                return self._value(node["inner"][0], scope)
            elif kind == "IfStmt":
                condition, *branches = node["inner"]
                paths = [branches[:1] + statements, branches[1:] + statements]
                yes, no = (lambda path=path: self._run(path, dict(scope)) for path in paths)
                return self.proof.choose(self._condition(condition, scope), yes, no)
            elif loop := _loop(node):
                first, _, condition, advance, body = loop["inner"]
                again = {"kind": "Again", "condition": condition, "body": [body, advance]}
                statements = [first, again] + statements
            elif kind == "Again":
                if is_true(self._condition(node["condition"], scope)):
                    statements = node["body"] + [node] + statements
            elif kind != "GCCAsmStmt":  # OPAQUE, which changes nothing
                self._value(node, scope)
        return None

    def _condition(self, node, scope):
        value = self._value(node, scope)
        return value.term != 0 if isinstance(value, Word) else value

    def _value(self, node, scope):
        kind, inner = node["kind"], node.get("inner", [])
        if kind in ("ParenExpr", "ConstantExpr"):
            return self._value(inner[0], scope)
        if kind in ("ImplicitCastExpr", "CStyleCastExpr"):
            value = self._value(inner[0], scope)
            return self._cast(value, node) if node["castKind"] == "IntegralCast" else value
        if kind == "IntegerLiteral":
            return constant(int(node["value"]), _width(node))
        if kind == "DeclRefExpr":
            name = node["referencedDecl"]["name"]
            return scope.get(name, name)
        if kind == "MemberExpr":
            return self._value(inner[0], scope)[node["name"]]
        if kind == "CallExpr":
            name, *arguments = [self._value(part, scope) for part in inner]
            # Their intervals are known better than those of a choice.
            if name in ("at_most", "at_least"):
                self._check_choice(name)
                return (least if name == "at_most" else greatest)(*arguments)
            return self.call(name, *arguments)
        if kind == "ConditionalOperator":
            condition, yes, no = inner
            branches = (lambda: self._value(yes, scope), lambda: self._value(no, scope))
            return self.proof.choose(self._condition(condition, scope), *branches)
        if kind == "UnaryOperator":
            return self._unary(node, scope)
        if kind == "CompoundAssignOperator":
            value = self._binary(node["opcode"][:-1], *(self._value(part, scope) for part in inner))
            scope[_name(inner[0])] = self._resized(value, _width(inner[0]))
            return None
        if kind == "BinaryOperator":
            return self._assign_or_combine(node, scope)
        raise NotImplementedError(kind)

    def _assign_or_combine(self, node, scope):
        operator, (left, right) = node["opcode"], node["inner"]
        if operator == "=":
            scope[_name(left)] = self._value(right, scope)
            return None
        if operator in ("&&", "||"):
            a = self._condition(left, scope)
            self.proof.path.append(a if operator == "&&" else z3.Not(a))
            b = self._condition(right, scope)
            self.proof.path.pop()
            return z3.And(a, b) if operator == "&&" else z3.Or(a, b)
        a, b = self._value(left, scope), self._value(right, scope)
        if operator in ("==", "!="):
            return a.term == b.term if operator == "==" else a.term != b.term
        if operator in _COMPARISONS:
            if _type(left) == "int":  # of counters, which are constants
                return z3.BoolVal(_compare(operator, _signed(a), _signed(b)))
            return _COMPARISONS[operator](a.term, b.term)
        return self._binary(operator, a, b)

    def _binary(self, operator, a, b):
        if operator == "<<":
            return self.proof.shift_left(a, b)
        if operator == ">>":
            return self.proof.shift_right(a, b)
        if b.width < a.width:
            b = self.proof.convert(b, a.width)
        if a.width < b.width:
            a = self.proof.convert(a, b.width)
        if operator in ("^", "&", "|"):
            term = {"^": a.term ^ b.term, "&": a.term & b.term, "|": a.term | b.term}[operator]
            return Word(term, a.width)
        return getattr(self.proof, _ARITHMETIC[operator])(a, b)

    def _unary(self, node, scope):
        operator, (operand,) = node["opcode"], node["inner"]
        if operator == "!":
            return z3.Not(self._condition(operand, scope))
        value = self._value(operand, scope)
        step = {"++": 1, "--": -1}[operator]
        scope[_name(operand)] = constant(value.constant + step, value.width)
        return None

    def _cast(self, value, node):
        width = _width(node)
        if not isinstance(value, Word):  # of a comparison
            return either(value, constant(1, width), constant(0, width))
        return self._resized(value, width)

    def _resized(self, value, width):
        return value if value.width == width else self.proof.convert(value, width)

    def _check_choice(self, name):
        """Fails unless at_most and at_least are minimum and maximum."""
        a, b = Word(z3.BitVec("a", 64), 64), Word(z3.BitVec("b", 64), 64)
        expected = (least if name == "at_most" else greatest)(a, b)
        if self.proof.counterexample(self.call(name, a, b).term == expected.term) is not None:
            raise AssertionError(f"{name} is wrong")


def _loop(node):
    """Returns the `for` statement that this is, perhaps with a pragma, or None."""
    if node["kind"] == "AttributedStmt":
        node = node["inner"][-1]
    return node if node["kind"] == "ForStmt" else None


def _name(node):
    return node["referencedDecl"]["name"]


def _type(node):
    kind = node["type"]
    return kind.get("desugaredQualType", kind["qualType"]).replace("const ", "")


def _width(node):
    return _WIDTHS[_type(node)]


def _signed(word):
    return word.constant - (word.constant >> (word.width - 1) << word.width)


def _compare(operator, a, b):
    return {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[operator]
