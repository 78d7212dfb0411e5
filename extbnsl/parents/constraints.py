"""What knowledge leaves to choose from, as arrays: which parents a child may have, which it must have, how many."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.claims import Claim
from extbnsl.core.errors import InputError
from extbnsl.kernels.varsets import pack, sizes


@dataclass(frozen=True, eq=False)
class Constraints:
    """Of n variables: allowed (n, n) bool, whether [parent, child] may be an arc; required (n, n) bool, whether it
    must be; limits (n,) int64: the most parents of each, required ones among them."""

    allowed: NDArray[np.bool_]
    required: NDArray[np.bool_]
    limits: NDArray[np.int64]

    def check(self) -> None:
        """Raise AssertionError if this cannot be."""
        n = self.limits.size
        assert self.allowed.shape == self.required.shape == (n, n), "an entry for each pair"
        assert not (self.required & ~self.allowed).any(), "what is required is allowed"
        assert (self.required.sum(axis=0) <= self.limits).all(), "what is required is within the limit"

    @cached_property
    def requires(self) -> bool:
        """Whether some arc must be."""
        return bool(self.required.any())

    def parents_required(self, child: int) -> tuple[int, ...]:
        """The parents that the child must have, ascending."""
        return tuple(np.flatnonzero(self.required[:, child]).tolist()) if self.requires else ()

    def candidates(self, child: int) -> NDArray[np.int64]:
        """The parents that the child may have beside those that it must have, ascending."""
        return np.flatnonzero(self.allowed[:, child] & ~self.required[:, child])

    def admitted(self, child: int, parents: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Which of the parent sets (m, words) the child may have."""
        n = self.limits.size
        may, must = (pack(np.flatnonzero(own[:, child]).tolist(), n) for own in (self.allowed, self.required))
        inside = ~(parents & ~may).any(axis=1) & ((parents & must) == must).all(axis=1)
        return inside & (sizes(parents) <= self.limits[child])


def constraints_of(claim: Claim, names: Sequence[str]) -> Constraints:
    """What a claim leaves of the networks over these variables; InputError if that contradicts itself, or names a
    variable that there is not. O(n^2), and the squares of the sizes of sets without arcs."""
    knowledge, n = claim.knowledge.over(names), len(names)
    most = n - 1 if claim.max_parents is None else min(n - 1, claim.max_parents)
    allowed, required = ~np.eye(n, dtype=np.bool_), np.zeros((n, n), np.bool_)
    limits = np.full(n, most, np.int64)
    if not knowledge:
        return Constraints(allowed, required, limits)
    knowledge.check()
    knowledge.check_limit(claim.max_parents)
    at = {name: i for i, name in enumerate(names)}
    if knowledge.allowed:
        joined = np.zeros((n, n), np.bool_)
        for one, other in knowledge.allowed:
            joined[at[one], at[other]] = joined[at[other], at[one]] = True
        allowed &= joined
    for parent, child in knowledge.forbidden:
        allowed[at[parent], at[child]] = False
    earlier: list[int] = []
    for tier in knowledge.tiers:
        own = [at[name] for name in tier]
        allowed[np.ix_(own, earlier)] = False
        earlier += own
    for group in knowledge.apart:
        own = [at[name] for name in group]
        allowed[np.ix_(own, own)] = False
    allowed[:, [at[name] for name in knowledge.roots]] = False
    allowed[[at[name] for name in knowledge.leaves], :] = False
    for parent, child in knowledge.required:
        required[at[parent], at[child]] = True
    for name, least in knowledge.max_parents:
        limits[at[name]] = min(limits[at[name]], least)
    found = Constraints(allowed, required, limits)
    found.check()
    return found


def under_order(constraints: Constraints, order: Sequence[int], names: Sequence[str]) -> Constraints:
    """The constraints with no parents but those before a child in the order; InputError if one that must be comes
    after."""
    place = np.empty(len(order), np.int64)
    place[list(order)] = np.arange(len(order))
    before = place[:, None] < place[None, :]
    late = np.argwhere(constraints.required & ~before)
    if late.size:
        parent, child = late[0].tolist()
        raise InputError(
            f"The order has {names[child]!r} before {names[parent]!r}, its required parent: change one of them."
        )
    return Constraints(constraints.allowed & before, constraints.required, constraints.limits)
