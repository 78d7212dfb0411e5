"""What a search proved of a small component, proved again: by a dynamic program over all subsets of its variables.

As in `recount`, all families that matter are counted again, costs are rounded down to whole units, and from there on
all is exact. None is left out for its cost: without cuts there are few that cost so much and that no subset beats.

In any network over all variables an order with parents first orders the component too. The parents that X has in the
component are among those before X in that order; parents outside it may be any. A family that matters, or a subset of
its parents that does and costs no more, has them there too. So the families of the component cost at least what they
do in the best order of it alone, if X has the cheapest family there whose parents in the component come before X: that
is what `subsets` computes. So the components need not be checked for anything, and their bounds add up. Nor does this
fall short of what a search proves: the solver makes components that can be ordered one after the other, so that parents
outside of one are free to be chosen.

With knowledge, or a limit of parents, all this is said of the families that it admits, and of networks of these.

With m_X the least cost of a family of X, in units, the program is about what families cost more than that. Nothing is
said of more than gap = target - sum of m_X, which reaches the target: so no sum leaves the range of int64.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from extbnsl.machine.budgets import default_memory, format_size
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.verify.certificate import CertifiedComponent, Pass
from extbnsl.verify.families import FamilySource
from extbnsl.verify.recount import FARTHEST, Recount, reason_of, taken_by
from extbnsl.verify.subsets import enter, least_excess, spread
from extbnsl.verify.units import BEYOND, MOST_UNITS, TooMuch, ceil_units, floor_units, floors_of, nats_of

MOST_VARIABLES = 23  # of a component: its tables take 0.8 GiB, see `bytes_for`
NO_CUTS = Pass((), ())


def bytes_for(variables: int) -> int:
    """The memory that the tables of a component take."""
    return 8 * (variables * (1 << variables - 1) + (1 << variables))


def repeat_search(
    component: CertifiedComponent,
    names: Sequence[str],
    source: FamilySource,
    workers: Workers,
    tell: Callable[[int], None] = lambda done: None,
) -> Recount:
    """Prove the lower bound of a component of at most MOST_VARIABLES, or find an order in which it costs less.

    `names` are all variables, in the order of varsets. `source` is asked once for each child. When the workers' stop
    signal comes, the children that were not finished are unchecked. `tell` hears how many children are counted.
    """
    counted: list[str] = []
    children = [names.index(name) for name in component.variables]

    def count(child: int) -> int:
        varsets, costs = source.below(child, MOST_UNITS, taken_by(NO_CUTS, child, names))
        units = floors_of(costs)
        others = np.array([other for other in children if other != child], np.int64)
        enter(table[children.index(child)], varsets, units, others)
        counted.append(names[child])
        return int(units.min(initial=MOST_UNITS))

    try:
        workers.check()  # when the time is over already, nothing is begun
        table = _new_table(len(children))
        least = []
        for own in workers.stream(count, ((child,) for child in children), 2 * workers.threads, lambda result: None):
            least.append(own)
            tell(len(least))
        target = floor_units(component.lower_bound) - sum(ceil_units(source.rounding(child)) for child in children)
        gap = target - sum(least)
        excess = _least_excess(table, least, gap, workers)
    except (Stopped, TooMuch) as stop:
        return Recount(unchecked=tuple(v for v in component.variables if v not in counted), why=reason_of(stop))
    if excess >= gap:
        return Recount()
    return Recount(
        (
            f"The certificate says that the families of the component of {component.variables[0]!r} cost at least "
            f"{component.lower_bound!r}, but a dynamic program finds an order in which they cost "
            f"{nats_of(sum(least) + excess)!r}.",
        )
    )


def _new_table(variables: int) -> NDArray[np.int64]:
    """A table of `subsets` with no family in it; raises TooMuch if it does not fit the memory that is free."""
    size = bytes_for(variables)
    try:
        if size <= default_memory():
            return np.full((variables, 1 << variables - 1), FARTHEST)
    except MemoryError:
        pass
    raise TooMuch(
        f"the tables of a dynamic program over {variables} variables take {format_size(size)}, more than three "
        "quarters of the memory that is free"
    )


def _least_excess(table: NDArray[np.int64], least: Sequence[int], gap: int, workers: Workers) -> int:
    """By how much all children cost more together, in units, than each its least; the gap, if that is less."""
    if gap <= 0:
        return gap
    if max(map(abs, least)) + gap > MOST_UNITS:
        raise TooMuch(BEYOND)
    workers.map(spread, [(row, own, gap) for row, own in zip(table, least, strict=True)])
    (excess,) = workers.map(least_excess, [(table, gap, workers.halt)])
    return int(excess)
