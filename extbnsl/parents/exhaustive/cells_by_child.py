"""The surviving families child by child by scores with a Dirichlet prior, where the levels have too many varsets.

For each child a depth-first search over parent sets: the candidates stand in an order, and each node may add those that
come after its last one. So most nodes have few candidates left, and what they and all below them cost at least follows
from what these few cannot tell apart; `between` has the bound, with the proof. The last candidates in the order are
those that tell records apart least, when taken together: then many nodes have an upper set that is soon hopeless.

A parent set is left out, with all that the search adds to it, if these cost at least as much as the cheapest family
known inside it, and the slack. The families of small parent sets are best found by level before, for this is what they
are compared with.

Time: some ns per row of a node's cells of more than one record, for each of some 10^5 to 10^7 nodes per child. Memory:
per thread some hundred bytes per row and some 32 per record, times the most parents, and the tables of a family list.

A child's search is cut into tasks by its first parents, the longest first; what is known after some of them is a value
to go on from. All of them are compared with the same families, so that what each finds depends on no other.

The children whose cheapest family is the dearest come first: mostly they take least time, and where time is over before
all are judged, those that are left add least to the gap.
"""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.varsets import as_varsets, sizes
from extbnsl.machine.workers import Workers
from extbnsl.parents.best_score import ByteTables, as_bytes, byte_tables, byte_tables_bytes
from extbnsl.parents.exhaustive.between import CellFrames, CellTask, open_root, search_between
from extbnsl.parents.exhaustive.by_child import Found, check_room, children_judged, parts_judged
from extbnsl.parents.exhaustive.by_level import AHEAD, largest_size
from extbnsl.parents.exhaustive.children import Child, child_of
from extbnsl.parents.exhaustive.cutting import Part, cut, share_of
from extbnsl.parents.exhaustive.problem import CountingProblem, of_child
from extbnsl.parents.exhaustive.state import Enumeration, Means
from extbnsl.parents.pruning import ROUNDING
from extbnsl.scores.counting import CountingTable
from extbnsl.scores.formula import TABLES

FEW = 2_000_000  # varsets that are counted by level whatever follows: some seconds
MANY = 30_000_000  # varsets left that are too many to be counted by level
GROWTH = 1.5  # each candidate makes a search about so many times longer
TASK_ROWS = 1 << 17  # rows that a task has, times GROWTH for each candidate, at least: some hundredths of a second
ROOM = 4096  # families that a search hands over at a time
SPREAD_WORDS = 64  # bits of a word


def judge_between(problem: CountingProblem, found: Enumeration, means: Means) -> Iterator[Enumeration]:
    """`found` with ever more parts of the children of the problem judged, by a score whose formula is `by_cells`.

    `found` holds the wanted families of all parent sets of at most `found.complete_to` variables. Stopped, with a
    warning, if that needs more memory than the shelf has, on which the families lie.
    """
    assert problem.form is not None, "a score of cells"
    assert problem.form.by_cells, "a score with a Dirichlet prior"
    workers = means.workers
    check_room(_needed_bytes(problem, found, workers.threads), means)
    if not found.children:
        found = replace(found, children=_dearest_first(problem, found), paired=True, parts=0, pairs=None)
    children = int((problem.limits >= 0).sum())
    waits = _arguments(problem, found, workers)
    results = workers.spread(search_part, waits, AHEAD * workers.threads)
    while found.children:
        judged, parts = children - len(found.children), _parts(found.children[0], problem)
        for known in parts_judged(found, results, len(parts), problem.slack, means):
            found, share = known, share_of(parts, known.parts)
            means.observer(children_judged(judged + share, children, f"child {judged + 1} of {children}"))
            yield found
        found = replace(found, children=found.children[1:], parts=0, pairs=None)
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


def _dearest_first(problem: CountingProblem, found: Enumeration) -> tuple[Child, ...]:
    """The children in the order in which they are judged: by what the cheapest family known of each costs."""
    children = np.flatnonzero(problem.limits >= 0).tolist()
    children.sort(key=lambda x: found.costs[x][0] if found.costs[x].size else math.inf, reverse=True)
    return tuple(child_of(problem, x) for x in children)


def _needed_bytes(problem: CountingProblem, found: Enumeration, threads: int) -> int:
    """About the memory that this takes beside the table of rows, at most."""
    table = problem.rows
    d, n, records = table.weights.size, problem.limits.size, table.mlogm.size
    arity = int(table.arities.max(initial=2))
    depth = int(problem.limits.max(initial=0)) + 1
    frames = depth * (16 * d + 32 * records)
    families = max((byte_tables_bytes([costs], n) for costs in found.costs), default=0)
    # tasks of a child share tables, and those that are out are mostly of few children
    return threads * (frames + d * (n + 24 * arity + 128)) + (2 * threads + 2) * families


def _order_of(table: CountingTable) -> NDArray[np.int64]:
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


def _parts(child: Child, problem: CountingProblem) -> list[Part]:
    """The tasks of a child."""
    m = child.variables.size

    def nodes(after: int, levels: int) -> float:
        return min(GROWTH**after, sum(math.comb(after, size) for size in range(levels + 1)))

    least = max(1.0, TASK_ROWS / problem.rows.weights.size)
    return cut(range(m - 1, -1, -1), _most_added(child, problem), nodes, least)


def _most_added(child: Child, problem: CountingProblem) -> int:
    """How many candidates may be added to the parents that a child must have."""
    x = child.index
    return min(int(problem.limits[x] - problem.required[:, x].sum()), child.variables.size)


def _arguments(problem: CountingProblem, found: Enumeration, workers: Workers) -> Iterator[tuple]:
    """Of each task that is not over. The tables have the families of the levels alone, whatever tasks are over."""
    done, order = found.parts, _order_of(problem.rows)
    for child in found.children:
        parents, costs = found.parents[child.index], found.costs[child.index]
        before = sizes(parents) <= found.complete_to
        tables = byte_tables([parents[before]], [costs[before]])
        variables = order[np.isin(order, child.variables)]
        for part in _parts(child, problem)[done:]:
            yield part, child, variables, problem, tables, workers.halt
        done = 0


def search_part(
    part: Part,
    child: Child,
    variables: NDArray[np.int64],
    problem: CountingProblem,
    tables: ByteTables,
    halt: NDArray[np.uint8],
) -> Found:
    """The families of a part of the child's search that are wanted so far, by these tables; beside the parents that it
    must have, those in the order of `variables`.

    A pure function of values, but for `halt`, which cuts it short.
    """
    x = child.index
    table, states = of_child(problem, x)
    task, must = _task(part, child, problem, variables, tables), as_bytes(as_varsets(problem.required[None, :, x]))
    frames = _frames(task, must[0])
    alone = open_root(table.base.astype(np.int64), states, task, frames)
    frames.cursor[0] = task.highs[0] - 1 if task.depth else -1
    width = frames.varset.size
    known = 1 if task.fewest == 0 else 0  # the parents that must be, with no others
    varsets, costs = [must[:known]], [np.full(known, alone)]
    judged, over = known, task.depth == 0
    while not over and not halt[0]:
        room = np.empty((ROOM, width), np.uint8), np.empty(ROOM)
        over, written, new = search_between(task, frames, halt, room)
        varsets.append(room[0][:written])
        costs.append(room[1][:written])
        judged += new
    parents = np.ascontiguousarray(np.concatenate(varsets)).view("<u8").astype(np.uint64, copy=False)
    return Found(parents, np.concatenate(costs), judged, np.ones_like(child.pairs))


def _task(
    part: Part, child: Child, problem: CountingProblem, variables: NDArray[np.int64], tables: ByteTables
) -> CellTask:
    """What the kernels read of a part of a child's search, its candidates in the order of that."""
    x, depth = child.index, _most_added(child, problem)
    lows, highs = part.ranges(depth, variables.size)
    table, form = problem.rows, problem.form
    assert form is not None, "a score of cells"
    codes = np.ascontiguousarray(table.states[variables])
    bits, own = _packed(codes, table.arities[variables])
    later = np.zeros((variables.size + 1, own.shape[1]), np.uint64)
    later[:-1] = np.bitwise_or.accumulate(own[::-1], axis=0)[::-1]
    return CellTask(
        codes=codes,
        arities=table.arities[variables],
        own=own,
        later=later,
        bits=bits,
        variables=variables,
        states=table.states[x].astype(np.int64),
        weights=table.weights.astype(np.int64),
        arity=int(table.arities[x]),
        depth=depth,
        fewest=len(part.path) + (0 if part.first else 1),
        lows=lows,
        highs=highs,
        form=form,
        of_arity=int(form.classes[x]),
        mlogm=table.mlogm,
        slack=problem.slack,
        margin=ROUNDING * (1.0 + float(table.mlogm[-1])),
        tables=tables,
    )


def _packed(codes: NDArray, arities: NDArray[np.int64]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """The states of each row as bit fields (d, w), no field across two words, and the bits of each variable (m, w)."""
    places, word, used = [], 0, 0
    for arity in arities.tolist():
        width = max(1, (arity - 1).bit_length())
        if used + width > SPREAD_WORDS:
            word, used = word + 1, 0
        places.append((word, used, width))
        used += width
    bits = np.zeros((codes.shape[1], word + 1), np.uint64)
    own = np.zeros((arities.size, word + 1), np.uint64)
    for k, (at, shift, width) in enumerate(places):
        bits[:, at] |= codes[k].astype(np.uint64) << np.uint64(shift)
        own[k, at] = ((1 << width) - 1) << shift
    return bits, own


def _frames(task: CellTask, must: NDArray[np.uint8]) -> CellFrames:
    """A stack with room for the parents that must be, the bytes of a varset, and as many others as a set may have."""
    d, depth, w = task.states.size, task.depth + 1, task.own.shape[1]
    records = 1 if task.form.kind == TABLES else task.mlogm.size
    return CellFrames(
        row=np.zeros((depth, d), np.uint32),
        cell=np.zeros((depth, d), np.uint32),
        seen=np.zeros((depth, d), np.int64),
        entries=np.zeros(depth, np.int64),
        cells=np.zeros(depth, np.int64),
        alone=np.zeros(depth, np.int64),
        states=np.ones(depth),
        best=np.zeros(depth),
        cursor=np.zeros(depth, np.int64),
        path=np.zeros(depth, np.int64),
        rising=np.zeros((depth, 2, 2, records)),
        prior=np.zeros((depth, 2)),
        filled=np.zeros((depth, 2), np.int64),
        used=np.zeros((depth, w), np.uint64),
        varset=must.copy(),
        top=np.zeros(1, np.int64),
    )
