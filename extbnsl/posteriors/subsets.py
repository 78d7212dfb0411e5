"""Sums over all subsets, or all supersets, of each varset: the zeta transform (Yates 1937), in place.

A table has a number for each varset of log2 of its size variables, 3 at least. Numbers are plain where `exponents` is
None, otherwise wide (wide.py). All terms are positive: a sum has a relative error of a rounding for each variable.
O(size log size) additions.
"""

import numpy as np

from extbnsl.kernels.compiler import borrowed, either, inlined, inner
from extbnsl.posteriors.wide import added


@inner
def sum_subsets(table, exponents):
    """Let each entry be the sum over its subsets."""
    _sum(table, 0, exponents)


@inner
def sum_supersets(table, exponents):
    """Let each entry be the sum over its supersets."""
    _sum(table, 7, exponents)


@inlined
def _sum(table, turned, exponents):
    """Sums over subsets; with `turned` 7, which has the first three variables turned round, over supersets."""
    table, exponents = borrowed((table, exponents))
    _eights(table, turned, exponents)
    first = 8
    while first < table.size:
        for at in range(0, table.size, 2 * first):
            low, high = at, at + first
            _add(table, low if turned else high, high if turned else low, first, exponents)
        first *= 2


def _add_plain(table, to, by, size, exponents):
    target, source = table[to : to + size], table[by : by + size]
    for v in range(size):
        target[v] += source[v]


def _add_wide(table, to, by, size, exponents):
    step = min(size, 16)
    for first in range(0, size, step):
        target, source = table[to + first : to + first + step], table[by + first : by + first + step]
        scale, other = exponents[to + first : to + first + step], exponents[by + first : by + first + step]
        differ = np.int32(0)
        for v in range(step):
            differ |= scale[v] ^ other[v]
        if differ == 0:
            for v in range(step):
                target[v] += source[v]
        else:
            for v in range(step):
                target[v], scale[v] = added(target[v], scale[v], source[v], other[v])


_add = either(_add_plain, _add_wide)  # table[to + v] += table[by + v] for v below `size`


def _eights_plain(table, turned, exponents):
    for at in range(0, table.size, 8):
        _eight(table[at : at + 8], turned)


def _eights_wide(table, turned, exponents):
    for at in range(0, table.size, 8):
        own, scale = table[at : at + 8], exponents[at : at + 8]
        differ = np.int32(0)
        for v in range(8):
            differ |= scale[v] ^ scale[0]
        if differ == 0:
            _eight(own, turned)
        else:
            for bit in range(3):
                for v in range(8):
                    if v >> bit & 1:
                        to, by = v ^ turned, v ^ 1 << bit ^ turned
                        own[to], scale[to] = added(own[to], scale[to], own[by], scale[by])


_eights = either(_eights_plain, _eights_wide)  # sums over the first three variables


@inlined
def _eight(own, turned):
    for bit in range(3):
        for v in range(8):
            if v >> bit & 1:
                own[v ^ turned] += own[v ^ 1 << bit ^ turned]
