"""The surviving families child by child, where tables over all varsets do not fit: many variables or little memory.

Iterative deepening over the size of parent sets; for each child X and size k a depth-first search over the sets of
exactly k variables. A node Q holds its rows cell by cell (a cell is a joint state of Q), those of a cell in the order
of the states of X. Cells in which X has one state only are dropped: they add nothing to N H(X | P) for any P >= Q.

P of size k is dominated unless every Y in P gains more than it adds to the penalty, N I(X; Y | P - Y) >
penalty(X | P) (1 - 1 / r_Y). For every Q inside P - Y the gain is at most the sum over the cells of Q of
min(N H(X), N H(Y)) within the cell: the entropy bound of de Campos et al. 2018, cell by cell. The penalty of P is known
up to the arities of the variables still to come, so the bound bites near the root. Other bounds: floors[X] +
penalty(X | P) must stay below BestScore(X | Q); and each P must consist of sets that were alive at size k - 1, which is
remembered for pairs.

Counts of all candidates Y at once: per row and Y a column for each state but the first, holding the row's weight; sums
of rows are then vector additions. Time: about 2 ns per row of a node and 50 bytes of columns, and some ns per cell and
state of each candidate. Memory: O(k distinct rows + variables^2) and the columns per thread, variables^2 bytes per
child, and the tables of a family list per thread; the lists lie on a shelf.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from extbnsl.claims import DISK_LIMIT, MEMORY_LIMIT
from extbnsl.errors import BudgetError
from extbnsl.events import Observer, StageAdvanced, Warned
from extbnsl.files.shelf import Shelf
from extbnsl.kernels.bits import flip
from extbnsl.kernels.compiler import njit
from extbnsl.kernels.varsets import words
from extbnsl.machine.budgets import too_little_memory
from extbnsl.machine.workers import Stopped, Workers, chunks
from extbnsl.parents.best_score import byte_tables, byte_tables_bytes, first_inside, scratch
from extbnsl.parents.exhaustive.by_level import CountingProblem
from extbnsl.parents.exhaustive.state import Child, Enumeration
from extbnsl.parents.pruning import merged
from extbnsl.scores.penalty import added, family_penalty, grown

BUDGET = 50_000_000  # units of work, about a nanosecond each, between two looks at the stop signal
ROOM = 4096  # families that a search hands over at a time
PARTS = 16  # tasks per child


@dataclass(frozen=True)
class _Found:
    """What one search found: varsets (f, bytes) uint8 and costs (f,), how many it counted, and the pairs alive."""

    varsets: NDArray[np.uint8]
    costs: NDArray[np.float64]
    counted: int


def enumerate_depth_first(
    problem: CountingProblem,
    found: Enumeration,
    workers: Workers,
    shelf: Shelf,
    observer: Observer,
    on_size: Callable[[Enumeration], None] = lambda found: None,
) -> Enumeration:
    """Judge the parent sets of more than `found.complete_to` variables, size by size until none can win.

    `found` holds the undominated families of all smaller parent sets. on_size gets what is known after each size; it
    may raise Stopped. When the stop signal comes, the result is what was complete before the size then at work; so it
    is, with a warning, if the next size needs
    more memory than the shelf has, on which the families lie.
    """
    found = replace(found, level=None)
    try:
        if found.complete_to < 0:
            found = _without_parents(problem, found)
        while not found.done:
            needed = _needed_bytes(problem, found, workers.threads)
            if needed > shelf.memory:
                observer(Warned(too_little_memory("Counting", 2 * needed, 2 * shelf.memory, workers.threads)))
                return replace(found, stopped=MEMORY_LIMIT)
            size = found.complete_to + 1
            found = _judge_size(size, found.children or _children(size, problem), problem, found, workers, shelf)
            observer(StageAdvanced("scores", found.varsets, 0, f"varsets counted, parent sets of {size}", size))
            on_size(found)
    except Stopped as stop:
        return replace(found, stopped=stop.reason)
    except BudgetError:
        return replace(found, stopped=DISK_LIMIT)
    return found


def _children(size: int, problem: CountingProblem) -> tuple[Child, ...]:
    """Every child that may have `size` parents, as far as nothing is known of their pairs."""
    n = problem.limits.size
    return tuple(
        Child(x, np.delete(np.arange(n), x), np.ones((n - 1, n - 1), np.uint8))
        for x in np.flatnonzero(size <= np.minimum(problem.limits, n - 1)).tolist()
    )


def _needed_bytes(problem: CountingProblem, found: Enumeration, threads: int) -> int:
    """About the memory that judging the next size takes beside the table of rows, at most."""
    table, n = problem.table, problem.limits.size
    rows = table.weights.size
    m = max((child.variables.size for child in found.children), default=n)
    pairs = sum(child.pairs.nbytes for child in found.children) if found.children else n**3
    columns = rows * (int(table.arities.sum()) - n) * (2 if table.mlogm.size <= 1 << 16 else 4)
    frames = (found.complete_to + 2) * (8 * rows + m * m)
    own = columns + rows * m * table.states.itemsize + frames
    child_families = max((byte_tables_bytes([costs], n) for costs in found.costs), default=0)
    return 2 * pairs + threads * (own + 2 * child_families)


def _without_parents(problem: CountingProblem, found: Enumeration) -> Enumeration:
    """`found` with the empty parent set of every child."""
    table = problem.table
    costs = []
    for x, arity in enumerate(table.arities.tolist()):
        alone = np.bincount(table.states[x], weights=table.weights).astype(np.int64)
        costs.append(
            np.array([table.mlogm[-1] - table.mlogm[alone].sum() + family_penalty(problem.parameter, arity, 1.0)])
        )
    n = len(costs)
    parents = (np.zeros((1, words(n)), np.uint64),) * n
    return replace(found, parents=parents, costs=tuple(costs), complete_to=0, families=found.families + n)


def _judge_size(
    size: int, given: tuple[Child, ...], problem: CountingProblem, found: Enumeration, workers: Workers, shelf: Shelf
) -> Enumeration:
    """`found` with all parent sets of `size` variables judged, and the children that may take more."""
    children = workers.map(lambda child: _paired(size, child, problem), [(c,) for c in given])
    alive = [np.zeros_like(child.pairs) for child in children]
    parents, costs = list(found.parents), list(found.costs)
    counted = families = 0
    for begin, end in chunks(len(children), workers.threads):
        tasks = [
            (size, child, lo, hi, problem, _tables(found, child.index), workers, pairs)
            for child, pairs in zip(children[begin:end], alive[begin:end], strict=True)
            for lo, hi in chunks(child.variables.size, -(-child.variables.size // PARTS) or 1)
        ]
        results = workers.map(_searched, tasks)

        def join(x: int, tasks: list = tasks, results: list[_Found] = results) -> tuple[NDArray, NDArray]:
            own = [r for task, r in zip(tasks, results, strict=True) if task[1].index == x]
            varsets = np.concatenate([r.varsets for r in own]).view(np.uint64)
            return merged((parents[x], costs[x]), (varsets, np.concatenate([r.costs for r in own])))

        searched = sorted({task[1].index for task in tasks})
        for x, joined in zip(searched, workers.map(join, [(x,) for x in searched]), strict=True):
            parents[x], costs[x] = map(shelf.put, joined)
        counted += sum(r.counted for r in results)
        families += sum(r.costs.size for r in results)
    remaining = [_remaining(size, c, pairs) for c, pairs in zip(children, alive, strict=True)]
    left = tuple(c for c in remaining if size < min(problem.limits[c.index], c.variables.size))
    return replace(
        found,
        parents=tuple(parents),
        costs=tuple(costs),
        complete_to=size,
        varsets=found.varsets + counted,
        families=found.families + families,
        done=not left,
        children=left,
    )


def _tables(found: Enumeration, x: int) -> tuple:
    """What answers BestScore of one child over the families found so far."""
    return byte_tables([found.parents[x]], [found.costs[x]])


def _remaining(size: int, child: Child, alive: NDArray[np.uint8]) -> Child:
    """The child with the variables and pairs of which a parent set of `size` variables was alive."""
    singles = np.flatnonzero(alive.diagonal())
    pairs = np.ones((singles.size, singles.size), np.uint8) if size == 1 else alive[np.ix_(singles, singles)]
    return Child(child.index, child.variables[singles], pairs)


def _local(child: Child, problem: CountingProblem) -> tuple:
    """The rows in the order of the child's states: codes (m, d), columns, first column of each variable, weights,
    states of the child (d,), arities (m,)."""
    table = problem.table
    order = np.argsort(table.states[child.index], kind="stable")
    codes = table.states[child.variables[:, None], order]
    weights = table.weights[order]
    arities = table.arities[child.variables]
    first = np.concatenate(([0], np.cumsum(arities - 1)))
    width = np.uint16 if table.mlogm.size <= 1 << 16 else np.uint32
    columns = np.zeros((order.size, int(first[-1])), dtype=width)
    _fill_columns(codes, weights, first, columns)
    return codes, columns, first, weights, table.states[child.index][order].astype(np.int64), arities


def _frames(size: int, child: Child, local: tuple, problem: CountingProblem) -> tuple:
    """A stack of `size` + 1 nodes with room for all rows, and the root on it."""
    m, d = local[0].shape
    n = problem.limits.size
    frames = (
        np.empty((size + 1, d), np.uint32),  # rows, cell by cell
        np.empty((size + 1, d), np.uint32),  # end of each cell
        np.zeros(size + 1, np.int64),  # number of cells
        np.zeros((size + 1, m), np.int64),  # candidates: variables that may still be added, ascending
        np.zeros(size + 1, np.int64),  # number of candidates
        np.zeros((size + 1, m), np.int64),  # candidates in the order of the search
        np.zeros((size + 1, m), np.int64),  # position of each candidate in that order
        np.full(size + 1, -1, np.int64),  # position of the next candidate to try, descending
        np.ones((size + 1, m, m), np.uint8),  # pairs of candidates that may be added together
        np.zeros(size + 1, np.float64),  # penalty
        np.zeros(size + 1, np.int64),  # the variable that made the node
        np.zeros(8 * words(n), np.uint8),  # the varset of the top node
        np.zeros(1, np.int64),  # the top
    )
    frames[0][0] = np.arange(d)
    frames[1][0, 0] = d
    frames[2][0] = 1
    frames[8][0] = child.pairs
    frames[9][0] = family_penalty(problem.parameter, problem.table.arities[child.index], 1.0)
    return frames


def _paired(size: int, child: Child, problem: CountingProblem) -> Child:
    """The child without the variables and pairs that cannot be in a parent set of `size` that wins."""
    if child.variables.size == 0:
        return child
    local = _local(child, problem)
    frames = _frames(size, child, local, problem)
    pairs = child.pairs.copy()
    singles = _pair(size, local, frames, problem.table.mlogm, pairs)
    kept = np.flatnonzero(singles)
    return Child(child.index, child.variables[kept], np.ascontiguousarray(pairs[np.ix_(kept, kept)]))


def _searched(
    size: int,
    child: Child,
    lo: int,
    hi: int,
    problem: CountingProblem,
    tables: tuple,
    workers: Workers,
    alive: NDArray[np.uint8],
) -> _Found:
    """All families of the child with `size` parents that win so far, the first parent at positions [lo, hi)."""
    local = _local(child, problem)
    frames = _frames(size, child, local, problem)
    varsets = np.empty((ROOM + child.variables.size, frames[11].size), np.uint8)
    costs = np.empty(varsets.shape[0])
    floor, mlogm = problem.floors[child.index], problem.table.mlogm
    parts = []
    counted = 0
    frames[7][0] = hi - 1
    _open_root(frames)
    finished = False
    while not finished:
        workers.check()
        finished, written, new = _search(
            size,
            lo,
            child.variables,
            floor,
            local,
            frames,
            mlogm,
            tables,
            BUDGET,
            (varsets, costs),
            alive,
        )
        parts.append((varsets[:written].copy(), costs[:written].copy()))
        counted += new
    return _Found(np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts]), counted)


@njit
def _fill_columns(codes, weights, first, columns):
    """columns[i, first[v] + s - 1] = weight of row i where variable v has state s > 0."""
    for v in range(codes.shape[0]):
        for i in range(codes.shape[1]):
            if codes[v, i]:
                columns[i, first[v] + codes[v, i] - 1] = weights[i]


@njit
def _count(node, asked, local, frames, mlogm, part, total, entropy, bound):
    """For each asked variable Y of a node Q: N H(X | Q + Y), and a bound of N I(X; Y | P) for all P >= Q.

    The bound is the sum over cells of min(N H(X), N H(Y)) in the cell. part, total: space for a row of columns.
    """
    columns, first, weights, states = local[1], local[2], local[3], local[4]
    rows, ends = frames[0][node], frames[1][node]
    entropy[: asked.size] = 0.0
    bound[: asked.size] = 0.0
    i = np.int64(0)
    for c in range(frames[2][node]):
        end = np.int64(ends[c])
        total[:] = 0
        records = np.int64(0)
        unmixed = 0.0
        while i < end:
            x = states[rows[i]]
            part[:] = 0
            m = np.int64(0)
            while i < end and states[rows[i]] == x:
                row = columns[rows[i]]
                for q in range(part.size):
                    part[q] += row[q]
                m += weights[rows[i]]
                i += 1
            for k in range(asked.size):
                rest = m
                for q in range(first[asked[k]], first[asked[k] + 1]):
                    rest -= part[q]
                    entropy[k] -= mlogm[part[q]]
                entropy[k] -= mlogm[rest]
            for q in range(part.size):
                total[q] += part[q]
            unmixed += mlogm[m]
            records += m
        whole = mlogm[records]
        for k in range(asked.size):
            rest = records
            split = 0.0
            for q in range(first[asked[k]], first[asked[k] + 1]):
                rest -= total[q]
                split += mlogm[total[q]]
            split += mlogm[rest]
            entropy[k] += split
            bound[k] += whole - max(unmixed, split)


@njit
def _refine(node, v, local, frames, place):
    """Node + 1 = the node's cells split by variable v, without those in which the child has one state only."""
    codes, states = local[0][v], local[4]
    rows, ends, cells = frames[0], frames[1], frames[2]
    arity = local[5][v]
    seen, mixed = place[0], place[1]
    i = np.int64(0)
    kept = np.int64(0)
    made = np.int64(0)
    for c in range(cells[node]):
        end = np.int64(ends[node, c])
        seen[:arity] = -1
        mixed[:arity] = 0
        for j in range(i, end):
            s, x = codes[rows[node, j]], states[rows[node, j]]
            if seen[s] < 0:
                seen[s] = x
            mixed[s] += 1
            if seen[s] != x:
                place[2][s] = 1
        for s in range(arity):
            if place[2][s]:
                seen[s] = kept
                kept += mixed[s]
                ends[node + 1, made] = kept
                made += 1
                place[2][s] = 0
            else:
                seen[s] = -1
        for j in range(i, end):
            s = codes[rows[node, j]]
            if seen[s] >= 0:
                rows[node + 1, seen[s]] = rows[node, j]
                seen[s] += 1
        i = end
    cells[node + 1] = made


@njit
def _fewest_states(listed, count, arities):
    """The least product of the arities of `count` listed variables, which are in ascending arity."""
    product = 1.0
    for k in range(min(count, listed.size)):
        product *= arities[listed[k]]
    return product


@njit
def _best(varset, tables, space):
    """BestScore of the one child of the tables; the empty parent set is one of its families."""
    return tables.costs[first_inside(0, varset, 0, tables.width[0], tables, space)]


@njit
def _set_order(node, length, bound, frames):
    """Put the candidates of a node in order of ascending bound."""
    listed, order, rank = frames[3][node], frames[5][node], frames[6][node]
    places = np.argsort(bound[:length])
    for p in range(length):
        order[p] = listed[places[p]]
        rank[order[p]] = p
    frames[4][node] = length


@njit
def _open_root(frames):
    m = frames[3].shape[1]
    for v in range(m):
        frames[3][0, v] = v
        frames[5][0, v] = v
        frames[6][0, v] = v
    frames[4][0] = m


@njit
def _pair(size, local, frames, mlogm, pairs):
    """Clear pairs[Y, Z] that no winning parent set of `size` variables has; returns 1 for the variables left."""
    codes, columns, arities = local[0], local[1], local[5]
    m = codes.shape[0]
    part = np.zeros(columns.shape[1], columns.dtype)
    total = np.zeros(columns.shape[1], columns.dtype)
    entropy, bound = np.zeros(m), np.zeros(m)
    place = np.zeros((3, arities[m - 1]), np.int64)
    everyone = np.arange(m)
    singles = np.ones(m, np.uint8)
    _count(0, everyone, local, frames, mlogm, part, total, entropy, bound)
    penalty = frames[9][0]
    others = _fewest_states(everyone, size - 1, arities)
    for v in range(m):
        singles[v] = bound[v] > grown(added(penalty, arities[v]), others)
    if size == 1:
        return singles
    others = _fewest_states(everyone, size - 2, arities)
    for v in range(m):
        if singles[v]:
            _refine(0, v, local, frames, place)
            _count(1, everyone, local, frames, mlogm, part, total, entropy, bound)
            for w in range(m):
                if bound[w] <= grown(added(grown(penalty, arities[v]), arities[w]), others) or not singles[w]:
                    pairs[v, w] = 0
                    pairs[w, v] = 0
        else:
            pairs[v] = 0
            pairs[:, v] = 0
    # the diagonal says nothing: a variable is known by its own state
    for v in range(m):
        pairs[v, v] = 0
        singles[v] = pairs[v].sum() >= size - 1
    return singles


@njit
def _open(size, v, floor, local, frames, mlogm, tables, space, asked, sums):
    """Try to put the top node's child by candidate v on the stack; returns the work done, negative if it is dead."""
    part, total, entropy, bound, place = sums
    arities = local[5]
    listed, length, rank, pairs, penalties, varset = (
        frames[3],
        frames[4],
        frames[6],
        frames[8],
        frames[9],
        frames[11],
    )
    top = frames[12][0]
    more = size - top - 1
    position = rank[top, v]
    above = listed[top, : length[top]]
    penalty = grown(penalties[top], arities[v])
    last = more == 1
    informed = top > 0 and not last
    dead = floor + grown(penalty, _fewest_states(above, more, arities)) >= _best(varset, tables, space)
    own = np.int64(0)
    for i in above:
        if rank[top, i] > position and pairs[top, i, v]:
            listed[top + 1, own] = i
            own += 1
        if informed:
            pairs[top, v, i] = not dead
    if dead or own < more:
        return -1
    _refine(top, v, local, frames, place)
    cells = frames[2][top + 1]
    if cells == 0:
        if informed:
            pairs[top, v] = 0
        return -1
    penalties[top + 1] = penalty
    work = np.int64(frames[1][top + 1, cells - 1]) * (part.size // 32 + 1)
    if last:
        length[top + 1] = own
        return work
    # Candidates that come before v are asked too: their own search then leaves v out.
    count = np.int64(0)
    k = np.int64(0)
    for i in above:
        if k < own and listed[top + 1, k] == i:
            asked[count] = i
            count += 1
            k += 1
        elif informed and rank[top, i] < position:
            asked[count] = i
            count += 1
    _count(top + 1, asked[:count], local, frames, mlogm, part, total, entropy, bound)
    work += count * cells * 4
    needed = grown(penalty, _fewest_states(listed[top + 1, :own], more - 1, arities))
    others = grown(penalty, _fewest_states(above, more - 1, arities))
    own = 0
    for k in range(count):
        i = asked[k]
        if rank[top, i] < position:
            pairs[top, v, i] = bound[k] > added(others, arities[i])
        elif bound[k] > added(needed, arities[i]):
            listed[top + 1, own] = i
            bound[own] = bound[k]
            own += 1
    if own < more or floor + grown(penalty, _fewest_states(listed[top + 1, :own], more, arities)) >= _best(
        varset, tables, space
    ):
        return -work - 1
    _set_order(top + 1, own, bound, frames)
    frames[7][top + 1] = own - 1
    return work


@njit
def _leaves(variables, floor, local, frames, tables, space, entropy, out, written, alive):
    """Cost the families of the top node's varset and one candidate more; returns how many `out` holds then."""
    arities = local[5]
    path, varset, top = frames[10], frames[11], frames[12][0]
    best = _best(varset, tables, space)
    marked = False
    for k in range(frames[4][top]):
        v = frames[3][top, k]
        penalty = grown(frames[9][top], arities[v])
        cost = entropy[k] + penalty
        limit = best
        if cost < best:
            flip(varset, variables[v])
            limit = _best(varset, tables, space)
            if cost < limit:
                out[0][written] = varset
                out[1][written] = cost
                written += 1
            flip(varset, variables[v])
        if entropy[k] - floor > added(penalty, arities[0]) and floor + grown(penalty, arities[0]) < min(cost, limit):
            marked = True
            alive[v, v] = 1
            for j in range(1, top + 1):
                alive[v, path[j]] = 1
                alive[path[j], v] = 1
    if marked:
        for i in range(1, top + 1):
            for j in range(1, top + 1):
                alive[path[i], path[j]] = 1
    return written


@njit
def _search(size, lo, variables, floor, local, frames, mlogm, tables, budget, out, alive):
    """Go on with the search until it is over, the budget is spent or `out` is full.

    Returns whether it is over, how many families are in `out` and how many were counted.
    """
    m, width = local[0].shape[0], local[1].shape[1]
    part = np.zeros(width, local[1].dtype)
    total = np.zeros(width, local[1].dtype)
    entropy, bound = np.empty(m), np.empty(m)
    place = np.zeros((3, local[5].max()), np.int64)
    sums = (part, total, entropy, bound, place)
    space = scratch(tables)
    asked = np.empty(m, np.int64)
    order, cursor, path, varset, tops = frames[5], frames[7], frames[10], frames[11], frames[12]
    written = 0
    counted = 0
    work = 0
    while tops[0] >= 0 and work < budget and written + m <= out[1].size:
        top = tops[0]
        leaf = top == size - 1
        if leaf:
            candidates = frames[3][top, : frames[4][top]]
            _count(top, candidates, local, frames, mlogm, part, total, entropy, bound)
            written = _leaves(variables, floor, local, frames, tables, space, entropy, out, written, alive)
            counted += candidates.size
            work += candidates.size * frames[2][top] * 4
        if leaf or cursor[top] < (lo if top == 0 else 0):
            if top > 0:
                flip(varset, variables[path[top]])
            tops[0] = top - 1
            continue
        v = order[top, cursor[top]]
        cursor[top] -= 1
        flip(varset, variables[v])
        spent = _open(size, v, floor, local, frames, mlogm, tables, space, asked, sums)
        work += abs(spent) + 20
        if spent < 0:
            flip(varset, variables[v])
        else:
            path[top + 1] = v
            tops[0] = top + 1
    return tops[0] < 0, written, counted
