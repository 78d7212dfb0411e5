"""`python -m extbnsl` is the command `extbnsl`."""

import sys

from extbnsl.cli import main

sys.exit(main())
