"""The steps of a depth-first search over parent sets: misfits by refining weighted distinct rows along its path.

A level is a parent set T with its *entries*: rows, each with its weight and the cell (joint state of T) that it lies
in. A level is made from the one above by splitting its cells; nothing is counted from the beginning again. Two things
keep the levels short:

- A cell in which the child X has one state adds nothing to N H(X | P) for any P that contains T: its entries go.
- Once only the candidates W can still be added, entries of a cell that agree on all of W and on X are joined. What is
  left says N H(X | T, W) as well, the least misfit of any set below T (Tian 2000, eq. 11): it costs one pass.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import inlined, inner
from extbnsl.kernels.hashing import slot_of, spread
from extbnsl.scores.penalty import family_penalty

PURE = 0xFFFFFFFF  # in place of the number of a cell whose entries go


class Levels(NamedTuple):
    """A stack of parent sets with their entries, and room to count in; d distinct rows.

    row, weight, cell (depth, d) uint32 of the entries; entries, cells (depth,) int64: how many. counts uint32: records
    by cell, state of the candidate, state of the child; names uint32: new numbers of cells; slots (2 d,) int32 and keys
    (d,) uint64: a hash table, see `extbnsl.kernels.hashing`; totals int64 (d,).
    """

    row: NDArray[np.uint32]
    weight: NDArray[np.uint32]
    cell: NDArray[np.uint32]
    entries: NDArray[np.int64]
    cells: NDArray[np.int64]
    counts: NDArray[np.uint32]
    names: NDArray[np.uint32]
    slots: NDArray[np.int32]
    keys: NDArray[np.uint64]
    totals: NDArray[np.int64]


@inner
def most_cells(table):
    """How many cells a split that is counted has at most.

    They are configurations, and each costs the parameters of one. K3 and DFBnB_K3 count no set whose penalty alone is
    what the empty set costs; Suzuki's method none whose penalty is more than twice the misfit of that.
    """
    rows = table.weights.size * table.arities.max()
    one = family_penalty(table.parameter, table.child_arity, 1.0)
    if one <= 0.0:
        return rows
    misfit = (table.mlogm.size - 1) * np.log(table.child_arity)
    return min(rows, np.int64(2.0 * (misfit + one) / one) + 2)


@inlined
def new_levels(depth, table):
    """Levels with room for so many, the empty parent set on the first."""
    d, cells = table.weights.size, most_cells(table)
    levels = Levels(
        np.empty((depth, d), np.uint32),
        np.empty((depth, d), np.uint32),
        np.empty((depth, d), np.uint32),
        np.zeros(depth, np.int64),
        np.zeros(depth, np.int64),
        np.empty(cells * table.child_arity, np.uint32),
        np.empty(cells, np.uint32),
        np.empty(2 * d, np.int32),
        np.empty(d, np.uint64),
        np.empty(d, np.int64),
    )
    for i in range(d):
        levels.row[0, i], levels.weight[0, i], levels.cell[0, i] = i, table.weights[i], 0
    levels.entries[0], levels.cells[0] = d, 1
    return levels


@inner
def split(top, q, levels, table):
    """Count the entries of level `top` by candidate q and the child, in levels.counts; returns N H(X | T + q)."""
    arity, child_arity = table.arities[q], np.int64(table.child_arity)
    row, weight, cell, states = levels.row[top], levels.weight[top], levels.cell[top], table.states[q]
    counts, mlogm, cells = levels.counts, table.mlogm, levels.cells[top] * arity
    for k in range(cells * child_arity):
        counts[k] = 0
    for i in range(levels.entries[top]):
        counts[(cell[i] * arity + states[row[i]]) * child_arity + table.child[row[i]]] += weight[i]
    misfit = 0.0
    for c in range(cells):
        total = np.int64(0)
        for k in range(c * child_arity, (c + 1) * child_arity):
            total += counts[k]
            misfit -= mlogm[counts[k]]
        misfit += mlogm[total]
    return misfit


@inner
def push(top, q, levels, table):
    """Make level `top` + 1, of T + q, from level `top` and the counts of its split by q."""
    arity, child_arity = table.arities[q], np.int64(table.child_arity)
    row, weight, cell, states = levels.row[top], levels.weight[top], levels.cell[top], table.states[q]
    named = 0
    for c in range(levels.cells[top] * arity):
        occurring = 0
        for k in range(c * child_arity, (c + 1) * child_arity):
            occurring += levels.counts[k] > 0
        levels.names[c] = named if occurring > 1 else PURE
        named += occurring > 1
    kept = 0
    for i in range(levels.entries[top]):
        name = levels.names[cell[i] * arity + states[row[i]]]
        if name != PURE:
            levels.row[top + 1, kept], levels.weight[top + 1, kept], levels.cell[top + 1, kept] = (
                row[i],
                weight[i],
                name,
            )
            kept += 1
    levels.entries[top + 1], levels.cells[top + 1] = kept, named


@inlined
def _cleared(entries, levels):
    """Free slots for so many keys."""
    slots = levels.slots[: 2 * entries]
    slots[:] = 0
    return slots


@inner
def join(top, labels, numbers, levels, table):
    """Join the entries of level `top`, of T, that agree on their cell, on what can still be added, W, and on the child.

    labels uint32 (d,): of each row, the joint state of W as one of so many numbers. Returns N H(X | T, W).
    """
    row, weight, cell, child_arity = levels.row[top], levels.weight[top], levels.cell[top], u64(table.child_arity)
    entries, keys = levels.entries[top], levels.keys
    slots, kept = _cleared(entries, levels), 0
    for i in range(entries):
        key = (u64(cell[i]) * u64(numbers) + u64(labels[row[i]])) * child_arity + u64(table.child[row[i]])
        at = slot_of(key, spread(key), keys, slots)
        if slots[at]:
            weight[slots[at] - 1] += weight[i]
        else:
            row[kept], weight[kept], cell[kept], keys[kept] = row[i], weight[i], cell[i], key
            kept += 1
            slots[at] = kept
    levels.entries[top] = kept
    slots, groups, misfit = _cleared(kept, levels), 0, 0.0  # the groups' m ln m less those of their entries
    for i in range(kept):
        key = u64(cell[i]) * u64(numbers) + u64(labels[row[i]])
        at = slot_of(key, spread(key), keys, slots)
        if not slots[at]:
            levels.totals[groups], keys[groups] = 0, key
            groups += 1
            slots[at] = groups
        levels.totals[slots[at] - 1] += weight[i]
        misfit -= table.mlogm[weight[i]]
    for g in range(groups):
        misfit += table.mlogm[levels.totals[g]]
    return misfit


@inner
def refine(labels, states, arity, out, levels):
    """out[i] = the number of the pair (labels[i], states[i]), from 0 on without gaps; returns how many there are.

    labels, out uint32 (d,), which may be the same.
    """
    slots, numbers = _cleared(labels.size, levels), 0
    for i in range(labels.size):
        key = u64(labels[i]) * u64(arity) + u64(states[i])
        at = slot_of(key, spread(key), levels.keys, slots)
        if not slots[at]:
            levels.keys[numbers] = key
            numbers += 1
            slots[at] = numbers
        out[i] = slots[at] - 1
    return numbers


@inlined
def smallest_after(arities):
    """The least of the arities from each place on, float64 (m + 1,); infinity at the end."""
    smallest = np.full(arities.size + 1, np.inf)
    for place in range(arities.size - 1, -1, -1):
        smallest[place] = min(smallest[place + 1], arities[place])
    return smallest
