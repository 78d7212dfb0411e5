"""What is known of records beside their values: which variables were set from outside, what rows of a time series are
made of, and what rows stand for.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Targets:
    """Which variables were set from outside in which records: interventions.

    Attributes
    ----------
    sets : tuple of tuple of int
        Distinct sets of variables, ascending; perhaps the empty one.
    of : ndarray of uint16, (N,)
        of[i] is the index of the set of record i.
    """

    sets: tuple[tuple[int, ...], ...]
    of: NDArray[np.uint16]

    def setting(self, child: int) -> tuple[int, ...]:
        """The sets that a variable is in, by their places: those of equal ones count over the same records."""
        return tuple(place for place, own in enumerate(self.sets) if child in own)

    def apart(self, n: int) -> NDArray[np.bool_]:
        """Which pairs of n variables some set has one of alone, (n, n): the data tell which way an arc between them
        points (Hauser and Bühlmann 2012)."""
        members = np.array([[v in own for v in range(n)] for own in self.sets])
        return np.asarray((members[:, :, None] != members[:, None, :]).any(axis=0))

    def names(self, of: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        """The sets but the empty one, by the names of all variables."""
        return tuple(tuple(of[v] for v in own) for own in self.sets if own)

    def taken(self, rows: NDArray[np.int64]) -> "Targets":
        """Of these records, by their places."""
        return replace(self, of=self.of[rows])

    def among(self, variables: Sequence[int]) -> "Targets":
        """The sets of some variables alone, by their places among these."""
        at = {v: place for place, v in enumerate(variables)}
        own = [tuple(at[v] for v in members if v in at) for members in self.sets]
        sets = sorted(set(own))
        return Targets(tuple(sets), np.array([sets.index(one) for one in own], np.uint16)[self.of])

    def left(self, child: int) -> NDArray[np.bool_]:
        """In which records a variable was left to itself, (N,)."""
        return ~np.isin(self.of, self.setting(child))


@dataclass(frozen=True, eq=False)
class Slices:
    """What the rows of a time series are made of: each has the columns of a time t, and then those of the times one to
    `lags` steps before.

    Attributes
    ----------
    time : str
        The column that says when a record was taken.
    unit : str
        The column that says whose series it is of; "" if all are of one.
    lags : int
        How many steps before a time have columns, 1 or more.
    instant : bool
        Whether columns of the same time may be parents of each other.
    step : str
        What lies between a time and the next, for people.
    ends : ndarray of int64, (units,)
        How many rows there are up to the end of each unit that has rows; they come unit by unit.
    left_out : int
        How many rows cannot be made, since times before them are missing.
    """

    time: str
    unit: str
    lags: int
    instant: bool
    step: str
    ends: NDArray[np.int64]
    left_out: int

    def now(self, variables: int) -> int:
        """How many of the variables are columns of time t: the first ones."""
        return variables // (self.lags + 1)

    def document(self) -> dict[str, Any]:
        """What a result says of it, as JSON values."""
        own = {"time": self.time, "unit": self.unit or None, "lags": self.lags, "instant": self.instant}
        rows = int(self.ends[-1])
        return own | {"step": self.step, "units": len(self.ends), "rows": rows, "rows_left_out": self.left_out}


@dataclass(frozen=True, eq=False)
class Weights:
    """What rows stand for where records have weights that are not whole: each record has as many rows as its weight
    has parts of a size. And where there are several tables of the same records.

    Attributes
    ----------
    each : float
        That size: what a row weighs, in records.
    ends : ndarray of int64, (records,)
        How many rows there are up to the end of each record that has rows; or of each table.
    tables : bool
        Whether the rows are tables of the same records, in which missing values were filled in.
    """

    each: float
    ends: NDArray[np.int64]
    tables: bool = False


def at_lag(name: str, lag: int) -> str:
    """The name of the column that a variable has so many steps before."""
    return f"{name}[t-{lag}]"
