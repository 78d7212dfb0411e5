"""What all networks over a component that cost less than a limit add up to: how many they are, and the weights of those
that have a family, without a list of them.

A component is taken apart as for a list. Of pieces all but the largest are listed. What they cost together, and with
all that is outside the component, is what is outside the largest one: so in the end only the costs of what is outside
go with a piece, and what comes back is the weight of each.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from extbnsl.kbest.below import Choices, Layers, Lone, Pieces, Work, networks_below, taken_apart
from extbnsl.kbest.halves import HalvedPiece, Sums, by_number, sums_below
from extbnsl.kbest.ledger import Arrays, as_kept, key_of
from extbnsl.kbest.networks import joined, numbers_in, pairs
from extbnsl.parents.components import Component

PIECES, CHOICES, WALKS = "pieces of a tally", "families of a tally", "halves"  # how a tally is made
OPTIMUM = "optimum"  # what is known of a piece
PAIR_BYTES = 80  # of two parts of a network that are put in order


@dataclass(frozen=True)
class Tally:
    """What networks add up to: how many; families: of each child the weights (m,) float64 of those that have each of
    its families; outside (o,) float64: the weights of those with each of the ways outside. The weight of a network is
    exp(base - cost), with a base that all agree on."""

    networks: int
    families: tuple[NDArray[np.float64], ...]
    outside: NDArray[np.float64]

    @property
    def weight(self) -> float:
        """That of all networks."""
        return float(self.outside.sum())

    def check(self) -> None:
        """Assert every invariant."""
        assert self.networks >= 0, "a number"
        assert all(own.dtype == np.float64 for own in (*self.families, self.outside)), "weights"
        assert all((own >= 0.0).all() for own in (*self.families, self.outside)), "weights"
        assert all(abs(own.sum() - self.weight) <= 1e-6 * self.weight for own in self.families), "each has one family"


@dataclass(frozen=True)
class Below:
    """Which networks: those that cost less than `limit`, in nats; base: of their weights, about the cheapest cost."""

    limit: float
    base: float
    work: Work


def tally_below(component: Component, outside: NDArray[np.float64], below: Below) -> Tally:
    """The tally of the networks over a component, together with what is outside: (o,) costs, ascending, in nats.

    Raises Stopped, and MemoryError if parts of networks are too many; the ledger has what is known by then.
    Deterministic, whatever the threads. Exact but for the rounding of the weights; and networks that cost the limit but
    for the rounding of a sum are below it or not.
    """
    if component.size == 1:
        own = _met(component.costs[0], outside, below)
        return Tally(own.networks, (own.families,), own.outside)
    limit = below.limit - float(outside[0])
    match taken_apart(component, limit, below.work):
        case None:
            return _nothing(component, outside)
        case Pieces() as pieces:
            return _of_pieces(pieces, outside, below)
        case Lone(left, cost):
            met = _met(np.array([cost]), outside, below)
            tally = Tally(met.networks, (met.families,) * left.size, met.outside)
        case Layers() as layers:
            left, tally = layers.left, _of_layers(layers, outside, below)
        case Choices() as choices:
            left, tally = choices.left, _of_choices(choices, outside, below)
    return replace(tally, families=_in_whole(component, left, tally))


def _nothing(component: Component, outside: NDArray[np.float64]) -> Tally:
    return Tally(0, tuple(np.zeros(own.size) for own in component.costs), np.zeros(outside.size))


def _in_whole(whole: Component, part: Component, tally: Tally) -> tuple[NDArray[np.float64], ...]:
    """The weights of the families of a whole, for those of a part of it with the same children."""
    found = tuple(np.zeros(own.size) for own in whole.costs)
    for child, numbers, weights in zip(part.variables, numbers_in(whole, part), tally.families, strict=True):
        found[child][numbers] = weights
    return found


def _met(costs: NDArray[np.float64], outside: NDArray[np.float64], below: Below) -> Sums:
    """The sums of networks that have one of so many parts, of ascending costs, and one of the ways outside."""
    fitting = np.searchsorted(outside, below.limit - costs)
    weights = np.exp(below.base - outside[0] - costs)
    added_up = np.append(0.0, np.cumsum(np.exp(outside[0] - outside)))
    by_last = np.bincount(fitting, weights, minlength=outside.size + 1)
    fit = np.cumsum(by_last[::-1])[::-1][1:]
    return Sums(int(fitting.sum()), weights * added_up[fitting], fit * np.exp(outside[0] - outside))


def _of_pieces(pieces: Pieces, outside: NDArray[np.float64], below: Below) -> Tally:
    """The tally of networks that are put together from pieces: the largest, and what is listed of the others."""
    component, parts = pieces.whole, pieces.parts
    work, limit = below.work, below.limit - float(outside[0])
    largest = max(range(len(parts)), key=lambda at: parts[at].size)
    smaller = [at for at in range(len(parts)) if at != largest]
    key = key_of(PIECES, below.limit, None, component.parents, component.costs, [outside])
    optimum = key_of(OPTIMUM, below.limit, None, component.parents, component.costs, [outside])
    least = pieces.least
    least[largest] = _optimum(parts[largest], limit - sum(least) + least[largest], work, optimum)
    lists = pieces.lists(smaller, least, limit, work, key) if least[largest] < math.inf else {}
    tally = _nothing(component, outside)
    if len(lists) == len(smaller):
        edges = itertools.accumulate((parts[at].size for at in smaller), initial=0)
        places = [range(begin, end) for begin, end in itertools.pairwise(edges)]
        check = work.context.workers.check
        others = joined([lists[at] for at in smaller], places, limit - least[largest], None, work.room, check)
        children = [child for at in smaller for child in parts[at].variables]
        costs, first, second = _together(outside, others.costs, below.limit - least[largest], work)
        if costs.size:
            own = tally_below(parts[largest], costs, below)
            families = list(_in_whole(component, parts[largest], own))
            weights = by_number(second, own.outside, others.costs.size)
            for child, numbers in zip(children, others.rows.T, strict=True):
                families[child] = by_number(numbers, weights, component.costs[child].size)
            tally = Tally(own.networks, tuple(families), by_number(first, own.outside, outside.size))
    work.ledger.drop(key)
    work.ledger.drop(optimum)
    return tally


def _optimum(piece: Component, limit: float, work: Work, key: str) -> float:
    """What the best network of a piece costs; infinity if none costs less than the limit. The ledger keeps it by the
    key: finding it may take long."""
    if not work.ledger.begun(key):
        costs = networks_below(piece, limit, replace(work, most=1)).costs
        work.ledger.keep(key, lambda: {"optimum": np.append(costs, math.inf)[:1]})
    with as_kept():
        return float(work.ledger.begun(key)["optimum"][0])


def _together(
    first: NDArray[np.float64], second: NDArray[np.float64], limit: float, work: Work
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """The sums of one of each of these ascending costs that are below a limit, ascending, and what they are of."""
    if int(np.searchsorted(second, limit - first).sum()) * PAIR_BYTES > work.room:
        raise MemoryError
    some = [*pairs(first, second, limit, None)] or [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
    one, other = (np.concatenate(own) for own in zip(*some, strict=True))
    costs = first[one] + second[other]
    order = np.argsort(costs, kind="stable")
    return costs[order], one[order], other[order]


def _of_choices(choices: Choices, outside: NDArray[np.float64], below: Below) -> Tally:
    """The tally of the networks with each family of one variable."""
    left, ledger = choices.left, below.work.ledger
    key = key_of(CHOICES, below.limit, None, left.parents, left.costs, [outside])
    begun = ledger.begun(key)
    with as_kept():
        done, tally = _tally_from(begun, left, outside) if begun else (0, _nothing(left, outside))
    for row in range(done, left.costs[choices.child].size):
        chosen = choices.chosen(row)
        if chosen is not None:
            tally = _added(tally, tally_below(chosen, outside, below), choices.numbers(chosen, row))
        ledger.keep(key, partial(_tally_arrays, row + 1, tally))
    ledger.drop(key)
    return tally


def _added(tally: Tally, other: Tally, numbers: Sequence[NDArray[np.int32]]) -> Tally:
    """Both together; numbers: of the families of the other one."""
    families = tuple(own.copy() for own in tally.families)
    for own, rows, weights in zip(families, numbers, other.families, strict=True):
        own[rows] += weights
    return Tally(tally.networks + other.networks, families, tally.outside + other.outside)


def _tally_arrays(done: int, tally: Tally) -> Arrays:
    """The tally of the networks with the first so many families, as arrays with names."""
    return {
        "done": np.array([done, tally.networks]),
        "families": np.concatenate(tally.families),
        "outside": tally.outside,
    }


def _tally_from(arrays: Arrays, left: Component, outside: NDArray[np.float64]) -> tuple[int, Tally]:
    """What `_tally_arrays` has made arrays of. Raises AssertionError or KeyError if they are of nothing of the kind."""
    done, networks = arrays["done"].tolist()
    sizes = [own.size for own in left.costs]
    assert arrays["families"].shape == (sum(sizes),), "weights of families"
    assert arrays["outside"].shape == outside.shape, "weights of what is outside"
    tally = Tally(networks, tuple(np.split(arrays["families"], np.cumsum(sizes)[:-1])), arrays["outside"])
    tally.check()
    return done, tally


def _of_layers(layers: Layers, outside: NDArray[np.float64], below: Below) -> Tally:
    """The tally of the networks that walks find."""
    families, ledger, order = layers.families, below.work.ledger, layers.order
    key = key_of(WALKS, below.limit, None, families, [outside])
    asked = HalvedPiece(families, layers.rest, outside, below.limit, below.base)
    begun, told = ledger.begun(key), 0

    def keep(arrays: Callable[[], Arrays], networks: int) -> None:
        nonlocal told
        below.work.tell(networks - told)
        told = networks
        ledger.keep(key, arrays)

    sums = sums_below(asked, below.work.context.workers, begun, keep)
    ledger.drop(key)
    own = np.split(sums.families, families.first[1:-1])
    return Tally(sums.networks, tuple(own[label] for label in np.argsort(order).tolist()), sums.outside)
