"""Loading compiled kernels without what numba would first make ready to compile, and without parsing what nobody needs.

That saves a quarter of the time of a small solve and a third of its memory, and replaces private parts of numba. So it
is for versions alone that it was tried with, and that have all of these parts: otherwise importing this module raises
ImportError, and numba loads by itself.
"""

import functools
import io
import mmap
import pickle
import re
import sys
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numba
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.environment import Environment, lookup_environment
from numba.core.runtime import _nrt_python  # type: ignore[attr-defined]  # a module in C

TRIED = ((0, 60), (0, 68))  # the first and the last version
_PARTS: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (FunctionCache, ("_load_overload",)),
    (IndexDataCacheFile, ("_load_data", "_data_path")),
    (JITCodeLibrary, ("_unserialize", "_set_compiled_object", "_finalize_final_module", "_get_module_for_linking")),
    (JITCodeLibrary, ("enable_object_caching", "get_pointer_to_function")),
    (JITCPUCodegen, ("_library_class",)),
    (Environment, ("_memo",)),
    (_nrt_python, ("c_helpers",)),
)


def _check_numba() -> None:
    """Raise ImportError unless this numba is one of those that this module knows."""
    found = re.match(r"(\d+)\.(\d+)", numba.__version__)
    known = found is not None and TRIED[0] <= (int(found[1]), int(found[2])) <= TRIED[1]
    for owner, parts in _PARTS:
        known = known and set(parts) <= set(dir(owner))
    if not known:
        raise ImportError(f"numba {numba.__version__} is not known to load compiled code as this module does.")


_check_numba()


def quick_loader(cache: Any) -> Callable[[Any, Any], Any]:
    """What loads from the cache of a function, in place of its `load_overload`; raises whatever damaged files make of
    it."""
    cache._cache_file._load_data = functools.partial(_load, cache._cache_file)

    def load(signature: Any, context: Any) -> Any:
        _add_runtime()
        codegen = context.codegen()
        codegen._library_class = _Kept  # of this one object, until it has made the library; numba holds its lock
        try:
            return cache._load_overload(signature, context)
        finally:
            del codegen._library_class
            _Kept.content, _Kept.mapped = b"", None

    return load


def _load(files: Any, name: str) -> Any:
    """What a file of the cache holds; `_Kept` finds there what it does not take along."""
    with open(files._data_path(name), "rb") as file:
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
