"""Some hundred forgeries, of which verify believes nothing that is false, and each kind of edit is among them."""

import os

import pytest
from portions import is_thorough

from forge import edits
from forge.cases import Case, forged
from forge.command import run_cases
from forge.judging import judged
from forge.originals import ASKED, make_originals

CASES = 250


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """One of each kind, in a folder that the tests are in."""
    before = os.getcwd()
    os.chdir(tmp_path_factory.mktemp("forge"))
    yield make_originals()
    os.chdir(before)


@pytest.mark.slow
def test_nothing_false_is_believed(originals):
    codes, wrong = run_cases(0, range(CASES), originals)
    assert wrong == []
    assert codes[31] > CASES / 2
    assert min(codes[0], codes[11], codes[30]) > 0


@pytest.mark.slow
def test_nothing_false_is_believed_of_many(originals):
    assert run_cases(1, range(500 if is_thorough() else 150), originals)[1] == []


@pytest.mark.parametrize("kind", ASKED)
def test_the_originals_are_true(originals, kind):
    original = next(one for one in originals if one.kind == kind)
    case = Case(original, original.document, original.tables, original.data, [])
    code, why = judged(case)
    assert why is None
    assert code == {"resamples": 11, "approximate": 11}.get(kind, 0)


def test_the_judge_sees_what_is_wrong(originals, monkeypatch):
    """Whoever believes all is told of it."""
    cases = [forged(9, number, originals) for number in range(60)]
    monkeypatch.setattr(
        "forge.judging.verify", lambda case: (0, f"{case.original.claim}\nrecomputed\nnot checked  nothing\n")
    )
    found = [judged(case)[1] for case in cases]
    assert sum(why is not None for why in found) > 30
    assert all(any(said in (why or "believed") for said in ("believed", "nobody says so")) for why in found)


@pytest.mark.slow
def test_every_edit_can_be_made(originals):
    """An edit that never works tests nothing."""
    made = {name for number in range(CASES) for name in forged(0, number, originals).edits}
    every = (*edits.EDITS, *edits.LIST_EDITS, *edits.TABLE_EDITS, *edits.ADAPTING)
    assert {edit.__name__ for edit in every} <= made


def test_the_same_seed_makes_the_same_forgeries(originals):
    assert forged(5, 17, originals).document == forged(5, 17, originals).document
