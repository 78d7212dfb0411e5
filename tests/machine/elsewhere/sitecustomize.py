"""Python on a system that has nothing of what only Linux, or only Unix, has: processes that find this folder on their
path, and those that they start, begin with it. Files are locked as on Windows, by a double of its module."""

import errno
import importlib.util
import os
import signal
import subprocess  # noqa: F401 - which takes the double for the whole of Windows
import sys
import types

import psutil  # noqa: F401 - the one for Linux


def double():
    """msvcrt: locks of bytes by what Linux has for that, but to each its own, as on Windows."""
    fcntl = importlib.import_module("fcntl")
    module = types.ModuleType("msvcrt")
    module.LK_NBLCK, module.LK_UNLCK = 2, 0

    def locking(descriptor, mode, size):
        written = fcntl.fcntl(descriptor, fcntl.F_GETFL) & (os.O_WRONLY | os.O_RDWR)
        how = (fcntl.LOCK_EX if written else fcntl.LOCK_SH) | fcntl.LOCK_NB  # who does not write cannot have the first
        how = fcntl.LOCK_UN if mode == module.LK_UNLCK else how
        try:
            fcntl.lockf(descriptor, how, size, os.lseek(descriptor, 0, os.SEEK_CUR))
        except OSError as error:
            raise PermissionError(errno.EACCES, "Permission denied") from error

    module.locking = locking
    return module


OF_OS = (
    *("pread", "pwrite", "posix_fallocate", "sched_getaffinity", "wait4", "killpg", "fork", "forkpty"),
    *("O_NONBLOCK", "O_NOCTTY", "O_NOFOLLOW", "O_DIRECTORY"),
)
OF_ERRNO = ("EDEADLOCK", "EREMOTEIO", "ENOTUNIQ", "EBADFD", "ENOMEDIUM")
if __name__ == "sitecustomize":
    sys.modules["msvcrt"] = double()
    for name in ("fcntl", "resource"):
        sys.modules[name] = None
    for name in OF_OS:
        delattr(os, name)
    for name in OF_ERRNO:
        delattr(errno, name)
    del signal.SIGHUP
