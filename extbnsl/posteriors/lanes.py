"""Steps over eight numbers side by side, for the kernels of sums over networks: each is a few vector instructions.

Three variables are lanes: with each choice of the others, a row, there are eight varsets, u, whose numbers lie side by
side. A step takes one row t that a row of varsets u leads to, and has all pairs of a u with a t that it is inside of:
27 of 64, PAIRS. A row has one exponent (wide.py): its numbers must not differ by more than a double holds.
"""

from typing import Any

import llvmlite.ir as ir
import numba
import numpy as np
from numba.core import cgutils
from numba.extending import intrinsic

from extbnsl.posteriors.wide import LOWEST

LOW = 3
LANES = 1 << LOW
LEAST = -3  # exponents that are less count as this one: a 2^-768th
# the pairs of u and t, in four vectors; those at the end repeat the last
_VECTORS = (((0, 8),), ((1, 4), (2, 4)), ((4, 4), (3, 2), (5, 2)), ((6, 2), (7, 1)))
_INSIDE = [[(u, t) for u, _ in own for t in range(LANES) if t & u == u] for own in _VECTORS]
PAIRS = tuple(pair for own in _INSIDE for pair in own + own[-1:] * (LANES - len(own)))
LEAST_FLOW = 2.0**-200  # a smaller probability counts for nothing
PAIRED = 27  # of them are no repetitions
U_OF, T_OF = (np.array(own) for own in zip(*PAIRS, strict=True))

_DOUBLE, _INT, _LONG = ir.DoubleType(), ir.IntType(32), ir.IntType(64)
_ONE = 1023 << 52  # the bits of 1.0


@intrinsic
def share(typingctx, exponent):
    """2^(256 exponent), exponent int64 at most 3; of those below LEAST that of LEAST."""

    def codegen(context, builder, signature, args):
        least = ir.Constant(_LONG, LEAST)
        bounded = builder.select(builder.icmp_signed(">", args[0], least), args[0], least)
        bits = builder.add(builder.shl(bounded, ir.Constant(_LONG, 60)), ir.Constant(_LONG, _ONE))
        return builder.bitcast(bits, _DOUBLE)

    return numba.float64(numba.int64), codegen


class _Lanes:
    """Vectors in the arrays that a step is given, alone or in tuples: each is known by its number among them all."""

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any) -> None:
        self.builder = builder
        self.given: list[Any] = []  # the data of arrays, and numbers
        for kind, value in zip(signature.args, args, strict=True):
            self._take(context, kind, value)

    def _take(self, context: Any, kind: Any, value: Any) -> None:
        if isinstance(kind, numba.types.BaseTuple):
            kinds: Any = kind
            for place, own in enumerate(kinds):
                self._take(context, own, self.builder.extract_value(value, place))
        elif isinstance(kind, numba.types.Array):
            self.given.append(context.make_array(kind)(context, self.builder, value).data)
        else:
            self.given.append(value)

    def load(self, number: int, first: Any, count: int = LANES, kind: Any = _DOUBLE) -> Any:
        """The vector that begins at an entry of an array."""
        return self.builder.load(self._at(number, first, ir.VectorType(kind, count)), align=4 if kind == _INT else 8)

    def store(self, value: Any, number: int, first: Any) -> None:
        """Put a vector there."""
        self.builder.store(value, self._at(number, first, value.type), align=8)

    def _at(self, number: int, first: Any, kind: Any) -> Any:
        place = ir.Constant(_LONG, first) if isinstance(first, int) else first
        return self.builder.bitcast(self.builder.gep(self.given[number], [place]), kind.as_pointer())

    def picked(self, vector: Any, lanes: Any) -> Any:
        """Some lanes of a vector; 0.0 for those that it has not."""
        count = vector.type.count
        none = ir.Constant(vector.type, [0.0] * count)
        mask = [lane if 0 <= lane < count else count for lane in lanes]
        return self.builder.shuffle_vector(vector, none, ir.Constant(ir.VectorType(_INT, len(mask)), mask))

    def fused(self, a: Any, b: Any, c: Any) -> Any:
        """a b + c, rounded once."""
        kind = ir.FunctionType(a.type, [a.type] * 3)
        name = f"llvm.fma.v{a.type.count}f64"
        return self.builder.call(cgutils.get_or_insert_function(self.builder.module, kind, name), (a, b, c))

    def factors(self, products: int, product: Any, shift: int, exponent: Any) -> Any:
        """The products that begin at `product`, with exponents in the next array, of a row with this exponent, in the
        units that `shift` has the exponents of."""
        builder, whole, long = self.builder, ir.VectorType(_INT, LANES), ir.VectorType(_LONG, LANES)
        count = builder.insert_element(ir.Constant(whole, ir.Undefined), exponent, ir.Constant(_INT, 0))
        count = builder.shuffle_vector(count, count, ir.Constant(whole, [0] * LANES))
        own = builder.sub(self.load(products + 1, product, kind=_INT), self.load(shift, 0, kind=_INT))
        own, least = builder.add(own, count), ir.Constant(whole, [LEAST] * LANES)
        own = builder.sext(builder.select(builder.icmp_signed(">", own, least), own, least), long)
        bits = builder.add(builder.shl(own, ir.Constant(long, [60] * LANES)), ir.Constant(long, [_ONE] * LANES))
        return builder.fmul(self.load(products, product), builder.bitcast(bits, ir.VectorType(_DOUBLE, LANES)))

    def rows(self, rows: int, row: Any, further: list[Any]) -> list[tuple[Any, Any, Any]]:
        """Where rows begin, what they have, and the exponent of each, which is in the next array: of a row, and of that
        with each choice of further numbers added."""
        found = []
        for first in self.places(row, further):
            place = self.builder.lshr(first, ir.Constant(_LONG, LOW))
            exponent = self.builder.load(self.builder.gep(self.given[rows + 1], [place]))
            found.append((first, self.load(rows, first), exponent))
        return found

    def places(self, row: Any, further: list[Any]) -> list[Any]:
        """Where the same rows begin."""
        rows = [row]
        for more in further:
            rows += [self.builder.add(one, more) for one in rows]
        return [self.builder.mul(one, ir.Constant(_LONG, LANES)) for one in rows]

    def abs(self, vector: Any) -> Any:
        """Without the signs."""
        bits = ir.VectorType(_LONG, vector.type.count)
        mask = ir.Constant(bits, [2**63 - 1] * vector.type.count)
        return self.builder.bitcast(self.builder.and_(self.builder.bitcast(vector, bits), mask), vector.type)

    def numbers(self, number: int, first: Any) -> tuple[Any, Any]:
        """Eight mantissas and exponents; those are in the next array."""
        return self.load(number, first), self.load(number + 1, first, kind=_INT)

    def sum(self, one: Any, other: Any) -> tuple[Any, Any]:
        """The sum of two times eight numbers; of 2^32 normal ones it need not be normal."""
        builder, (mantissas, exponents), (further, others) = self.builder, one, other
        ahead = builder.sub(others, exponents)
        highest = builder.select(builder.icmp_signed(">", others, exponents), others, exponents)

        def beside(numbers: Any, larger: str, next_to: int) -> Any:
            none, less = (ir.Constant(numbers.type, [value] * LANES) for value in (0.0, 2.0**-256))
            at_least, by_one = (ir.Constant(ahead.type, [value] * LANES) for value in (0, next_to))
            own = builder.select(builder.icmp_signed("==", ahead, by_one), builder.fmul(numbers, less), none)
            return builder.select(builder.icmp_signed(larger, ahead, at_least), numbers, own)

        return builder.fadd(beside(mantissas, "<=", 1), beside(further, ">=", -1)), highest

    def normal(self, product: Any, exponent: Any) -> tuple[Any, Any]:
        """The same eight numbers, normal if they are not farther from it than by one; of 0 the exponent may be any, but
        not below LOWEST."""
        builder, size = self.builder, self.abs(product)
        for sign, bound, change in ((">=", 2.0**128, 1), ("<", 2.0**-128, -1)):
            beyond = builder.fcmp_ordered(sign, size, ir.Constant(product.type, [bound] * LANES))
            other = builder.fmul(product, ir.Constant(product.type, [2.0 ** (-256 * change)] * LANES))
            product = builder.select(beyond, other, product)
            moved = builder.add(exponent, ir.Constant(exponent.type, [change] * LANES))
            exponent = builder.select(beyond, moved, exponent)
        least = ir.Constant(exponent.type, [LOWEST] * LANES)
        return product, builder.select(builder.icmp_signed(">", exponent, least), exponent, least)

    def put(self, numbers: Any, number: int, first: Any) -> None:
        """Store eight numbers."""
        self.store(numbers[0], number, first)
        self.store(numbers[1], number + 1, first)

    def add_pairs(self, sums: int, first: Any, terms: list[tuple[Any, Any]]) -> None:
        """Add the products of factors with rows, pair by pair, to the sums that begin there."""
        for begin in range(0, len(PAIRS), LANES):
            us, ts = zip(*PAIRS[begin : begin + LANES], strict=True)
            place = self.builder.add(first, ir.Constant(_LONG, begin))
            own = self.load(sums, place)
            for factors, row in terms:
                own = self.fused(self.picked(factors, us), self.picked(row, ts), own)
            self.store(own, sums, place)

    def combined(self, vectors: list[Any], matrix: int, lower: bool) -> list[Any]:
        """Vectors times a matrix (8, 8) that has zeros where the number of the column is not inside that of the row,
        or, unless `lower`, the other way round: where the third variable tells that, they are left out."""
        half = LANES // 2
        found: list[Any] = []
        for first in (0, half):
            short = (first == 0) == lower  # of these rows of the matrix one half is zero
            count, begin = (half, 0 if lower else half) if short else (LANES, 0)
            lines = [(k, self.load(matrix, LANES * k + begin, count)) for k in range(first, first + half)]
            totals = []
            for vector in vectors:
                total = self.builder.fmul(self.picked(vector, [first] * count), lines[0][1])
                for k, line in lines[1:]:
                    total = self.fused(self.picked(vector, [k] * count), line, total)
                totals.append(self.picked(total, range(-begin, LANES - begin)) if short else total)
            found.append(totals)
        return [self.builder.fadd(*own) for own in zip(*found, strict=True)]


@intrinsic
def add_rows(typingctx, sums, products, product, shift, rows, row):
    """sums[pair] += products[product + u] rows[8 row + t], in units of which shift (8,) int32 has the exponents.

    products, rows: mantissas and exponents; of rows one exponent a row. row: one, or a tuple of one and of numbers that
    are added to it, each or not, which makes so many more rows; the products of one follow those of the other."""

    def codegen(context, builder, signature, args):
        step = _Lanes(context, builder, signature, args)
        terms = []
        for number, (_, own, exponent) in enumerate(step.rows(5, step.given[7], step.given[8:])):
            product = builder.add(step.given[3], ir.Constant(_LONG, LANES * number))
            terms.append((step.factors(1, product, 4, exponent), own))
        step.add_pairs(0, ir.Constant(_LONG, 0), terms)
        return context.get_dummy_value()

    return numba.none(sums, products, product, shift, rows, row), codegen


@intrinsic
def pass_rows(typingctx, sums, factors, product, shift, rows, row, passed):
    """As `add_rows`, with factors: products and seeds, by which these are multiplied. sums: two times all pairs, and
    where those are that the first row counts to; a number that is added to a row leads from one to the other.

    passed: low, given, masses, first, flows. With f for what u brings: masses[8 row - first + t] += rows[8 row + t]
    times the sum of f[u] given[u, t]; flows[product + u] = f[u] times the sum of low[t, u] rows[8 row + t]."""

    def codegen(context, builder, signature, args):
        step = _Lanes(context, builder, signature, args)
        further = len(signature.args[5]) - 1
        low, given, masses, start, flows = range(10 + further, 15 + further)
        found = step.rows(7, step.given[9], step.given[10 : 10 + further])
        seeds, rows = step.load(4, 0), [own for _, own, _ in found]
        products = [builder.add(step.given[5], ir.Constant(_LONG, LANES * number)) for number in range(len(found))]
        factors = [
            builder.fmul(step.factors(2, product, 6, exponent), seeds)
            for product, (_, _, exponent) in zip(products, found, strict=True)
        ]
        sizes = [builder.fmul(*own) for own in zip(factors, step.combined(rows, low, lower=True), strict=True)]
        places = [builder.sub(first, step.given[start]) for first, _, _ in found]
        shares = step.combined(factors, given, lower=False)
        held = [
            step.fused(share, row, step.load(masses, place))
            for share, row, place in zip(shares, rows, places, strict=True)
        ]
        for odd in (False, True):
            own = [pair for k, pair in enumerate(zip(factors, rows, strict=True)) if k.bit_count() % 2 == odd]
            other = builder.sub(ir.Constant(_LONG, len(PAIRS)), step.given[1])
            if own:
                step.add_pairs(0, other if odd else step.given[1], own)
        for product, size, place, more in zip(products, sizes, places, held, strict=True):
            step.store(size, flows, product)
            step.store(more, masses, place)
        return context.get_dummy_value()

    return numba.none(sums, factors, product, shift, rows, row, passed), codegen


@intrinsic
def multiply_row(typingctx, numbers, at, to, weights, first):
    """Let the eight numbers at `to` be those at `at` times minus the weights from `first` on, normal; all are
    mantissas and exponents. Of a number that is 0 the exponent is some low one, not below LOWEST."""

    def codegen(context, builder, signature, args):
        step = _Lanes(context, builder, signature, args)
        (one, exponent), (other, more) = step.numbers(0, step.given[2]), step.numbers(4, step.given[6])
        product = builder.fneg(builder.fmul(one, other))
        step.put(step.normal(product, builder.add(exponent, more)), 0, step.given[3])
        return context.get_dummy_value()

    return numba.none(numbers, at, to, weights, first), codegen


@intrinsic
def add_wide_row(typingctx, numbers, first, to):
    """Add the eight numbers from `first` on to those from `to` on; sums of 2^32 normal ones need not be normal."""

    def codegen(context, builder, signature, args):
        step = _Lanes(context, builder, signature, args)
        to = step.given[3]
        step.put(step.sum(step.numbers(0, to), step.numbers(0, step.given[2])), 0, to)
        return context.get_dummy_value()

    return numba.none(numbers, first, to), codegen


@intrinsic
def add_within_row(typingctx, numbers, first, upwards):
    """Let each of eight numbers be the sum over those whose lanes are inside its own; or, unless upwards, over those
    whose lanes its own is inside of."""

    def codegen(context, builder, signature, args):
        step = _Lanes(context, builder, signature, args)
        first = step.given[2]
        found = step.numbers(0, first)
        for bit in (1, 2, 4):
            swap = ir.Constant(ir.VectorType(_INT, LANES), [lane ^ bit for lane in range(LANES)])
            has = ir.Constant(ir.VectorType(ir.IntType(1), LANES), [int(lane & bit > 0) for lane in range(LANES)])
            gets = builder.xor(has, _all(builder, builder.not_(step.given[3])))
            mantissas, exponents = (builder.shuffle_vector(own, own, swap) for own in found)
            mantissas = builder.select(gets, mantissas, ir.Constant(mantissas.type, [0.0] * LANES))
            exponents = builder.select(gets, exponents, ir.Constant(exponents.type, [LOWEST] * LANES))
            found = step.sum(found, (mantissas, exponents))
        step.put(found, 0, first)
        return context.get_dummy_value()

    return numba.none(numbers, first, upwards), codegen


def _all(builder: Any, value: Any) -> Any:
    """A truth value in eight lanes."""
    kind = ir.VectorType(ir.IntType(1), LANES)
    one = builder.insert_element(ir.Constant(kind, ir.Undefined), value, ir.Constant(_INT, 0))
    return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(_INT, LANES), [0] * LANES))


@intrinsic
def divide_row(typingctx, found, to, flows, first, held, weights):
    """Let the eight numbers at `to` be flows[first : first + 8] times held (8,), over the weights at `to`, normal; 0
    for what is 0, or at most LEAST_FLOW."""

    def codegen(context, builder, signature, args):
        step = _Lanes(context, builder, signature, args)
        to, (weights, exponents) = step.given[2], step.numbers(6, step.given[2])
        flow = builder.fmul(step.load(3, step.given[4]), step.load(5, 0))
        counts = builder.fcmp_ordered(">", step.abs(flow), ir.Constant(flow.type, [LEAST_FLOW] * LANES))
        none = ir.Constant(flow.type, [0.0] * LANES)
        counts = builder.and_(counts, builder.fcmp_ordered(">", weights, none))
        number, exponent = step.normal(builder.fdiv(flow, weights), builder.neg(exponents))
        lowest = ir.Constant(exponent.type, [LOWEST] * LANES)
        step.put((builder.select(counts, number, none), builder.select(counts, exponent, lowest)), 0, to)
        return context.get_dummy_value()

    return numba.none(found, to, flows, first, held, weights), codegen


@intrinsic
def add_lanes(typingctx, sums, at, numbers, first):
    """sums[at : at + 8] += numbers[first : first + 8]."""

    def codegen(context, builder, signature, args):
        step = _Lanes(context, builder, signature, args)
        at = step.given[1]
        step.store(builder.fadd(step.load(0, at), step.load(2, step.given[3])), 0, at)
        return context.get_dummy_value()

    return numba.none(sums, at, numbers, first), codegen


@intrinsic
def settle(typingctx, sums, totals, sizes):
    """Of two times the sums of all pairs: add them to totals, and their absolute values to sizes; and let them be 0."""

    def codegen(context, builder, signature, args):
        step = _Lanes(context, builder, signature, args)
        for first in range(0, len(PAIRS), LANES):
            own, more = step.load(0, first), step.load(0, len(PAIRS) + first)
            step.store(builder.fadd(step.load(1, first), builder.fadd(own, more)), 1, first)
            step.store(builder.fadd(step.load(2, first), builder.fadd(step.abs(own), step.abs(more))), 2, first)
            for begin in (first, len(PAIRS) + first):
                step.store(ir.Constant(own.type, [0.0] * LANES), 0, begin)
        return context.get_dummy_value()

    return numba.none(sums, totals, sizes), codegen


@intrinsic
def fetch_rows(typingctx, numbers, start, row):
    """Let the processor fetch the rows of numbers (8 k,), the first of which is row `start`. row: as in `add_rows`."""

    def codegen(context, builder, signature, args):
        step = _Lanes(context, builder, signature, args)
        place = builder.sub(step.given[2], step.given[1])
        pointers = ir.PointerType(ir.IntType(8))
        kind = ir.FunctionType(ir.VoidType(), [pointers, _INT, _INT, _INT])
        fetch = builder.module.declare_intrinsic("llvm.prefetch", (pointers,), kind)
        for first in step.places(place, step.given[3:]):
            pointer = builder.bitcast(builder.gep(step.given[0], [first]), pointers)
            builder.call(fetch, (pointer, ir.Constant(_INT, 0), ir.Constant(_INT, 3), ir.Constant(_INT, 1)))
        return context.get_dummy_value()

    return numba.none(numbers, start, row), codegen
