"""Random numbers: in kernels one generator, xorshift64* (Vigna 2016), whose state, uint64 (1,), the caller keeps; for
arrays as a whole splitmix64 (Steele, Lea, Flood 2014), which takes less memory than the generators of numpy."""

import math

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import inlined, inner
from extbnsl.kernels.hashing import GOLDEN, mixed


def random_words(seed: int, *shape: int) -> NDArray[np.uint64]:
    """Random 64-bit numbers, uint64 of the shape; different seeds have different ones."""
    start = np.uint64(seed * 0xD1342543DE82EF95 % 2**64)
    numbers = np.arange(1, math.prod(shape) + 1, dtype=np.uint64) + start
    return mixed.py_func(numbers * GOLDEN).reshape(shape)


@inner
def new_state(seed):
    """A state for a seed; different seeds have different ones."""
    return np.array([u64(seed) * u64(2654435761) + u64(88172645463325252)])


@inlined
def _next(state):
    """The next of a sequence of random 64-bit numbers; the state must not be zero."""
    x = state[0]
    x ^= x >> u64(12)
    x ^= x << u64(25)
    x ^= x >> u64(27)
    state[0] = x
    return x * u64(2685821657736338717)


@inlined
def random_below(state, limit):
    """A random integer in [0, limit)."""
    return np.int64(_next(state) % u64(limit))


@inlined
def random_share(state):
    """A random float64 in [0, 1)."""
    return (_next(state) >> u64(11)) * (1.0 / 9007199254740992.0)
