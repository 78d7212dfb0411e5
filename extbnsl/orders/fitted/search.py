"""The search over orders of continuous variables: some orders that are improved side by side, each with parents of its
own, until told to stop."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.varsets import pack
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.orders.fitted.fit import NOBODY, Gram
from extbnsl.orders.fitted.kicks import improve_fitted, new_search
from extbnsl.orders.kicks import Kicks
from extbnsl.orders.population import OrderedNetwork, Population
from extbnsl.parents.constraints import Constraints
from extbnsl.parents.exhaustive.measured import Standardised

ORDERS = 4  # that are improved side by side: more make the best of them slower
MOST_PARENTS = 64  # that a search gives a variable: more take long, and hardly ever are what the data say
KICKS = Kicks(widest=1, flips=50, transplants=20)
WORK, FEWEST = 20_000, 5  # kicks times variables in a round, and kicks at least
FAR = 8  # times as many, of hands
TINY = 1e-9  # nats that say nothing, and
RELATIVE = 1e-13  # of the cost without parents


@dataclass(frozen=True, eq=False)
class Fitting:
    """What parents are chosen from: the columns, what a parameter costs in nats, what the kernels know of them, and the
    most parents of a child that a search tries."""

    columns: Standardised
    price: float
    gram: Gram
    most: int

    @property
    def variables(self) -> int:
        """The number n of variables."""
        return self.gram.variables

    @property
    def bytes(self) -> int:
        """Memory that a search takes for each thread, about."""
        n, k = self.variables, self.most
        return 8 * n * n + 48 * n * k + 200 * n

    def network(self, order: NDArray[np.int32], parents: NDArray[np.int32]) -> OrderedNetwork:
        """The network of these parents (n, k), NOBODY beyond, and what the score says that it costs; infinity if a
        family is singular. O(n N k^2)."""
        own = tuple(tuple(sorted(row[row != NOBODY].tolist())) for row in parents)
        n = len(own)
        costs = [float(self.columns.costs(x, pack(family, n)[None], self.price)[0]) for x, family in enumerate(own)]
        costs.append((self.gram.price - self.price) * sum(map(len, own)))
        return OrderedNetwork(order.copy(), own, math.fsum(costs))

    def order(self, state: NDArray[np.uint64]) -> NDArray[np.int32]:
        """A random order, int32 (n,), in which all that must be parents stand before their children; the state uint64
        (1,) is carried on."""
        rng = np.random.default_rng(int(state[0]))
        state[0] = rng.integers(1, 2**63)
        keys, left = rng.random(self.variables), self.gram.needed.copy()
        ready = sorted(np.flatnonzero(left == 0).tolist(), key=lambda x: keys[x])
        if not left.any():
            return np.array(ready, np.int32)
        order = list[int]()
        while ready:
            x = ready.pop(int(rng.integers(len(ready))))
            order.append(x)
            for child in np.flatnonzero(self.gram.required[:, x]).tolist():
                left[child] -= 1
                if left[child] == 0:
                    ready.append(child)
        return np.array(order, np.int32)


def fitting(columns: Standardised, constraints: Constraints, price: float, each: float = 0.0) -> Fitting:
    """What a search of columns under these constraints needs, if a parameter costs the price, and an arc so much
    besides, in nats. O(n^3)."""
    half, must, of_parent = columns.total / 2, constraints.required.sum(axis=0), price + each
    most = np.minimum(constraints.limits, np.maximum(must, min(columns.largest - 1, MOST_PARENTS)))
    tiny = TINY + RELATIVE * float(np.abs(columns.own).max())
    gram = Gram(
        matrix=np.ascontiguousarray(columns.factor @ columns.factor.T),
        half=half,
        price=of_parent,
        allowed=np.ascontiguousarray(constraints.allowed.T),
        required=np.ascontiguousarray(constraints.required.T),
        needed=must,
        limits=most,
        missing=1.0 - float(columns.least.sum()) + of_parent * float(most.sum()),
        regular=not columns.collinear,
        least=-math.expm1(-(of_parent + tiny) / half),
        tiny=tiny,
    )
    return Fitting(columns, price, gram, max(1, int(most.max())))


def search_fitted(
    problem: Fitting,
    workers: Workers,
    seed: int | Population,
    on_better: Callable[[float], None],
    *,
    rounds: int | None = None,
    on_round: Callable[[Population], None] = lambda population: None,
) -> OrderedNetwork:
    """The best network that iterated local search finds, until `workers` are told to stop, or after so many rounds.

    One order begins; in each round as many join as there are, until there are ORDERS. All else is as in
    `extbnsl.orders.population.search_lists`. A network costs what the score says of its families: what the search goes
    by decides which are looked at.
    """
    if isinstance(seed, Population):
        parents = _widened(seed.parents, len(seed.orders), problem)
        orders, states, best = seed.orders.copy(), seed.states.copy(), seed.best
    else:
        states = np.random.default_rng(seed).integers(1, 2**63, size=(ORDERS, 1), dtype=np.uint64)
        orders = np.stack([problem.order(state) for state in states])
        parents = _widened(None, ORDERS, problem)
        best = problem.network(orders[0], _required(problem))
    crowd = _Crowd(problem, orders, states, parents, np.full(len(orders), math.inf))
    on_better(best.cost)
    on_round(crowd.population(best))
    done = 0
    while problem.variables > 1 and done != rounds:
        stopped = crowd.improve(workers)
        found = crowd.best(best)
        if found is not best:
            best = found
            on_better(best.cost)
        if not stopped:
            crowd.begin_twins_anew()
            done += 1
        on_round(crowd.population(best))
        if stopped:
            break
    return best


@dataclass(eq=False)
class _Crowd:
    """The orders (m, n), the states of their random numbers, their parents (m, n, k) and what they cost, but for what
    does not depend on parents; infinity where nothing is known yet, and all variables have to move."""

    problem: Fitting
    orders: NDArray[np.int32]
    states: NDArray[np.uint64]
    parents: NDArray[np.int32]
    costs: NDArray[np.float64]

    def population(self, best: OrderedNetwork) -> Population:
        """What to go on with, which does not change any more."""
        width = max(1, int((self.parents != NOBODY).sum(axis=2).max()))
        return Population(self.orders.copy(), self.states.copy(), best, self.parents[:, :, :width].copy())

    def improve(self, workers: Workers) -> bool:
        """One round, and some more orders join; returns whether there was a stop, until which some were improved."""
        begun = max(1, int((self.parents != NOBODY).any(axis=(1, 2)).sum()))
        known = np.flatnonzero(np.isfinite(self.costs)).tolist()
        among = min(len(self.orders), begun if len(known) < begun else 2 * begun)
        places = np.argsort(self.orders, axis=1).astype(np.int32)
        number = max(FEWEST, WORK // self.problem.variables) * (1 if workers.hands is None else FAR)
        tasks = [
            (
                k,
                self.orders[k],
                self.parents[k],
                self.states[k],
                KICKS._replace(number=number if math.isfinite(self.costs[k]) else 0),
                places[[other for other in known if other != k]],
                workers.halt,
                self.problem.gram,
            )
            for k in range(among)
        ]
        workers.keep(self.problem.gram)
        try:
            for found in workers.spread(improved, tasks, len(tasks), self._take, ordered=False):
                self._take(found)
        except Stopped:
            return True
        return False

    def _take(self, found: tuple[int, NDArray[np.int32], NDArray[np.int32], NDArray[np.uint64], float]) -> None:
        k, order, parents, state, cost = found
        if math.isfinite(cost):
            self.orders[k], self.parents[k], self.states[k], self.costs[k] = order, parents, state, cost

    def best(self, before: OrderedNetwork) -> OrderedNetwork:
        """The best network, or the one of before if none is better."""
        for k in np.argsort(self.costs, kind="stable").tolist():
            if math.isinf(self.costs[k]):
                break
            found = self.problem.network(self.orders[k], self.parents[k])
            if math.isfinite(found.cost):  # rounding may let a singular family pass
                return found if found.cost < before.cost - self.problem.gram.tiny else before
        return before

    def begin_twins_anew(self) -> None:
        """Let all but the first of orders with the same cost be random again: they would only learn from themselves."""
        seen = list[float]()
        for k, cost in enumerate(self.costs.tolist()):
            if math.isfinite(cost) and any(abs(cost - other) <= self.problem.gram.tiny for other in seen):
                self.orders[k], self.costs[k] = self.problem.order(self.states[k]), math.inf
            seen.append(cost)


def improved(
    k: int,
    order: NDArray[np.int32],
    parents: NDArray[np.int32],
    state: NDArray[np.uint64],
    *given: Any,
) -> tuple[int, NDArray[np.int32], NDArray[np.int32], NDArray[np.uint64], float]:
    """Order k with its parents, the state of its random numbers, and its cost, after a round; see `improve_fitted`."""
    *rest, gram = given
    order, parents, state = order.copy(), parents.copy(), state.copy()
    cost = improve_fitted(order, parents, state, *rest, new_search(gram, parents.shape[1]))
    return k, order, parents, state, cost


def _required(problem: Fitting) -> NDArray[np.int32]:
    """The parents that must be, (n, k), NOBODY beyond."""
    parents = np.full((problem.variables, problem.most), NOBODY, np.int32)
    for x in np.flatnonzero(problem.gram.needed).tolist():
        own = np.flatnonzero(problem.gram.required[x])
        parents[x, : own.size] = own
    return parents


def _widened(parents: NDArray[np.int32] | None, orders: int, problem: Fitting) -> NDArray[np.int32]:
    """The same parents, or none, with room for as many as there may be."""
    wide = np.full((orders, problem.variables, problem.most), NOBODY, np.int32)
    if parents is not None:
        width = min(problem.most, parents.shape[2])
        wide[:, :, :width] = parents[:, :, :width]
    return wide
