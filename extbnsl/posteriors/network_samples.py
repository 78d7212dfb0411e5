"""Networks drawn at random, each by its weight: exact, and without rejection."""

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.random import random_words
from extbnsl.machine.workers import Workers
from extbnsl.posteriors.layer_draws import Draws, Lists, draw_layer
from extbnsl.posteriors.networks import NetworkSums, Part, parts_of
from extbnsl.posteriors.wide import Wide
from extbnsl.scores.local import LocalScores


def draw_networks(
    scores: LocalScores, sums: NetworkSums, workers: Workers, seed: int, numbers: range
) -> NDArray[np.int32]:
    """Some networks of a sequence of independent draws: (k, n), the row of each child's family in `scores`.

    Draw number i depends on the seed and on i alone. sums: the last state of `sum_over_networks` for these scores. The
    first layer takes O(n 2^n) for n variables of a component, once; each further one, of w variables that are left,
    O(w 2^w + families), for all draws at once that have the same variables placed. Raises Stopped as the workers do.
    """
    states = np.maximum(random_words(seed, numbers.stop)[numbers.start :], np.uint64(1))
    found = np.zeros((len(numbers), scores.variables), np.int32)
    for part, table in zip(parts_of(scores), sums.completions, strict=True):
        rows = _draw_part(part, table, workers, states)
        for place, x in part.children:
            found[:, x] = rows[:, place]
    return found


def _draw_part(part: Part, table: Wide, workers: Workers, states: NDArray[np.uint64]) -> NDArray[np.int32]:
    """Networks of a component, layer by layer; the states of the random numbers go on."""
    lists = _lists(part)
    before, placed = np.zeros((2, states.size), np.uint64)
    rows = np.zeros((states.size, part.size), np.int32)
    everyone = np.uint64((1 << part.size) - 1)
    while (placed != everyone).any():
        waiting = np.flatnonzero(placed != everyone)
        order = waiting[np.lexsort((before[waiting], placed[waiting]))]
        cuts = np.flatnonzero(np.diff(placed[order])) + 1
        groups = np.split(order, cuts)
        draws = [Draws(before[own], states[own], np.empty(own.size, np.uint64), rows[own]) for own in groups]
        tasks = zip(groups, draws, strict=True)
        workers.map(draw_layer, ((lists, table, placed[own[0]], draw, workers.halt) for own, draw in tasks))
        workers.check()
        for own, draw in zip(groups, draws, strict=True):
            begun = draw.layers > 0
            before[own] = np.where(begun, placed[own], 0)
            placed[own] = np.where(begun, placed[own] | draw.layers, 0)
            states[own], rows[own] = draw.states, draw.rows
    return rows


def _lists(part: Part) -> Lists:
    first = np.cumsum([0, *(own.size for own in part.varsets)])
    mantissas, exponents = (np.concatenate(own) for own in zip(*part.weights, strict=True))
    return Lists(first, np.concatenate(part.varsets), (mantissas, exponents))
