"""Resamples of a data set: as many records, drawn with replacement (Efron 1979, The Annals of Statistics 7).

Of a time series of several units whole units are drawn, as many as there are: rows of one unit depend on each other,
and units do not (the bootstrap of clusters; Davison and Hinkley 1997, section 3.8). A series without units is drawn row
by row, each with the past that it has: that is sound as far as the lags hold all of the past that matters, since what a
row adds to its past is independent then (the pairwise bootstrap; Gonçalves and Kilian 2004, Journal of Econometrics
123). Records whose weights are not whole are units of as many rows as they have parts. Of imputed tables the
resamples are the tables themselves, in their order.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extbnsl.data.dataset import Data
from extbnsl.kernels.random import random_words
from extbnsl.machine.workers import chunks

DRAWN = 1 << 20  # records at a time, which take some memory each
NUMBER_BITS, BLOCK_BITS = 32, 52  # where the resample and the block stand in the seed of a block, above the seed


@dataclass(frozen=True, eq=False)
class Resampling:
    """What resamples are drawn from: the data, in lexicographic order, and how many records each record of it and those
    before it stand for, (d,) int64.

    units: how many rows there are up to the end of each unit, (u,) int64, where units are drawn; the data are as they
    stand then. None where records are.
    """

    data: Data
    ends: NDArray[np.int64]
    units: NDArray[np.int64] | None = None

    @property
    def records(self) -> int:
        """How many records a resample has."""
        return int(self.ends[-1])

    @property
    def size(self) -> int:
        """The bytes of a resample, at most."""
        records = self.records
        if self.data.tables:
            return int(self.ends[0]) * self.data.record_bytes
        if self.units is not None:
            records = len(self.units) * int(np.diff(self.units, prepend=0).max())
        return records * self.data.record_bytes

    def drawn(self, seed: int, number: int) -> Data:
        """Resample `number` of a seed, from 1: N records, each one of the data set's by chance, or the rows of as many
        units as there are.

        A function of the records as a multiset, or of the units in their order, the seed and the number alone, on every
        platform; names and states are those of the data, whether they occur or not. O(N log d + N n), and as many bytes
        as the data have.
        """
        if self.data.tables:
            each = int(self.ends[0])
            return self.data.taken(np.arange((number - 1) * each, number * each)).as_records()
        ends = self.ends if self.units is None else np.arange(1, len(self.units) + 1)
        times = np.zeros(len(ends), np.int64)
        for block, (first, end) in enumerate(chunks(int(ends[-1]), DRAWN)):
            words = random_words(seed | number << NUMBER_BITS | block << BLOCK_BITS, end - first)
            words %= np.uint64(ends[-1])
            drawn = np.searchsorted(ends, words.view(np.int64), side="right")
            times += np.bincount(drawn, minlength=len(times))
        if self.units is not None:
            times = np.repeat(times, np.diff(self.units, prepend=0))
        return self.data.taken(np.repeat(np.arange(len(times)), times))


def resampling_of(data: Data) -> Resampling:
    """What resamples of data are drawn from; costs what `distinct` does."""
    if data.slices is not None and len(data.slices.ends) > 1:
        return Resampling(data, np.arange(1, data.records + 1), data.slices.ends)
    if data.weights is not None and data.tables:
        return Resampling(data, data.weights.ends)
    if data.weights is not None:
        return Resampling(data, np.arange(1, data.records + 1), data.weights.ends)
    distinct, times = data.distinct()
    return Resampling(distinct, times.cumsum())
