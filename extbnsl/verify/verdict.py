"""Verification: is a network what its result document claims, counted again from the data? And is it proved optimal?

The counting here is plain numpy and shares nothing with the kernels that search; so does extbnsl/recount.py, which
checks certificates of optimality.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.claims import OPTIMAL, STATUSES
from extbnsl.data import Dataset
from extbnsl.errors import InputError, VerificationError
from extbnsl.kernels.varsets import pack
from extbnsl.machine.workers import Workers
from extbnsl.networks.network import Network
from extbnsl.scores.local import LocalScores
from extbnsl.verify.certificate import CLUSTERS, CertifiedComponent, read_certificate
from extbnsl.verify.families import families_of_data
from extbnsl.verify.recount import check_component, families_of_scores

RELATIVE_TOLERANCE = 1e-9  # of costs that are sums of the same terms in another order


@dataclass(frozen=True)
class Verdict:
    """What a verification found.

    `findings` are sentences, one for each claim that does not hold; `ok` says that there is none. `cost` is
    the recomputed cost in nats, nan if the network cannot be scored.
    """

    ok: bool
    findings: tuple[str, ...]
    cost: float


@dataclass(frozen=True)
class Optimality:
    """What became of the certificate of a result whose other claims hold.

    `findings` are sentences, one for each claim that does not hold. Components, as tuples of names: proved by the
    certificate, searched (proved by a search, if at all), and unchecked because the check was stopped; `unfinished`
    are the children at which it was.
    """

    findings: tuple[str, ...]
    proved: tuple[tuple[str, ...], ...]
    searched: tuple[tuple[str, ...], ...]
    unchecked: tuple[tuple[str, ...], ...]
    unfinished: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether no claim was found wrong; it may be that little was checked."""
        return not self.findings

    @property
    def complete(self) -> bool:
        """Whether the certificate proves that no network is cheaper."""
        return self.ok and not self.searched and not self.unchecked


@dataclass(frozen=True)
class _Claim:
    """What a result document says, its types checked."""

    status: str
    score: str
    log_base: str
    cost: float
    lower_bound: float
    upper_bound: float
    variables: list[str]
    parents: dict[str, list[str]]
    order: list[str]
    max_parents: int | None
    digest: str | None


def score_network(dataset: Dataset, network: Network) -> float:
    """The MDL cost of a network in nats: sum of N H(X | parents) + ln N / 2 (r_X - 1) prod r_parent.

    Arities are the numbers of states of the data set. Raises InputError if the names are not those of the
    data. O(N log N) per child.
    """
    if network.names != dataset.names:
        raise InputError(f"The variables of the network are not those of {dataset.source}.")
    costs = [_mdl(dataset, child, parents) for child, parents in enumerate(network.parents)]
    return math.fsum(costs)


def verify(document: dict[str, Any], dataset: Dataset) -> Verdict:
    """Check a result document against the data that it is about.

    Checks the names, the parents, that there is no cycle and that the order is one, the parent limit, the
    recomputed cost, the bounds and the digest of the data. Raises InputError if the document lacks a key or
    has a value of another type, or is about another score than "mdl".
    """
    claim = _claim(document)
    if claim.score != "mdl":
        raise InputError(
            f"The result has the score {claim.score!r}, which data cannot verify: use the file of its scores."
        )
    return _verdict(
        claim,
        dataset.names,
        dataset.source,
        dataset.fingerprint,
        lambda network: score_network(dataset, network),
    )


def verify_against_scores(document: dict[str, Any], scores: LocalScores) -> Verdict:
    """Check a result document against the local scores that it is about, as `verify` does against data.

    A family that the scores do not list is a finding. Raises InputError as `verify` does, but for any score
    except that of `scores`.
    """
    claim = _claim(document)
    if claim.score != scores.score:
        raise InputError(
            f"The result has the score {claim.score!r}, but the local scores are {scores.score!r}: "
            "verify it with what it was computed from."
        )
    return _verdict(
        claim,
        scores.names,
        "the local scores",
        scores.fingerprint,
        lambda network: _listed_cost(scores, network),
    )


def verify_optimality(document: dict[str, Any], problem: Dataset | LocalScores, workers: Workers) -> Optimality | None:
    """Check the certificate of a result document that `verify` or `verify_against_scores` found to hold.

    None if there is no claim to check: the status is not 'optimal', or the document has no certificate. What the
    workers' stop signal leaves undone is unchecked. Raises RunDirectoryError if the certificate is damaged and
    InputError as `verify` does. Nearly all time goes to counting: see extbnsl/recount_families.py.
    """
    claim = _claim(document)
    if claim.status != OPTIMAL or document.get("certificate") is None:
        return None
    certificate = read_certificate(document["certificate"], problem.names)
    findings = _upper_bound_findings(certificate.components, claim, problem)
    if findings:
        return Optimality(tuple(findings), (), (), (), ())
    if isinstance(problem, Dataset):
        families_below = families_of_data(problem, claim.max_parents, workers)
    else:
        families_below = families_of_scores(problem, claim.max_parents)
    proved: list[tuple[str, ...]] = []
    unchecked: list[tuple[str, ...]] = []
    unfinished: list[str] = []
    for component in (c for c in certificate.components if c.proof == CLUSTERS):
        recount = check_component(component, problem.names, families_below, workers)
        findings += recount.findings
        unfinished += recount.unchecked
        if not recount.findings:
            (unchecked if recount.unchecked else proved).append(component.variables)
    searched = tuple(c.variables for c in certificate.components if c.proof != CLUSTERS)
    return Optimality(tuple(findings), tuple(proved), searched, tuple(unchecked), tuple(unfinished))


def _upper_bound_findings(
    components: tuple[CertifiedComponent, ...], claim: _Claim, problem: Dataset | LocalScores
) -> list[str]:
    """Findings about what the network's families cost in each component; the network has been found to hold."""
    network = Network.from_names(problem.names, claim.parents)
    if isinstance(problem, Dataset):
        costs = [_mdl(problem, child, parents) for child, parents in enumerate(network.parents)]
    else:
        costs = [_listed_family(problem, child, parents) for child, parents in enumerate(network.parents)]
    findings = []
    for component in components:
        cost = math.fsum(costs[problem.names.index(name)] for name in component.variables)
        if abs(cost - component.upper_bound) > RELATIVE_TOLERANCE * abs(cost) + 1e-6:
            findings.append(
                f"The certificate says that the families of the component of {component.variables[0]!r} cost "
                f"{component.upper_bound!r}, but they cost {cost!r}."
            )
    total = math.fsum(component.upper_bound for component in components)
    if not _close(total, claim.cost):
        findings.append(f"The components of the certificate cost {total!r}, but the network costs {claim.cost!r}.")
    return findings


def _mdl(dataset: Dataset, child: int, parents: tuple[int, ...]) -> float:
    """The MDL cost of one family."""
    free_parameters = (len(dataset.states[child]) - 1) * math.prod(len(dataset.states[p]) for p in parents)
    configurations = _distinct(dataset.codes[:, parents])
    cells = _distinct(np.column_stack([configurations, dataset.codes[:, child]]))
    in_cell = np.bincount(cells)
    in_configuration = np.zeros(len(in_cell), dtype=np.int64)
    in_configuration[cells] = np.bincount(configurations)[configurations]
    misfit = -math.fsum((in_cell * np.log(in_cell / in_configuration)).tolist())
    return misfit + math.log(dataset.records) / 2 * free_parameters


def _distinct(rows: NDArray[Any]) -> NDArray[np.int64]:
    """For each row of a matrix, which of the distinct rows it is; all the same if there are no columns."""
    if rows.shape[1] == 0:
        return np.zeros(len(rows), dtype=np.int64)
    which = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:  # pair by pair: the numbers stay below N^2 however many columns there are
        pairs = which * (int(column.max()) + 1) + column
        which = np.unique(pairs, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return which


def _listed_cost(scores: LocalScores, network: Network) -> float:
    """The sum of the listed costs of the families; raises VerificationError for one that is not listed."""
    return math.fsum(_listed_family(scores, child, parents) for child, parents in enumerate(network.parents))


def _listed_family(scores: LocalScores, child: int, parents: tuple[int, ...]) -> float:
    """The listed cost of one family; raises VerificationError if it is not listed."""
    varset = pack(parents, len(scores.names))
    found: NDArray[np.intp] = np.flatnonzero((scores.parents[child] == varset).all(axis=1))
    if len(found) == 0:
        members = ", ".join(repr(scores.names[p]) for p in parents) or "no parents"
        raise VerificationError(f"The local scores do not list the family of {scores.names[child]!r} with {members}.")
    return float(scores.costs[child][found[0]])


def _verdict(
    claim: _Claim,
    names: tuple[str, ...],
    source: str,
    digest: str,
    cost_of: Callable[[Network], float],
) -> Verdict:
    """All findings about a claim on variables `names`, with `cost_of` to score a network."""
    findings = _bound_findings(claim)
    if claim.digest is not None and claim.digest != digest:
        findings.append(f"The result is about other data: its digest is not that of {source}.")
    network = _network(claim, names, source, findings)
    cost = math.nan
    if network is not None:
        findings += _structure_findings(claim, network)
        try:
            cost = cost_of(network)
        except VerificationError as error:
            findings.append(str(error))
        else:
            if not _close(cost, claim.cost):
                findings.append(f"The claimed cost is {claim.cost!r}, but the network costs {cost!r}.")
    return Verdict(ok=not findings, findings=tuple(findings), cost=cost)


def _network(claim: _Claim, names: tuple[str, ...], source: str, findings: list[str]) -> Network | None:
    """The claimed network, or None and a finding if it is none over the variables of the data."""
    if claim.variables != list(names):
        findings.append(f"The variables of the result are not those of {source}, in their order.")
        return None
    missing = [name for name in names if name not in claim.parents]
    if missing:
        findings.append(f"The result gives no parents for {missing[0]!r}, not even an empty list.")
        return None
    try:
        return Network.from_names(names, claim.parents)
    except InputError as error:
        findings.append(str(error))
        return None


def _structure_findings(claim: _Claim, network: Network) -> list[str]:
    """Findings about cycles, the order and the parent limit."""
    findings = []
    try:
        network.order()
    except VerificationError as error:
        findings.append(str(error))
    if sorted(claim.order) != sorted(network.names):
        findings.append("The order of the result is not an order of its variables.")
    else:
        place = {name: i for i, name in enumerate(claim.order)}
        late = [(p, c) for p, c in network.arcs() if place[network.names[p]] > place[network.names[c]]]
        if late:
            parent, child = (network.names[i] for i in late[0])
            findings.append(f"In the order of the result {parent!r} comes after its child {child!r}.")
    if claim.max_parents is not None:
        for name, parents in zip(network.names, network.parents, strict=True):
            if len(parents) > claim.max_parents:
                findings.append(
                    f"The variable {name!r} has {len(parents)} parents, but the limit is {claim.max_parents}."
                )
    return findings


def _bound_findings(claim: _Claim) -> list[str]:
    """Findings about the status, the units and the bounds."""
    findings = []
    if claim.status not in STATUSES:
        findings.append(f"The status {claim.status!r} is unknown.")
    if claim.log_base != "e":
        findings.append(f"The log base is {claim.log_base!r}, but costs are in nats: 'e'.")
    if not claim.lower_bound <= claim.upper_bound:
        findings.append(
            f"The lower bound {claim.lower_bound!r} is not at or below the upper bound {claim.upper_bound!r}."
        )
    if not _close(claim.upper_bound, claim.cost):
        findings.append(f"The upper bound {claim.upper_bound!r} is not the cost {claim.cost!r}.")
    if claim.status == OPTIMAL and not _close(claim.lower_bound, claim.upper_bound):
        findings.append(
            f"The status is 'optimal', but the bounds {claim.lower_bound!r} and {claim.upper_bound!r} are apart."
        )
    return findings


def _close(left: float, right: float) -> bool:
    """Whether two costs agree within the tolerance of a claim, stated once for solve and verify alike."""
    tolerance = RELATIVE_TOLERANCE * max(abs(left), abs(right)) + RELATIVE_TOLERANCE
    return abs(left - right) <= tolerance * (1 + 1e-6)  # a bound is stored as cost - tolerance, rounded to the cost


def _claim(document: dict[str, Any]) -> _Claim:
    """The claim in a document; raises InputError naming the key that is missing or of another type."""
    if not isinstance(document, dict):
        raise InputError("The result is not a JSON object: give the result.json of a run.")
    variables = _get(document, "variables", _is_names, "a list of names")
    order = _get(document, "order", _is_order, "a list of names or of indices of variables")
    provenance = _get(document, "provenance", lambda v: isinstance(v, dict), "an object")
    digest = "a digest or null"
    return _Claim(
        status=_get(document, "status", lambda v: isinstance(v, str), "a word"),
        score=_get(document, "score", lambda v: isinstance(v, str), "a word"),
        log_base=_get(document, "log_base", lambda v: isinstance(v, str), "a word"),
        cost=_get(document, "cost", _is_number, "a number"),
        lower_bound=_get(document, "lower_bound", _is_number, "a number"),
        upper_bound=_get(document, "upper_bound", _is_number, "a number"),
        variables=variables,
        parents=_get(document, "parents", _is_parents, "an object of lists of names"),
        order=[variables[i] if isinstance(i, int) and 0 <= i < len(variables) else str(i) for i in order],
        max_parents=_get(document, "max_parents", _is_limit, "a whole number or null"),
        digest=_get(provenance, "data_digest", lambda v: v is None or isinstance(v, str), digest),
    )


def _get(document: dict[str, Any], key: str, fits: Callable[[Any], bool], wanted: str) -> Any:
    """document[key]; raises InputError if it is missing or does not fit."""
    if key not in document:
        raise InputError(f"The result has no {key!r}: give the whole result.json of a run.")
    if not fits(document[key]):
        raise InputError(f"The {key!r} of the result is not {wanted}: give the result.json of a run.")
    return document[key]


def _is_number(value: Any) -> bool:
    """Whether a JSON value is a number; nan is none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)


def _is_limit(value: Any) -> bool:
    """Whether a JSON value is a parent limit."""
    return value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0)


def _is_names(value: Any) -> bool:
    """Whether a JSON value is a list of names."""
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _is_order(value: Any) -> bool:
    """Whether a JSON value is a list of names or of indices."""
    return _is_names(value) or (isinstance(value, list) and all(type(i) is int for i in value))


def _is_parents(value: Any) -> bool:
    """Whether a JSON value maps names to lists of names."""
    return isinstance(value, dict) and all(_is_names(names) for names in value.values())
