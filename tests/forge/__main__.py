"""`python -m tests.forge --cases N --seed S`, from the top of the repository."""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # as the tests have it: `naive`, `forge`
    from forge.command import main

    sys.exit(main())
