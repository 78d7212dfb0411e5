"""The networks of a ranked list, read one by one: what each of them is, and what is wrong with it alone.

Each family is scored once, by `rescoring`. Of a network two digests and five numbers are kept.
"""

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from extbnsl.core.claims import tolerance
from extbnsl.core.errors import VerificationError
from extbnsl.data import Data
from extbnsl.networks.network import Network
from extbnsl.scores.local import LocalScores
from extbnsl.verify.demands import demands_of
from extbnsl.verify.document import ClaimedResult, is_names, is_number, is_object, is_whole
from extbnsl.verify.structures import Family, class_key, is_acyclic, network_key, scored_family
from extbnsl.verify.summary import LARGEST, is_share

MOST_SAID = 10  # findings about networks, and about arcs
FIRST = 10  # networks of which the number of arcs is kept


@dataclass
class Sentences:
    """Sentences about something, of which only the first are kept."""

    about: str
    first: list[str] = field(default_factory=list)
    more: int = 0

    def add(self, sentences: Iterable[str]) -> None:
        for sentence in sentences:
            if len(self.first) < MOST_SAID:
                self.first.append(sentence)
            else:
                self.more += 1

    def all(self) -> tuple[str, ...]:
        """The first, and how many there were beyond them."""
        rest = (f"Further findings about {self.about}: {self.more:,}.",) if self.more else ()
        return (*self.first, *rest)


class _Fault(Exception):
    """A clause that says why something is no network of the list."""


class Listed:
    """The networks that have been read, and what is known of them.

    costs, shares, ranks, classes: of each, as claimed; own_classes: the numbers that its classes have in the order of
    their first networks, which cost class_costs. first: the parents of the first network, as sets; arcs: how many the
    first networks have. weights: of each child the sums of exp(first cost - cost) by its parents. seen: how many there
    were, networks or not.
    """

    def __init__(self, claim: ClaimedResult, problem: Data | LocalScores) -> None:
        self.claim, self.problem = claim, problem
        self.families: list[dict[tuple[str, ...], Family]] = [{} for _ in claim.variables]
        self.weights: list[dict[int, float]] = [{} for _ in claim.variables]
        self.costs, self.shares = array("d"), array("d")
        self.ranks, self.classes, self.own_classes = array("q"), array("q"), array("q")
        self.first: tuple[int, ...] = ()
        self.arcs: list[int] = []
        self.keys: set[bytes] = set()
        self.class_numbers: dict[bytes, int] = {}
        self.class_costs = array("d")
        self.seen = 0
        self.demands = demands_of(claim.variables, claim.max_parents, claim.knowledge)
        self._index = {name: i for i, name in enumerate(claim.variables)}

    @property
    def weight(self) -> float:
        """Of all networks together, that of the first one being 1."""
        return math.fsum(math.exp(min(0.0, self.costs[0] - cost)) for cost in self.costs)

    def add(self, network: Any) -> list[str]:
        """Read the next one; sentences about what is wrong with it, alone and beside those before."""
        self.seen += 1
        try:
            _check_figures(network)
            families = self._families_of(network["parents"])
        except _Fault as fault:
            return [f"Network {self.seen:,} {fault}."]
        key = network_key(families)
        wrong = [f"Network {self.seen:,} {clause}." for clause in self._clauses(float(network["cost"]), families, key)]
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
        return self.class_numbers.get(class_key(families))

    def _families_of(self, parents: Mapping[str, Any]) -> list[Family]:
        """The family of each child; raises _Fault unless they make a network over the variables."""
        families = []
        for child, known in zip(self.claim.variables, self.families, strict=True):
            own = parents.get(child)
            if type(own) is not list:
                raise _Fault(f"gives no parents for {child!r}, not even an empty list")
            try:
                families.append(known[tuple(own)])
            except (KeyError, TypeError):
                family = known[tuple(own)] = self._family(child, own)
                families.append(family)
        if len(parents) > len(families):
            stranger = next(name for name in parents if name not in self._index)
            raise _Fault(f"gives parents to {stranger!r}, which is not a variable")
        if not is_acyclic(families):
            raise _Fault(f"is none: {_sentence_of_cycle(self.claim.variables, parents)}")
        return families

    def _family(self, child: str, parents: list[Any]) -> Family:
        """A family that has not been met before; raises _Fault if it cannot be."""
        if not is_names(parents):
            raise _Fault(f"gives {child!r} parents that are not names")
        if unknown := [name for name in parents if name not in self._index]:
            raise _Fault(f"gives {child!r} the parent {unknown[0]!r}, which is not a variable")
        if len(set(parents)) < len(parents):
            raise _Fault(f"gives {child!r} a parent twice")
        if child in parents:
            raise _Fault(f"has {child!r} among its own parents")
        members = tuple(sorted(self._index[name] for name in parents))
        if (fault := self.demands.fault(self.claim.variables, self._index[child], members)) is not None:
            raise _Fault(f"is not as demanded: {fault[0].lower()}{fault[1:].removesuffix('.')}")
        try:
            return scored_family(self.problem, self._index[child], members, self.claim.score, self.claim.ess)
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
        cost = float(network["cost"])
        if not self.costs:
            self.first = tuple(family.parents for family in families)
        if len(self.arcs) < FIRST:
            self.arcs.append(sum(family.parents.bit_count() for family in families))
        self.costs.append(cost)
        self.shares.append(float(network["share"]))
        self.ranks.append(network["rank"])
        self.classes.append(network["equivalence_class"])
        self.keys.add(key)
        number = self.class_numbers.setdefault(class_key(families), len(self.class_numbers) + 1)
        if number > len(self.class_costs):
            self.class_costs.append(cost)
        self.own_classes.append(number)
        weight = math.exp(min(0.0, self.costs[0] - cost))
        for weights, family in zip(self.weights, families, strict=True):
            weights[family.parents] = weights.get(family.parents, 0.0) + weight


def _is_ordinal(value: Any) -> bool:
    """Whether a JSON value is a whole number from 1 on."""
    return is_whole(value) and 1 <= value <= LARGEST


FIGURES = (
    ("cost", is_number, "finite number"),
    ("share", is_share, "share"),
    ("rank", _is_ordinal, "whole number from 1 on"),
    ("equivalence_class", _is_ordinal, "whole number from 1 on"),
    ("parents", is_object, "object of lists of names"),
)


def _check_figures(network: Any) -> None:
    """Raise _Fault unless a network has all that is said of one, of the right types."""
    if not is_object(network):
        raise _Fault("is not an object")
    for key, fits, wanted in FIGURES:
        if key not in network:
            raise _Fault(f"has no {key!r}")
        if not fits(network[key]):
            raise _Fault(f"has no {wanted} as its {key!r}")


def _sentence_of_cycle(names: tuple[str, ...], parents: Mapping[str, list[str]]) -> str:
    """A clause that names a cycle of a network that has one."""
    try:
        Network.from_names(names, parents).order()
    except VerificationError as error:
        return str(error).rstrip(".").replace("The network", "it", 1)
    raise AssertionError("there is a cycle")
