"""Bit instructions that Python lacks, for kernels."""

import numba
import numpy as np
from numba.extending import intrinsic

from extbnsl.kernels.compiler import inlined

u64 = np.uint64


@intrinsic
def popcount(typingctx, x):
    """Number of ones of an unsigned 64-bit integer, as one."""

    def codegen(context, builder, signature, args):
        return builder.ctpop(args[0])

    return numba.uint64(numba.uint64), codegen


@intrinsic
def lowest(typingctx, x):
    """Index of the lowest one of an unsigned 64-bit integer; 64 for zero."""

    def codegen(context, builder, signature, args):
        return builder.cttz(args[0], context.get_constant(numba.boolean, False))

    return numba.uint64(numba.uint64), codegen


@intrinsic
def highest(typingctx, x):
    """Index of the highest one of a non-zero unsigned 64-bit integer."""

    def codegen(context, builder, signature, args):
        zeros = builder.ctlz(args[0], context.get_constant(numba.boolean, False))
        return builder.sub(context.get_constant(numba.uint64, 63), zeros)

    return numba.uint64(numba.uint64), codegen


@inlined
def assign(target, source):
    """target[:] = source, of as many numbers: written so, it would make the compiler do more than all of the kernel."""
    for i in range(source.size):
        target[i] = source[i]


@inlined
def flip(varset, v):
    """Add variable v to a varset that is given by its bytes, uint8, or take it away if it is there."""
    varset[v >> 3] ^= np.uint8(1 << (v & 7))


@inlined
def is_subset(one, other):
    """Whether all members of one varset, (words,), are in the other."""
    for w in range(one.size):  # noqa: SIM110 - kernels have no generators
        if one[w] & ~other[w]:
            return False
    return True
