"""Structures as bits: whether there is a cycle, whether two networks are the same, whether they are equivalent.

Two networks are equivalent if they have the same skeleton and the same v-structures (Verma and Pearl 1990). A set of
variables is an integer with a bit for each; so is a set of pairs of variables, which are numbered. A skeleton is the
union of the edges of the families, and the v-structures at a child are the pairs of its parents less the skeleton.
Nothing here is shared with the kernels that search.

Networks and classes are known by digests of 128 bits. That two of a million have the same by chance has a probability
of 1e-27, and nobody knows how to make two that have.
"""

import hashlib
import itertools
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from extbnsl.data import Data
from extbnsl.scores.local import LocalScores
from extbnsl.verify.rescoring import family_cost

DIGEST_BYTES = 16


class Family(NamedTuple):
    """A child's parents as a set of variables; its edges and the pairs of its parents as sets of pairs; its cost."""

    parents: int
    edges: int
    couples: int
    cost: float


def scored_family(
    problem: Data | LocalScores, child: int, parents: tuple[int, ...], score: str, ess: float | None = None
) -> Family:
    """A family with its cost in nats; raises VerificationError if the scores do not list it. parents ascend."""
    return family_of(child, parents, family_cost(problem, child, parents, score, ess))


def family_of(child: int, parents: tuple[int, ...], cost: float) -> Family:
    """A family of which the cost is known."""
    return Family(
        sum(1 << p for p in parents),
        sum(_pair(child, p) for p in parents),
        sum(_pair(p, q) for p, q in itertools.combinations(parents, 2)),
        cost,
    )


def is_acyclic(families: Sequence[Family]) -> bool:
    """Whether a network, a family of each child, has no cycle; O(n) passes over its variables at worst."""
    placed, waiting = 0, list(range(len(families)))
    while waiting:
        left = []
        for child in waiting:
            if families[child].parents & ~placed:
                left.append(child)
            else:
                placed |= 1 << child
        if len(left) == len(waiting):
            return False
        waiting = left
    return True


def network_key(families: Sequence[Family]) -> bytes:
    """A digest that two networks share if they have the same parents."""
    return _digest((family.parents for family in families), len(families))


def class_key(families: Sequence[Family]) -> bytes:
    """A digest that two networks share if they are equivalent."""
    skeleton, n = 0, len(families)
    for family in families:
        skeleton |= family.edges
    return _digest((skeleton, *[family.couples & ~skeleton for family in families]), n * n)


def _pair(a: int, b: int) -> int:
    """The bit of a pair of variables, in either order."""
    low, high = min(a, b), max(a, b)
    return 1 << high * (high - 1) // 2 + low


def _digest(sets: Iterable[int], bits: int) -> bytes:
    """A digest of sets of so many bits."""
    size = bits // 8 + 1
    return hashlib.blake2b(b"".join([own.to_bytes(size) for own in sets]), digest_size=DIGEST_BYTES).digest()
