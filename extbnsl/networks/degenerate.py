"""The parameters of a network whose variables are blocks of Gaussian columns (scores/degenerate.py): a regression of
each block on those of its parents; and what such a network says of records.

All columns are jointly Gaussian, states among them, so an answer about numbers is that of the joint distribution. To a
state the model gives no probability, but a density of its indicators; what is said of a state is its share of these
densities over all states of the variable. No states can be drawn: what is drawn of a Gaussian is no indicator.
"""

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.errors import InputError
from extbnsl.data import Mixed
from extbnsl.networks.answer import Answer
from extbnsl.networks.network import Network
from extbnsl.networks.parameters import by_observed
from extbnsl.scores.gaussian import blurred

NO_STATES = "The model of dg-bic is Gaussian, also of states, and draws none: take samples by --score cg-bic."


@dataclass(frozen=True, eq=False)
class Block:
    """The regression of a variable's columns on those of its parents, in the units of the data.

    codes (x,): the states of the columns, empty of numbers, which are one column; first: the state without a column, -1
    of numbers; intercepts (x,); coefficients (x, p), of the columns of the parents in ascending order; covariance
    (x, x): of what is left. Columns of states that occur only where the variable was set from outside are 0 by it.
    """

    codes: tuple[int, ...]
    first: int
    intercepts: NDArray[np.float64]
    coefficients: NDArray[np.float64]
    covariance: NDArray[np.float64]

    @property
    def by_itself(self) -> list[int]:
        """The places of the columns that are not always 0."""
        is_something = (self.intercepts != 0.0) | self.coefficients.any(axis=1) | (self.covariance.diagonal() > 0.0)
        return np.flatnonzero(is_something).tolist()


@dataclass(frozen=True, eq=False)
class Columns:
    """A network of blocks with its parameters; states: the labels of each variable, none of numbers."""

    network: Network
    states: tuple[tuple[str, ...], ...]
    blocks: tuple[Block, ...]

    def places(self, variables: Sequence[int]) -> list[int]:
        """The columns of some variables, in their order, among those of all."""
        ends = np.cumsum([0, *(len(block.intercepts) for block in self.blocks)]).tolist()
        return [c for v in variables for c in range(ends[v], ends[v + 1])]


def columns_of(data: Mixed, variable: int, codes: Sequence[int]) -> NDArray[np.float64]:
    """The columns of a variable of records, (N, x): its numbers, or indicators of these states."""
    if not data.states[variable]:
        return data.values[:, [variable]]
    return (data.codes[:, [variable]] == np.array(codes, np.int64)[None, :]).astype(np.float64)


def columns(network: Network, data: Mixed, block: Callable[[int, tuple[int, ...]], Block] | None = None) -> Columns:
    """The parameters of maximum likelihood; block: what fits one, if it is not `block_in`. InputError if the names are
    not those of the data."""
    if network.names != data.names:
        raise InputError(f"The variables of the network are not those of {data.source}.")
    fitted = block_in(data) if block is None else block
    return Columns(network, data.states, tuple(fitted(x, own) for x, own in enumerate(network.parents)))


def block_in(data: Mixed) -> Callable[[int, tuple[int, ...]], Block]:
    """What fits the block of a child with its parents, in O(N m^2) for m columns of the family."""
    first = [_first(data, v) for v in range(data.variables)]
    others = [
        [state for state in np.unique(own).tolist() if states and state != first[v]]
        for v, (own, states) in enumerate(zip(data.codes.T, data.states, strict=True))
    ]

    def block(child: int, parents: tuple[int, ...]) -> Block:
        left = _left(data, child)
        own = columns_of(data, child, others[child])[left]
        given = np.hstack([np.empty((data.records, 0)), *(columns_of(data, p, others[p]) for p in parents)])[left]
        middle, center = own.mean(axis=0), given.mean(axis=0)
        spread = np.maximum(given.std(axis=0), 1e-300)
        apart, told = own - middle, given - center
        if data.resolution:
            of_columns = np.concatenate([_errors(data, v, len(others[v])) for v in (*parents, child)])
            both = blurred(np.hstack([told, apart]), of_columns)
            told, apart = both[:, : given.shape[1]], both[:, given.shape[1] :]
        slopes = np.linalg.lstsq(told / spread, apart, rcond=None)[0].T / spread
        rest = apart - told @ slopes.T
        covariance = rest.T @ rest / len(own)
        return Block(tuple(others[child]), first[child], middle - slopes @ center, slopes, covariance)

    return block


def _errors(data: Mixed, variable: int, states: int) -> NDArray[np.float64]:
    """The measurement errors of the columns of a variable, one for each of so many states, or of numbers."""
    return np.zeros(states) if data.states[variable] else np.array([data.resolution[variable]])


def _left(data: Mixed, child: int) -> NDArray[np.bool_]:
    """The records in which a variable was not set from outside, (N,)."""
    return np.ones(data.records, np.bool_) if data.targets is None else data.targets.left(child)


def _first(data: Mixed, variable: int) -> int:
    """The first state that occurs where nothing set the variable; -1 of numbers."""
    return int(data.codes[_left(data, variable), variable].min()) if data.states[variable] else -1


def joint(known: Columns) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The mean (M,) and the covariance (M, M) of all columns, in the order of the variables. O(M^3)."""
    size = len(known.places(range(len(known.blocks))))
    mean, covariance = np.zeros(size), np.zeros((size, size))
    done = list[int]()
    for child in known.network.order():
        block, own, given = known.blocks[child], known.places([child]), known.places(known.network.parents[child])
        mean[own] = block.intercepts + block.coefficients @ mean[given]
        across = block.coefficients @ covariance[np.ix_(given, done)]
        covariance[np.ix_(own, done)], covariance[np.ix_(done, own)] = across, across.T
        covariance[np.ix_(own, own)] = block.coefficients @ covariance[np.ix_(given, own)] + block.covariance
        done += own
    return mean, covariance


def _rows(known: Columns, codes: NDArray[np.integer], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Records (N, n) as columns (N, M)."""
    parts = [
        (codes[:, [v]] == np.array(block.codes)[None, :]).astype(np.float64) if known.states[v] else values[:, [v]]
        for v, block in enumerate(known.blocks)
    ]
    return np.hstack([np.zeros((len(codes), 0)), *parts])


@dataclass(frozen=True, eq=False)
class _Given:
    """A Gaussian of some columns given others: its means (N, k), covariance (k, k); and the log-densities (N,) of the
    others."""

    means: NDArray[np.float64]
    covariance: NDArray[np.float64]
    logs: NDArray[np.float64]


def _given(known: Columns, rows: NDArray[np.float64], wanted: list[int], observed: list[int]) -> _Given:
    """Of the columns `wanted` given the values of the observed ones in records (N, M)."""
    mean, covariance = joint(known)
    observed = [c for c in observed if covariance[c, c] > 0.0]  # the others are states that do not occur by themselves
    scale = np.sqrt(np.maximum(covariance.diagonal(), 1e-300))
    units = covariance / np.outer(scale, scale)
    apart = (rows[:, observed] - mean[observed]) / scale[observed]
    try:
        root = np.linalg.cholesky(units[np.ix_(observed, observed)])
    except np.linalg.LinAlgError:
        raise InputError("Columns of what is given determine each other by the network: leave some out.") from None
    errors, across = np.linalg.solve(root, apart.T), np.linalg.solve(root, units[np.ix_(observed, wanted)])
    logs = -(errors**2).sum(axis=0) / 2.0 - np.log(root.diagonal()).sum() - np.log(scale[observed]).sum()
    logs = logs - len(observed) * math.log(2.0 * math.pi) / 2.0
    means = mean[wanted] + (errors.T @ across) * scale[wanted]
    left = (units[np.ix_(wanted, wanted)] - across.T @ across) * np.outer(scale[wanted], scale[wanted])
    return _Given(means, left, logs)


def _inverse(covariance: NDArray[np.float64]) -> NDArray[np.float64]:
    """The inverse of what is left of the indicators of a variable; InputError if they are determined."""
    try:
        return np.asarray(np.linalg.inv(covariance))
    except np.linalg.LinAlgError:
        raise InputError("What is given determines the state by the network: leave some out.") from None


def _unknown(known: Columns, codes: NDArray[np.integer], observed: Sequence[int]) -> NDArray[np.bool_]:
    """Which records have a state that did not occur by itself, (N,)."""
    found = np.zeros(len(codes), np.bool_)
    for v in observed:
        if known.states[v]:
            block = known.blocks[v]
            found |= ~np.isin(codes[:, v], [block.first, *(block.codes[c] for c in block.by_itself)])
    return found


def log_densities_observed(
    known: Columns,
    codes: NDArray[np.integer],
    values: NDArray[np.float64],
    lacking: NDArray[np.bool_],
    given: Collection[int] = (),
) -> NDArray[np.float64]:
    """The log-density in nats of what is observed of each record, (N,) float64, indicators of states among it; minus
    infinity for states that did not occur. codes, values, lacking: (N, n). given: variables that it is conditioned on,
    where they are observed."""
    found, rows = np.zeros(len(codes)), _rows(known, codes, values)
    for observed, own in by_observed(lacking):
        logs = _given(known, rows[own], [], known.places(observed)).logs
        if told := sorted({*given}.intersection(observed)):
            logs = logs - _given(known, rows[own], [], known.places(told)).logs
        found[own] = np.where(_unknown(known, codes[own], observed), -math.inf, logs)
    return found


def conditioned(
    known: Columns,
    codes: NDArray[np.integer],
    values: NDArray[np.float64],
    targets: Sequence[int],
    observed: Sequence[int],
) -> Answer:
    """What the network says of some variables given the observed ones in each record, of which only these columns are
    looked at: of numbers means and covariances, of states their shares of the densities of indicators. nan where a
    state did not occur."""
    rows, seen = _rows(known, codes, values), known.places(sorted(observed))
    numbers = [v for v in targets if not known.states[v]]
    own = _given(known, rows, known.places(numbers), seen)
    lost = _unknown(known, codes, observed)
    states = {v: np.zeros((len(codes), len(known.states[v]))) for v in targets if known.states[v]}
    for v, shares in states.items():
        block, places = known.blocks[v], known.places([v])
        own_states, many = [block.first, *(block.codes[c] for c in block.by_itself)], len(block.by_itself)
        part = _given(known, rows, [places[c] for c in block.by_itself], seen)
        logs, precision = np.zeros((len(codes), 1 + many)), _inverse(part.covariance)
        for k, indicators in enumerate(np.vstack([np.zeros(many), np.eye(many)])):
            apart = indicators - part.means
            logs[:, k] = -(apart @ precision * apart).sum(axis=1) / 2.0
        shares[:, own_states] = np.exp(logs - np.logaddexp.reduce(logs, axis=1)[:, None])
        shares[lost] = math.nan
    own.means[lost] = math.nan
    each = np.repeat(own.covariance[None], len(codes), axis=0)
    return Answer(states, own.means, each)
