"""Columns that are copies of each other: of networks that differ by an exchange of them alone, one is enough.

Let variables divide the records alike, with as many states each, and let the same be demanded of all of them. Then to
exchange two of them, in all families at once, changes no cost and breaks no demand. So some network of least cost has
them, A1 to Ak, in this order, in an order of all variables.

The parents of a variable X that are copies can be A1 to As then, as many as they are: an exchange that leaves X alone
makes the one family of the other, so that both cost the same, and A1 to As come no later than those in whose place they
are, so that there is no cycle. All families at once can be changed so. So a network of least cost is among those in
which the copies among the parents of any X are the first ones, and come before X if it is a copy too. Other families
can be left out.

Families that a subset beats may be gone before: if (X, Q) beats (X, P), which stays, the like of Q is within P, and
beats it as well. By most scores a copy beside another one brings nothing: joint states that occur are those without it,
and either nothing else counts, or more joint states cost more. Then no later copy is needed as a parent at all.

Without this linear programs show little: of two networks that differ by an exchange a solution takes a half each, and
so satisfies cuts that no network would.
"""

from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.claims import Claim
from extbnsl.data import Data, Dataset
from extbnsl.data.encode import equal_columns
from extbnsl.parents.constraints import Constraints, constraints_of

ALONE = ("mdl", "aic", "fnml", "bds", "k2")  # scores by which a copy beside another one as a parent brings nothing
Copies = tuple[tuple[int, ...], ...]


def copies_in(data: Data, claim: Claim) -> Copies:
    """Copies of two or more variables of states that can be exchanged for each other, ascending. O(N n) for data
    (N, n), and O(n) for each two copies. None where families are costed over other records each, where variables are
    those of several times, or where some arcs cost more than others; and none that some arc must come from."""
    if not isinstance(data, Dataset) or not data.alike or data.slices is not None or claim.knowledge.costs:
        return ()
    constraints, groups = constraints_of(claim, data.names), list[list[int]]()
    for columns in equal_columns(data.codes):
        found = list[list[int]]()
        for v in columns:
            own = next((own for own in found if _can_be_exchanged(own[0], v, data.arities, constraints)), None)
            if own is None:
                found.append([v])
            else:
                own.append(v)
        groups += (own for own in found if len(own) > 1)
    return tuple(map(tuple, groups))


def _can_be_exchanged(a: int, b: int, arities: NDArray[np.int64], constraints: Constraints) -> bool:
    """Whether two variables have as many states, and the constraints are the same if they are exchanged."""
    if arities[a] != arities[b] or constraints.limits[a] != constraints.limits[b] or constraints.required[a].any():
        return False
    exchanged = np.arange(arities.size)
    exchanged[[a, b]] = b, a
    return all(
        np.array_equal(arcs[a], arcs[b][exchanged]) and np.array_equal(arcs[:, a], arcs[exchanged, b])
        for arcs in (constraints.allowed, constraints.required)
    )


def without_copies(constraints: Constraints, copies: Copies, score: str) -> Constraints:
    """The constraints without arcs that no network of least cost needs by this score, if there are such copies."""
    allowed = constraints.allowed.copy()
    for group in copies:
        for at, copy in enumerate(group[1:], 1):
            allowed[copy, slice(None) if score in ALONE else list(group[:at])] = False
    return replace(constraints, allowed=allowed)


def needed(child: int, parents: NDArray[np.uint64], copies: Copies) -> NDArray[np.bool_]:
    """Which of these parent sets (m, words) a network of least cost may need, if there are such copies."""
    kept = np.ones(len(parents), np.bool_)
    for group in copies:
        before = group[: group.index(child)] if child in group else group
        has = [(parents[:, v >> 6] >> np.uint64(v & 63) & np.uint64(1)).astype(np.bool_) for v in group]
        for first, second in pairwise(has[: len(before)]):
            kept &= first | ~second
        for late in has[len(before) :]:
            kept &= ~late
    return kept
