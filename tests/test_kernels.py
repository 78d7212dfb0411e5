"""The cache of compiled kernels: damaged, full or not to be written, it costs a compilation and nothing else."""

import errno
import importlib.util
import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from extbnsl import kernels

TINY = "def double(x):\n    return 2 * x\n"
EXAMPLE = Path(__file__).parents[1] / "examples" / "asia.csv"


@pytest.fixture
def tiny(tmp_path):
    """A function that makes a kernel anew, as a new process does, with a cache of its own; and the cache's folder."""
    source = tmp_path / "tiny.py"
    source.write_text(TINY)
    numbers = itertools.count()

    def kernel():
        spec = importlib.util.spec_from_file_location(f"tiny{next(numbers)}", source)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.double.__module__ = "extbnsl.kernels"  # whose sources name the cache
        return kernels.njit(module.double)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
        kernels._cache_folder.cache_clear()
        yield kernel, tmp_path / "cache"
    kernels._cache_folder.cache_clear()


def files(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def is_from_cache(kernel):
    """Call the kernel, whose result must be right, and tell whether it was compiled before."""
    assert kernel(21) == 42
    return bool(kernel.stats.cache_hits)


def test_a_kernel_is_compiled_once(tiny):
    kernel, cache = tiny
    is_from_cache(kernel())
    assert is_from_cache(kernel())
    assert [path.suffix for path in files(cache)] == [".nbc", ".nbi"]


@settings(deadline=None, max_examples=20, suppress_health_check=list(HealthCheck))
@given(st.lists(st.one_of(st.none(), st.floats(0, 0.999)), min_size=2, max_size=2), st.booleans())
def test_truncated_files_of_the_cache_are_replaced(tiny, shares, zeros):
    kernel, cache = tiny
    is_from_cache(kernel())
    for path, share in zip(files(cache), shares, strict=True):
        if share is not None:
            whole = path.read_bytes()
            part = whole[: int(share * len(whole))]
            path.write_bytes(part + bytes(len(whole) - len(part)) if zeros and not part else part)
    assert is_from_cache(kernel()) == (shares == [None, None])
    assert is_from_cache(kernel())


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_a_cache_that_cannot_be_written_is_done_without(tiny, monkeypatch, number):
    kernel, _ = tiny
    with monkeypatch.context() as patch:

        def fail(*arguments):
            raise OSError(number, os.strerror(number))

        made = kernel()
        patch.setattr(os, "replace", fail)
        assert not is_from_cache(made)
        assert not is_from_cache(kernel())
    assert not is_from_cache(kernel())
    assert is_from_cache(kernel())


def test_a_solve_survives_damage_to_the_cache_of_its_kernels(tmp_path):
    cache = tmp_path / "cache"

    def solved(name):
        command = [sys.executable, "-m", "extbnsl", "solve", str(EXAMPLE), "--run-dir", str(tmp_path / name), "--quiet"]
        environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
        run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=200)
        return run.returncode == 0 and run.stdout.startswith("optimal: ") and not run.stderr

    assert solved("first")
    before = {path: path.stat().st_size for path in files(cache)}
    damaged = [path for path in before if path.name.startswith("patterns.")]
    assert len(damaged) >= 4
    for path in damaged:
        os.truncate(path, before[path] // 2)
    assert solved("second")
    assert files(cache) == sorted(before)
    assert all(path.stat().st_size > before[path] * 0.9 for path in damaged if path.suffix == ".nbc")
