"""Resamples of a data set: as many records, drawn with replacement (Efron 1979, The Annals of Statistics 7)."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.data.dataset import Dataset, Numbers, distinct_rows
from extbnsl.kernels.random import random_words
from extbnsl.machine.workers import chunks

DRAWN = 1 << 20  # records at a time, which take some memory each
NUMBER_BITS, BLOCK_BITS = 32, 52  # where the resample and the block stand in the seed of a block, above the seed


@dataclass(frozen=True, eq=False)
class Resampling:
    """What resamples are drawn from: the data, their records (d, n) in lexicographic order, the distinct ones of states
    and all of numbers, and how many records these stand for up to each, (d,) int64."""

    data: Dataset | Numbers
    rows: NDArray[Any]
    ends: NDArray[np.int64]

    @property
    def size(self) -> int:
        """The bytes of a resample."""
        return self.data.records * self.rows.shape[1] * self.rows.itemsize

    def drawn(self, seed: int, number: int) -> Dataset | Numbers:
        """Resample `number` of a seed, from 1: N records, each one of the data set's by chance.

        A function of the records as a multiset, the seed and the number alone, on every platform; names and states are
        those of the data, whether they occur or not. O(N log d + N n), and as many bytes as the data have.
        """
        times = np.zeros(len(self.ends), np.int64)
        for block, (first, end) in enumerate(chunks(self.data.records, DRAWN)):
            words = random_words(seed | number << NUMBER_BITS | block << BLOCK_BITS, end - first)
            words %= np.uint64(self.data.records)
            drawn = np.searchsorted(self.ends, words.view(np.int64), side="right")
            times += np.bincount(drawn, minlength=len(times))
        rows = np.repeat(self.rows, times, axis=0)
        if isinstance(self.data, Numbers):
            return replace(self.data, values=rows)
        return replace(self.data, codes=rows)


def resampling_of(data: Dataset | Numbers) -> Resampling:
    """What resamples of data are drawn from; costs what `distinct_rows` does, of numbers O(n N log N)."""
    if isinstance(data, Numbers):
        values = data.values[np.lexsort(data.values.T[::-1])]
        return Resampling(data, values, np.arange(1, data.records + 1))
    rows, weights = distinct_rows(data.codes)
    return Resampling(data, rows, weights.cumsum())
