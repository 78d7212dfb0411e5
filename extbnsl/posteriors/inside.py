"""The weights of the families of a child inside a varset, added up: alpha_i(U), by byte tables.

The families of a child lie in score order, in words of 64. As in `best_score`, for each byte of a varset and each of
its values a bitset tells which families have no member of that byte outside the value; the AND over the bytes leaves
those inside. Heavy ones come first, so a sum ends where all that follow together are a small share, `cut`, of it: what
is cut off is known. All families of a word share an exponent: weights are doubles beside that (`wide`).

Weights are those beside the cheapest family of the child: exp(least - cost). So most sums are about 1, and rounding
does not grow with what all families of a child cost.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import lowest, u64
from extbnsl.kernels.compiler import borrowed, inlined, inner
from extbnsl.kernels.random import random_share
from extbnsl.parents.best_score import byte_tables
from extbnsl.posteriors.wide import LOWEST, STEP, normal, share_of, wide_of_logs

WORD = 64  # families of a word
ROUNDING = 2.0**-52  # of one operation, and more


class Inside(NamedTuple):
    """The families of n <= 64 children, ready for kernels; those of child i are words first[i] to first[i + 1].

    bits (t,) uint64: word j of the bitset of child i for value v of byte b of a varset is bits[start[i] + (b * 256 + v)
    * width[i] + j]; start, width (n,), first (n + 1,) int64; `bytes` of a varset. weights (words, 64) float64, 0 where
    there is no family, beside exponents (words,) int32; tails and tail_exponents (words,): at least what all families
    of the child after the word weigh. cut: the share at which a sum ends.
    """

    bits: NDArray[np.uint64]
    start: NDArray[np.int64]
    width: NDArray[np.int64]
    first: NDArray[np.int64]
    bytes: int
    weights: NDArray[np.float64]
    exponents: NDArray[np.int32]
    tails: NDArray[np.float64]
    tail_exponents: NDArray[np.int32]
    cut: float


class Families(NamedTuple):
    """The families of n <= 64 children: parents[i] (m,) uint64 varsets, costs[i] (m,) float64, ascending, in nats."""

    parents: Sequence[NDArray[np.uint64]]
    costs: Sequence[NDArray[np.float64]]


def rounding_along(families: Families) -> float:
    """What rounding may change the weight of an order by, as a share of it, of the first order: of each weight, of the
    sums of a child's families, and of sums over predecessors or successors, n of each. And of the sum of all orders."""
    n = len(families.costs)
    spreads = math.fsum(float(own[-1] - own[0]) for own in families.costs)
    return ROUNDING * (n * (max(map(len, families.costs)) + 3 * n) + 4.0 * spreads)


def inside_tables(families: Families, cut: float) -> tuple[Inside, tuple[NDArray[np.int64], ...]]:
    """The tables of families, and where each family lies in the weights, word by word, (m,) int64 for each child.
    Memory: 8 bytes * 4 for each family and byte of a varset.
    """
    n = len(families.costs)
    placed, padded, levels = list[NDArray[np.int64]](), list[NDArray[np.uint64]](), list[NDArray[np.int32]]()
    lists: list[NDArray[np.float64]] = []
    words = 0
    for child, (varsets, own) in enumerate(zip(*families, strict=True)):
        weights, exponents = wide_of_logs(own[0] - own)
        places = _places(exponents)
        size = -(-(int(places[-1]) + 1) // WORD)
        column = np.full(size * WORD, np.uint64(1 << child))  # never inside
        column[places] = varsets
        level, row = np.zeros(size, np.int32), np.zeros(size * WORD)
        level[places // WORD], row[places] = exponents, weights
        placed.append(places + words * WORD)
        padded.append(column[:, None])
        levels.append(level)
        lists.append(row.reshape(size, WORD))
        words += size
    tables = byte_tables(padded, [np.zeros(len(p)) for p in padded], bytes_of_all=-(-n // 8))
    first = np.cumsum([0, *map(len, levels)], dtype=np.int64)
    tails = [_tails(row, level) for row, level in zip(lists, levels, strict=True)]
    return Inside(
        bits=tables.bits,
        start=tables.start,
        width=tables.width,
        first=first,
        bytes=-(-n // 8),
        weights=np.concatenate(lists),
        exponents=np.concatenate(levels),
        tails=np.concatenate([tail for tail, _ in tails]),
        tail_exponents=np.concatenate([level for _, level in tails]),
        cut=cut,
    ), tuple(placed)


def _places(exponents: NDArray[np.int32]) -> NDArray[np.int64]:
    """A place for each family, ascending, so that those of one word have the same exponent."""
    places = np.zeros(exponents.size, np.int64)
    begin = at = 0
    for end in [*(np.flatnonzero(np.diff(exponents)) + 1).tolist(), exponents.size]:
        places[begin:end] = at + np.arange(end - begin)
        at = -(-(at + end - begin) // WORD) * WORD
        begin = end
    return places


def _tails(weights: NDArray[np.float64], exponents: NDArray[np.int32]) -> tuple[NDArray, NDArray]:
    """What the words after each weigh together at most, beside the exponent of the next one."""
    tails, levels = np.zeros(len(exponents)), np.full(len(exponents), LOWEST, np.int32)
    total, level = 0.0, exponents[-1]
    for word in range(len(exponents) - 1, 0, -1):
        total = total * (1.0 / STEP) ** min(2, int(exponents[word] - level)) + float(weights[word].sum())
        total *= 1.0 + 128.0 * ROUNDING
        level = exponents[word]
        tails[word - 1], levels[word - 1] = total, level
    return tails, levels


@inlined
def _inside(bits, word, width, varset, size):
    """The families of a word that lie inside a varset of so many bytes, a bit each; word: where its bits begin."""
    left = ~u64(0)
    for b in range(u64(size)):
        left &= bits[word + ((b << u64(8)) + ((varset >> (b << u64(3))) & u64(255))) * width]
    return left


@inlined
def _is_over(total, exponent, word, tables):
    """Whether what follows a word is at most the share `cut` of the sum so far."""
    behind = exponent - tables.tail_exponents[word]
    tail = tables.tails[word]
    if behind == 0:
        return tail <= tables.cut * total
    return behind > 1 or (behind == 1 and tail / STEP <= tables.cut * total)


@inlined
def _is_nothing(ahead, total):
    """Whether what a word with an exponent that is so much larger, or smaller, weighs is nothing beside a sum."""
    return ahead < -1 or (ahead < 0 and total >= 1.0)


@inlined
def _level_with(total, exponent, own):
    """A sum so far and its exponent, ready for the weights of a word with an exponent of its own; and whether these are
    nothing beside it."""
    if total == 0.0:
        return total, own, False
    if _is_nothing(own - exponent, total):
        return total, exponent, True
    return (total * STEP, own, False) if own < exponent else (total, exponent, False)


@inner
def sums_inside(child, varsets, tables, above, totals, exponents):
    """What the families of a child inside each of these varsets (m,) uint64 weigh: totals and exponents, as `normal`.

    A sum ends early where what is left is the share `cut` or less of it; above: 1 to add that share, so that none is
    too low but for rounding.
    """
    tables = borrowed(tables)
    bits, weights = tables.bits, tables.weights
    start, width, first = u64(tables.start[child]), u64(tables.width[child]), tables.first[child]
    for i in range(varsets.size):
        varset = varsets[i]
        total = 0.0
        exponent = np.int32(LOWEST)
        for word in range(width):
            left = _inside(bits, start + word, width, varset, tables.bytes)
            if not left:
                continue
            here = first + np.int64(word)
            total, exponent, over = _level_with(total, exponent, tables.exponents[here])
            if over:
                break
            while left:
                total += weights[here, lowest(left)]
                left &= left - u64(1)
            if _is_over(total, exponent, here, tables):
                break
        if above:
            total += tables.cut * total
        totals[i], exponents[i] = normal(total, exponent)


@inner
def share_out(child, varset, total, exponent, share, tables, shares):
    """Add to shares (words, 64) of the families of a child inside a varset what each gets of `share`, by weight.

    total, exponent: what they weigh together, as `sums_inside` found it, with the same families.
    """
    tables = borrowed(tables)
    bits, weights = tables.bits, tables.weights
    start, width, first = u64(tables.start[child]), u64(tables.width[child]), tables.first[child]
    so_far = 0.0
    level = np.int32(LOWEST)
    for word in range(width):
        left = _inside(bits, start + word, width, varset, tables.bytes)
        if not left:
            continue
        here = first + np.int64(word)
        so_far, level, over = _level_with(so_far, level, tables.exponents[here])
        if over:
            break
        factor = share_of(exponent - level) * share / total
        while left:
            weight = weights[here, lowest(left)]
            so_far += weight
            shares[here, lowest(left)] += factor * weight
            left &= left - u64(1)
        if _is_over(so_far, level, here, tables):
            break


@inner
def one_inside(child, varset, whole, share, tables):
    """Where in the weights the family of a child lies up to which those inside a varset weigh more than a share of all
    of them. whole: total and exponent, not 0, as `sums_inside` found them; share: in [0, 1)."""
    tables = borrowed(tables)
    bits, weights, (total, exponent) = tables.bits, tables.weights, whole
    start, width, first = u64(tables.start[child]), u64(tables.width[child]), tables.first[child]
    limit, found = share * total, np.int64(-1)
    for word in range(width):
        left = _inside(bits, start + word, width, varset, tables.bytes)
        if not left:
            continue
        here = first + np.int64(word)
        factor = share_of(exponent - tables.exponents[here])
        if factor == 0.0:
            break
        while left:
            found = here * WORD + np.int64(lowest(left))
            limit -= factor * weights[here, lowest(left)]
            if limit < 0.0:
                return found
            left &= left - u64(1)
    return found


@inner
def one_with(child, parent, varset, tables, state):
    """What the families of a child inside a varset weigh that have a parent: total and exponent, as `normal`; and where
    in the weights one of them lies, drawn by weight, -1 if there is none. state: of random numbers."""
    tables = borrowed(tables)
    bits, weights, without = tables.bits, tables.weights, varset & ~(u64(1) << u64(parent))
    start, width, first = u64(tables.start[child]), u64(tables.width[child]), tables.first[child]
    total, exponent, found = 0.0, np.int32(LOWEST), np.int64(-1)
    for word in range(width):
        left = _inside(bits, start + word, width, varset, tables.bytes)
        if left:
            left &= ~_inside(bits, start + word, width, without, tables.bytes)
        if not left:
            continue
        here = first + np.int64(word)
        total, exponent, over = _level_with(total, exponent, tables.exponents[here])
        if over:
            break
        while left:
            weight = weights[here, lowest(left)]
            total += weight
            if random_share(state) * total < weight:
                found = here * WORD + np.int64(lowest(left))
            left &= left - u64(1)
        if _is_over(total, exponent, here, tables):
            break
    mantissa, exponent = normal(total, exponent)
    return mantissa, exponent, found
