"""Dynamic programming over all varsets, with its tables on disk: Silander and Myllymäki 2006, "A simple approach for
finding the globally optimal Bayesian network structure", Sections 3.2 to 3.5.

For each variable a table on disk has BestScore of every set of the others. Then every varset gets its best sink: the
last variable of the best network over it. Both go through the varsets in the order of their numbers, so that the
tables are read from their beginnings to their ends. Of n variables the tables have n 2^(n-1) entries of 8 bytes, and
memory has 9 bytes for each of the 2^n varsets. Nothing is pruned, so it takes the same time whatever the data are.

The paper puts the local scores of all families on disk as well. Here they are those that can win.
"""

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.claims import OPTIMAL
from extbnsl.core.errors import BudgetError
from extbnsl.core.events import StageAdvanced
from extbnsl.files.shelf import Column, Shelf
from extbnsl.kernels.bits import lowest, u64
from extbnsl.kernels.compiler import inner, njit
from extbnsl.lab.baselines.outcome import STAGE, Outcome, rows_along
from extbnsl.machine.workers import unhalted
from extbnsl.proof.context import Context
from extbnsl.scores.local import LocalScores

ENTRY_BYTES = 8  # of a table on disk
VARSET_BYTES = 9  # of memory: the cost of the best network over it, and its sink
BLOCK_BITS = 16  # of varsets that get their sinks at a time
CACHED_BITS = 15  # of entries that stay in a processor's cache


def find(scores: LocalScores, context: Context) -> Outcome:
    """A network of least cost; a stop leaves none. O(n 2^n). counts: `expanded`, the varsets; `table_bytes` on disk,
    `memory_bytes`.

    Raises MemoryError, and BudgetError for the disk, before anything is written, and Stopped.
    """
    n = scores.variables
    size = n * ENTRY_BYTES << (n - 1)
    if size > context.store.free:
        raise BudgetError(f"The tables of {n} variables take {size:,} bytes of disk.")
    block = ENTRY_BYTES * n << min(n, BLOCK_BITS)
    of_table, of_sinks = ENTRY_BYTES << (n - 1), (VARSET_BYTES << n) + block
    if max(of_sinks, of_table + block) > context.memory_left:
        raise MemoryError(f"{n} variables have too many varsets.")
    at_once = min(n, context.workers.threads, context.memory_left // of_table)
    shelf = Shelf(0, context.store)
    sinks = _best_sinks(_tables(scores, at_once, context, shelf), context, shelf)
    counts = {"expanded": 1 << n, "table_bytes": size, "memory_bytes": max(of_sinks, at_once * of_table)}
    return Outcome(OPTIMAL, rows_along(_order(sinks), scores), counts=counts)


def best_order(scores: LocalScores) -> list[int]:
    """An order that has a network of least cost, of so few variables that all fits into memory: 8 n 2^n bytes."""
    n = scores.variables
    entries, costs, sinks = np.empty((n, 1 << n)), np.zeros(1 << n), np.zeros(1 << n, np.uint8)
    for child in range(n):
        entries[child, : 1 << (n - 1)] = _table(child, scores, unhalted())
    _sinks_of_block(0, n, entries, costs, sinks)
    return _order(sinks)


def _tables(scores: LocalScores, at_once: int, context: Context, shelf: Shelf) -> list[NDArray[np.float64]]:
    """For each child BestScore of every set of the others, by its number without the child's bit: (2^(n-1),); so many
    at once in memory."""
    n = scores.variables
    columns: list[Column] = []
    for first in range(0, n, at_once):
        own = [shelf.column((1 << (n - 1),), np.float64) for _ in range(first, min(n, first + at_once))]
        halt = context.workers.halt
        context.workers.map(_fill_table, [(first + k, column, scores, halt) for k, column in enumerate(own)])
        columns += own
        context.observer(StageAdvanced(STAGE, len(columns), n, "tables"))
    return [column.array() for column in columns]


def _fill_table(child: int, column: Column, scores: LocalScores, halt: NDArray[np.uint8]) -> None:
    """Compute the table of a child, and write it."""
    column.fill(0, _table(child, scores, halt))


def _table(child: int, scores: LocalScores, halt: NDArray[np.uint8]) -> NDArray[np.float64]:
    table = np.full(1 << (scores.variables - 1), np.inf)
    table[_without(scores.parents[child][:, 0], child)] = scores.costs[child]
    _spread(table, halt)
    return table


def _without(varsets: NDArray[np.uint64], v: int) -> NDArray[np.int64]:
    """The numbers of varsets without v, with the bit of v left out."""
    below = u64((1 << v) - 1)
    return ((varsets & below) | ((varsets & ~below) >> u64(1))).astype(np.int64)


@njit
def _spread(table, halt):
    """Let each entry be the least of those of its subsets: one bit after the other, those of a block in the cache
    together."""
    block = min(table.size, 1 << CACHED_BITS)
    for first in range(0, table.size, block):
        if halt[0]:
            return
        bit = 1
        while bit < block:
            _spread_bit(table, first, first + block, bit)
            bit *= 2
    bit = block
    while bit < table.size:
        for first in range(0, table.size, 2 * bit):
            if halt[0]:
                return
            _spread_bit(table, first, first + 2 * bit, bit)
        bit *= 2


@inner
def _spread_bit(table, lo, hi, bit):
    """Spread the entries from lo to hi over one bit, where these are multiples of twice that."""
    for start in range(lo, hi, 2 * bit):
        for i in range(start, start + bit):
            table[i + bit] = min(table[i + bit], table[i])


def _best_sinks(tables: list[NDArray[np.float64]], context: Context, shelf: Shelf) -> NDArray[np.uint8]:
    """The best sink of every varset: uint8 (2^n,)."""
    n = len(tables)
    bits = min(n, BLOCK_BITS)
    costs, sinks = np.zeros(1 << n), np.zeros(1 << n, np.uint8)
    entries = np.empty((n, 1 << bits))
    for first in range(0, 1 << n, 1 << bits):
        for v in range(n):
            if v < bits:
                own = tables[v][first >> 1 : (first >> 1) + (1 << (bits - 1))]
            elif first >> v & 1:
                start = (first & ((1 << v) - 1)) | (first >> (v + 1) << v)
                own = tables[v][start : start + (1 << bits)]
            else:
                continue
            entries[v, : own.size] = own
            shelf.touched(own.nbytes)
        context.workers.run(_sinks_of_block, first, bits, entries, costs, sinks)
        context.observer(StageAdvanced(STAGE, first + (1 << bits), 1 << n, "varsets"))
    return sinks


@njit
def _sinks_of_block(first, bits, entries, costs, sinks):
    """The best sinks, and the costs with them, of 2^bits varsets from `first` on; entries (n, 2^bits): of the tables, a
    row for each variable."""
    for offset in range(1 << bits):
        varset = u64(first + offset)
        best, sink = (np.inf, u64(0)) if varset else (0.0, u64(0))
        rest = varset
        while rest:
            v = lowest(rest)
            bit = u64(1) << v
            rest ^= bit
            entry = u64(offset)
            if v < u64(bits):
                entry = (entry & (bit - u64(1))) | (entry >> (v + u64(1)) << v)
            cost = costs[varset ^ bit] + entries[v, entry]
            if cost < best:
                best, sink = cost, v
        costs[varset], sinks[varset] = best, sink


def _order(sinks: NDArray[np.uint8]) -> list[int]:
    """The variables in the order in which they are sinks, the last first in time."""
    varset, order = sinks.size - 1, []
    while varset:
        order.append(int(sinks[varset]))
        varset ^= 1 << order[-1]
    return order[::-1]
