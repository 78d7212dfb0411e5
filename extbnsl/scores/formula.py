"""What a family costs, in kernels; nats. Of a `ParameterScore` its penalty; the misfit comes from entropies.

Of a `CellScore` it is what the cells of the family add up to:

    cost(X | P) = sum over parent states of own(m) - sum over states of P and X of joint(m) + penalty

with m the records in each. How often each m occurs, the *tally* of a varset, is all that a sum needs. A formula is one
of three kinds:

- TABLES: own and joint are tables of m, own perhaps by the child's arity (K2, fNML, qNML).
- SPREAD: a prior is spread over all joint states: joint(m) = ln G(a + m) / G(a), a = ess / states, for G the gamma
  function, and own is the same of the parents (BDeu).
- OCCURRING: it is spread over the parent states that occur, q of them: own has a = ess / q, joint a = ess / (q r_X)
  (BDs), so that joint depends on which of its variables is the child.

Where rows are parts of records, m counts rows, and what ln G takes is m times `each`, what a row weighs. Kernels ask
for that once for a tally, not for a cell.

What a varset of s variables has of these are its *figures*, a row of numbers: CELLS that occur, JOINT, and from MORE on
own for each class of arity (TABLES), or joint with each of its members as the child (OCCURRING).
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.compiler import also_compiled, inlined, inner
from extbnsl.scores.rows import Rows, first_cost, log_rising

TABLES, SPREAD, OCCURRING, MISFIT = range(4)  # MISFIT: a score of misfit and a price, of which nothing is said here
CELLS, JOINT, MORE = range(3)  # columns of figures
SMALL = 256  # cells of fewer records are tallied by their number, larger ones one by one
HALVED = 64  # of priors of parts of records there is each half of another, so many times
MOST_JOINT = 2.0 ** (HALVED - 1)

also_compiled(log_rising)
also_compiled(first_cost)


class Formula(NamedTuple):
    """A score of N records of n variables, as kernels take it.

    kind: see above; ess: equivalent sample size, of kinds that have one. joint (N + 1,), own (a, N + 1) float64: the
    tables, own by class, none if it is joint; classes (n,) int64: of each variable's arity; arities (n,) float64.
    mixed (a, N + 1) float64: the table of h in parents/exhaustive/between_bounds, by class; none if there is none.
    states, regrets (p,) float64: the penalty of a family is the regret of all its states less that of its parents', by
    ascending number of states; none if there is no penalty. by_cells: whether a family and all with more parents cost
    at least ln r_X for each cell of P and X, and by_misfit: whether N H(X | all others) and sum of own(m) - joint(m)
    over the cells of P. each: what a row weighs, in records. firsts (a, k): by class, what the lightest row costs at
    least as the first of its state in a cell, by a prior of 2^i joint states of the parents, or more: see `first_of`;
    where rows are records, or the prior is always the same, it is one number (k = 1).
    """

    kind: int
    ess: float
    joint: NDArray[np.float64]
    own: NDArray[np.float64]
    mixed: NDArray[np.float64]
    classes: NDArray[np.int64]
    arities: NDArray[np.float64]
    states: NDArray[np.float64]
    regrets: NDArray[np.float64]
    by_cells: bool
    by_misfit: bool
    each: float
    firsts: NDArray[np.float64]


class CellTally(NamedTuple):
    """How often cells of so many records occur: small (SMALL,) int64 by the number, large int64 one by one; used (2,)
    int64: the largest small number, and how many are large."""

    small: NDArray[np.int64]
    large: NDArray[np.int64]
    used: NDArray[np.int64]


@dataclass(frozen=True)
class Tables:
    """What a formula of tables of m has: joint; own, mixed: one for each of the arities that there are, ascending, or
    none."""

    joint: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    own: Sequence[NDArray[np.float64]] = ()
    mixed: Sequence[NDArray[np.float64]] = ()


def formula(
    kind: int,
    arities: NDArray[np.int64],
    rows: Rows,
    *,
    ess: float = 0.0,
    tables: Tables = Tables(),
    regrets: dict[int, float] | None = None,
    least: Collection[str] = (),
) -> Formula:
    """The formula of rows of variables of these arities; least: "cells" if it is `by_cells`, "misfit" if it is
    `by_misfit`."""
    kinds, classes = np.unique(arities, return_inverse=True)
    assert len(tables.own) in (0, kinds.size), "a table for each arity"
    penalties = sorted((regrets or {}).items())
    return Formula(
        kind,
        ess,
        tables.joint,
        np.array(tables.own) if tables.own else np.zeros((0, 0)),
        np.array(tables.mixed) if tables.mixed else np.zeros((0, 0)),
        classes.astype(np.int64),
        arities.astype(np.float64),
        np.array([float(states) for states, _ in penalties]),
        np.array([regret for _, regret in penalties]),
        "cells" in least,
        "misfit" in least,
        rows.each,
        np.array([_firsts(kind, float(arity), rows, ess) for arity in kinds.tolist()]).reshape(kinds.size, -1),
    )


def _firsts(kind: int, arity: float, rows: Rows, ess: float) -> list[float]:
    """What `Formula.firsts` has of a child of so many states."""
    halved = HALVED if kind in (SPREAD, OCCURRING) and rows.lightest < 1.0 else 1
    return [first_cost(rows.lightest, ess / 2.0**i if ess else arity, arity) for i in range(halved)]


def rising_table(prior: float, rows: Rows) -> NDArray[np.float64]:
    """ln G(prior + m) - ln G(prior) for what 0, 1, ... rows weigh: float64."""
    if rows.each != 1.0:
        return np.array([log_rising(prior, rows.each * m) for m in range(rows.count + 1)])
    return np.concatenate(([0.0], np.cumsum(np.log(prior + np.arange(rows.count)))))


def figures_of(form: Formula, size: int) -> int:
    """How many figures a varset of so many variables has."""
    return MORE + (size if form.kind == OCCURRING else form.own.shape[0])


@inlined
def new_tally(records):
    """An empty tally of cells of so many records together."""
    return CellTally(np.zeros(SMALL, np.int64), np.zeros(records // SMALL + 1, np.int64), np.zeros(2, np.int64))


@inlined
def clear(tally):
    """Empty a tally."""
    tally.small[: tally.used[0] + 1] = 0
    tally.used[:] = 0


@inlined
def tally_cell(m, tally):
    """One cell more, of m records; none counts as none."""
    if m < SMALL:
        tally.small[m] += 1
        tally.used[0] = max(tally.used[0], m)
    else:
        tally.large[tally.used[1]] = m
        tally.used[1] += 1


@inlined
def cells_of(tally):
    """How many cells have a record."""
    cells = tally.used[1]
    for m in range(1, tally.used[0] + 1):
        cells += tally.small[m]
    return cells


@inlined
def first_of(joint, place, form):
    """What any row costs at least as the first of its state in a cell, of a child of the class at this place, by the
    prior of so many joint states of the parents, or of more: as by the power of two below, which says less."""
    most = form.firsts.shape[1] - 1
    if most == 0:
        return form.firsts[place, 0]
    return form.firsts[place, most if joint >= MOST_JOINT else math.frexp(joint)[1] - 1]


@inner
def _rising_parts(prior, tally, each):
    """The same as of `rising` where a row is not a record."""
    total = 0.0
    for m in range(1, tally.used[0] + 1):
        if tally.small[m]:
            total += tally.small[m] * log_rising(prior, m * each)
    for k in range(tally.used[1]):
        total += log_rising(prior, tally.large[k] * each)
    return total


@inner
def _rising_records(prior, tally):
    """The sum over the cells of ln G(prior + m) - ln G(prior)."""
    total, value = 0.0, 0.0
    small = tally.small
    for m in range(1, tally.used[0] + 1):
        value += math.log(prior + (m - 1))
        if small[m]:
            total += small[m] * value
    for k in range(tally.used[1]):
        total += math.lgamma(prior + tally.large[k]) - math.lgamma(prior)
    return total


@inlined
def rising(prior, tally, form):
    """The sum over the cells of ln G(prior + m) - ln G(prior), for what m rows weigh."""
    return _rising_records(prior, tally) if form.each == 1.0 else _rising_parts(prior, tally, form.each)


@inner
def looked_up(table, tally):
    """The sum over the cells of table[m]."""
    total = 0.0
    for m in range(1, tally.used[0] + 1):
        total += tally.small[m] * table[m]
    for k in range(tally.used[1]):
        total += table[tally.large[k]]
    return total


@inner
def fill_figures(tally, states, form, figures):
    """The figures of a varset with so many joint states, but those of its members."""
    cells = cells_of(tally)
    figures[CELLS] = cells
    if form.kind == TABLES:
        figures[JOINT] = looked_up(form.joint, tally)
        for c in range(form.own.shape[0]):
            figures[MORE + c] = looked_up(form.own[c], tally)
    else:
        figures[JOINT] = rising(form.ess / (states if form.kind == SPREAD else cells), tally, form)


@inlined
def regret(states, form):
    """The regret of so many states."""
    return form.regrets[np.searchsorted(form.states, states)]


@inlined
def penalty_of_cells(states, arity, form):
    """The penalty of a family whose parents have so many joint states, the child `arity`."""
    return regret(states * arity, form) - regret(states, form) if form.states.size else 0.0


@inlined
def own_of(figures, child, form):
    """The sum of own over the parents whose figures these are."""
    return figures[MORE + form.classes[child] if form.own.shape[0] else JOINT]


@inlined
def cost_of_figures(parents, both, place, states, child, form):
    """What a family costs, from the figures of its parents, of so many joint states, and of these and the child, which
    is at this place among them."""
    joint = both[MORE + place if form.kind == OCCURRING else JOINT]
    return own_of(parents, child, form) - joint + penalty_of_cells(states, form.arities[child], form)


@inlined
def cost_of_tallies(parents, both, states, child, form):
    """What a family costs, from the tallies of its parents, of so many joint states, and of these and the child."""
    arity = form.arities[child]
    if form.kind == TABLES:
        own = looked_up(form.own[form.classes[child]] if form.own.shape[0] else form.joint, parents)
        joint = looked_up(form.joint, both)
    else:
        prior = form.ess / (states if form.kind == SPREAD else cells_of(parents))
        own, joint = rising(prior, parents, form), rising(prior / arity, both, form)
    return own - joint + penalty_of_cells(states, arity, form)


@inlined
def least_of(figures, cells, states, child, floor, form):
    """What a family costs at least that has the parents of these figures, and perhaps more; see `Score.least`.

    cells: those of parents and child that occur, or fewer; states: joint ones of the parents; floor: a lower bound of
    N H(child | all others).
    """
    arity, least = form.arities[child], floor
    if form.by_misfit:
        least += own_of(figures, child, form) - figures[JOINT] + penalty_of_cells(states, arity, form)
    if form.by_cells:
        joint = figures[CELLS] if form.kind == OCCURRING else states
        least = max(least, cells * first_of(joint, form.classes[child], form))
    return least
