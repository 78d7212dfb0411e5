"""The docstrings of the values that docs/api.md shows: all fields are described. Sphinx checks the arguments."""

import inspect
import re
from dataclasses import is_dataclass
from pkgutil import resolve_name

import pytest
from pages import ROOT


def shown():
    """The dataclasses that the page shows, one by one or with their whole module."""
    found = re.findall(r"^\.\. auto(class|module):: ([\w.]+)", (ROOT / "docs" / "api.md").read_text(), re.MULTILINE)
    for kind, path in found:
        one = resolve_name(path)
        members = [one] if kind == "class" else [own for own in vars(one).values() if inspect.isclass(own)]
        yield from filter(is_dataclass, members)


def described(value):
    """The names in the section `Attributes` of a docstring, in its order."""
    section = re.search(r"^Attributes\n-{10}\n(.*?)(?=\n\n\w+\n-|\Z)", inspect.getdoc(value), re.MULTILINE | re.DOTALL)
    entries = re.findall(r"^(\w[\w, ]*) : \S", section[1], re.MULTILINE) if section else []
    return [name for entry in entries for name in entry.split(", ")]


@pytest.mark.parametrize("value", list(shown()), ids=lambda value: value.__name__)
def test_every_field_is_described_with_its_type(value):
    assert sorted(described(value)) == sorted(inspect.get_annotations(value))


def test_the_page_shows_values():
    names = {value.__name__ for value in shown()}
    assert {"Result", "KBestResult", "Knowledge", "LayerEnded"} <= names
