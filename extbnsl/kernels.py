"""The compiler of the kernels: one decorator, its cache, and the bit instructions that Python lacks.

Kernels take arrays and return arrays and counts. They hold no Python objects, release the interpreter lock and are
compiled once per machine. The compiler's own cache looks only at the file of a kernel, not at the files of the
kernels that it calls; so the compiled code lies in a folder of the user's cache (or of NUMBA_CACHE_DIR) that is named
after the digest of the kernel's module and of all modules of this package that it draws on.
"""

import contextlib
import functools
import hashlib
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.extending import intrinsic

_PACKAGE = Path(__file__).parent
_IMPORTED = re.compile(rb"^\s*from extbnsl\.([\w.]+) import", re.MULTILINE)


@functools.cache
def _sources(module: str) -> frozenset[str]:
    """The files of `module`, a dotted name below the package, and of the modules that it draws on."""
    found: set[str] = set()
    waiting = [module]
    while waiting:
        stem = waiting.pop().replace(".", "/")
        file = next(f for f in (f"{stem}.py", f"{stem}/__init__.py") if (_PACKAGE / f).exists())
        if file not in found:
            found.add(file)
            waiting += [name.decode() for name in _IMPORTED.findall((_PACKAGE / file).read_bytes())]
    return frozenset(found)


@functools.cache
def _cache_folder(module: str) -> str:
    """Where the compiled kernels of exactly these sources lie."""
    digest = hashlib.sha256()
    for file in sorted(_sources(module)):
        digest.update(file.encode() + (_PACKAGE / file).read_bytes())
    base = os.environ.get("NUMBA_CACHE_DIR") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "extbnsl"
    )
    return os.path.join(base, f"kernels-{digest.hexdigest()[:16]}")


config: Any = numba.config


def njit(kernel: Callable[..., Any], **options: Any) -> Any:
    """Compile a kernel when it is first called: cached, without the interpreter lock, division as in C."""
    others = config.CACHE_DIR
    # read when the function is decorated; other code keeps its own
    config.CACHE_DIR = _cache_folder(kernel.__module__.removeprefix("extbnsl."))
    try:
        compiled: Any = numba.njit(cache=True, nogil=True, error_model="numpy", **options)(kernel)
    finally:
        config.CACHE_DIR = others
    _need_no_cache(compiled._cache)
    return compiled


def inlined(kernel: Callable[..., Any]) -> Any:
    """A kernel whose code becomes part of the kernels that call it: for small steps of inner loops.

    A kernel that takes arrays counts a reference to each when it is called, which takes longer than a small step.
    """
    return njit(kernel, forceinline=True)


def _need_no_cache(cache: Any) -> None:
    """Let a cache whose files are damaged, as by a crash while they were written, or cannot be written, be empty."""
    load, save = cache.load_overload, cache.save_overload

    def load_or_forget(*arguments: Any) -> Any:
        try:
            return load(*arguments)
        except Exception:  # whatever unpickling half a file raises
            with contextlib.suppress(OSError):
                cache.flush()
            return None

    def save_if_possible(*arguments: Any) -> None:
        with contextlib.suppress(OSError):  # a full disk, say: the kernel will be compiled again next time
            save(*arguments)

    cache.load_overload, cache.save_overload = load_or_forget, save_if_possible


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
