"""Solving the components of a problem one by one."""

from dataclasses import replace

from extbnsl.claims import DISK_LIMIT, MEMORY_LIMIT
from extbnsl.errors import BudgetError
from extbnsl.machine.workers import Stopped
from extbnsl.parents.components import Component
from extbnsl.parents.exhaustive.surviving import Survivors
from extbnsl.proof.commits import Commits, commit_if_due
from extbnsl.proof.context import Context
from extbnsl.proof.incumbents import find_incumbent
from extbnsl.proof.pieces import RootPass
from extbnsl.proof.prove import prove
from extbnsl.proof.standing import Part, give_up


def solve_components(
    survivors: Survivors, found: tuple[Component, ...], context: Context, commits: Commits
) -> tuple[list[Part], str | None]:
    """Solve the components one by one, in the standing; their parts, and the reason if it had to stop.

    Parts of incomplete scores, or cut short by a stop, are good for a result, but an undisturbed run would have others:
    the standing does not get them.
    """
    parts, stopped = commits.standing.parts, survivors.stopped
    if stopped is not None or not parts:
        parts = find_parts(survivors, found, context)
        stopped = stopped or context.workers.stop()
    if stopped is None:
        commits.standing.parts = parts
        stopped = _prove_all(found, context, commits)
    return (parts if stopped is None else give_up(parts, stopped)), stopped


def find_parts(survivors: Survivors, found: tuple[Component, ...], context: Context) -> list[Part]:
    """A good order of each component; some are proved optimal by the cheapest families already."""
    floors = [float(survivors.least[list(component.variables)].sum()) for component in found]
    parts = [find_incumbent(c, floor, k, context) for k, (c, floor) in enumerate(zip(found, floors, strict=True))]
    return [
        replace(part, proved=True, passes=(_cheapest(c),)) if part.lower_bound >= part.upper_bound else part
        for part, c in zip(parts, found, strict=True)
    ]


def _cheapest(component: Component) -> RootPass:
    """The proof that a network of the cheapest families is optimal."""
    return RootPass((), (), tuple(float(costs[0]) for costs in component.costs))


def _prove_all(found: tuple[Component, ...], context: Context, commits: Commits) -> str | None:
    """Prove what is not proved, in the standing; the reason if it had to stop."""
    parts = commits.standing.parts
    try:
        for k, component in enumerate(found):
            if not parts[k].proved:
                commit_if_due(commits)
                parts[k] = prove(component, k, context, commits)
    except Stopped as stop:
        return stop.reason
    except MemoryError:
        return MEMORY_LIMIT
    except BudgetError:  # of what memory has no room for
        return DISK_LIMIT
    return None
