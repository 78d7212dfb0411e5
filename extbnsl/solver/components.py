"""Solving the components of a problem one by one, or bounding them by multipliers alone."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.ascent import ascended, find_multipliers, multipliers_bytes
from extbnsl.bounds.multipliers import families_of
from extbnsl.core.claims import DISK_LIMIT, MEMORY_LIMIT, tolerance
from extbnsl.core.errors import BudgetError
from extbnsl.core.events import Observer, StageAdvanced, ignore
from extbnsl.core.figures import in_full
from extbnsl.kernels.varsets import WORD_BITS
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.parents.components import Component
from extbnsl.parents.exhaustive.surviving import Survivors
from extbnsl.proof.commits import Commits
from extbnsl.proof.context import Context, Stages
from extbnsl.proof.incumbents import find_parts
from extbnsl.proof.pieces import Part, give_up
from extbnsl.proof.priced import priced_part
from extbnsl.proof.prove import prove
from extbnsl.scores.local import LocalScores

MOST_LISTED = 200_000  # families of a component that a bound after a stop looks at
WIDEST = 400  # variables of such a component: an ascent takes 4 s for 800 of them, and minutes for 2,000
MOST_ITERATIONS = 1 << 30  # of the simplex method: the time ends it


def raised_bound(scores: LocalScores, cost: float, memory: int, workers: Workers, seed: int) -> float:
    """A lower bound of the networks that the families allow, in nats: multipliers from an ascent, which linear programs
    improve until the bound comes to `cost`, hardly moves, or the workers are told to stop. The cheapest families alone
    are the bound if that takes more than the memory."""
    from extbnsl.bounds.lp.polish import ROOT, Goal, Polished, polished

    best = math.fsum(float(costs[0]) for costs in scores.costs)
    limit = cost - tolerance(cost)
    needed = multipliers_bytes(scores.costs, scores.variables, workers.threads)
    if best >= limit or needed > memory:
        return best

    def hear(found: Polished) -> None:
        nonlocal best
        best = max(best, found.multipliers.root)

    try:
        families = families_of(scores.parents, scores.costs)
        begun = Polished(find_multipliers(families, None, 0, seed, workers))
        hear(begun)
        hear(polished(families, begun, Goal(limit, ROOT, memory - needed), MOST_ITERATIONS, workers, hear))
    except Stopped:
        pass
    return best


def bound_of_listed(component: Component, unlisted: Sequence[float], memory: int, seed: int, seconds: float) -> float:
    """A lower bound of the networks over a component of which not all families are known, in nats.

    unlisted (n,): what those of each child that are not known cost at least. They are taken for one family without
    parents that costs as much: whatever their parents are, it fulfils every cut that they do. The same is done with the
    dearest ones where there are many. The bound is that of a greedy ascent, as far as it comes in about so many
    seconds, or of the cheapest families alone if that takes more than the memory, or the variables are many.
    """
    least = [min(float(own[0]), other) for own, other in zip(component.costs, unlisted, strict=True)]
    if component.size > WIDEST or seconds <= 0.0:
        return math.fsum(least)
    most = MOST_LISTED // component.size
    listed = [
        _with_others(own[:most], costs[:most], min([other, *costs[most : most + 1].tolist()]))
        for own, costs, other in zip(component.parents, component.costs, unlisted, strict=True)
    ]
    parents, costs = zip(*listed, strict=True)
    if multipliers_bytes(costs, component.size, 1) > memory:
        return math.fsum(least)
    return ascended(families_of(parents, costs), seed, seconds).root


def _with_others(
    parents: NDArray[np.uint64], costs: NDArray[np.float64], others: float
) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
    """Families in score order, with one without parents in the place of all that cost as much as `others` or more."""
    if others == math.inf:
        return parents, costs
    cheaper = int(np.searchsorted(costs, others))
    free = np.zeros((1, parents.shape[1]), np.uint64)
    return np.concatenate([parents[:cheaper], free]), np.append(costs[:cheaper], others)


SMALL = 16  # variables of a component of which nobody wants to hear
FEW = 3  # such components, of which somebody does
BOUND_SECONDS = 2.0  # after a stop, when bounds are to be there


def solve_components(
    survivors: Survivors, found: tuple[Component, ...], context: Context, commits: Commits
) -> tuple[list[Part], str | None]:
    """Solve the components one by one, in the standing; their parts, and the reason if it had to stop.

    Parts of incomplete scores, or cut short by a stop, are good for a result, but an undisturbed run would have others:
    the standing does not get them.
    """
    parts, stopped = commits.standing.parts, survivors.stopped
    if stopped is not None or not parts:
        parts = (
            find_parts(survivors, found, context, rounded=True)
            if survivors.priced is None
            else [priced_part(found[0], survivors)[0]]
        )
        stopped = stopped or context.workers.stop()
    if stopped is None:
        commits.standing.parts = parts
        stopped = _prove_all(found, context, commits)
    if stopped is None:
        return parts, None
    if context.methods.clusters and stopped != MEMORY_LIMIT:  # where memory is out, nothing new can be begun
        parts = [_raised(part, one, survivors, context) for part, one in zip(parts, found, strict=True)]
    return give_up(parts, stopped), stopped


def _raised(part: Part, component: Component, survivors: Survivors, context: Context) -> Part:
    """A part at a stop, with the bound that takes hardly any time where a better one is not known."""
    if part.proved:
        return part
    unlisted, seconds = survivors.unjudged[list(component.variables)].tolist(), context.workers.left_of(BOUND_SECONDS)
    bound = bound_of_listed(component, unlisted, context.memory_left, context.methods.seed, seconds)
    return replace(part, lower_bound=max(part.lower_bound, bound))


def _prove_all(found: tuple[Component, ...], context: Context, commits: Commits) -> str | None:
    """Prove what is not proved, in the standing: what was begun, small components, the others; the reason if it had to
    stop."""
    search = commits.standing.search
    in_turn = sorted(range(len(found)), key=lambda k: found[k].size > WORD_BITS)  # these may take all the time there is
    try:
        _prove_each([] if search is None else [search.component], found, context, commits)
        if len(found) > FEW:
            _prove_small(found, context, commits)
        _prove_each(in_turn, found, context, commits)
    except Stopped as stop:
        return stop.reason
    except MemoryError:
        return MEMORY_LIMIT
    except BudgetError:  # of what memory has no room for
        return DISK_LIMIT
    return None


def _prove_each(
    chosen: Iterable[int], found: tuple[Component, ...], context: Context, commits: Commits, tell: Observer = ignore
) -> None:
    """Prove those of the chosen components that are not proved; `tell` hears how many are done."""
    parts = commits.standing.parts
    left = [k for k in chosen if not parts[k].proved]
    for done, k in enumerate(left):
        commits.commit_if_due()
        tell(StageAdvanced("components", done, len(left), "proved"))
        parts[k] = prove(found[k], k, context, commits)


def _prove_small(found: tuple[Component, ...], context: Context, commits: Commits) -> None:
    """Prove the small components, as one stage for the observer if there are many: each alone is of no interest."""
    small = [k for k, part in enumerate(commits.standing.parts) if not part.proved and found[k].size <= SMALL]
    if len(small) <= FEW:
        return
    detail = f"{len(small)} of up to {in_full(max(found[k].size for k in small), 'variable')}"
    uncounted = Stages(context.observer, {})  # its seconds are those of the stages within
    with uncounted.stage("components", detail) as summary:
        try:
            _prove_each(small, found, replace(context, stages=context.stages.quiet()), commits, context.observer)
        finally:
            summary += [detail, commits.standing.bounds_told()]
