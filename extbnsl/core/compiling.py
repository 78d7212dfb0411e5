"""How far this process is with compiling kernels: for people who wait, and for clocks that do not count it.

A kernel is compiled when it is first called on a machine, and lies in a cache from then on.
"""

import threading
import time
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Compiling:
    """known: kernels that may be needed; done: of these, how many this process has compiled. seconds, cpu_seconds:
    what compiling has taken. since, cpu_since: the moments of the monotonic clock, and of that of the processors, when
    the compiling that goes on began, or None.
    """

    known: int = 0
    done: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    since: float | None = None
    cpu_since: float | None = None


_state = Compiling()
_lock = threading.Lock()
_own = threading.local()  # how many kernels this thread compiles, one for the sake of the other


def add_known() -> None:
    """One more kernel may be needed."""
    global _state
    with _lock:
        _state = replace(_state, known=_state.known + 1)


def so_far() -> Compiling:
    """How far compiling is now, with the wall time of the one that goes on."""
    state = _state
    return state if state.since is None else replace(state, seconds=state.seconds + time.monotonic() - state.since)


def clock() -> float:
    """A monotonic clock that stands still while a kernel is compiled: seconds."""
    state = _state
    return (time.monotonic() if state.since is None else state.since) - state.seconds


def cpu_clock() -> float:
    """What all threads have computed, in seconds of processors; it stands still while a kernel is compiled."""
    state = _state
    return (time.process_time() if state.cpu_since is None else state.cpu_since) - state.cpu_seconds


def began() -> None:
    """This thread begins to compile a kernel, perhaps within another one."""
    global _state
    _own.depth = getattr(_own, "depth", 0) + 1
    if _own.depth == 1:
        _own.cpu = time.thread_time()
        with _lock:
            _state = replace(_state, since=time.monotonic(), cpu_since=time.process_time())


def ended() -> None:
    """This thread has compiled the kernel that it began last, or failed to."""
    global _state
    _own.depth -= 1
    with _lock:
        state = replace(_state, done=_state.done + 1)
        if _own.depth == 0 and state.since is not None:
            state = replace(
                state,
                seconds=state.seconds + time.monotonic() - state.since,
                cpu_seconds=state.cpu_seconds + time.thread_time() - _own.cpu,
                since=None,
                cpu_since=None,
            )
        _state = state
