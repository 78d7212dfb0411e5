"""Local scores: the candidate families of every child with their costs, in one canonical order."""

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.claims import Claim
from extbnsl.core.errors import InputError
from extbnsl.kernels.varsets import WORD_BITS, add, pack, sizes

GIVEN = "file"  # the score of costs that were not computed here
LARGEST_COST = 1e150  # nats, of a family: sums of larger ones could overflow


@dataclass(frozen=True, eq=False)
class LocalScores:
    """The candidate parent sets of every child and what each costs.

    For child i of n, `parents[i]` is (m_i, words(n)) uint64, one varset a row, and `costs[i]` (m_i,)
    float64 in nats. Rows are in canonical order: ascending cost, ties by fewer parents, then by the smaller
    varset (words compared from the most significant), so equal families always give equal arrays. `claim`:
    by which score, GIVEN if the costs were not computed here, and within which limits: every parent set that could win
    is here.

    A child may lack the empty parent set, as long as some acyclic network can be put together. Two values
    are equal only if they are the same object: compare the arrays.
    """

    names: tuple[str, ...]
    parents: tuple[NDArray[np.uint64], ...]
    costs: tuple[NDArray[np.float64], ...]
    claim: Claim

    @property
    def score(self) -> str:
        """The name of the score."""
        return self.claim.score

    @property
    def max_parents(self) -> int | None:
        """The user's limit."""
        return self.claim.max_parents

    @property
    def variables(self) -> int:
        """The number n of variables."""
        return len(self.names)

    @property
    def families(self) -> int:
        """The number of families over all children."""
        return sum(map(len, self.costs))

    @property
    def fingerprint(self) -> str:
        """Hex SHA-256 over names, families and costs; linear in the families, computed at each access."""
        head = json.dumps([self.names, [len(costs) for costs in self.costs]], separators=(",", ":"))
        digest = hashlib.sha256(head.encode("ascii"))
        for varsets, costs in zip(self.parents, self.costs, strict=True):
            digest.update(varsets.astype("<u8").tobytes())
            digest.update(costs.astype("<f8").tobytes())
        return digest.hexdigest()

    def only(self, rows: Iterable[NDArray[Any]]) -> "LocalScores":
        """The scores of some families of each child: of these rows, ascending, or where a mask says so."""
        chosen = list(rows)
        parents, costs = (tuple(a[k] for a, k in zip(own, chosen, strict=True)) for own in (self.parents, self.costs))
        return LocalScores(self.names, parents, costs, self.claim)

    def check(self) -> None:
        """Raise InputError for what a user's file can cause: a child without parent sets, a child that is its own
        parent, a parent beyond n, a parent set twice or over the limit, a cost that is not finite or beyond
        LARGEST_COST, no acyclic network. O(total families log families).
        """
        n = len(self.names)
        if not self.names:
            raise InputError("The local scores have no variable: give at least one.")
        if len(set(self.names)) < n:
            twice = next(name for i, name in enumerate(self.names) if name in self.names[:i])
            raise InputError(f"The variable name {twice!r} occurs twice: rename one of the two.")
        for child in range(n):
            _check_families(self, child)
        self.check_order()

    def check_order(self) -> None:
        """Raise InputError if no choice of families is acyclic."""
        _, waiting = feasible_order(self.parents)
        if waiting:
            stuck = ", ".join(repr(self.names[i]) for i in waiting[:5])
            raise InputError(
                f"No choice of families is acyclic, because none of {stuck}"
                f"{' ...' if len(waiting) > 5 else ''} can come first: give one of them the empty parent set."
            )


def local_scores(
    names: Sequence[str],
    families: Sequence[tuple[NDArray[np.uint64], NDArray[np.float64]]],
    score: str | Claim,
    max_parents: int | None = None,
) -> LocalScores:
    """The LocalScores of unsorted families, one pair (varsets (m, words(n)), costs (m,)) per child.

    score: its name, or all that is claimed. Sorts canonically and checks; raises InputError as `LocalScores.check`
    does.
    """
    ordered = [in_order(varsets, own + 0.0) for varsets, own in families]  # -0.0 becomes 0.0: equal means same bits
    claim = score if isinstance(score, Claim) else Claim(score, max_parents)
    scores = LocalScores(tuple(names), tuple(own for own, _ in ordered), tuple(own for _, own in ordered), claim)
    scores.check()
    return scores


def in_order(parents: NDArray[np.uint64], costs: NDArray[np.float64]) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
    """One child's families, (m, words) and (m,), in canonical order."""
    order = canonical_order(parents, costs)
    return np.ascontiguousarray(parents[order]), costs[order]


def canonical_order(varsets: NDArray[np.uint64], costs: NDArray[np.float64]) -> NDArray[np.int64]:
    """The permutation that sorts one child's families: ascending cost, fewer parents, smaller varset."""
    key: NDArray[Any] = varsets[:, 0]
    if varsets.shape[1] > 1:  # as bytes, which are compared from the highest on
        key = np.ascontiguousarray(varsets[:, ::-1], ">u8").view(f"V{8 * varsets.shape[1]}")[:, 0]
    return np.lexsort((key, sizes(varsets), costs))


def _check_families(scores: LocalScores, child: int) -> None:
    """Raise InputError if one child's families cannot be those of a network."""
    name, varsets, costs = scores.names[child], scores.parents[child], scores.costs[child]
    n = len(scores.names)
    if len(costs) == 0:
        raise InputError(f"The variable {name!r} has no parent set: give it at least the empty one.")
    if not np.isfinite(costs).all():
        raise InputError(f"The variable {name!r} has a family whose cost is not finite: leave it out.")
    if (np.abs(costs) > LARGEST_COST).any():
        beyond = f"is beyond {LARGEST_COST:g} nats"
        raise InputError(f"The variable {name!r} has a family whose cost {beyond}: leave it out.")
    if (varsets & ~pack(range(n), n)).any():
        raise InputError(f"The variable {name!r} has a parent beyond the {n} variables: correct the family.")
    if (varsets[:, child // WORD_BITS] >> np.uint64(child % WORD_BITS) & np.uint64(1)).any():
        raise InputError(f"The variable {name!r} is in a parent set of its own: leave that family out.")
    if repeated(varsets).any():
        raise InputError(f"The variable {name!r} has the same parent set twice: keep one of the two.")
    if scores.max_parents is not None and sizes(varsets).max() > scores.max_parents:
        raise InputError(
            f"The variable {name!r} has a parent set of more than {scores.max_parents} parents: "
            "raise max_parents or leave that family out."
        )


def repeated(varsets: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which rows of (m, words) are the same varset as a row before; O(m log m)."""
    order = np.lexsort(tuple(varsets.T))
    ordered, again = varsets[order], np.zeros(len(varsets), np.bool_)
    again[order[1:]] = (ordered[1:] == ordered[:-1]).all(axis=1)
    return again


def feasible_order(parents: Sequence[NDArray[np.uint64]]) -> tuple[list[int], list[int]]:
    """An order in which every variable has one of its parent sets parents[X] (m, w) before it, and those that no order
    can have: there are none, or the order is of the others.

    Greedy, each variable as soon as one of its parent sets lies among those already there; more predecessors never
    hurt, so a greedy that is stuck proves that there is no order. O(n) passes over the families at worst.
    """
    n = len(parents)
    placed, order, waiting = pack((), n), list[int](), list(range(n))
    while waiting:
        ready = [i for i in waiting if not (parents[i] & ~placed).any(axis=1).all()]
        if not ready:
            break
        placed = placed | pack(ready, n)
        order += ready
        waiting = sorted(set(waiting) - set(ready))
    return order, waiting


def network_rows(parents: Sequence[NDArray[np.uint64]]) -> tuple[list[int], list[int]]:
    """An order in which each variable has a parent set before it, of those that have a network; and the row of the
    first such set of each."""
    order, left = feasible_order(parents)
    assert not left, "a problem without a network is refused"
    rows, before = [0] * len(order), pack((), len(order))
    for x in order:
        rows[x] = int(np.argmin((parents[x] & ~before).any(axis=1)))
        add(x, before)
    return order, rows


def named_scores(costs: Mapping[str, Mapping[Any, float]]) -> LocalScores:
    """Make local scores from a dictionary.

    Parameters
    ----------
    costs : dict of dict of float
        What each parent set costs, to be minimised, as costs[child][parents]. The parents are a tuple, a frozenset or
        another collection of names, or one name. Every child is a key.

    Returns
    -------
    LocalScores
        The scores, for `learn` and its like.

    Raises
    ------
    InputError
        For names that are no key, a cost that is no number or beyond 1e150, and as `LocalScores.check` does.
    """
    names = tuple(costs)
    at = {name: i for i, name in enumerate(names)}
    families = []
    for child, own in costs.items():
        if not isinstance(child, str) or not isinstance(own, Mapping):
            raise InputError(f"costs: {child!r} is to be a name, and what it stands for a dict from parents to costs.")
        varsets = [pack(_positions(parents, child, at), len(names)) for parents in own]
        rows = np.array(varsets, np.uint64).reshape(len(own), pack((), len(names)).size)
        families.append((rows, _numbers(own.values(), child)))
    return local_scores(names, families, GIVEN)


def _positions(parents: Any, child: str, at: Mapping[str, int]) -> list[int]:
    """The positions of the parents of a family."""
    names = (parents,) if isinstance(parents, str) else tuple(parents) if isinstance(parents, Iterable) else (parents,)
    unknown = [name for name in names if name not in at]
    if unknown:
        raise InputError(f"costs: {unknown[0]!r}, a parent of {child!r}, is no variable: give it parent sets.")
    if len(set(names)) < len(names):
        raise InputError(f"costs: the parent set {parents!r} of {child!r} names a parent twice.")
    return [at[name] for name in names]


def _numbers(costs: Iterable[Any], child: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    try:
        return np.array(list(map(given_cost, costs)), np.float64)
    except ValueError as error:
        raise InputError(f"costs: a parent set of {child!r} costs {error}.") from None


def given_cost(value: Any) -> float:
    """A cost that a caller in Python gives as a number of any kind, infinity included; ValueError that says what it is
    instead: no number, as a text is none even if it writes one, or a number beyond LARGEST_COST."""
    try:
        cost = math.nan if isinstance(value, str | bytes | bytearray) else float(value)
    except OverflowError:  # a whole number or a fraction
        cost = -math.inf
    except (TypeError, ValueError):
        cost = math.nan
    if math.isnan(cost):
        raise ValueError(f"{value!r}, which is no number")
    if cost < -LARGEST_COST or LARGEST_COST < cost < math.inf:
        raise ValueError(f"more than {LARGEST_COST:g} nats, or less than {-LARGEST_COST:g}")  # perhaps a million digits
    return cost
