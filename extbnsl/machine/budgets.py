"""Memory, time and thread budgets: what the process may use, what it has used, and how people write both.

Sizes are bytes (int), durations are seconds (float). What is asked about the running process takes psutil, which is
imported then; everything else here needs the standard library alone.
"""

import itertools
import math
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from extbnsl.core.compiling import clock
from extbnsl.core.errors import BudgetError, InputError
from extbnsl.core.figures import format_size
from extbnsl.core.options import Option, Options
from extbnsl.core.sentences import Mention, Sentence
from extbnsl.machine.cluster import KINDS, hands_given
from extbnsl.machine.system import PROCESSES, address_space, free_bytes, processors, text_of

CGROUPS = Path("/sys/fs/cgroup")
MEMBERSHIP = PROCESSES / "self" / "cgroup"
MINIMUM_MEMORY = 16 << 20  # bytes that the solver's smallest tables and buffers need
MAXIMUM_THREADS = 1024
LEAST_ADDRESS_SPACE = 900 << 20  # bytes; 820 million were taken when all kernels were compiled by one thread

# A bare K, M, G or T is binary, as with docker, systemd and ulimit.
_SIZE_UNITS = {"": 1, "B": 1}
for _power, _letter in enumerate("KMGT", start=1):
    _SIZE_UNITS |= {_letter: 1024**_power, f"{_letter}IB": 1024**_power, f"{_letter}B": 1000**_power}
_SIZE = re.compile(r"(\d+\.?\d*(?:E\+?\d+)?|\.\d+)\s*([A-Z]*)")

_DURATION_UNITS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "min": 60.0, "s": 1.0, "": 1.0}
_DURATION_PART = re.compile(r"(\d+\.?\d*|\.\d+)(d|h|min|m|s)")


def parse_size(size: str | int, option: str, least: int = 1) -> int:
    """Bytes of '512MiB', '8GiB', '40GB', '8G' (= 8GiB), '1e9' or an integer.

    Raises InputError, naming `option`, for anything else and for sizes below `least`.
    """
    found = _SIZE.fullmatch(str(size).strip().upper())
    if isinstance(size, bool) or found is None or found[2] not in _SIZE_UNITS:
        raise InputError(f"{option}: {size!r} is not a size; write bytes or a unit, such as 512MiB, 8GiB or 40GB.")
    amount = float(found[1]) * _SIZE_UNITS[found[2]]
    if amount >= 2**63:
        raise InputError(f"{option}: {size!r} is too much; give less than 8 EiB.")
    bytes_ = int(found[1]) if found[2] == "" and found[1].isdigit() else int(amount)
    if bytes_ < least:
        raise InputError(f"{option}: {size!r} is too little; give at least {format_size(least)}.")
    return bytes_


def parse_duration(duration: str | float, option: str = "time_limit") -> float:
    """Seconds of '90', '90s', '6h', '1h30m', '2d' or a number.

    Raises InputError, naming `option`, for anything else and for durations that are not above zero.
    """
    text = str(duration).strip().lower()
    if re.fullmatch(r"\d+\.?\d*|\.\d+", text):
        text += "s"
    parts = _DURATION_PART.findall(text)
    if isinstance(duration, bool) or not parts or "".join(n + unit for n, unit in parts) != text:
        raise InputError(
            f"{option}: {duration!r} is not a duration; write seconds or units, such as 90, 45m, 1h30m or 2d."
        )
    seconds = sum(float(number) * _DURATION_UNITS[unit] for number, unit in parts)
    if not 0 < seconds < math.inf:
        raise InputError(f"{option}: {duration!r} must be longer than zero seconds.")
    return seconds


@dataclass(frozen=True)
class Budgets(Options):
    """What a run may use; None is what the machine has free, and no limit of time.

    memory, disk: bytes; a disk of 0 means no working files, and so no checkpoints.
    time_limit: seconds.
    hands: which other processes work too, as text, or as a client of dask.distributed.
    spent: seconds of the time limit that are over before the run begins, as reading its input takes.
    """

    memory: Annotated[
        int | None,
        Option(
            f"memory budget: bytes or 512MiB, 8GiB, 40GB, at least {format_size(MINIMUM_MEMORY)}; it counts the "
            "solver's own structures, the interpreter and its libraries (150 to 250 MB) come on top",
            "SIZE",
            default="three quarters of what is free",
            parse=partial(parse_size, least=MINIMUM_MEMORY),
            given=int | str,
        ),
    ] = None
    disk: Annotated[
        int | None,
        Option(
            "what the working files may take together; 0: none, and no checkpoints",
            "SIZE",
            default="nine tenths of what is free on the disk that they are on",
            parse=partial(parse_size, least=0),
            given=int | str,
        ),
    ] = None
    threads: Annotated[
        int | None,
        Option(
            f"threads, at most {MAXIMUM_THREADS}",
            "T",
            least=1,
            most=MAXIMUM_THREADS,
            default="the processors this process may use",
        ),
    ] = None
    time_limit: Annotated[
        float | None,
        Option(
            "stop after T: 90 (seconds), 45m, 1h30m, 2d; reading counts, compiling does not",
            "T",
            default="never",
            parse=parse_duration,
            given=float | str,
        ),
    ] = None
    hands: Annotated[
        object | None,
        Option(
            f"have other processes work too: {KINDS}; in Python also a client of dask.distributed",
            "CLUSTER",
            default="none but this one",
            parse=hands_given,
            flag="--cluster",
        ),
    ] = None
    spent: float = 0.0

    def check(self) -> None:
        """Raise InputError for values that cannot be."""
        super().check()
        if self.memory is not None and self.memory < 1:
            raise InputError(f"memory: {self.memory} bytes is too little; give a size such as '2GiB'.")
        if self.disk is not None and self.disk < 0:
            raise InputError(f"disk: {self.disk} bytes is negative; give a size such as '40GiB', or 0 for no files.")
        if self.time_limit is not None and not self.time_limit > 0:
            raise InputError(f"time_limit: {self.time_limit} is not a positive number of seconds.")

    def granted(self, folder: Path, held: int = 0) -> "Granted":
        """The budgets with what the machine has free; files go to `folder`, which holds so many bytes of them."""
        return Granted(
            self.memory or default_memory(),
            default_disk(folder) + held if self.disk is None else self.disk,
            self.threads or default_threads(),
            self.time_limit,
            self.spent,
        )


@dataclass(frozen=True)
class Granted:
    """Budgets of which nothing is left open but the time: bytes, threads, seconds; `spent` as in Budgets."""

    memory: int
    disk: int
    threads: int
    time_limit: float | None
    spent: float = 0.0

    def deadline(self) -> "Deadline":
        """When the time limit passes, if the run begins now."""
        return Deadline.after(None if self.time_limit is None else max(0.0, self.time_limit - self.spent))

    def document(self) -> dict[str, Any]:
        """What was granted, as JSON values."""
        return {"memory": self.memory, "disk": self.disk, "threads": self.threads, "time_limit": self.time_limit}


@dataclass(frozen=True)
class Deadline:
    """A moment of the clock `by`, in seconds; infinity for 'whenever'. To another process it goes as what is left."""

    at: float = math.inf
    by: Callable[[], float] = clock

    def __reduce__(self) -> tuple[Any, ...]:
        return Deadline.after, (None if math.isinf(self.at) else self.remaining(),)

    @classmethod
    def after(cls, seconds: float | None, by: Callable[[], float] | None = None) -> "Deadline":
        """The moment `seconds` from now by this clock, or by the wall's; None is no limit."""
        by = by or clock
        return cls() if seconds is None else cls(by() + seconds, by)

    def remaining(self) -> float:
        """Seconds left, never below zero."""
        return max(0.0, self.at - self.by())

    def passed(self) -> bool:
        """Whether the moment is over."""
        return self.by() >= self.at


def default_threads(cgroups: Path = CGROUPS, membership: Path = MEMBERSHIP) -> int:
    """Processors that this process may run on, or what its control groups grant if that is less: the time per second of
    so many, rounded up."""
    allowed: float = processors()
    for folder in _groups("cpu", cgroups, membership):
        if (folder / "cpu.max").exists():
            granted, _, period = text_of(folder / "cpu.max").partition(" ")
        else:
            granted, period = text_of(folder / "cpu.cfs_quota_us"), text_of(folder / "cpu.cfs_period_us")
        if granted.strip().isdigit() and period.strip().isdigit() and int(period) > 0:  # 'max' and -1: no limit
            allowed = min(allowed, int(granted) / int(period))
    return max(1, math.ceil(allowed))


def default_memory(cgroups: Path = CGROUPS, membership: Path = MEMBERSHIP) -> int:
    """Three quarters of the bytes that the machine, or a control group with a lower limit, has free."""
    import psutil

    free = psutil.virtual_memory().available
    for folder in _groups("memory", cgroups, membership):
        if (folder / "memory.max").exists():
            limit, usage, prefix = text_of(folder / "memory.max"), text_of(folder / "memory.current"), ""
        else:
            limit, usage = text_of(folder / "memory.limit_in_bytes"), text_of(folder / "memory.usage_in_bytes")
            prefix = "total_"  # the first version counts a group's children apart
        if limit.strip().isdigit() and usage.strip().isdigit():
            free = min(free, max(0, int(limit) - int(usage) + _reclaimable(folder / "memory.stat", prefix)))
    return int(free * 3 / 4)


def machine_memory() -> int:
    """All bytes of memory that the machine has."""
    import psutil

    return int(psutil.virtual_memory().total)


def default_disk(folder: Path) -> int:
    """Nine tenths of the bytes that this process may still write on the disk of `folder`; InputError without it."""
    return max(1, free_disk(folder) * 9 // 10)


def free_disk(folder: Path) -> int:
    """The bytes that this process may still write on the disk of `folder`; InputError without it."""
    try:
        return free_bytes(folder)
    except OSError as error:
        raise InputError(f"{folder} cannot be used ({error.strerror}); give an existing folder.") from error


def too_little_memory(work: str, needed: int, granted: int, threads: int) -> Sentence:
    """The sentence for `work` that needs more bytes of memory than it was granted."""
    needs = f"{work} needs at least {format_size(needed)} of memory with {threads} threads for this problem, and "
    return Sentence(needs, Mention("memory"), f" grants {format_size(granted)}.")


def check_address_space() -> None:
    """Raise BudgetError if this process may not have the address space that loading the libraries and compiling take.

    Those do not say so themselves: numpy's ends the process, and so does the compiler, without a word to Python.
    """
    limit = address_space()
    if limit < LEAST_ADDRESS_SPACE:
        raise BudgetError(
            f"The system limits the address space of this process to {format_size(int(limit))}, and compiling takes "
            f"{format_size(LEAST_ADDRESS_SPACE)}; raise the limit (ulimit -v)."
        )


def current_rss() -> int:
    """Bytes of this process that are resident now."""
    import psutil

    return int(psutil.Process().memory_info().rss)


def cpu_seconds() -> float:
    """Processor seconds, user and system, of all threads of this process so far."""
    return time.process_time()


def _reclaimable(stat: Path, prefix: str) -> int:
    """Bytes of cache that the kernel gives back before it refuses memory; shared memory is not in it."""
    kinds = (f"{prefix}active_file", f"{prefix}inactive_file", "slab_reclaimable")
    size = 0
    for line in text_of(stat).splitlines():
        words = line.split()
        size += int(words[1]) if len(words) > 1 and words[0] in kinds else 0
    return size


def _groups(controller: str, cgroups: Path, membership: Path) -> Iterator[Path]:
    """Folders of the control groups that bind this process for `controller`, its own first; versions 1 and 2.

    In a container the group's own path often does not exist below the mount, whose root is then the group:
    folders that are not there are passed over.
    """
    for line in text_of(membership).splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            roots = [cgroups, cgroups / "unified"]
        elif controller in controllers.split(","):
            roots = [cgroups / controllers, cgroups / controller]
        else:
            continue
        own = Path(path.lstrip("/"))
        for root, group in itertools.product(roots, (own, *own.parents)):
            if (root / group).is_dir():
                yield root / group
