"""Upper bounds H(U) of the sum over all ways to complete an order that begins with the variables of U.

Let h(U) be the sum, over all orders of the variables outside U, of the product of alpha_i(what is before i), U
included. Expanded, it is a sum over orders and families of which each lies before its child.

**Clusters.** The first member of a cluster C in an order has no parent in C. So if C has no member in U, at least one
of the families counts for C: one of a child in C with parents disjoint from C. Let lambda_C >= 0, and w'_i(P) = w_i(P)
times exp(the sum of lambda_C over the clusters that (i, P) counts for). Then the product of the w' of a term of h(U) is
at least that of the w, times exp(the sum of lambda_C over the clusters disjoint from U): those with a member in U at
worst bring factors of 1 or more. So h(U) <= h'(U) exp(-sum of lambda_C over the clusters disjoint from U), h' made of
w'.

**Groups.** Let groups A, B, ... be a partition of the variables. An order of the rest is an order of the rest of each
group and one of the r! / (r_A! r_B! ...) interleavings of these; and alpha_i(before) <= alpha_i((before and A) with all
other groups) for i in A, since alpha_i only grows. So with

    S_A(X) = sum over the orders of A without X of the product of alpha_i((X and what of A is before i) with V - A)

h(U) <= r! times the product over the groups of S_A(U and A) / r_A!, where r_A variables of A are left, and r in all.
S_A is made by its recurrence, S_A(X) = sum over i of alpha_i(X with V - A) S_A(X + i): 2^|A| of them. Both together, h'
bounded by groups: clusters inside one group say nothing that its S_A does not, so those count that are across.

Such a relaxation holds whatever its groups and multipliers are; `tuning` looks for good ones.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.multipliers import UNIT
from extbnsl.kernels.bits import lowest, popcount, u64
from extbnsl.kernels.compiler import borrowed, inlined, njit
from extbnsl.machine.workers import Workers, chunks
from extbnsl.posteriors.inside import Families, Inside, inside_tables, rounding_along, sums_inside
from extbnsl.posteriors.wide import LOWEST, NATS, Wide, normal, share_of

BOUND_CUT = 2.0**-10  # what a bound may be too high by each sum in it
ROWS = 1 << 13  # of a group's table that are made together
ROUNDING = 2.0**-40  # of a logarithm of a bound, of what it is made of


@dataclass(frozen=True)
class Relaxation:
    """A partition of the variables into groups, and clusters (k,) uint64 with multipliers (k,) float64 >= 0, in nats,
    whole multiples of UNIT; no cluster is inside a group."""

    groups: tuple[tuple[int, ...], ...]
    clusters: NDArray[np.uint64]
    multipliers: NDArray[np.float64]


def across(groups: Sequence[Sequence[int]], clusters: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which of the clusters (k,) are inside no group."""
    inside = np.zeros(len(clusters), np.bool_)
    for group in groups:
        inside |= clusters & ~np.uint64(sum(1 << x for x in group)) == 0
    return ~inside


@dataclass(frozen=True)
class Relaxed:
    """A relaxation of families, worked out: the families of least w' first, with their tables; gains (n,): of each
    child what its cheapest family costs less by the multipliers. sums: S_A of each group, at the places of its subsets,
    where bit k stands for its variable number k; of weights beside that of the cheapest family."""

    relaxation: Relaxation
    families: Families
    tables: Inside
    places: tuple[NDArray[np.int64], ...]
    gains: NDArray[np.float64]
    sums: tuple[Wide, ...]


def relaxed(relaxation: Relaxation, families: Families, workers: Workers) -> Relaxed:
    """Work out a relaxation: |A|^2 2^|A| steps for each group, and passes over the families."""
    n, halt = len(families.costs), workers.halt
    tasks = [(child, *own, relaxation.clusters, relaxation.multipliers, halt) for child, own in _each(families)]
    costs = workers.map(_reduced, tasks)
    orders = [np.argsort(own, kind="stable") for own in costs]
    parents = [own[order] for own, order in zip(families.parents, orders, strict=True)]
    costs = [own[order] for own, order in zip(costs, orders, strict=True)]
    tables, places = inside_tables(Families(parents, costs), BOUND_CUT)
    gains = np.array([families.costs[x][0] - costs[x][0] for x in range(n)])
    sums = tuple(_group_sums(group, tables, workers) for group in relaxation.groups)
    return Relaxed(relaxation, Families(parents, costs), tables, places, gains, sums)


def _each(families: Families) -> Iterator[tuple[int, tuple[NDArray[np.uint64], NDArray[np.float64]]]]:
    """Each child with its parent sets and costs."""
    return enumerate(zip(*families, strict=True))


@njit
def _reduced(child, parents, costs, clusters, multipliers, halt):
    """What families (m,) of a child cost, less the multipliers of the clusters that they count for. Of no use once
    halt[0] is set."""
    parents, costs, clusters, multipliers, halt = borrowed((parents, costs, clusters, multipliers, halt))
    reduced = np.empty(costs.size)
    for j in range(costs.size):
        reduced[j] = costs[j]
    for c in range(clusters.size):
        if halt[0]:
            break
        if clusters[c] >> u64(child) & u64(1) and multipliers[c] > 0.0:
            for j in range(costs.size):
                reduced[j] -= 0.0 if parents[j] & clusters[c] else multipliers[c]
    return reduced


def _group_sums(group: Sequence[int], tables: Inside, workers: Workers) -> Wide:
    """S_A of a group."""
    size = 1 << len(group)
    mantissas, exponents = np.zeros(size), np.full(size, LOWEST, np.int32)
    mantissas[-1], exponents[-1] = 1.0, 0
    for lo, hi in reversed(chunks(size, ROWS)):
        _, sums, levels = alphas_of(group, lo, hi, tables, workers)
        _extend(lo, sums, levels, mantissas, exponents)
    return mantissas, exponents


def alphas_of(
    group: Sequence[int], lo: int, hi: int, tables: Inside, workers: Workers
) -> tuple[NDArray[np.uint64], NDArray[np.float64], NDArray[np.int32]]:
    """The varsets X with V - A of the places lo:hi of a group, (places,), and of each of its variables alpha there, not
    from below: (|A|, places) twice. What it is where the variable is a member means nothing."""
    outside = np.uint64(((1 << len(tables.start)) - 1) ^ sum(1 << x for x in group))
    places = np.arange(lo, hi, dtype=np.uint64)
    varsets = np.full(hi - lo, outside)
    for k, x in enumerate(group):
        varsets |= (places >> np.uint64(k) & np.uint64(1)) << np.uint64(x)
    found = workers.map(_alpha, [(x, varsets, tables) for x in group])
    return varsets, np.stack([own for own, _ in found]), np.stack([own for _, own in found])


@njit
def _alpha(child, varsets, tables):
    """`sums_inside`, from above."""
    varsets, tables = borrowed((varsets, tables))
    totals, exponents = np.empty(varsets.size), np.empty(varsets.size, np.int32)
    sums_inside(child, varsets, tables, 1, totals, exponents)
    return totals, exponents


@njit
def _extend(begin, sums, levels, mantissas, exponents):
    """S_A at the places from `begin` on, from sums and levels (|A|, places) of alpha there, into wide numbers that know
    all later ones."""
    sums, levels, mantissas, exponents = borrowed((sums, levels, mantissas, exponents))
    everything = u64(mantissas.size - 1)
    for at in range(sums.shape[1] - 1, -1, -1):
        place = u64(begin + at)
        missing = everything & ~place
        if not missing:
            continue
        top = np.int32(2 * LOWEST)
        rest = missing
        while rest:
            k = lowest(rest)
            top = max(top, levels[k, at] + exponents[place | (u64(1) << k)])
            rest &= rest - u64(1)
        total = 0.0
        rest = missing
        while rest:
            k = lowest(rest)
            to = place | (u64(1) << k)
            total += sums[k, at] * mantissas[to] * share_of(top - levels[k, at] - exponents[to])
            rest &= rest - u64(1)
        mantissas[place], exponents[place] = normal(total, top)


class Completions(NamedTuple):
    """A relaxation, ready for kernels: log H(U) = log_factorial[n - |U|] + the sum over the groups g of tables[start[g]
    + place], where the place of U in a group's table is the sum over bytes b of spread[g, b, byte b of U], less the sum
    of multipliers[c], in UNITs, over the clusters[c] that are disjoint from U.

    tables float64, start int64, spread (groups, bytes, 256) uint32, clusters uint64, multipliers int64, log_factorial
    (n + 1,) float64.
    """

    tables: NDArray[np.float64]
    start: NDArray[np.int64]
    spread: NDArray[np.uint32]
    clusters: NDArray[np.uint64]
    multipliers: NDArray[np.int64]
    log_factorial: NDArray[np.float64]


def completions(bound: Relaxed) -> Completions:
    """The bound for kernels, from above, whatever is rounded."""
    relaxation, n = bound.relaxation, len(bound.gains)
    made = [_logs(group, bound.gains, sums) for group, sums in zip(relaxation.groups, bound.sums, strict=True)]
    active = relaxation.multipliers > 0.0
    multipliers = relaxation.multipliers[active]
    size = math.fsum(float(np.abs(own).max()) for own in bound.families.costs) + n * math.fsum(multipliers.tolist())
    rounding = ROUNDING * (n + size) + rounding_along(bound.families)
    return Completions(
        tables=np.concatenate(made),
        start=np.cumsum([0] + [len(table) for table in made])[:-1].astype(np.int64),
        spread=np.stack([_spread(group, -(-n // 8)) for group in relaxation.groups]),
        clusters=relaxation.clusters[active],
        multipliers=(multipliers / UNIT).astype(np.int64),
        log_factorial=np.array([math.lgamma(left + 1.0) for left in range(n + 1)]) + rounding,
    )


def _logs(group: Sequence[int], gains: NDArray[np.float64], sums: Wide) -> NDArray[np.float64]:
    """log S_A(X) - log r_A! of each subset X of a group, and the gains of what is left: (2^|A|,)."""
    size = 1 << len(group)
    left = len(group) - np.bitwise_count(np.arange(size, dtype=np.uint64)).astype(np.int64)
    with np.errstate(divide="ignore"):
        logs = np.log(sums[0]) + sums[1] * NATS
    for k, x in enumerate(group):
        logs += np.where(np.arange(size) >> k & 1, 0.0, gains[x])
    return logs - np.array([math.lgamma(k + 1.0) for k in range(len(group) + 1)])[left]


def _spread(group: Sequence[int], size: int) -> NDArray[np.uint32]:
    """What each value of each of so many bytes of a varset adds to its place in the table of a group."""
    found = np.zeros((size, 256), np.uint32)
    for place, variable in enumerate(group):
        found[variable // 8] |= (np.arange(256, dtype=np.uint32) >> variable % 8 & 1) << place
    return found


@inlined
def log_completions(varset, bounds):
    """log H(U), but for log r!, at least."""
    tables, start, spread, clusters, multipliers, _ = bounds
    units = np.int64(0)  # whole numbers are added several at a time
    for c in range(u64(clusters.size)):
        units += np.int64(0) if clusters[c] & varset else multipliers[c]
    total = -units * UNIT
    for g in range(u64(start.size)):
        place = u64(start[g])
        for b in range(u64(spread.shape[1])):
            place += u64(spread[g, b, (varset >> (b << u64(3))) & u64(255)])
        total += tables[place]
    return total


@njit
def log_through(varsets, mantissas, exponents, bounds):
    """log of g(U) H(U) of each node, at least: what all orders weigh together that begin with U, by bounds. (m,)
    float64, -inf where there is none."""
    varsets, mantissas, exponents, bounds = borrowed((varsets, mantissas, exponents, bounds))
    found = np.empty(varsets.size)
    n = bounds.log_factorial.size - 1
    for i in range(varsets.size):
        log_g = np.log(mantissas[i]) + exponents[i] * NATS
        completions = log_completions(varsets[i], bounds)
        found[i] = log_g + completions + bounds.log_factorial[n - np.int64(popcount(varsets[i]))]
        if found[i] > -np.inf:
            found[i] += ROUNDING * (n + abs(log_g))
    return found
