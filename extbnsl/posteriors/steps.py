"""The two steps of the sums by layers, in kernels: from a layer to the next one, and back.

A layer is the kept nodes of one size, varsets ascending. The nodes of the next layer within a range of varsets come,
for each variable i, from nodes without i that are one range of the layer, and in the same order: so a task merges as
many ascending lists as there are variables. Each sum is made in the same order, whatever the ranges.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import borrowed, inlined, inner, njit
from extbnsl.posteriors.inside import Inside, share_out, sums_inside
from extbnsl.posteriors.wide import LOWEST, normal, share_of

LEAST_SHARE = 2.0**-90  # of all that there is: who gets less gets nothing


class Nodes(NamedTuple):
    """Nodes of one size: varsets (m,) uint64, ascending, with a number each, mantissas (m,) float64 and exponents (m,)
    int32 (`wide`)."""

    varsets: NDArray[np.uint64]
    mantissas: NDArray[np.float64]
    exponents: NDArray[np.int32]

    def where(self, rows: NDArray) -> "Nodes":
        """Some of them: a mask, or rows in their order."""
        return Nodes(*(column[rows] for column in self))


class Pass(NamedTuple):
    """What the way back knows of one layer beside g: total, exponent: of all orders that are kept, the sum. tables: of
    the families."""

    tables: Inside
    total: float
    exponent: int


@inner
def _range_without(varsets, variable, lo, last):
    """Where in a layer the nodes lie that with the variable more are from lo to last, among others with it."""
    bit = u64(1) << u64(variable)
    if last < bit:
        return 0, 0
    least = lo - bit if lo > bit else u64(0)
    return np.searchsorted(varsets, least), np.searchsorted(varsets, last - bit, side="right")


@inner
def _products_of(variable, lo, last, nodes, tables, found, at):
    """Write the successors by one variable that are from lo to last, with g alpha, into `found` from row `at` on; the
    row after them."""
    varsets, mantissas, exponents = nodes
    bit = u64(1) << u64(variable)
    begin, end = _range_without(varsets, variable, lo, last)
    filled = at
    for i in range(begin, end):
        if not varsets[i] & bit:
            found.varsets[filled] = varsets[i]
            filled += 1
    sums_inside(variable, found.varsets[at:filled], tables, 0, found.mantissas[at:filled], found.exponents[at:filled])
    row = at
    for i in range(begin, end):
        if not varsets[i] & bit:
            exponent = found.exponents[row] + exponents[i]
            found.mantissas[row], found.exponents[row] = normal(found.mantissas[row] * mantissas[i], exponent)
            found.varsets[row] |= bit
            row += 1
    return filled


@inlined
def _copy(source, row, target, to):
    """One node."""
    target.varsets[to] = source.varsets[row]
    target.mantissas[to] = source.mantissas[row]
    target.exponents[to] = source.exponents[row]


@inlined
def _added(source, one, other, target, to):
    """The sum of two rows of the same node."""
    first, second = source.exponents[one], source.exponents[other]
    top = max(first, second)
    total = source.mantissas[one] * share_of(top - first) + source.mantissas[other] * share_of(top - second)
    target.varsets[to] = source.varsets[one]
    target.mantissas[to], target.exponents[to] = normal(total, top)


@inner
def _merge(source, begin, middle, end, target, to):
    """Merge the ascending rows begin:middle and middle:end into `target` from row `to` on; the row after them."""
    one, other = begin, middle
    while one < middle and other < end:
        if source.varsets[one] < source.varsets[other]:
            _copy(source, one, target, to)
            one += 1
        elif source.varsets[one] > source.varsets[other]:
            _copy(source, other, target, to)
            other += 1
        else:
            _added(source, one, other, target, to)
            one += 1
            other += 1
        to += 1
    for row in range(one, middle):
        _copy(source, row, target, to)
        to += 1
    for row in range(other, end):
        _copy(source, row, target, to)
        to += 1
    return to


@inner
def _new_nodes(size):
    """Room for so many."""
    return Nodes(np.empty(size, np.uint64), np.empty(size), np.empty(size, np.int32))


@njit
def successors(lo, last, nodes, tables, halt):
    """The successors from lo to last (uint64) of a layer with their sums of g alpha, as Nodes. Of no use once halt[0]
    is set. Some dozen ns an edge."""
    nodes, tables, halt = borrowed((nodes, tables, halt))
    n = tables.start.size
    room = 0
    for variable in range(n):
        begin, end = _range_without(nodes.varsets, variable, lo, last)
        room += end - begin
    one, other = _new_nodes(room), _new_nodes(room)
    ends = np.zeros(n + 1, np.int64)  # of the lists, one after the other
    for variable in range(n):
        if halt[0]:
            break
        ends[variable + 1] = _products_of(variable, lo, last, nodes, tables, one, ends[variable])
    lists = n
    while lists > 1:  # lists side by side become one
        to = np.int64(0)
        for k in range(0, lists, 2):
            begin, middle, end = ends[k], ends[k + 1], ends[min(k + 2, lists)]
            ends[k >> 1] = to
            to = _merge(one, begin, middle, end, other, to)
        lists = (lists + 1) >> 1
        ends[lists] = to
        one, other = other, one
    end = ends[1]
    return Nodes(one.varsets[:end].copy(), one.mantissas[:end].copy(), one.exponents[:end].copy())


@njit
def completed(begin, end, nodes, following, known, shares, halt):
    """h of the nodes begin:end of a layer, (rows,) float64 and int32, from those of the following one.

    Adds to shares (words, 64) what the orders through these nodes bring to each family: of all together those that
    have it.
    """
    nodes, following, known, halt = borrowed((nodes, following, known, halt))
    size = end - begin
    mantissas, exponents = np.zeros(size), np.full(size, LOWEST, np.int32)
    rows, to = np.empty(size, np.int64), np.empty(size, np.int64)
    varsets, sums, levels = np.empty(size, np.uint64), np.empty(size), np.empty(size, np.int32)
    for variable in range(known.tables.start.size):
        if halt[0]:
            break
        bit = u64(1) << u64(variable)
        count = 0
        at = np.searchsorted(following.varsets, nodes.varsets[begin] | bit)
        for i in range(begin, end):
            if nodes.varsets[i] & bit:
                continue
            target = nodes.varsets[i] | bit
            while at < following.varsets.size and following.varsets[at] < target:
                at += 1
            if at == following.varsets.size:
                break
            if following.varsets[at] == target:
                rows[count], to[count], varsets[count] = i - begin, at, nodes.varsets[i]
                count += 1
        sums_inside(variable, varsets[:count], known.tables, 0, sums[:count], levels[:count])
        for k in range(count):
            if sums[k] == 0.0:
                continue
            i, j = rows[k], to[k]
            product, level = normal(sums[k] * following.mantissas[j], levels[k] + following.exponents[j])
            share = _share_of_all(nodes, begin + i, product, level, known)
            if share >= LEAST_SHARE:
                share_out(variable, varsets[k], sums[k], levels[k], share, known.tables, shares)
            top = max(level, exponents[i])
            total = product * share_of(top - level) + mantissas[i] * share_of(top - exponents[i])
            mantissas[i], exponents[i] = normal(total, top)
    return mantissas, exponents


@inlined
def _share_of_all(nodes, i, product, level, known):
    """g of a node times a number, of the sum over all orders."""
    mantissa, exponent = normal(nodes.mantissas[i] * product, nodes.exponents[i] + level)
    behind = np.int64(known.exponent) - exponent
    if behind > 3:
        return 0.0
    share = mantissa / known.total
    while behind > 0:
        share *= 2.0**-256
        behind -= 1
    while behind < 0:
        share *= 2.0**256
        behind += 1
    return share
