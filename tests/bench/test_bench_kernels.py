"""The benchmarks: every kernel has one, all run, and those that most of the time goes to are not much slower than
committed."""

import importlib
import pkgutil
from pathlib import Path

import pytest
from numba.core.registry import CPUDispatcher

import extbnsl
from bench.__main__ import still_slower
from bench.ratios import COMMITTED, read_ratios
from bench.reference import STEPS
from bench.rooms import BENCHMARKS
from bench.timing import Timing, _reference_seconds, _seconds
from extbnsl.kernels.compiler import inner

PACKAGE = Path(extbnsl.__file__).parent
GENEROUS = 3.0  # times the committed ratio: other machines are other machines
MOST_OF_THE_TIME = ("scores.counting.count", "search.expand.expand", "parents.exhaustive.lattice.judge_families")
UNMEASURED = {
    "lab.baselines.a_star._insert_root": "once a search, one insertion",
    "lab.baselines.a_star._order_of_first": "once a search, one path",
    "lab.baselines.depth_first._expand": "once from Python; all other calls are within _search, which is measured",
    "scores.tallies._fill_alone": "once an enumeration, one row",
    "parents.exhaustive.between.open_root": "once a task, one node",
}


def kernels():
    """The names, below the package, of all that is compiled with `njit`; what is for other kernels is left out."""
    only_inner = type(inner(lambda: None))
    for module in pkgutil.walk_packages(extbnsl.__path__, "extbnsl."):
        path = PACKAGE.joinpath(*module.name.split(".")[1:]).with_suffix(".py")
        if path.exists() and "njit" in path.read_text():
            for name, value in vars(importlib.import_module(module.name)).items():
                made = isinstance(value, CPUDispatcher) and not isinstance(value, only_inner)
                if made and value.py_func.__module__ == module.name:
                    yield f"{module.name.removeprefix('extbnsl.')}.{name}"


def test_every_kernel_that_python_calls_is_measured():
    found = set(kernels())
    assert len(found) > 50
    measured_ones = {benchmark.kernel for benchmark in BENCHMARKS}
    assert sorted(found - measured_ones - UNMEASURED.keys()) == [], "add a benchmark in bench/rooms"
    assert sorted(UNMEASURED.keys() - found) == [], "these are no kernels any more"
    assert sorted(UNMEASURED.keys() & measured_ones) == [], "these are measured"


def test_names_are_those_of_functions_and_modules():
    names = [benchmark.name for benchmark in BENCHMARKS]
    assert len(set(names)) == len(names)
    for benchmark in BENCHMARKS:
        module, _, function = f"extbnsl.{benchmark.kernel}".rpartition(".")
        found = importlib.import_module(module)
        if not hasattr(found, function):  # what kernels are made of, in a loop of the benchmark's own
            importlib.import_module(f"extbnsl.{benchmark.kernel}")


def test_each_has_a_committed_ratio():
    ratios = read_ratios(COMMITTED)
    assert list(ratios) == sorted(benchmark.name for benchmark in BENCHMARKS)
    assert all(ratio > 0 for ratio in ratios.values())


@pytest.mark.slow
@pytest.mark.parametrize("benchmark", BENCHMARKS, ids=lambda benchmark: benchmark.name)
def test_tiny_work_is_done(benchmark):
    tiny = benchmark.prepare(True)
    assert tiny.units > 0
    _seconds(tiny)


@pytest.mark.slow
@pytest.mark.parametrize("name", MOST_OF_THE_TIME)
def test_no_kernel_has_become_slower(name):
    """What seems slow by one run, after tiny work has loaded the kernel, is measured again. `python -m bench --compare`
    measures all kernels."""
    (benchmark,) = (benchmark for benchmark in BENCHMARKS if benchmark.name == name)
    _seconds(benchmark.prepare(True))
    work, known = benchmark.prepare(False), read_ratios(COMMITTED)
    _reference_seconds()  # compiles
    loop, own = _reference_seconds(), _seconds(work)
    timings = {benchmark.name: Timing(1e9 * own / work.units, 1e9 * loop / STEPS)}
    assert still_slower([benchmark], timings, known, GENEROUS) == []
