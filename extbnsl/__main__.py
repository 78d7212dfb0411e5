"""The command `extbnsl`, also as `python -m extbnsl`: a process that runs one command and nothing else.

What such a process need not do saves half a second of CPU time, a third of what a small problem took.
"""

import gc
import os
import sys
from typing import Any, NoReturn

from extbnsl.cli import main
from extbnsl.machine.streams import open_closed_streams

OBJECTS = 100_000  # that are made before garbage is looked for: nearly all are there to stay, as modules are


def run() -> NoReturn:
    """Run the command of the process's arguments, and end the process."""
    open_closed_streams()
    gc.set_threshold(OBJECTS)
    modules: dict[str, Any] = sys.modules
    modules["scipy"] = None  # where it is installed the compiler loads its linear algebra, which no kernel uses
    code = main()
    os._exit(code)  # all is written and closed, and the modules need not be taken apart one by one


if __name__ == "__main__":
    run()
