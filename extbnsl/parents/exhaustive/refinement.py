"""Kernels of the search child by child: nodes are parent sets with their rows cell by cell, see by_child.py.

What they count and bound is for one child X. Costs in nats.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import flip
from extbnsl.kernels.compiler import borrowed, inlined, inner, njit
from extbnsl.parents.best_score import first_inside, scratch
from extbnsl.scores.penalty import added, grown


class Rows(NamedTuple):
    """The rows of the data in the order of the child's states; m candidates.

    codes (m, d): the candidates' states; columns (d, c): the row's weight where candidate v has state s > 0, at
    first[v] + s - 1; first (m + 1,) int64; weights (d,); states (d,) int64 of the child; arities (m,) int64; mlogm.
    """

    codes: NDArray[Any]
    columns: NDArray[Any]
    first: NDArray[np.int64]
    weights: NDArray[np.uint32]
    states: NDArray[np.int64]
    arities: NDArray[np.int64]
    mlogm: NDArray[np.float64]


class Stack(NamedTuple):
    """A stack of nodes; each array has a place or a row for each.

    rows, ends (k, d) uint32: rows cell by cell, and the end of each of `cells` cells; listed, order, rank (k, m) int64:
    the `length` candidates that may still be added, ascending, in the order of the search, and the place of each in
    that; cursor: the place of the next to try, descending; pairs (k, m, m) uint8: candidates that may be added
    together; penalty; path: the candidate that made the node. Of the top node varset (bytes,) uint8; top (1,) its
    place.
    """

    rows: NDArray[np.uint32]
    ends: NDArray[np.uint32]
    cells: NDArray[np.int64]
    listed: NDArray[np.int64]
    length: NDArray[np.int64]
    order: NDArray[np.int64]
    rank: NDArray[np.int64]
    cursor: NDArray[np.int64]
    pairs: NDArray[np.uint8]
    penalty: NDArray[np.float64]
    path: NDArray[np.int64]
    varset: NDArray[np.uint8]
    top: NDArray[np.int64]


class Task(NamedTuple):
    """What one search is for: parent sets of `size`; at level k of the stack candidates are added whose place in the
    order of their node is lows[k] <= place < highs[k], (size - 1,) int64.

    variables (m,) int64: the candidates' numbers; floor: a lower bound of N H(X | anything); slack: see
    CountingProblem; tables: BestScore of the child over the families of smaller sets.
    """

    size: int
    lows: NDArray[np.int64]
    highs: NDArray[np.int64]
    variables: NDArray[np.int64]
    floor: float
    slack: float
    tables: Any


class Space(NamedTuple):
    """Working space: part, total (c,): sums of rows of columns; entropy, bound (m,): see `_count`; place (3, arity):
    see `_refine`; asked (m,) int64: candidates; bytes: for queries."""

    part: NDArray[Any]
    total: NDArray[Any]
    entropy: NDArray[np.float64]
    bound: NDArray[np.float64]
    place: NDArray[np.int64]
    asked: NDArray[np.int64]
    bytes: NDArray[np.int64]


@njit
def fill_columns(codes, weights, first, columns):
    """columns[i, first[v] + s - 1] = weight of row i where variable v has state s > 0."""
    for v in range(codes.shape[0]):
        for i in range(codes.shape[1]):
            if codes[v, i]:
                columns[i, first[v] + codes[v, i] - 1] = weights[i]


@inlined
def _space(rows, width):
    """Space for these rows; width: of a varset in bytes."""
    m, columns = rows.codes.shape[0], rows.columns.shape[1]
    return Space(
        np.zeros(columns, rows.columns.dtype),
        np.zeros(columns, rows.columns.dtype),
        np.zeros(m, np.float64),
        np.zeros(m, np.float64),
        np.zeros((3, rows.arities[m - 1]), np.int64),
        np.zeros(m, np.int64),
        np.zeros(width, np.int64),
    )


@inner
def _count(node, asked, rows, stack, space):
    """For each asked variable Y of a node Q: N H(X | Q + Y), and a bound of N I(X; Y | P) for all P >= Q.

    The bound is the sum over cells of min(N H(X), N H(Y)) in the cell. Both go to the space, in the order asked.
    """
    part, total, entropy, bound = space.part, space.total, space.entropy, space.bound
    columns, first, weights, states, mlogm = rows.columns, rows.first, rows.weights, rows.states, rows.mlogm
    own, ends = stack.rows[node], stack.ends[node]
    entropy[: asked.size] = 0.0
    bound[: asked.size] = 0.0
    i = np.int64(0)
    for c in range(stack.cells[node]):
        end = np.int64(ends[c])
        total[:] = 0
        records = np.int64(0)
        unmixed = 0.0
        while i < end:
            x = states[own[i]]
            part[:] = 0
            m = np.int64(0)
            while i < end and states[own[i]] == x:
                row = columns[own[i]]
                for q in range(part.size):
                    part[q] += row[q]
                m += weights[own[i]]
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


@inner
def _refine(node, v, rows, stack, place):
    """Node + 1 = the node's cells split by variable v, without those in which the child has one state only."""
    codes, states, arity = rows.codes[v], rows.states, rows.arities[v]
    own, ends = stack.rows, stack.ends
    seen, mixed = place[0], place[1]
    i = np.int64(0)
    kept = np.int64(0)
    made = np.int64(0)
    for c in range(stack.cells[node]):
        end = np.int64(ends[node, c])
        seen[:arity] = -1
        mixed[:arity] = 0
        for j in range(i, end):
            s, x = codes[own[node, j]], states[own[node, j]]
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
            s = codes[own[node, j]]
            if seen[s] >= 0:
                own[node + 1, seen[s]] = own[node, j]
                seen[s] += 1
        i = end
    stack.cells[node + 1] = made


@inner
def _fewest_states(listed, count, arities):
    """The least product of the arities of `count` listed variables, which are in ascending arity."""
    product = 1.0
    for k in range(min(count, listed.size)):
        product *= arities[listed[k]]
    return product


@inner
def _best(varset, tables, space):
    """BestScore of the one child of the tables; the empty parent set is one of its families."""
    return tables.costs[first_inside(np.int64(0), varset, np.int64(0), tables.width[0], tables, space.bytes)]


@njit
def pair(size, rows, stack, slack, halt, pairs):
    """Clear pairs[Y, Z] that no wanted parent set of `size` variables has; returns 1 for the variables left. Ends early
    when halt[0] is set."""
    rows, stack, slack, halt, pairs = borrowed((rows, stack, slack, halt, pairs))
    arities = rows.arities
    m = arities.size
    space = _space(rows, np.int64(0))
    bound = space.bound
    everyone = np.arange(m)
    singles = np.ones(m, np.uint8)
    _count(np.int64(0), everyone, rows, stack, space)
    penalty = stack.penalty[0]
    others = _fewest_states(everyone, size - 1, arities)
    for v in range(m):
        singles[v] = bound[v] + slack > grown(added(penalty, arities[v]), others)
    if size == 1:
        return singles
    others = _fewest_states(everyone, size - 2, arities)
    for v in range(m):
        if halt[0]:
            break
        if singles[v]:
            _refine(np.int64(0), v, rows, stack, space.place)
            _count(np.int64(1), everyone, rows, stack, space)
            for w in range(m):
                least = grown(added(grown(penalty, arities[v]), arities[w]), others)
                if bound[w] + slack <= least or not singles[w]:
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


@inner
def _admit(v, more, dead, stack):
    """List at the next node the candidates of the top one that come after v and may be added with it; how many."""
    top = stack.top[0]
    pairs, rank, listed = stack.pairs[top], stack.rank[top], stack.listed
    informed = top > 0 and more > 1
    own = np.int64(0)
    for i in listed[top, : stack.length[top]]:
        if rank[i] > rank[v] and pairs[i, v]:
            listed[top + 1, own] = i
            own += 1
        if informed:
            pairs[v, i] = not dead
    return own


@inner
def _ask(v, own, stack, space):
    """The candidates to be counted at the next node, of which `own` are listed; how many.

    Candidates that come before v are asked too: their own search then leaves v out.
    """
    top = stack.top[0]
    rank, chosen = stack.rank[top], stack.listed[top + 1]
    count = np.int64(0)
    k = np.int64(0)
    for i in stack.listed[top, : stack.length[top]]:
        if k < own and chosen[k] == i:
            space.asked[count] = i
            count += 1
            k += 1
        elif top > 0 and rank[i] < rank[v]:
            space.asked[count] = i
            count += 1
    return count


@inner
def _narrow(v, own, more, count, slack, rows, stack, space):
    """Keep, of the listed candidates of the next node, those that the bounds counted leave; how many."""
    top = stack.top[0]
    asked, bound, arities, rank = space.asked, space.bound, rows.arities, stack.rank[top]
    listed, penalty = stack.listed[top + 1], stack.penalty[top + 1]
    needed = grown(penalty, _fewest_states(listed[:own], more - 1, arities))
    others = grown(penalty, _fewest_states(stack.listed[top, : stack.length[top]], more - 1, arities))
    kept = np.int64(0)
    for k in range(count):
        i = asked[k]
        if rank[i] < rank[v]:
            stack.pairs[top, v, i] = bound[k] + slack > added(others, arities[i])
        elif bound[k] + slack > added(needed, arities[i]):
            listed[kept] = i
            bound[kept] = bound[k]
            kept += 1
    return kept


@inner
def _open(v, task, rows, stack, space):
    """Try to put the top node's child by candidate v on the stack; returns whether it may lead anywhere."""
    top = stack.top[0]
    more = task.size - top - 1
    arities, listed = rows.arities, stack.listed
    most = _best(stack.varset, task.tables, space) + task.slack
    penalty = grown(stack.penalty[top], arities[v])
    states = _fewest_states(listed[top, : stack.length[top]], more, arities)
    dead = task.floor + grown(penalty, states) >= most
    own = _admit(v, more, dead, stack)
    if dead or own < more:
        return False
    _refine(top, v, rows, stack, space.place)
    if stack.cells[top + 1] == 0 and added(penalty, states) >= task.slack:  # nothing is left to gain
        if top > 0 and more > 1:
            stack.pairs[top, v] = 0
        return False
    stack.penalty[top + 1] = penalty
    if more == 1:
        stack.length[top + 1] = own
        return True
    count = _ask(v, own, stack, space)
    _count(top + 1, space.asked[:count], rows, stack, space)
    own = _narrow(v, own, more, count, task.slack, rows, stack, space)
    least = task.floor + grown(penalty, _fewest_states(listed[top + 1, :own], more, arities))
    if own < more or least >= most:
        return False
    order, rank = stack.order[top + 1], stack.rank[top + 1]
    places = np.argsort(space.bound[:own])
    for p in range(own):
        order[p] = listed[top + 1, places[p]]
        rank[order[p]] = p
    # those after the range tell which pairs those in it may leave out: they are tried, but not followed
    last = own if more > 2 else min(own, task.highs[top + 1])
    stack.length[top + 1], stack.cursor[top + 1] = own, last - 1
    return True


@inner
def _leaves(task, rows, stack, space, found, written, alive):
    """Cost the families of the top node's varset and one candidate more; returns how many are `found` then.

    alive gets the pairs in those of which supersets may be wanted: these gain at most what is above the floor, and add
    what one parent of the least arity adds, or more.
    """
    arities, entropy, floor, slack = rows.arities, space.entropy, task.floor, task.slack
    path, varset, top = stack.path, stack.varset, stack.top[0]
    best = _best(varset, task.tables, space)
    marked = False
    for k in range(stack.length[top]):
        v = stack.listed[top, k]
        penalty = grown(stack.penalty[top], arities[v])
        cost = entropy[k] + penalty
        limit = best
        if cost < best + slack:
            flip(varset, task.variables[v])
            limit = _best(varset, task.tables, space)
            if cost < limit + slack:
                found[0][written] = varset
                found[1][written] = cost
                written += 1
            flip(varset, task.variables[v])
        gains = entropy[k] - floor + slack > added(penalty, arities[0])
        if gains and floor + grown(penalty, arities[0]) < min(cost, limit) + slack:
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
def search(task, rows, stack, halt, found, alive):
    """Go on with the search until it is over, told to halt, or `found` is full: varsets (f, bytes) and costs (f,).

    alive (m, m) uint8 gets the pairs of variables of which a parent set was alive. Returns whether the search is over,
    how many families are `found` and how many were counted.
    """
    task, rows, stack, halt, found, alive = borrowed((task, rows, stack, halt, found, alive))
    m = rows.codes.shape[0]
    space = _space(rows, scratch(task.tables).size)
    written = np.int64(0)
    counted = 0
    while stack.top[0] >= 0 and not halt[0] and written + m <= found[1].size:
        top = stack.top[0]
        leaf = top == task.size - 1
        if leaf:
            candidates = stack.listed[top, : stack.length[top]]
            _count(top, candidates, rows, stack, space)
            written = _leaves(task, rows, stack, space, found, written, alive)
            counted += candidates.size
        if leaf or stack.cursor[top] < task.lows[top]:
            if top > 0:
                flip(stack.varset, task.variables[stack.path[top]])
            stack.top[0] = top - 1
            continue
        place = stack.cursor[top]
        v = stack.order[top, place]
        stack.cursor[top] = place - 1
        flip(stack.varset, task.variables[v])
        if _open(v, task, rows, stack, space) and place < task.highs[top]:
            stack.path[top + 1] = v
            stack.top[0] = top + 1
        else:
            flip(stack.varset, task.variables[v])
    return stack.top[0] < 0, written, counted
