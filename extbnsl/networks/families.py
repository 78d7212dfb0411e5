"""What the families of a network cost, and why: what they gain in likelihood, and what the score charges for it."""

import functools
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from extbnsl.core.claims import Claim
from extbnsl.core.errors import InputError
from extbnsl.networks.arcs import costs_from
from extbnsl.networks.kinds import FamilyFigures, Figures, figures_of
from extbnsl.networks.network import Network

if TYPE_CHECKING:
    from extbnsl.data import Data
    from extbnsl.scores.local import LocalScores


SINGULAR = "the columns of the family determine each other"
CLOSES = "it closes a circle"  # which other arcs that are turned may open


@dataclass(frozen=True)
class CostedFamily:
    """A family of a network: its child, the parents of that, what it costs in nats, and how many free parameters it
    has; None where local scores do not list it, or do not tell."""

    child: str
    parents: tuple[str, ...]
    cost: float | None
    parameters: float | None


@dataclass(frozen=True)
class NetworkCost:
    """What a network costs by a score, in nats, minimised.

    Attributes
    ----------
    score : str
        The name of the score.
    cost : float or None
        The sum over the families; None if that of one is not known.
    parameters : float or None
        How many free parameters the network has; None with local scores.
    families : tuple of CostedFamily
        In the order of the variables.
    """

    score: str
    cost: float | None
    parameters: float | None
    families: tuple[CostedFamily, ...]

    def document(self) -> dict[str, Any]:
        """All of it as JSON values."""
        return asdict(self) | {"families": [asdict(one) for one in self.families]}


@dataclass(frozen=True)
class Reason:
    """Why a network has an arc, or has it not: what it would do to the family of its child, all else as it is.

    Attributes
    ----------
    parent, child : str
        The names of its variables.
    present : bool
        Whether the network has it.
    gain : float or None
        By how many nats it raises the largest log-likelihood of the child's column; None with local scores.
    price : float or None
        What the score charges for it besides, in nats; None as before.
    rise : float or None
        By how much the cost of the family is higher with it, `price - gain`; below 0 if it is lower. None where local
        scores do not list the family.
    parameters : float or None
        How many free parameters it adds; None with local scores.
    barred : str or None
        What keeps it from being there, or from not being there, whatever it costs, as a clause; None if nothing does.
    """

    parent: str
    child: str
    present: bool
    gain: float | None
    price: float | None
    rise: float | None
    parameters: float | None
    barred: str | None


def figures_from(problem: "Data | LocalScores", claim: Claim) -> FamilyFigures:
    """What is known of families from data, by the score of a claim, or from local scores. O(N parents) each for N
    records, O(N parents^2) for numbers."""
    from extbnsl.data import Data

    if isinstance(problem, Data):
        return figures_of(problem, claim)
    cost = costs_from(problem, claim)

    def of_scores(child: int, parents: tuple[int, ...]) -> Figures | None:
        own = cost(child, parents)
        return None if own is None else Figures(own, None, None)

    return of_scores


def network_cost(network: Network, problem: "Data | LocalScores", claim: Claim) -> NetworkCost:
    """What a network of the variables of `problem`, in their order, costs by the score of a claim; InputError for an
    arc that data in time rule out."""
    _check_slices(network, problem)
    figures = figures_from(problem, claim)
    found = [figures(child, parents) for child, parents in enumerate(network.parents)]
    families = tuple(
        CostedFamily(name, tuple(own), one and one.cost, one and one.parameters)
        for (name, own), one in zip(network.parents_by_name().items(), found, strict=True)
    )
    costs, parameters = [one.cost for one in families], [one.parameters for one in families]
    whole = None if None in costs else math.fsum(cost for cost in costs if cost is not None)
    all_parameters = None if None in parameters else sum(one for one in parameters if one is not None)
    return NetworkCost(claim.score, whole, all_parameters, families)


def _check_slices(network: Network, problem: "Data | LocalScores") -> None:
    """Raise InputError for an arc into a column of the past, or within a time that has none."""
    from extbnsl.data import Data

    if not isinstance(problem, Data) or problem.slices is None:
        return
    ruled_out = problem.knowledge.ruling_out()
    for arc in network.arcs():
        parent, child = (network.names[v] for v in arc)
        if (why := ruled_out(parent, child)) is not None:
            raise InputError(f"The network has the arc from {parent!r} to {child!r}, but in time {why}.")


def reasons(network: Network, claim: Claim, figures: FamilyFigures, x: int, y: int | None = None) -> list[Reason]:
    """Why an acyclic network has the arcs between x and y, or has them not, into x first; of all y if that is None.

    Asks for the figures of up to 4 families for each y. `figures` costs most of the time.
    """
    once = functools.cache(figures)
    barred = _Barred(network, claim)
    found = []
    for other in range(len(network.names)) if y is None else (y,):
        for parent, child in ((other, x), (x, other)) if other != x else ():
            present = parent in network.parents[child]
            own = tuple(sorted({*network.parents[child]} - {parent}))
            without, with_it = once(child, own), once(child, tuple(sorted((*own, parent))))
            why = barred.removal(parent, child) if present else barred.addition(parent, child)
            if with_it is not None and math.isinf(with_it.cost):
                with_it, why = None, why or SINGULAR  # what bars it may be why it has no cost
            names = network.names[parent], network.names[child]
            found.append(Reason(*names, present, *_differences(without, with_it), why))
    return found


def _differences(
    without: Figures | None, with_it: Figures | None
) -> tuple[float | None, float | None, float | None, float | None]:
    """Gain, price, rise and parameters of a parent, from what is known of the family without it and with it."""
    if without is None or with_it is None:
        return None, None, None, None
    rise = with_it.cost - without.cost
    if without.misfit is None or with_it.misfit is None:
        return None, None, rise, None
    gain = without.misfit - with_it.misfit
    return gain, rise + gain, rise, (with_it.parameters or 0) - (without.parameters or 0)


class _Barred:
    """What bars arcs of a network from being there, or from being left out."""

    def __init__(self, network: Network, claim: Claim) -> None:
        self._network = network
        self._required = set(claim.knowledge.required)
        self._ruled_out, self._limits = claim.knowledge.ruling_out(), claim.knowledge.limits()
        self._most, self._above = claim.max_parents, network.above()

    def removal(self, parent: int, child: int) -> str | None:
        """Why an arc must be there, as a clause."""
        return "it is required" if self._names(parent, child) in self._required else None

    def addition(self, parent: int, child: int) -> str | None:
        """Why an arc cannot be there, as a clause."""
        names = self._names(parent, child)
        if (why := self._ruled_out(*names)) is not None:
            return why
        if names[::-1] in self._required:
            return "the other way is required"
        limits = (self._most, self._limits.get(names[1]))
        most = min((limit for limit in limits if limit is not None), default=len(self._above))
        if len(self._network.parents[child]) >= most and child not in self._network.parents[parent]:
            return f"{names[1]!r} has as many parents as it may have"
        if child in self._network.parents[parent]:
            return "it is there the other way round"
        return CLOSES if self._above[parent] >> child & 1 else None

    def _names(self, parent: int, child: int) -> tuple[str, str]:
        return self._network.names[parent], self._network.names[child]


def by_rise(found: Iterable[Reason]) -> list[Reason]:
    """The reasons, the least rise first, those that are not known last; in their order where they are the same."""
    return sorted(found, key=lambda one: math.inf if one.rise is None else one.rise)
