"""What a result says of all networks: the sum over them, and how likely arcs are. It is summed again, by a program of
its own; what takes more than that has, or a sample of networks says, is left as it is, and told."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.claims import OPTIMAL
from extbnsl.core.errors import InputError
from extbnsl.core.events import Observer, ignore
from extbnsl.data import Data
from extbnsl.kernels.varsets import members
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.scores.local import LocalScores
from extbnsl.verify.certificate import TooMuch
from extbnsl.verify.demands import demands_on
from extbnsl.verify.document import (
    ClaimedResult,
    Number,
    Positive,
    Share,
    Thing,
    Things,
    Truth,
    Word,
    read_fields,
    value_of,
    whole_from,
)
from extbnsl.verify.listed import first_of
from extbnsl.verify.question import DRAWN, PROBABILITIES, Unchecked
from extbnsl.verify.sums import ORDER, UNIFORM, Summed, cost_table, summed

FromZero = Annotated[Annotated[float, lambda value: value >= 0], "a number from 0 on"]
T = TypeVar("T")
SUMMING = {"networks": (UNIFORM,), "orders": (ORDER,), "layers": (UNIFORM, ORDER)}  # ways to sum, and their priors
DRAWING = "draws"  # the way to estimate
Count = Annotated[Any, whole_from(0), "a whole number"]
ROUNDED = 1e-7  # what a probability may be off, and a logarithm relatively, for rounding


@dataclass(frozen=True)
class Chance:
    """A probability, and between which values it is said to lie."""

    probability: Share
    at_least: Share
    at_most: Share

    def holds(self, own: float) -> bool:
        """Whether a probability lies in the interval."""
        return self.at_least - ROUNDED <= own <= self.at_most + ROUNDED

    def is_within(self, width: float) -> bool:
        """Whether it lies in its own interval, and that is no wider."""
        return self.holds(self.probability) and self.at_most - self.at_least <= width + ROUNDED


@dataclass(frozen=True)
class Pair:
    """What is said of an arc, and of an arc in either direction."""

    arc: Chance
    either: Chance


@dataclass(frozen=True)
class Feature:
    """What share of the networks that were drawn is said to have something."""

    name: Word
    share: Share
    standard_error: FromZero


@dataclass(frozen=True)
class ClaimedPosterior:
    """What a result says of all networks."""

    prior: Word
    method: Word
    within: Share
    reached: Truth
    log_weight: Annotated[tuple[Number, Number], "two numbers"]
    ignored: FromZero
    rounding: FromZero
    families: Annotated[Positive, "a number above 0"]
    sampled: Count
    arcs: Mapping[tuple[int, int], Pair]
    network: Chance | None
    features: tuple[Feature, ...]

    @property
    def width(self) -> float:
        """How wide intervals are, but for rounding."""
        return self.ignored / (1.0 + self.ignored)


@dataclass(frozen=True)
class Estimated:
    """A probability that was estimated."""

    probability: Share
    standard_error: FromZero


@dataclass(frozen=True)
class ClaimedEstimate:
    """What a result says of all networks from networks that were drawn and weighted."""

    log_weight: Number
    standard_error: FromZero
    draws: Annotated[Positive, "a number above 0"]
    effective: FromZero
    ignored_orders: Share


@dataclass(frozen=True)
class PosteriorCheck:
    """What became of what a result says of all networks.

    findings: a sentence for each claim that does not hold.
    unchecked: the claims that nobody checked.
    checked: whether the probabilities were.
    """

    findings: tuple[str, ...] = ()
    unchecked: tuple[Unchecked, ...] = ()
    checked: bool = False


def check_posterior(
    document: Mapping[str, Any],
    claim: ClaimedResult,
    problem: Data | LocalScores,
    workers: Workers,
    observer: Observer = ignore,
) -> PosteriorCheck:
    """Check what a result of which `verify` finds that all else holds says of all networks.

    Up to `sums.MOST_VARIABLES` all families are scored again, and summed; the observer hears how far that is. Raises
    InputError, with one sentence that names the key, if it lacks a key or has one of another type.
    """
    if "estimate" in value_of(document, "posterior", Thing):
        return _check_estimate(document["posterior"], claim)
    told = read_posterior(document, claim.variables)
    if findings := tuple(_form_findings(told, claim)):
        return PosteriorCheck(findings)
    left = (Unchecked(DRAWN),) if told.sampled else ()
    try:
        demands = demands_on(problem, claim.max_parents, claim.knowledge)
        found = summed(cost_table(problem, claim, demands, workers, observer), told.prior, workers, observer)
    except (Stopped, TooMuch) as stop:
        return PosteriorCheck(unchecked=(Unchecked(PROBABILITIES, str(stop)), *left))
    return PosteriorCheck(first_of(_sum_findings(told, claim, found), "probabilities"), left, checked=True)


def read_posterior(document: Mapping[str, Any], names: tuple[str, ...]) -> ClaimedPosterior:
    """What a document says of all networks; raises InputError as `check_posterior`."""
    own = value_of(document, "posterior", Thing)
    arcs = {arc: Pair(*pair) for arc, pair in _read_arcs(value_of(own, "arcs", Things), names, Chance).items()}
    network = None if own.get("network") is None else read_fields(Chance, own["network"])
    found = read_fields(ClaimedPosterior, own, arcs=arcs, network=network, features=_read_features(own))
    if found.prior not in (UNIFORM, ORDER):
        raise InputError(f"The 'prior' of the result is {found.prior!r}, which is none: give the result.json of a run.")
    return found


def _read_features(own: Mapping[str, Any]) -> tuple[Feature, ...]:
    return tuple(read_fields(Feature, one) for one in value_of(own, "features", Things))


def _check_estimate(own: Mapping[str, Any], claim: ClaimedResult) -> PosteriorCheck:
    """What can be said of estimates: whether all that they need is there, and claims no proof."""
    told = read_fields(ClaimedEstimate, own["estimate"])
    _read_arcs(value_of(own, "arcs", Things), claim.variables, Estimated)
    if own.get("network") is not None:
        read_fields(Estimated, own["network"])
    method, sampled = value_of(own, "method", Word), value_of(own, "sampled", Count)
    findings = list(_method_findings(method, (DRAWING,), _read_features(own), sampled))
    if claim.status == OPTIMAL or value_of(own, "reached", Truth):
        findings.append("Probabilities are estimates, but are said to be within what was asked for.")
    if told.effective > told.draws * (1.0 + ROUNDED):
        findings.append(f"{told.draws:,} draws are said to be worth {told.effective!r}.")
    left = (Unchecked(DRAWN),) if sampled else ()
    return PosteriorCheck(tuple(findings), (Unchecked(PROBABILITIES, "they are estimates"), *left))


def _read_arcs(rows: list[Any], names: tuple[str, ...], kind: type[T]) -> dict[tuple[int, int], tuple[T, T]]:
    """What is said of arcs, by (parent, child), and of an arc in either direction."""
    index, arcs = {name: x for x, name in enumerate(names)}, dict[tuple[int, int], tuple[T, T]]()
    for row in rows:
        parent, child = (row.get("from"), row.get("to")) if isinstance(row, dict) else (None, None)
        if not (isinstance(parent, str) and isinstance(child, str) and {parent, child} <= index.keys()):
            raise InputError(f"The posterior of the result has {parent!r} and {child!r}, which are no two variables.")
        if parent == child or (index[parent], index[child]) in arcs:
            raise InputError(f"The posterior of the result has the arc from {parent!r} to {child!r} twice, or a loop.")
        of_pair = {key.removeprefix("either_"): value for key, value in row.items() if key.startswith("either_")}
        of_pair["probability"] = row.get("either")
        arcs[index[parent], index[child]] = (read_fields(kind, row), read_fields(kind, of_pair))
    return arcs


def _method_findings(method: str, ways: Iterable[str], features: Sequence[Feature], sampled: int) -> Iterator[str]:
    """Sentences about a way to come to probabilities that is none of these, and about features of no networks."""
    if method not in ways:
        yield f"Probabilities like these are said to be had by {method!r}."
    if features and not sampled:
        yield "There are features of networks that were drawn, but none is said to have been."


def _form_findings(told: ClaimedPosterior, claim: ClaimedResult) -> Iterator[str]:
    """Sentences about what does not go together in what is said."""
    ways = [way for way, priors in SUMMING.items() if told.prior in priors]
    yield from _method_findings(told.method, ways, told.features, told.sampled)
    low, high = told.log_weight
    if not low <= high or not abs(high - low - math.log1p(told.ignored)) <= ROUNDED * max(1.0, abs(low)):
        yield f"The log weight is said to lie between {low!r} and {high!r}, but {told.ignored!r} is ignored."
    if told.reached != (told.width <= told.within):
        negation = "" if told.reached else "not "
        yield f"Intervals of {told.width!r} are said {negation}to be within {told.within!r}."
    if claim.status == OPTIMAL and not told.reached:
        yield "The status is 'optimal', but intervals are wider than was asked for."
    if told.network is None and told.prior == UNIFORM:
        yield "The probability of the network is not said."
    own = [chance for pair in told.arcs.values() for chance in (pair.arc, pair.either)]
    if not all(chance.is_within(told.width) for chance in (*own, *filter(None, [told.network]))):
        yield f"A probability, or its interval, does not go with {told.ignored!r} ignored."


def _sum_findings(told: ClaimedPosterior, claim: ClaimedResult, found: Summed) -> Iterator[str]:
    """Sentences about what the sum over all networks says otherwise."""
    low, high = told.log_weight
    near = ROUNDED * max(1.0, abs(found.log_weight))
    if not low - near <= found.log_weight <= high + near:
        yield f"The log weight of all is {found.log_weight!r}, which is not between {low!r} and {high!r}."
    arcs, nothing = _arcs_of(found), Chance(0.0, 0.0, told.width)
    for parent, child in (arc for arc in np.ndindex(*arcs.shape) if arc[0] != arc[1]):
        pair = told.arcs.get((parent, child), Pair(nothing, Chance(0.0, 0.0, 1.0)))
        own, either = float(arcs[parent, child]), float(arcs[parent, child] + arcs[child, parent])
        names = f"from {claim.variables[parent]!r} to {claim.variables[child]!r}"
        if not pair.arc.holds(own):
            yield f"The arc {names} has the probability {own!r}, which is not within what the result says."
        elif not pair.either.holds(either):
            yield f"The arc {names}, or back, has the probability {either!r}, which is not within what the result says."
    if told.families > (most := np.count_nonzero(found.families)):
        yield f"{told.families:,} families are said to have been summed, but there are {most:,}."
    if told.network is not None:
        orders = 1 if told.prior == UNIFORM else _orders_of(claim)
        own = math.exp(math.log(orders) - claim.cost - found.log_weight)
        if not told.network.holds(own):
            yield f"The network has the probability {own!r}, which is not within what the result says."


def _orders_of(claim: ClaimedResult) -> int:
    """How many orders the network keeps to."""
    index = {name: x for x, name in enumerate(claim.variables)}
    above = [sum(1 << index[p] for p in claim.parents[name]) for name in claim.variables]

    @cache
    def orders(left: int) -> int:
        last = [x for x in index.values() if left >> x & 1 and not any(above[y] >> x & 1 for y in members(left))]
        return sum(orders(left ^ 1 << x) for x in last) if left else 1

    return orders((1 << len(above)) - 1)


def _arcs_of(found: Summed) -> NDArray[np.float64]:
    """The probability of each arc, parent by child: (n, n)."""
    n, sets = len(found.families), np.arange(found.families.shape[1])
    return np.array([found.families[:, sets >> parent & 1 == 1].sum(axis=1) for parent in range(n)])
