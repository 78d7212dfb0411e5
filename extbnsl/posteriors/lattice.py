"""Sums along the orders of variables: the kernels, for one block of varsets at a time.

The varsets of a block differ in their low members, positions 0 to low - 1; `high` is what they have of the others, as a
varset of all positions moved down by `low`. Numbers of varsets are wide (wide.py). Of families, and of sums over the
families of a child, the exponents may be None: then they are plain.

A table of the weights alpha_x has a row for each position x, by the low members without x: `squeezed`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import lowest, u64
from extbnsl.kernels.compiler import borrowed, either, inlined, inner, njit
from extbnsl.posteriors.subsets import sum_subsets, sum_supersets
from extbnsl.posteriors.wide import LOWEST, added, levelled, power_of


class Families(NamedTuple):
    """The families of all children, those of a child with the same high members together.

    low: how many positions are low. weights, scales: of each family, float64 and int32 or None. places: its low
    members, squeezed, int32. highs: the high members of each group of families, int64; starts, one more, where each
    begins; groups: where those of each child begin.
    """

    low: int
    weights: NDArray[np.float64]
    scales: NDArray[np.int32] | None
    places: NDArray[np.int32]
    highs: NDArray[np.int64]
    starts: NDArray[np.int64]
    groups: NDArray[np.int64]


@inlined
def squeezed(varset, x):
    """A varset without x, which it may have, with what lies above x moved down by one."""
    return varset & (1 << x) - 1 | varset >> x + 1 << x


# --- weights of the families inside a varset


def _clear_plain(table, scales):
    for v in range(table.size):
        table[v] = 0.0


def _clear_wide(table, scales):
    for v in range(table.size):
        table[v], scales[v] = 0.0, LOWEST


def _put_plain(table, v, families, f, scales):
    table[v] += families.weights[f]


def _put_wide(table, v, families, f, scales):
    if scales[v] == families.scales[f]:  # mostly
        table[v] += families.weights[f]
    else:
        table[v], scales[v] = added(table[v], scales[v], families.weights[f], families.scales[f])


_clear, _put = either(_clear_plain, _clear_wide), either(_put_plain, _put_wide)


def _part_plain(x, first, size, scales):
    return None


def _part_wide(x, first, size, scales):
    return scales[x, first : first + size]


_part = either(_part_plain, _part_wide)


@njit
def weigh(families, children, high, table, scales):
    """Let table[x] be alpha_x of the varsets of a block, without x itself, of each x of `children`. table: (n, 2^low).
    O(2^low low) for each child, and its families inside."""
    families, children, table, scales = borrowed((families, children, table, scales))
    for x in children:
        size = 1 << families.low - (x < families.low)
        own, exponents = table[x, :size], _part(x, 0, size, scales)
        _clear(own, exponents)
        for group in range(families.groups[x], families.groups[x + 1]):
            if families.highs[group] & ~high == 0:
                for f in range(families.starts[group], families.starts[group + 1]):
                    _put(own, families.places[f], families, f, exponents)
        sum_subsets(own, exponents)


# --- along arcs of the lattice


def _exponent_plain(exponent, v, scales):
    return np.int64(exponent)


def _exponent_wide(exponent, v, scales):
    return np.int64(exponent) + np.int64(scales[v])


exponent_of = either(_exponent_plain, _exponent_wide)


@inner
def _extend(numbers, exponents, table, to, sums, scales):
    for v in range(to.size):
        product, exponent = levelled(numbers[v] * table[v], exponent_of(exponents[v], v, scales))
        to[v], sums[v] = added(to[v], sums[v], product, exponent)


@njit
def extend(source, table, scales, target):
    """Add to each number of `target` the one of `source` times the weight in `table`."""
    (numbers, exponents), table, scales, (to, sums) = borrowed((source, table, scales, target))
    _extend(numbers, exponents, table, to, sums, scales)


@njit
def sweep(target, table, scales, up):
    """Add along the arcs inside a block, in which each number has what comes from outside: from subsets to supersets,
    if `up`, or from supersets to subsets.

    Eight varsets that differ in the first three members are done one by one. As soon as all varsets are done that
    differ in the first k, they are added at once to those that have the next one too, or lack it.
    """
    (to, sums), table, scales = borrowed((target, table, scales))
    eights = to.size >> 3
    for k in range(eights):
        t = k if up else eights - 1 - k
        _sweep_eight(to, sums, table, scales, t, up)
        if k == eights - 1:
            return
        c = np.int64(lowest(u64(~k)))
        size = 8 << c
        by = 8 * (t - (1 << c) + 1) if up else 8 * t
        beside = by + size if up else by - size
        x, place = 3 + c, squeezed(by, 3 + c)
        _extend(
            to[by : by + size],
            sums[by : by + size],
            table[x, place : place + size],
            to[beside : beside + size],
            sums[beside : beside + size],
            _part(x, place, size, scales),
        )


@inlined
def _sweep_eight(to, sums, table, scales, t, up):
    for j in range(8):
        v = 8 * t + (j if up else 7 - j)
        for x in range(3):
            other = v ^ 1 << x
            if (other < v) == up:
                place = squeezed(v, x)
                product, exponent = levelled(
                    to[other] * table[x, place], exponent_of(sums[other], place, _part(x, 0, table.shape[1], scales))
                )
                to[v], sums[v] = added(to[v], sums[v], product, exponent)


# --- probabilities of families


def _set_plain(table, v, number, exponent, scales):
    table[v] = number * power_of(min(exponent, 3))


def _set_wide(table, v, number, exponent, scales):
    table[v], scales[v] = number, exponent


def _share_plain(families, f, table, scales):
    return families.weights[f] * table[families.places[f]]


def _share_wide(families, f, table, scales):
    v = families.places[f]
    number, exponent = levelled(families.weights[f] * table[v], np.int64(families.scales[f]) + np.int64(scales[v]))
    return number * power_of(min(exponent, 3))


_set, _share = either(_set_plain, _set_wide), either(_share_plain, _share_wide)


@inlined
def _meet(before, lower, after, upper, inverse):
    """The product of a number of each and a third one."""
    return levelled(
        before[0][lower] * after[0][upper] * inverse[0],
        np.int64(before[1][lower]) + np.int64(after[1][upper]) + inverse[1],
    )


@inner
def _meet_all(before, after, inverse, table, scales):
    for v in range(table.size):
        product, exponent = _meet(before, v, after, v, inverse)
        _set(table, v, product, exponent, scales)


@njit
def share(place, numbers, inverse, room, shares):
    """Add to shares[f] the probability that x has its family f and what comes before x is in a block of varsets.

    place: the families, x and the high members of the block, without x. numbers: g of the block, and h of the same
    varsets with x: of the block that has it, or of the same one if x is low. inverse: 1 over the weight of all orders.
    room: a table and its scales. shares: (m,), by the families of x.
    """
    (families, x, high), (before, after), (table, scales), shares = borrowed((place, numbers, room, shares))
    size = 1 << families.low - (x < families.low)
    own, exponents = table[0, :size], _part(0, 0, size, scales)
    if x < 3:  # slices as short as these take longer than what is done in them
        for v in range(size):
            lower = v >> x << x + 1 | v & (1 << x) - 1
            product, exponent = _meet(before, lower, after, lower | 1 << x, inverse)
            _set(own, v, product, exponent, exponents)
    else:
        step = min(size, 1 << x)
        for first in range(0, size, step):
            lower, upper = (2 * first, 2 * first + step) if x < families.low else (first, first)
            _meet_all(
                (before[0][lower : lower + step], before[1][lower : lower + step]),
                (after[0][upper : upper + step], after[1][upper : upper + step]),
                inverse,
                table[0, first : first + step],
                _part(0, first, step, scales),
            )
    sum_supersets(own, exponents)
    start = families.starts[families.groups[x]]
    for group in range(families.groups[x], families.groups[x + 1]):
        if families.highs[group] & ~high == 0:
            for f in range(families.starts[group], families.starts[group + 1]):
                shares[f - start] += _share(families, f, own, exponents)
