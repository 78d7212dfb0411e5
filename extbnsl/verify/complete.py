"""Is a network missing from a ranked list? Every network that costs little, of a few variables, one after the other.

This is the one place where networks that are not listed are looked for.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extbnsl.machine.workers import Workers
from extbnsl.verify.all_networks import networks_below
from extbnsl.verify.structures import Family, family_of


@dataclass(frozen=True)
class CheapNetwork:
    """What a network costs, and its families."""

    cost: float
    families: tuple[Family, ...]


def networks_within(table: NDArray[np.float64], limit: float, workers: Workers) -> Iterator[CheapNetwork]:
    """All networks that cost at most so much, in no order; table: of `all_networks`. Raises Stopped and TooMuch."""
    known: dict[tuple[int, int], Family] = {}
    for cost, parents in networks_below(table, limit, workers):
        families = []
        for child, own in enumerate(parents):
            if (child, own) not in known:
                members = tuple(p for p in range(len(parents)) if own >> p & 1)
                known[child, own] = family_of(child, members, float(table[child, own]))
            families.append(known[child, own])
        yield CheapNetwork(cost, tuple(families))
