"""Is a network what its result document claims, scored again from the data? See `optimality` for whether it is optimal.

The scoring here is plain numpy and shares nothing with the kernels that search.
"""

import math
from dataclasses import dataclass
from typing import Any

from extbnsl.core.claims import OPTIMAL, STATUSES, tolerance
from extbnsl.core.errors import InputError, VerificationError
from extbnsl.core.figures import in_full
from extbnsl.data import Data
from extbnsl.networks.network import Network
from extbnsl.scores.local import LocalScores
from extbnsl.verify.demands import demands_on
from extbnsl.verify.document import ClaimedResult, check_format, read_claims
from extbnsl.verify.rescoring import KNOWN, OF_KINDS, PARAMETER_COSTS, WITH_ESS, family_costs

ROUNDED = 1.01  # a bound is the cost less the tolerance, but of the cost as the solver counted it


@dataclass(frozen=True)
class Verdict:
    """What a verification found."""

    findings: tuple[str, ...]  # a sentence for each claim that does not hold
    cost: float  # recomputed, in nats; nan if the network cannot be scored


def verify(document: dict[str, Any], problem: Data | LocalScores) -> Verdict:
    """Check a result document against the data, or the local scores, that it is about.

    Checks the names, the parents, that there is no cycle and that the order is one, the parent limit, the knowledge,
    the recomputed cost, that the bounds fit the status and the cost, the number of records and the digest. No tolerance
    follows from what the document says. Raises InputError if the document is of another format, lacks a key, has a
    value of another type, or is about another score.
    """
    claim = read_claims(document)
    check_format(document)
    _check_score(claim, problem)
    source = problem.source if isinstance(problem, Data) else "the local scores"
    findings, made_from = [], claim.provenance
    if made_from.data_digest is not None and made_from.data_digest != problem.fingerprint:
        findings.append(f"The result is about other data: its digest is not that of {source}.")
    if made_from.records is not None and made_from.records != (problem.observed if isinstance(problem, Data) else None):
        there = in_full(problem.observed, "record") if isinstance(problem, Data) else "none"
        findings.append(f"The result is about {in_full(made_from.records, 'record')}, but {source} has {there}.")
    findings += _target_findings(document.get("targets", []), problem, source)
    findings += _error_findings(document.get("resolution", {}), problem, source)
    network = _network(claim, problem.names, source, findings)
    if network is None:
        return Verdict(tuple(findings), math.nan)
    findings += _structure_findings(claim, network, problem)
    try:
        costs = family_costs(problem, network, claim)
    except VerificationError as error:
        return Verdict((*findings, str(error)), math.nan)
    return Verdict((*findings, *_bound_findings(claim, costs)), math.fsum(costs))


def _check_score(claim: ClaimedResult, problem: Data | LocalScores) -> None:
    """Raise InputError unless the problem can tell the score of the result."""
    if isinstance(problem, Data):
        if problem.gaps and claim.score not in PARAMETER_COSTS:
            raise InputError(f"The result has the score {claim.score!r}, by which no family with gaps has a cost.")
        if claim.score not in KNOWN:
            raise InputError(
                f"The result has the score {claim.score!r}, which data cannot verify: use the file of its scores."
            )
        if claim.score not in OF_KINDS[problem.kind]:
            raise InputError(
                f"The result has the score {claim.score!r}, and {problem.source} was read as {problem.kind}."
            )
        if (claim.ess is None) == (claim.score in WITH_ESS):
            raise InputError(
                f"The 'ess' of the result is {claim.ess!r}, which does not go with the score {claim.score!r}: give the "
                "result.json of a run."
            )
        if claim.score not in PARAMETER_COSTS and (claim.penalty, claim.gamma) != (None, None):
            raise InputError(
                f"The result has a penalty of parameters, which does not go with the score {claim.score!r}: give the "
                "result.json of a run."
            )
    elif claim.score != problem.score:
        raise InputError(
            f"The result has the score {claim.score!r}, but the local scores are {problem.score!r}: "
            "verify it with what it was computed from."
        )


def _target_findings(claimed: Any, problem: Data | LocalScores, source: str) -> list[str]:
    """A finding if a result says of other sets of variables that they were set from outside."""
    targets = problem.targets if isinstance(problem, Data) else None
    names = [] if targets is None else [[problem.names[v] for v in own] for own in targets.sets if own]
    return [] if claimed == names else [f"The 'targets' of the result are not those of {source}."]


def _error_findings(claimed: Any, problem: Data | LocalScores, source: str) -> list[str]:
    """A finding if a result says of other measurement errors of the columns."""
    errors = problem.resolution if isinstance(problem, Data) else ()
    known = dict(zip(problem.names, errors, strict=False))
    return [] if claimed == known else [f"The 'resolution' of the result is not that by which {source} was read."]


def _network(claim: ClaimedResult, names: tuple[str, ...], source: str, findings: list[str]) -> Network | None:
    """The claimed network, or None and a finding if it is none over the variables of the data."""
    missing = [name for name in names if name not in claim.parents]
    if claim.variables != names:
        findings.append(f"The variables of the result are not those of {source}, in their order.")
    elif missing:
        findings.append(f"The result gives no parents for {missing[0]!r}, not even an empty list.")
    else:
        try:
            return Network.from_names(names, claim.parents)
        except InputError as error:
            findings.append(str(error))
    return None


def _structure_findings(claim: ClaimedResult, network: Network, problem: Data | LocalScores) -> list[str]:
    """Findings about cycles, the order, the parent limit, the knowledge, and arcs against time."""
    findings = []
    try:
        network.order()
    except VerificationError as error:
        findings.append(str(error))
    if sorted(claim.order) != sorted(network.names):
        findings.append("The order of the result is not an order of its variables.")
    else:
        place = {name: i for i, name in enumerate(claim.order)}
        arcs = ((network.names[p], network.names[c]) for p, c in network.arcs())
        if late := next(((p, c) for p, c in arcs if place[p] > place[c]), None):
            findings.append(f"In the order of the result {late[0]!r} comes after its child {late[1]!r}.")
    demands = demands_on(problem, claim.max_parents, claim.knowledge)
    faults = (demands.fault(network.names, child, parents) for child, parents in enumerate(network.parents))
    return [*findings, *(f"The {fault}." for fault in faults if fault)]


def _bound_findings(claim: ClaimedResult, costs: list[float]) -> list[str]:
    """Findings about the status, the cost and the bounds, given what the families cost."""
    findings = []
    cost = math.fsum(costs)
    if claim.status not in STATUSES:
        findings.append(f"The status {claim.status!r} is unknown.")
    if not (math.isfinite(cost) and abs(claim.cost - cost) <= tolerance(cost)):
        findings.append(f"The claimed cost is {claim.cost!r}, but the network costs {cost!r}.")
    if not claim.lower_bound <= claim.upper_bound:
        findings.append(
            f"The lower bound {claim.lower_bound!r} is not at or below the upper bound {claim.upper_bound!r}."
        )
    if claim.upper_bound != claim.cost:
        findings.append(f"The upper bound {claim.upper_bound!r} is not the cost {claim.cost!r}.")
    # each component is proved within its own tolerance, and none is smaller than a variable
    apart = math.fsum(map(tolerance, costs)) * ROUNDED
    if claim.status == OPTIMAL and not claim.upper_bound - claim.lower_bound <= apart:
        findings.append(
            f"The status is 'optimal', but the bounds {claim.lower_bound!r} and {claim.upper_bound!r} are apart."
        )
    return findings
