"""Unsigned machine words as terms of z3, with intervals.

Products and quotients of two variables are functions of which only bounds are known, so that z3 compares formulas, not
circuits. Intervals prove the absence of overflow in most places, and z3 in the others, from the bounds and the path.
"""

import z3

_BITS = z3.BitVecSort(64)
_PRODUCT = z3.Function("product", _BITS, _BITS, _BITS)
_QUOTIENT = z3.Function("quotient", _BITS, _BITS, _BITS)


class Word:
    """A word of `width` bits with a value from `low` to `high`."""

    def __init__(self, term, width, low=0, high=None):
        limit = 2**width - 1
        high = limit if high is None else high
        if low == high:
            term = z3.BitVecVal(low, width)
        self.term, self.width, self.low, self.high = term, width, low, high

    @property
    def constant(self):
        """The value of a constant, or None."""
        return self.low if self.low == self.high else None


def constant(value, width):
    value %= 2**width
    return Word(z3.BitVecVal(value, width), width, value, value)


def is_true(condition):
    return z3.is_true(z3.simplify(condition))


def is_false(condition):
    return z3.is_false(z3.simplify(condition))


class Proof:
    """The assumptions and obligations that evaluations collect."""

    def __init__(self):
        self.known, self.path, self.obligations, self.by_interval = [], [], [], 0
        self.wraps = False

    def variable(self, name, width=64, low=0, high=None):
        word = Word(z3.BitVec(name, width), width, low, high)
        self.bound(word)
        return word

    def bound(self, word):
        """Assumes the interval of a variable or of an unknown function's value."""
        self.learn(z3.UGE(word.term, word.low), z3.ULE(word.term, word.high))

    def learn(self, *facts):
        """Assumes facts on the current path."""
        self.known += [z3.Implies(z3.And(*self.path), fact) if self.path else fact for fact in facts]

    def require(self, condition, what):
        """Obliges the proof to show the condition on the current path; False requires that nothing takes the path."""
        if condition is True or (condition is not False and is_true(condition)):
            self.by_interval += 1
        else:
            self.obligations.append((list(self.path), condition, what))

    def choose(self, condition, yes, no):
        """Returns the value of `yes()` or `no()`, which are evaluated on their paths."""
        if is_true(condition):
            return yes()
        if is_false(condition):
            return no()
        values = []
        for branch, assumed in ((yes, condition), (no, z3.Not(condition))):
            self.path.append(assumed)
            values.append(branch())
            self.path.pop()
        # A branch without a value is unreachable, which is an obligation.
        return either(condition, *values) if None not in values else values[values[0] is None]

    # Arithmetic. Results wrap; unless `wraps` is set, the obligations say that they do not.

    def add(self, a, b):
        self._require_fit(self._fits_sum(a, b), "a sum overflows")
        if a.high + b.high < 2**a.width:
            return Word(a.term + b.term, a.width, a.low + b.low, a.high + b.high)
        return Word(a.term + b.term, a.width)

    def subtract(self, a, b):
        self._require_fit(self._fits_difference(a, b), "a difference is negative")
        if a.low >= b.high:
            return Word(a.term - b.term, a.width, a.low - b.high, a.high - b.low)
        return Word(a.term - b.term, a.width)

    def multiply(self, a, b):
        if a.high * b.high >= 2**a.width and not self.wraps:
            a, b = self._narrowed(a), self._narrowed(b)
        fits = a.high * b.high < 2**a.width
        self._require_fit(fits, "a product overflows")
        span = (a.low * b.low, a.high * b.high) if fits else (0, None)
        if a.constant is not None or b.constant is not None:
            return Word(a.term * b.term, a.width, *span)
        result = Word(_PRODUCT(a.term, b.term), a.width, *span)
        self.learn(result.term == _PRODUCT(b.term, a.term))
        if fits:
            self.bound(result)
            for x, y in ((a, b), (b, a)):
                self.learn(z3.ULE(result.term, x.term * y.high), z3.UGE(result.term, x.term * y.low))
                self.learn(z3.Implies(y.term == y.high, result.term == x.term * y.high))
        return result

    def _narrowed(self, a):
        """Returns the word with the lowest bound of the form 2^n - 1 that it has on the current path."""
        low, high = 0, a.high.bit_length()
        while low < high:
            middle = (low + high) // 2
            if self.counterexample(z3.ULE(a.term, 2**middle - 1), self.path) is None:
                high = middle
            else:
                low = middle + 1
        return Word(a.term, a.width, a.low, min(a.high, 2**high - 1))

    def divide(self, a, b):
        self.require(b.low > 0 or b.term != 0, "a division by zero")
        span = (a.low // max(b.high, 1), a.high // max(b.low, 1))
        if b.constant is not None:
            return Word(z3.UDiv(a.term, b.term), a.width, *span)
        result = Word(_QUOTIENT(a.term, b.term), a.width, *span)
        if b.low > 0:
            self.bound(result)
        # a <= b 2^n implies a / b <= 2^n, and a >= b implies a / b >= 1.
        for shift in range(a.width - b.high.bit_length() + 1):
            below = z3.And(b.term != 0, z3.ULE(a.term, b.term << shift))
            self.learn(z3.Implies(below, z3.ULE(result.term, 2**shift)))
        self.learn(z3.Implies(z3.And(b.term != 0, z3.UGE(a.term, b.term)), result.term != 0))
        return result

    def shift_left(self, a, count):
        """Obliges the proof to show that no bits are lost."""
        bits = self._count(count, a)
        if a.high << count.high < 2**a.width:
            self._require_fit(True, "")
            return Word(a.term << bits, a.width, a.low << count.low, a.high << count.high)
        self._require_fit(z3.LShR(a.term << bits, bits) == a.term, "a shift to the left loses bits")
        return Word(a.term << bits, a.width)

    def shift_right(self, a, count):
        bits = self._count(count, a)
        return Word(z3.LShR(a.term, bits), a.width, a.low >> min(count.high, 64), a.high >> count.low)

    def convert(self, a, width):
        """Obliges the proof to show that a conversion to fewer bits keeps the value."""
        if width >= a.width:
            return Word(z3.ZeroExt(width - a.width, a.term), width, a.low, a.high)
        fits = a.high < 2**width
        self._require_fit(fits or z3.ULT(a.term, 2**width), "a conversion loses bits")
        low = z3.Extract(width - 1, 0, a.term)
        return Word(low, width, a.low, a.high) if fits else Word(low, width)

    def _require_fit(self, condition, what):
        if not self.wraps:
            self.require(condition, what)

    def _count(self, count, shifted):
        self.require(count.high < shifted.width or z3.ULT(count.term, shifted.width), "a shift by too many bits")
        extra = shifted.width - count.width
        return z3.ZeroExt(extra, count.term) if extra >= 0 else z3.Extract(shifted.width - 1, 0, count.term)

    @staticmethod
    def _fits_sum(a, b):
        return a.high + b.high < 2**a.width or z3.BVAddNoOverflow(a.term, b.term, False)

    @staticmethod
    def _fits_difference(a, b):
        return a.low >= b.high or z3.UGE(a.term, b.term)

    # Verdicts.

    def counterexample(self, condition, path=()):
        """Returns inputs for which the condition is false, or None if it is always true."""
        solver = z3.SolverFor("QF_UFBV")
        solver.set("timeout", 600_000)
        solver.add(*self.known, *path, z3.Not(condition))
        answer = solver.check()
        if answer == z3.unsat:
            return None
        if answer == z3.unknown:
            return "no answer: " + solver.reason_unknown()
        return str(solver.model())

    def unmet(self):
        """Returns the first obligation that is not always met, with inputs, or None."""
        for path, condition, what in self.obligations:
            condition = z3.BoolVal(False) if condition is False else condition
            found = self.counterexample(condition, path)
            if found is not None:
                return f"{what}: {found}"
        return None


def either(condition, yes, no):
    """Returns `yes` if the condition is true, otherwise `no`."""
    if isinstance(yes, tuple):
        return tuple(either(condition, a, b) for a, b in zip(yes, no, strict=True))
    if isinstance(yes, Word):
        return Word(z3.If(condition, yes.term, no.term), yes.width, min(yes.low, no.low), max(yes.high, no.high))
    return z3.If(condition, yes, no)


def least(a, b):
    word = either(z3.ULE(a.term, b.term), a, b)
    return Word(word.term, a.width, min(a.low, b.low), min(a.high, b.high))


def greatest(a, b):
    word = either(z3.UGE(a.term, b.term), a, b)
    return Word(word.term, a.width, max(a.low, b.low), max(a.high, b.high))
