"""Write the example data sets: wdbc.csv, wine.csv and asia.csv.

    python tools/make_examples.py [directory]        (default: examples/ of this checkout)

Needs scikit-learn, which brings the wdbc and wine measurements along; extbnsl itself does not need it. The
same files come out every time. examples/README.md says what they are and where they come from.
"""

import csv
import random
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_wine

ASIA_SAMPLES = 1000
ASIA_SEED = 1988

# The chest clinic of Lauritzen and Spiegelhalter (1988): for each variable, in topological order, its
# parents and, for each of their configurations, the probability of "yes".
ASIA: dict[str, tuple[tuple[str, ...], dict[tuple[str, ...], float]]] = {
    "asia": ((), {(): 0.01}),
    "tub": (("asia",), {("yes",): 0.05, ("no",): 0.01}),
    "smoke": ((), {(): 0.5}),
    "lung": (("smoke",), {("yes",): 0.1, ("no",): 0.01}),
    "bronc": (("smoke",), {("yes",): 0.6, ("no",): 0.3}),
    "either": (
        ("tub", "lung"),
        {("yes", "yes"): 1.0, ("yes", "no"): 1.0, ("no", "yes"): 1.0, ("no", "no"): 0.0},
    ),
    "xray": (("either",), {("yes",): 0.98, ("no",): 0.05}),
    "dysp": (
        ("either", "bronc"),
        {("yes", "yes"): 0.9, ("yes", "no"): 0.7, ("no", "yes"): 0.8, ("no", "no"): 0.1},
    ),
}


def wdbc() -> tuple[list[str], Iterable[Sequence[str]]]:
    """Header and records: the diagnosis, and 30 features of cell nuclei, each cut at its mean."""
    data = load_breast_cancer()
    names = ["diagnosis", *(str(name).replace(" ", "_") for name in data.feature_names)]
    diagnoses = [str(data.target_names[label]) for label in data.target]
    return names, zip(diagnoses, *cut_at_mean(data.data), strict=True)


def wine() -> tuple[list[str], Iterable[Sequence[str]]]:
    """Header and records: the cultivar, and 13 chemical measurements, each cut at its mean."""
    data = load_wine()
    names = ["cultivar", *(str(name).replace("/", "_") for name in data.feature_names)]
    cultivars = [str(label + 1) for label in data.target]
    return names, zip(cultivars, *cut_at_mean(data.data), strict=True)


def asia() -> tuple[list[str], Iterable[Sequence[str]]]:
    """Header and records: a forward sample of the chest clinic network."""
    # random.random() is the one generator whose sequence Python promises to keep.
    draw = random.Random(ASIA_SEED)
    records = []
    for _ in range(ASIA_SAMPLES):
        record: dict[str, str] = {}
        for name, (parents, yes) in ASIA.items():
            chance = yes[tuple(record[parent] for parent in parents)]
            record[name] = "yes" if draw.random() < chance else "no"
        records.append(list(record.values()))
    return list(ASIA), records


def cut_at_mean(measurements: NDArray[np.float64]) -> list[list[str]]:
    """A list for each column of `measurements` (N, n): "high" above the mean of the column, else "low"."""
    high = measurements > measurements.mean(axis=0)
    return [["high" if above else "low" for above in column] for column in high.T]


def main(directory: Path) -> None:
    """Write the three files into `directory`."""
    for name, make in (("wdbc", wdbc), ("wine", wine), ("asia", asia)):
        header, records = make()
        with open(directory / f"{name}.csv", "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(header)
            writer.writerows(records)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent / "examples")
