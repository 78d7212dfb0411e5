"""What a ranked list says of networks that it does not list: that they cost more, how many there are, what they weigh.

Every network that costs as little is looked at, see `complete`; of some variables the weight of all, exp(-cost) of
each, is added up, see `sums`. A claim that takes more than that is left as it is, and told.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.claims import OPTIMAL, tolerance
from extbnsl.core.events import Observer, StageAdvanced, ignore
from extbnsl.core.figures import in_full
from extbnsl.kernels.varsets import members
from extbnsl.machine.budgets import default_memory
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.scores.local import LocalScores
from extbnsl.verify.certificate import Certificate, TooMuch, ceil_units
from extbnsl.verify.certificate_reader import read_certificate
from extbnsl.verify.complete import Question, networks_below
from extbnsl.verify.document import OfAll, Summary
from extbnsl.verify.families import FamilySource
from extbnsl.verify.listed import Family, Listed, class_key, first_of, scored_family
from extbnsl.verify.question import COUNT, MISSING, OF_ALL, SHARES, Unchecked
from extbnsl.verify.ranked import ListCheck
from extbnsl.verify.recount import family_source
from extbnsl.verify.steps import NO_CUTS, Pass, Wholes
from extbnsl.verify.sums import UNIFORM, cost_table, log_weight

ROUNDED = 1e-3  # what a sum over all networks may be off, relatively
ADDED = 1e-6  # what a share may be off that was added up without a list


@dataclass(frozen=True)
class Others:
    """findings: sentences about claims that do not hold; checked: those that do, of MISSING, COUNT, SHARES and OF_ALL;
    unchecked: those that were left."""

    findings: tuple[str, ...] = ()
    checked: tuple[str, ...] = ()
    unchecked: tuple[Unchecked, ...] = ()


def check_others(
    check: ListCheck, document: Mapping[str, Any], workers: Workers, observer: Observer = ignore
) -> Others:
    """Check what is said of networks that are not listed, as far as there is anything, of a list that holds. The
    certificate of the document makes that quick, if it has one. The observer hears how far a search is."""
    listed, summary = check.listed, check.summary
    assert listed is not None, "it holds"
    assert summary is not None, "it holds"
    certificate = None
    if document.get("certificate") is not None:
        certificate = read_certificate(document["certificate"], listed.problem.names)
    looked = _Looked(listed, summary, certificate, workers, observer)
    findings, checked, unchecked = list[str](), list[str](), list[Unchecked]()
    for what, sentences in _checks(looked):
        try:
            found = list(sentences)
        except (Stopped, TooMuch) as stop:
            unchecked.append(Unchecked(what, str(stop)))
        else:
            findings += found
            checked += [] if found else [what]
    return Others(tuple(findings), tuple(checked), tuple(unchecked))


@dataclass
class _Tally:
    """What networks add up to: how many, or how many classes; their weight, that of the first of the list being 1, by
    class, by (parent, child), and in all."""

    listed: Listed
    of_classes: bool
    arcs: NDArray[np.float64]
    classes: dict[int, float] = field(default_factory=dict)
    keys: set[bytes] = field(default_factory=set)
    networks: int = 0
    weight: float = 0.0

    @property
    def number(self) -> int:
        """How many there are, networks or classes."""
        return len(self.keys) if self.of_classes else self.networks

    def add(self, cost: float, families: tuple[Family, ...]) -> None:
        """Add a network; of classes the weight counts if its class is listed."""
        self.networks += 1
        number: int | None = 0
        if self.of_classes:
            self.keys.add(class_key(families, self.listed.told))
            number = self.listed.class_number(families)
        if number is None:
            return
        weight = math.exp(min(0.0, self.listed.costs[0] - cost))
        self.weight += weight
        self.classes[number] = self.classes.get(number, 0.0) + weight
        for child, family in enumerate(families):
            for parent in members(family.parents):
                self.arcs[parent, child] += weight


@dataclass(frozen=True)
class _Looked:
    """A list, the certificate, whose multipliers guide the search for other networks, and what becomes of it."""

    listed: Listed
    summary: Summary
    certificate: Certificate | None
    workers: Workers
    observer: Observer

    @cached_property
    def table(self) -> NDArray[np.float64]:
        """What all families cost; raises TooMuch if they are too many for that."""
        return cost_table(self.listed.problem, self.listed.claim, self.listed.demands, self.workers)

    @property
    def near(self) -> float:
        """Networks whose costs differ by less may be on either side of a limit, in nats."""
        return 2.0 * tolerance(self.listed.costs[-1])

    @cached_property
    def limit(self) -> float:
        """What the networks that were found cost at most, in nats; without a limit, all there are."""
        if self.summary.within is not None:
            return self.listed.costs[0] + self.summary.within
        if isinstance(self.listed.problem, LocalScores):
            return math.fsum(float(own.max()) for own in self.listed.problem.costs)
        return math.fsum(float(own[own < math.inf].max()) for own in self.table)

    def networks_to(self, limit: float) -> Iterator[tuple[float, tuple[Family, ...]]]:
        """All networks that cost at most so much, in nats, and what each costs. Raises Stopped and TooMuch."""
        claim, problem = self.listed.claim, self.listed.problem

        def scored(child: int, parents: tuple[int, ...]) -> Family:
            return scored_family(problem, child, parents, claim)

        def tell(size: int, of: int, nodes: int) -> None:
            detail = f"looking for other networks, {in_full(nodes, 'node')}"
            self.observer(StageAdvanced("verify", size, of, "layers", detail=detail))

        source = family_source(problem, claim, self.listed.demands, self.workers, every=True)
        question = Question(problem.names, source, scored, *self._guide(source), tell)
        known = [tuple(members(own)) for own in self.listed.first]
        above = math.nextafter(limit, math.inf)
        for families in networks_below(question, above, known, self.workers, default_memory()):
            cost = math.fsum([family.cost for family in families])
            if cost <= limit:
                yield cost, families

    def _guide(self, source: FamilySource) -> tuple[Pass, list[int] | None]:
        """The first multipliers of each component, together, and what the certificate says of all reduced costs."""
        if self.certificate is None:
            return NO_CUTS, None
        components, names = self.certificate.components, self.listed.claim.variables
        least = {name: own for component in components for name, own in component.least.items()}
        guide = Pass(
            tuple(cut for component in components for cut in component.first.cuts),
            Wholes(multiplier for component in components for multiplier in component.first.multipliers),
        )
        return guide, [least[name] - ceil_units(source.rounding(x)) for x, name in enumerate(names)]

    @cached_property
    def tallies(self) -> tuple[_Tally, _Tally]:
        """What the networks that were found add up to: those that certainly were, and those that may have been."""
        n = len(self.listed.claim.variables)
        certain, possible = (_Tally(self.listed, self.summary.asked.classes, np.zeros((n, n))) for _ in range(2))
        for cost, families in self.networks_to(self.limit + self.near):
            possible.add(cost, families)
            if cost <= self.limit - self.near:
                certain.add(cost, families)
        return certain, possible


def _checks(looked: _Looked) -> Iterator[tuple[str, Iterator[str]]]:
    """What the result says of networks that it does not list, and sentences about what is wrong with it."""
    summary = looked.summary
    ended = looked.listed.claim.status == OPTIMAL or summary.within is not None
    if ended:
        yield MISSING, _missing_findings(looked)
    if summary.count.networks is not None:  # also of a list that was stopped: it may say how many there are
        yield COUNT, _count_findings(looked)
    if summary.tallied or (ended and summary.asked.classes):
        yield SHARES, _share_findings(looked)
    if summary.count.of_all is not None:
        yield OF_ALL, _findings_of_all(looked)


def _missing_findings(looked: _Looked) -> Iterator[str]:
    """A sentence about networks that cost less than the last and are not listed."""
    listed, costs = looked.listed, looked.listed.costs
    limit = costs[-1] - tolerance(costs[-1])
    missing = [
        cost
        for cost, families in looked.networks_to(limit)
        if cost < limit and not listed.is_listed(families, cost, looked.summary.asked.classes)
    ]
    if missing:
        yield (
            f"Of the networks that cost less than the last one, {len(missing):,} are not listed; the best of them "
            f"costs {min(missing)!r}."
        )


def _count_findings(looked: _Looked) -> Iterator[str]:
    """A sentence if there are not as many networks, or classes, as it says."""
    least, most = (tally.number for tally in looked.tallies)
    said = looked.summary.count.networks
    if said is not None and not least <= said <= most:
        within = looked.summary.within
        which = "" if within is None else f" that cost at most {within!r} nats more than the best"
        what = "equivalence classes" if looked.summary.asked.classes else "networks"
        yield f"The result says that there are {said:,} {what}{which}, but there are {most:,}."


def _share_findings(looked: _Looked) -> Iterator[str]:
    """Sentences about shares in what was found if they are neither those of what was found for certain nor those of
    what may have been."""
    either = [first_of(_wrong_shares(looked, tally), "shares") for tally in looked.tallies if tally.weight > 0.0]
    yield from min(either, key=len, default=())


def _wrong_shares(looked: _Looked, tally: _Tally) -> Iterator[str]:
    """Sentences about shares of which these networks say something else."""
    listed, summary = looked.listed, looked.summary
    if summary.asked.classes:
        for i, claimed in enumerate(listed.shares):
            true = tally.classes.get(i + 1, 0.0) / tally.weight
            if not _near(claimed, true):
                yield f"Class {i + 1:,} is said to have the share {claimed!r}, but its networks make it {true!r}."
    elif not _near(summary.count.share, listed.weight / tally.weight):
        true = listed.weight / tally.weight
        yield f"The listed networks are said to have the share {summary.count.share!r}, but they have {true!r}."
    names = listed.claim.variables
    for parent, child in np.ndindex(*tally.arcs.shape):
        claimed, true = summary.arcs.get((parent, child), 0.0), float(tally.arcs[parent, child]) / tally.weight
        if not _near(claimed, true):
            arc = f"The arc from {names[parent]!r} to {names[child]!r}"
            yield f"{arc} is said to have the share {claimed!r}, but the networks make it {true!r}."


def _near(claimed: float, true: float) -> bool:
    return math.isclose(claimed, true, rel_tol=ADDED, abs_tol=1e-300)


def _findings_of_all(looked: _Looked) -> Iterator[str]:
    """A sentence if what was found has another share of the weight of all networks there are."""
    listed, summary = looked.listed, looked.summary
    weights = [listed.weight]
    if summary.tallied or summary.asked.classes:
        weights = [tally.weight for tally in looked.tallies if tally.weight > 0.0]
    in_all = log_weight(looked.table, UNIFORM, looked.workers)
    shares = [min(1.0, math.exp(math.log(weight) - listed.costs[0] - in_all)) for weight in weights]
    claimed = summary.count.of_all
    if claimed is not None and not any(_holds(claimed, share) for share in shares):
        yield (
            f"The networks that were found are said to have between {claimed.at_least!r} and {claimed.at_most!r} of "
            f"the weight of all networks there are, but they have {shares[-1]!r}."
        )


def _holds(claimed: OfAll, share: float) -> bool:
    """Whether a share lies between these values, but for rounding."""
    return claimed.at_least * (1.0 - ROUNDED) <= share <= claimed.at_most * (1.0 + ROUNDED)
