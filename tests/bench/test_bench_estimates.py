"""`python -m bench.estimates`: what solves take lies within the ranges of estimates."""

import pytest

from bench import estimates
from extbnsl.kernels.varsets import WORD_BITS

SOME = ("wdbc", "made20", "made25 aic 3", "made30 bdeu 3", "made20 static")  # `python -m bench.estimates` has all


@pytest.mark.slow
def test_solves_take_what_estimates_say(tmp_path):
    """The second effort ends while some problems are counted: their ranges are wide, and there."""
    estimates.write_problems(tmp_path)
    took = {name: estimates.taken(tmp_path, name, "2") for name in SOME}
    for effort in ("3s", "0.3s"):
        found = [estimates.compared(tmp_path, name, effort, "2", took[name]) for name in SOME]
        out = [row for row, fits in found if not fits]
        assert len(out) <= 1, out


def test_problems_are_of_one_to_forty_variables(tmp_path):
    estimates.write_problems(tmp_path)
    for file, _ in estimates.PROBLEMS.values():
        assert len((tmp_path / file).read_text().partition("\n")[0].split(",")) <= min(40, WORD_BITS)
