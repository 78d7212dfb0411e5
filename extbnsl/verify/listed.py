"""The networks of a ranked list, read one by one: what each of them is, and what is wrong with it alone.

Each family is scored once, by `rescoring`. Of a network two digests and five numbers are kept.

Two networks are equivalent if they have the same skeleton and the same v-structures (Verma and Pearl 1990). Under
knowledge a class has the members that keep to it; a listed network that does not is a finding, and in no class. A set
of variables is an integer with a bit for each; so is a set of pairs of variables, which are numbered. A skeleton is the
union of the edges of the families, and the v-structures at a child are the pairs of its parents less the skeleton.
Where variables were set from outside they also agree on arcs of which one end was set without the other.
Nothing here is shared with the kernels that search.

Networks and classes are known by digests of 128 bits. That two of a million have the same by chance has a probability
of 1e-27, and nobody knows how to make two that have.
"""

import hashlib
import itertools
import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from extbnsl.core.claims import tolerance
from extbnsl.core.errors import VerificationError
from extbnsl.data import Data
from extbnsl.kernels.varsets import members
from extbnsl.scores.local import LocalScores
from extbnsl.verify.demands import demands_on
from extbnsl.verify.document import ClaimedResult, is_share
from extbnsl.verify.rescoring import Scored, family_cost

MOST_SAID = 10  # findings about networks, and about arcs
FIRST = 10  # networks of which the number of arcs is kept
DIGEST_BYTES = 16


class Family(NamedTuple):
    """A child's parents as a set of variables; its edges and the pairs of its parents as sets of pairs; its cost."""

    parents: int
    edges: int
    couples: int
    cost: float


def scored_family(problem: Data | LocalScores, child: int, parents: tuple[int, ...], claim: Scored) -> Family:
    """A family with its cost in nats; raises VerificationError if the scores do not list it. parents ascend."""
    return Family(
        sum(1 << p for p in parents),
        sum(_pair(child, p) for p in parents),
        sum(_pair(p, q) for p, q in itertools.combinations(parents, 2)),
        family_cost(problem, child, parents, claim),
    )


def cycle_of(families: Sequence[Family]) -> list[int]:
    """The variables along a cycle of a network, a family of each child, the first of them at the end again; none if
    there is no cycle. O(n) passes over the variables at worst."""
    placed, waiting = 0, list(range(len(families)))
    while waiting:
        left = []
        for child in waiting:
            if families[child].parents & ~placed:
                left.append(child)
            else:
                placed |= 1 << child
        if len(left) == len(waiting):
            walk = left[:1]
            while walk[-1] not in walk[:-1]:  # each has a parent that is not placed, so the way up comes back
                walk.append(next(members(families[walk[-1]].parents & ~placed)))
            return walk[walk.index(walk[-1]) :][::-1]
        waiting = left
    return []


def network_key(families: Sequence[Family]) -> bytes:
    """A digest that two networks share if they have the same parents."""
    return _digest((family.parents for family in families), len(families))


def told_by_targets(problem: Data | LocalScores) -> tuple[int, ...]:
    """For each child the parents, as a set, of which the data tell that they are no children of it: one of the two was
    set from outside without the other; nothing where nothing was set."""
    if not isinstance(problem, Data) or problem.targets is None:
        return ()
    n, sets = problem.variables, problem.targets.sets
    return tuple(
        sum(1 << v for v in range(n) if any((v in own) != (child in own) for own in sets)) for child in range(n)
    )


def class_key(families: Sequence[Family], told: Sequence[int] = ()) -> bytes:
    """A digest that two networks share if they are equivalent; told: see `told_by_targets`."""
    skeleton, n = 0, len(families)
    for family in families:
        skeleton |= family.edges
    arcs = [family.parents & own for family, own in zip(families, told, strict=False)]
    return _digest((skeleton, *[family.couples & ~skeleton for family in families], *arcs), n * n)


def _pair(a: int, b: int) -> int:
    """The bit of a pair of variables, in either order."""
    low, high = min(a, b), max(a, b)
    return 1 << high * (high - 1) // 2 + low


def _digest(sets: Iterable[int], bits: int) -> bytes:
    """A digest of sets of so many bits."""
    size = bits // 8 + 1
    return hashlib.blake2b(b"".join([own.to_bytes(size) for own in sets]), digest_size=DIGEST_BYTES).digest()


def first_of(sentences: Iterable[str], about: str) -> tuple[str, ...]:
    """The first of some sentences about something, and one that says how many there are beyond them."""
    rest = iter(sentences)
    first = tuple(itertools.islice(rest, MOST_SAID))
    more = sum(1 for _ in rest)
    return (*first, f"Further findings about {about}: {more:,}.") if more else first


class _Fault(Exception):
    """A clause that says why something is no network of the list."""


class Listed:
    """The networks that have been read, and what is known of them."""

    def __init__(self, claim: ClaimedResult, problem: Data | LocalScores) -> None:
        self.claim, self.problem = claim, problem
        self.told = told_by_targets(problem)
        self.demands = demands_on(problem, claim.max_parents, claim.knowledge)
        self.families: list[dict[tuple[str, ...], Family]] = [{} for _ in claim.variables]
        self.seen = 0  # how many there were, networks or not
        # Of each network, as claimed.
        self.costs, self.shares = array("d"), array("d")
        self.ranks, self.classes = array("q"), array("q")
        self.keys: set[bytes] = set()
        # The numbers that its classes have in the order of their first networks, which cost so much.
        self.own_classes, self.class_costs = array("q"), array("d")
        self.class_numbers: dict[bytes, int] = {}
        self.first: tuple[int, ...] = ()  # the parents of the first network, as sets
        self.arcs: list[int] = []  # how many the first networks have
        # Of each child the sums of exp(first cost - cost) by its parents.
        self.weights: list[dict[int, float]] = [{} for _ in claim.variables]
        self._index = {name: i for i, name in enumerate(claim.variables)}

    @property
    def weight(self) -> float:
        """Of all networks together, that of the first one being 1."""
        return math.fsum(math.exp(min(0.0, self.costs[0] - cost)) for cost in self.costs)

    def add(self, network: Mapping[str, Any]) -> list[str]:
        """Read the next one; sentences about what is wrong with it, alone and beside those before."""
        self.seen += 1
        try:
            if not is_share(network["share"]):
                raise _Fault("has no share as its 'share'")
            families = self._families_of(network["parents"])
        except _Fault as fault:
            return [f"Network {self.seen:,} {fault}."]
        key = network_key(families)
        wrong = [f"Network {self.seen:,} {clause}." for clause in self._clauses(network["cost"], families, key)]
        self._keep(network, families, key)
        return wrong

    def is_listed(self, families: Sequence[Family], cost: float, classes: bool) -> bool:
        """Whether a network is listed, or, of classes, one of its class that costs no more."""
        if not classes:
            return network_key(families) in self.keys
        number = self.class_number(families)
        return number is not None and self.class_costs[number - 1] <= cost + tolerance(cost)

    def class_number(self, families: Sequence[Family]) -> int | None:
        """The number of the class of a network, None if none of it is listed."""
        return self.class_numbers.get(class_key(families, self.told))

    def _families_of(self, parents: Mapping[str, list[str]]) -> list[Family]:
        """The family of each child; raises _Fault unless they make a network over the variables."""
        families = []
        for child, known in zip(self.claim.variables, self.families, strict=True):
            if child not in parents:
                raise _Fault(f"gives no parents for {child!r}, not even an empty list")
            own = tuple(parents[child])
            if own not in known:
                known[own] = self._family(child, own)
            families.append(known[own])
        if len(parents) > len(families):
            stranger = next(name for name in parents if name not in self._index)
            raise _Fault(f"gives parents to {stranger!r}, which is not a variable")
        if cycle := cycle_of(families):
            raise _Fault(f"is none: it has the cycle {' -> '.join(repr(self.claim.variables[v]) for v in cycle)}")
        return families

    def _family(self, child: str, parents: tuple[str, ...]) -> Family:
        """A family that has not been met before; raises _Fault if it cannot be."""
        if unknown := [name for name in parents if name not in self._index]:
            raise _Fault(f"gives {child!r} the parent {unknown[0]!r}, which is not a variable")
        if len(set(parents)) < len(parents):
            raise _Fault(f"gives {child!r} a parent twice")
        if child in parents:
            raise _Fault(f"has {child!r} among its own parents")
        own = tuple(sorted(self._index[name] for name in parents))
        if (fault := self.demands.fault(self.claim.variables, self._index[child], own)) is not None:
            raise _Fault(f"is not as demanded: the {fault}")
        try:
            return scored_family(self.problem, self._index[child], own, self.claim)
        except VerificationError:
            raise _Fault(f"gives {child!r} parents that the local scores do not list") from None

    def _clauses(self, cost: float, families: Sequence[Family], key: bytes) -> Iterator[str]:
        """What is wrong with a network that is said to have this cost."""
        true = math.fsum([family.cost for family in families])
        if not (math.isfinite(true) and abs(cost - true) <= tolerance(true)):
            yield f"costs {true!r}, but is said to cost {cost!r}"
        if self.costs and cost < self.costs[-1]:
            yield "is said to cost less than the one before"
        if key in self.keys:
            yield "has been listed before"

    def _keep(self, network: Mapping[str, Any], families: Sequence[Family], key: bytes) -> None:
        """Remember a network."""
        cost = network["cost"]
        if not self.costs:
            self.first = tuple(family.parents for family in families)
        if len(self.arcs) < FIRST:
            self.arcs.append(sum(family.parents.bit_count() for family in families))
        self.costs.append(cost)
        self.shares.append(network["share"])
        self.ranks.append(network["rank"])
        self.classes.append(network["equivalence_class"])
        self.keys.add(key)
        number = self.class_numbers.setdefault(class_key(families, self.told), len(self.class_numbers) + 1)
        if number > len(self.class_costs):
            self.class_costs.append(cost)
        self.own_classes.append(number)
        weight = math.exp(min(0.0, self.costs[0] - cost))
        for weights, family in zip(self.weights, families, strict=True):
            weights[family.parents] = weights.get(family.parents, 0.0) + weight
