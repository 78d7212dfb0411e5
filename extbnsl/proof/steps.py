"""The proof of a component, step by step, as the certificate of its result will have it.

A pass bounds all variables that are not settled, and drops families that no network of interest has. A search, or a
tree of branching, settles some of the variables: whatever is in a network of interest, their families cost at least so
much. The passes after it are over the others. At last what is settled and the last pass together reach the bound.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.lp.tree import Closed, are_closed
from extbnsl.core.codec import Within
from extbnsl.kernels.varsets import unpack

Position = Annotated[int, Within(0, 1 << 32)]  # of a variable in its component
Cut = tuple[tuple[Position, ...], ...]  # the clusters of a cut, one or three
Weight = Annotated[int, Within(1, 1 << 61)]


@dataclass(frozen=True)
class RootPass:
    """Multipliers over the variables of a component that are not settled: cuts (positions), weights in UNITs, and mu of
    each variable of the component in nats (0 of those that are settled)."""

    cuts: tuple[Cut, ...]
    weights: tuple[Weight, ...]
    least: tuple[float, ...]

    def fits(self, variables: int) -> bool:
        """Whether its parts go together, and with a component of so many variables."""
        return _are_weighted(self.cuts, self.weights, variables) and len(self.least) == variables > 0


@dataclass(frozen=True)
class Searched:
    """Some variables of a component (positions) whose families cost at least `bound` nats, by a search: cuts and their
    weights, in UNITs, are those of the multipliers that guided it."""

    variables: tuple[Position, ...]
    bound: float
    cuts: tuple[Cut, ...]
    weights: tuple[Weight, ...]

    def fits(self, variables: int) -> bool:
        """As of a RootPass."""
        return _are_weighted(self.cuts, self.weights, variables) and _are_some(self.variables, variables)


@dataclass(frozen=True)
class Branched:
    """Some variables of a component (positions) whose families cost at least `bound` nats, by a tree of branching.

    cuts: those of all nodes. nodes: each after the one above it, see `tree.Closed`; its choice is of variables
    numbered by their places in `variables`.
    """

    variables: tuple[Position, ...]
    bound: float
    cuts: tuple[Cut, ...]
    nodes: tuple[Closed, ...]

    def fits(self, variables: int) -> bool:
        """As of a RootPass."""
        return (
            _are_cuts(self.cuts, variables)
            and _are_some(self.variables, variables)
            and len(self.nodes) > 0
            and are_closed(self.nodes, len(self.cuts), len(self.variables))
        )


Step = RootPass | Searched | Branched


def are_steps(steps: Sequence[Step], variables: int) -> bool:
    """Whether these may be the steps of a proof over so many variables: the first, if any, is about all of them."""
    return all(isinstance(step, RootPass) for step in steps[:1]) and all(step.fits(variables) for step in steps)


def is_order(order: Sequence[int], variables: Iterable[int]) -> bool:
    """Whether each of the variables is in the order once, and nothing else."""
    return sorted(order) == sorted(variables)


def _are_some(own: Sequence[int], variables: int) -> bool:
    """Whether these are some of so many variables, each once."""
    return len(own) > 0 and max(own) < variables and len(set(own)) == len(own)


def _are_weighted(cuts: Sequence[Cut], weights: Sequence[int], variables: int) -> bool:
    return _are_cuts(cuts, variables) and len(cuts) == len(weights)


def _are_cuts(cuts: Sequence[Cut], variables: int) -> bool:
    """Whether cuts have one cluster or three, each with a member, of so many variables."""
    clusters = [cluster for cut in cuts for cluster in cut]
    return all(len(cut) in (1, 3) for cut in cuts) and all(own and max(own) < variables for own in clusters)


def cheapest_pass(costs: Sequence[NDArray[np.float64]]) -> RootPass:
    """That every child has its cheapest family at best, of costs[X] (m,) in score order."""
    return RootPass((), (), tuple(float(own[0]) for own in costs))


def cuts_over(cuts: NDArray[np.uint64], variables: Sequence[int]) -> tuple[Cut, ...]:
    """Cuts (k, 3, words) over these variables of a component."""
    names, found = np.array(variables), []
    for cut in cuts:
        found.append(tuple(tuple(names[list(unpack(cluster))].tolist()) for cluster in cut if cluster.any()))
    return tuple(found)
