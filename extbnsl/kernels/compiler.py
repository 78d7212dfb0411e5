"""The compiler of the kernels: one decorator, its cache, and the bit instructions that Python lacks.

Kernels take arrays and return arrays and counts. They hold no Python objects, release the interpreter lock and are
compiled once per machine. The compiler's own cache looks only at the file of a kernel, not at the files of the
kernels that it calls; so the compiled code lies in a folder of the user's cache (or of NUMBA_CACHE_DIR) that is named
after the digest of the kernel's module and of all modules of this package that it draws on, and in that in one for each
kernel, with checksums. Where that folder cannot be written, nothing is kept.
"""

import functools
import hashlib
import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numba.core.event
from numba.core import cgutils
from numba.extending import intrinsic, overload

from extbnsl.core import compiling
from extbnsl.kernels.kept import keep_checked

_TOP = Path(__file__).parents[2]  # where the package lies
_UNKNOWN = f"numba {numba.__version__}"
_unkept: set[str] = set()  # folders that cannot be written, or what cannot keep


# An import statement where one can begin: on a line, or after a colon or a semicolon. What looks like one in a text
# makes the digest wider than it need be, never narrower. The word is looked for first: few lines have it.
_IMPORT = re.compile(r"import\b[^\S\n]*(\([^)]*\)|[^\n;]*)")
_BEFORE = re.compile(r"(?:^|[:;])[^\S\n]*(?:from[^\S\n]*([.\w]+)[^\S\n]+)?$")
_COMMENT_OR_JOINT = re.compile(r"#[^\n]*|\\\n")
_LISTED = re.compile(r"(?:^\(?|,)\s*([\w.*]+)")  # in a list, each with `as another` behind it or not


def source_files(module: str, top: Path) -> dict[Path, bytes]:
    """The files of `module`, a dotted name below the folder `top`, and of every module of its package that it draws on,
    with what they hold.

    Sees every form of import statement, wherever it stands: of a module, of a name in it, of several, relative ones.
    """
    found: dict[Path, bytes] = {}
    waiting, own = [module], module.partition(".")[0]
    while waiting:
        name = waiting.pop()
        file = _file_of(name, top) if name.partition(".")[0] == own else None  # beside it others may be installed
        if file is not None and file not in found:
            package = name if file.name == "__init__.py" else name.rpartition(".")[0]
            found[file], imported = _read(file, package, top)
            waiting += imported
    return found


@functools.cache
def _file_of(module: str, top: Path) -> Path | None:
    """The file of a module below `top`, None if it is another's."""
    stem = top.joinpath(*module.split("."))
    for file in (stem.with_suffix(".py"), stem / "__init__.py"):
        if file.is_file():
            return file
    return None


@functools.cache
def _read(file: Path, package: str, top: Path) -> tuple[bytes, tuple[str, ...]]:
    """What a file of a package holds, and the modules that it imports, by their dotted names; where it takes a name of
    a module, that module, where the name is itself one, that one. A parser would take a second for all the kernels."""
    source, found = file.read_bytes(), list[str]()
    text = _COMMENT_OR_JOINT.sub(" ", source.decode())
    for statement in _IMPORT.finditer(text):
        word = statement.start()
        before = _BEFORE.search(text[text.rfind("\n", 0, word) + 1 : word])
        if before is None:
            continue
        origin, listed = before[1], _LISTED.findall(statement[1])
        if not origin:
            found += listed
            continue
        above = len(origin) - len(origin.lstrip("."))
        parts = package.split(".")
        base = ".".join([*parts[: len(parts) + 1 - above], *filter(None, [origin[above:]])] if above else [origin])
        within = _file_of(base, top)
        if within is not None and within.name != "__init__.py":
            found.append(base)
            continue
        for name in listed:
            found.append(f"{base}.{name}" if _file_of(f"{base}.{name}", top) is not None else base)
    return source, tuple(found)


@functools.cache
def _cache_folder(module: str) -> str | None:
    """Where the compiled kernels of exactly these sources lie, apart from those that check bounds; None if no file can
    be written there."""
    digest = hashlib.sha256(b"bounds checked" if config.BOUNDSCHECK else b"")
    for file, source in sorted(source_files(module, _TOP).items()):
        digest.update(str(file.relative_to(_TOP)).encode() + source)
    folder = os.path.join(_cache_base(), f"kernels-{digest.hexdigest()[:16]}")
    try:
        os.makedirs(folder, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        _unkept.add(folder)
        return None
    return folder


def _cache_base() -> str:
    """The folder that the user has for what programs may make again."""
    return os.environ.get("NUMBA_CACHE_DIR") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "extbnsl"
    )


def cache_warning() -> str | None:
    """A sentence if what is compiled cannot be kept; None if it can."""
    if not _unkept:
        return None
    if _UNKNOWN in _unkept:
        return f"{_UNKNOWN} is not known to keep compiled code, so every run compiles it anew; install an earlier one."
    return (
        f"Compiled code cannot be kept in {_cache_base()}, which cannot be written, so every run compiles it "
        "anew; set NUMBA_CACHE_DIR to a folder that can be written."
    )


class _Listener(numba.core.event.Listener):
    """Keeps account of what the compiler does for this package, each kernel that another one needs included."""

    def on_start(self, event: Any) -> None:
        if _is_own(event.data["dispatcher"].py_func):
            compiling.began()

    def on_end(self, event: Any) -> None:
        if _is_own(event.data["dispatcher"].py_func):
            compiling.ended()


def _is_own(function: Callable[..., Any]) -> bool:
    return function.__module__.partition(".")[0] == __name__.partition(".")[0]


numba.core.event.register("numba:compile", _Listener())

config: Any = numba.config
_compiled: Any = numba.njit


class _Inner(numba.core.registry.CPUDispatcher):
    """A kernel for other kernels alone: called from Python it would end the process."""

    def __call__(self, *arguments: Any) -> Any:
        raise TypeError(f"{self.py_func.__name__} is for kernels; Python cannot call it.")


# without the interpreter lock, division as in C, and no way in from C, which takes a tenth of the time to compile
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}


def inner(kernel: Callable[..., Any], **options: Any) -> Any:
    """A kernel that other kernels call. Without a way in from Python it compiles in four fifths of the time.

    It is not kept by itself: the compiled code of its callers has it.
    """
    compiling.add_known()
    made = _compiled(no_cpython_wrapper=True, **_OPTIONS, **options)(kernel)
    made.__class__ = _Inner
    return made


# An inner kernel whose code becomes part of the kernels that call it: for small steps of inner loops.
# A kernel that takes arrays counts a reference to each when it is called, which takes longer than a small step.
inlined: Callable[[Callable[..., Any]], Any] = functools.partial(inner, forceinline=True)

# An inner kernel whose statements become part of each that calls it, before anything is compiled: for large steps that
# take kernels as arguments, and are called once. An inlined one is compiled by itself first, with all that it calls,
# and then once more within each on the way up. A spliced one must not borrow: to the compiler, what the
# caller made for it has then had its last use, and is freed.
spliced: Callable[[Callable[..., Any]], Any] = functools.partial(inner, inline="always")


def either(without: Callable[..., Any], given: Callable[..., Any]) -> Any:
    """An inlined kernel that is `given`, or `without` where its last argument is None; both take the same arguments.

    So one kernel serves what differs in such steps alone: it is compiled for each as if the other were not there.
    """

    def step(*_: Any) -> Any:
        raise TypeError(f"{given.__name__} is for kernels; Python cannot call it.")

    def chosen(*kinds: Any) -> Callable[..., Any]:
        return without if isinstance(kinds[-1], numba.types.NoneType) else given

    options: Any = {"no_cpython_wrapper": True, "forceinline": True, **_OPTIONS}
    overload(step, jit_options=options, strict=False)(chosen)
    return step


def also_compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of numbers, of a module that knows no compiler: kernels may call it by its name, as Python does."""
    options: Any = {"no_cpython_wrapper": True, **_OPTIONS}
    overload(function, jit_options=options, strict=False)(lambda *_: function)
    return function


def njit(kernel: Callable[..., Any]) -> Any:
    """A kernel that Python calls: compiled when it is first called on a machine, and kept."""
    compiling.add_known()
    folder = _cache_folder(kernel.__module__)
    if folder is None:
        return _compiled(**_OPTIONS)(kernel)
    others = config.CACHE_DIR
    # read when the function is decorated; other code keeps its own
    config.CACHE_DIR = os.path.join(folder, kernel.__qualname__.replace("<locals>.", ""))
    try:
        compiled = _compiled(cache=True, **_OPTIONS)(kernel)
    finally:
        config.CACHE_DIR = others
    if keep_checked(compiled):
        return compiled
    _unkept.add(_UNKNOWN)
    return _compiled(**_OPTIONS)(kernel)


@intrinsic
def borrowed(typingctx, x):
    """x, an array or a tuple of what may be arrays, that the kernel's caller owns: nothing counts references to it.

    Without this a kernel counts one each time that it takes an array out of a tuple, slices it or hands it on, which
    took most of the time of some. It must not return what is borrowed, nor a part of it: nobody would keep the memory.
    Nor may it have a comprehension: for its sake the compiler drops what is written to arrays that are not read again.
    """

    def codegen(context, builder, signature, args):
        return _without_owner(context, builder, signature.args[0], args[0])

    return x(x), codegen


def _without_owner(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """The value with no owner of any array in it."""
    if isinstance(kind, numba.types.Array):
        array = context.make_array(kind)(context, builder, value)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        return array._getvalue()
    kinds: Any = kind if isinstance(kind, numba.types.BaseTuple) else ()
    for place, own in enumerate(kinds):
        part = _without_owner(context, builder, own, builder.extract_value(value, place))
        value = builder.insert_value(value, part, place)
    return value
