"""The families that matter to a bound, counted again from data of states, for all children at once.

It shares nothing with the counting, the costs and the bounds of the solver: see `recount`, which it serves. Parent sets
are enumerated depth first, and those (X, P) handed over whose c'(X, P), the cost less what the cuts take from it, is
below a threshold. That is the sum of the multipliers of some clusters, those disjoint from P.

The cost is a misfit N H(X | P) and a penalty: price * (the product of the arities in P) by MDL and AIC, regrets by fNML
and qNML. By BDeu, BDs and K2 it is a marginal likelihood. What P and all its supersets Q cost at least is

- floor = N H(X | all other variables) <= N H(X | Q), as no marginal likelihood is above the largest likelihood;
- and the penalty of P, which never falls when parents are added; a parent multiplies that of MDL by its arity;
- by BDeu, BDs and K2, ln r for each joint state of P and X that occurs. The first record that has it, among those that
  agree in Q, has the predictive probability (a / r) / (a + records before) <= 1 / r. Where rows are parts of records,
  and the lightest row weighs w < 1, it is g(w) = ln G(a + w) / G(a) - ln G(a / r + w) / G(a / r), for a prior a that no
  Q has a larger one than: see `first_cost`.

Of sets of some size, up to which there are not too many, this is all. Larger ones, which are too many to look at by the
scores with priors and fNML, each child has searched for by itself, with a bound of all sets between two: `child_cells`.

A child has a parent set left out, with all supersets of that or alone, if one of these holds:

1. Some subset costs no more than this. It takes the place of Q in every network, where it makes no cycle and keeps any
   limit of the number of parents. By induction over the size the sets that no subset beats suffice. So, by MDL
   and AIC, columns that are constant in the data are no parents: they add nothing but, perhaps, penalty.
2. This less what is taken from P is at least the threshold: no more is taken from a superset.

Of networks that are not the best, rule 1 says nothing, and where arcs cost less than nothing a subset must be cheaper
by what they may save. So there are leads: what a subset must cost less.

A cell of P is a joint state with its records. Where those are of one row, X has one state in it, and there is nothing
to count: by MDL, AIC and qNML it adds nothing, and what a single record adds is known.

Costs are sums of floats. What they may be off follows from the number of records and of distinct rows alone
(`_Data.error`). Whatever is compared keeps a margin of more than that, so that what is left out is truly beaten.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.data import Dataset
from extbnsl.kernels.varsets import words
from extbnsl.machine.workers import Workers
from extbnsl.verify import UNITS_PER_NAT, set_frames
from extbnsl.verify.certificate import TooMuch
from extbnsl.verify.child_frames import (
    Columns,
    child_task,
    columns_of,
    first_cost,
    must_of,
    new_child_frames,
    new_child_space,
)
from extbnsl.verify.child_search import search_child
from extbnsl.verify.demands import Demands
from extbnsl.verify.families import (
    FLOAT_ERROR,
    MOST_FAMILIES,
    FamilySource,
    RecountedFamilies,
    Taken,
    Tell,
    handed_over,
    members_of,
    taken_by,
)
from extbnsl.verify.passes import WeightedCuts
from extbnsl.verify.rescoring import (
    MOST_STATES,
    Scored,
    first_of_past,
    log_regret,
    log_regrets_by_states,
    misfits_given_others,
    parameter_cost,
    scored_cost,
)
from extbnsl.verify.set_frames import Searched, counter_of, new_frames, new_space
from extbnsl.verify.set_search import search_sets

KINDS = {
    **dict.fromkeys(("mdl", "aic"), set_frames.MISFIT),
    "bdeu": set_frames.SPREAD,
    "bds": set_frames.OCCURRING,
    "k2": set_frames.FIXED,
    "fnml": set_frames.CELL_REGRET,
    "qnml": set_frames.STATE_REGRET,
}
WIDEST = 690.0  # logarithm of the most joint states that a float holds
ROOM = 4096  # families that a search hands over at a time
MANY = 2_000_000  # parent sets, by scores with a prior and fNML: fewer are all counted for all children at once
COUNTED = 200_000  # of more, so many of the small ones are
MOST_PARTS = 64  # of a child's search: each goes through the choices at the root
PAIRS = 4096  # beginnings of two variables: of more, tasks begin with one


def families_of_data(
    dataset: Dataset,
    claim: Scored,
    demands: Demands,
    workers: Workers,
    leads: NDArray[np.float64],
    priced: int | None = None,
) -> "_Data":
    """What counts in the data, all families that matter under the argument of this module, by one of KINDS.

    leads (n,): a subset beats a family if it costs less by more than this, in nats; none does if that is infinite.
    priced: by how many records a parameter is priced, if not by all of these. What arcs cost besides is not looked at.
    `below` raises Stopped when the workers halt, and TooMuch at MOST_FAMILIES. Time per parent set: some nanoseconds
    per distinct row, and some per cell and child that it may matter to. Memory of a thread: rows times parents of a
    set, times states of the children.
    """
    rows, weights = np.unique(dataset.codes, axis=0, return_counts=True)
    codes = np.array([_occurring(column) for column in rows.T], np.uint32).reshape(dataset.variables, len(rows))
    weights = weights.astype(np.int64)
    misfits = tuple(dataset.each * own for own in misfits_given_others(rows, weights, workers))
    return _Data(dataset, claim, demands, workers, leads, priced or dataset.records, codes, weights, misfits)


def _occurring(column: NDArray[np.integer]) -> NDArray[np.int64]:
    """The states that occur by their number of rows, the most frequent one last."""
    _, codes, often = np.unique(column, return_inverse=True, return_counts=True)
    return np.argsort(np.argsort(often, kind="stable"))[codes.reshape(-1)]


@dataclass(frozen=True)
class _Data(FamilySource):
    """A data set by its distinct rows, the score, and what is demanded."""

    dataset: Dataset
    claim: Scored
    demands: Demands
    workers: Workers
    leads: NDArray[np.float64]  # as of `families_of_data`
    priced: int  # by how many records a parameter is
    codes: NDArray[np.uint32]  # (n, d) by the states that occur
    weights: NDArray[np.int64]  # (d,) how often there is each row
    misfits: tuple[float, ...]  # N H(X | all other variables) of each X

    @property
    def kind(self) -> int:
        return KINDS[self.claim.score]

    @property
    def ess(self) -> float:
        return self.claim.ess or 1.0

    @property
    def spares(self) -> bool:
        """Whether any subset that costs no more beats a family."""
        return not self.leads.any()

    def price(self, child: int) -> float:
        """The penalty of each joint state of the parents, in nats."""
        if self.kind != set_frames.MISFIT:
            return 0.0
        return parameter_cost(self.claim, self.priced) * (int(self.dataset.arities[child]) - 1)

    def scale(self, child: int) -> float:
        records = self.dataset.records
        if self.kind == set_frames.MISFIT:
            return records * math.log(records) + self.price(child)
        states = min(WIDEST, float(np.log(self.dataset.arities).sum()))
        scale = records * (math.log(records + 1.0) + states + abs(math.log(self.ess)) + 2.0)
        if self.dataset.weights is not None:  # of which terms are differences
            largest = max(self.ess, float(self.dataset.arities.max())) + self.dataset.total + 2.0
            scale += 4.0 * largest * math.log(largest)
        return scale

    def error(self, child: int) -> float:
        """What the cost of a family may be off, in nats.

        It is the sum of what its parents' cells add, less that of its own cells: at most d terms each, which are added
        one by one, and once more part by part. Each term is off by a few units of its last place (64 are allowed for,
        with the penalty).
        """
        return (8 * self.weights.size + 64) * FLOAT_ERROR * self.scale(child)

    @property
    def lightest(self) -> float:
        """What the lightest row weighs, in records."""
        return self.dataset.each * int(self.weights.min())

    def largest_prior(self, arity: float) -> float:
        """The largest prior of a state of the parents of a child of so many states."""
        return arity if self.kind == set_frames.FIXED else self.ess

    def cost_alone(self, child: int) -> float:
        """What the family without parents costs."""
        return scored_cost(self.dataset, child, (), self.claim, self.priced)

    def tells(self, variable: int) -> bool:
        """Whether a parent like this can matter to anyone who need not have it."""
        if self.kind == set_frames.MISFIT:
            return not self.spares or bool(self.codes[variable].any())
        return not self.spares or self.dataset.arities[variable] > 1

    def is_settled(self, child: int) -> bool:
        """Whether more parents only cost more, or nothing: there is one state, and no misfit, whatever they are; or it
        is of the past, which has none."""
        if child >= first_of_past(self.dataset):
            return True
        constant = self.dataset.arities[child] == 1 or (self.kind < set_frames.FIXED and not self.codes[child].any())
        return constant and self.leads[child] == 0.0

    def below(self, thresholds: Mapping[int, int], cuts: WeightedCuts, tell: Tell) -> list[RecountedFamilies]:
        problem, workers = _searched(self, thresholds, taken_by(cuts, self.dataset.variables)), self.workers
        alone = problem.children[np.isfinite(problem.alone[problem.children])]
        no_parents = np.zeros((alone.size, words(problem.variables.size)), np.uint64)
        found, size, tasks = [[problem.variables[alone], no_parents, problem.alone[alone]]], 0, list(_tasks(problem))
        results = workers.stream(lambda task: task(workers), zip(tasks), 4 * workers.threads, lambda result: None)
        for done, some in enumerate(results, 1):
            tell(done, len(tasks))
            found += some
            size += sum(costs.size for _, _, costs in some)
            if size > MOST_FAMILIES:
                raise TooMuch(f"more than {MOST_FAMILIES:,} parent sets matter")
        children, varsets, costs = map(np.concatenate, zip(*found, strict=True))
        order = np.argsort(children, kind="stable")
        begins, ends = (np.searchsorted(children[order], list(thresholds), side) for side in ("left", "right"))
        own = (order[begin:end] for begin, end in zip(begins.tolist(), ends.tolist(), strict=True))
        return [RecountedFamilies(varsets[which], costs[which]) for which in own]


_Found = list[list[NDArray[Any]]]  # children, varsets and costs, part by part


def _tasks(problem: Searched) -> list[Callable[[Workers], _Found]]:
    """What finds the families: searches over all small sets for all children, and over larger ones for each."""
    parents, known = problem.parents, _size_of_sets(problem)
    small = problem._replace(depth=known, most=np.minimum(problem.most, known))
    tasks: list[Callable[[Workers], _Found]] = []
    for path, deep in _beginnings(parents, known):
        tasks.append(partial(_searched_sets, small, path, deep))
    larger = problem.children[problem.most[problem.children] > known].tolist()
    if larger:
        columns = columns_of(problem)
        for child in larger:
            choices = int(problem.may[child].sum()) - must_of(problem, child).size
            parts = max(1, choices) if choices <= MOST_PARTS else 1
            tasks += [partial(_searched_child, problem, columns, known, child, (part, parts)) for part in range(parts)]
    return tasks


def _size_of_sets(problem: Searched) -> int:
    """Up to how many parents all sets are counted for all children at once."""
    of_size = (math.comb(problem.parents, size) for size in range(problem.depth + 1))
    up_to = list(itertools.accumulate(of_size))
    if problem.kind in (set_frames.MISFIT, set_frames.STATE_REGRET) or up_to[-1] <= MANY:
        return problem.depth
    return max(0, sum(sets <= COUNTED for sets in up_to) - 1)


def _searched_sets(problem: Searched, path: NDArray[np.int64], deep: bool, workers: Workers) -> _Found:
    """The families of the sets below the end of a path."""
    frames, space, room = new_frames(problem, path), new_space(problem), ROOM + problem.children.size
    own = np.empty(room, np.int64), np.empty((room, frames.varset.shape[1]), np.uint64), np.empty(room)

    def on(top: int) -> tuple[int, int]:
        return search_sets(top, problem, frames, space, path, deep, workers.halt, own)

    return list(handed_over(on, own, workers, "matter"))


def _searched_child(
    problem: Searched, columns: Columns, known: int, child: int, part: tuple[int, int], workers: Workers
) -> _Found:
    """The families of a child with more parents than `known` in a part of its search."""
    task = child_task(problem, columns, child, known, part)
    frames = new_child_frames(problem, task, child)
    space, own = new_child_space(task, frames), (np.empty((ROOM, frames.varset.shape[1]), np.uint64), np.empty(ROOM))

    def on(top: int) -> tuple[int, int]:
        return search_child(top, task, frames, space, workers.halt, own)

    found = handed_over(on, own, workers, "matter")
    return [[np.full(costs.size, problem.variables[child]), varsets, costs] for varsets, costs in found]


def _beginnings(parents: int, depth: int) -> Iterator[tuple[NDArray[np.int64], bool]]:
    """Where searches begin, and whether they go on to the end, for the first variables as parents: together all sets of
    one to `depth` of them, the large ones first."""
    pairs = depth > 2 and parents * (parents - 1) // 2 <= PAIRS
    if pairs:
        for low in range(parents - 2, 0, -1):
            for high in range(low + 1, parents):
                yield np.array([high, low]), True
    if depth > 1:
        for high in range(parents - 1, 0, -1):
            yield np.array([high]), not pairs
    if depth > 0:
        yield np.array([], np.int64), False


def _numbering(data: _Data, children: Iterable[int]) -> tuple[NDArray[np.int64], int]:
    """The order of the variables in a search, (n,), those that may be parents first, and of these those that tell most
    last: without these cells are large. And how many may be parents."""
    may, must = (
        frozenset[int]().union(*map(own.__getitem__, children)) for own in (data.demands.may, data.demands.must)
    )
    no_parent = [v not in must and not (v in may and data.tells(v)) for v in range(len(data.codes))]
    records = (np.bincount(own, data.weights).astype(np.float64) for own in data.codes)
    spread = [math.fsum((own * np.log(own)).tolist()) for own in records]
    return np.lexsort((np.negative(spread), np.array(no_parent))), no_parent.count(False)


def _searched(data: _Data, thresholds: Mapping[int, int], taken: Taken) -> Searched:
    """What the kernels read."""
    order, parents = _numbering(data, thresholds)
    n, place, every = order.size, np.argsort(order), np.arange(order.size)
    children, codes = np.sort(place[list(thresholds)]), data.codes[order]
    price, margin = (np.array([own(v) for v in order.tolist()]) for own in (data.price, data.margin))
    floor = np.maximum(np.array(data.misfits)[order] - margin, 0.0)
    lead = margin + data.leads[order]
    may, must_before = np.zeros((n, n), np.bool_), np.zeros((n, n + 1), np.int32)
    alone, threshold, most = np.full(n, math.inf), np.zeros(n, np.int64), np.zeros(n, np.int64)
    reach = np.zeros(n)
    for child, own_threshold in thresholds.items():
        x, must = place[child], sorted(data.demands.must[child])
        may[x, place[sorted(data.demands.may[child])]] = True
        must_before[x, place[must] + 1] = 1
        alone[x] = math.inf if must else data.cost_alone(child)
        threshold[x] = own_threshold
        below = (own_threshold + sum(taken.of(child).multipliers.tolist())) / UNITS_PER_NAT + margin[x]
        reach[x] = min(alone[x] + lead[x], below)
        most[x] = len(must) if data.is_settled(child) else data.demands.most[child]
    may &= every < parents
    arities = data.dataset.arities[order].astype(np.float64)
    sizes, classes = np.unique(arities, return_inverse=True)
    growth = float(arities[:parents].min(initial=math.inf))
    most = np.minimum(most, _most_parents(arities[:parents], price, floor, reach))
    occurring = codes.max(axis=1, initial=0).astype(np.int64) + 1
    sparing = data.kind == set_frames.MISFIT and data.spares
    counted = np.isin(every, children) | (sparing & (every < parents))
    first = np.cumsum(np.concatenate(([1], np.where(counted, occurring - 1, 0))))
    takes = taken.children[:, order] & np.isin(every, children)
    return Searched(
        kind=data.kind,
        ess=data.ess,
        each=data.dataset.each,
        depth=int(most.max(initial=0)),
        growth=growth,
        parents=parents,
        sparing=sparing,
        spare=np.where(must_before[:, 1:].any(axis=0), math.inf, margin.max()),
        children=children,
        variables=order,
        arities=arities,
        classes=classes,
        sizes=sizes,
        firsts=np.array([first_cost(data.lightest, data.largest_prior(size), size) for size in sizes.tolist()]),
        codes=codes,
        occurring=occurring,
        weights=data.weights,
        lanes=_lanes(data.weights, codes, first),
        first=first,
        tables=_tables(data, sizes),
        regrets=_state_regrets(data, sizes, float(reach[children].max(initial=0.0))),
        may=may,
        must_before=must_before.cumsum(axis=1, dtype=np.int32),
        most=most,
        price=price,
        floor=floor,
        margin=margin,
        lead=lead,
        alone=alone,
        threshold=threshold,
        holds=np.ascontiguousarray(members_of(taken.clusters, n)[:, order]),
        holders=np.ascontiguousarray(np.nonzero(takes)[1]),  # strided, the kernel would be compiled twice
        held=np.cumsum([0, *takes.sum(axis=1)], dtype=np.int64),
        multipliers=taken.multipliers,
    )


def _most_parents(
    arities: NDArray[np.float64], price: NDArray[np.float64], floor: NDArray[np.float64], reach: NDArray[np.float64]
) -> NDArray[np.int64]:
    """How many of the parents a set has at most, for each child, that costs less than `reach`, by its price alone."""
    with np.errstate(over="ignore"):  # states are infinite, perhaps
        costs = floor[:, None] + price[:, None] * np.cumprod(np.sort(arities))
    return np.count_nonzero(costs < reach[:, None], axis=1)


def _lanes(weights: NDArray[np.int64], codes: NDArray[np.uint32], first: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The lanes (words, d) with counters of each variable from `first` (n + 1,) on."""
    counter = counter_of(int(weights.sum()))
    per = 8 // counter.itemsize
    counters = np.zeros((weights.size, -(-int(first[-1]) // per) * per), counter)
    counters[:, 0] = weights
    for x in np.flatnonzero(np.diff(first)).tolist():
        own = codes[x].astype(np.int64)
        has = np.flatnonzero(own < first[x + 1] - first[x])
        counters[has, first[x] + own[has]] = weights[has]
    return np.ascontiguousarray(counters.view(np.uint64).T)


def _tables(data: _Data, sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """What m records add, for m = 0, 1, ...: m ln m, and by fNML that with the regrets of each arity; no rows for
    kinds with priors."""
    counts = np.arange(data.dataset.records + 1, dtype=np.float64)
    plain = counts * np.log(np.maximum(counts, 1.0))
    if data.kind >= set_frames.FIXED:
        return np.zeros((0, 0))
    if data.kind != set_frames.CELL_REGRET:
        return plain[None, :]
    regrets = [[log_regret(m, int(size)) for m in range(plain.size)] for size in sizes.tolist()]
    return np.vstack([plain, plain + np.array(regrets)])


def _state_regrets(data: _Data, sizes: NDArray[np.float64], reach: float) -> NDArray[np.float64]:
    """ln C(N, K) for K = 0, 1, ... up to where the penalty alone is more than so many nats, or there are no more states
    of parents and child; of qNML."""
    if data.kind != set_frames.STATE_REGRET:
        return np.zeros(1)
    records, largest = data.dataset.records, int(sizes[-1])
    least = int(sizes[sizes > 1.0].min(initial=largest))  # one state has no regret
    most, states = math.prod(data.dataset.arities.tolist()), 256
    while states < min(MOST_STATES, most):
        regrets = log_regrets_by_states(records, states * largest)
        if regrets[states * least] - regrets[states] > reach:
            break
        states *= 4
    return log_regrets_by_states(records, states * largest)
