"""What EM asks of data of a kind; networks with their parameters, and what they cost beside the misfit."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.claims import Claim
from extbnsl.core.data_options import NUMBERS, STATES
from extbnsl.core.errors import InputError
from extbnsl.core.sentences import asking
from extbnsl.data import Data
from extbnsl.data.beside import Weights
from extbnsl.data.described import Description
from extbnsl.networks.kinds import number_of_parameters
from extbnsl.networks.network import Network
from extbnsl.scores.charges import charges_of
from extbnsl.scores.known import check_averaged, check_parts, kind_of, parameter_price, score_claimed

SCORES = ("mdl", "aic", "gaussian-bic")  # whose misfit is a likelihood of what is observed, and whose penalty is not
Check = Callable[[], None]  # called again and again; it may raise


def never_checked() -> None:
    """Let what is to be done come to its end."""


class Model(NamedTuple):
    """A network and its parameters, one array per variable: of states the table, (*arities of the parents, arity)
    float64; of numbers the intercept, the coefficients of the parents and the variance, (2 + parents,) float64."""

    network: Network
    parameters: tuple[NDArray[np.float64], ...]


class Expectation(Protocol):
    """What EM does with data of a kind."""

    @property
    def data(self) -> Data:
        """The data, with latent values."""

    @property
    def size(self) -> int:
        """The bytes of completed data, which go off the memory of a solve."""

    def begin(self, network: Network) -> Model:
        """A network with parameters by which any observed values are possible, each family's from the records that lack
        none of its values."""

    def step(self, model: Model, check: Check, network: Network | None = None) -> tuple[float, Model]:
        """Minus the log-likelihood of what is observed by a model, in nats; and its network, or another one, with the
        parameters that cost least in expectation over its completions."""

    def completed(self, model: Model, check: Check) -> Data:
        """The data, completed by a model: rows that each count for `each` of a record."""

    def shaped(self, network: Network, flat: tuple[tuple[float, ...], ...]) -> Model:
        """The model whose parameters are these, in C order; ValueError if they cannot be."""


def check_em(kind: str, claim: Claim) -> None:
    """Raise InputError unless EM can go by the score of a claim about data of this kind."""
    score = score_claimed(claim).name
    if score not in SCORES or kind not in (STATES, NUMBERS):
        raise InputError(
            asking("missing", "em"),
            f" goes by a likelihood and a price of each parameter, and {score!r} is no such score; take one of "
            f"{', '.join(SCORES)}, or treat missing values in another way.",
        )


def check_described(found: Description, claim: Claim, missing: str) -> None:
    """Raise InputError as a solve by the score of a claim does of data, as they are described, for what has become of
    gaps and weights."""
    if found.gaps and missing == "em":
        check_em(kind_of(claim.score), claim)
    elif found.gaps:
        check_averaged(claim)
    if found.in_parts:
        check_parts(found.source, claim)


def with_gaps(data: Any) -> Any:
    """Data with latent values, whose families are over the records that lack none of their values."""
    return replace(data, latent=False)


def parted(data: Data, parts: int) -> Weights:
    """What rows stand for if each row of data is so many, one after another; the same number of equal records, that is,
    whose rows may be in any order."""
    ends = np.arange(1, data.records + 1) if data.weights is None else data.weights.ends
    return Weights(data.each / parts, ends * parts)


def penalty_of(network: Network, data: Data, claim: Claim) -> float:
    """What a network costs but for its misfit, in nats: its parameters, by all records, and its arcs."""
    charges = charges_of(claim, data.names)
    arcs = math.fsum(charges.cost(child, own) for child, own in enumerate(network.parents))
    return parameter_price(claim, data.total) * number_of_parameters(network, data, claim.score) + arcs


def flat(model: Model) -> dict[str, tuple[float, ...]]:
    """The parameters of each variable by its name, in C order."""
    own: list[Any] = [each.ravel().tolist() for each in model.parameters]
    return {name: tuple(values) for name, values in zip(model.network.names, own, strict=True)}
