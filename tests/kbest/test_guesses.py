"""The guesses of a slack grow, and come near what is wanted where numbers grow exponentially."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extbnsl.core.errors import InputError
from extbnsl.kbest.ranking import next_slack
from extbnsl.kbest.scope import Scope


@given(st.floats(1e-3, 100.0), st.lists(st.floats(0.0, 1.0), max_size=30), st.integers(1, 10**6))
def test_a_guess_is_larger_than_the_one_before(slack, shares, more):
    above = np.sort(np.array(shares)) * slack
    guess = next_slack(slack, above, above.size + more)
    assert 1.1 * slack <= guess <= 2.0 * slack


def test_exponential_growth_is_read():
    above = np.log(np.arange(1, 101)) / 3.0  # e^(3 s) networks within s
    slack = float(above[-1])
    guess = next_slack(slack, above, 200)
    assert slack + math.log(2.0) / 3.0 <= guess <= slack + 1.5 * math.log(2.0) / 3.0


def test_few_networks_tell_nothing():
    assert next_slack(0.5, np.zeros(3), 10) == 1.0
    assert next_slack(0.5, np.zeros(30), 100) == 1.0  # all of them ties


@pytest.mark.parametrize(
    ("scope", "words"),
    [
        (Scope(), "k: say how many"),
        (Scope(k=0), "k: 0 is not a whole number of at least 1"),
        (Scope(within_factor=0.5), "within_factor: 0.5 is not a factor; give 1 or more"),
        (Scope(within_factor=math.nan), "within_factor: nan is not a factor"),
        (Scope(within_factor=math.inf), "within_factor: inf is not a factor"),
        (Scope(k=1, classes=2), "classes"),
    ],
)
def test_what_cannot_be_asked_for(scope, words):
    with pytest.raises(InputError, match=words):
        scope.check()


def test_a_scope_knows_its_slack():
    scope = Scope(within_factor=20.0)
    scope.check()
    assert scope.slack == pytest.approx(math.log(20.0))
    assert Scope(k=5).slack is None
    assert Scope(k=5).document() == {"k": 5, "within_factor": None, "classes": False, "top": 10}
