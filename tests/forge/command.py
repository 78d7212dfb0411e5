"""The command: forgeries by the thousand; what is believed wrongly is printed, with its number."""

import argparse
import os
import sys
import tempfile
from collections import Counter

from forge.cases import forged
from forge.judging import judged
from forge.originals import make_originals


def main(arguments=None):
    """Exit code 0, or 1 if verify believed something false, or failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.forge", description=__doc__)
    parser.add_argument("--cases", type=int, default=1000, help="how many forgeries (default: 1000)")
    parser.add_argument("--seed", type=int, default=0, help="the same seed gives the same forgeries (default: 0)")
    parser.add_argument("--first", type=int, default=0, help="the number of the first (default: 0)")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="forge-") as folder:
        os.chdir(folder)
        codes, wrong = run_cases(given.seed, range(given.first, given.first + given.cases), make_originals())
    told = ", ".join(f"{count:,} with exit code {code}" for code, count in sorted(codes.items()))
    print(f"{given.cases:,} forgeries: {told}")
    for number, kind, edits, why in wrong:
        print(f"case {number} ({kind}: {', '.join(edits)}): {why}", file=sys.stderr)
    return 1 if wrong else 0


def run_cases(seed, numbers, originals):
    """How often each exit code came, and what was wrong: (number, kind, edits, why). In the folder of the originals."""
    codes, wrong = Counter(), []
    for number in numbers:
        case = forged(seed, number, originals)
        code, why = judged(case)
        codes[code] += 1
        if why:
            wrong.append((number, case.original.kind, case.edits, why))
    return codes, wrong
