"""The compiler of the kernels: one decorator, its cache, and the bit instructions that Python lacks.

Kernels take arrays and return arrays and counts. They hold no Python objects, release the interpreter lock and are
compiled once per machine. The compiler's own cache looks only at the file of a kernel, not at the files of the
kernels that it calls; so the compiled code lies in a folder of the user's cache (or of NUMBA_CACHE_DIR) that is named
after the digest of the kernel's module and of all modules of this package that it draws on. Where that folder cannot
be written, nothing is kept.
"""

import contextlib
import functools
import hashlib
import io
import mmap
import os
import pickle
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numba
import numba.core.event
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.environment import Environment, lookup_environment
from numba.core.runtime import _nrt_python  # type: ignore[attr-defined]  # a module in C

from extbnsl import compiling

_TOP = Path(__file__).parents[2]  # where the package lies
_unkept: set[str] = set()  # folders that cannot be written


# An import statement where one can begin: on a line, or after a colon or a semicolon. What looks like one in a text
# makes the digest wider than it need be, never narrower.
_STATEMENT = re.compile(
    r"(?:^|[:;])[^\S\n]*(?:from[^\S\n]*([.\w]+)[^\S\n]+import\b[^\S\n]*(\([^)]*\)|[^\n;]*)|import[^\S\n]+([^\n;]*))",
    re.MULTILINE,
)
_COMMENT_OR_JOINT = re.compile(r"#[^\n]*|\\\n")


def source_files(module: str, top: Path) -> frozenset[Path]:
    """The files of `module`, a dotted name below the folder `top`, and of every module of its package that it draws on.

    Sees every form of import statement, wherever it stands: of a module, of a name in it, of several, relative ones.
    """
    found: set[Path] = set()
    waiting, own = [module], module.partition(".")[0]
    while waiting:
        name = waiting.pop()
        file = _file_of(name, top) if name.partition(".")[0] == own else None  # beside it others may be installed
        if file is not None and file not in found:
            found.add(file)
            package = name if file.name == "__init__.py" else name.rpartition(".")[0]
            waiting += _imported(file, package, top)
    return frozenset(found)


@functools.cache
def _file_of(module: str, top: Path) -> Path | None:
    """The file of a module below `top`, None if it is another's."""
    stem = top.joinpath(*module.split("."))
    return next((file for file in (stem.with_suffix(".py"), stem / "__init__.py") if file.is_file()), None)


@functools.cache
def _source(file: Path) -> bytes:
    return file.read_bytes()


@functools.cache
def _imported(file: Path, package: str, top: Path) -> tuple[str, ...]:
    """The modules that a file of a package imports, by their dotted names; where it takes a name of a module, that
    module, where the name is itself one, that one. A parser would take a second for all the kernels."""
    found: list[str] = []
    for origin, names, modules in _STATEMENT.findall(_COMMENT_OR_JOINT.sub(" ", _source(file).decode())):
        listed = [name.split()[0] for name in (names or modules).strip("()").split(",") if name.split()]
        if not origin:
            found += listed
            continue
        above = len(origin) - len(origin.lstrip("."))
        parts = package.split(".")
        base = [*parts[: len(parts) + 1 - above], *filter(None, [origin[above:]])] if above else [origin]
        for name in listed:
            whole = ".".join([*base, name])
            found.append(whole if _file_of(whole, top) is not None else ".".join(base))
    return tuple(found)


@functools.cache
def _cache_folder(module: str) -> str | None:
    """Where the compiled kernels of exactly these sources lie; None if no file can be written there."""
    digest = hashlib.sha256()
    for file in sorted(source_files(module, _TOP)):
        digest.update(str(file.relative_to(_TOP)).encode() + _source(file))
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


# without the interpreter lock, and division as in C
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


def inner(kernel: Callable[..., Any], **options: Any) -> Any:
    """A kernel that other kernels call. Without a way in from Python it compiles in four fifths of the time.

    It is not kept by itself: the compiled code of its callers has it.
    """
    compiling.add_known()
    made = _compiled(no_cpython_wrapper=True, **_OPTIONS, **options)(kernel)
    made.__class__ = _Inner
    return made


def inlined(kernel: Callable[..., Any]) -> Any:
    """An inner kernel whose code becomes part of the kernels that call it: for small steps of inner loops.

    A kernel that takes arrays counts a reference to each when it is called, which takes longer than a small step.
    """
    return inner(kernel, forceinline=True)


def njit(kernel: Callable[..., Any]) -> Any:
    """A kernel that Python calls: compiled when it is first called on a machine, and kept."""
    compiling.add_known()
    folder = _cache_folder(kernel.__module__)
    make = _compiled(cache=folder is not None, **_OPTIONS)
    if folder is None:
        return make(kernel)
    others = config.CACHE_DIR
    # read when the function is decorated; other code keeps its own
    config.CACHE_DIR = folder
    try:
        compiled = make(kernel)
    finally:
        config.CACHE_DIR = others
    _make_lenient(compiled._cache)
    return compiled


def _make_lenient(cache: Any) -> None:
    """Let a cache whose files are damaged, as by a crash while they were written, or cannot be written, be empty.

    Loads what is in it without what numba would first make ready to compile: a sixth of the time of a small solve.
    """
    load, save = cache._load_overload, cache.save_overload
    files = cache._cache_file
    files._load_data = lambda name: _load(Path(files._data_path(name)))

    def load_or_forget(signature: Any, context: Any) -> Any:
        _add_runtime()
        codegen = context.codegen()
        with global_compiler_lock:
            codegen._library_class = _Kept  # of this one object, until it has made the library
            try:
                return load(signature, context)
            except Exception:  # whatever unpickling half a file raises
                with contextlib.suppress(OSError):
                    cache.flush()
                return None
            finally:
                del codegen._library_class
                _Kept.content, _Kept.mapped = b"", None

    def save_if_possible(*arguments: Any) -> None:
        with contextlib.suppress(OSError):  # a full disk, say: the kernel will be compiled again next time
            save(*arguments)

    cache.load_overload, cache.save_overload = load_or_forget, save_if_possible


def _load(path: Path) -> Any:
    """What a file of the cache holds; `_Kept` finds there what it does not take along."""
    with path.open("rb") as file:
        _Kept.content = file.read()
        _Kept.mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return _Unpickler(io.BytesIO(_Kept.content)).load()


class _Unpickler(pickle.Unpickler):
    """Reads compiled code without the modules of numba that the functions in it come from: only to compile takes them.

    To import these would take a third of the time of loading.
    """

    def find_class(self, module: str, name: str) -> Any:
        return _environment if name == "_rebuild_env" else super().find_class(module, name)


def _environment(module: str, constants: Any, name: str) -> Environment:
    """What a compiled function may look up: its constants. Its module is for functions that numba does not compile."""
    found = lookup_environment(name)
    if found is None:
        found = Environment(vars(sys.modules[module]) if module in sys.modules else {"__name__": module})
        found.consts[:] = constants
        found.env_name = name
        Environment._memo[name] = found
    return found


@functools.cache
def _add_runtime() -> None:
    """Let compiled code find the functions of numba's runtime. To compile takes more of it: numba adds that itself,
    with 30 MiB of memory."""
    for name, address in _nrt_python.c_helpers.items():
        llvm.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)


class _Kept(JITCodeLibrary):
    """Compiled code from the cache.

    The form in which other kernels take it in is parsed when one of them does: it would take half the time of loading.
    Until then it takes no memory: it is a part of the mapped file, which stays as it is when the file is replaced.
    """

    content = b""  # of the file that is being loaded
    mapped: Any = None  # the same

    _place: tuple[Any, slice] | None = None

    @classmethod
    def _unserialize(cls, codegen: Any, state: Any) -> Any:
        name, _, (code, bitcode) = state
        library = cls(codegen, name)
        first = cls.content.index(bitcode)
        library._place = cls.mapped, slice(first, first + len(bitcode))
        library.enable_object_caching()
        library._set_compiled_object(code)
        library._finalize_final_module()
        return library

    def _get_module_for_linking(self) -> Any:
        if self._place is not None:
            mapped, place = self._place
            self._shared_module, self._place = llvm.parse_bitcode(mapped[place]), None
        return self._shared_module

    def get_pointer_to_function(self, name: str) -> int:
        """The address of a function that the code has: what else is defined, numba knows from the parsed form only."""
        return int(self._codegen._engine.get_function_address(name))
