"""Dynamic programming over the varsets layer by layer: Malone, Yuan and Hansen 2011, "Memory-efficient dynamic
programming for learning optimal Bayesian networks" (AAAI).

The best network over a varset has a leaf, and before that the best network over the others. The varsets of one size
make a layer, which needs the layer below alone: memory has the costs of two layers, 8 bytes for each varset, and disk
the leaves of all, a byte each. Nothing is pruned. A varset's place in its layer is its rank in colexicographic order,
so that no hash table is needed. BestScore comes from tables of the parent sets that can win; the paper's parent graphs
answer the same question by layers of their own.
"""

import math

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.claims import OPTIMAL
from extbnsl.core.errors import BudgetError
from extbnsl.core.events import StageAdvanced
from extbnsl.files.shelf import Column, Shelf
from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import borrowed, njit
from extbnsl.kernels.ranks import binomial_table, go_to, rank_without, start_walk
from extbnsl.lab.baselines.order_graph import best_score
from extbnsl.lab.baselines.outcome import STAGE, Outcome, rows_along
from extbnsl.machine.workers import chunks
from extbnsl.parents.best_score import ByteTables, byte_tables, byte_tables_bytes
from extbnsl.proof.context import Context
from extbnsl.scores.local import LocalScores

COST_BYTES = 8
CHUNK = 1 << 14  # varsets of a task: some milliseconds


def find(scores: LocalScores, context: Context) -> Outcome:
    """A network of least cost; a stop leaves none. O(n 2^n). counts: `expanded`, the varsets; `leaf_bytes` on disk,
    `memory_bytes`.

    Raises MemoryError, and BudgetError for the disk, before anything is written, and Stopped.
    """
    n = scores.variables
    if 1 << n > context.store.free:
        raise BudgetError(f"The leaves of {n} variables take {1 << n:,} bytes of disk.")
    layers = max(math.comb(n, size) + math.comb(n, size + 1) for size in range(n))
    memory = COST_BYTES * layers + byte_tables_bytes(scores.costs, n)
    if memory > context.memory_left:
        raise MemoryError(f"{n} variables have too many varsets.")
    tables = byte_tables(scores.parents, scores.costs, bytes_of_all=-(-n // 8))
    leaves = _leaves(tables, binomial_table(n), context)
    counts = {"expanded": 1 << n, "leaf_bytes": 1 << n, "memory_bytes": memory}
    return Outcome(OPTIMAL, rows_along(_order(leaves), scores), counts=counts)


def _leaves(tables: ByteTables, binomials: NDArray[np.int64], context: Context) -> list[NDArray[np.uint8]]:
    """The best leaf of each varset of each size from 1 to n, by its rank: uint8 (C(n, size),) each, on disk."""
    n = tables.start.size
    shelf, found = Shelf(0, context.store), []
    costs = np.zeros(1)
    for size in range(1, n + 1):
        below, costs = costs, np.empty(math.comb(n, size))
        column = shelf.column((costs.size,), np.uint8)
        tasks = [(lo, hi, size, column, below, costs, tables, binomials) for lo, hi in chunks(costs.size, CHUNK)]
        for _ in context.workers.stream(_fill_chunk, tasks, 2 * context.workers.threads, lambda _: None):
            pass
        context.observer(StageAdvanced(STAGE, size, n, "layers"))
        found.append(column.array())
    return found


def _fill_chunk(
    lo: int,
    hi: int,
    size: int,
    column: Column,
    below: NDArray[np.float64],
    costs: NDArray[np.float64],
    tables: ByteTables,
    binomials: NDArray[np.int64],
) -> None:
    """Compute the costs and leaves of the varsets of ranks lo to hi, and write the leaves."""
    leaves = np.zeros(hi - lo, np.uint8)
    _expand_chunk(lo, size, below, costs[lo:hi], leaves, tables, binomials)
    column.fill(lo, leaves)


@njit
def _expand_chunk(lo, size, below, costs, leaves, tables, binomials):
    """Costs (m,) and leaves (m,) of the m varsets of this size from rank lo on; below: the costs of the layer below."""
    below, costs, leaves, tables, binomials = borrowed((below, costs, leaves, tables, binomials))
    walk = start_walk(size, binomials)
    for at in range(costs.size):
        go_to(lo + at, walk, binomials)
        varset = u64(0)
        for k in range(size):
            varset |= u64(1) << u64(walk.members[k])
        best, leaf = np.inf, 0
        for k in range(size):
            x = walk.members[k]
            cost = below[rank_without(k, walk)] + best_score(x, varset ^ (u64(1) << u64(x)), tables)
            if cost < best:
                best, leaf = cost, x
        costs[at], leaves[at] = best, leaf


def _order(leaves: list[NDArray[np.uint8]]) -> list[int]:
    """The variables in the order in which they are leaves, the last first in time."""
    varset, order = (1 << len(leaves)) - 1, []
    for own in reversed(leaves):
        members = [v for v in range(len(leaves)) if varset >> v & 1]
        order.append(int(own[sum(math.comb(v, j) for j, v in enumerate(members, start=1))]))
        varset ^= 1 << order[-1]
    return order[::-1]
