"""The best parents of every variable among those before it in an order, by enumerating all families that can win.

For every score and all knowledge. Slower than a search child by child, which knows what parents can gain.
"""

from pathlib import Path

import numpy as np

from extbnsl.core.claims import Claim
from extbnsl.core.events import Observer
from extbnsl.files.shelf import Shelf
from extbnsl.files.store import Store
from extbnsl.kernels.varsets import unpack
from extbnsl.machine.workers import Workers
from extbnsl.parents.exhaustive.surviving import surviving_families
from extbnsl.parents.ordered.choosing import Choice, OrderProblem


def enumerate_parents(
    problem: OrderProblem, claim: Claim, workers: Workers, memory: int, observer: Observer
) -> tuple[list[Choice], str | None]:
    """A choice for each variable, in the order, and the reason if the enumeration was stopped: then they are the best
    of what was enumerated. `states` are the parent sets that could have won under the order."""
    shelf = Shelf(memory // 2, Store(Path(), 0))
    found = surviving_families(problem.data, claim, workers, shelf, observer, constraints=problem.constraints)
    choices = []
    for child in problem.order:
        costs = found.scores.costs[child]
        best = int(np.argmin(costs))
        parents = unpack(found.scores.parents[child][best])
        choices.append(Choice(child, parents, float(costs[best]), costs.size, found.stopped is None, None))
    return choices, found.stopped
