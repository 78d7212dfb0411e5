"""Insertions and windows: each says what a fresh evaluation says, and leaves what a fresh line has."""

import numpy as np
import pytest
from calling import called
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lists import cost_along, random_lists

from extbnsl.orders.line import new_line, total_cost
from extbnsl.orders.moves import best_move, forget, move, new_sweep

best_move, forget, move, new_sweep, new_line, total_cost = map(
    called, (best_move, forget, move, new_sweep, new_line, total_cost)
)

SETTINGS = settings(deadline=None, max_examples=30, suppress_health_check=list(HealthCheck))


def moved(order, begin, end, target):
    """An order whose window begins at `target`."""
    rest = [*order[:begin], *order[end:]]
    return [*rest[:target], *order[begin:end], *rest[target:]]


def problem(seed, n, needy=0.0):
    families, lists = random_lists(seed, n, needy)
    order = np.random.default_rng(seed).permutation(n).astype(np.int32)
    return families, lists, order


@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 9), st.integers(1, 4))
def test_a_sweep_finds_the_best_of_all_places(seed, n, size):
    families, lists, order = problem(seed, n)
    size = min(size, n)
    line, sweep = new_line(order, lists), new_sweep(n)
    now = cost_along(order, families)
    for begin in range(n - size + 1):
        window = (begin, begin + size)
        target, change = best_move(window, line, lists, sweep)
        costs = [cost_along(moved(order, *window, other), families) for other in range(n - size + 1)]
        if target == begin:
            assert min(costs) >= now - 1e-9
        else:
            assert change == pytest.approx(min(costs) - now, abs=1e-9)
            assert costs[target] == pytest.approx(min(costs), abs=1e-9)
        forget(sweep)
        assert not sweep.jump.any()
        assert not sweep.marks.any()


@SETTINGS
@given(st.integers(0, 2**32), st.integers(2, 9), st.integers(1, 4), st.floats(0.0, 1.0))
def test_moves_leave_the_line_of_their_order(seed, n, size, needy):
    _, lists, order = problem(seed, n, needy)
    rng = np.random.default_rng(seed)
    size = min(size, n)
    line, sweep = new_line(order, lists), new_sweep(n)
    for _ in range(6):
        begin, target = rng.integers(0, n - size + 1, 2).tolist()
        before, expected = total_cost(line.choice, lists), moved(line.order.tolist(), begin, begin + size, target)
        best_move((begin, begin + size), line, lists, sweep)
        change = move((begin, begin + size), target, line, lists, sweep)
        fresh = new_line(np.array(expected, np.int32), lists)
        for name in ("order", "place", "choice"):
            assert getattr(line, name).tolist() == getattr(fresh, name).tolist()
        assert change == pytest.approx(total_cost(line.choice, lists) - before, abs=1e-9)
