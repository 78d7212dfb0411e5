"""The compiler of the kernels: one decorator, its cache, and the bit instructions that Python lacks.

Kernels take arrays and return arrays and counts. They hold no Python objects, release the interpreter lock and
are compiled once per machine: the cache lies beside the package, or in the user's cache folder where the
package cannot be written (NUMBA_CACHE_DIR overrides both).
"""

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba.extending import intrinsic

njit: Callable[[Callable[..., Any]], Any] = numba.njit(cache=True, nogil=True, error_model="numpy")

u64 = np.uint64


@intrinsic
def popcount(typingctx, x):  # type: ignore[no-untyped-def]
    """Number of ones of an unsigned 64-bit integer, as one."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.ctpop(args[0])

    return numba.uint64(numba.uint64), codegen


@intrinsic
def lowest(typingctx, x):  # type: ignore[no-untyped-def]
    """Index of the lowest one of an unsigned 64-bit integer; 64 for zero."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.cttz(args[0], context.get_constant(numba.boolean, False))

    return numba.uint64(numba.uint64), codegen


@intrinsic
def highest(typingctx, x):  # type: ignore[no-untyped-def]
    """Index of the highest one of a non-zero unsigned 64-bit integer."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        zeros = builder.ctlz(args[0], context.get_constant(numba.boolean, False))
        return builder.sub(context.get_constant(numba.uint64, 63), zeros)

    return numba.uint64(numba.uint64), codegen
