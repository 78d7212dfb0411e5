"""The E step of states: every completion of a record, and how likely it is.

A record that lacks values of r1, ..., rk states has r1 ... rk completions; records that are equal share theirs. So all
is exact: what is observed has the likelihood that its completions have together, and the share of one of them in it is
its probability. Parameters are fitted by these probabilities. The search of networks counts rows, so that the completed
data are rows of 1/M of a record: each completion has as many as its probability comes to, those of equal records
together, rounded. No expected count of a completion is off by more than 1/M.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.errors import BudgetError, InputError
from extbnsl.core.figures import format_size
from extbnsl.core.sentences import Mention, asking
from extbnsl.data import Data, Dataset, distinct_rows
from extbnsl.em.model import Check, Model, parted, with_gaps
from extbnsl.networks.network import Network
from extbnsl.networks.parameters import by_observed, fit

MOST_COMPLETIONS = 1 << 20  # of a record
ROWS = 1 << 19  # that completed data have at most, unless that is less than LEAST_PARTS a record
LEAST_PARTS, MOST_PARTS = 1 << 6, 1 << 13  # of a record
SHARE = 1 / 4  # of the memory, for completions, and for rows
WORK_BYTES = 96  # of a completion: logarithms, probabilities, cells
PRIOR = 1.0  # the equivalent sample size of the parameters to begin with


@dataclass(frozen=True, eq=False)
class ExpectedStates:
    """Data of states, and all completions of their records.

    data: with latent values.
    codes: of the completions, those of a record one after another, (R, n).
    starts: where those of each distinct record begin, (G,).
    times: how many records are equal to each of these, (G,).
    parts: rows that a record becomes.
    """

    data: Dataset
    codes: NDArray[np.uint16]
    starts: NDArray[np.int64]
    times: NDArray[np.int64]
    parts: int

    @classmethod
    def of(cls, data: Data, memory: int) -> Self:
        """The completions of data, and as many parts of a record as so many bytes of memory afford. InputError if a
        record has too many completions, BudgetError if the memory does not do."""
        assert isinstance(data, Dataset), "it is of states"
        lacking = data.codes == data.arities.astype(np.uint16)
        _check(data, lacking, memory)
        blocks, sizes, times = list[NDArray[np.uint16]](), list[NDArray[np.int64]](), list[NDArray[np.int64]]()
        for observed, records in by_observed(lacking):
            rows, own = distinct_rows(data.codes[records])
            missing = [v for v in range(data.variables) if v not in observed]
            states = joint_states(data.arities[missing])
            block = np.repeat(rows, len(states), axis=0)
            block[:, missing] = np.tile(states, (len(rows), 1))
            blocks.append(block)
            sizes.append(np.full(len(rows), len(states)))
            times.append(own)
        ends = np.concatenate(sizes).cumsum()
        starts = np.concatenate([[0], ends[:-1]])
        parts = _parts(data, memory)
        return cls(data, np.concatenate(blocks), starts, np.concatenate(times), parts)

    @property
    def size(self) -> int:
        """See `Expectation`."""
        return self.codes.nbytes + self.data.records * self.parts * self.data.record_bytes

    def begin(self, network: Network) -> Model:
        """See `Expectation`; the parameters have a prior of PRIOR records, so that none is 0."""
        return Model(network, fit(network, with_gaps(self.data), PRIOR))

    def step(self, model: Model, check: Check, network: Network | None = None) -> tuple[float, Model]:
        """See `Expectation`. O(R) for each variable and arc. A configuration of parents that no completion has makes
        all states alike, as everywhere."""
        likelihood, shares = self._shares(model, check)
        counts, fitted = shares * np.repeat(self.times, self._sizes), network or model.network
        tables = list[NDArray[np.float64]]()
        for shape, cells in zip(self._shapes(fitted), self._cells(fitted), strict=True):
            check()
            found = np.bincount(cells, counts, math.prod(shape)).reshape(shape)
            totals = found.sum(axis=-1, keepdims=True)
            occurs = totals > 0.0
            tables.append(np.where(occurs, found / np.where(occurs, totals, 1.0), 1 / shape[-1]))
        return -likelihood * self.data.each, Model(fitted, tuple(tables))

    def completed(self, model: Model, check: Check) -> Dataset:
        """See `Expectation`; counts are rounded to 1 / parts of a record."""
        _, shares = self._shares(model, check)
        rows = apportioned(shares, np.repeat(self.times * float(self.parts), self._sizes))
        check()
        occurs = rows > 0
        codes = np.repeat(self.codes[occurs], rows[occurs], axis=0)
        return replace(self.data, codes=codes, gaps=False, latent=False, weights=parted(self.data, self.parts))

    def shaped(self, network: Network, flat: tuple[tuple[float, ...], ...]) -> Model:
        """See `Expectation`."""
        tables = list[NDArray[np.float64]]()
        for name, shape, numbers in zip(network.names, self._shapes(network), flat, strict=True):
            table = np.array(numbers).reshape(shape)
            if not (table >= 0.0).all() or not np.allclose(table.sum(axis=-1), 1.0, rtol=0.0, atol=1e-9):
                raise ValueError(f"the numbers of {name!r} are no table")
            tables.append(table)
        return Model(network, tuple(tables))

    def _shapes(self, network: Network) -> list[tuple[int, ...]]:
        """Of the tables of a network."""
        arities = self.data.arities
        return [tuple(arities[[*own, child]].tolist()) for child, own in enumerate(network.parents)]

    @property
    def _sizes(self) -> NDArray[np.int64]:
        """How many completions each distinct record has, (G,)."""
        return np.diff(self.starts, append=len(self.codes))

    def _shares(self, model: Model, check: Check) -> tuple[float, NDArray[np.float64]]:
        """The log-likelihood of all that is observed, in nats, and the probability of each completion given what is
        observed, (R,)."""
        logs = np.zeros(len(self.codes))
        for table, cells in zip(model.parameters, self._cells(model.network), strict=True):
            check()
            with np.errstate(divide="ignore"):
                logs += np.log(table).ravel()[cells]
        sizes, largest = self._sizes, np.maximum.reduceat(logs, self.starts)
        logs -= np.repeat(largest, sizes)
        np.exp(logs, out=logs)
        sums = np.add.reduceat(logs, self.starts)
        logs /= np.repeat(sums, sizes)
        return math.fsum((self.times * (largest + np.log(sums))).tolist()), logs

    def _cells(self, network: Network) -> Iterator[NDArray[np.int64]]:
        """Where each completion is in the table of each child, (R,)."""
        for child, parents in enumerate(network.parents):
            cells = np.zeros(len(self.codes), np.int64)
            for variable in (*parents, child):
                cells *= len(self.data.states[variable])
                cells += self.codes[:, variable]
            yield cells


def joint_states(arities: NDArray[np.int64]) -> NDArray[np.int64]:
    """All joint states of variables of so many states each, the last one changing fastest, (product, k)."""
    whole = int(arities.prod())
    after = whole // arities.cumprod()  # joint states of the variables behind each
    return np.asarray(np.arange(whole)[:, None] // after % arities)


def apportioned(shares: NDArray[np.float64], rows: NDArray[np.float64]) -> NDArray[np.int64]:
    """How many rows each completion (R,) has, by its share in the rows (R,) of its record: a whole number, which
    all completions of a record have together.

    The sum of the first k shares is rounded, for each k, so that those of a record sum up to its rows, and neither a
    completion nor the first ones of a record together are off by a row or more. Where each has less than a row, as of a
    record that lacks much, the next ones take turns; by largest remainders all rows would go to the likeliest. O(R).
    """
    ends = np.floor(np.cumsum(shares * rows) + 0.5).astype(np.int64)
    ends[1:] -= ends[:-1].copy()
    return ends


def _check(data: Dataset, lacking: NDArray[np.bool_], memory: int) -> None:
    """Raise InputError if a record has too many completions, BudgetError if there is no memory for all, or for the rows
    of completed data."""
    logs = lacking @ np.log2(data.arities)
    most = int(logs.argmax())
    if logs[most] > math.log2(MOST_COMPLETIONS):
        raise InputError(
            f"{data.source}: record {most + 1:,} lacks {int(lacking[most].sum()):,} values, which can be in "
            f"{2.0 ** min(float(logs[most]), 1000.0):.3g} ways, and ",
            asking("missing", "em"),
            f" looks at {MOST_COMPLETIONS:,} at most",
            row=most + 1,
            advice=(
                "leave out the columns that lack most, by ",
                Mention("drop"),
                ", or say ",
                asking("missing", "average"),
            ),
        )
    ways = float(np.exp2(logs).sum())
    needed = {
        f"Completing the records in {ways:,.0f} ways": ways * (data.record_bytes + WORK_BYTES),
        f"Counting {LEAST_PARTS} rows of each record": float(data.records) * LEAST_PARTS * data.record_bytes,
    }
    for work, size in needed.items():
        if size > SHARE * memory:
            raise BudgetError(
                f"{work} needs {format_size(int(size / SHARE))} of memory, and ",
                Mention("memory"),
                f" grants {format_size(memory)}",
                advice=("grant more, leave out the columns that lack most, or say ", asking("missing", "average")),
            )


def _parts(data: Dataset, memory: int) -> int:
    """Of how many rows a record becomes: a power of two."""
    most = min(ROWS, int(SHARE * memory) // data.record_bytes) // data.records
    return max(LEAST_PARTS, min(MOST_PARTS, 1 << max(0, most.bit_length() - 1)))
