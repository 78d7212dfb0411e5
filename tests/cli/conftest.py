"""Fixtures of the tests of the command line."""

import numpy as np
import pytest
from cases import from_array
from commands import a_table
from flat import solve


@pytest.fixture(autouse=True)
def here(here):
    """Every test runs in a folder of its own, with data.csv."""
    np.savetxt("data.csv", a_table(), fmt="%d", delimiter=",", header="a,b,c,d", comments="")
    return here


@pytest.fixture(scope="module")
def solved():
    """A real result, to be changed as a test needs it."""
    return solve(from_array(a_table(), ["a", "b", "c", "d"]))
