"""What families of data of both kinds cost, each over the records that are its: those in which its child was not set
from outside, and that lack none of its values; all as a rule.

By the node average (Balov 2013) the misfit counts as many times as there are records that the child counts for each of
those that are complete. Families that are over the same records share what is made of these.
"""

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from extbnsl.data import Mixed
from extbnsl.scores.units import check_varying

MOST_KNOWN = 32  # classes of records


class Made(Protocol):
    """What knows the families of some records."""

    def misfit(self, child: int, parents: Sequence[int]) -> float:
        """Minus the largest log-likelihood of the child, in nats, weighted; infinity if the family is not allowed."""

    def parameters(self, child: int, parents: Sequence[int]) -> float:
        """How many free parameters a family has."""


M = TypeVar("M", bound=Made)


class ByRecords(Generic[M]):
    """What is made of the records of each family.

    make: of records, as data of which only the values of the family are looked at and none of these is missing, and how
    often they count.
    """

    def __init__(self, data: Mixed, make: Callable[[Mixed, float], M]) -> None:
        self.data, self._make = data, make
        self._of = functools.lru_cache(MOST_KNOWN)(self._made)
        if data.alike:
            check_varying(data)

    def __reduce__(self) -> tuple[Any, ...]:
        return ByRecords, (self.data, self._make)

    def of(self, child: int, parents: Sequence[int]) -> M | None:
        """What is made of the records of a family; None if there is none."""
        return self._of(*self.data.alike_with(child, parents))

    def _made(self, setting: tuple[int, ...], members: tuple[int, ...]) -> M | None:
        """The same of families whose children were set in these sets, and of whose members these lack values."""
        data = self.data
        if not setting and not members:
            return self._make(data.as_records(), data.each)
        own = np.ones(data.records, np.bool_)
        if data.targets is not None:
            own &= ~np.isin(data.targets.of, setting)
        counted = np.logical_and.reduce([own, *(data.known(v) for v in members)])
        if not counted.any():
            return None
        taken = replace(data.taken(np.flatnonzero(counted)), targets=None, gaps=False, weights=None)
        return self._make(taken, data.each * int(own.sum()) / taken.records)

    def misfit(self, child: int, parents: Sequence[int]) -> float:
        """Minus the largest log-likelihood of the child's column, in nats, weighted; infinity if the family is not
        allowed, 0 of a child that is given."""
        if child in self.data.given:
            return 0.0
        own = self.of(child, parents)
        return math.inf if own is None else own.misfit(child, parents)

    def parameters(self, child: int, parents: Sequence[int]) -> float:
        """How many free parameters a family has; infinity if no record tells of it."""
        if child in self.data.given:
            return 0.0
        own = self.of(child, parents)
        return math.inf if own is None else own.parameters(child, parents)

    def cost(self, child: int, parents: Sequence[int], price: float) -> float:
        """What a family costs, in nats, if a parameter costs the price; infinity if it is not allowed."""
        misfit = self.misfit(child, parents)
        return misfit if math.isinf(misfit) else misfit + price * self.parameters(child, parents)
