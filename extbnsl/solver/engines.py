"""What sums over all networks, or all orders, and what a state of it is."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.errors import InputError
from extbnsl.core.events import Warned
from extbnsl.core.figures import format_size
from extbnsl.parents.exhaustive.state import Means
from extbnsl.posteriors import networks, orders
from extbnsl.posteriors.layered_samples import sample_in_layers
from extbnsl.posteriors.layers import LayeredSum, Limits, nodes_in, sum_in_layers
from extbnsl.posteriors.lists import charged
from extbnsl.posteriors.network_samples import draw_networks
from extbnsl.posteriors.networks import NetworkSums, can_be_summed, sum_over_networks
from extbnsl.posteriors.order_samples import sample_orders
from extbnsl.posteriors.orders import OrderSums, sum_over_orders
from extbnsl.posteriors.scope import MOST_WHOLE, ORDER, PosteriorScope
from extbnsl.posteriors.weighted import LEAST_DRAWS, OrderedNetworks, WeightedDraws, resampled, weigh_draws
from extbnsl.scores.local import LocalScores

MOST_IN_LAYERS = 64
CHARGED_SHARE, LAYERS_SHARE = 0.25, 0.7  # of the width that is allowed: for families that are charged, and for layers


class State(Protocol):
    """How far an engine is; immutable, made of numbers, arrays and tuples of these.

    engine: of KINDS.
    log_weight: the logarithm of what is summed.
    ignored: what networks that were not summed weigh at most, of what was.
    error: what rounding may have changed a probability by at most.
    families: of each child the probability of each of its families among what is summed.
    answers: whether these tell of all networks, though there may be more to do.
    """

    @property
    def engine(self) -> str: ...
    @property
    def log_weight(self) -> float: ...
    @property
    def ignored(self) -> float: ...
    @property
    def error(self) -> float: ...
    @property
    def families(self) -> tuple[NDArray[np.float64], ...]: ...
    @property
    def answers(self) -> bool: ...


KINDS: dict[str, Any] = {kind.engine: kind for kind in (NetworkSums, OrderSums, LayeredSum, WeightedDraws)}


Draw = Callable[[Any, int, range], NDArray[np.int32]]


@dataclass(frozen=True)
class Engine:
    """What sums over networks with these families.

    scores: the families that it goes over.
    lost: what those that it does not go over weigh at most, of these.
    states: its states, given the one to go on from, if there is one; the last one has all of it.
    draw: given the last state, a seed and numbers, some networks of a sequence of independent draws: (k, n), the row of
    each child's family in `scores`. Draw number i depends on the seed and on i alone. Raises Stopped.
    """

    scores: LocalScores
    lost: float
    states: Callable[[Any], Iterator[State]]
    draw: Draw


def engine_for(scores: LocalScores, scope: PosteriorScope, means: Means, seed: int, begun: State | None) -> Engine:
    """The engine for all networks with these families, by the prior of the scope; that of `begun`, if that is given.

    By orders all sets of variables where memory and disk have room for them, or else layers of those that matter. Each
    network once: all sets of variables that can lie on cycles together, or where these are too many, or have no room
    and nobody asks for a width, networks drawn by orders and weighted. Raises Stopped, and InputError where there is
    none.
    """
    if scope.prior != ORDER and _sums_networks(scores, scope, means, begun):
        return Engine(
            scores,
            0.0,
            partial(sum_over_networks, scores, means),
            lambda sums, seed, numbers: draw_networks(scores, sums, means.workers, seed, numbers),
        )
    drawn, lost = _by_orders(scores, scope, means, begun.sums if isinstance(begun, WeightedDraws) else begun)
    if scope.prior == ORDER:
        return Engine(drawn.scores, lost, drawn.states, lambda *asked: drawn.pairs(*asked)[1])
    count = max(LEAST_DRAWS, scope.sample)
    return Engine(drawn.scores, lost, partial(weigh_draws, drawn, means, seed, count), resampled)


def _sums_networks(scores: LocalScores, scope: PosteriorScope, means: Means, begun: State | None) -> bool:
    """Whether the weights of all networks are summed, and not estimated; tells the observer if for want of room."""
    if isinstance(begun, WeightedDraws) or not can_be_summed(scores):
        return False
    needed = networks.most_bytes(scores)
    asked = begun is not None or scope.within != PosteriorScope.within or scores.variables > MOST_IN_LAYERS
    if asked or means.shelf.fits(needed):
        return True
    text = f"Sums over all networks take {format_size(needed)}, more than there is: these are estimates, from networks"
    means.observer(Warned(f"{text} that are drawn. Give more memory, or say with --within how exact they must be."))
    return False


def _by_orders(
    scores: LocalScores, scope: PosteriorScope, means: Means, begun: State | None
) -> tuple[OrderedNetworks, float]:
    """What sums over orders, and draws by them; and what the families that it does not go over weigh at most."""
    n = scores.variables
    fits = n <= MOST_WHOLE and means.shelf.fits(orders.bytes_needed(n))
    if fits if begun is None else begun.engine == OrderSums.engine:
        return OrderedNetworks(
            scores,
            partial(sum_over_orders, scores, means),
            lambda sums, seed, numbers: sample_orders(scores, sums, means, seed, numbers.start, len(numbers)),
        ), 0.0
    if n > MOST_IN_LAYERS:
        summed = "orders are summed" if scope.prior == ORDER else "networks are drawn"
        raise InputError(
            f"By the prior '{scope.prior}' {summed} of at most {MOST_IN_LAYERS} variables, not {n:,}: leave some out, "
            "or take resamples."
        )
    lost = CHARGED_SHARE * scope.within
    fewer = charged(scores, lost, means.workers)
    limits = Limits(LAYERS_SHARE * scope.within, nodes_in(means.shelf.memory))
    return OrderedNetworks(
        fewer,
        partial(sum_in_layers, fewer, means, limits),
        lambda sums, seed, numbers: sample_in_layers(fewer, sums, means, limits, seed, numbers),
    ), lost
