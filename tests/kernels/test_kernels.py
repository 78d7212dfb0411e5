"""The cache of compiled kernels: damaged, full or not to be written, it costs a compilation and nothing else."""

import ast
import errno
import importlib.util
import itertools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numba
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from patching import failing
from portions import first

from extbnsl.kernels import compiler, kept, quick_loading

TINY = "def double(x):\n    return 2 * x\n"
WDBC = Path(__file__).parents[2] / "examples" / "wdbc.csv"


@pytest.fixture(params=["quick", "plain"])
def tiny(request, tmp_path):
    """A function that makes a kernel anew, as a new process does, with a cache of its own; and the cache's folder."""
    source = tmp_path / "tiny.py"
    source.write_text(TINY)
    numbers = itertools.count()

    def kernel():
        spec = importlib.util.spec_from_file_location(f"tiny{next(numbers)}", source)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.double.__module__ = "extbnsl.kernels.compiler"  # whose sources name the cache
        return compiler.njit(module.double)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
        if request.param == "plain":  # numba loads by itself
            patch.setattr(kept, "quick_loader", None)
        compiler._cache_folder.cache_clear()
        yield kernel, tmp_path / "cache"
    compiler._cache_folder.cache_clear()


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
    assert [path.name.partition(".py")[2][-4:] for path in files(cache)] == ["", ".nbc", ".nbi"]
    assert files(cache)[0].name == kept.CHECKSUMS


@pytest.mark.slow
@settings(deadline=None, max_examples=20, suppress_health_check=list(HealthCheck))
@given(st.lists(st.one_of(st.none(), st.floats(0, 0.999)), min_size=3, max_size=3), st.booleans())
def test_truncated_files_of_the_cache_are_replaced(tiny, shares, zeros):
    kernel, cache = tiny
    is_from_cache(kernel())
    for path, share in zip(files(cache), shares, strict=True):
        if share is not None:
            whole = path.read_bytes()
            part = whole[: int(share * len(whole))]
            path.write_bytes(part + bytes(len(whole) - len(part)) if zeros and not part else part)
    assert is_from_cache(kernel()) == (shares == [None, None, None])
    assert is_from_cache(kernel())


@pytest.mark.slow
@settings(deadline=None, max_examples=30, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2), st.floats(0, 0.9999), st.integers(0, 7))
def test_a_flipped_bit_in_the_cache_costs_a_compilation(tiny, number, place, bit):
    """In compiled code it would end the process, or change a result."""
    kernel, cache = tiny
    is_from_cache(kernel())
    path = files(cache)[number]
    content = bytearray(path.read_bytes())
    content[int(place * len(content))] ^= 1 << bit
    path.write_bytes(content)
    assert not is_from_cache(kernel())
    assert is_from_cache(kernel())
    assert len(files(cache)) == 3


def test_a_missing_file_and_one_too_many_are_noticed(tiny):
    kernel, cache = tiny
    is_from_cache(kernel())
    for number in range(3):
        files(cache)[number].unlink()
        assert not is_from_cache(kernel())
        assert is_from_cache(kernel())
    files(cache)[0].with_name("other.nbc").touch()
    assert not is_from_cache(kernel())
    files(cache)[0].with_name("other.nbc.tmp.1").touch()  # another process may be writing it
    assert is_from_cache(kernel())


def test_without_the_cache_of_a_function_as_it_is_known_nothing_is_kept(tiny, monkeypatch):
    kernel, cache = tiny
    monkeypatch.setattr(compiler, "_unkept", set())
    monkeypatch.setattr(kept, "_NEEDED", (*kept._NEEDED, "another"))
    for _ in range(2):
        assert not is_from_cache(kernel())
    assert "is not known to keep compiled code" in compiler.cache_warning()
    assert not files(cache)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_a_cache_that_cannot_be_written_is_done_without(tiny, number):
    kernel, _ = tiny
    made = kernel()
    with failing("os.replace", number):
        assert not is_from_cache(made)
        assert not is_from_cache(kernel())
    assert not is_from_cache(kernel())
    assert is_from_cache(kernel())


CALLED = """
import os
import shutil
import sys
import numpy as np
from extbnsl.kernels.compiler import njit

@njit
def doubled(values):
    return np.sort(values * 2)

@njit
def summed(values):
    return doubled(values).sum()

values = np.array([3.0, 1.0, 2.0])
assert doubled(values).tolist() == [2.0, 4.0, 6.0]
if "wiped" in sys.argv:
    shutil.rmtree(os.environ["NUMBA_CACHE_DIR"])
if "summed" in sys.argv:
    assert summed(values) == 12.0
print(len(doubled.stats.cache_hits), len(summed.stats.cache_hits), "numba.np.arrayobj" in sys.modules)
"""


ALONE = """
import sys
from extbnsl.kernels.compiler import njit

@njit
def doubled(x):
    return 2 * x

assert doubled(21) == 42
print(len(doubled.stats.cache_hits), "extbnsl.kernels.quick_loading" in sys.modules)
"""


def runner(folder, script):
    """What runs a script with some arguments, with a cache of its own."""
    (folder / "script.py").write_text(script)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": os.pathsep.join(sys.path)}

    def run(*arguments):
        command = [sys.executable, str(folder / "script.py"), *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)

    return run


@pytest.mark.slow
@pytest.mark.parametrize(
    "another",
    first(
        1,
        [
            "import numba\nnumba.__version__ = '1.0rc1'",
            "import numba.core.codegen\ndel numba.core.codegen.JITCodeLibrary",
        ],
    ),
)
def test_another_numba_loads_by_itself_what_is_whole(tmp_path, another):
    """One without a private name that is replaced, or of a version that was not tried."""
    run = runner(tmp_path, f"{another}\n{ALONE}")
    assert [run().stdout.split() for _ in range(2)] == [["0", "False"], ["1", "False"]]
    (code,) = (path for path in files(tmp_path / "cache") if path.suffix == ".nbc")
    code.write_bytes(code.read_bytes()[:-2] + b"x.")
    assert [run().stdout.split() for _ in range(2)] == [["0", "False"], ["1", "False"]]


@pytest.mark.slow
def test_the_numba_that_is_installed_is_loaded_from_quickly_if_it_was_tried(tmp_path):
    version = tuple(map(int, numba.__version__.split(".")[:2]))
    run = runner(tmp_path, ALONE)
    assert run().stdout.split() == ["0", str(quick_loading.TRIED[0] <= version <= quick_loading.TRIED[1])]


@pytest.mark.slow
def test_what_comes_from_the_cache_runs_without_the_compiler_and_other_kernels_take_it_in(tmp_path):
    run = runner(tmp_path, CALLED)
    said = [run(), run(), run("summed"), run("summed"), run("wiped", "summed"), run(), run("wiped", "summed")]
    assert [one.stderr for one in said] == [""] * len(said)
    assert [one.stdout.split() for one in said] == [
        ["0", "0", "True"],
        ["1", "0", "False"],
        ["1", "0", "True"],
        ["1", "1", "False"],
        ["1", "0", "True"],  # summed is compiled with doubled, whose file has gone since it was loaded
        ["0", "0", "True"],
        ["1", "0", "True"],
    ]


@pytest.mark.parametrize("place", ["closed", "file/cache"])
def test_without_a_folder_for_the_cache_a_kernel_is_compiled_for_one_process(
    tiny, tmp_path, monkeypatch, failing, place
):
    kernel, _ = tiny
    assert compiler.cache_warning() is None
    (tmp_path / "file").touch()
    monkeypatch.setattr(compiler, "_unkept", set())
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / place))
    if place == "closed":  # the tests may run as one who may write anywhere
        failing("tempfile.TemporaryFile", errno.EACCES)
    compiler._cache_folder.cache_clear()
    for _ in range(2):
        assert not is_from_cache(kernel())
    assert f"cannot be kept in {tmp_path / place}" in compiler.cache_warning()
    assert compiler.cache_warning().count(". ") == 0


def refuse(**_):
    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


@pytest.mark.slow
def test_the_first_solve_takes_what_the_readme_says_and_others_survive_damage_to_the_cache_of_its_kernels(tmp_path):
    """The example of the README, with nothing compiled before."""
    cache = tmp_path / "cache"

    def solved(name):
        command = [sys.executable, "-m", "extbnsl", "solve", str(WDBC), "--run-dir", str(tmp_path / name), "--quiet"]
        environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
        run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600)
        return run.returncode == 0 and run.stdout.startswith("optimal: ") and not run.stderr

    readme = " ".join((Path(__file__).parents[2] / "README.md").read_text().split())
    least, most = re.search(r"(\d+) to (\d+) MB of memory", readme).groups()
    assert solved("first")
    stats = json.loads((tmp_path / "first" / "result.json").read_text())["stats"]
    assert stats["stages"]["kernels"]["seconds"] > 1.0, "something was compiled"
    assert int(least) * 1e6 < stats["peak_rss_bytes"] < int(most) * 1e6
    before = {path: path.stat().st_size for path in files(cache)}
    damaged = [path for path in before if path.name.startswith("patterns.")]
    assert len(damaged) >= 4
    for path in damaged:
        os.truncate(path, before[path] // 2)
    assert solved("second")
    assert files(cache) == sorted(before)
    assert all(path.stat().st_size > before[path] * 0.9 for path in damaged if path.suffix == ".nbc")


IMPORTS = (
    "from package.room.callee import double",
    "from package.room import callee",
    "from package.room import (\n    other,\n    callee as called,\n)",
    "import package.room.callee",
    "import package.room.callee as called",
    "import os, package.room.callee",
    "from .callee import double",
    "from . import callee",
    "from .. import room\nfrom ..room import callee",
    "from package.room.callee import *",
    "if True:\n    from package.room import callee",
    "def kernel():\n    import package.room.callee",
    "if True: import package.room.callee",
    "number = 1; from package.room import callee",
    "from package.room import \\\n    callee",
    "from package.room import (  # (of the room)\n    other,  # another)\n    callee,\n)",
    "from package.room import callee  # and more",
    "import package.room.other",  # which imports the callee
    "from package.room import double",  # which the folder hands on
)


@pytest.mark.parametrize("statement", IMPORTS)
def test_every_form_of_import_tells_a_changed_callee(statement, tmp_path):
    room = tmp_path / "package" / "room"
    room.mkdir(parents=True)
    (tmp_path / "package" / "__init__.py").write_text("")
    (room / "__init__.py").write_text("from package.room.callee import double\n")
    (room / "other.py").write_text("import package.room.callee\n")
    (room / "callee.py").write_text(TINY)
    (room / "unrelated.py").write_text(TINY)
    (tmp_path / "other.py").write_text(TINY)  # installed beside the package
    (room / "caller.py").write_text(f"import other\n{statement}\n")
    drawn_on = set(compiler.source_files("package.room.caller", tmp_path))
    assert {room / "caller.py", room / "callee.py"} <= drawn_on
    assert not {room / "unrelated.py", tmp_path / "other.py"} & drawn_on


def test_a_changed_callee_changes_the_folder_of_the_compiled_code(tmp_path, monkeypatch):
    for name, text in (("__init__", ""), ("caller", "from package import callee\n"), ("callee", TINY)):
        (tmp_path / "package").mkdir(exist_ok=True)
        (tmp_path / "package" / f"{name}.py").write_text(text)
    monkeypatch.setattr(compiler, "_TOP", tmp_path)
    folders = set()
    for text in (TINY, TINY.replace("2", "3"), TINY):
        (tmp_path / "package" / "callee.py").write_text(text)
        for remembered in (compiler._cache_folder, compiler._read):
            remembered.cache_clear()
        folders.add(compiler._cache_folder("package.caller"))
    compiler._cache_folder.cache_clear()
    assert len(folders) == 2


def test_no_package_has_a_name_of_its_own_modules():
    """What `from package import name` takes would not be what the digest looks at."""
    files = list(Path(compiler.__file__).parents[1].rglob("__init__.py"))
    assert len(files) > 10
    for file in files:
        modules = {path.stem for path in file.parent.glob("*.py")} - {"__init__"}
        modules |= {path.parent.name for path in file.parent.glob("*/__init__.py")}
        tree = ast.parse(file.read_text())
        bound = {a.asname or a.name for n in tree.body if isinstance(n, ast.ImportFrom) for a in n.names}
        bound |= {n.name for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)}
        assert not bound & modules, file
