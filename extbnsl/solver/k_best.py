"""The k best networks, or all within a factor of the best: a good network, then all that cost little more."""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from extbnsl.core.claims import MEMORY_LIMIT, OPTIMAL, tolerance
from extbnsl.core.errors import BudgetError, InputError
from extbnsl.core.events import Observer, ignore
from extbnsl.files.manifest import K_BEST
from extbnsl.kbest.scope import KEEPS_ONE, Scope
from extbnsl.kernels.varsets import unpack
from extbnsl.machine.workers import Stopped, StopSignal, never
from extbnsl.networks.network import Network
from extbnsl.parents.components import Component, components
from extbnsl.parents.exhaustive.surviving import Survivors
from extbnsl.proof.context import Context
from extbnsl.proof.incumbents import find_parts
from extbnsl.proof.methods import Methods
from extbnsl.proof.pieces import Part, give_up, guided_steps
from extbnsl.results.networks import CostedNetwork
from extbnsl.results.ranked import KBestResult
from extbnsl.scores.local import LocalScores
from extbnsl.solver.families import before_a_stop, without_dominated
from extbnsl.solver.listing import (
    RankingRun,
    begin_listing,
    first_families,
    list_networks,
    look_further,
    tally_networks,
)
from extbnsl.solver.opening import Request, opened
from extbnsl.solver.outcome import Solution, concluded
from extbnsl.solver.ranking import FoundNetworks, RankingCommits, costed_networks, ranked_result
from extbnsl.solver.weighing import weigh_all

AT_ONCE, MORE = 16, 4  # networks that are found together, and how many times as many the next time
Parents = tuple[tuple[int, ...], ...]  # of a network


def k_best_networks(asked: Request, *, observer: Observer = ignore, stop: StopSignal = never) -> KBestResult:
    """The best networks of a `Scope`, each once, best first, and what they say together, by methods such as ALL.

    All networks within a slack of a good one are found, the optimum among them; where these are fewer than k, all
    within a larger one. `stop` is polled; a reason other than None, or the end of a budget, leaves the networks within
    the last slack, with that status. In a run directory what is known is committed as `solve` does; a state that is
    resumed must be of the same problem, scope, claim and methods.

    Raises InputError for unusable arguments, BudgetError where columns that never vary make too many networks of the
    same cost or the disk is full before there is a network, RunDirectoryError if the state does not belong to the
    problem or is damaged.
    """
    check_methods(asked.methods)
    asked = replace(asked, kind=K_BEST)
    with opened(asked, RankingCommits, asked.methods, observer=observer, stop=stop) as run:
        run.commits.commit()
        solution, status = _solved(run)
        result = concluded(run, solution, None if status == OPTIMAL else status)
    return ranked_result(replace(result, status=status), run.commits.standing, asked.scope)


def networks_best_first(
    asked: Request, *, observer: Observer = ignore, stop: StopSignal = never
) -> Iterator[CostedNetwork]:
    """All networks, each once, best first, for as long as the caller wants more.

    Nothing is found before the first is asked for. Then the best AT_ONCE are found, and MORE times as many whenever
    these are used up. Networks that cost the same come one after the other; there may be millions. Raises as
    `k_best_networks`, and BudgetError when the time, or a budget, does not do for the next one.
    """
    check_methods(asked.methods)
    asked = replace(asked, kind=K_BEST, scope=Scope(AT_ONCE))
    asked.check()
    return _given(asked, observer, stop)


def _given(asked: Request, observer: Observer, stop: StopSignal) -> Iterator[CostedNetwork]:
    with opened(asked, RankingCommits, asked.methods, observer=observer, stop=stop) as run:
        standing, k = run.commits.standing, AT_ONCE
        given, tied = 0, set[Parents]()  # how many have been given, and which of them cost as much as the last one
        try:
            _begin(run, *_survivors(run))
            while True:
                list_networks(run)
                found = standing.found
                assert found is not None, "it has been found"
                known = costed_networks(found, asked.problem.names)
                for one in known[given - len(tied) :]:
                    if one.network.parents in tied:
                        continue
                    if one.rank > given:
                        tied = set()
                    given += 1
                    tied.add(one.network.parents)
                    yield one
                if found.within == math.inf and found.networks.costs.size < k:
                    return  # there are no others, whatever they cost
                k *= MORE
                run = replace(run, asked=replace(asked, scope=Scope(k)))
                look_further(standing, k)
        except Stopped as stopped:
            raise BudgetError(f"The search for more networks has stopped after {given:,}: {stopped.reason}.") from None
        except MemoryError:
            raise BudgetError(f"There is no memory for more than {given:,} networks; give it more.") from None


def check_methods(methods: Methods) -> None:
    """Raise InputError for methods that keep one of several best networks."""
    for name in KEEPS_ONE:
        if getattr(methods, name):
            raise InputError(f"{name}: it keeps one of several networks, and all are asked for; leave it off.")


def _solved(run: RankingRun) -> tuple[Solution, str]:
    """The best network with what is proved of it, and the status; the standing has what is found of the others."""
    context, standing = run.context, run.commits.standing
    survivors, parts = _survivors(run)
    incumbents, status = tuple[Part, ...](), survivors.stopped or OPTIMAL
    try:
        if survivors.stopped is None:
            context.workers.check()
            if standing.next_slack is None:
                incumbents = _begin(run, survivors, parts)
            list_networks(run)
            tally_networks(run)
            weigh_all(run)
    except Stopped as stop:
        status = stop.reason
    except MemoryError:
        status = MEMORY_LIMIT
        standing.ledger.revert()
    found = standing.found
    if found is None:
        known = incumbents or find_parts(survivors, parts, context)
        return Solution(survivors, parts, tuple(give_up(list(known), status))), status
    if survivors.stopped is not None:  # more were to be counted, and not all that were counted before are at hand
        own = LocalScores(survivors.scores.names, found.parents, found.costs, survivors.scores.claim)
        survivors = replace(survivors, scores=own)
        parts = components(survivors.scores, context.shelf.put)
    return Solution(survivors, parts, _proved_parts(survivors.scores.names, found, parts, status, context)), status


def _survivors(run: RankingRun) -> tuple[Survivors, tuple[Component, ...]]:
    """The families that the best network can have, and their components."""
    context = run.context
    survivors, put = without_dominated(first_families(run), context.workers), context.shelf.put
    return before_a_stop(lambda scores, halt: components(scores, put, halt), survivors, context.workers)


def _begin(run: RankingRun, survivors: Survivors, parts: tuple[Component, ...]) -> tuple[Part, ...]:
    """A good network, of which the standing gets the cost, and the first slack. Raises Stopped."""
    if survivors.stopped is not None:
        raise Stopped(survivors.stopped)
    incumbents = find_parts(survivors, parts, run.context)
    run.context.workers.check()
    begin_listing(run, survivors.scores, math.fsum(part.upper_bound for part in incumbents))
    return tuple(incumbents)


def _proved_parts(
    names: tuple[str, ...], found: FoundNetworks, parts: tuple[Component, ...], status: str, context: Context
) -> tuple[Part, ...]:
    """The parts of a problem of which the best network is known; if it is optimal, with what guides a search that
    proves it again."""
    rows = found.networks.rows[0].tolist()
    parents = tuple(unpack(own[row]) for own, row in zip(found.parents, rows, strict=True))
    place = {x: at for at, x in enumerate(Network(names, parents).order())}
    proved = []
    for part in parts:
        order = np.argsort([place[x] for x in part.variables]).tolist()
        cost = math.fsum(float(found.costs[x][rows[x]]) for x in part.variables)
        bound = cost - tolerance(cost)
        steps = guided_steps(part, bound, context) if status == OPTIMAL else ()
        proved.append(Part(tuple(order), cost, bound, proved=True, steps=steps))
    return tuple(proved)
