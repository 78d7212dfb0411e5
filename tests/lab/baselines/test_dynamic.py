"""Dynamic programming over all varsets, on disk and by layers: what it takes, and that the system says so too."""

import contextlib
import math
import os

import naive
import numpy as np
import pytest
from asking import solve_by
from cases import random_dataset, random_families, scores_of
from large import most_memory_of

from extbnsl.core.claims import DISK_LIMIT, MEMORY_LIMIT, OPTIMAL, Claim
from extbnsl.lab.baselines import dynamic
from extbnsl.lab.baselines.methods import BaselineMethods
from extbnsl.machine.budgets import Budgets
from extbnsl.solver.place import Place

METHODS = ("dp", "layered-dp")
DISK = {"dp": lambda n: 8 * n << (n - 1), "layered-dp": lambda n: (1 << n) - 1}  # of the empty set nothing is kept


def found(problem, method, memory=1 << 28, disk=1 << 28, threads=1, place=Place(), **how):
    budgets = Budgets(memory=memory, disk=disk, threads=threads)
    return solve_by(problem, Claim(), BaselineMethods(method), budgets, place, **how)


@pytest.mark.parametrize("method", METHODS)
def test_every_varset_is_looked_at_and_disk_takes_what_the_formula_says(method):
    data = random_dataset(np.random.default_rng(1), 11, 100)
    result = found(data, method)
    assert result.stats["counts"]["expanded"] == 1 << 11
    assert result.stats["peak_disk_bytes"] == DISK[method](11)


@pytest.mark.parametrize("method", METHODS)
def test_memory_is_told(method):
    """From families, so that nothing is counted; tables on disk take none of it."""
    scores = scores_of(random_families(np.random.default_rng(4), 18, most=30))
    results = [found(scores, method)]  # now all is compiled
    peak = most_memory_of(lambda: results.append(found(scores, method)))
    told = results[0].stats["counts"]["memory_bytes"]
    assert told <= peak + (1 << 19)
    assert peak <= 1.25 * told + (1 << 19)


@pytest.mark.parametrize("method", METHODS)
def test_the_system_sees_as_much_on_disk(method, tmp_path):
    """The files have no names: the process knows them by what it has open, and the system counts their blocks."""
    data = random_dataset(np.random.default_rng(2), 14, 100)
    seen = [0]

    def look():
        seen[0] = max(seen[0], held_in(tmp_path))

    result = found(data, method, place=Place(scratch_dir=tmp_path), stop=look)
    assert result.status == OPTIMAL
    assert seen[0] >= result.stats["peak_disk_bytes"] / 2
    assert seen[0] <= result.stats["peak_disk_bytes"] + (14 + 1) * 4096  # of each file a part of a block is empty


def held_in(folder):
    """Bytes that the open files of this process take in a folder, each file once."""
    blocks = {}
    for descriptor in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # it has been closed
            if os.readlink(f"/proc/self/fd/{descriptor}").startswith(f"{folder}/"):
                status = os.stat(f"/proc/self/fd/{descriptor}")
                blocks[status.st_ino] = status.st_blocks
    return 512 * sum(blocks.values())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("n", "budget", "status"), [(12, {"disk": 1000}, DISK_LIMIT), (40, {}, DISK_LIMIT)])
def test_a_disk_that_is_too_small_is_told_before_it_is_written(method, n, budget, status):
    scores = scores_of(random_families(np.random.default_rng(3), n))
    result = found(scores, method, **budget)
    assert result.status == status
    assert result.stats["peak_disk_bytes"] == 0
    assert result.network.order() is not None


@pytest.mark.parametrize("method", METHODS)
def test_a_memory_that_is_too_small_is_told_before_disk_is_written(method):
    scores = scores_of(random_families(np.random.default_rng(4), 24))
    result = found(scores, method, memory=1 << 24, disk=1 << 34)
    assert result.status == MEMORY_LIMIT
    assert result.stats["peak_disk_bytes"] == 0


@pytest.mark.parametrize("method", METHODS)
def test_the_same_with_any_number_of_threads(method):
    data = random_dataset(np.random.default_rng(5), 9, 120)
    one, three = (found(data, method, threads=threads) for threads in (1, 3))
    assert one.network == three.network


@pytest.mark.parametrize("seed", range(6))
def test_several_blocks_and_chunks(seed, sizes):
    """With blocks so small that there are many of each."""
    sizes({"dynamic.BLOCK_BITS": 3, "layered.CHUNK": 5})
    rng = np.random.default_rng(seed)
    families = random_families(rng, 9, costs=lambda count: rng.normal(0.0, 30.0, count))
    optimum = naive.optimal_cost_dp(9, naive.best_scores(naive.cost_table(9, families)))
    for method in METHODS:
        assert math.isclose(found(scores_of(families), method).cost, optimum, abs_tol=1e-9)


def test_the_tables_have_the_best_score_of_every_set():
    """Over more bits than a processor's cache is taken to have."""
    n = 7
    families = random_families(np.random.default_rng(6), n, most=40)
    scores, best = scores_of(families), naive.best_scores(naive.cost_table(n, families))
    for child in range(n):
        table = np.full(1 << (n - 1), np.inf)
        table[dynamic._without(scores.parents[child][:, 0], child)] = scores.costs[child]
        dynamic._spread(table, np.zeros(1, np.uint8))
        others = [varset for varset in range(1 << n) if not varset >> child & 1]
        assert np.array_equal(table, best[child, others])


@pytest.mark.slow
def test_a_table_larger_than_the_cache():
    """Each entry is the least of its subsets: here the entry of the lowest family alone, the empty one apart."""
    table = np.full(1 << 17, np.inf)
    table[0], table[1 << 16], table[(1 << 15) + 1] = 3.0, 2.0, 1.0
    dynamic._spread(table, np.zeros(1, np.uint8))
    entries = np.arange(table.size)
    has_second = (entries >> 16 & 1) == 1
    has_third = (entries & ((1 << 15) + 1)) == (1 << 15) + 1
    assert np.array_equal(table, np.where(has_third, 1.0, np.where(has_second, 2.0, 3.0)))
