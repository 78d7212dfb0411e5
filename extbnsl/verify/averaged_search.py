"""Counts the families of one child over records that lack none of their values, see averaged_families.py."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import borrowed, inner, njit


class AveragedChild(NamedTuple):
    """What a search of one child reads; m candidates, d rows that have a value of the child and of all that must be.

    columns (m, d) int64: states of the candidates, -1 where there is none; arities (m,); words (m,) int64, bits (m,)
    uint64: where they stand in varsets. own (d,) int64: states of the child, `states` of them. weights (d,): records of
    a row; records: those that count for the child, whether they lack a value or not. price: of a joint state of the
    parents. most: parents that are added at most. lead: what costs more than a subset by this is left out; below: so is
    what costs this. logs (N + 1,): m ln m.
    """

    columns: NDArray[np.int64]
    arities: NDArray[np.int64]
    words: NDArray[np.int64]
    bits: NDArray[np.uint64]
    own: NDArray[np.int64]
    states: int
    weights: NDArray[np.int64]
    records: int
    price: float
    most: int
    lead: float
    below: float
    logs: NDArray[np.float64]


class AveragedSets(NamedTuple):
    """A stack of parent sets: numbers (k, d) of the joint states that rows have, -1 if they lack a value, `counts` of
    them; joint: the states that there may be; cheapest: of the sets on the way; following: the next candidate. Of the
    top one varset (words,). new, alone, both: room."""

    numbers: NDArray[np.int64]
    counts: NDArray[np.int64]
    joint: NDArray[np.float64]
    cheapest: NDArray[np.float64]
    following: NDArray[np.int64]
    path: NDArray[np.int64]
    varset: NDArray[np.uint64]
    new: NDArray[np.int64]
    alone: NDArray[np.int64]
    both: NDArray[np.int64]


@inner
def _numbered(before, count, column, arity, after, new):
    """Number the joint states of a numbered set and one candidate, without gaps; how many there are."""
    found = 0
    for key in range(count * arity):
        new[key] = -1
    for row in range(before.size):
        if before[row] < 0 or column[row] < 0:
            after[row] = -1
            continue
        key = before[row] * arity + column[row]
        if new[key] < 0:
            new[key] = found
            found += 1
        after[row] = new[key]
    return found


@inner
def _misfit(numbers, count, task, alone, both):
    """The misfit of the child given numbered states, as many times as there are records for one that is counted, and
    how many are counted."""
    alone[:count], both[: count * task.states], counted = 0, 0, 0
    for row in range(numbers.size):
        if numbers[row] >= 0:
            alone[numbers[row]] += task.weights[row]
            both[numbers[row] * task.states + task.own[row]] += task.weights[row]
            counted += task.weights[row]
    misfit = 0.0
    for number in range(count):
        misfit += task.logs[alone[number]]
    for cell in range(count * task.states):
        misfit -= task.logs[both[cell]]
    return (misfit * task.records / counted if counted else 0.0), counted


@njit
def search_averages(top, task, frames, halt, varsets, costs):
    """Go on from the top of the stack until it is empty or there is no room; the new top, below 0 at the end, and how
    many families were written. Ends early when halt[0] is set."""
    task, frames, halt, varsets, costs = borrowed((task, frames, halt, varsets, costs))
    written = 0
    while top >= 0 and written < costs.size and not halt[0]:
        y = frames.following[top]
        if y == task.arities.size or top == task.most:
            top -= 1
            if top >= 0:
                frames.varset[task.words[frames.path[top]]] ^= task.bits[frames.path[top]]
            continue
        frames.following[top] += 1
        joint = frames.joint[top] * task.arities[y]
        if task.price * joint >= min(frames.cheapest[top] + task.lead, task.below):
            continue
        numbers = frames.numbers[top + 1]
        count = _numbered(
            frames.numbers[top], frames.counts[top], task.columns[y], task.arities[y], numbers, frames.new
        )
        misfit, counted = _misfit(numbers, count, task, frames.alone, frames.both)
        if counted == 0:
            continue
        cost = misfit + task.price * joint
        frames.path[top] = y
        frames.varset[task.words[y]] ^= task.bits[y]
        if cost < min(frames.cheapest[top] + task.lead, task.below):
            for word in range(frames.varset.size):
                varsets[written, word] = frames.varset[word]
            costs[written] = cost
            written += 1
        frames.joint[top + 1], frames.counts[top + 1] = joint, count
        frames.cheapest[top + 1], frames.following[top + 1] = min(frames.cheapest[top], cost), y + 1
        top += 1
    return top, written


def bit_of(variable: int) -> u64:
    """The bit of a variable in its word."""
    return u64(1) << u64(variable & 63)
