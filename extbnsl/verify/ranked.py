"""Are the networks of a ranked list what their result claims? Each scored again, and what they say together.

One pass over the networks, best first. Each family is scored once, by `rescoring`. Of a network two digests and five
numbers are kept.
"""

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from extbnsl.claims import OPTIMAL, tolerance
from extbnsl.data import Data
from extbnsl.errors import InputError, VerificationError
from extbnsl.networks.network import Network
from extbnsl.scores.local import LocalScores
from extbnsl.verify.complete import VARIABLES, every_network
from extbnsl.verify.demands import demands_of
from extbnsl.verify.document import ClaimedResult, read_claims
from extbnsl.verify.structures import Family, class_key, is_acyclic, network_key, scored_family
from extbnsl.verify.summary import Summary, is_probability, read_summary
from extbnsl.verify.values import is_names, is_number, is_object, is_whole

MOST_SAID = 10  # findings about networks, and about arcs
LARGEST = 1 << 62  # a rank, or the number of a class
ROUNDED = 2e-3  # what the share of the probability of all networks may be off, relatively
EXACT = 1e-9  # what shares of a probability may be off, and sums of probabilities


def verify_networks(head: Mapping[str, Any], networks: Iterable[Any], problem: Data | LocalScores) -> tuple[str, ...]:
    """What does not hold of the networks of a result of which `verify` finds that all else holds; sentences.

    head: the document, of which 'networks' is not read; networks: its items, in their order. Of each: its variables,
    its parents, that there is no cycle, the parent limit and the recomputed cost. Of all: that costs never decrease,
    that no network is there twice, the ranks, probabilities, equivalence classes and the slack; how many they are, and
    the probabilities of arcs. If networks are not listed, the latter must leave room for them and no more can be said;
    if classes are listed, probabilities are those of networks that are not.
    Of at most `complete.VARIABLES` variables also that none is missing.

    There are at most MOST_SAID sentences about single networks, and one that says how many more there would be. Raises
    InputError as `verify` does. About 30 microseconds for each network of 20 variables besides the scoring; some 400
    bytes for each.
    """
    claim = read_claims(head)
    try:
        summary = read_summary(head, claim.variables)
    except InputError as error:
        return (str(error),)
    if isinstance(networks, (str, Mapping)) or not isinstance(networks, Iterable):
        return ("The 'networks' of the result are not a list.",)
    listed, said = _Listed(claim, problem), _Sentences("networks")
    for network in networks:
        said.add(listed.add(network))
    if listed.broken or not listed.costs:
        return (*said.all(), *_number_findings(listed, summary))
    said.add(_place_findings(listed, summary))
    found = (*said.all(), *_number_findings(listed, summary), *_whole_findings(listed, summary))
    return found or tuple(_missing_findings(listed, summary))


def untold(head: Mapping[str, Any]) -> tuple[str, ...]:
    """Clauses about what `verify_networks` does not check of a result of which it finds nothing wrong."""
    claim = read_claims(head)
    summary = read_summary(head, claim.variables)
    others = () if _looks_for_missing(claim, summary) else ("that no others cost less was not checked again",)
    what = "probabilities" if summary.classes else "the probabilities of arcs"
    sums = (f"{what}, which tell of networks that are not listed, were not added up again",)
    return others + (sums if summary.classes or summary.share < 1.0 - EXACT else ())


def _looks_for_missing(claim: ClaimedResult, summary: Summary) -> bool:
    """Whether there are few enough variables to look for networks that are not listed, and all are claimed to be."""
    return len(claim.variables) <= VARIABLES and (claim.status == OPTIMAL or summary.within is not None)


@dataclass
class _Sentences:
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


class _Listed:
    """The networks that have been read, and what is known of them.

    costs, probabilities, ranks, classes: of each, as claimed; own_classes: the numbers that its classes have in the
    order of their first networks, which cost class_costs. first: the parents of the first network, as sets. shares: of
    each child the sums of the probabilities by its parents. seen: how many there were; broken: how many of them were no
    networks.
    """

    def __init__(self, claim: ClaimedResult, problem: Data | LocalScores) -> None:
        self.claim, self.problem = claim, problem
        self.families: list[dict[tuple[str, ...], Family]] = [{} for _ in claim.variables]
        self.shares: list[dict[int, float]] = [{} for _ in claim.variables]
        self.costs, self.probabilities = array("d"), array("d")
        self.ranks, self.classes, self.own_classes = array("q"), array("q"), array("q")
        self.first: tuple[int, ...] = ()
        self.keys: set[bytes] = set()
        self.class_numbers: dict[bytes, int] = {}
        self.class_costs = array("d")
        self.seen = self.broken = 0
        self.demands = demands_of(claim.variables, claim.max_parents, claim.knowledge)
        self._index = {name: i for i, name in enumerate(claim.variables)}

    def add(self, network: Any) -> list[str]:
        """Read the next one; sentences about what is wrong with it, alone and beside those before."""
        self.seen += 1
        try:
            _check_figures(network)
            families = self._families_of(network["parents"])
        except _Fault as fault:
            self.broken += 1
            return [f"Network {self.seen:,} {fault}."]
        key = network_key(families)
        wrong = [f"Network {self.seen:,} {clause}." for clause in self._clauses(float(network["cost"]), families, key)]
        self._keep(network, families, key)
        return wrong

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
        cost, probability = float(network["cost"]), float(network["probability"])
        if not self.costs:
            self.first = tuple(family.parents for family in families)
        self.costs.append(cost)
        self.probabilities.append(probability)
        self.ranks.append(network["rank"])
        self.classes.append(network["equivalence_class"])
        self.keys.add(key)
        number = self.class_numbers.setdefault(class_key(families), len(self.class_numbers) + 1)
        if number > len(self.class_costs):
            self.class_costs.append(cost)
        self.own_classes.append(number)
        for shares, family in zip(self.shares, families, strict=True):
            shares[family.parents] = shares.get(family.parents, 0.0) + probability


def _is_ordinal(value: Any) -> bool:
    """Whether a JSON value is a whole number from 1 on."""
    return is_whole(value) and 1 <= value <= LARGEST


FIGURES = (
    ("cost", is_number, "finite number"),
    ("probability", is_probability, "probability"),
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


def _place_findings(listed: _Listed, summary: Summary) -> Iterator[str]:
    """Sentences about what the networks say that depends on the others: ranks, probabilities, classes, the slack."""
    costs, near = listed.costs, tolerance(listed.costs[-1])
    least, rank = costs[0], 1
    most = math.inf if summary.within is None else costs[0] + summary.within + 2.0 * tolerance(costs[0])
    for i, cost in enumerate(costs):
        if cost - least > near:  # of those that cost the same, within the tolerance of a proof, the first
            least, rank = cost, i + 1
        if listed.ranks[i] != rank:
            yield f"Network {i + 1:,} has the rank {rank}, but is said to have {listed.ranks[i]}."
        likely = listed.probabilities[0] * math.exp(min(0.0, costs[0] - cost))
        if not summary.classes and not math.isclose(listed.probabilities[i], likely, rel_tol=EXACT, abs_tol=1e-300):
            yield (
                f"Network {i + 1:,} is said to have the probability {listed.probabilities[i]!r}, but that of the first "
                f"one and their costs make it {likely!r}."
            )
        if listed.classes[i] != listed.own_classes[i]:
            yield (
                f"Network {i + 1:,} is of equivalence class {listed.own_classes[i]}, but is said to be of "
                f"{listed.classes[i]}."
            )
        if summary.classes and listed.own_classes[i] != i + 1:
            yield f"Network {i + 1:,} is equivalent to one before, but there should be one of each class."
        if cost > most:
            yield f"Network {i + 1:,} costs more than {summary.within!r} nats above the first."


def _number_findings(listed: _Listed, summary: Summary) -> Iterator[str]:
    """Sentences about how many networks there are."""
    if not listed.seen:
        yield "The result lists no networks."
    if listed.seen != summary.listed:
        yield f"The result says that it lists {summary.listed:,} networks, but it lists {listed.seen:,}."
    if summary.in_all is not None and summary.in_all < listed.seen:
        yield f"The result says that there are {summary.in_all:,} networks, but it lists {listed.seen:,}."


def _whole_findings(listed: _Listed, summary: Summary) -> Iterator[str]:
    """Sentences about the first network, the sum of the probabilities, and arcs."""
    claim, share = listed.claim, math.fsum(listed.probabilities)
    if not abs(claim.cost - listed.costs[0]) <= tolerance(claim.cost):
        yield f"The cost of the result is {claim.cost!r}, but its first network costs {listed.costs[0]!r}."
    index = {name: i for i, name in enumerate(claim.variables)}
    if tuple(sum(1 << index[p] for p in claim.parents[name]) for name in claim.variables) != listed.first:
        yield "The network of the result is not the first of its networks."
    if not abs(share - summary.share) <= EXACT:
        yield f"The probabilities of the networks add up to {share!r}, but are said to make {summary.share!r}."
    if summary.whole and not abs(summary.share - 1.0) <= EXACT:
        yield f"All networks are listed, but their probabilities are said to make {summary.share!r}."
    said = _Sentences("arcs")
    said.add(_arc_findings(listed, summary))
    yield from said.all()


def _arc_findings(listed: _Listed, summary: Summary) -> Iterator[str]:
    """Sentences about arcs that are more or less probable than the networks make them; those that are not listed may
    all have an arc, or none of them."""
    if summary.classes:  # each is listed by one of its networks
        return
    names, unlisted = listed.claim.variables, max(0.0, 1.0 - summary.share)
    for child, shares in enumerate(listed.shares):
        for parent in range(len(names)):
            claimed = summary.arcs.get((parent, child), 0.0)
            least = math.fsum(share for parents, share in shares.items() if parents >> parent & 1)
            said = f"The arc from {names[parent]!r} to {names[child]!r} is said to have the probability {claimed!r}"
            if claimed < least - EXACT:
                yield f"{said}, but the networks listed make it {least!r} at least."
            elif claimed > least + unlisted + EXACT:
                yield f"{said}, but the networks listed make it {least + unlisted!r} at most."


def _missing_findings(listed: _Listed, summary: Summary) -> Iterator[str]:
    """Sentences about networks that cost less than the last and are not listed, about how many there are and about the
    share of the listed ones, found by looking at every network of a few variables. Nothing, if nothing is claimed of
    them."""
    claim, costs = listed.claim, listed.costs
    if not _looks_for_missing(claim, summary):
        return
    every = every_network(listed.problem, claim.score, claim.ess, listed.demands)
    found = [(math.fsum([family.cost for family in families]), families) for families in every]
    missing = [
        cost
        for cost, families in found
        if cost < costs[-1] - tolerance(costs[-1]) and not _is_listed(listed, families, cost, summary.classes)
    ]
    if missing:
        yield (
            f"Of the networks that cost less than the last one, {len(missing)} are not listed; the best of them costs "
            f"{min(missing)!r}."
        )
    if summary.in_all is not None and summary.within is not None and not summary.classes:
        above = [cost - costs[0] - summary.within for cost, _ in found]
        near = 2.0 * tolerance(costs[-1])
        least, most = (sum(excess <= allowed for excess in above) for allowed in (-near, near))
        if not least <= summary.in_all <= most:
            yield (
                f"The result says that {summary.in_all:,} networks cost at most {summary.within!r} nats more than the "
                f"best, but there are {most:,}."
            )
    if summary.of_all is not None and not summary.classes:
        likely = _weight(costs, costs[0]) / _weight([cost for cost, _ in found], costs[0])
        if not abs(likely - summary.of_all) <= ROUNDED * likely:
            yield (
                f"The listed networks are said to have {summary.of_all!r} of the probability of all networks there "
                f"are, but they have {likely!r}."
            )


def _weight(costs: Iterable[float], best: float) -> float:
    """The sum of the probabilities of networks, that of the best being one."""
    return math.fsum(math.exp(best - cost) for cost in costs)


def _is_listed(listed: _Listed, families: Sequence[Family], cost: float, classes: bool) -> bool:
    """Whether a network is listed, or one of its class that costs no more."""
    if not classes:
        return network_key(families) in listed.keys
    number = listed.class_numbers.get(class_key(families))
    return number is not None and listed.class_costs[number - 1] <= cost + tolerance(cost)
