"""Hands: other processes that do tasks, and how tasks travel to them and results come back.

Tasks go in bundles. A bundle is pickled once; arrays of LARGE bytes or more travel apart from it, once for all bundles
that have them, whoever owns them. What a task returns comes back as pickled too, so that arrays are as they would be
here: writable, and aligned.

A worker that has other sources of extbnsl, other versions of what results depend on, or a processor that computes some
logarithms otherwise, is of no use: it might find something else.
"""

import contextlib
import functools
import hashlib
import importlib
import io
import math
import pickle
import platform
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.errors import BudgetError, RunDirectoryError
from extbnsl.machine.lending import Lent

LARGE = 1 << 16  # bytes of an array that travels apart from the tasks
LENT = 1 << 20  # bytes from which on processes of one machine rather look at one copy
MATTERS = "numpy", "numba", "highspy", "h5py"  # libraries whose versions results may depend on
DRIVER_SECONDS = 60.0  # that a worker goes on without a word of the driver
HALT = "halt"  # what stands in a bundle for the `halt` of `Workers`
KNOWN_TOKENS = 1024  # of work that was halted, which a worker remembers
OWN_FAILURES = OSError, MemoryError, BudgetError, RunDirectoryError  # that may be those of one process alone


class Lost(Exception):
    """A bundle does not come back: its worker is gone, or what it was given is. It is to be sent again; `for_good` if
    that has been tried often enough."""

    def __init__(self, for_good: bool = False) -> None:
        super().__init__("lost")
        self.for_good = for_good


Answer = bytes | Lent  # what `done_by` made of a bundle


class Done(NamedTuple):
    """What comes back of a bundle: the results of its tasks, in their order; how many seconds they took, how many bytes
    came."""

    results: list[Any]
    seconds: float
    size: int


class Driver(NamedTuple):
    """Who sends tasks: a name that no other driver has, what is told of its process, and if tasks need its folder, the
    path of a file there and what is in it; whether it sees what is lent by those who do them."""

    name: str
    told: dict[str, str]
    mark: tuple[str, str] | None = None
    sees_lent: bool = False


class Hands(Protocol):
    """Other processes that do bundles of tasks.

    slots: how many tasks they do at a time; 0 while there is nobody. together: how many one process does. missing:
    seconds since all of them went; 0 while somebody is there, or before the first came. patience: how many seconds they
    may be missing. room: bytes that all results that are under way may take. kept: arrays that do not change, see
    `Workers.keep`. nobody: whether somebody has waited for them in vain.
    """

    kept: "Put"
    nobody: bool

    @property
    def slots(self) -> int: ...

    @property
    def together(self) -> int: ...

    @property
    def missing(self) -> float: ...

    @property
    def room(self) -> int: ...

    @property
    def patience(self) -> float: ...

    def put(self, part: "Part", check: Callable[[], None]) -> Any:
        """Bring an array to where tasks can get it; what stands for it, for as long as that is kept. Raises Lost, and
        what `check` raises."""

    def send(self, token: str, tasks: int, body: bytes, parts: list[Any]) -> "Future[Answer]":
        """What `done_by` returns for so many tasks in another process; the future fails with Lost if nobody does it."""

    def give_up(self, token: str) -> None:
        """Let the tasks with this token end; nobody asks for what comes of them."""

    def see(self, mark: Path) -> bool:
        """Whether all of them see a file that is made here for that; from then on no others get tasks."""

    def beat(self) -> None:
        """Called several times a second by whoever waits: to tell how it stands."""


class Part:
    """An array on its way. Other processes ask for `array`, which is as it was: aligned, and writable if it was."""

    def __init__(self, array: NDArray) -> None:
        self._array = array.view(np.ndarray)
        self._writable = array.flags.writeable
        self._lock: Any = None

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self._array.nbytes

    def __getstate__(self) -> tuple[NDArray, bool]:
        return self._array, self._writable

    def __setstate__(self, state: tuple[NDArray, bool]) -> None:
        (self._array, self._writable), self._lock = state, threading.Lock()

    @property
    def array(self) -> NDArray:
        """The array; the same one for all tasks of a process."""
        if self._lock is not None:
            with self._lock:
                flags = self._array.flags
                if not flags.aligned or flags.writeable != self._writable:
                    self._array = self._array.copy(order="K")
                    self._array.flags.writeable = self._writable
        return self._array


Put = dict[int, tuple[weakref.ref, Any]]  # by the identity of an array, as long as that lives, what stands for it


def known_while_there(array: NDArray, put: Put) -> weakref.ref:
    """A reference to an array with whose end it is forgotten."""
    key = id(array)
    return weakref.ref(array, lambda _: put.pop(key, None))


class Parcels:
    """What the tasks of one piece of work are given, and the large arrays among it, each of which is put once."""

    def __init__(self, hands: Hands, halt: NDArray[np.uint8], check: Callable[[], None]) -> None:
        self._hands, self._halt, self._check = hands, halt, check
        self._put: Put = {}

    def packed(self, task: Callable[..., Any], arguments: list[tuple]) -> tuple[bytes, list[Any]]:
        """The body of a bundle, and what stands for its large arrays. Raises Lost."""
        body, parts = io.BytesIO(), list[Any]()
        _Pickler(body, self, parts).dump((task, arguments))
        return body.getvalue(), parts

    def part(self, array: NDArray) -> Any:
        """What stands for an array where it was put."""
        put = self._hands.kept if id(array) in self._hands.kept else self._put
        seen, stands = put.get(id(array)) or (known_while_there(array, put), None)
        if stands is None:
            stands = self._hands.put(Part(array), self._check)
            put[id(array)] = seen, stands
        return stands

    def renew(self, parts: Iterable[Any]) -> None:
        """Put anew what these stood for: it may be lost."""
        for put in (self._hands.kept, self._put):
            for key, (array, stands) in list(put.items()):
                if any(stands is part for part in parts):
                    put[key] = array, None

    def is_halt(self, value: Any) -> bool:
        """Whether it is the `halt` of the workers here."""
        return value is self._halt


class _Pickler(pickle.Pickler):
    """Pickles what a bundle has; large arrays become numbers of parts."""

    def __init__(self, file: io.BytesIO, parcels: Parcels, parts: list[Any]) -> None:
        super().__init__(file, 5)
        self._parcels, self._parts = parcels, parts
        self._numbers: dict[int, int] = {}

    def persistent_id(self, value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return None
        if self._parcels.is_halt(value):
            return HALT
        if value.nbytes < LARGE or value.dtype.hasobject:
            return None
        if id(value) not in self._numbers:
            self._numbers[id(value)] = len(self._parts)
            self._parts.append(self._parcels.part(value))
        return self._numbers[id(value)]


class _Unpickler(pickle.Unpickler):
    def __init__(self, body: bytes, parts: tuple[Part | Lent, ...], halt: NDArray[np.uint8]) -> None:
        super().__init__(io.BytesIO(body))
        self._parts, self._halt = parts, halt

    def persistent_load(self, pid: Any) -> Any:
        if pid == HALT:
            return self._halt
        part = self._parts[pid]
        return part.value if isinstance(part, Lent) else part.array


def unpacked(answer: Answer) -> Done:
    """What a worker answered; raises what one of the tasks raised there."""
    results, seconds, error = answer.value if isinstance(answer, Lent) else pickle.loads(answer)
    if error is not None:
        raise error
    return Done(results, seconds, size_of(answer))


def size_of(answer: Answer) -> int:
    """How many bytes an answer has."""
    return answer.size if isinstance(answer, Lent) else len(answer)


# What follows runs in the other processes.


def done_by(driver: Driver, token: str, body: bytes, *parts: Part | Lent) -> Answer:
    """Do the tasks of a bundle: their results, or what the first that failed raised; Lost if this process is none that
    the driver needs, if they were cut short, or if they failed by what may be wrong with this process alone."""
    began = time.perf_counter()
    results: list[Any] = []
    error: Exception | None = None
    if difference(told_of_this(), driver.told) or not (driver.mark is None or sees(*driver.mark)):
        return pickle.dumps((results, 0.0, Lost()), 5)
    halt = _work.halt_of(driver.name, token)
    try:
        task, arguments = _Unpickler(body, parts, halt).load()
        for own in arguments:
            results.append(task(*own))
    except OWN_FAILURES:
        error = Lost(for_good=True)
    except Exception as raised:
        error = _that_travels(raised)
    if halt[0]:
        results, error = [], Lost()
    answer = results, time.perf_counter() - began, error
    if driver.sees_lent:
        with contextlib.suppress(OSError):  # memory is short
            lent = Lent(answer)
            if lent.size >= LENT:
                return lent
    return pickle.dumps(answer, 5)


def _that_travels(error: Exception) -> Exception:
    """The error, or one that says the same, if it cannot be pickled, or not be made again from that."""
    try:
        pickle.loads(pickle.dumps(error, 5))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


class _Work:
    """The work that this process has heard of: by driver and token its `halt`, and when each driver was last heard."""

    def __init__(self) -> None:
        self._halts: dict[tuple[str, str], NDArray[np.uint8]] = {}
        self._heard: dict[str, float] = {}
        self._lock = threading.Lock()
        self._watching = False

    def halt_of(self, driver: str, token: str) -> NDArray[np.uint8]:
        """The `halt` of some work, which is set once it is halted."""
        with self._lock:
            if not self._watching:
                self._watching = True
                threading.Thread(target=self._watch, daemon=True).start()
            self._heard[driver] = time.monotonic()
            if (driver, token) not in self._halts:
                while len(self._halts) >= KNOWN_TOKENS:
                    del self._halts[next(iter(self._halts))]
                self._halts[driver, token] = np.zeros(1, np.uint8)
            return self._halts[driver, token]

    def hear(self, driver: str, halted: tuple[str, ...]) -> None:
        """The driver is there, and the work with these tokens is halted."""
        self._heard[driver] = time.monotonic()
        for token in halted:
            self.halt_of(driver, token)[0] = 1

    def _watch(self) -> None:
        while True:
            time.sleep(1.0)
            self.halt_silent()

    def halt_silent(self) -> None:
        """Halt the work of drivers that have been silent for too long: they may have been killed. One that is heard
        again gets its next bundles done."""
        with self._lock:
            now = time.monotonic()
            for key in [key for key in self._halts if now - self._heard[key[0]] > DRIVER_SECONDS]:
                self._halts.pop(key)[0] = 1


_work = _Work()


async def hear(driver: str, halted: tuple[str, ...]) -> None:
    """Take in that a driver is there, and that its work with these tokens is halted. Asynchronous, as Dask waits for no
    other answer."""
    _work.hear(driver, halted)


def prepare(modules: tuple[str, ...]) -> None:
    """Load what the driver has loaded, before the first bundle needs it."""
    for module in modules:
        importlib.import_module(module)


def sees(path: str, mark: str) -> bool:
    """Whether this process sees the file that the driver has marked so."""
    try:
        return Path(path).read_text() == mark
    except (OSError, ValueError):
        return False


@functools.cache
def told_of_this() -> dict[str, str]:
    """What results may depend on in this process: sources, and versions."""
    digest, top = hashlib.sha256(), Path(__file__).parents[1]
    for path in sorted(top.rglob("*.py")):
        digest.update(str(path.relative_to(top)).encode() + b"\0" + path.read_bytes())
    versions = {name: metadata.version(name) for name in MATTERS} | {"arithmetic": _arithmetic()}
    python = f"{sys.version_info.major}.{sys.version_info.minor} ({platform.python_implementation()})"
    return {"extbnsl": digest.hexdigest()[:16], "Python": python, "host": platform.node()} | versions


def _arithmetic() -> str:
    """A digest of what functions give for some values that libraries compute by the means of the processor."""
    x, square = np.linspace(0.01, 30.0, 4096), np.random.default_rng(0).standard_normal((32, 32))
    product = square @ square.T
    some = np.concatenate([np.log(x), np.exp(-x), product.ravel(), np.linalg.cholesky(product + np.eye(32)).ravel()])
    own = [function(value) for function in (math.log, math.exp, math.lgamma) for value in x.tolist()]
    return hashlib.sha256(some.tobytes() + np.array(own).tobytes()).hexdigest()[:16]


def difference(worker: dict[str, str], here: dict[str, str]) -> str:
    """How a worker differs from this process in what results may depend on; empty if it does not."""
    for name, own in here.items():
        other = worker.get(name)
        if name != "host" and other != own:
            if name == "extbnsl":
                return "it has other sources of extbnsl"
            if name == "arithmetic":
                return "its processor or its C library rounds some logarithms and products otherwise"
            return f"it has {name} {other}, where the driver has {own}"
    return ""
