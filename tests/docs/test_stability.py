"""What docs/stability.md says is what the program has: numbers of formats, names in Python. The version is one."""

import inspect
import re
from pathlib import Path

import pytest
from pages import ROOT, prose, rows

import extbnsl

PROMISED = Path(__file__).with_name("promised.txt")
INTERNAL = {"files", "file_names"}  # of Result, as docs/api.md has it
HOMES = {
    "`result.json`": "verify/__init__.py",
    "`network.json`": "formats/described.py",
    "`manifest.json`": "files/manifest.py",
    "`campaign.json`": "lab/campaign/folder.py",
    "`NAME.json` in the `runs` of a campaign": "lab/campaign/outcome.py",
}
SHOWN = {
    "pyproject.toml": r'^version = "(.*)"',
    "CITATION.cff": r"^version: (.*)",
    "README.md": r"^extbnsl ([\d.]+)",
    "tools/conda/meta.yaml": r'"EXTBNSL_VERSION", "(.*?)"',
    "examples/benchpress/extbnsl/info.json": r'"version": "(.*)"',
    "CHANGELOG.md": r"^## (\d+\.\d+\.\d+) \(",
}


def numbers():
    """{module: the number of the format that it writes}."""
    package, found = ROOT / "extbnsl", re.compile(r"^FORMAT_VERSION = (\d+)$", re.MULTILINE)
    texts = {path.relative_to(package).as_posix(): path.read_text() for path in package.rglob("*.py")}
    return {name: int(told[1]) for name, text in texts.items() if (told := found.search(text))}


def test_the_pages_have_the_numbers_of_all_formats():
    table = prose(ROOT / "docs" / "stability.md").split("\n## Formats with a number\n")[1].split("\n## ")[0]
    assert {HOMES[file]: int(number) for file, number, _ in rows(table)} == numbers()
    formats = rows(prose(ROOT / "docs" / "file-formats.md"))
    told = [int(re.match(r"\d+", text)[0]) for first, text, *_ in formats if first == "`format_version`"]
    assert told == [numbers()[HOMES["`result.json`"]], numbers()[HOMES["`network.json`"]]]


def named(name, function):
    """A line for what can be called: its parameters, a `*` before keywords, a `=` behind those that have a default."""
    own = [one for one in inspect.signature(function).parameters.values() if one.name != "self"]
    told = ["*" * (one.kind is one.KEYWORD_ONLY) + one.name + "=" * (one.default is not one.empty) for one in own]
    return f"{name}({' '.join(told)})"


def public():
    """A line for each public name of the package, and of its classes."""
    for name in sorted(extbnsl.__all__):
        one = getattr(extbnsl, name)
        if not inspect.isclass(one):
            yield named(name, one) if callable(one) else name
            continue
        if name != "Result":  # which nobody makes
            yield named(name, one)
        fields = getattr(one, "__dataclass_fields__", {})
        names = {own for own in {*dir(one), *fields} - INTERNAL if not own.startswith("_")}
        for own in sorted(names):
            member = None if own in fields else getattr(one, own)
            yield named(f"{name}.{own}", member) if inspect.isfunction(member) else f"{name}.{own}"


def test_the_names_in_python_are_those_that_are_promised():
    """What is new is added to the list. What stands there stays until the next major version."""
    assert list(public()) == PROMISED.read_text().splitlines()


@pytest.mark.parametrize("file", SHOWN)
def test_all_files_show_the_version(file):
    assert re.search(SHOWN[file], (ROOT / file).read_text(), re.MULTILINE)[1] == extbnsl.__version__
