"""Numbers of any size: a double beside a whole number that counts powers of 2^256.

The weights of networks differ by factors such as exp(100,000), which no double holds, and logarithms take ten times as
long to add. A number here is mantissa * 2^(256 exponent). Of one that is `normal` the mantissa lies between 2^-128 and
2^128, or is 0 with the exponent LOWEST. Sums of up to 2^32 normal ones need not be normal again: of two exponents that
differ by two or more the smaller number is less than a 2^-190th of the other, and counts for nothing.

Arrays of them are two arrays: mantissas, float64, and exponents, int32.
"""

import math

import numba
import numpy as np
from numba.extending import intrinsic
from numpy.typing import NDArray

from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import inlined

BITS = 256
STEP = 2.0**BITS
LOWEST = -(1 << 29)  # the exponent of 0: two of them added are still an int32
NATS = BITS * math.log(2.0)  # of one step of the exponent

Wide = tuple[NDArray[np.float64], NDArray[np.int32]]


def wide_of_logs(logs: NDArray[np.float64]) -> Wide:
    """The numbers with these natural logarithms, each normal; -inf for 0."""
    some = logs > -np.inf
    exponents = np.full(logs.shape, LOWEST, np.int32)
    exponents[some] = np.round(logs[some] / NATS)
    mantissas = np.zeros(logs.shape)
    mantissas[some] = np.exp(logs[some] - exponents[some] * NATS)
    return mantissas, exponents


def log_of(mantissa: float, exponent: int) -> float:
    """The natural logarithm of a number that is not negative; -inf for 0."""
    return math.log(mantissa) + exponent * NATS if mantissa > 0.0 else -math.inf


@inlined
def share_of(difference):
    """What a mantissa is worth beside one whose exponent is larger by so much, 0 or more."""
    if difference == 0:
        return 1.0
    return 1.0 / STEP if difference == 1 else 0.0


@inlined
def normal(mantissa, exponent):
    """The same number, normal, if the mantissa is 0 or between 2^-384 and 2^384."""
    size = abs(mantissa)
    if size == 0.0:
        return 0.0, np.int32(LOWEST)
    if size >= 2.0**128:
        return mantissa / STEP, np.int32(exponent + 1)
    if size < 2.0**-128:
        return mantissa * STEP, np.int32(exponent - 1)
    return mantissa, np.int32(exponent)


@intrinsic
def _bits_of(typingctx, x):
    """The bits of a float64, as uint64."""

    def codegen(context, builder, signature, args):
        return builder.bitcast(args[0], context.get_value_type(numba.uint64))

    return numba.uint64(numba.float64), codegen


@intrinsic
def _of_bits(typingctx, x):
    """The float64 of these bits, int64."""

    def codegen(context, builder, signature, args):
        return builder.bitcast(args[0], context.get_value_type(numba.float64))

    return numba.float64(numba.int64), codegen


# What follows has no branches, so that loops over arrays take several numbers at a time. Mantissas are not negative.


@inlined
def levelled(mantissa, exponent):
    """The same number, normal, if the mantissa is 0 or between 2^-896 and 2^896."""
    steps = max(np.int64((_bits_of(mantissa) >> u64(52)) + u64(129) >> u64(8)) - 4, -3)  # the bits know log2 + 1023
    scaled = mantissa * _of_bits((1023 - (steps << 8)) << 52)
    return scaled, np.int64(exponent) + steps if mantissa > 0.0 else np.int64(LOWEST)


@inlined
def power_of(steps):
    """STEP to the power of `steps`, at most 3; 0 from -4 on."""
    return _of_bits(max(1023 + (max(steps, -4) << 8), 0) << 52)


@inlined
def added(mantissa, exponent, other, further):
    """The sum of two numbers, of which either may be a sum of normal ones."""
    most = max(np.int64(exponent), np.int64(further))
    return mantissa * power_of(exponent - most) + other * power_of(further - most), most
