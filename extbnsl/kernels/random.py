"""Random numbers in kernels: one generator, xorshift64* (Vigna 2016), whose state, uint64 (1,), the caller keeps."""

import numpy as np

from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import inlined, inner


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
