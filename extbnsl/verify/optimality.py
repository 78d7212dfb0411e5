"""Is a result that holds proved optimal? What its certificate proves, checked again, against what it claims."""

import math
from dataclasses import dataclass
from typing import Any

from extbnsl.core.claims import OPTIMAL, tolerance
from extbnsl.core.events import Observer, ignore
from extbnsl.data import Data
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.networks.network import Network
from extbnsl.scores.local import LocalScores
from extbnsl.verify.certificate import CertifiedComponent, TooMuch, read_certificate
from extbnsl.verify.demands import demands_of
from extbnsl.verify.document import ClaimedResult, read_claims
from extbnsl.verify.families import SOLVER_ERROR, FamilySource
from extbnsl.verify.recount import check_component, reason_of, rounding
from extbnsl.verify.rescoring import family_costs
from extbnsl.verify.sources import family_source


@dataclass(frozen=True)
class Optimality:
    """What became of the certificate of a result whose other claims hold.

    `findings` are sentences, one for each claim that does not hold. proved: the components that are proved, as tuples
    of names; by: what their proofs are by, of those of `recount`. unchecked: the components of which the check was
    given up, and `why` says for which reason: a stop reason, or a clause. max_parents: what is proved is proved of
    networks in which no variable has more parents, None for all networks. rounding: by how much less a network may
    cost, in nats, beside the tolerance, as the costs of the components that were proved are floats.
    """

    findings: tuple[str, ...]
    max_parents: int | None
    proved: tuple[tuple[str, ...], ...] = ()
    by: frozenset[str] = frozenset()
    unchecked: tuple[tuple[str, ...], ...] = ()
    why: str = ""
    rounding: float = 0.0

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
        return Optimality((), claim.max_parents, unchecked=left, why=reason_of(stop))
    costs = family_costs(problem, Network.from_names(names, claim.parents), claim.score, claim.ess)
    findings = _bound_findings(components, claim, names, costs, source)
    if findings:
        return Optimality(tuple(findings), claim.max_parents)
    recounts, done = [], 0
    for component in components:
        recounts.append(check_component(component, names, source, workers, observer, done))
        done += len(component.variables)
    shown = [c for c, recount in zip(components, recounts, strict=True) if recount.proved]
    return Optimality(
        tuple(finding for recount in recounts for finding in recount.findings),
        claim.max_parents,
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
