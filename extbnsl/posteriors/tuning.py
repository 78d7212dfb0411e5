"""Multipliers that make a bound of completions tight where it matters: at nodes through which much goes.

The logarithm of a relaxation's bound H(U) is convex in its multipliers: log S_A is that of a sum of exponentials. By
the multiplier of a cluster C it changes by

    the expected number of families of C that count for it, among the relaxed completions of U,

less 1 if C is disjoint from U. So the mean of log H over some nodes is descended along its gradient, each multiplier by
steps of its own (Kingma and Ba 2015). The expectation is that of the way back over the tables of the groups:
what comes to a subset X of a group goes on to X + i by the share that alpha_i S_A(X + i) has of S_A(X), and falls to
the families of i by their weights.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.groups import split_by_weight
from extbnsl.bounds.multipliers import UNIT
from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import borrowed, njit
from extbnsl.machine.workers import Workers, chunks
from extbnsl.posteriors.completions import (
    ROWS,
    Relaxation,
    Relaxed,
    alphas_of,
    completions,
    log_completions,
    relaxed,
)
from extbnsl.posteriors.descent import Descent
from extbnsl.posteriors.inside import Families, share_out
from extbnsl.posteriors.wide import Wide, share_of

STEP_NATS = 1.0  # of a multiplier, in the first step
STEPS_TO_HALF = 30  # until steps are half as long
MEAN_KEPT, SQUARE_KEPT = 0.8, 0.95  # of what slopes, and their squares, have been on average, in a step
PATIENCE = 8  # steps that must bring
LEAST_GAIN = 0.02  # nats, together
LEAST_FLOW = 2.0**-40  # of all that comes to a group: less is let go


class Sample(NamedTuple):
    """Nodes: varsets (m,) uint64, and how much each counts, (m,) float64, 1 in all."""

    varsets: NDArray[np.uint64]
    masses: NDArray[np.float64]


def with_pairs(
    clusters: NDArray[np.uint64], multipliers: NDArray[np.float64], n: int
) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
    """Distinct clusters with their multipliers, and all pairs of n variables that are not among them, with 0."""
    there = set(clusters.tolist())
    pairs = [1 << i | 1 << j for i in range(n) for j in range(i) if 1 << i | 1 << j not in there]
    return np.concatenate([clusters, np.array(pairs, np.uint64)]), np.append(multipliers, np.zeros(len(pairs)))


def good_groups(weights: NDArray[np.float64], count: int, seed: int | None = None) -> tuple[tuple[int, ...], ...]:
    """Groups of nearly equal size that variables with large weights (n, n) share, by a local search; from a random
    start if there is a seed."""
    order = np.arange(len(weights)) if seed is None else np.random.default_rng(seed).permutation(len(weights))
    groups = split_by_weight(weights[np.ix_(order, order)], count)
    return tuple(tuple(sorted(order[group].tolist())) for group in groups)


@dataclass(frozen=True)
class Tuned:
    """A bound with the mean of its logarithm over a sample, but for what is the same for all bounds."""

    bound: Relaxed
    mean: float


def tuned(start: Relaxation, families: Families, sample: Sample, steps: int, workers: Workers) -> Tuned:
    """The best bound of so many steps from `start`, on average over the sample; deterministic. A step takes a few times
    as long as working out the bound."""
    sample = Sample(sample.varsets, sample.masses / sample.masses.sum())
    found = relaxed(start, families, workers)
    best = Tuned(found, mean_log(found, sample))
    means, descent = [best.mean], Descent(start.clusters.size, MEAN_KEPT, SQUARE_KEPT)
    for step in range(1, steps + 1 if start.clusters.size else 1):
        if len(means) > PATIENCE and means[-1 - PATIENCE] - best.mean < LEAST_GAIN:
            break
        change = descent.direction(gradient(found, sample, workers))
        change *= STEP_NATS / (1.0 + step / STEPS_TO_HALF)
        multipliers = np.floor(np.maximum(0.0, found.relaxation.multipliers - change) / UNIT) * UNIT
        found = relaxed(replace(start, multipliers=multipliers), families, workers)
        mean = mean_log(found, sample)
        if mean < best.mean:
            best = Tuned(found, mean)
        means.append(best.mean)
    return best


def mean_log(bound: Relaxed, sample: Sample) -> float:
    """The mean of log H, but for log r! and rounding."""
    logs = np.empty(sample.varsets.size)
    _fill_logs(sample.varsets, completions(bound), logs)
    return float(sample.masses @ logs)


@njit
def _fill_logs(varsets, bounds, logs):
    """log H of each varset, but for log r!."""
    varsets, bounds = borrowed((varsets, bounds))
    for i in range(varsets.size):
        logs[i] = log_completions(varsets[i], bounds)


def gradient(bound: Relaxed, sample: Sample, workers: Workers) -> NDArray[np.float64]:
    """The gradient of the mean by the multipliers, (k,) float64."""
    shares = np.zeros(bound.tables.weights.shape)
    for group, sums in zip(bound.relaxation.groups, bound.sums, strict=True):
        _flow_through(group, sums, bound, sample, shares, workers)
    flat = shares.reshape(-1)
    clusters = bound.relaxation.clusters
    tasks = [(x, bound.families.parents[x], flat[own], clusters) for x, own in enumerate(bound.places)]
    slope = np.sum(workers.map(_counted, tasks), axis=0)
    for c, cluster in enumerate(clusters):
        slope[c] -= sample.masses[sample.varsets & cluster == 0].sum()
    return slope


def _flow_through(
    group: Sequence[int], sums: Wide, bound: Relaxed, sample: Sample, shares: NDArray[np.float64], workers: Workers
) -> None:
    """Add to shares (words, 64) what the families of a group's variables get on average over the sample."""
    size = 1 << len(group)
    places = np.zeros(sample.varsets.size, np.int64)
    for k, x in enumerate(group):
        places |= (sample.varsets >> np.uint64(x) & np.uint64(1)).astype(np.int64) << k
    flow = np.bincount(places, sample.masses, size)
    label = np.array(group, np.int64)
    for lo, hi in chunks(size, ROWS):
        if flow[lo:hi].any():
            alphas = alphas_of(group, lo, hi, bound.tables, workers)
            workers.run(_flow_on, flow, lo, label, alphas, sums, bound.tables, shares)


@njit
def _flow_on(flow, lo, label, alphas, sums, tables, shares):
    """Let what comes to the places of a group's table from lo on go on, and fall to families."""
    alphas, sums, tables = borrowed((alphas, sums, tables))
    varsets, totals, levels = alphas
    mantissas, exponents = sums
    for at in range(varsets.size):
        place = lo + at
        if flow[place] < LEAST_FLOW:
            continue
        for k in range(label.size):
            to = place | (1 << k)
            if to == place or totals[k, at] == 0.0 or mantissas[to] == 0.0:
                continue
            ahead = np.int64(levels[k, at]) + exponents[to] - exponents[place]
            part = totals[k, at] * (mantissas[to] / mantissas[place])
            part *= share_of(-ahead) if ahead <= 0 else 2.0**256
            moved = flow[place] * part
            flow[to] += moved
            if moved >= LEAST_FLOW:
                share_out(label[k], varsets[at], totals[k, at], levels[k, at], moved, tables, shares)


@njit
def _counted(child, parents, shares, clusters):
    """How many of the families (m,) of a child, by their shares, count for each cluster, (k,) float64."""
    parents, shares, clusters = borrowed((parents, shares, clusters))
    found = np.zeros(clusters.size)
    for j in range(parents.size):
        if shares[j] >= LEAST_FLOW:
            for c in range(clusters.size):
                if clusters[c] >> u64(child) & u64(1) and not parents[j] & clusters[c]:
                    found[c] += shares[j]
    return found
