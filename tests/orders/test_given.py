"""Orders that people give, name by name."""

from unicodedata import normalize

import pytest

from extbnsl.core.errors import InputError
from extbnsl.orders.given import positions

NAMES = ("Gr\u00f6\u00dfe", "b", "c d")


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_names_may_be_encoded_in_another_way(form):
    given = [(f"line {i}", normalize(form, name)) for i, name in enumerate(("c  d", "b", "Gr\u00f6\u00dfe"), start=1)]
    assert positions(given, NAMES, "o.txt", "d.csv") == (2, 1, 0)


def test_what_is_spelled_as_the_data_have_it_comes_first_and_what_is_open_is_refused():
    names = (NAMES[0], normalize("NFD", NAMES[0]))
    given = [("line 1", names[1]), ("line 2", names[0])]
    assert positions(given, names, "o.txt", "d.csv") == (1, 0)
    with pytest.raises(InputError, match=r"line 1: 'a  b' is no variable of d.csv"):
        positions([("line 1", "a  b")], ("a b", "a\tb"), "o.txt", "d.csv")


def test_one_name_in_two_forms_is_there_twice():
    given = [("line 1", NAMES[0]), ("line 2", normalize("NFD", NAMES[0]))]
    with pytest.raises(InputError, match=r"line 2: .* is there already, at line 1"):
        positions(given, NAMES, "o.txt", "d.csv")
