"""Records of continuous variables: columns of numbers."""

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.errors import InputError
from extbnsl.data.advice import option
from extbnsl.data.column import LARGEST_NUMBER, Column, listed
from extbnsl.data.dataset import HASHED_RECORDS
from extbnsl.data.encode import chosen_columns
from extbnsl.data.reading import Reading
from extbnsl.data.treatment import Treatment


@dataclass(frozen=True, eq=False)
class Numbers:
    """N records of n continuous variables.

    `names` has n distinct non-empty names; `values` is (N, n) float64 in C order and record order, all finite and at
    most 1e150. `source`, `warnings` and `layout` are as in a `Dataset`. N and n are at least 1. Compare by
    `fingerprint`.
    """

    names: tuple[str, ...]
    values: NDArray[np.float64]
    source: str
    warnings: tuple[str, ...] = ()
    layout: str = ""

    @property
    def records(self) -> int:
        """Number of records N."""
        return int(self.values.shape[0])

    @property
    def variables(self) -> int:
        """Number of variables n."""
        return len(self.names)

    @property
    def fingerprint(self) -> str:
        """Hex SHA-256 over names, shape and values; O(N n), computed at each access."""
        head = json.dumps(["numbers", self.names, self.values.shape], separators=(",", ":"))
        digest = hashlib.sha256(head.encode("ascii"))
        for start in range(0, self.records, HASHED_RECORDS):
            part = self.values[start : start + HASHED_RECORDS] + 0.0  # -0.0 is 0.0
            digest.update(np.ascontiguousarray(part, dtype="<f8").data)
        return digest.hexdigest()

    def check(self) -> None:
        """Assert every invariant of the class docstring."""
        n = len(self.names)
        assert n >= 1
        assert len(set(self.names)) == n
        assert all(self.names)
        assert self.values.shape[0] >= 1
        assert self.values.shape[1:] == (n,)
        assert self.values.dtype == np.float64
        assert self.values.flags.c_contiguous
        assert bool((np.abs(self.values) <= LARGEST_NUMBER).all())


def measured(columns: Sequence[Column], source: str, wanted: Treatment, reading: Reading | None = None) -> Numbers:
    """The Numbers of `columns`, all of the same number of records: the choice of columns and of records, missing values
    and weights as `encode.prepare` has them.

    Raises InputError as that does, for options that make states, for a column that has no numbers, and for numbers
    beyond 1e150. O(N n).
    """
    _refuse_states(wanted)
    complete, warnings = chosen_columns(columns, source, wanted, reading, states=False)
    values = np.empty((len(complete[0].codes), len(complete)))
    for j, column in enumerate((reading or Reading(memory=0)).watched(source, complete)):
        values[:, j] = _meaning(column, source)[column.codes]
    return Numbers(tuple(column.name for column in complete), values, source, warnings)


def _refuse_states(wanted: Treatment) -> None:
    """Raise InputError for an option that makes states, naming it."""
    given = {
        "--discretise": wanted.rules.plain is not None or bool(wanted.rules.named),
        "--discrete": wanted.discrete is None or bool(wanted.discrete),
        "--arities": bool(wanted.arities),
        "--missing state": wanted.missing == "state",
    }
    for name, is_given in given.items():
        if is_given:
            raise InputError(
                f"{name} makes states of columns, and the score gaussian-bic takes numbers; leave it out, or take "
                "another score."
            )


def _meaning(column: Column, source: str) -> NDArray[np.float64]:
    """The number of each value of a column, (values,) float64; InputError for one that occurs and is none."""
    meaning = np.zeros(len(column.values))
    for code in np.unique(column.codes).tolist():
        text = column.values[code]
        try:
            number = math.nan if "_" in text else float(text)
        except ValueError:
            number = math.nan
        if not abs(number) <= LARGEST_NUMBER:  # a nan fails as well
            row = int((column.codes == code).argmax()) + 1
            kind = "no number" if math.isnan(number) else f"beyond {LARGEST_NUMBER:g}"
            shown = repr(text) if math.isnan(number) else f"{number:g}"
            raise InputError(
                f"{source}: column {listed([column.name])} has {shown} in row {row} of the data, which is {kind}, and "
                f"the score gaussian-bic takes numbers: take another score, or leave the column out with "
                f"{option('drop', column.name)}."
            )
        meaning[code] = number
    return meaning
