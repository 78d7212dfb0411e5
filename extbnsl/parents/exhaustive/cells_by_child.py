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

A child's search is divided into tasks by the first parent, the last candidate first, so that what is inside a parent
set comes before it; what is known after each is a value to go on from. Each task takes about twice as long as the one
before: while a thread is at the last one of a child, the others go on with the next children.

The children whose cheapest family is the dearest come first: mostly they take least time, and where time is over before
all are judged, those that are left add least to the gap.
"""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.varsets import as_varsets
from extbnsl.machine.workers import Workers
from extbnsl.parents.best_score import ByteTables, as_bytes, byte_tables, byte_tables_bytes
from extbnsl.parents.exhaustive.between import CellFrames, CellTask, open_root, search_between
from extbnsl.parents.exhaustive.by_child import Found, check_room, children_judged, with_parts
from extbnsl.parents.exhaustive.by_level import largest_size
from extbnsl.parents.exhaustive.children import Child, child_of
from extbnsl.parents.exhaustive.problem import CountingProblem, of_child
from extbnsl.parents.exhaustive.state import Enumeration, Means
from extbnsl.parents.pruning import ROUNDING
from extbnsl.scores.counting import CountingTable
from extbnsl.scores.formula import TABLES

FEW = 2_000_000  # varsets that are counted by level whatever follows: some seconds
MANY = 30_000_000  # varsets left that are too many to be counted by level
GROWTH = 1.5  # a task of a child takes about so many times what the one before it does
ROOM = 4096  # families that a search hands over at a time
AHEAD = 16  # tasks out per thread, of the next children too; with 32 tasks a child, fewer leave a thread idle
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
    children, known = int((problem.limits >= 0).sum()), [found]
    waits = _arguments(problem, known, _order_of(problem.rows), workers)
    results = workers.stream(search_part, waits, AHEAD * workers.threads, lambda result: None)
    while found.children:
        judged, tasks = children - len(found.children), max(1, found.children[0].variables.size)
        for number in range(found.parts, tasks):
            found = known[0] = with_parts(found, [next(results)], problem.slack, means)
            share = (GROWTH ** (number + 1) - 1) / (GROWTH**tasks - 1)
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
    sizes = [size for size in range(largest + 1) if sum(counted[: size + 1]) <= FEW]
    return max(sizes, default=0)


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
    # tasks that are drawn at once share tables, and those before are at most two a thread
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


def _arguments(
    problem: CountingProblem, known: list[Enumeration], order: NDArray[np.int64], workers: Workers
) -> Iterator[tuple]:
    """Of each task that is not over. The tables have the families that are known when it is drawn: `known` has the one
    enumeration that is so far known."""
    done, costs, tables = known[0].parts, None, None
    for child in known[0].children:
        x, variables = child.index, order[np.isin(order, child.variables)]
        for number in range(done, max(1, child.variables.size)):
            if costs is not known[0].costs[x]:
                costs = known[0].costs[x]
                tables = byte_tables([known[0].parents[x]], [costs])
            yield x, number, problem, variables, tables, workers.halt
        done = 0


def search_part(
    x: int,
    number: int,
    problem: CountingProblem,
    variables: NDArray[np.int64],
    tables: ByteTables,
    halt: NDArray[np.uint8],
) -> Found:
    """The families of child x that are wanted so far whose first parent, in the order of `variables`, is this one from
    the end, beside those that must be; the first task has these alone too. So all smaller parent sets come in an
    earlier task or before.

    A pure function of values, but for `halt`, which cuts it short.
    """
    table, states = of_child(problem, x)
    task, must = _task(x, problem, variables, tables), as_bytes(as_varsets(problem.required[None, :, x]))
    frames = _frames(task, must[0])
    alone = open_root(table.base.astype(np.int64), states, task, frames)
    frames.cursor[0] = first = variables.size - 1 - number
    width = frames.varset.size
    varsets, costs = [must], [np.array([alone])]
    judged, over = 1, task.depth < 1 or variables.size == 0
    while not over and not halt[0]:
        room = np.empty((ROOM, width), np.uint8), np.empty(ROOM)
        over, written, new = search_between(first, task, frames, halt, room)
        varsets.append(room[0][:written])
        costs.append(room[1][:written])
        judged += new
    skip = 0 if number == 0 else 1
    parents = np.ascontiguousarray(np.concatenate(varsets)[skip:]).view("<u8").astype(np.uint64, copy=False)
    m = variables.size
    return Found(parents, np.concatenate(costs)[skip:], judged, np.ones((m, m), np.uint8))


def _task(x: int, problem: CountingProblem, variables: NDArray[np.int64], tables: ByteTables) -> CellTask:
    """What the kernels read of a child whose candidates are these, in the order of the search."""
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
        depth=min(int(problem.limits[x] - problem.required[:, x].sum()), variables.size),
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
