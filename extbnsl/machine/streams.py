"""The standard streams of a process that was started without some of them, as by `>&-` or by a daemon."""

import os
import sys


def open_closed_streams() -> None:
    """Let every standard stream that is closed lead nowhere.

    Otherwise the next file that is opened gets its number, and what is meant for the terminal lands in it.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115 - for the life of the process
