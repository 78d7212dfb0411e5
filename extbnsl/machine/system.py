"""What one system has and another lacks: whoever needs such a thing asks here, and nowhere else.

Linux has all of it, and is where the program is tested. Each thing has a way that works without, by psutil or the
standard library, which says in its sentence what is lost. Modules that a system lacks are None.
"""

import contextlib
import errno
import importlib
import math
import mmap
import os
import re
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import subprocess


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


fcntl, msvcrt, resource = map(_module, ("fcntl", "msvcrt", "resource"))

PROCESSES = Path("/proc")
LOCK_AT = 1 << 30  # the byte of a file that Windows locks: one that nobody reads, since nobody else may
LOCKED = (errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK)  # what a lock that another process holds is told by

NEVER_WAITING = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)  # where pipes are no files, none waits
NO_LINK = getattr(os, "O_NOFOLLOW", 0)  # 0: who opens a file looks before whether it is a link
AS_IT_IS = getattr(os, "O_BINARY", 0)  # without it, Windows changes line ends

# What asks a process to end.
ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name))
NO_TERMINAL = getattr(signal, "SIGHUP", None)  # the one that nohup lets a process ignore

# Left to itself, GNU's library of C keeps freed arrays below 32 MB for later, and in a long search several hundred
# megabytes of such remains pile up. Where it keeps none, each small array costs page faults: a tenth of the time of
# small solves. Other libraries are left to themselves.
MAPPED = 2 << 20  # bytes from which on an array is given back as soon as it is freed
KEPT = 8 << 20  # bytes that are kept at the end of each thread's pool
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of malloc.h
ENVIRONMENT = {"MALLOC_MMAP_THRESHOLD_": str(MAPPED), "MALLOC_TRIM_THRESHOLD_": str(KEPT)}  # of a new process

PAUSE_SECONDS = 0.05  # between two looks at a process of which the system keeps no count
_one_at_a_time = threading.Lock()


def lock(descriptor: int, shared: bool = False) -> None:
    """Lock an open file until it is closed, without waiting; a shared lock lets others have shared ones, or is let go
    at once where the system has none.

    OSError, its number in LOCKED, if another process holds it, with another number if there are no locks here.
    """
    if fcntl is not None:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    elif msvcrt is not None:
        os.lseek(descriptor, LOCK_AT, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        if shared:
            os.lseek(descriptor, LOCK_AT, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
        os.lseek(descriptor, 0, os.SEEK_SET)
    else:
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))


def read_at(descriptor: int, size: int, at: int) -> bytes:
    """At most so many bytes of an open file from a place on. Where that moves where the file is read, one thread does
    it at a time."""
    if hasattr(os, "pread"):
        return os.pread(descriptor, size, at)
    with _one_at_a_time:
        os.lseek(descriptor, at, os.SEEK_SET)
        return os.read(descriptor, size)


def write_at(descriptor: int, data: bytes | memoryview, at: int) -> None:
    """Write all of the data to an open file at a place, as `read_at` reads; OSError."""
    while data:
        if hasattr(os, "pwrite"):
            written = os.pwrite(descriptor, data, at)
        else:
            with _one_at_a_time:
                os.lseek(descriptor, at, os.SEEK_SET)
                written = os.write(descriptor, data)
        data, at = data[written:], at + written


def reserve(descriptor: int, size: int) -> None:
    """Let an open file have so many bytes, and where the system can, let the disk have them; OSError."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)
    else:
        os.ftruncate(descriptor, size)


def memory_file(name: str) -> int:
    """The descriptor of an empty file in memory, which goes with its last user; OSError, also where there is no such
    thing. The name is seen by whoever looks at the process, and need not be its own."""
    if not hasattr(os, "memfd_create"):
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))
    return os.memfd_create(name)


def path_of_open(descriptor: int) -> str:
    """Where other processes of this user find a file that this process has open, as long as it has."""
    return str(PROCESSES / str(os.getpid()) / "fd" / str(descriptor))


def forget_pages(mapped: mmap.mmap) -> None:
    """Let what has been read of a mapped file go from memory; elsewhere the system does so when memory is short."""
    with contextlib.suppress(AttributeError, OSError):
        mapped.madvise(mmap.MADV_DONTNEED)


def synchronise_names(folder: Path) -> None:
    """Wait until the names in a folder are on disk, where folders can be opened, and waited for; OSError."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems cannot
            raise
    finally:
        os.close(descriptor)


def free_bytes(folder: Path) -> int:
    """The bytes that this process may still write on the disk of a folder; OSError."""
    return shutil.disk_usage(folder).free


def processors() -> int:
    """Those that this process may run on, or all that there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def address_space() -> float:
    """The bytes of address space that this process may have; infinity where nothing limits it."""
    if resource is None:
        return math.inf
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return math.inf if limit == resource.RLIM_INFINITY else limit


def peak_rss() -> int:
    """The most bytes of this process that have been resident at once."""
    # getrusage would also count what the parent had resident before this process replaced its image.
    if found := re.search(r"^VmHWM:\s*(\d+) kB", text_of(PROCESSES / "self" / "status"), re.MULTILINE):
        return int(found[1]) * 1024
    if resource is not None:
        return _peak_of(resource.getrusage(resource.RUSAGE_SELF))
    import psutil

    memory = psutil.Process().memory_info()
    return int(getattr(memory, "peak_wset", memory.rss))


def _peak_of(usage: Any) -> int:
    """The most bytes that were resident, of what `resource` or `os.wait4` tell."""
    return int(usage.ru_maxrss) if sys.platform == "darwin" else int(usage.ru_maxrss) * 1024


def text_of(path: Path) -> str:
    """The text of a file of the system, empty if there is none."""
    try:
        return path.read_text("ascii", "replace")
    except OSError:
        return ""


def give_memory_back() -> None:
    """From now on let this process, which must be ours, give freed memory back as above."""
    import ctypes

    with contextlib.suppress(OSError, AttributeError, TypeError):
        library = ctypes.CDLL(None)
        library.mallopt(M_MMAP_THRESHOLD, MAPPED)
        library.mallopt(M_TRIM_THRESHOLD, KEPT)


def trim_memory() -> None:
    """Give what is freed back to the system now: small remains between what is in use, of all threads' pools."""
    import ctypes

    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


@dataclass(frozen=True)
class Used:
    """How a process ended, and what it and those that it waited for used.

    exit_code: minus the number of a signal if one killed it.
    cpu_seconds: user and system. peak_rss_bytes: of the largest of them.
    """

    exit_code: int
    cpu_seconds: float
    peak_rss_bytes: int


def wait_for(process: "subprocess.Popen[bytes]") -> Used:
    """Wait until a process ends. Where the system keeps no count of what it used, that is looked up again and again:
    of itself alone, and but for what comes after the last look."""
    if hasattr(os, "wait4"):
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        return Used(process.returncode, usage.ru_utime + usage.ru_stime, _peak_of(usage))
    import psutil

    seconds, peak = 0.0, 0
    while process.poll() is None:
        with contextlib.suppress(psutil.Error):
            own = psutil.Process(process.pid)
            times = own.cpu_times()
            seconds, peak = times.user + times.system, max(peak, int(own.memory_info().rss))
        time.sleep(PAUSE_SECONDS)
    return Used(process.returncode, seconds, peak)


def kill_session(leader: int) -> None:
    """End at once a process that leads a session, and all that it began; elsewhere those that it began and that know
    it still."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(leader, signal.SIGKILL)
        return
    _asked_of_session(leader, lambda process: process.kill())


def session_bytes(leader: int) -> int:
    """The memory that the processes of a session have now, what they share counted for each; see `kill_session`."""
    if not PROCESSES.is_dir():
        return sum(_asked_of_session(leader, lambda process: int(process.memory_info().rss)))
    pages = 0
    for name in filter(str.isdigit, os.listdir(PROCESSES)):
        with contextlib.suppress(IndexError, ValueError):
            fields = text_of(PROCESSES / name / "stat").rpartition(")")[2].split()
            if int(fields[3]) == leader:
                pages += int(fields[21])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _asked_of_session(leader: int, ask: Callable[[Any], Any]) -> list[Any]:
    """What is asked of each process that one began, and of that, as psutil has them; those that end meanwhile say
    nothing."""
    import psutil

    said: list[Any] = []
    with contextlib.suppress(psutil.Error):
        first = psutil.Process(leader)
        for process in (*first.children(recursive=True), first):
            with contextlib.suppress(psutil.Error):
                said.append(ask(process))
    return said


def disk_bytes(status: os.stat_result) -> int:
    """What a file takes on disk; where the system does not tell, what it holds."""
    return status.st_blocks * 512 if hasattr(status, "st_blocks") else status.st_size
