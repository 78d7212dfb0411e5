"""Become another program that ends when the process PARENT does, where the system can be told that: begin.py PARENT
PROGRAM ARGUMENT...

A script of the standard library alone, since it runs before each program.
"""

import contextlib
import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1  # of linux/prctl.h


def main() -> None:
    """Never returns."""
    parent, command = int(sys.argv[1]), sys.argv[2:]
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)
    with contextlib.suppress(ImportError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        os.execv(command[0], command)
    except OSError as error:
        sys.exit(f"{command[0]} cannot be begun: {error.strerror}.")


if __name__ == "__main__":
    main()
