"""The families of many variables as lists of parents, in score order, and which families a variable is a parent in.

A parent set is a list of its members, because of thousands of variables it has few. Every child's list ends with the
empty set, so that each search in it ends: where a child has none, a stand-in of a cost beyond all others takes its
place. An order has a network if no child chooses a stand-in.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.errors import InputError
from extbnsl.kernels.varsets import unpacked

MOST_VARIABLES = 1 << 16
RELATIVE = 1e-13  # of the largest cost: what adding up a few costs may be wrong by, and more

OwnFamilies = tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]


class ParentLists(NamedTuple):
    """The families of n variables, ready for kernels: m families with p parents in all, q pairs of parent and child.

    The families of child X are first[X] <= f < first[X + 1], by ascending cost; first (n + 1,) int64. Family f costs
    costs[f], float64, and has the parents parents[starts[f]:starts[f + 1]], uint16, starts (m + 1,) int64. Each child's
    last family is the empty set; stand_in (n,) bool says where it is none that may be chosen.

    X may be a parent of the children child[i], pair_first[X] <= i < pair_first[X + 1]: pair_first (n + 1,) int64, child
    (q,) uint16. The families of this child that X is a parent in are with_parent[pair_starts[i]:pair_starts[i + 1]],
    ascending int32 numbers that count from the child's first; pair_starts (q + 1,) int64. The other way round, the
    parents that child Y may have are candidates[candidate_first[Y]:candidate_first[Y + 1]], uint16. Where every child
    has its cheapest family the parents and children of X are neighbours[neighbour_first[X]:neighbour_first[X + 1]].
    tiny: a difference of costs that says nothing.

    Memory: 16 bytes per family, 6 per parent in one, 12 per pair. While it is built, 30 more per parent.
    """

    first: NDArray[np.int64]
    costs: NDArray[np.float64]
    starts: NDArray[np.int64]
    parents: NDArray[np.uint16]
    stand_in: NDArray[np.bool_]
    pair_first: NDArray[np.int64]
    child: NDArray[np.uint16]
    pair_starts: NDArray[np.int64]
    with_parent: NDArray[np.int32]
    candidate_first: NDArray[np.int64]
    candidates: NDArray[np.uint16]
    neighbour_first: NDArray[np.int64]
    neighbours: NDArray[np.uint16]
    tiny: float

    @property
    def variables(self) -> int:
        """The number n of variables."""
        return self.first.size - 1

    def chosen(self, choice: NDArray[np.int32]) -> list[tuple[int, ...]]:
        """The parents of each child, ascending, where choice (n,) counts from its first family."""
        bounds = zip(self.starts[self.first[:-1] + choice], self.starts[self.first[:-1] + choice + 1], strict=True)
        return [tuple(sorted(self.parents[begin:end].tolist())) for begin, end in bounds]


def lists_of_varsets(parents: Sequence[NDArray[np.uint64]], costs: Sequence[NDArray[np.float64]]) -> ParentLists:
    """The families parents[X] (m, w) varsets, costs[X] (m,), as local scores or a component have them. O(m w +
    parents)."""
    return parent_lists((own, *unpacked(varsets)) for varsets, own in zip(parents, costs, strict=True))


def parent_lists(families: Iterable[OwnFamilies]) -> ParentLists:
    """The families of every child, given as costs (m,), numbers of parents (m,), and the parents one after the other.

    Each child's are sorted by cost, of equal costs as they were given, and what costs no less than the empty set is
    left out. Raises InputError if there are more than MOST_VARIABLES variables. O(m log m + parents).
    """
    own = [_in_score_order(*given) for given in families]
    n = len(own)
    if not 0 < n <= MOST_VARIABLES:
        raise InputError(f"A search over orders takes 1 to {MOST_VARIABLES:,} variables, not {n:,}.")
    stand_in = np.array([not sizes.size or sizes[-1] > 0 for _, sizes, _ in own])
    beyond = 1 + sum(float(costs[-1] - costs[0]) for costs, _, _ in own if costs.size)
    for x in np.flatnonzero(stand_in).tolist():
        costs, sizes, members = own[x]
        own[x] = np.append(costs, costs.max(initial=0.0) + beyond), np.append(sizes, 0), members
    costs, sizes, parents = (np.concatenate(column) for column in zip(*own, strict=True))
    first, starts = _ends([costs.size for costs, _, _ in own]), _ends(sizes)
    return ParentLists(
        first=first,
        costs=costs,
        starts=starts,
        parents=parents,
        stand_in=stand_in,
        tiny=RELATIVE * float(np.abs(costs).max()),
        **_relations(first, starts, parents),
    )


def _in_score_order(
    costs: NDArray[np.float64], sizes: NDArray[np.int64], members: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.uint16]]:
    """One child's families by ascending cost, up to the empty set."""
    order = np.argsort(costs, kind="stable")
    empty = np.flatnonzero(sizes[order] == 0)
    order = order[: empty[0] + 1] if empty.size else order
    ends = np.cumsum(sizes)
    taken = sizes[order]
    # the places of the members: those of a family follow its first
    offsets = np.arange(taken.sum()) - np.repeat(np.cumsum(taken) - taken, taken)
    return costs[order], taken, members[np.repeat((ends - sizes)[order], taken) + offsets].astype(np.uint16)


def _relations(
    first: NDArray[np.int64], starts: NDArray[np.int64], parents: NDArray[np.uint16]
) -> dict[str, NDArray[Any]]:
    """The fields of ParentLists that say who is in which families, whose, and next to whom. O(parents)."""
    n, families, sizes = first.size - 1, np.diff(first), np.diff(starts)
    number = np.repeat((np.arange(sizes.size) - np.repeat(first[:-1], families)).astype(np.int32), sizes)
    whose = np.repeat(np.repeat(np.arange(n, dtype=np.uint16), families), sizes)
    arcs = np.column_stack((parents, whose))[number == 0]
    ends, others = arcs.ravel(), arcs[:, ::-1].ravel()
    by_parent = np.argsort(parents, kind="stable")
    parents, whose = parents[by_parent], whose[by_parent]
    pairs = np.flatnonzero(np.diff(parents, prepend=~parents[:1]) | np.diff(whose, prepend=~whose[:1]))
    parent, child = parents[pairs], whose[pairs]
    return {
        "pair_first": _ends(np.bincount(parent, minlength=n)),
        "child": child,
        "pair_starts": np.append(pairs, parents.size),
        "with_parent": number[by_parent],
        "candidate_first": _ends(np.bincount(child, minlength=n)),
        "candidates": parent[np.argsort(child, kind="stable")],
        "neighbour_first": _ends(np.bincount(ends, minlength=n)),
        "neighbours": others[np.argsort(ends, kind="stable")],
    }


def _ends(counts: NDArray[np.integer] | list[int]) -> NDArray[np.int64]:
    """Where lists of so many entries end that follow each other, after where the first begins."""
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
