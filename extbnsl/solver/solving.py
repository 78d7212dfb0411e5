"""From families to the components of a problem, and their solutions: what every question asks that is solved."""

from extbnsl.parents.components import Component, components
from extbnsl.parents.exhaustive.surviving import Survivors
from extbnsl.proof.commits import Commits
from extbnsl.proof.context import Context
from extbnsl.solver.families import before_a_stop
from extbnsl.solver.outcome import Solution


def solved(survivors: Survivors, context: Context, commits: Commits) -> tuple[Solution, str | None]:
    """The solution of a problem with these families, and the reason if it had to stop."""
    from extbnsl.proof.priced import whole_of
    from extbnsl.solver.components import solve_components  # counting, which needs most, goes without its kernels

    put, standing = context.shelf.put, commits.standing
    if len(standing.parts) == 1 or survivors.priced is not None:
        found: tuple[Component, ...] = (whole_of(survivors),)
    elif standing.parts:  # those of all components, whatever time there is
        found = components(survivors.scores, put)
    else:
        survivors, found = before_a_stop(lambda scores, halt: components(scores, put, halt), survivors, context.workers)
    parts, stopped = solve_components(survivors, found, context, commits)
    return Solution(survivors, found, tuple(parts)), stopped
