"""What families of data cost, and how many parameters networks have: functions by what networks are made of."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from extbnsl.core.claims import Claim
from extbnsl.core.data_options import MIXED, NUMBERS, STATES
from extbnsl.data import Data, Dataset, Mixed, Numbers
from extbnsl.networks.network import Network
from extbnsl.networks.parameters import entries_of_tables
from extbnsl.scores.cells import cells_of
from extbnsl.scores.charges import charges_of
from extbnsl.scores.known import COLUMNS, model_of, parameter_price, score_of


class Figures(NamedTuple):
    """What is known of a family.

    cost: in nats; infinite for a family that is not allowed, since it is singular or of the wrong kind.
    misfit: minus the largest log-likelihood of the child's column, in nats; None of local scores, and where there is
        none.
    parameters: how many free ones it has; None of local scores. infinite if a float does not hold them.
    """

    cost: float
    misfit: float | None
    parameters: float | None


FamilyFigures = Callable[[int, tuple[int, ...]], Figures | None]  # of a child and its parents; None: not known


def figures_of(data: Data, claim: Claim) -> Callable[[int, tuple[int, ...]], Figures]:
    """What families cost by a claim, their arcs included; each O(N parents), or O(N log N) for very many joint states,
    and O(N parents^2) for numbers."""
    charges, scored = charges_of(claim, data.names), _FIGURES[model_of(data.kind, claim.score)](data, claim)

    def charged(child: int, parents: tuple[int, ...]) -> Figures:
        own = scored(child, parents)
        return own._replace(cost=own.cost + charges.cost(child, parents))

    return charged if charges else scored


def number_of_parameters(network: Network, data: Data, score: str) -> int:
    """How many free parameters a network has by the score of this name, those of variables that are given left out;
    O(variables + arcs)."""
    return _PARAMETERS[model_of(data.kind, score)](network, data)


def _figures_of_states(dataset: Dataset, claim: Claim) -> Callable[[int, tuple[int, ...]], Figures]:
    score = score_of(claim)

    def figures(child: int, parents: tuple[int, ...]) -> Figures:
        cells = cells_of(dataset, child, parents)
        parameters = (cells.arity - 1) * cells.configurations
        return Figures(float(score.cost(cells)), cells.misfit, int(parameters) if parameters < 1e15 else parameters)

    return figures


def _figures_of_numbers(numbers: Numbers, claim: Claim) -> Callable[[int, tuple[int, ...]], Figures]:
    from extbnsl.networks.gaussian import gaussian_cost, is_regular
    from extbnsl.scores.gaussian import OWN_PARAMETERS

    price = parameter_price(claim, numbers.total)

    def figures(child: int, parents: tuple[int, ...]) -> Figures:
        if child in numbers.given:
            return Figures(0.0, 0.0, 0)
        parameters = len(parents) + OWN_PARAMETERS
        if not is_regular(numbers, (*parents, child)):
            return Figures(math.inf, None, parameters)
        misfit = gaussian_cost(numbers, child, parents, 0.0)
        return Figures(misfit + price * parameters, misfit, parameters)

    return figures


def _figures_of_both(data: Mixed, claim: Claim) -> Callable[[int, tuple[int, ...]], Figures]:
    from extbnsl.scores.conditional import scaled

    return _priced(scaled(data), parameter_price(claim, data.total))


def _figures_of_columns(data: Mixed, claim: Claim) -> Callable[[int, tuple[int, ...]], Figures]:
    from extbnsl.scores.degenerate import blocks_of

    return _priced(blocks_of(data), parameter_price(claim, data.total))


class _Fitted(Protocol):
    """What knows the misfit of families, infinite if they are not allowed, and their parameters."""

    def misfit(self, child: int, parents: Sequence[int]) -> float: ...
    def parameters(self, child: int, parents: Sequence[int]) -> float: ...


def _priced(columns: _Fitted, price: float) -> Callable[[int, tuple[int, ...]], Figures]:
    """The figures of families of which a parameter costs the price."""

    def figures(child: int, parents: tuple[int, ...]) -> Figures:
        misfit, parameters = columns.misfit(child, parents), columns.parameters(child, parents)
        whole = int(parameters) if parameters < 1e15 else parameters
        if math.isinf(misfit):
            return Figures(math.inf, None, whole)
        return Figures(misfit + price * parameters, misfit, whole)

    return figures


def _parameters_of_states(network: Network, dataset: Dataset) -> int:
    entries = entries_of_tables(network, dataset)[: dataset.given.start]
    return sum(each - each // len(states) for each, states in zip(entries, dataset.states, strict=False))


def _parameters_of_numbers(network: Network, numbers: Numbers) -> int:
    own = network.parents[: numbers.given.start]
    return sum(len(parents) + 2 for parents in own)  # the intercept and the variance


def _parameters_of_both(network: Network, data: Mixed) -> int:
    from extbnsl.scores.conditional import scaled

    columns = scaled(data)
    return int(sum(columns.parameters(child, parents) for child, parents in enumerate(network.parents)))


def _parameters_of_columns(network: Network, data: Mixed) -> int:
    from extbnsl.scores.degenerate import blocks_of

    blocks = blocks_of(data)
    return int(sum(blocks.parameters(child, parents) for child, parents in enumerate(network.parents)))


_FIGURES: dict[str, Callable[[Any, Claim], Callable[[int, tuple[int, ...]], Figures]]] = {
    STATES: _figures_of_states,
    NUMBERS: _figures_of_numbers,
    MIXED: _figures_of_both,
    COLUMNS: _figures_of_columns,
}
_PARAMETERS: dict[str, Callable[[Network, Any], int]] = {
    STATES: _parameters_of_states,
    NUMBERS: _parameters_of_numbers,
    MIXED: _parameters_of_both,
    COLUMNS: _parameters_of_columns,
}
