"""The families that an exploration finds, as lists of members: a bitmask over thousands of variables would be mostly
empty."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.claims import Claim
from extbnsl.kernels.varsets import gathered, unpacked
from extbnsl.scores.local import LocalScores, local_scores

NONE = -1  # in place of a member that a set does not have


@dataclass(frozen=True, eq=False)
class FamilyList:
    """The parent sets of one child in canonical order: ascending cost, ties by fewer parents, then by the smaller
    varset.

    starts (m + 1,) int64 and parents int32: the parents of family i are parents[starts[i]:starts[i + 1]], ascending
    variables; costs (m,) float64 in nats.
    """

    starts: NDArray[np.int64]
    parents: NDArray[np.int32]
    costs: NDArray[np.float64]

    @property
    def families(self) -> int:
        return int(self.costs.size)

    def members(self, family: int) -> tuple[int, ...]:
        """The parents of a family."""
        return tuple(self.parents[self.starts[family] : self.starts[family + 1]].tolist())


def family_list(members: NDArray[np.int32], costs: NDArray[np.float64], most: int | None = None) -> FamilyList:
    """The list of parent sets (m, d) of variables, in any order and NONE beyond, and their costs (m,), without those
    that are not allowed, of which these are infinite.

    Of more than `most` the cheapest, and the smallest set, which is part of all. O(m d log m).
    """
    allowed = np.isfinite(costs)
    members, costs = members[allowed], costs[allowed]
    rows = np.sort(members, axis=1)  # ascending, the largest variable last, so that columns compare like varsets
    sizes = (rows != NONE).sum(axis=1)
    order = np.lexsort((*rows.T, sizes, costs))
    if most is not None and order.size > most:
        rest = order[most:]
        small = rest[sizes[rest] == sizes.min()] if sizes[order[:most]].min() > sizes.min() else rest[:0]
        order = np.append(order[: most - 1], small) if small.size else order[:most]
    chosen = rows[order]
    starts = np.concatenate(([0], np.cumsum(sizes[order]))).astype(np.int64)
    return FamilyList(starts, chosen[chosen != NONE].astype(np.int32, copy=False), costs[order] + 0.0)


def list_of_varsets(varsets: NDArray[np.uint64], costs: NDArray[np.float64], most: int | None = None) -> FamilyList:
    """The list of parent sets (m, words) with costs (m,), in canonical order already; of more than `most` the cheapest,
    and the smallest, which is part of all."""
    sizes, members = unpacked(varsets)
    starts = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    own = FamilyList(starts, members.astype(np.int32), costs)
    return own if most is None else cheapest(own, most)


def cheapest(own: FamilyList, most: int) -> FamilyList:
    """So many of the cheapest families of a list, and its smallest set."""
    return own if own.families <= most else family_list(_table(own), own.costs, most)


def merged(own: FamilyList, more: Sequence[tuple[NDArray[np.int32], NDArray[np.float64]]]) -> FamilyList:
    """The families of a list and more of them, as parent sets (m, d) of variables, NONE beyond, with their costs; each
    is there once. O(m d log m)."""
    if not more:
        return own
    tables = [(_table(own), own.costs), *more]
    width = max(sets.shape[1] for sets, _ in tables)
    rows = np.concatenate(
        [np.pad(sets, ((0, 0), (0, width - sets.shape[1])), constant_values=NONE) for sets, _ in tables]
    )
    costs = np.concatenate([costs for _, costs in tables])
    rows.sort(axis=1)
    order = np.lexsort(rows.T)
    first = np.append(True, (np.diff(rows[order], axis=0) != 0).any(axis=1))
    return family_list(rows[order[first]], costs[order[first]])


def _table(own: FamilyList) -> NDArray[np.int32]:
    """The parent sets of a list, one a row and NONE beyond."""
    sizes = np.diff(own.starts)
    present = np.arange(int(sizes.max())) < sizes[:, None]
    table = np.full(present.shape, NONE, np.int32)
    table[present] = own.parents
    return table


def as_local_scores(names: Sequence[str], lists: Sequence[FamilyList], claim: Claim) -> LocalScores:
    """The same families as bitmasks, checked. Memory: 8 words(n) bytes for each family."""
    n = len(names)
    return local_scores(names, [(varsets_of(own, n), own.costs) for own in lists], claim)


def varsets_of(own: FamilyList, variables: int) -> NDArray[np.uint64]:
    """The parent sets as bitmasks, (m, words)."""
    return gathered(np.repeat(np.arange(own.families), np.diff(own.starts)), own.parents, own.families, variables)


def packed(members: NDArray[np.int32], variables: int) -> NDArray[np.uint64]:
    """Parent sets (m, d) of variables, NONE beyond, as bitmasks (m, words)."""
    family, at = np.nonzero(members != NONE)
    return gathered(family, members[family, at], members.shape[0], variables)
