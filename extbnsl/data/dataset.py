"""The encoded data set that scores are computed from."""

import hashlib
import json
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

HASHED_RECORDS = 1 << 10  # at a time, which are copied for that


@dataclass(frozen=True, eq=False)
class Dataset:
    """N records of n discrete variables, encoded; N and n are at least 1. Compare data sets by `fingerprint`.

    Attributes
    ----------
    names : tuple of str
        n distinct names that are not empty.
    states : tuple of tuple of str
        states[j] are the distinct labels of variable j: the states that occur, or more where the user declared an
        arity.
    codes : ndarray of uint16, (N, n)
        In C order and record order; codes[i, j] is an index into states[j].
    source : str
        The file name, "<array>" or "<dataframe>".
    warnings : tuple of str
        Sentences for the user.
    layout : str
        How a file was read, such as "comma, header".
    """

    names: tuple[str, ...]
    states: tuple[tuple[str, ...], ...]
    codes: NDArray[np.uint16]
    source: str
    warnings: tuple[str, ...] = ()
    layout: str = ""

    @property
    def records(self) -> int:
        """Number of records N."""
        return int(self.codes.shape[0])

    @property
    def variables(self) -> int:
        """Number of variables n."""
        return len(self.names)

    @property
    def arities(self) -> NDArray[np.int64]:
        """Number of states of each variable, shape (n,)."""
        return np.array([len(labels) for labels in self.states], dtype=np.int64)

    @property
    def fingerprint(self) -> str:
        """Hex SHA-256 over names, states, shape and codes; O(N n), computed at each access.

        The same on every platform and for every integer dtype of the codes. Source, warnings and layout are
        left out: the same records read from a file or a DataFrame are the same data.
        """
        head = json.dumps([self.names, self.states, self.codes.shape], separators=(",", ":"))
        digest = hashlib.sha256(head.encode("ascii"))
        for start in range(0, len(self.codes), HASHED_RECORDS):
            digest.update(np.ascontiguousarray(self.codes[start : start + HASHED_RECORDS], dtype="<u4").data)
        return digest.hexdigest()

    def check(self) -> None:
        """Assert every invariant of the class docstring."""
        n = len(self.names)
        assert n >= 1
        assert len(set(self.names)) == n
        assert all(self.names)
        assert len(self.states) == n
        assert all(labels and len(set(labels)) == len(labels) for labels in self.states)
        assert self.codes.ndim == 2
        assert self.codes.shape[0] >= 1
        assert self.codes.shape[1] == n
        assert self.codes.dtype == np.uint16
        assert self.codes.flags.c_contiguous
        assert bool((self.codes.max(axis=0) < self.arities).all())
