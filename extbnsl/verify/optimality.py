"""Is a result that holds proved optimal? What its certificate proves, checked again, against what it claims.

Does no network of its order cost less? Of each variable the families whose parents come before it, counted again.
"""

import math
from dataclasses import dataclass
from typing import Any

from extbnsl.core.claims import OPTIMAL, tolerance
from extbnsl.core.events import Observer, StageAdvanced, ignore
from extbnsl.data import Data
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.networks.network import Network
from extbnsl.scores.local import LocalScores
from extbnsl.verify.certificate import NO_CUTS, CertifiedComponent, TooMuch, ceil_units, nats_of, read_certificate
from extbnsl.verify.demands import demands_of
from extbnsl.verify.document import ClaimedResult, read_claims
from extbnsl.verify.families import SOLVER_ERROR, FamilySource
from extbnsl.verify.passes import cuts_of
from extbnsl.verify.recount import check_component, count_below, family_source, reason_of, rounding
from extbnsl.verify.rescoring import family_costs


@dataclass(frozen=True)
class Optimality:
    """What became of the certificate of a result whose other claims hold."""

    findings: tuple[str, ...] = ()  # a sentence for each claim that does not hold
    proved: tuple[tuple[str, ...], ...] = ()  # the components that are proved, as tuples of names
    by: frozenset[str] = frozenset()  # what their proofs are by, of those of `recount`
    unchecked: tuple[tuple[str, ...], ...] = ()  # the components of which the check was given up
    why: str = ""  # for which reason: a stop reason, or a clause
    rounding: float = 0.0  # by how much less a network may cost, in nats, beside the tolerance, as costs are floats

    @property
    def ok(self) -> bool:
        """Whether no claim was found wrong; it may be that little was checked."""
        return not self.findings

    @property
    def complete(self) -> bool:
        """Whether it is proved that no network is cheaper, but for the tolerance of the claim."""
        return self.ok and not self.unchecked


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
        demands = demands_of(names, claim.max_parents, claim.knowledge)
        source = family_source(problem, claim, demands, workers)
    except (Stopped, TooMuch) as stop:
        left = tuple(component.variables for component in components)
        return Optimality(unchecked=left, why=reason_of(stop))
    costs = family_costs(problem, Network.from_names(names, claim.parents), claim.score, claim.ess)
    if findings := _bound_findings(components, claim, names, costs, source):
        return Optimality(tuple(findings))
    recounts, done = [], 0
    for component in components:
        recounts.append(check_component(component, names, source, workers, observer, done))
        done += len(component.variables)
    shown = [c for c, recount in zip(components, recounts, strict=True) if recount.proved]
    return Optimality(
        tuple(finding for recount in recounts for finding in recount.findings),
        tuple(c.variables for c in shown),
        frozenset[str]().union(*(recount.by for recount in recounts)),
        tuple(c.variables for c, recount in zip(components, recounts, strict=True) if recount.why),
        next((recount.why for recount in recounts if recount.why), ""),
        math.fsum(rounding(c, names.index(name), source) for c in shown for name in c.variables),
    )


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


@dataclass(frozen=True)
class OrderCheck:
    """What became of the claim that no network of an order costs less."""

    # a sentence for each variable that has a cheaper family, if the network then costs less by more than the tolerance
    findings: tuple[str, ...] = ()
    why: str = ""  # for which reason it was given up, a stop reason or a clause
    rounding: float = 0.0  # what it is exact but for, in nats, beside the tolerance


def verify_order(
    claim: ClaimedResult, problem: Data | LocalScores, workers: Workers, observer: Observer = ignore
) -> OrderCheck:
    """Look for a cheaper network of the order of a result that `verify` found to hold; time as counting takes. The
    observer hears about how many variables are counted."""
    names = problem.names

    def tell(done: int, of: int) -> None:
        counted = len(names) * done // of
        observer(StageAdvanced("verify", counted, len(names), "variables", detail="looking for cheaper parents"))

    network = Network.from_names(names, claim.parents)
    demands = demands_of(names, claim.max_parents, claim.knowledge).under([names.index(name) for name in claim.order])
    costs = family_costs(problem, network, claim.score, claim.ess)
    dear = {child: ceil_units(cost) for child, cost in enumerate(costs)}
    try:
        source = family_source(problem, claim, demands, workers)
        _, least = count_below(cuts_of(NO_CUTS, names), dear, source, workers, tell)
    except (Stopped, TooMuch) as stop:
        return OrderCheck(why=reason_of(stop))
    gains = [nats_of(most - own) for most, own in zip(dear.values(), least, strict=True)]
    rounding = math.fsum(map(source.rounding, dear))
    if math.fsum(gains) <= tolerance(math.fsum(costs)) + rounding:
        return OrderCheck(rounding=rounding)
    return OrderCheck(
        tuple(
            f"Under the order of the result {names[child]!r} could have parents that cost {gain!r} nats less."
            for child, gain in enumerate(gains)
            if gain > source.rounding(child)
        )
    )
