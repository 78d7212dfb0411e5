"""What the data say of arcs, families and networks, over all networks there are, and how it is written."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.codec import json_text
from extbnsl.files.atomic import Content, encoded
from extbnsl.files.names import POSTERIOR_ARCS, POSTERIOR_FAMILIES, SAMPLES
from extbnsl.formats.spelling import csv_text
from extbnsl.kbest.ranking import arc_shares
from extbnsl.kernels.varsets import unpack
from extbnsl.networks.network import Network
from extbnsl.posteriors.extensions import log_orders
from extbnsl.posteriors.scope import ORDER

ARC_HEADER = (
    *("from", "to", "probability", "at_least", "at_most"),
    *("either", "either_at_least", "either_at_most"),
)
FAMILY_HEADER = ("child", "parents", "probability", "at_least", "at_most")
LEAST_FAMILY = 1e-6  # probability of a family that is worth a line
SAMPLES_TOGETHER = 1 << 12  # whose lines are made together


@dataclass(frozen=True)
class Chance:
    """A probability: what it is among the networks that were summed, and between which values it lies over all."""

    probability: float
    at_least: float
    at_most: float


@dataclass(frozen=True)
class Exactness:
    """How far probabilities may be off.

    ignored: what the networks that were not summed weigh at most, of those that were.
    rounding: what rounding does at most, in all.
    """

    ignored: float
    rounding: float

    @property
    def width(self) -> float:
        """How wide an interval of a probability may be, but for rounding."""
        return self.ignored / (1.0 + self.ignored)

    def at_least(self, probability: NDArray[np.float64]) -> NDArray[np.float64]:
        """The lower ends of these probabilities among the networks that were summed."""
        return np.maximum(0.0, probability / (1.0 + self.ignored) - self.rounding)

    def at_most(self, probability: NDArray[np.float64]) -> NDArray[np.float64]:
        """The upper ends."""
        return np.minimum(1.0, (probability + self.ignored) / (1.0 + self.ignored) + self.rounding)

    def chance(self, probability: float) -> Chance:
        """A probability with its interval."""
        own = np.array(min(1.0, probability))
        return Chance(float(own), float(self.at_least(own)), float(self.at_most(own)))


@dataclass(frozen=True, eq=False)
class Sums:
    """What an engine has summed: of the families with parents[x] (m, words) uint64 and costs[x] (m,), in nats, the
    probabilities probabilities[x] (m,), and the logarithm of the sum over all networks, or orders."""

    parents: tuple[NDArray[np.uint64], ...]
    costs: tuple[NDArray[np.float64], ...]
    probabilities: tuple[NDArray[np.float64], ...]
    log_weight: float


@dataclass(frozen=True, eq=False)
class Samples:
    """Networks that were drawn: network i has of each child x the parent set parents[x][rows[i, x]]; rows (S, n)."""

    parents: tuple[NDArray[np.uint64], ...]
    costs: tuple[NDArray[np.float64], ...]
    rows: NDArray[np.int32]

    def __len__(self) -> int:
        return self.rows.shape[0]

    @cached_property
    def cost(self) -> NDArray[np.float64]:
        """What each network costs, in nats: (S,)."""
        found = np.zeros(len(self))
        for x, own in enumerate(self.costs):
            found += own[self.rows[:, x]]
        return found


@dataclass(frozen=True)
class Feature:
    """What share of the networks that were drawn has a feature, and the standard error of that."""

    name: str
    share: float
    standard_error: float


@dataclass(frozen=True, eq=False, repr=False)
class Posterior:
    """What the data say of all networks, by exp(-cost) of each and a prior; probabilities are given the data.

    Attributes
    ----------
    names : tuple of str
        The names of the variables.
    prior : str
        'uniform' over networks, or 'order': a network counts as often as there are orders that it keeps to.
    method : str
        'lattice': all sets of variables were gone through; 'layers': those that matter.
    within : float
        How wide intervals were allowed to be.
    exactness : Exactness
        How far probabilities may be off.
    sums : Sums
        What was summed, with the probability of each family.
    networks : Samples or None
        What was drawn.
    features : tuple of Feature
        How many of them have what was asked for.
    best : Chance or None
        The probability of the network of least cost; None if by the prior of orders it has too many orders to be
        counted.
    """

    names: tuple[str, ...]
    prior: str
    method: str
    within: float
    exactness: Exactness
    sums: Sums
    networks: Samples | None = None
    features: tuple[Feature, ...] = ()
    best: Chance | None = None

    def __repr__(self) -> str:
        low, high = self.log_weight
        return f"<Posterior ({self.prior}): log weight {low:.6f} to {high:.6f}, arcs within {self.exactness.width:.1e}>"

    @property
    def reached(self) -> bool:
        """Whether all intervals are as narrow as was asked for."""
        return self.exactness.width <= self.within

    @property
    def log_weight(self) -> tuple[float, float]:
        """Between which values the logarithm of the sum over all networks, or orders, lies, but for rounding."""
        least = self.sums.log_weight
        return least, least + math.log1p(self.exactness.ignored)

    @cached_property
    def arcs(self) -> NDArray[np.float64]:
        """The probability of each arc among the networks that were summed, parent by child: (n, n)."""
        return arc_shares(self.sums.parents, self.sums.probabilities)

    def arc(self, parent: str, child: str) -> Chance:
        """The probability of an arc.

        Parameters
        ----------
        parent, child : str
            The names of its ends.

        Returns
        -------
        Chance
            With `probability`, `at_least` and `at_most`.

        Raises
        ------
        InputError
            For a name that there is not.
        """
        p, x = self._place(parent), self._place(child)
        return self.exactness.chance(float(self.arcs[p, x]))

    def adjacency(self, one: str, other: str) -> Chance:
        """The probability that an arc joins two variables, in either direction.

        Parameters
        ----------
        one, other : str
            The names of the two.

        Returns
        -------
        Chance
            As of `arc`.

        Raises
        ------
        InputError
            For a name that there is not.
        """
        a, b = self._place(one), self._place(other)
        return self.exactness.chance(float(self.arcs[a, b] + self.arcs[b, a]))

    def network(self, network: Network, cost: float) -> Chance | None:
        """The probability of a network.

        Parameters
        ----------
        network : Network
            Over the same variables.
        cost : float
            What it costs, in nats.

        Returns
        -------
        Chance or None
            As of `arc`; None if by the prior of orders it has too many orders to be counted.
        """
        orders = log_orders(network) if self.prior == ORDER else 0.0
        return None if orders is None else self.exactness.chance(math.exp(orders - cost - self.sums.log_weight))

    def with_best(self, network: Network, cost: float) -> "Posterior":
        """The same, with the probability of the network of least cost."""
        return replace(self, best=self.network(network, cost))

    def document(self) -> dict[str, Any]:
        """The value of "posterior" in result.json."""
        return {
            "prior": self.prior,
            "method": self.method,
            "within": self.within,
            "reached": self.reached,
            "log_weight": list(self.log_weight),
            "ignored": self.exactness.ignored,
            "rounding": self.exactness.rounding,
            "network": self.best and vars(self.best),
            "families": sum(own.size for own in self.sums.costs),
            "arcs": [dict(zip(ARC_HEADER, row, strict=True)) for row in self.arc_rows()],
            "sampled": 0 if self.networks is None else len(self.networks),
            "features": [vars(one) for one in self.features],
        }

    def arc_rows(self) -> list[tuple[str, str, float, float, float, float, float, float]]:
        """The arcs that a network may have, the likeliest first: see ARC_HEADER."""
        either = np.minimum(1.0, self.arcs + self.arcs.T)
        figures = [f(table) for table in (self.arcs, either) for f in (lambda a: a, self._least, self._most)]
        order = np.argsort(-self.arcs, axis=None, kind="stable")[: np.count_nonzero(self.arcs)]
        places = zip(*np.unravel_index(order, self.arcs.shape), strict=True)
        return [(self.names[p], self.names[x], *(float(own[p, x]) for own in figures)) for p, x in places]

    def family_rows(self) -> Iterator[tuple[str, str, float, float, float]]:
        """The families of at least LEAST_FAMILY, the likeliest of each child first: see FAMILY_HEADER."""
        for child, parents, own in zip(self.names, self.sums.parents, self.sums.probabilities, strict=True):
            order = np.argsort(-own, kind="stable")
            order = order[own[order] >= LEAST_FAMILY]
            least, most = self._least(own[order]).tolist(), self._most(own[order]).tolist()
            for row, probability, low, high in zip(order, own[order].tolist(), least, most, strict=True):
                yield child, ", ".join(self.names[p] for p in unpack(parents[row])), probability, low, high

    @property
    def file_names(self) -> tuple[str, ...]:
        """The names of the files that tell it."""
        return (POSTERIOR_ARCS, POSTERIOR_FAMILIES, *(() if self.networks is None else (SAMPLES,)))

    def files(self) -> Iterator[tuple[str, Content]]:
        """The tables of arcs and families as CSV, and the networks that were drawn, a line each, as (name, content)."""
        yield POSTERIOR_ARCS, encoded(csv_text(ARC_HEADER, self.arc_rows()))
        yield POSTERIOR_FAMILIES, encoded(csv_text(FAMILY_HEADER, self.family_rows()))
        if self.networks is not None:
            yield SAMPLES, self._sample_lines(self.networks)

    def _sample_lines(self, networks: Samples) -> Iterator[bytes]:
        """The networks that were drawn as JSON, a line each, in pieces."""
        told = [
            {row: json_text([self.names[p] for p in unpack(own[row])]) for row in np.unique(rows).tolist()}
            for own, rows in zip(networks.parents, networks.rows.T, strict=True)
        ]
        names = [json_text(name) for name in self.names]
        for begin in range(0, len(networks), SAMPLES_TOGETHER):
            rows = networks.rows[begin : begin + SAMPLES_TOGETHER].tolist()
            costs = networks.cost[begin : begin + SAMPLES_TOGETHER].tolist()
            lines = [
                f'{{"sample": {number}, "cost": {cost!r}, "parents": {{'
                + ", ".join(f"{name}: {own[at]}" for name, own, at in zip(names, told, row, strict=True))
                + "}}\n"
                for number, (row, cost) in enumerate(zip(rows, costs, strict=True), start=begin + 1)
            ]
            yield encoded("".join(lines))

    def _least(self, probability: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.exactness.at_least(probability)

    def _most(self, probability: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.exactness.at_most(probability)

    def _place(self, name: str) -> int:
        from extbnsl.results.querying import place_of

        return place_of(self.names, name)
