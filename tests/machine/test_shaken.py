"""Work on a cluster whose driver, workers and scheduler are killed at random comes to the same end; see shaken.py."""

import pytest
from shaken import KINDS, shaken

pytest.importorskip("distributed")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_work_survives_kills_of_all_that_takes_part(kind, tmp_path):
    kills = shaken(tmp_path, KINDS[kind], 6, seed=4)
    assert sum(kills.values()) >= 5
