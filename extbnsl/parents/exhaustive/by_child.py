"""The surviving families child by child, where tables over all varsets do not fit: many variables or little memory.

Iterative deepening over the size of parent sets; for each child X and size k a depth-first search over the sets of
exactly k variables. A node Q holds its rows cell by cell (a cell is a joint state of Q), those of a cell in the order
of the states of X. Cells in which X has one state only are dropped: they add nothing to N H(X | P) for any P >= Q.

P of size k is dominated unless every Y in P gains more than it adds to the penalty, N I(X; Y | P - Y) + slack >
penalty(X | P) (1 - 1 / r_Y); see CountingProblem for the slack, which is 0 if the best networks alone are of interest.
For every Q inside P - Y the gain is at most the sum over the cells of Q of min(N H(X), N H(Y)) within the cell: the
entropy bound of de Campos et al. 2018, cell by cell. The penalty of P is known up to the arities of the variables still
to come, so the bound bites near the root. Where Q leaves no cell nothing can be gained, and what P adds to the penalty
must be below the slack. Other bounds: floors[X] + penalty(X | P) must stay below BestScore(X | Q) + slack; and each P
must consist of sets that were alive at size k - 1, which is remembered for pairs.

A bound that drops P speaks of its supersets too: the gain of Y has the same bound there, and Y adds no less to the
penalty. So a larger set that is wanted consists of sets that were alive, whether these are wanted or not.

Counts of all candidates Y at once: per row and Y a column for each state but the first, holding the row's weight; sums
of rows are then vector additions. Time: about 2 ns per row of a node and 50 bytes of columns, and some ns per cell and
state of each candidate. Memory: O(k distinct rows + variables^2) and the columns per thread, variables^2 bytes per
child, and the tables of a family list per thread; the lists lie on a shelf.

A child that must have parents begins with these: the cells of the root are their joint states, and a set of size k has
k less their number of others.

A child's search is cut into tasks by its first parents; what is known after some of them is a value to go on from.
"""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.claims import MEMORY_LIMIT
from extbnsl.core.events import StageAdvanced, Warned
from extbnsl.kernels.varsets import as_varsets
from extbnsl.machine.budgets import too_little_memory
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.parents.best_score import ByteTables, as_bytes, byte_tables, byte_tables_bytes
from extbnsl.parents.exhaustive.by_level import AHEAD, FINENESS, largest_size, size_judged, size_of_at_most
from extbnsl.parents.exhaustive.children import Child, Found, child_of
from extbnsl.parents.exhaustive.cutting import Part, cut, share_of
from extbnsl.parents.exhaustive.problem import CountingProblem, of_child
from extbnsl.parents.exhaustive.refinement import Rows, Stack, Task, fill_columns, pair, search
from extbnsl.parents.exhaustive.state import Enumeration, Means
from extbnsl.parents.pruning import merged
from extbnsl.scores.score import penalty_of

ROOM = 4096  # families that a search hands over at a time
TASK_ROWS = 10_000_000  # rows, times parent sets, that a task has at least: some hundredths of a second
JOINED = 4  # tasks whose families are merged at a time


def judge_by_child(problem: CountingProblem, found: Enumeration, means: Means) -> Iterator[Enumeration]:
    """`found` with ever more parent sets of more than `found.complete_to` variables judged, size by size until none can
    win.

    `found` holds the wanted families of all smaller parent sets, the smallest of each child at least. Stopped, with a
    warning, if the next size needs more memory than the shelf has, on which the families lie.
    """
    largest = largest_size(problem)
    while not found.done:
        check_room(_needed_bytes(problem, found, means.workers.threads), means)
        size = found.complete_to + 1
        for known in _judge_size(size, problem, found, means):
            found = known
            yield found
        means.observer(size_judged(found.varsets, size, largest))


def children_judged(judged: float, children: int, detail: str) -> StageAdvanced:
    """The event that so many children are judged, the one in work in part."""
    return StageAdvanced("scores", int(FINENESS * judged), FINENESS * children, "", detail=detail)


def check_room(needed: int, means: Means) -> None:
    """Raise Stopped, with a warning, unless the shelf has memory for so many bytes."""
    memory = means.shelf.memory
    if needed > memory:
        means.observer(Warned(too_little_memory("Counting", 2 * needed, 2 * memory, means.workers.threads)))
        raise Stopped(MEMORY_LIMIT)


def _needed_bytes(problem: CountingProblem, found: Enumeration, threads: int) -> int:
    """About the memory that judging the next size takes beside the table of rows, at most."""
    table, n = problem.rows, problem.limits.size
    rows = table.weights.size
    m = max((child.variables.size for child in found.children), default=n)
    pairs = sum(child.pairs.nbytes for child in found.children) if found.children else n**3
    columns = rows * (int(table.arities.sum()) - n) * (2 if table.mlogm.size <= 1 << 16 else 4)
    frames = (found.complete_to + 2) * (8 * rows + m * m)
    own = columns + rows * m * table.states.itemsize + frames
    child_families = max((byte_tables_bytes([costs], n) for costs in found.costs), default=0)
    return 2 * pairs + threads * (own + 2 * child_families)


def _judge_size(size: int, problem: CountingProblem, found: Enumeration, means: Means) -> Iterator[Enumeration]:
    """`found` with ever more parent sets of `size` variables judged, and the children that may take more."""
    workers = means.workers
    if not found.paired:
        unpaired = ((size, child, problem, workers.halt) for child in found.children or _children(size, problem))
        paired = workers.spread(pair_variables, unpaired, AHEAD * workers.threads)
        found = replace(found, children=tuple(paired), paired=True)
        yield found
    children, detail = len(found.children) + len(found.ahead), size_of_at_most(size, largest_size(problem))
    waits = _arguments(size, problem, found, workers)
    results = workers.spread(search_part, waits, AHEAD * workers.threads)
    means.observer(children_judged(children - len(found.children), children, detail))
    while found.children:
        judged, parts = children - len(found.children), _parts(size, found.children[0], problem)
        for known in parts_judged(found, results, len(parts), problem.slack, means):
            found, share = known, share_of(parts, known.parts)
            means.observer(children_judged(judged + share, children, detail))
            yield found
        found = _with_child(found, size, problem)
        yield found
    left = found.ahead
    yield replace(found, complete_to=size, children=left, ahead=(), paired=False, done=not left)


def _children(size: int, problem: CountingProblem) -> Iterator[Child]:
    """Every child that may have `size` parents, as far as nothing is known of their pairs; or that must have more."""
    for x in np.flatnonzero(size <= problem.limits).tolist():
        child = child_of(problem, x)
        if _more(size, x, problem) <= child.variables.size:
            yield child


def _more(size: int, x: int, problem: CountingProblem) -> int:
    """How many parents a set of `size` has beside those that a child must have; negative if it must have more."""
    return size - int(problem.required[:, x].sum())


def _parts(size: int, child: Child, problem: CountingProblem) -> list[Part]:
    """The tasks of a child: none if it may have no others, or its smallest parent set, which is known, has `size`
    parents or more."""
    more = _more(size, child.index, problem)
    if more < 1 or child.variables.size == 0:
        return []
    following = np.triu(child.pairs, 1).sum(axis=1, dtype=np.int64).tolist()
    least = max(1.0, TASK_ROWS / problem.rows.weights.size)
    return cut(following, more - 1, lambda after, levels: math.comb(after, levels + 1), least)


def _arguments(size: int, problem: CountingProblem, found: Enumeration, workers: Workers) -> Iterator[tuple]:
    """Of each task of this size that is not over. The tables have the families of all smaller parent sets; some of this
    size make no difference, as none is inside another."""
    done = found.parts
    for child in found.children:
        tables = byte_tables([found.parents[child.index]], [found.costs[child.index]])
        for part in _parts(size, child, problem)[done:]:
            yield part, size, child, problem, tables, workers.halt
        done = 0


def parts_judged(
    found: Enumeration, results: Iterator[Found], parts: int, slack: float, means: Means
) -> Iterator[Enumeration]:
    """`found` with what ever more of the `parts` tasks of its first child find. Raises Stopped; BudgetError of the
    shelf."""
    while found.parts < parts:
        joined = [next(results) for _ in range(min(JOINED, parts - found.parts))]
        found = _with_parts(found, joined, slack, means)
        yield found


def _with_parts(found: Enumeration, results: list[Found], slack: float, means: Means) -> Enumeration:
    """`found` with what the next tasks of the first child have found."""
    child = found.children[0]
    x = child.index
    parents, costs = list(found.parents), list(found.costs)
    if any(r.costs.size for r in results):
        varsets, own = (np.concatenate([getattr(r, name) for r in results]) for name in ("varsets", "costs"))
        given = (parents[x], costs[x]), (varsets, own), slack, means.workers.halt
        parents[x], costs[x] = map(means.shelf.put, means.workers.run(merged, *given))
    before = np.zeros_like(child.pairs) if found.pairs is None else found.pairs
    return replace(
        found,
        parents=tuple(parents),
        costs=tuple(costs),
        varsets=found.varsets + sum(r.counted for r in results),
        families=found.families + sum(r.costs.size for r in results),
        parts=found.parts + len(results),
        pairs=np.bitwise_or.reduce([before, *(r.pairs for r in results)]),
    )


def _with_child(found: Enumeration, size: int, problem: CountingProblem) -> Enumeration:
    """`found` with its first child, all of whose tasks are over, ahead if it may take more parents."""
    child, *children = found.children
    x, more = child.index, _more(size, child.index, problem)
    following = child if found.pairs is None else _remaining(more, child, found.pairs)
    goes_on = size < problem.limits[x] and more < following.variables.size
    ahead = (*found.ahead, following) if goes_on else found.ahead
    return replace(found, children=tuple(children), ahead=ahead, parts=0, pairs=None)


def _remaining(size: int, child: Child, alive: NDArray[np.uint8]) -> Child:
    """The child with the variables and pairs of which a parent set of `size` of them was alive."""
    singles = np.flatnonzero(alive.diagonal())
    pairs = np.ones((singles.size, singles.size), np.uint8) if size == 1 else alive[np.ix_(singles, singles)]
    return Child(child.index, child.variables[singles], pairs)


def pair_variables(size: int, child: Child, problem: CountingProblem, halt: NDArray[np.uint8]) -> Child:
    """The child without the variables and pairs that cannot be in a wanted parent set of `size`. A pure function, but
    for `halt`, which cuts it short."""
    more = _more(size, child.index, problem)
    if child.variables.size == 0 or more < 1:
        return child
    rows, stack = _begun(more, child, problem)
    pairs = child.pairs.copy()
    kept = np.flatnonzero(pair(more, rows, stack, problem.slack, halt, pairs))
    return Child(child.index, child.variables[kept], np.ascontiguousarray(pairs[np.ix_(kept, kept)]))


def search_part(
    part: Part,
    size: int,
    child: Child,
    problem: CountingProblem,
    tables: ByteTables,
    halt: NDArray[np.uint8],
) -> Found:
    """The families of a part of the child's search for `size` parents that are wanted so far.

    A pure function of values, but for `halt`, which cuts it short.
    """
    m, more = child.variables.size, _more(size, child.index, problem)
    lows, highs = part.ranges(more - 1, m)
    rows, stack = _begun(more, child, problem)
    if more > 1:
        stack.cursor[0] = highs[0] - 1
    task = Task(more, lows, highs, child.variables, float(problem.floors[child.index]), problem.slack, tables)
    room = np.empty((ROOM + m, stack.varset.size), np.uint8), np.empty(ROOM + m)
    alive = np.zeros_like(child.pairs)
    varsets, costs = [np.zeros((0, stack.varset.size), np.uint8)], [np.zeros(0)]
    counted, over = 0, False
    while not over and not halt[0]:
        over, written, new = search(task, rows, stack, halt, room, alive)
        varsets.append(room[0][:written].copy())
        costs.append(room[1][:written].copy())
        counted += new
    return Found(np.concatenate(varsets).view(np.uint64), np.concatenate(costs), counted, alive)


def _begun(size: int, child: Child, problem: CountingProblem) -> tuple[Rows, Stack]:
    """The rows base by base in the order of the child's states; and a stack of `size` + 1 nodes with room for all of
    them, the root on it, its candidates in their own order."""
    table, configurations = of_child(problem, child.index)
    order = np.lexsort((table.states[child.index], table.base))
    codes = table.states[child.variables[:, None], order]
    weights = table.weights[order]
    arities = table.arities[child.variables]
    first = np.concatenate(([0], np.cumsum(arities - 1)))
    columns = np.zeros((order.size, int(first[-1])), np.uint16 if table.mlogm.size <= 1 << 16 else np.uint32)
    fill_columns(codes, weights, first, columns)
    states = table.states[child.index][order].astype(np.int64)
    m, d = codes.shape
    stack = Stack(
        rows=np.empty((size + 1, d), np.uint32),
        ends=np.empty((size + 1, d), np.uint32),
        cells=np.zeros(size + 1, np.int64),
        listed=np.zeros((size + 1, m), np.int64),
        length=np.zeros(size + 1, np.int64),
        order=np.zeros((size + 1, m), np.int64),
        rank=np.zeros((size + 1, m), np.int64),
        cursor=np.full(size + 1, -1, np.int64),
        pairs=np.ones((size + 1, m, m), np.uint8),
        penalty=np.zeros(size + 1, np.float64),
        path=np.zeros(size + 1, np.int64),
        varset=as_bytes(as_varsets(problem.required[None, :, child.index]))[0].copy(),
        top=np.zeros(1, np.int64),
    )
    stack.rows[0] = np.arange(d)
    stack.listed[0] = stack.order[0] = stack.rank[0] = np.arange(m)
    stack.length[0] = m
    ends = np.cumsum(np.bincount(table.base))
    stack.ends[0, : ends.size] = ends
    stack.cells[0] = ends.size
    stack.pairs[0] = child.pairs
    stack.penalty[0] = penalty_of(problem.parameter, table.arities[child.index], configurations)
    return Rows(codes, columns, first, weights, states, arities, table.mlogm), stack
