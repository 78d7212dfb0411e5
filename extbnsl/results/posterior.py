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
from extbnsl.posteriors.features import standard_error
from extbnsl.posteriors.scope import ORDER

ARC_HEADER = (
    *("from", "to", "probability", "at_least", "at_most"),
    *("either", "either_at_least", "either_at_most"),
)
FAMILY_HEADER = ("child", "parents", "probability", "at_least", "at_most")
ESTIMATED_ARC_HEADER = ("from", "to", "probability", "standard_error", "either", "either_standard_error")
ESTIMATED_FAMILY_HEADER = ("child", "parents", "probability", "standard_error")
LEAST_FAMILY = 1e-6  # probability of a family that is worth a line
SAMPLES_TOGETHER = 1 << 12  # whose lines are made together


@dataclass(frozen=True)
class Chance:
    """A probability: what it is among the networks that were summed, and between which values it lies over all.

    standard_error: of an estimate, of which these values are 0 and 1; None where it was summed.
    """

    probability: float
    at_least: float
    at_most: float
    standard_error: float | None = None

    def document(self) -> dict[str, float]:
        """The value of "network" in result.json: bounds, or of an estimate the standard error."""
        error = self.standard_error
        if error is not None:
            return {"probability": self.probability, "standard_error": error}
        return {"probability": self.probability, "at_least": self.at_least, "at_most": self.at_most}


@dataclass(frozen=True)
class Exactness:
    """How far probabilities may be off.

    ignored: what the networks that were not summed weigh at most, of those that were; infinity if nobody knows.
    rounding: what rounding does at most, in all.
    """

    ignored: float
    rounding: float

    @property
    def width(self) -> float:
        """How wide an interval of a probability may be, but for rounding."""
        return self.ignored / (1.0 + self.ignored) if self.ignored < math.inf else 1.0

    def at_least(self, probability: NDArray[np.float64]) -> NDArray[np.float64]:
        """The lower ends of these probabilities among the networks that were summed."""
        return np.maximum(0.0, probability * (1.0 - self.width) - self.rounding)

    def at_most(self, probability: NDArray[np.float64]) -> NDArray[np.float64]:
        """The upper ends."""
        return np.minimum(1.0, probability * (1.0 - self.width) + self.width + self.rounding)

    def chance(self, probability: float, standard_error: float | None = None) -> Chance:
        """A probability with its interval."""
        own = np.array(min(1.0, probability))
        return Chance(float(own), float(self.at_least(own)), float(self.at_most(own)), standard_error)


@dataclass(frozen=True, eq=False)
class Estimate:
    """How sure estimates are, from networks that were drawn and weighted.

    draws: how many. effective: as many equal ones tell as much. log_error: the standard error of the logarithm of the
    sum over all networks. ignored_orders: what share of the weight of all orders could not be drawn, at most. squares:
    of the families, the sums of squares of what the draws that have them count, of 1.
    """

    draws: int
    effective: float
    log_error: float
    ignored_orders: float
    squares: tuple[NDArray[np.float64], ...]

    def error(self, share: Any, squares: Any) -> Any:
        """Standard errors of shares of the draws, given the squares of those that have it."""
        return standard_error(share, squares, self.effective)


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
        'networks', 'orders': all sets of variables were gone through; 'layers': those that matter; 'draws': networks
        were drawn by orders, and weighted.
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
    estimate : Estimate or None
        How sure probabilities are that are estimates, of which nothing is proved; None where they were summed.
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
    estimate: Estimate | None = None

    def __repr__(self) -> str:
        if self.estimate is not None:
            told = f"log weight about {self.sums.log_weight:.3f}, {self.estimate.effective:,.0f} effective draws"
            return f"<Posterior ({self.prior}): {told}>"
        low, high = self.log_weight
        return f"<Posterior ({self.prior}): log weight {low:.6f} to {high:.6f}, arcs within {self.exactness.width:.1e}>"

    @property
    def reached(self) -> bool:
        """Whether all intervals are as narrow as was asked for."""
        return self.exactness.width <= self.within

    @property
    def log_weight(self) -> tuple[float, float]:
        """Between which values the logarithm of the sum over all networks, or orders, lies, but for rounding; of an
        estimate the values are infinite."""
        if self.estimate is not None:
            return -math.inf, math.inf
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
        return self._chance(*(float(own[p, x]) for own in (self.arcs, self._squares)))

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
        return self._chance(*(float(own[a, b] + own[b, a]) for own in (self.arcs, self._squares)))

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
        if orders is None:
            return None
        own = min(1.0, math.exp(orders - cost - self.sums.log_weight))
        return self.exactness.chance(own, None if self.estimate is None else own * self.estimate.log_error)

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
            **(self._proved() if self.estimate is None else self._estimated(self.estimate)),
            "network": self.best and self.best.document(),
            "families": sum(own.size for own in self.sums.costs),
            "arcs": [dict(zip(self._arc_header, row, strict=True)) for row in self.arc_rows()],
            "sampled": 0 if self.networks is None else len(self.networks),
            "features": [vars(one) for one in self.features],
        }

    def _proved(self) -> dict[str, Any]:
        exact = self.exactness
        return {"log_weight": list(self.log_weight), "ignored": exact.ignored, "rounding": exact.rounding}

    def _estimated(self, own: Estimate) -> dict[str, Any]:
        return {
            "estimate": {
                "log_weight": self.sums.log_weight,
                "standard_error": own.log_error,
                "draws": own.draws,
                "effective": own.effective,
                "ignored_orders": own.ignored_orders,
            }
        }

    @property
    def _arc_header(self) -> tuple[str, ...]:
        return ARC_HEADER if self.estimate is None else ESTIMATED_ARC_HEADER

    def arc_rows(self) -> list[tuple[Any, ...]]:
        """The arcs that a network may have, the likeliest first: see ARC_HEADER, and ESTIMATED_ARC_HEADER."""
        either = np.minimum(1.0, self.arcs + self.arcs.T)
        pairs = ((self.arcs, self._squares), (either, self._squares + self._squares.T))
        figures = [table for own in pairs for table in self._figures(*own)]
        order = np.argsort(-self.arcs, axis=None, kind="stable")[: np.count_nonzero(self.arcs)]
        places = zip(*np.unravel_index(order, self.arcs.shape), strict=True)
        return [(self.names[p], self.names[x], *(float(own[p, x]) for own in figures)) for p, x in places]

    def family_rows(self) -> Iterator[tuple[Any, ...]]:
        """The families of at least LEAST_FAMILY, the likeliest of each child first: see FAMILY_HEADER, or of estimates
        ESTIMATED_FAMILY_HEADER."""
        squares = self.sums.probabilities if self.estimate is None else self.estimate.squares
        columns = (self.names, self.sums.parents, self.sums.probabilities, squares)
        for child, parents, own, more in zip(*columns, strict=True):
            order = np.argsort(-own, kind="stable")
            order = order[own[order] >= LEAST_FAMILY]
            figures = [column.tolist() for column in self._figures(own[order], more[order])]
            for row, *told in zip(order, *figures, strict=True):
                yield child, ", ".join(self.names[p] for p in unpack(parents[row])), *told

    @property
    def file_names(self) -> tuple[str, ...]:
        """The names of the files that tell it."""
        return (POSTERIOR_ARCS, POSTERIOR_FAMILIES, *(() if self.networks is None else (SAMPLES,)))

    def files(self) -> Iterator[tuple[str, Content]]:
        """The tables of arcs and families as CSV, and the networks that were drawn, a line each, as (name, content)."""
        of_families = FAMILY_HEADER if self.estimate is None else ESTIMATED_FAMILY_HEADER
        yield POSTERIOR_ARCS, encoded(csv_text(self._arc_header, self.arc_rows()))
        yield POSTERIOR_FAMILIES, encoded(csv_text(of_families, self.family_rows()))
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

    @cached_property
    def _squares(self) -> NDArray[np.float64]:
        """The squares of what the draws with each arc count, parent by child; 0 where arcs were summed."""
        if self.estimate is None:
            return np.zeros_like(self.arcs)
        return arc_shares(self.sums.parents, self.estimate.squares) / self.estimate.effective

    def _chance(self, probability: float, squares: float) -> Chance:
        error = None if self.estimate is None else float(self.estimate.error(probability, squares))
        return self.exactness.chance(probability, error)

    def _figures(self, probability: NDArray[np.float64], squares: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """Probabilities, with the ends of their intervals, or of estimates with standard errors."""
        if self.estimate is not None:
            return [probability, self.estimate.error(probability, squares)]
        return [probability, self.exactness.at_least(probability), self.exactness.at_most(probability)]

    def _place(self, name: str) -> int:
        from extbnsl.results.querying import place_of

        return place_of(self.names, name)
