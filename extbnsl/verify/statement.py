"""A result checked as a whole: what it claims, what does not hold, what was computed again, what proves it, and what
nobody checked."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from extbnsl.core.claims import OPTIMAL, tolerance
from extbnsl.core.events import Observer, ignore
from extbnsl.data import Data
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.scores.local import LocalScores
from extbnsl.verify.document import ClaimedResult, read_claims
from extbnsl.verify.optimality import Optimality, OrderCheck, verify_optimality, verify_order
from extbnsl.verify.others import Others, check_others
from extbnsl.verify.question import (
    BOUND,
    DATA,
    OPTIMALITY,
    ORDER,
    RESAMPLES,
    Question,
    Unchecked,
    question_of,
    unmet,
)
from extbnsl.verify.ranked import ListCheck, table_findings, verify_networks
from extbnsl.verify.rescoring import least_cost
from extbnsl.verify.verdict import verify


@dataclass(frozen=True)
class Statement:
    """What became of a result."""

    question: Question
    findings: tuple[str, ...]  # of claims that do not hold, and demands that are not met; behind the first, no more
    cost: float  # recomputed, in nats
    bounded: bool = False  # whether a lower bound that is not that of a certificate was computed again
    listed: ListCheck | None = None  # what became of the list, if there is one
    order: OrderCheck | None = None  # and of the claim about the order
    optimality: Optimality | None = None  # and of the certificate
    others: Others | None = None  # and of what is said of networks that are not listed
    unchecked: tuple[Unchecked, ...] = ()  # all that is claimed and was not checked

    @property
    def holds(self) -> bool:
        """Whether nothing was found that does not hold; it may be that little was checked."""
        return not self.findings

    @property
    def proved(self) -> bool:
        """Whether all that is claimed was checked, and holds."""
        return self.holds and not self.unchecked


@dataclass(frozen=True)
class Given:
    """What is to be checked."""

    document: dict[str, Any]
    networks: Callable[[], Iterable[Any]]  # of its list
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
    records = problem.records if isinstance(problem, Data) else None
    question = question_of(document, claim, records, given.data_options)
    verdict = verify(document, problem)
    stated = Statement(question, (*unmet(question, given.demanded), *verdict.findings), verdict.cost)
    if stated.findings:
        return stated
    if question.asked is not None:
        listed = verify_networks(document, given.networks(), problem)
        stated = replace(stated, findings=listed.findings, listed=listed)
        if stated.holds and given.folder is not None:
            tables = table_findings(given.folder, document, given.networks(), claim.variables)
            stated = replace(stated, findings=tuple(tables))
    if claim.order_optimal and stated.holds:
        order = verify_order(claim, problem, workers, observer)
        stated = replace(stated, findings=order.findings, order=order)
    if stated.holds:
        optimality = verify_optimality(document, problem, workers, observer)
        stated = replace(stated, optimality=optimality, findings=() if optimality is None else optimality.findings)
    if stated.holds and claim.status != OPTIMAL:
        stated = replace(stated, bounded=_is_bounded(claim, problem, workers))
    if stated.holds and stated.listed is not None:
        others = check_others(stated.listed, document, workers, observer)  # last, as it may take all the time there is
        stated = replace(stated, others=others, findings=others.findings)
    return replace(stated, unchecked=tuple(_unchecked(stated))) if stated.holds else stated


def _is_bounded(claim: ClaimedResult, problem: Data | LocalScores, workers: Workers) -> bool:
    """Whether a lower bound holds that needs no proof, since it looks at each variable alone."""
    try:
        least = least_cost(problem, claim.score, workers)
    except Stopped:
        return False
    return claim.lower_bound <= least + tolerance(max(abs(least), abs(claim.cost)))


def _unchecked(stated: Statement) -> Iterable[Unchecked]:
    """What is claimed and was not checked of a result that holds as far as it was."""
    claim, optimality = stated.question.claim, stated.optimality
    if claim.digest is None:
        yield Unchecked(DATA)
    if claim.status == OPTIMAL and optimality is None:
        yield Unchecked(OPTIMALITY, "this result has no certificate")
    elif optimality is not None and optimality.unchecked:
        yield Unchecked(OPTIMALITY, optimality.why, optimality.unchecked)
    if stated.order is not None and stated.order.why:
        yield Unchecked(ORDER, stated.order.why)
    if claim.status != OPTIMAL and not stated.bounded:
        yield Unchecked(BOUND)
    if stated.others is not None:
        yield from stated.others.unchecked
    if stated.question.resamples is not None:
        yield Unchecked(RESAMPLES)
