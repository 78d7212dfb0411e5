"""`python -m bench.estimates`: what solves take lies within the ranges of estimates."""

import pytest

from bench import estimates
from extbnsl.kernels.varsets import WORD_BITS


@pytest.mark.slow
@pytest.mark.parametrize("effort", ["10s", "0.3s"])
def test_twenty_solves_take_what_estimates_say(tmp_path, effort):
    """The second effort ends while some problems are counted: their ranges are wide, and there."""
    estimates.write_problems(tmp_path)
    assert len(estimates.PROBLEMS) >= 20
    found = {name: estimates.compared(tmp_path, name, effort, "2") for name in estimates.PROBLEMS}
    out = [row for row, fits in found.values() if not fits]
    assert len(out) <= (1 - estimates.SHARE) * len(found), out


def test_problems_are_of_one_to_forty_variables(tmp_path):
    estimates.write_problems(tmp_path)
    for file, _ in estimates.PROBLEMS.values():
        assert len((tmp_path / file).read_text().partition("\n")[0].split(",")) <= min(40, WORD_BITS)
