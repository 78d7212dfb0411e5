"""Resamples of a data set: as many records, drawn with replacement (Efron 1979, The Annals of Statistics 7)."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from extbnsl.data.dataset import Dataset
from extbnsl.data.distinct import distinct_rows
from extbnsl.kernels.random import random_words

DRAWN = 1 << 20  # records at a time, which take some memory each
NUMBER_BITS, BLOCK_BITS = 32, 52  # where the resample and the block stand in the seed of a block, above the seed


@dataclass(frozen=True, eq=False)
class Resampling:
    """What resamples are drawn from: the data set, its distinct records (d, n) in lexicographic order, and how many
    records these stand for up to each, (d,) int64."""

    dataset: Dataset
    rows: NDArray[np.uint16]
    ends: NDArray[np.int64]

    def drawn(self, seed: int, number: int) -> Dataset:
        """Resample `number` of a seed, from 1: N records, each one of the data set's by chance.

        A function of the records as a multiset, the seed and the number alone, on every platform; names and states are
        those of the data set, whether they occur or not. O(N log d + N n), and as many bytes as the data set has.
        """
        times = np.zeros(len(self.ends), np.int64)
        for block, records in enumerate(_blocks(self.dataset.records)):
            words = random_words(seed | number << NUMBER_BITS | block << BLOCK_BITS, records)
            words %= np.uint64(self.dataset.records)
            drawn = np.searchsorted(self.ends, words.view(np.int64), side="right")
            times += np.bincount(drawn, minlength=len(times))
        return replace(self.dataset, codes=np.repeat(self.rows, times, axis=0))


def resampling_of(dataset: Dataset) -> Resampling:
    """What resamples of a data set are drawn from; costs what `distinct_rows` does."""
    rows, weights = distinct_rows(dataset.codes)
    return Resampling(dataset, rows, weights.cumsum())


def _blocks(records: int) -> Iterator[int]:
    """How many records are drawn at a time."""
    for start in range(0, records, DRAWN):
        yield min(DRAWN, records - start)
