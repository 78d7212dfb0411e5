"""Which data sets to solve, and what their optima are known to be."""

import csv
from pathlib import Path

LARGEST = 31  # variables of the suite's data sets
TOLERANCE = 1e-6  # relative: some published optima are in single precision


def read_optima(path: Path) -> dict[str, tuple[int, float]]:
    """The rows of an optima file as {file: (number of variables, cost in nats)}."""
    with path.open(newline="") as file:
        return {row["file"]: (int(row["n"]), float(row["optimal_cost_nats"])) for row in csv.DictReader(file)}


def suite_paths(optima: dict[str, tuple[int, float]], data: Path) -> list[Path]:
    """The files below `data` that are in `optima` with at most LARGEST variables, in its order."""
    found = (data / file for file, (variables, _) in optima.items() if variables <= LARGEST)
    return [path for path in found if path.is_file()]


def known_cost(path: Path, optima: dict[str, tuple[int, float]]) -> float | None:
    """The known optimum of the data set at `path`: of the row whose file ends the path, or None."""
    parts = path.absolute().parts
    for file, (_, cost) in optima.items():
        tail = Path(file).parts
        if parts[-len(tail) :] == tail:
            return cost
    return None


def matches(cost: float, known: float) -> bool:
    """Whether a cost is the known one, within the relative TOLERANCE."""
    return abs(cost - known) <= TOLERANCE * abs(known)
