"""The surviving families child by child by scores of cells, where the levels have too many varsets.

For each child a search by branching over pairs of a parent set and candidates that may be added to it: `between`. The
bounds are in `between_bounds`, with their proofs. The families of small parent sets are best found by level before, for
others are compared with these.

Time: some 10 us for each of some 10^4 to 10^6 nodes per child, with 500 rows. Memory: per thread some hundred bytes per
row and two for each row and state of a candidate, and the tables of a family list.

A child's search is cut into parts: the first few levels of its tree hand their nodes over, and of these each part has
some. The parts follow from the families of the levels alone, whoever does them; what is known after some of them is a
value to go on from. All of them are compared with the same families, so that what each finds depends on no other.

The children whose cheapest family is the dearest come first: mostly they take least time, and where time is over before
all are judged, those that are left add least to the gap.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.varsets import as_varsets, sizes, unpack
from extbnsl.machine.workers import Workers
from extbnsl.parents.best_score import as_bytes, byte_tables, byte_tables_bytes
from extbnsl.parents.exhaustive.between import CROWDED, FULL, OVER, open_root, search_between
from extbnsl.parents.exhaustive.by_child import check_room, children_judged, parts_judged
from extbnsl.parents.exhaustive.by_level import AHEAD, largest_size
from extbnsl.parents.exhaustive.cell_frames import COUNTS, CellFrames, CellSpace, CellTask
from extbnsl.parents.exhaustive.children import ANY_NUMBER, Child, Found, child_of
from extbnsl.parents.exhaustive.problem import CountingProblem, Families, of_child
from extbnsl.parents.exhaustive.state import Enumeration, Means
from extbnsl.parents.priced.cuts import cuts_of_child
from extbnsl.parents.priced.prices import Prices, reduced_costs
from extbnsl.parents.priced.shown import through_first, with_open
from extbnsl.parents.pruning import ROUNDING
from extbnsl.scores.counting import CountingTable
from extbnsl.scores.formula import TABLES, Formula

FEW = 2_000_000  # varsets that are counted by level whatever follows: some seconds
MANY = 30_000_000  # varsets left that are too many to be counted by level
PARTS_OF_CHILD = 64  # of a child's search, about
DEEP_VARIABLES = 64  # up to so many candidates, the first two levels of the tree hand their nodes over, else the first
ROOM = 4096  # families that a search hands over at a time
HANDED = 256  # nodes that it does
PRIORS = 64  # whose tables are kept, unless they take more than
PRIOR_NUMBERS = 1 << 23  # numbers together
WORD_BITS = 64
WHOLE_BITS = 29  # of the largest sum of nats, in whole numbers
MOST_SCALE = 24  # bits behind the point of a nat


def judge_between(problem: CountingProblem, found: Enumeration, means: Means) -> Iterator[Enumeration]:
    """`found` with ever more parts of the children of the problem judged, by a score whose formula is `by_cells`.

    `found` holds the wanted families of all parent sets of at most `found.complete_to` variables. Stopped, with a
    warning, if that needs more memory than the shelf has, on which the families lie.
    """
    if not found.children:
        found = replace(found, children=dearest_first(problem, found), paired=True, parts=0, pairs=None)
    order = means.workers.run(order_of, problem.rows)
    for known in children_searched(searches_of(problem, order, found, means), found, means, {}):
        found = known
        if found.children:
            yield found
    yield replace(found, complete_to=int(problem.limits.max()), paired=False, done=True)


def levels_worthwhile(problem: CountingProblem) -> int | None:
    """The size of the largest parent sets to be judged by level before children are judged by themselves; None if all
    are, as there are not many more varsets."""
    n, largest = problem.limits.size, largest_size(problem)
    counted = [math.comb(n, size + 1) for size in range(largest + 1)]  # for the parent sets of each size
    if sum(counted) <= MANY:
        return None
    few = [size for size in range(largest + 1) if sum(counted[: size + 1]) <= FEW]
    return max(few, default=0)


def dearest_first(problem: CountingProblem, found: Enumeration) -> tuple[Child, ...]:
    """The children in the order in which they are judged: by what the cheapest family known of each costs."""
    children = np.flatnonzero(problem.limits >= 0).tolist()
    children.sort(key=lambda x: found.costs[x][0] if found.costs[x].size else math.inf, reverse=True)
    return tuple(child_of(problem, x) for x in children)


def _needed_bytes(problem: CountingProblem, found: Enumeration, threads: int) -> int:
    """About the memory that this takes beside the table of rows, at most."""
    table = problem.rows
    d, n, records = table.weights.size, problem.limits.size, table.mlogm.size
    arity, columns = int(table.arities.max(initial=2)), int(table.arities.sum())
    cells = d * (4 * 4 * (COUNTS + arity) + 8 * arity + 128)
    families = max((byte_tables_bytes([costs], n) for costs in found.costs), default=0)
    tables = 8 * min(PRIOR_NUMBERS, 4 * PRIORS * records)
    # parts of a child share tables and rows, and those that are out are mostly of few children
    return threads * (cells + 2 * d * columns + tables) + (2 * threads + 2) * (families + d * (columns + n))


@dataclass(frozen=True)
class CellSearches:
    """What the searches of all children have in common.

    problem: whose children they are.
    order (n,) int64: in which candidates are decided.
    complete_to: the families of so many parents at most are known.
    prices: if nothing is wanted but what costs little by them.
    """

    problem: CountingProblem
    order: NDArray[np.int64]
    complete_to: int
    prices: Prices | None

    @property
    def searched_to(self) -> int:
        """Of so many parents at most no families are searched for."""
        swept = 0 if self.prices is None or not self.prices.stage.rough else self.prices.stage.swept
        return max(self.complete_to, swept)

    def known(self, child: Child, found: Enumeration) -> Families:
        """The families of a child that all parts of its search are compared with: those of the levels, so that the
        parts are the same for whoever goes on after some of them."""
        parents, costs = found.parents[child.index], found.costs[child.index]
        before = sizes(parents) <= self.complete_to
        return parents[before], costs[before]


def searches_of(problem: CountingProblem, order: NDArray[np.int64], found: Enumeration, means: Means) -> CellSearches:
    """The searches of the children from where an enumeration is. Raises Stopped where memory is short."""
    assert problem.form is not None, "a score of cells"
    assert problem.form.by_cells, "one whose cells are dear, however many there are"
    check_room(_needed_bytes(problem, found, means.workers.threads), means)
    return CellSearches(problem, order, found.complete_to, found.prices)


def children_searched(
    searches: CellSearches, found: Enumeration, means: Means, begun: "dict[int, Parts]"
) -> Iterator[Enumeration]:
    """`found` with ever more parts of the search of its first child, and ever fewer children. begun: the parts of
    children, by their numbers, as far as they are known; gets the others."""
    workers, children = means.workers, int((searches.problem.limits >= 0).sum())
    others = [child for child in found.children if child.index not in begun]
    given = ((child, searches, searches.known(child, found), workers.halt) for child in others)
    for child, own in zip(others, workers.spread(parts_of, given, AHEAD * workers.threads), strict=True):
        begun[child.index] = own
    parts = [begun[child.index] for child in found.children]
    if found.prices is not None:
        least = [own.least.min(initial=math.inf) for own in parts]
        found = replace(found, prices=with_open(found.prices, found.children, least))
    told = "" if found.prices is None else found.prices.told
    results = workers.spread(search_part, _arguments(searches, found, parts, workers), AHEAD * workers.threads)
    for own in parts:
        judged, size = children - len(found.children), len(own.nodes)
        for known in parts_judged(found, results, size, searches.problem.slack, means):
            found, share = known, known.parts / size
            means.observer(children_judged(judged + share, children, f"{told}child {judged + 1} of {children}"))
            yield found
        found = through_first(found)
        yield found


Nodes = NDArray[np.uint64]  # (k, 2, words): of each node its parents, and the candidates that may be added


class Parts(NamedTuple):
    """The parts of a child's search: the nodes of each, and with prices what c' is at least of all families of each
    that are of interest, (k,) float64 in nats."""

    nodes: list[Nodes]
    least: NDArray[np.float64]


class Searched(NamedTuple):
    """What a search has found, the nodes that it hands over, and what c' is at least in each of these, (k,) float64."""

    found: Found
    handed: Nodes
    least: NDArray[np.float64]


def _arguments(searches: CellSearches, found: Enumeration, parts: list[Parts], workers: Workers) -> Iterator[tuple]:
    """Of each part that is not over what `search_part` takes."""
    done, most = found.parts, ANY_NUMBER if found.prices is None else found.prices.stage.most
    for child, own in zip(found.children, parts, strict=True):
        task = task_of(child, searches, searches.known(child, found))
        for number in range(done, len(own.nodes)):
            deepest = _levels(task) if number == 0 else task.deepest
            yield own.nodes[number], task._replace(deepest=deepest), child, searches.problem, most, workers.halt
        done = 0


def _levels(task: CellTask) -> int:
    """How many levels of the tree hand their nodes over."""
    return min(task.most, 2 if task.variables.size <= DEEP_VARIABLES else 1)


def root_of(child: Child, problem: CountingProblem) -> Nodes:
    """The root of a child's search: the parents that it must have, and all candidates."""
    everyone = np.zeros((2, problem.limits.size), bool)
    everyone[0] = problem.required[:, child.index]
    everyone[1, child.variables] = True
    return as_varsets(everyone)[None]


def parts_of(child: Child, searches: CellSearches, known: Families, halt: NDArray[np.uint8]) -> Parts:
    """The parts of a child's search: the root, whose families are those of the first levels of the tree, and the nodes
    that these hand over. A pure function, but for `halt`."""
    problem, task = searches.problem, task_of(child, searches, known)
    root = root_of(child, problem)
    found, handed, least = _searched(
        root, task._replace(deepest=_levels(task), effort=ANY_NUMBER), child, problem, halt
    )
    parts, alone = range(min(PARTS_OF_CHILD, len(handed))), math.inf
    nodes = [np.ascontiguousarray(handed[k :: parts.stop]) for k in parts]
    if searches.prices is not None:
        alone = float(reduced_costs(child.index, found.varsets, found.costs, searches.prices).min(initial=math.inf))
    return Parts([root, *nodes], np.array([alone, *(least[k :: parts.stop].min() for k in parts)]))


def search_part(
    nodes: Nodes, task: CellTask, child: Child, problem: CountingProblem, most: int, halt: NDArray[np.uint8]
) -> Found:
    """The families of some nodes of a child's search that are wanted so far, by the tables of the task. A pure function
    of values, but for `halt`, which cuts it short, as more than so many families do."""
    return _searched(nodes, task, child, problem, halt, most).found


def _searched(
    nodes: Nodes,
    task: CellTask,
    child: Child,
    problem: CountingProblem,
    halt: NDArray[np.uint8],
    most: int = ANY_NUMBER,
) -> Searched:
    """The families of some nodes that are wanted so far, and the nodes that are handed over."""
    words = nodes.shape[2]
    frames = frames_of(task, 8 * words)
    varsets, costs, judged, some = [np.zeros((0, 8 * words), np.uint8)], [np.zeros(0)], 0, 0
    handed, least = [np.zeros((0, 2, 8 * words), np.uint8)], [np.zeros(0)]
    for parents, candidates in nodes:
        alone = open_node(parents, candidates, task, frames, child, problem)
        if task.fewest < 0 and not _added(parents, child, problem).size:  # the parents that must be, with no others
            varsets.append(as_bytes(parents)[None])
            costs.append(np.array([alone]))
            judged += 1
        why = FULL
        while why != OVER and not halt[0] and some <= most and judged <= task.effort:
            room = np.empty((ROOM, 8 * words), np.uint8), np.empty(ROOM)
            passed = np.empty((HANDED, 2, 8 * words), np.uint8), np.empty(HANDED)
            why, written, many, made = search_between(task, frames, halt, room, passed)
            varsets.append(room[0][:written])
            costs.append(room[1][:written])
            handed.append(passed[0][:many])
            least.append(passed[1][:many])
            judged += made
            some += written
            if why == CROWDED:
                frames = _roomier(frames)
    found = Found(as_words(np.concatenate(varsets)), np.concatenate(costs), judged, np.ones_like(child.pairs))
    return Searched(found, as_words(np.concatenate(handed)), np.concatenate(least) - task.margin)


def as_words(varsets: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Varsets that are given by their bytes."""
    return np.ascontiguousarray(varsets).view("<u8").astype(np.uint64, copy=False)


def _added(parents: NDArray[np.uint64], child: Child, problem: CountingProblem) -> NDArray[np.int64]:
    """The parents that are not among those that the child must have."""
    own = np.array(unpack(parents), np.int64)
    return own[~problem.required[own, child.index]]


def open_node(
    parents: NDArray[np.uint64],
    candidates: NDArray[np.uint64],
    task: CellTask,
    frames: CellFrames,
    child: Child,
    problem: CountingProblem,
) -> float:
    """Put a node on the stack; returns what its parents cost."""
    table, states = of_child(problem, child.index)
    added, groups = _added(parents, child, problem), table.base.astype(np.int64)
    for v in added.tolist():
        arity = int(table.arities[v])
        groups = np.unique(groups * arity + table.states[v], return_inverse=True)[1].reshape(-1)
        states *= arity
    frames.base[:] = groups
    frames.rows[:] = np.argsort(groups, kind="stable")
    frames.there[0] = True
    for place in np.flatnonzero(np.isin(task.variables, added)).tolist():
        frames.there[0, task.cuts.held[task.cuts.holding[place] : task.cuts.holding[place + 1]]] = False
    frames.varset[:] = as_bytes(parents)
    return float(open_root(np.isin(task.variables, unpack(candidates)), states, added.size, task, frames))


def task_of(child: Child, searches: CellSearches, known: Families) -> CellTask:
    """What the kernels read of a child's search."""
    x, problem, prices = child.index, searches.problem, searches.prices
    table, form, variables = problem.rows, problem.form, searches.order[np.isin(searches.order, child.variables)]
    assert form is not None, "a score of cells"
    must, arities = int(problem.required[:, x].sum()), table.arities[variables]
    codes = np.ascontiguousarray(table.states[variables])
    first = np.concatenate(([0], np.cumsum(arities))).astype(np.int64)
    masks = np.zeros((codes.shape[1], int(first[-1])), np.int8)
    for k, own in enumerate(codes):
        masks[np.arange(own.size), first[k] + own] = -1
    words = max(1, -(-masks.shape[1] // WORD_BITS))
    own = np.repeat(np.arange(arities.size), arities) == np.arange(arities.size)[:, None]
    arity, most = int(table.arities[x]), float(table.mlogm[-1])
    nats = (1.0 + int(table.weights.sum())) * math.log(arity)
    scale = 2.0 ** min(MOST_SCALE, math.floor(WHOLE_BITS - math.log2(nats)))
    parents, costs = known
    return CellTask(
        codes=codes,
        arities=arities,
        by_arity=np.argsort(arities, kind="stable"),
        first=first,
        masks=masks,
        bits=_as_bits(masks != 0, words),
        own=_as_bits(own, words),
        variables=variables,
        states=table.states[x].astype(np.int64),
        weights=table.weights.astype(np.int64),
        arity=arity,
        fewest=searches.searched_to - must,
        most=min(int(problem.limits[x]) - must, variables.size),
        form=form,
        of_arity=int(form.classes[x]),
        of_one=_of_one(form, int(form.classes[x]), scale),
        mlogm=table.mlogm,
        scale=scale,
        margin=ROUNDING * (1.0 + most),
        slack=problem.slack,
        deepest=variables.size + 1,
        limit=math.inf if prices is None else float(prices.least[x] + prices.gaps[x]),
        effort=ANY_NUMBER if prices is None or not prices.stage.rough else prices.stage.effort,
        cuts=cuts_of_child(x, variables, problem.required[:, x], prices),
        tables=byte_tables([parents], [costs]),
    )


def _of_one(form: Formula, of_arity: int, scale: float) -> NDArray[np.int32]:
    """What records of one state cost as a cell by tables, in whole numbers, rounded down."""
    if form.kind != TABLES:
        return np.zeros(0, np.int32)
    return np.floor(np.maximum(form.own[of_arity] - form.joint, 0.0) * scale).astype(np.int32)


def order_of(table: CountingTable) -> NDArray[np.int64]:
    """The variables, so that the last few together tell the records apart as little as possible: the last one is that
    of least entropy, then comes the one of least entropy together with it, and so on. O(variables^2 records)."""
    left = list(range(table.arities.size))
    together, chosen = np.zeros(table.weights.size, np.int64), []
    while left:
        least, best, cells = np.inf, left[0], together
        for v in left:
            key = together * int(table.arities[v]) + table.states[v]
            which = np.unique(key, return_inverse=True)[1]
            counts = np.bincount(which, table.weights)
            entropy = -float((counts * np.log(counts)).sum())
            if entropy < least:
                least, best, cells = entropy, v, which
        left.remove(best)
        chosen.append(best)
        together = cells.astype(np.int64)
    return np.array(chosen[::-1], np.int64)


def _as_bits(rows: NDArray[np.bool_], words: int) -> NDArray[np.uint64]:
    """Rows (k, columns) as bits in so many words, the first column the lowest one."""
    found = np.zeros((len(rows), words * WORD_BITS), np.bool_)
    found[:, : rows.shape[1]] = rows
    return as_words(np.packbits(found, axis=1, bitorder="little"))


def frames_of(task: CellTask, width: int) -> CellFrames:
    """A stack with room for as many parents as may be added, and for varsets of so many bytes."""
    d, m, depth = task.states.size, task.variables.size, task.variables.size + 2
    room, records = 4 * d, task.mlogm.size
    priors = 1 if task.form.kind == TABLES else max(2, min(PRIORS, PRIOR_NUMBERS // (4 * records)))
    return CellFrames(
        cell=np.empty((room, COUNTS + task.arity), np.int32),
        end=np.empty(room, np.int64),
        start=np.zeros(depth, np.int64),
        cells=np.zeros(depth, np.int64),
        groups=np.zeros(depth, np.int64),
        open=np.zeros((depth, m), np.bool_),
        left=np.zeros(depth, np.int64),
        bound=np.zeros((depth, m)),
        stale=np.zeros(depth, np.bool_),
        pure=np.zeros(depth, np.int64),
        sure=np.zeros(depth),
        joint=np.ones(depth),
        prior=np.ones(depth),
        best=np.zeros(depth),
        counted=np.zeros(depth),
        gain=np.zeros((depth, m)),
        there=np.zeros((depth, task.cuts.of_cut.size), np.bool_),
        path=np.zeros(depth, np.int64),
        chosen=np.zeros(depth, np.int64),
        size=np.zeros(depth, np.int64),
        base=np.zeros(d, np.int64),
        rows=np.zeros(d, np.int64),
        varset=np.zeros(width, np.uint8),
        top=np.zeros(1, np.int64),
        priors=np.zeros(priors),
        filled=np.zeros(priors, np.int64),
        known=np.zeros((priors, 4, 1 if task.form.kind == TABLES else records)),
        space=space_of(task),
    )


def space_of(task: CellTask) -> CellSpace:
    """Working space for the rows of a task."""
    d, words = task.states.size, task.bits.shape[1]
    columns, states = 64 * words, int(task.arities.max(initial=1))
    counted = columns if task.form.kind == TABLES else 0
    return CellSpace(
        slots=np.zeros(2 * d, np.int64),
        place=np.zeros(d, np.int64),
        cell=np.zeros(d, np.int64),
        counts=np.zeros((d, task.arity), np.int64),
        fresh=np.zeros(d, np.int64),
        present=np.zeros((task.arity, words), np.uint64),
        few=np.zeros((32, words), np.uint64),
        planes=np.zeros((32, words), np.uint64),
        alone=np.zeros(columns, np.int32),
        corrected=np.zeros(columns, np.int32),
        unexplained=np.zeros(columns, np.int32),
        states=np.zeros(columns, np.int32),
        plain=np.zeros(columns, np.int32),
        total=np.zeros(columns, np.int64),
        ones=np.zeros((task.arity, counted), np.int32),
        others=np.zeros((task.arity, counted), np.int32),
        tally=np.zeros((states, task.arity), np.int64),
        inside=np.zeros(states, np.int64),
        mask=np.zeros(words, np.uint64),
        times=np.zeros(task.variables.size, np.int64),
    )


def _roomier(frames: CellFrames) -> CellFrames:
    """The same stack with room for twice as many cells."""
    cell, end = (
        np.empty((2 * len(frames.cell), frames.cell.shape[1]), np.int32),
        np.empty(2 * len(frames.end), np.int64),
    )
    cell[: len(frames.cell)], end[: len(frames.end)] = frames.cell, frames.end
    return frames._replace(cell=cell, end=end)
