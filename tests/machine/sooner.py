"""A program: the command line, which sends work to processes of a cluster at once, and little at a time.

So small data are as exposed to what happens to those as large ones are, of which it is known that they take long.
"""

import sys

import extbnsl.machine.spreading
from extbnsl.cli import main

if __name__ == "__main__":
    extbnsl.machine.spreading.START_SECONDS, extbnsl.machine.spreading.BUNDLE_SECONDS = 0.0, 0.1
    sys.exit(main())
