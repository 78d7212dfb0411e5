"""Parent sets beside those that a network chooses: with one parent more, with one less, with one exchanged.

An exploration finds the parent sets that are good whatever the others choose. In a network most children cannot have
them: what is good among the variables that remain may be far down the list, or was never scored. So families that
networks have chosen are *expanded*, each once: their neighbours are scored, and kept where they could be of use. As in
hill climbing, the walk goes on from the best neighbour that leaves the network acyclic.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.compiler import borrowed, inlined, njit
from extbnsl.parents.explored.closed import join, joined
from extbnsl.parents.explored.explore import Exploration, candidates_of, most_parents, with_base
from extbnsl.parents.explored.families import NONE, FamilyList, merged
from extbnsl.parents.explored.misfit import misfit_at, new_splits

TRIED = 1000  # candidates, those with the largest gains: of thousands of variables the others hardly ever count
EXCHANGED = 4  # sets that are kept for each parent that is exchanged, though they cost more than the family

Family = tuple[int, ...]
Places = NDArray[np.int32]


class Chosen(NamedTuple):
    """What a network chooses for a child: its parents, ascending, and which variables are no descendants of the child
    there, bool (n,)."""

    family: Family
    free: NDArray[np.bool_]


@inlined
def _cost(places, size, child, candidates, data, splits, members):
    """What the set of the first places costs; members is working space."""
    configurations = 1.0
    for k in range(size):
        configurations = joined(configurations, places[k], candidates)
    own = misfit_at(places, size, child, candidates, data, splits, members) if size else candidates.alone
    return own + candidates.price * configurations


@njit
def neighbour_costs(family, tried, child, parents, candidates, data, splits, halt):
    """What the neighbours of a family cost, given as d ascending places of m candidates, int32: float64 (d + 1, m + 1).

    Row j is without its j-th parent, row d with all; column v is with candidate v in addition, column m with none.
    Infinity: v is not among the places `tried`, or it is no other set, or larger than so many parents, or costs no less
    than without v for certain; or halt[0] was set.
    """
    family, tried, candidates, data, splits, halt = borrowed((family, tried, candidates, data, splits, halt))
    size, m = family.size, candidates.variables.size
    costs = np.full((size + 1, m + 1), np.inf)
    base, more, members = (
        np.empty(size, np.int32),
        np.empty(size + 1, np.int32),
        np.empty(size + 1 + candidates.base.size, np.int32),
    )
    for j in range(size + 1):
        left = 0
        configurations = 1.0
        for k in range(size):
            if k != j:
                base[left] = family[k]
                configurations = joined(configurations, family[k], candidates)
                left += 1
        costs[j, m] = _cost(base, left, child, candidates, data, splits, members)
        for v in tried[: tried.size if left < parents else 0]:
            least = candidates.price * joined(configurations, v, candidates)
            if halt[0] or least >= costs[j, m] or least >= candidates.caps[v] or (j < size and v == family[j]):
                continue
            if join(base, left, v, more):
                costs[j, v] = _cost(more, left + 1, child, candidates, data, splits, members)
    return costs


def extended(
    child: int,
    families: FamilyList,
    chosen: Iterable[Chosen],
    expanded: Collection[Family],
    problem: Exploration,
    halt: NDArray[np.uint8],
) -> tuple[FamilyList, set[Family]]:
    """The families of a child and those that walks from what networks choose find, the chosen ones among them; and the
    families that were expanded, with those that were before, where a walk ends.

    `halt` cuts the walks short. Time: some sets per parent and candidate for each step of a walk.
    """
    done = set(expanded)
    if problem.most(child) == 0:
        return families, done
    candidates = candidates_of(child, problem, halt)
    base, parents = candidates.base, most_parents(child, problem, candidates)
    splits = new_splits(child, parents + base.size, problem.data)
    must = set(base.tolist())
    tried = np.sort(np.argsort(-candidates.gains, kind="stable")[:TRIED])
    place_of = {variable: place for place, variable in enumerate(candidates.variables.tolist())}
    variables = np.append(candidates.variables, np.int32(NONE))
    found: list[tuple[NDArray[np.int32], NDArray[np.float64]]] = []
    for start, free in chosen:
        family = tuple(p for p in start if p not in must)
        if not all(p in place_of for p in family):  # halted before it was known
            break
        can = np.append(free, True)  # by variable, NONE the last
        while family not in done and not halt[0]:
            done.add(family)
            places = np.array(sorted(place_of[p] for p in family), np.int32)
            costs = neighbour_costs(places, tried, child, parents, candidates, problem.data, splits, halt)
            sets, own = _useful(places, costs)
            sets = variables[sets]
            own = problem.costed(child, with_base(sets, base), own)
            found.append((with_base(sets, base), own))
            best = sets[np.argmin(np.where(can[sets[:, -1]], own, np.inf))]
            family = tuple(sorted(best[best != NONE].tolist()))
    return merged(families, found), done


def _useful(family: Places, costs: NDArray[np.float64]) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """The family and the neighbours that could be of use, as places (k, d + 1), NONE beyond, with their costs (k,).

    These are the family without each of its parents, as a network may not allow it; and with one more, or one exchanged
    for another, if that lowers the cost of what it is added to. Of exchanges those count that cost less than the
    family, and at least the best EXCHANGED.
    """
    size, m = family.size, costs.shape[1] - 1
    sets, own = [], []
    for j in range(size + 1):
        row = costs[j, :m]
        better = np.flatnonzero(row < costs[j, m])
        better = better[np.argsort(row[better], kind="stable")]
        better = better[: max(EXCHANGED, int((row[better] < costs[size, m]).sum()))]
        taken = np.append(better, m)
        sets.append(_sets(family, j, taken, m))
        own.append(costs[j, taken])
    return np.concatenate(sets), np.concatenate(own)


def _sets(family: Places, without: int, more: Sequence[int] | NDArray[np.int64], none: int) -> NDArray[np.int32]:
    """The family without its parent of that number, and with each of some places more; `none` is no place."""
    sets = np.full((len(more), family.size + 1), NONE, np.int32)
    base = np.delete(family, without) if without < family.size else family
    sets[:, : base.size] = base
    sets[:, -1] = np.where(np.asarray(more) == none, NONE, more)
    return sets
