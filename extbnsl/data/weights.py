"""Each record as often as its weight says, or parts of it."""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.errors import InputError
from extbnsl.data.beside import Weights
from extbnsl.data.column import Column
from extbnsl.data.text import Reading

MOST_RECORDS = (1 << 32) - 1  # that counting takes
LARGEST_WEIGHT = 1e18
PARTS_IN_ALL, PARTS_OF_RECORD = 1 << 20, 64  # of all records and of each: weights are rounded to no larger ones
COLUMN_BYTES = 2  # of a record, in each column of the data set


class Repeated(NamedTuple):
    """Columns with each record as often as its weight says, and how often that is, (N,); what a row stands for, if
    weights are not whole; and remarks."""

    columns: tuple[Column, ...]
    times: NDArray[np.int64]
    weights: Weights | None
    warnings: tuple[str, ...]


def repeated(
    columns: Sequence[Column], weights: Column, source: str, reading: Reading, rows: NDArray[np.int64] | None
) -> Repeated:
    """The columns with each record as often as its weight says. Weights that are not whole are counted in parts of a
    record: in the largest that all are multiples of, or, where these are too many, in small ones of one size, to which
    they are rounded. weights: of these records, plainly written; rows: which ones of the data they are, None for all.

    Raises InputError if a weight is no number of at least 0, or they sum to less than 1; BudgetError if the records
    certainly take more than the memory of `reading`, if it says one.
    """
    own = _weights(weights, source, rows)
    used = np.bincount(weights.codes, minlength=len(own))
    total = sum((weight * often for weight, often in zip(own, used.tolist(), strict=True)), Fraction(0))
    if total < 1:
        what = "are 0: give a record." if not total else f"sum to {float(total):g}: scale them to sum to the records."
        raise _wrong_weights(f"all weights in column '{weights.name}' of {source} {what}", weights.name)
    if total > MOST_RECORDS:
        raise _wrong_weights(
            f"column '{weights.name}' of {source} stands for {int(total):,} records: divide the weights so that they "
            f"sum to {MOST_RECORDS:,} at most.",
            weights.name,
        )
    each, told = _part([own[i] for i in np.flatnonzero(used).tolist()], total, len(weights.codes))
    times = np.array([round(weight / each) for weight in own], np.int64)[weights.codes]
    made = int(times.sum())
    if reading.memory:
        needed = made * sum(COLUMN_BYTES + column.codes.itemsize for column in columns)
        reading.check_memory(source, needed, f"the {made:,} records that its weights stand for,")
    standing = None if each == 1 else Weights(float(each), np.cumsum(times)[times > 0])
    return Repeated(
        tuple(replace(column, codes=np.repeat(column.codes, times)) for column in columns), times, standing, told
    )


def _part(weights: Sequence[Fraction], total: Fraction, records: int) -> tuple[Fraction, tuple[str, ...]]:
    """The parts of a record that weights are counted in, and a remark if they are rounded to that; 1 if all are
    whole."""
    if all(weight.denominator == 1 for weight in weights):
        return Fraction(1), ()
    most, shared = max(PARTS_IN_ALL, PARTS_OF_RECORD * records), math.lcm(*(weight.denominator for weight in weights))
    exact = Fraction(math.gcd(*(int(weight * shared) for weight in weights)), shared)
    exact /= math.ceil(exact)  # no part is more than a record
    if total <= exact * most:
        return exact, ()
    each = Fraction(float(total / most))
    return each, (f"Weights are rounded to multiples of {float(each):.3g}, of which there are {most:,}.",)


def _weights(column: Column, source: str, rows: NDArray[np.int64] | None) -> list[Fraction]:
    """The weight of each value, the last of no value; InputError for one that occurs and is negative or no number."""
    texts = (*column.values, "")
    own = list(map(_weight, texts))
    wrong = np.array([weight is None for weight in own])[column.codes]
    if wrong.any():
        first = int(wrong.argmax())
        text, row = texts[column.codes[first]], (first if rows is None else int(rows[first])) + 1
        what = f"the weight {text!r} in column '{column.name}', " if text else f"no weight in column '{column.name}': "
        raise InputError(
            f"record {row} of {source} has {what}{_refusal(text)}",
            option="weights",
            names=[column.name],
            value=text,
            row=row,
        )
    return [weight or Fraction(0) for weight in own]


def _refusal(text: str) -> str:
    """Why a text is no weight, and what to do about it, as the end of a sentence."""
    number = _number(text)
    if not text:
        return "give a number of at least 0."
    if math.isnan(number):
        return "which is no number: give a number of at least 0."
    if number < 0:
        return "which is negative: give a number of at least 0."
    return f"which is too large: divide the weights so that they sum to {MOST_RECORDS:,} at most."


def _number(text: str) -> float:
    """The number that a text writes, NaN if it is none."""
    try:
        return math.nan if "_" in text else float(text)
    except ValueError:
        return math.nan


def _weight(text: str) -> Fraction | None:
    """The weight that a text writes, exactly as a decimal number; None if it is none, or too large."""
    number = _number(text)
    if not 0 <= number < LARGEST_WEIGHT:
        return None
    return Fraction(text.strip()) if number else Fraction(0)


def _wrong_weights(sentence: str, name: str) -> InputError:
    return InputError(sentence, option="weights", names=[name])
