"""The compiler of the kernels: one decorator, its cache, and the bit instructions that Python lacks.

Kernels take arrays and return arrays and counts. They hold no Python objects, release the interpreter lock and are
compiled once per machine. The compiler's own cache looks only at the file of a kernel, not at the files of the
kernels that it calls; so the compiled code lies in a folder of the user's cache (or of NUMBA_CACHE_DIR) that is named
after the digest of all sources.
"""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.extending import intrinsic


def _cache_folder() -> str:
    """Where the compiled kernels of exactly these sources lie."""
    digest = hashlib.sha256()
    package = Path(__file__).parent
    for source in sorted(package.rglob("*.py")):
        digest.update(source.relative_to(package).as_posix().encode() + source.read_bytes())
    base = os.environ.get("NUMBA_CACHE_DIR") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "extbnsl"
    )
    return os.path.join(base, f"kernels-{digest.hexdigest()[:16]}")


_CACHE_FOLDER = _cache_folder()
config: Any = numba.config


def njit(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a kernel when it is first called: cached, without the interpreter lock, division as in C."""
    others = config.CACHE_DIR
    config.CACHE_DIR = _CACHE_FOLDER  # read when the function is decorated; other code keeps its own
    try:
        compiled: Callable[..., Any] = numba.njit(cache=True, nogil=True, error_model="numpy")(kernel)
    finally:
        config.CACHE_DIR = others
    return compiled


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
