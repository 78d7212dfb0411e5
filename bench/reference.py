"""A fixed piece of work, to compare machines and moments by."""

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.compiler import njit

WORDS = 1 << 15  # of the table: 256 KiB, which lie in the second cache, as what most kernels work on
STEPS = 1 << 23


def reference_table() -> NDArray[np.uint64]:
    """The table that the loop works on."""
    return np.arange(WORDS, dtype=np.uint64)


@njit
def reference(steps, table):
    """So many steps, each of which reads a word at a place that nobody can foresee, works on it as kernels do with
    varsets, and writes it back. (xorshift: Marsaglia 2003.)"""
    state, mask = np.uint64(88172645463325252), np.uint64(table.size - 1)
    total = 0.0
    for _ in range(steps):
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
        at = state & mask
        word = table[at] ^ state
        table[at] = word & (word - np.uint64(1))
        if word & np.uint64(64):
            total += np.float64(at)
    return total
