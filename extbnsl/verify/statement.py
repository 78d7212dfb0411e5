"""A result checked as a whole: what it claims, what does not hold, what was computed again, what proves it, and what
nobody checked.

Is a result that holds proved optimal? What its certificate proves is checked again, against what it claims. Does no
network of its order cost less? Of each variable the families whose parents come before it are counted again.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from extbnsl.core.claims import OPTIMAL, tolerance
from extbnsl.core.events import Observer, StageAdvanced, ignore
from extbnsl.core.knowledge import NOTHING
from extbnsl.data import Data
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.networks.network import Network
from extbnsl.scores.local import LocalScores
from extbnsl.verify.certificate import CertifiedComponent, TooMuch, ceil_units, nats_of
from extbnsl.verify.certificate_reader import read_certificate
from extbnsl.verify.copies import without_other_copies
from extbnsl.verify.demands import demands_on
from extbnsl.verify.document import ClaimedResult, read_claims
from extbnsl.verify.families import SOLVER_ERROR, FamilySource
from extbnsl.verify.others import Others, check_others
from extbnsl.verify.passes import cuts_of
from extbnsl.verify.posterior import PosteriorCheck, check_posterior
from extbnsl.verify.question import (
    BOUND,
    DATA,
    LISTED,
    OPTIMALITY,
    ORDER,
    RESAMPLES,
    Question,
    Unchecked,
    question_of,
    unmet,
)
from extbnsl.verify.ranked import ListCheck, table_findings, until_a_stop, verify_networks
from extbnsl.verify.recount import Optimality, check_component, count_below, family_source
from extbnsl.verify.rescoring import family_costs, least_cost
from extbnsl.verify.steps import NO_CUTS
from extbnsl.verify.verdict import verify


@dataclass(frozen=True)
class Statement:
    """What became of a result."""

    question: Question
    findings: tuple[str, ...]  # of claims that do not hold, and demands that are not met; behind the first, no more
    cost: float  # recomputed, in nats
    bounded: bool = False  # whether a lower bound that is not that of a certificate was computed again
    listed: ListCheck | None = None  # what became of the list, if there is one
    order: Optimality | None = None  # and of the claim about the order
    optimality: Optimality | None = None  # and of the certificate
    others: Others | None = None  # and of what is said of networks that are not listed
    posterior: PosteriorCheck | None = None  # and of what is said of all networks
    unchecked: tuple[Unchecked, ...] = ()  # all that is claimed and was not checked

    @property
    def holds(self) -> bool:
        """Whether nothing was found that does not hold; it may be that little was checked."""
        return not self.findings


@dataclass(frozen=True)
class Given:
    """What is to be checked."""

    document: dict[str, Any]
    networks: Callable[[], Iterable[Mapping[str, Any]]]  # of its list, well formed
    folder: Path | None  # the run directory with the tables of these, None if there is only the document
    problem: Data | LocalScores  # what it was made from
    data_options: Mapping[str, Any]  # by which that was read
    demanded: Mapping[str, Any]  # values by `question.KEYS`


def check_result(given: Given, workers: Workers, observer: Observer = ignore) -> Statement:
    """Check a result.

    What the workers' stop signal leaves undone is unchecked. Raises InputError if the document is of another format,
    lacks a key, has a value of another type, or is about another score, and RunDirectoryError if its certificate or
    list is damaged.
    """
    document, problem = given.document, given.problem
    claim = read_claims(document)
    records = problem.observed if isinstance(problem, Data) else None
    question = question_of(document, claim, records, given.data_options)
    verdict = verify(document, problem)
    of_data = problem.knowledge if isinstance(problem, Data) else NOTHING
    stated = Statement(question, (*unmet(question, given.demanded, of_data), *verdict.findings), verdict.cost)
    if stated.findings:
        return stated
    if claim.order_optimal and stated.holds:
        order = verify_order(claim, problem, workers, observer)
        stated = replace(stated, findings=order.findings, order=order)
    if stated.holds:
        optimality = verify_optimality(document, problem, workers, observer)
        stated = replace(stated, optimality=optimality, findings=() if optimality is None else optimality.findings)
    if stated.holds and question.asked is not None:
        listed = _check_list(given, claim, workers)
        stated = replace(stated, findings=listed.findings, listed=listed)
    if stated.holds and claim.status != OPTIMAL:
        stated = replace(stated, bounded=_is_bounded(claim, problem, workers))
    if stated.holds and stated.listed is not None and not stated.listed.why:
        others = check_others(stated.listed, document, workers, observer)  # last, as it may take all the time there is
        stated = replace(stated, others=others, findings=others.findings)
    if stated.holds and "posterior" in document:
        posterior = check_posterior(document, claim, problem, workers, observer)
        stated = replace(stated, posterior=posterior, findings=posterior.findings)
    return replace(stated, unchecked=tuple(_unchecked(stated))) if stated.holds else stated


def _check_list(given: Given, claim: ClaimedResult, workers: Workers) -> ListCheck:
    """Check the networks of a list, and the tables that tell them."""
    document = given.document
    listed = verify_networks(document, given.networks(), given.problem, workers)
    if listed.findings or listed.why or given.folder is None:
        return listed
    try:
        networks = until_a_stop(given.networks(), workers)
        return replace(listed, findings=tuple(table_findings(given.folder, document, networks, claim.variables)))
    except Stopped as stop:
        return replace(listed, why=str(stop))


def _is_bounded(claim: ClaimedResult, problem: Data | LocalScores, workers: Workers) -> bool:
    """Whether a lower bound holds that needs no proof, since it looks at each variable alone."""
    try:
        least = least_cost(problem, claim, workers)
    except Stopped:
        return False
    return claim.lower_bound <= least + tolerance(max(abs(least), abs(claim.cost)))


def _unchecked(stated: Statement) -> Iterable[Unchecked]:
    """What is claimed and was not checked of a result that holds as far as it was."""
    claim, optimality = stated.question.claim, stated.optimality
    if claim.provenance.data_digest is None:
        yield Unchecked(DATA)
    if claim.status == OPTIMAL and optimality is None:
        yield Unchecked(OPTIMALITY, "this result has no certificate")
    elif optimality is not None and optimality.unchecked:
        yield Unchecked(OPTIMALITY, optimality.why, optimality.unchecked)
    if stated.order is not None and stated.order.why:
        yield Unchecked(ORDER, stated.order.why)
    if claim.status != OPTIMAL and not stated.bounded:
        yield Unchecked(BOUND)
    if stated.listed is not None and stated.listed.why:
        yield Unchecked(LISTED, stated.listed.why)
    if stated.others is not None:
        yield from stated.others.unchecked
    if stated.posterior is not None:
        yield from stated.posterior.unchecked
    if stated.question.resamples is not None:
        yield Unchecked(RESAMPLES)


def verify_optimality(
    document: dict[str, Any], problem: Data | LocalScores, workers: Workers, observer: Observer = ignore
) -> Optimality | None:
    """Check the certificate of a result document that `verify` found to hold.

    None if there is no claim to check: the status is not 'optimal', or the document has no certificate. What the
    workers' stop signal leaves undone is unchecked. The observer hears for how many variables parent sets are counted.
    Raises RunDirectoryError if the certificate is damaged and InputError as `verify` does. Nearly all time goes to
    counting: see `families`.
    """
    claim = read_claims(document)
    if claim.status != OPTIMAL or document.get("certificate") is None:
        return None
    names = problem.names
    components = read_certificate(document["certificate"], names).components
    try:
        demands = demands_on(problem, claim.max_parents, claim.knowledge)
        source = family_source(problem, claim, demands, workers)
        source = without_other_copies(source, problem, claim, demands, workers)
    except (Stopped, TooMuch) as stop:
        left = tuple(component.variables for component in components)
        return Optimality(unchecked=left, why=str(stop))
    costs = family_costs(problem, Network.from_names(names, claim.parents), claim)
    if findings := _bound_findings(components, claim, names, costs, source):
        return Optimality(tuple(findings))
    checked, done = list[Optimality](), 0
    for component in components:
        checked.append(check_component(component, names, source, workers, observer, done))
        done += len(component.variables)
    return Optimality.joined(checked)


def _bound_findings(
    components: tuple[CertifiedComponent, ...],
    claim: ClaimedResult,
    names: tuple[str, ...],
    costs: list[float],
    source: FamilySource,
) -> list[str]:
    """Findings about the lower bounds of the components, which make up that of the result: each must be within its
    own tolerance of what the network's families cost there; costs: of each child's."""
    findings = []
    for component in components:
        own = [names.index(name) for name in component.variables]
        cost = math.fsum(costs[child] for child in own)
        rounded = math.fsum(source.rounding(child) + SOLVER_ERROR * abs(costs[child]) for child in own)
        if not abs(cost - component.lower_bound) <= tolerance(cost) + rounded:
            findings.append(
                f"The certificate says that the families of the component of {component.variables[0]!r} cost "
                f"at least {component.lower_bound!r}, but those of the network cost {cost!r}."
            )
    total = math.fsum(component.lower_bound for component in components)
    if not claim.lower_bound <= total:
        findings.append(
            f"The lower bound is {claim.lower_bound!r}, but the components of the certificate have {total!r} together."
        )
    return findings


def verify_order(
    claim: ClaimedResult, problem: Data | LocalScores, workers: Workers, observer: Observer = ignore
) -> Optimality:
    """Look for a cheaper network of the order of a result that `verify` found to hold; time as counting takes.

    There is a sentence for each variable that has a cheaper family, if the network then costs less by more than the
    tolerance. The observer hears about how many variables are counted.
    """
    names = problem.names

    def tell(done: int, of: int) -> None:
        counted = len(names) * done // of
        observer(StageAdvanced("verify", counted, len(names), "variables", detail="looking for cheaper parents"))

    network = Network.from_names(names, claim.parents)
    demands = demands_on(problem, claim.max_parents, claim.knowledge).under([names.index(name) for name in claim.order])
    costs = family_costs(problem, network, claim)
    dear = {child: ceil_units(cost) for child, cost in enumerate(costs)}
    try:
        source = family_source(problem, claim, demands, workers)
        _, least = count_below(cuts_of(NO_CUTS, names), dear, source, workers, tell)
    except (Stopped, TooMuch) as stop:
        return Optimality(why=str(stop))
    gains = [nats_of(most - own) for most, own in zip(dear.values(), least, strict=True)]
    rounding = math.fsum(map(source.rounding, dear))
    if math.fsum(gains) <= tolerance(math.fsum(costs)) + rounding:
        return Optimality(rounding=rounding)
    return Optimality(
        tuple(
            f"Under the order of the result {names[child]!r} could have parents that cost {gain!r} nats less."
            for child, gain in enumerate(gains)
            if gain > source.rounding(child)
        )
    )
