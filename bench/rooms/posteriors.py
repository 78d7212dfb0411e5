"""Sums over all networks, or all orders."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from bench import inputs
from bench.copies import Arguments
from bench.work import of_run
from extbnsl.core.events import ignore
from extbnsl.machine.workers import Workers
from extbnsl.parents.exhaustive.state import Means
from extbnsl.posteriors import lists, network_samples, networks, order_samples, orders, weighted
from extbnsl.posteriors.network_samples import draw_networks
from extbnsl.posteriors.networks import sum_over_networks


def _summed(draws: int, tiny: bool) -> None:
    scores = inputs.random_scores(6, 10) if tiny else inputs.random_scores(14, 300)
    with Workers(1) as workers:
        *_, last = sum_over_networks(scores, Means(workers, inputs.shelf(), ignore))
        draw_networks(scores, last, workers, 1, range(draws))


def _charged(tiny: bool) -> None:
    """Which families can be charged to others: of many that weigh about as much."""
    scores = inputs.random_scores(6, 10) if tiny else inputs.random_scores(17, 2000)
    with Workers(1) as workers:
        lists.charged(scores, 1e-3, workers)


def _pairs(arguments: Arguments, _: Any) -> int:
    """The pairs of a row and one that it leads to, over those that have the same key."""
    block, middles = arguments[0], arguments[1]
    inside = np.bitwise_count(middles) + block.top.bit_count()
    return int((1 << block.high - inside.astype(np.int64)).sum())


_SUMMED, _DRAWN = partial(_summed, 1), partial(_summed, 100)


def _ordered(stretch: float, tiny: bool) -> None:
    """Sums over orders, and samples. stretch: of the costs, which makes for wide weights."""
    scores = inputs.random_scores(16, 2) if tiny else inputs.random_scores(17, 300)  # a block and more
    scores = replace(scores, costs=tuple(stretch * own for own in scores.costs))
    with Workers(1) as workers:
        means = Means(workers, inputs.shelf(), ignore)
        *_, sums = orders.sum_over_orders(scores, means)
        order_samples.sample_orders(scores, sums, means, 1, 0, 2 if tiny else 300)


_PLAIN, _WIDE = partial(_ordered, 1.0), partial(_ordered, 1000.0)


def _weighed(tiny: bool) -> None:
    """Draws by orders, weighted."""
    scores = inputs.random_scores(6, 10) if tiny else inputs.random_scores(17, 300)
    with Workers(1) as workers:
        means = Means(workers, inputs.shelf(), ignore)
        drawn = weighted.OrderedNetworks(
            scores,
            partial(orders.sum_over_orders, scores, means),
            lambda sums, seed, numbers: order_samples.sample_orders(
                scores, sums, means, seed, numbers.start, len(numbers)
            ),
        )
        for _ in weighted.weigh_draws(drawn, means, 1, 2 if tiny else 200):
            pass


def _additions(arguments: Arguments, _: object) -> int:
    """Of the sums over the subsets of each child's varsets."""
    families, children, *_ = arguments
    rows = np.where(children < families.low, families.low - 1, families.low)
    return int((rows << rows - 1).sum())


def _extended(arguments: Arguments, _: object) -> int:
    return int(arguments[1].size)


def _swept(arguments: Arguments, _: object) -> int:
    size = int(arguments[0][0].size)
    return size // 2 * (size.bit_length() - 1)


def _shared(arguments: Arguments, _: object) -> int:
    families, x, _ = arguments[0]
    row = families.low - (x < families.low)
    return int(row << row - 1)


def _drawn(arguments: Arguments, _: object) -> int:
    return int(arguments[1].size)


def _led(arguments: Arguments, _: object) -> int:
    """The variables of all draws, at each power."""
    return int(arguments[0].orders.size * (arguments[2].size - 2))


BENCHMARKS = (
    of_run("posteriors.lists._kept", lists, "family", lambda a, _: a[1].size, _charged),
    of_run("posteriors.families.weigh_inside", networks, "varset", lambda a, _: a[3][0].size, _SUMMED),
    of_run("posteriors.families.add_outside", networks, "varset", lambda a, _: a[3][0].size, _SUMMED),
    of_run("posteriors.inclusion.complete", networks, "pair of rows", _pairs, _SUMMED),
    of_run("posteriors.inclusion.pass_on", networks, "pair of rows", _pairs, _SUMMED),
    of_run("posteriors.inclusion.gather", networks, "row", lambda a, _: a[1].size, _SUMMED),
    of_run("posteriors.layer_draws.draw_layer", network_samples, "network", lambda a, _: a[3].before.size, _DRAWN),
    of_run("posteriors.lattice.weigh", orders, "addition", _additions, _PLAIN),
    of_run("posteriors.lattice.weigh/wide", orders, "addition", _additions, _WIDE),
    of_run("posteriors.lattice.extend", orders, "varset", _extended, _PLAIN),
    of_run("posteriors.lattice.sweep", orders, "edge", _swept, _PLAIN),
    of_run("posteriors.lattice.share", orders, "addition", _shared, _PLAIN),
    of_run("posteriors.lattice.share/wide", orders, "addition", _shared, _WIDE),
    of_run("posteriors.draws.draw", order_samples, "step", _drawn, _PLAIN),
    of_run("posteriors.annealed.anneal", weighted, "variable", _led, _weighed),
)
