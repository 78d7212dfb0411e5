"""All benchmarks, by the rooms of the package that their kernels lie in."""

from bench.rooms import (
    baselines,
    bounds,
    data,
    kbest,
    kernels,
    layered,
    orders,
    parents,
    posteriors,
    scores,
    search,
    verify,
)
from bench.work import Benchmark

ROOMS = (kernels, data, scores, parents, orders, bounds, search, verify, kbest, posteriors, layered, baselines)
BENCHMARKS: tuple[Benchmark, ...] = tuple(benchmark for room in ROOMS for benchmark in room.BENCHMARKS)
