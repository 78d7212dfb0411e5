"""What a network of states says of some variables, given others: exact, by eliminating the rest.

Only the families that matter are looked at (see `relevant`). The variables of these that are neither asked for nor
given are summed out one by one (Zhang and Poole 1994), in an order that adds few edges to their graph (Kjærulff 1990).
Products of two factors at a time make a tree; the gradient of its root, taken from there down, has the posterior of
every variable at once (Darwiche 2003). Factors are logarithms, so no number of given values is too many; and they have
an axis of records, so that many of these are answered together.
"""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.errors import BudgetError
from extbnsl.core.figures import format_size
from extbnsl.core.sentences import Mention
from extbnsl.data import Dataset
from extbnsl.machine.budgets import default_memory
from extbnsl.machine.workers import chunks
from extbnsl.networks.network import Network, relevant, where_set
from extbnsl.networks.parameters import by_observed, log_likelihoods, tables_of

RECORDS = -1  # the axis of records: the last one of a factor that depends on what is given
AT_ONCE = 1 << 20  # numbers in the factors of the records that are answered together, so that a cache holds them
WIDEST = 690.0  # nats between the least and the largest of products that are summed as they stand: exp(-690) is no zero
BYTES = 8  # of a number


@dataclass(frozen=True, eq=False)
class Tables:
    """A network of states with its parameters.

    of: the tables of some children, by child, each float64 of shape (*arities of its parents, its arity).
    """

    network: Network
    arities: tuple[int, ...]
    of: Callable[[Collection[int]], Mapping[int, NDArray[np.float64]]]

    @staticmethod
    def fitted(
        network: Network,
        dataset: Dataset,
        smoothing: float,
        table: Callable[[int, tuple[int, ...]], NDArray[np.float64]] | None = None,
    ) -> "Tables":
        """The parameters that `fit` gives, of each child when it is first needed; table: as `tables_of` has it."""
        made = dict[int, NDArray[np.float64]]()

        def of(children: Collection[int]) -> dict[int, NDArray[np.float64]]:
            made.update(tables_of(network, dataset, smoothing, [x for x in children if x not in made], table))
            return made

        return Tables(network, tuple(dataset.arities.tolist()), of)

    @staticmethod
    def known(network: Network, tables: Sequence[NDArray[np.float64]]) -> "Tables":
        """These parameters of all children; rows that a file has rounded are made to sum to 1."""

        def of(children: Collection[int]) -> dict[int, NDArray[np.float64]]:
            return {child: tables[child] / tables[child].sum(axis=-1, keepdims=True) for child in children}

        return Tables(network, tuple(table.shape[-1] for table in tables), of)

    def where_set(self, variables: Collection[int]) -> "Tables":
        """The same where these variables were set from outside: they have no parents, and all their states alike."""

        def of(children: Collection[int]) -> dict[int, NDArray[np.float64]]:
            others = self.of([child for child in children if child not in variables])
            return {**others, **{v: np.full(self.arities[v], 1.0 / self.arities[v]) for v in variables}}

        return Tables(where_set(self.network, variables), self.arities, of)


class Factor(NamedTuple):
    """Logarithms over some axes: variables, and perhaps RECORDS as the last one."""

    axes: tuple[int, ...]
    logs: NDArray[np.float64]


class Step(NamedTuple):
    """The product of two factors, by their numbers, summed over all variables but these."""

    one: int
    other: int
    variables: tuple[int, ...]


UNIT = Factor((), np.zeros(()))  # the factor 0 of every elimination


def log_likelihoods_observed(
    network: Network,
    training: Dataset,
    codes: NDArray[np.uint16],
    lacking: NDArray[np.bool_],
    smoothing: float,
    memory: int | None = None,
) -> NDArray[np.float64]:
    """The log-likelihood in nats of what is observed of each record (N, n): float64 (N,).

    Parameters as those of `log_likelihoods`; the values that a record lacks are summed out. Else as `marginals`.
    """
    tables, found = Tables.fitted(network, training, smoothing), np.zeros(len(codes))
    for observed, rows in by_observed(lacking):
        if len(observed) == codes.shape[1]:  # from the data alone, however large the tables would be
            found[rows] = log_likelihoods(network, training, codes[rows], smoothing)
        else:
            found[rows] = log_evidence(tables, codes[rows], observed, memory)
    return found


def marginals(
    tables: Tables,
    targets: Sequence[int],
    codes: NDArray[np.integer],
    observed: Collection[int],
    memory: int | None = None,
) -> tuple[NDArray[np.float64], ...]:
    """The posterior of each target given the observed variables in each record (N, n): float64 (N, its arity) for each.

    Only the observed columns of `codes` are looked at, and none of them is a target. nan in a record whose values, as
    far as a target depends on them, are impossible together. memory: bytes, by default what the machine has left.
    Raises BudgetError if the elimination takes more. The time for several targets is three times that for one.
    """
    if len(targets) == 1:
        return (joint(tables, targets, codes, observed, memory),)
    children = relevant(tables.network, targets, observed)
    work = _Elimination.of(tables, children, observed, ())
    leaves = [children.index(target) + 1 for target in targets]

    def answer(factors: list[Factor]) -> list[NDArray[np.float64]]:
        outer = work.gradients(factors, leaves)
        own = zip(leaves, targets, strict=True)
        return [_shares(_product(factors[leaf], outer[leaf], (target,))) for leaf, target in own]

    return _answers(work, codes, memory, answer, again=True)


def joint(
    tables: Tables,
    targets: Sequence[int],
    codes: NDArray[np.integer],
    observed: Collection[int],
    memory: int | None = None,
) -> NDArray[np.float64]:
    """The posterior of all targets together in each record, float64 (N, *their arities); else as `marginals`."""
    work = _Elimination.of(tables, relevant(tables.network, targets, observed), observed, targets)
    return _answers(work, codes, memory, lambda factors: [_shares(factors[-1])])[0]


def log_evidence(
    tables: Tables,
    codes: NDArray[np.integer],
    observed: Collection[int],
    memory: int | None = None,
    apart_from: Collection[int] = (),
) -> NDArray[np.float64]:
    """The log-likelihood of the observed variables in each record (N, n), in nats: float64 (N,); else as `marginals`.

    apart_from: variables; if there are any, then that of the families on which their posterior does not depend.
    """
    children = set(relevant(tables.network, (), observed))
    if apart_from:
        children -= set(relevant(tables.network, apart_from, observed))
    return log_sums(tables, sorted(children), codes, observed, memory)


def log_sums(
    tables: Tables,
    children: Sequence[int],
    codes: NDArray[np.integer],
    observed: Collection[int],
    memory: int | None = None,
) -> NDArray[np.float64]:
    """The logarithm of the product of the tables of these children in each record (N, n), summed over what is not
    observed: float64 (N,); else as `marginals`."""
    work = _Elimination.of(tables, children, observed, ())
    return _answers(work, codes, memory, lambda factors: [np.atleast_1d(factors[-1].logs)])[0]


@dataclass(frozen=True, eq=False)
class _Elimination:
    """How the families of some children are multiplied, and all summed out of them but what is observed or kept.

    observed: the observed variables that are in one of the families, ascending. own: the other variables of each factor
    before the first step, UNIT first. steps: each makes one more factor; the last one makes the root.
    """

    tables: Tables
    children: Sequence[int]
    observed: tuple[int, ...]
    own: tuple[tuple[int, ...], ...]
    steps: tuple[Step, ...]

    @staticmethod
    def of(tables: Tables, children: Sequence[int], observed: Collection[int], kept: Sequence[int]) -> "_Elimination":
        given, families = set(observed), [(*tables.network.parents[child], child) for child in children]
        own = ((), *(tuple(v for v in family if v not in given) for family in families))
        steps = tuple(_steps(own, tables.arities, tuple(kept)))
        there = {variable for family in families for variable in family}
        return _Elimination(tables, children, tuple(sorted(given & there)), own, steps)

    def factors(self, states: NDArray[np.integer], again: bool) -> list[Factor]:
        """All factors for some states of the observed variables, (N, observed); without `again`, only the root is
        kept."""
        column, tables = dict(zip(self.observed, states.T, strict=True)), self.tables.of(self.children)
        made = [UNIT]
        for child, own in zip(self.children, self.own[1:], strict=True):
            made.append(_reduced(tables[child], (*self.tables.network.parents[child], child), own, column))
        for step in self.steps:
            made.append(_product(made[step.one], made[step.other], step.variables))
            if not again:
                made[step.one] = UNIT  # each is in one product alone
                made[step.other] = UNIT
        return made

    def gradients(self, factors: Sequence[Factor], leaves: Collection[int]) -> dict[int, Factor]:
        """The gradient of the root with respect to each of these factors, with all its axes that it depends on."""
        numbered, wanted = list(enumerate(self.steps, len(self.own))), set(leaves)
        for number, step in numbered:
            if not wanted.isdisjoint((step.one, step.other)):
                wanted.add(number)
        found = {len(factors) - 1: UNIT}
        for number, step in reversed(numbered):
            if number in wanted:
                outer = found.pop(number)
                for inner, beside in ((step.one, step.other), (step.other, step.one)):
                    if inner in wanted:
                        known = {*outer.axes, *factors[beside].axes} - {RECORDS}
                        axes = tuple(axis for axis in factors[inner].axes if axis in known)
                        found[inner] = _product(outer, factors[beside], axes)
        return found

    def most_numbers(self, again: bool) -> tuple[int, int]:
        """How many numbers are held at once for one record, at most; and how many of them are in the largest product.

        again: all factors are kept, and their gradients come on top.
        """
        sizes = [_cells(variables, self.tables.arities) for variables in self.own]
        held, most, largest = sum(sizes), 0, 0
        for step in self.steps:
            both, made = sizes[step.one] + sizes[step.other], _cells(step.variables, self.tables.arities)
            sizes.append(made)
            held += made
            most, largest = max(most, held + both + made), max(largest, made)  # the product is made of copies
            held -= 0 if again else both
        return (2 * held + 3 * largest if again else most), largest


def _answers(
    work: _Elimination,
    codes: NDArray[np.integer],
    memory: int | None,
    answer: Callable[[list[Factor]], list[NDArray[np.float64]]],
    again: bool = False,
) -> tuple[NDArray[np.float64], ...]:
    """What `answer` makes of the factors, for all records (N, n); each array has an axis of records first, or one that
    is for all of them."""
    granted = default_memory() if memory is None else memory
    most, largest = work.most_numbers(again)
    if BYTES * most > granted:
        raise BudgetError(
            f"This query needs {format_size(BYTES * most)} of memory, since summing out all other variables takes a "
            f"table of {largest:,} numbers, and ",
            Mention("memory"),
            f" grants {format_size(granted)}: ask for fewer variables at a time, or say the states of more.",
        )
    given = codes[:, list(work.observed)]
    which = np.zeros(len(given), np.int64)
    if work.observed:
        given, which = np.unique(given, axis=0, return_inverse=True)
    parts = []
    for start, end in chunks(
        max(1, len(given)) if work.observed else 1, max(1, min(AT_ONCE, granted // BYTES) // most)
    ):
        made = answer(work.factors(given[start:end], again))
        parts.append([np.broadcast_to(each, (end - start, *each.shape[1:])) for each in made])
    return tuple(np.concatenate(each)[which.reshape(-1)] for each in zip(*parts, strict=True))


def _reduced(
    table: NDArray[np.float64], family: Sequence[int], own: Sequence[int], column: Mapping[int, NDArray[np.integer]]
) -> Factor:
    """The table of a family for the records whose observed variables have these states."""
    given = [variable for variable in family if variable in column]
    moved = table.transpose([family.index(variable) for variable in (*given, *own)])
    with np.errstate(divide="ignore"):
        if not given:
            return Factor(tuple(own), np.log(moved))
        return Factor((*own, RECORDS), np.log(np.moveaxis(moved[tuple(column[v] for v in given)], 0, -1)))


def _product(one: Factor, other: Factor, variables: tuple[int, ...]) -> Factor:
    """The product of two factors, summed over all variables but these.

    Each is divided by the largest of its numbers in each record. Where a product of what is left might be too small for
    a float, logarithms are added term by term.
    """
    axes = (*variables, RECORDS) if RECORDS in (*one.axes, *other.axes) else variables
    (a, of_a, deep_a), (b, of_b, deep_b) = _scaled(one), _scaled(other)
    if deep_a + deep_b > WIDEST:
        return Factor(axes, _in_logs(Factor(one.axes, a), Factor(other.axes, b), axes) + of_a + of_b)
    place = {axis: number for number, axis in enumerate(dict.fromkeys((*one.axes, *other.axes)))}
    labels = [[place[axis] for axis in each] for each in (one.axes, other.axes, axes)]
    with np.errstate(divide="ignore"):
        logs = np.log(np.einsum(np.exp(a), labels[0], np.exp(b), labels[1], labels[2]))
    return Factor(axes, logs + of_a + of_b)


def _scaled(factor: Factor) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """The logarithms less the largest of each record, these, and how far below the least one is that is of no zero."""
    logs = factor.logs
    largest = logs.max(axis=tuple(range(logs.ndim - (RECORDS in factor.axes))))
    largest = np.where(np.isneginf(largest), 0.0, largest)
    scaled = logs - largest
    least = float(scaled.min())
    if least == -math.inf:
        least = float(scaled.min(where=np.isfinite(scaled), initial=0.0))
    return scaled, largest, -least


def _in_logs(one: Factor, other: Factor, axes: tuple[int, ...]) -> NDArray[np.float64]:
    """The logarithms of the product over these axes, by adding up those of its terms."""
    summed = tuple(axis for axis in dict.fromkeys((*one.axes, *other.axes)) if axis not in axes)
    order = (*summed, *axes)
    spread = []
    for factor in (one, other):
        moved = factor.logs.transpose([factor.axes.index(axis) for axis in order if axis in factor.axes])
        spread.append(moved[tuple(slice(None) if axis in factor.axes else None for axis in order)])
    shape = np.broadcast_shapes(*(each.shape for each in spread))
    total = np.full(shape[len(summed) :], -math.inf)
    for index in np.ndindex(shape[: len(summed)]):
        a, b = (each[tuple(min(i, n - 1) for i, n in zip(index, each.shape, strict=False))] for each in spread)
        total = np.logaddexp(total, a + b)
    return total


def _shares(factor: Factor) -> NDArray[np.float64]:
    """The numbers of a factor divided by their sum in each record, with the axis of records first; nan where all are
    0."""
    logs = np.moveaxis(factor.logs, -1, 0) if RECORDS in factor.axes else factor.logs[None]
    others = tuple(range(1, logs.ndim))
    with np.errstate(invalid="ignore"):
        shares = np.exp(logs - logs.max(axis=others, keepdims=True))
        known: NDArray[np.float64] = shares / shares.sum(axis=others, keepdims=True)
    return known


def _cells(variables: Iterable[int], arities: Sequence[int]) -> int:
    """How many numbers a factor has for a record, at most: so reckoned, what has more axes than numpy can have is too
    large for any memory."""
    return math.prod(max(2, arities[variable]) for variable in variables)


def _steps(own: Sequence[tuple[int, ...]], arities: Sequence[int], kept: tuple[int, ...]) -> Iterator[Step]:
    """The products of factors over these variables, in which each is summed out but those that are kept."""
    held = {number: set(variables) for number, variables in enumerate(own) if number}
    holders: dict[int, set[int]] = {}
    for number, variables in held.items():
        for variable in variables:
            holders.setdefault(variable, set()).add(number)
    made = len(own)

    def multiplied(numbers: Iterable[int], summed: int | None) -> Iterator[Step]:
        """The product of all of these, the smallest first; the last step sums one variable out."""
        nonlocal made
        sizes = [(_cells(held[number], arities), number) for number in numbers] or [(1, 0)]
        heapify(sizes)
        while True:
            one, other = heappop(sizes)[1], heappop(sizes)[1] if sizes else 0
            variables = held.pop(one, set()) | held.pop(other, set())
            if not sizes:
                variables.discard(summed)
            held[made] = variables
            yield Step(one, other, tuple(sorted(variables)) if summed is not None or sizes else kept)
            if not sizes:
                break
            heappush(sizes, (_cells(variables, arities), made))
            made += 1

    for variable in _order((*own, kept), arities, kept):
        numbers = holders.pop(variable)
        yield from multiplied(numbers, variable)
        for other in held[made]:
            holders[other] = (holders[other] - numbers) | {made}
        made += 1
    yield from multiplied(list(held), None)


def _order(groups: Sequence[tuple[int, ...]], arities: Sequence[int], kept: Collection[int]) -> Iterator[int]:
    """All variables of these groups but those that are kept, in the order in which they are eliminated.

    The next one is that whose elimination joins the fewest pairs of its neighbours, each weighted with the numbers of a
    table over both; of several that with the smallest table.
    """
    near: dict[int, set[int]] = {}
    for group in groups:
        for variable in group:
            near.setdefault(variable, set()).update(group)
    for variable, others in near.items():
        others.discard(variable)

    def joined(variable: int) -> int:
        return sum(arities[a] * arities[b] for a, b in combinations(near[variable], 2) if b not in near[a])

    weights = {
        variable: (joined(variable), _cells(near[variable], arities)) for variable in near if variable not in kept
    }
    waiting = [(weight, variable) for variable, weight in weights.items()]
    heapify(waiting)
    while weights:
        weight, variable = heappop(waiting)
        if weights.get(variable) != weight:
            continue  # its neighbours have changed since
        yield variable
        del weights[variable]
        around = near.pop(variable)
        changed = set(around)
        for other in around:
            near[other].discard(variable)
            if weight[0]:
                near[other] |= around - {other}
                changed |= near[other]
        for other in changed & weights.keys():
            if weight[0]:
                pairs = joined(other)
            else:  # no pair is new, so those with the variable go: quickly, for one that has very many neighbours
                apart = sum(arities[third] for third in near[other] - around)
                pairs = weights[other][0] - arities[variable] * apart
            weights[other] = (pairs, _cells(near[other], arities))
            heappush(waiting, (weights[other], other))
