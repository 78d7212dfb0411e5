"""Distinct records and how often each occurs: what counting works on."""

import numpy as np
from numpy.typing import NDArray

WORD_BITS = 64


def distinct_rows(codes: NDArray[np.uint16]) -> tuple[NDArray[np.uint16], NDArray[np.int64]]:
    """The distinct rows of `codes` (N, n), in lexicographic order (column 0 first), and their weights.

    Returns rows (d, n) of the dtype of `codes`, in C order, and weights (d,) int64 that sum to N.
    O(N n + w N log N), w the number of 64-bit words that a row is packed into: bit fields as wide as the
    column needs, the first column in the highest bits, so that the order of the words is the order of rows.
    """
    if codes.shape[0] == 0:
        return np.ascontiguousarray(codes), np.zeros(0, dtype=np.int64)
    keys = _packed(codes)
    # lexsort takes its last key as the first to compare.
    order = np.lexsort(keys[::-1])
    changes = np.zeros(len(order), dtype=bool)
    changes[0] = True
    for key in keys:
        in_order = key[order]
        changes[1:] |= in_order[1:] != in_order[:-1]
    starts = np.flatnonzero(changes)
    weights = np.diff(starts, append=len(order)).astype(np.int64)
    return np.ascontiguousarray(codes[order[starts]]), weights


def _packed(codes: NDArray[np.uint16]) -> list[NDArray[np.uint64]]:
    """The rows as words, most significant first: each (N,) uint64; at least one word."""
    keys: list[NDArray[np.uint64]] = []
    free = 0
    for j, highest in enumerate(codes.max(axis=0).tolist() if codes.shape[1] else []):
        width = highest.bit_length()
        if width > free or not keys:
            keys.append(np.zeros(codes.shape[0], dtype=np.uint64))
            free = WORD_BITS
        free -= width
        keys[-1] |= codes[:, j].astype(np.uint64) << np.uint64(free) if width else np.uint64(0)
    return keys or [np.zeros(codes.shape[0], dtype=np.uint64)]
