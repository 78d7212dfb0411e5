"""Work on a cluster whose driver, workers and scheduler are killed at random comes to the same end; see shaken.py."""

import pytest
from portions import is_thorough
from shaken import KINDS, shaken

pytest.importorskip("distributed")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_work_survives_kills_of_all_that_takes_part(kind, tmp_path):
    many = 12 if is_thorough() else 5
    kills = shaken(tmp_path, KINDS[kind], many, seed=79)  # of which the first four kill one of each kind
    assert sum(kills.values()) >= many - 1
    assert min(kills.values()) > 0
