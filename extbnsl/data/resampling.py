"""Resamples of a data set: as many records, drawn with replacement (Efron 1979, The Annals of Statistics 7)."""

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
    before it stand for, (d,) int64."""

    data: Data
    ends: NDArray[np.int64]

    @property
    def records(self) -> int:
        """How many records a resample has."""
        return int(self.ends[-1])

    @property
    def size(self) -> int:
        """The bytes of a resample."""
        return self.records * self.data.record_bytes

    def drawn(self, seed: int, number: int) -> Data:
        """Resample `number` of a seed, from 1: N records, each one of the data set's by chance.

        A function of the records as a multiset, the seed and the number alone, on every platform; names and states are
        those of the data, whether they occur or not. O(N log d + N n), and as many bytes as the data have.
        """
        times = np.zeros(len(self.ends), np.int64)
        for block, (first, end) in enumerate(chunks(self.records, DRAWN)):
            words = random_words(seed | number << NUMBER_BITS | block << BLOCK_BITS, end - first)
            words %= np.uint64(self.records)
            drawn = np.searchsorted(self.ends, words.view(np.int64), side="right")
            times += np.bincount(drawn, minlength=len(times))
        return self.data.taken(np.repeat(np.arange(len(times)), times))


def resampling_of(data: Data) -> Resampling:
    """What resamples of data are drawn from; costs what `distinct` does."""
    distinct, times = data.distinct()
    return Resampling(distinct, times.cumsum())
