"""Checks in a process of their own, which ends when it has taken too long: what may hang fails."""

import resource
import subprocess
import sys
from collections.abc import Callable

CPU_SECONDS = 150  # with compiling, on a cold cache
PATIENCE = 1800  # seconds, on a busy machine


def watched(check: Callable[..., None], *given: object) -> None:
    """Call a function of a test module with values that their own text spells, in another process, and fail where that
    does or does not end."""
    call = f"import sys; sys.path[:] = {sys.path!r}\nfrom {check.__module__} import {check.__name__}"
    command = [sys.executable, "-c", f"{call}\n{check.__name__}(*{given!r})"]
    limited = lambda: resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))  # noqa: E731
    ended = subprocess.run(command, preexec_fn=limited, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert ended.returncode == 0, f"exit code {ended.returncode}\n{ended.stderr[-3000:]}"
