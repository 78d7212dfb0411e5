"""What a benchmark times: calls of one kernel, made by hand or recorded from a piece of the program at work."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from bench.copies import Arguments, copies_of

MOST_CALLS = 20

Kernel = Callable[..., Any]
Outcome = tuple[Any, int]  # the result of a call, and its units of work
Units = Callable[[Arguments, Any], int]  # the units of work of a call, from its arguments, after it, and its result


class Rise(NamedTuple):
    """In place of `Units`: as many units as a count rises by that a call writes among its arguments."""

    counted: Callable[[Arguments], int]


class Work(NamedTuple):
    """Calls of a kernel, and the units of work that they do together. Kernels may write to their arguments: each time
    they get copies."""

    kernel: Kernel
    calls: list[Arguments]
    units: int


class Benchmark(NamedTuple):
    """A kernel by its name, below the package, perhaps with a word for the kind of work behind a slash; the unit of its
    work; and what prepares the work, tiny or not."""

    name: str
    unit: str
    prepare: Callable[[bool], Work]

    @property
    def kernel(self) -> str:
        """The name of the kernel alone."""
        return self.name.partition("/")[0]


def of_run(name: str, caller: ModuleType, unit: str, units: Units | Rise, run: Callable[[bool], object]) -> Benchmark:
    """The benchmark of the kernel's calls by `caller` while something runs, tiny or not."""
    called = name.partition("/")[0].rpartition(".")[2]
    return Benchmark(name, unit, lambda tiny: recorded(caller, called, units, lambda: run(tiny)))


def recorded(caller: ModuleType, name: str, units: Units | Rise, run: Callable[[], object]) -> Work:
    """The calls, of those that `caller` makes by this name while `run` goes on, that do most; MOST_CALLS at most.

    `run` is done twice, the first time to know which these are, and must make about the same calls both times.
    """
    kernel, sizes = getattr(caller, name), list[int]()

    def measure(*arguments: Any) -> Any:
        result, size = _sized(kernel, arguments, units)
        sizes.append(size)
        return result

    with _replaced(caller, name, measure):
        run()
    assert sizes, f"somebody calls {name}"
    chosen = set(sorted(range(len(sizes)), key=lambda i: -sizes[i])[:MOST_CALLS])
    calls, outcomes, numbers = list[Arguments](), list[Outcome](), count()

    def keep(*arguments: Any) -> Any:
        if next(numbers) not in chosen:
            return kernel(*arguments)
        calls.extend(copies_of([arguments]))
        outcomes.append(_sized(kernel, arguments, units))
        return outcomes[-1][0]

    with _replaced(caller, name, keep):
        run()
    for arguments, outcome in zip(copies_of(calls), outcomes, strict=True):
        np.testing.assert_equal(_sized(kernel, arguments, units), outcome, f"{name} does the same once more")
    return Work(kernel, calls, sum(size for _, size in outcomes))


def _sized(kernel: Kernel, arguments: Arguments, units: Units | Rise) -> Outcome:
    if isinstance(units, Rise):
        before = int(units.counted(arguments))
        result = kernel(*arguments)
        return result, int(units.counted(arguments)) - before
    result = kernel(*arguments)
    return result, int(units(arguments, result))


@contextmanager
def _replaced(caller: ModuleType, name: str, function: Kernel) -> Iterator[None]:
    kernel = getattr(caller, name)
    setattr(caller, name, function)
    try:
        yield
    finally:
        setattr(caller, name, kernel)
