"""Data as text for programs: a row of codes for each record."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from extbnsl.data import Dataset


def write_rows(path: Path, dataset: Dataset, head: Sequence[str] = ()) -> None:
    """Write lines, and then the codes of each record, with spaces in between."""
    with path.open("w", encoding="ascii") as file:
        file.writelines(f"{line}\n" for line in head)
        np.savetxt(file, dataset.codes, fmt="%d")
