"""Optima by BDeu of real data against programs that share no code with the solver.

The state space is what the `.arities.txt` of each network declares: states count, whether they occur or not.
"""

import csv
import gzip

import independent
import numpy as np
import pytest
from flat import solve

from extbnsl.data.reading import read_csv

CASES = [
    ("asia_1000.csv", 3),
    ("asia_10000.csv.gz", 3),
    ("sachs_1000.csv", 3),
    ("sachs_10000.csv.gz", 3),
    ("child_1000.csv", 3),
    ("insurance_1000.csv", 3),
    ("water_1000.csv", 2),
]


@pytest.mark.slow
@pytest.mark.parametrize(("file", "max_parents"), CASES)
def test_bdeu_optimum_by_another_program(file, max_parents, shared_data):
    path = shared_data / "sampled" / file
    declared = path.with_name(f"{file.partition('_')[0]}.arities.txt")
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt") as lines:
        codes = np.loadtxt(lines, delimiter=",", skiprows=1, dtype=np.int64)
    with open(declared, newline="") as lines:
        _, arities = csv.reader(lines)
    families = independent.bdeu_families(codes, [int(arity) for arity in arities], max_parents)
    program = independent.optimum_by_subsets if codes.shape[1] <= 14 else independent.optimum_by_cuts
    found = solve(read_csv(path, arities=declared), score="bdeu", ess=1.0, max_parents=max_parents, threads=1)
    assert found.status == "optimal"
    assert found.cost == pytest.approx(program(families), rel=1e-10)


def test_the_two_programs_agree():
    rng = np.random.default_rng(7)
    codes = rng.integers(0, 3, (60, 7))
    codes[:, 3:5] = (codes[:, :2] + (rng.random((60, 2)) < 0.2)) % 3
    codes[:, 5] = (codes[:, 3] + codes[:, 4]) % 3
    families = independent.bdeu_families(codes, [3] * 7, 3, 5.0)
    least = independent.optimum_by_subsets(families)
    assert independent.optimum_by_cuts(families) == pytest.approx(least, rel=1e-12)
    assert least < sum(min(own)[0] for own in independent.bdeu_families(codes, [3] * 7, 0, 5.0)) - 10.0
