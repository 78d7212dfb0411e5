"""Numbers of data of both kinds in units that make all of them alike."""

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.errors import InputError
from extbnsl.core.sentences import dropped
from extbnsl.data import Mixed


def standard_numbers(data: Mixed) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """The columns (n, N) of each variable of numbers with mean 0 and variance 1, 0 of the others, of those that lack a
    value and of those that never vary; (n,) ln of the standard deviation of each in the units of the data; and (n,) the
    error of each in that unit, whose square is a part of the variance. O(N n).
    """
    numbers = ~data.of_states
    numbers &= data.values.max(axis=0) > data.values.min(axis=0)  # never so where a value is missing
    own = data.values[:, numbers] - data.values[:1, numbers]
    largest = np.abs(own).max(axis=0)
    own /= largest
    own -= own.mean(axis=0)
    error = np.array(data.resolution or [0.0] * data.variables)[numbers] / largest
    deviation = np.sqrt((own**2).mean(axis=0) + error**2)
    standard = np.zeros((data.variables, data.records))
    log_deviation, errors = np.zeros(data.variables), np.zeros(data.variables)
    standard[numbers], log_deviation[numbers] = (own / deviation).T, np.log(largest) + np.log(deviation)
    errors[numbers] = error / deviation
    return standard, log_deviation, errors


def check_varying(data: Mixed) -> None:
    """Raise InputError that names the columns if one of numbers that is no given one never varies: no Gaussian fits it;
    and of one record. O(N n)."""
    numbers = ~data.of_states
    numbers[data.given] = False
    if numbers.any() and data.records == 1:
        raise InputError(f"{data.source} has 1 record, which tells of no variance: give two or more.")
    each = zip(data.names, numbers, data.values.T, strict=True)
    constant = [name for name, has_numbers, own in each if has_numbers and (own == own[0]).all()]
    if constant:
        has = "has" if len(constant) == 1 else "have"
        raise InputError(
            f"{data.source}: {', '.join(map(repr, constant))} {has} the same number in every record, which no Gaussian "
            "fits",
            names=constant,
            advice=("leave out what never varies", dropped(constant, ", with ")),
        )
