"""Processes of this machine: whether one runs, which ones it has begun, and which have a word."""

import contextlib

import psutil


def is_alive(process):
    """Whether a process of this number runs; one that is dead and not yet waited for does not."""
    try:
        return psutil.Process(process).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def children(process):
    """The processes that a process has begun and that run: the words of their command lines, by their numbers."""
    found = {}
    with contextlib.suppress(psutil.NoSuchProcess):
        for child in psutil.Process(process).children():
            with contextlib.suppress(psutil.NoSuchProcess):  # it has just ended
                found[child.pid] = child.cmdline()
    return found


def with_word(part):
    """The numbers of all processes that have a word in their command lines which this is part of."""
    found = psutil.process_iter(["cmdline"])
    return [process.pid for process in found if any(part in word for word in process.info["cmdline"] or ())]
