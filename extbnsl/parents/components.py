"""Strongly connected components of the parent relation: parts of the problem that can be solved one by one.

If no variable of a component can be a parent of an earlier one, the components can be ordered one after the other:
all that a child may want from earlier components is there. Within its component a child then needs only the members
of its parent sets inside the component (Malone et al. call the relation the parent relation of the score cache).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extbnsl.files.shelf import FamilyLists, Put
from extbnsl.kernels.varsets import pack, renumber, unpack
from extbnsl.parents.pruning import Halt, undominated, within
from extbnsl.scores.local import LocalScores, in_order


@dataclass(frozen=True)
class Component:
    """A part of the problem: `variables` (k,) of the whole, and their families cut down to the component.

    parents[i] (m, words(k)) uint64 over positions in `variables`, costs[i] (m,) in score order. Those that cost more
    than their best subset by `slack` nats or more are left out; without slack, of equal ones all but the first. With
    slack, families that differ outside the component alone are all there.
    """

    variables: tuple[int, ...]
    parents: FamilyLists
    costs: FamilyLists
    slack: float = 0.0

    @property
    def size(self) -> int:
        return len(self.variables)


def components(scores: LocalScores, put: Put, halt: Halt = None) -> tuple[Component, ...]:
    """The components of pruned local scores, each after all from which it may have parents; new arrays as `put` holds
    them. halt: when it is set this ends early, with an answer that is good for nothing. O(families), and for those that
    are cut down what `undominated` takes."""
    return split(scores.parents, scores.costs, put, halt=halt)


def split(
    parents: Sequence[NDArray], costs: Sequence[NDArray], put: Put, slack: float = 0.0, halt: Halt = None
) -> tuple[Component, ...]:
    """The components of the families parents[X] (m, w), costs[X] (m,), which have this slack, each after all from which
    it may have parents; otherwise as `components`."""
    candidates = [unpack(np.bitwise_or.reduce(p, axis=0)) for p in parents]
    members = strongly_connected(candidates)
    if len(members) == 1:
        return (Component(members[0], tuple(parents), tuple(costs), slack),)
    return tuple(_component(own, parents, costs, put, slack, halt) for own in members)


def strongly_connected(candidates: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Tarjan's algorithm (1972) on the arcs child -> candidate parent: candidate parents come first. Members ascend."""
    n = len(candidates)
    index, low = [-1] * n, [0] * n
    on_stack = [False] * n
    stack: list[int] = []
    found: list[tuple[int, ...]] = []
    visited = 0
    for root in range(n):
        calls = [(root, iter(candidates[root]))] if index[root] < 0 else []
        while calls:
            v, rest = calls[-1]
            if index[v] < 0:
                index[v] = low[v] = visited
                visited += 1
                stack.append(v)
                on_stack[v] = True
            for u in rest:
                if index[u] < 0:
                    calls.append((u, iter(candidates[u])))
                    break
                if on_stack[u]:
                    low[v] = min(low[v], index[u])
            else:
                calls.pop()
                if calls:
                    low[calls[-1][0]] = min(low[calls[-1][0]], low[v])
                if low[v] == index[v]:
                    at = stack.index(v)
                    found.append(tuple(sorted(stack[at:])))
                    for u in stack[at:]:
                        on_stack[u] = False
                    del stack[at:]
    return found


def _component(
    variables: tuple[int, ...],
    parents: Sequence[NDArray],
    costs: Sequence[NDArray],
    put: Put,
    slack: float,
    halt: Halt,
) -> Component:
    if len(variables) == 1 and not slack:  # all of its parents come before it: it takes its cheapest family
        return Component(variables, (np.zeros((1, 1), np.uint64),), (costs[variables[0]][:1],))
    position = np.full(len(parents), -1, dtype=np.int64)
    position[list(variables)] = np.arange(len(variables))
    others = ~pack(variables, len(parents))
    projected = [_projected(parents[x], costs[x], position, others, slack, halt) for x in variables]
    cut = [[put(array) for array in own] for own in projected]
    return Component(variables, tuple(own[0] for own in cut), tuple(own[1] for own in cut), slack)


def _projected(
    parents: NDArray[np.uint64],
    costs: NDArray[np.float64],
    position: NDArray[np.int64],
    others: NDArray[np.uint64],
    slack: float,
    halt: Halt,
) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
    """One child's families with the parents that have no position, the others, taken as given, those within the
    slack."""
    cut, costs = in_order(renumber(parents, position, int((position >= 0).sum())), costs)
    if not (parents & others).any():
        return cut, costs  # nothing was cut off: they are pruned as before
    keep = within(cut, costs, slack, halt) if slack else undominated(cut, costs, halt=halt)  # of equals the cheapest
    return np.ascontiguousarray(cut[keep]), costs[keep]
