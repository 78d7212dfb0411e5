"""The families that can win: from data, from score files, or from a commit."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.claims import Claim
from extbnsl.core.errors import InputError
from extbnsl.core.figures import in_full
from extbnsl.data import Data
from extbnsl.em.model import check_em, with_gaps
from extbnsl.files.shelf import Shelf
from extbnsl.machine.system import trim_memory
from extbnsl.machine.workers import Stopped, Workers, unhalted
from extbnsl.parents.constraints import constraints_of
from extbnsl.parents.copies import Copies, copies_in, needed, without_copies
from extbnsl.parents.exhaustive.source import source_of
from extbnsl.parents.exhaustive.state import Means
from extbnsl.parents.exhaustive.surviving import MOST_NAMED, Survivors, surviving_families
from extbnsl.parents.pruning import prune
from extbnsl.proof.commits import Checkpoints, Commits
from extbnsl.proof.context import Context
from extbnsl.proof.guide import may_polish
from extbnsl.scores.charges import charges_of
from extbnsl.scores.local import LocalScores, in_order, network_rows

if TYPE_CHECKING:
    from extbnsl.parents.priced.rounds import Networks

T = TypeVar("T")

VARSETS = "set of variables", "sets of variables"


def find_survivors(
    problem: Data | LocalScores, claim: Claim, context: Context, commits: Commits, one: bool = False
) -> Survivors:
    """The families that can win: those of the standing, or from the problem; the standing gets them if complete.

    one: whether those do that can be in a network cheaper than the best known one, or in one network of least cost.
    """
    if commits.standing.survivors is not None:
        return commits.standing.survivors
    if isinstance(problem, LocalScores):
        with context.stages.stage("parents", "pruning the given parent sets") as summary:
            survivors = without_dominated(all_given(problem, claim), context.workers)
            summary.append(f"{survivors.scores.families:,} of {in_full(problem.families, 'parent set')} kept")
    else:
        networks = partial(_networks, context) if one and may_polish(context.methods) else None
        copies = copies_in(problem, claim) if one else ()
        survivors = counted_families(problem, claim, context, commits, networks=networks, copies=copies)
    if survivors.stopped is None and survivors.priced is not None:
        from extbnsl.proof.priced import priced_part, whole_of

        part, commits.standing.search = priced_part(whole_of(survivors), survivors)
        commits.standing.parts = [part]
    return commits.keep(survivors) if survivors.stopped is None else survivors


def _networks(context: Context) -> "Networks":
    """Who finds networks of the families known so far; counting goes without it, mostly."""
    from extbnsl.proof.priced import KnownNetworks

    return KnownNetworks(context)


def check_claim(problem: Data | LocalScores, claim: Claim, latent: bool = False) -> None:
    """Raise InputError if the claim cannot be about the problem: it names a variable that there is not, contradicts
    itself, or leaves no network; or the problem has columns that its score cannot have, or latent values, unless these
    may be."""
    if isinstance(problem, LocalScores):
        given_scores(problem, claim)
    elif problem.latent and latent:
        check_em(problem.kind, claim)
        source_of(with_gaps(problem), claim)  # of which EM begins
    else:
        source_of(problem, claim)


def all_given(problem: LocalScores, claim: Claim) -> Survivors:
    """All given families that the claim admits."""
    given = given_scores(problem, claim)
    return Survivors(given, np.full(given.variables, np.inf), None, 0)


def counted_families(
    data: Data,
    claim: Claim,
    context: Context,
    commits: Checkpoints[Any],
    slack: float = 0.0,
    networks: "Callable[[], Networks] | None" = None,
    copies: Copies = (),
) -> Survivors:
    """The families of the data that can win, or are within the slack, in nats; the standing follows. networks: see
    `surviving_families`. copies: groups of columns of which one network of least cost is enough."""
    with context.stages.stage("scores", size_of(data)) as summary:
        workers, shelf, begun = context.workers, context.shelf, commits.standing.enumeration
        means = Means(workers, shelf, context.observer)
        constraints = without_copies(constraints_of(claim, data.names), copies, claim.score) if copies else None
        found = surviving_families(data, claim, means, begun, commits.follow, slack, constraints, networks)
        if copies and found.stopped is None and found.priced is None:
            found = _needed(found, copies, shelf)
        trim_memory()  # counting leaves gaps of megabytes, and the search would take its memory beside them
        kept = in_full(found.scores.families, "parent set")
        summary.append(f"{kept} kept, of {in_full(found.varsets, *VARSETS)} counted")
    return found


def _needed(found: Survivors, copies: Copies, shelf: Shelf) -> Survivors:
    """The survivors that one network of least cost may need."""
    parents, costs = list[NDArray[np.uint64]](), list[NDArray[np.float64]]()
    for child, (own, own_costs) in enumerate(zip(found.scores.parents, found.scores.costs, strict=True)):
        kept = needed(child, own, copies)
        parents.append(shelf.put(own[kept]))
        costs.append(shelf.put(own_costs[kept]))
    return replace(found, scores=replace(found.scores, parents=tuple(parents), costs=tuple(costs)))


def size_of(data: Data) -> str:
    """How many variables and records there are, for a person."""
    return f"{in_full(data.variables, 'variable')}, {in_full(data.observed, 'record')}"


def before_a_stop(
    task: Callable[[LocalScores, NDArray[np.uint8]], T], survivors: Survivors, workers: Workers
) -> tuple[Survivors, T]:
    """The survivors and what the task, which looks at the `halt` that it is given, makes of their scores. If it is time
    to stop before that is done these are the cheapest families alone, of which it is done in a moment."""
    try:
        if survivors.stopped is None:
            return survivors, workers.run(task, survivors.scores, workers.halt)
    except Stopped as stop:
        survivors = _cheapest(survivors, stop.reason)
    return survivors, task(survivors.scores, unhalted())


def without_dominated(survivors: Survivors, workers: Workers) -> Survivors:
    """The survivors without dominated families; see `before_a_stop`."""
    survivors, scores = before_a_stop(lambda scores, halt: prune(scores, halt=halt), survivors, workers)
    return replace(survivors, scores=scores)


def _cheapest(survivors: Survivors, reason: str) -> Survivors:
    """The cheapest families, MOST_NAMED in all or a few more, among which there is a network."""
    scores, unjudged = survivors.scores, survivors.unjudged.copy()
    most = max(1, MOST_NAMED // scores.variables)
    _, needed = network_rows(scores.parents)
    rows = [np.union1d(np.arange(min(most, own.size)), needed[x : x + 1]) for x, own in enumerate(scores.costs)]
    for x, own in enumerate(scores.costs):
        unjudged[x] = min([unjudged[x], *own[most : most + 1]])
    return replace(survivors, scores=scores.only(rows), unjudged=unjudged, stopped=reason)


def given_scores(scores: LocalScores, claim: Claim) -> LocalScores:
    """The local scores without the parent sets that the claim does not admit.

    InputError if a child loses all, no network is left, or the claim names a score for local scores, which are costs
    already.
    """
    for name in ("score", "ess", "penalty", "gamma"):
        if getattr(claim, name) != getattr(Claim(), name):
            given = getattr(claim, name)
            raise InputError(f"{name}: {given!r} is for data, but local scores are given; leave it out.")
    charges = charges_of(claim, scores.names)
    if claim.max_parents is None and not claim.knowledge and not charges:
        return scores
    constraints = constraints_of(claim, scores.names)
    keep = [constraints.admitted(child, own) for child, own in enumerate(scores.parents)]
    for name, kept in zip(scores.names, keep, strict=True):
        if not kept.any() and claim.knowledge:
            raise InputError(
                f"knowledge: {name!r} has no parent set that it admits; change the knowledge or the scores."
            )
        if not kept.any():
            raise InputError(f"max_parents: {name} has no parent set of at most {claim.max_parents}; raise the limit.")
    own = replace(scores.claim, max_parents=claim.max_parents, knowledge=claim.knowledge, parent_cost=claim.parent_cost)
    left = replace(scores.only(keep), claim=own)
    if charges:
        families = zip(left.parents, left.costs, strict=True)
        charged = [in_order(own, costs + charges.costs(x, own)) for x, (own, costs) in enumerate(families)]
        left = replace(left, parents=tuple(own for own, _ in charged), costs=tuple(costs for _, costs in charged))
    left.check_order()
    return left
