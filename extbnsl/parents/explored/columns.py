"""Records as columns of bits: what a single parent set is scored on where the variables are many."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.data import Dataset
from extbnsl.kernels.varsets import WORD_BITS
from extbnsl.parents.exhaustive.measured import Standardised
from extbnsl.parents.exhaustive.problem import alone
from extbnsl.scores.counting import mlogm_table
from extbnsl.scores.formula import MISFIT, Formula, formula
from extbnsl.scores.known import Known
from extbnsl.scores.mdl import MDL
from extbnsl.scores.score import ParameterScore

COLUMNS_AT_A_TIME = 64  # variables of which bytes, one for each record, are in hand


class Columns(NamedTuple):
    """N records of n variables.

    bits (s, w) uint64: a column for each state of each variable, bit i % 64 of word i // 64 for record i; first
    (n + 1,) int64: the column of state 0 of each variable, and s; counts (s,) int64: the records of each; codes (n, N)
    uint16: the same by variable; arities (n,) int64: states, declared ones that never occur among them; mlogm (N + 1,)
    float64: m ln m. form: the score; its kind is MISFIT for one of misfit and a price. entropies (n,) float64: N
    H(variable) in nats, or what the variable costs without parents if the score is of another kind.

    Of continuous variables there are no states to count: correlations (n, n) float64 and half, N / 2, tell misfits.
    These, and entropies, are what is left above what all other variables leave (scores/gaussian.py), so that all that
    is proved of entropies holds. The arities are 2 then: a child has one price. half is 0 of states.
    """

    bits: NDArray[np.uint64]
    first: NDArray[np.int64]
    counts: NDArray[np.int64]
    codes: NDArray[np.uint16]
    arities: NDArray[np.int64]
    entropies: NDArray[np.float64]
    mlogm: NDArray[np.float64]
    form: Formula
    correlations: NDArray[np.float64]
    half: float

    @property
    def nbytes(self) -> int:
        return sum(field.nbytes for field in self if isinstance(field, np.ndarray))

    @property
    def records(self) -> int:
        """Records that are counted: none of continuous variables."""
        return int(self.codes.shape[1])

    @property
    def variables(self) -> int:
        return int(self.arities.size)

    def check(self) -> None:
        """Raise AssertionError if this cannot be."""
        n, records = self.codes.shape
        assert self.arities.shape == self.entropies.shape == (n,), "an arity and an entropy for each variable"
        assert (np.diff(self.first) == self.arities).all(), "a column for each state"
        assert self.bits.shape == (self.first[-1], -(-records // WORD_BITS)), "a bit for each record"
        assert (np.bitwise_count(self.bits).sum(axis=1) == self.counts).all(), "a bit is a record"
        assert (np.add.reduceat(self.counts, self.first[:-1]) == records).all(), "each record is in one state"
        assert self.mlogm.size == records + 1, "m ln m for every count"


def bit_columns(dataset: Dataset, score: Known = MDL, max_parents: int = 0) -> Columns:
    """The columns of a data set, by a score of families of at most so many parents.

    Memory: N (2 n + s / 8) bytes; O(N s).
    """
    codes = np.ascontiguousarray(dataset.codes.T)
    n, records = codes.shape
    arities = dataset.arities
    first = np.concatenate(([0], np.cumsum(arities))).astype(np.int64)
    bits = np.zeros((int(first[-1]), -(-records // WORD_BITS)), np.uint64)
    variable = np.repeat(np.arange(n), arities)
    state = np.arange(first[-1]) - first[variable]
    for begin in range(0, variable.size, COLUMNS_AT_A_TIME):
        some = slice(begin, begin + COLUMNS_AT_A_TIME)
        packed = np.packbits(codes[variable[some]] == state[some, None], axis=1, bitorder="little")
        bits[some].view(np.uint8)[:, : packed.shape[1]] = packed
    counts = np.bitwise_count(bits).sum(axis=1, dtype=np.int64)
    mlogm = mlogm_table(records)
    entropies = np.maximum(0.0, mlogm[-1] - np.add.reduceat(mlogm[counts], first[:-1]))
    entropies[np.maximum.reduceat(counts, first[:-1]) == records] = 0.0
    form = formula(MISFIT, arities)
    if not isinstance(score, ParameterScore):
        form = score.formula(records, arities, max_parents)
        entropies = np.array([score.cost(alone(dataset, x)) for x in range(n)])
    return Columns(bits, first, counts, codes, arities, entropies, mlogm, form, np.zeros((0, 0)), 0.0)


def correlated_columns(columns: Standardised) -> Columns:
    """The same of continuous variables. O(n^3)."""
    n = len(columns.names)
    arities = np.full(n, 2)
    return Columns(
        bits=np.zeros((0, 0), np.uint64),
        first=np.zeros(n + 1, np.int64),
        counts=np.zeros(0, np.int64),
        codes=np.zeros((n, 0), np.uint16),
        arities=arities,
        entropies=np.maximum(0.0, -columns.least),
        mlogm=np.zeros(1),
        form=formula(MISFIT, arities),
        correlations=np.ascontiguousarray(columns.factor @ columns.factor.T),
        half=columns.records / 2,
    )
