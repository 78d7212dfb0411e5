"""Sums over orders, layer by layer."""

import numpy as np

from bench import inputs
from bench.copies import Arguments
from bench.work import of_run
from extbnsl.core.events import ignore
from extbnsl.machine.workers import Workers
from extbnsl.parents.exhaustive.state import Means
from extbnsl.posteriors import completions, layered_samples, layers, tuning


def _summed(tiny: bool) -> None:
    """Two passes, the first of which keeps some nodes only."""
    scores = inputs.random_scores(12, 10) if tiny else inputs.random_scores(20, 300)
    limits = layers.Limits(0.0, 10_000 if tiny else 40_000)
    with Workers(1) as workers:
        for state in layers.sum_in_layers(scores, Means(workers, inputs.shelf(), ignore), limits):
            if state.turn == 1 and state.reached == 0:
                break


def _sampled(tiny: bool) -> None:
    """Samples after one pass."""
    scores = inputs.random_scores(6, 10) if tiny else inputs.random_scores(20, 300)
    limits = layers.Limits(1e-3, 7 if tiny else 4_000)
    with Workers(1) as workers:
        means = Means(workers, inputs.shelf(), ignore)
        *_, sums = layers.sum_in_layers(scores, means, limits)
        layered_samples.sample_in_layers(scores, sums, means, limits, 1, range(2 if tiny else 500))


def _products(arguments: Arguments, _: object) -> int:
    return int(arguments[2].size * arguments[3].size)


BENCHMARKS = (
    of_run("posteriors.completions._alpha", completions, "varset", lambda a, _: a[1].size, _summed),
    of_run("posteriors.completions._extend", completions, "edge", lambda a, _: a[1].size // 2, _summed),
    of_run("posteriors.completions._reduced", completions, "look", _products, _summed),
    of_run("posteriors.completions.log_through", layers, "node", lambda a, _: a[0].size, _summed),
    of_run("posteriors.layered_samples._draw", layered_samples, "step", lambda a, _: a[0].size, _sampled),
    of_run("posteriors.steps.completed", layers, "node", lambda a, _: a[1] - a[0], _summed),
    of_run("posteriors.steps.successors", layers, "node", lambda _, found: found[0].size, _summed),
    of_run("posteriors.tuning._counted", tuning, "look", lambda a, _: a[1].size * a[3].size, _summed),
    of_run("posteriors.tuning._fill_logs", tuning, "node", lambda a, _: a[0].size, _summed),
    of_run("posteriors.tuning._flow_on", tuning, "place", lambda a, _: int(np.count_nonzero(a[0])), _summed),
)
