"""The pages fit, their links lead somewhere, and what they say of options and modules is what the program has."""

import argparse
import inspect
import re
import shlex

import pytest
from pages import PAGES, ROOT, anchors, links, prose, rows

import extbnsl
from extbnsl.cli.parser import COMMANDS, command_parser, usage_error
from extbnsl.formats.kinds import SUFFIXES
from extbnsl.scores.known import NAMES

README = ROOT / "README.md"
OPTIONS = ROOT / "docs" / "options.md"


def test_the_readme_is_short_and_begins_with_the_commands():
    lines = README.read_text().splitlines()
    assert len(lines) <= 120
    first_screen = lines[:24]
    for command in ("pip install .", "extbnsl solve examples/wdbc.csv", "pip install '.[test]' && pytest"):
        assert command in first_screen


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_and_headings(page):
    for path, heading in links(page):
        assert path.exists(), path
        if heading:
            assert heading in anchors(path), f"{path.name}#{heading}"


def test_every_page_is_linked_from_the_landing_page_and_that_from_the_readme():
    index = ROOT / "docs" / "index.md"
    assert index in {path for path, _ in links(README)}
    assert set((ROOT / "docs").glob("*.md")) - {index} <= {path for path, _ in links(index)}


def test_the_times_of_the_readme_are_those_of_the_benchmarks():
    measured = rows(prose(ROOT / "docs" / "benchmarks.md"))
    told = re.findall(r"(\w+) \((\d+)(?: variables)?\) ([\d.]+)", prose(README).split("## How long it takes")[1])
    assert len(told) >= 9
    for name, variables, seconds in told:
        of_name = [row for row in measured if row[0].startswith(name) and row[1] == variables]
        assert any(seconds in row[2:] for row in of_name), f"{name}: {seconds} is not in docs/benchmarks.md"


def test_every_module_is_in_the_guide_for_contributors():
    text = prose(ROOT / "CONTRIBUTING.md")
    folders = [path.parent.name for path in (ROOT / "extbnsl").glob("*/__init__.py")]
    files = [path.stem for path in (ROOT / "extbnsl").glob("*.py") if not path.stem.startswith("__")]
    assert [name for name in folders if f"`{name}/`" not in text] == []
    assert [name for name in files if f"`{name}`" not in text] == []


def default_of(action):
    """The default of an option as its page has it, without back quotes."""
    told = re.search(r"default: ([^);]+)", (action.help or "").replace("%(default)s", str(action.default)))
    if action.required:
        return "required"
    if told:
        return told[1]
    switch = isinstance(action, argparse._StoreFalseAction) or action.default in (None, False)
    return "off" if switch else str(action.default)


def options_of_the_parser():
    """{(command, option): default} of all commands."""
    (commands,) = (a for a in command_parser()._actions if isinstance(a, argparse._SubParsersAction))
    return {
        (name, option): default_of(action)
        for name, parser in commands.choices.items()
        for action in parser.filled()._actions
        for option in action.option_strings
        if not isinstance(action, argparse._HelpAction)
    }


def options_of_the_page():
    """The same as the page has it; a table is for the commands of the line 'For:' above it."""
    found = {}
    for part in prose(OPTIONS).split("\nFor: ")[1:]:
        line, _, table = part.partition("\n")
        for first, default, _ in rows(table.split("\n## ")[0]):
            for option in re.findall(r"(?<![\w-])--?[a-z][a-z-]*", first):
                for command in re.findall(r"`([\w-]+)`", line):
                    assert (command, option) not in found, f"{option} of {command} is there twice"
                    found[command, option] = default.replace("`", "")
    return found


def test_every_option_is_on_its_page_with_its_default_and_no_other_is():
    page, parser = options_of_the_page(), options_of_the_parser()
    differing = {one: (page.get(one), parser.get(one)) for one in page.keys() | parser.keys()}
    assert {one: both for one, both in differing.items() if both[0] != both[1]} == {}, "(on the page, in the parser)"


def test_every_format_and_every_score_is_on_its_page():
    exported = prose(ROOT / "docs" / "file-formats.md").split("\n## Exported files\n")[1].split("\n## ")[0]
    assert {name.strip("`"): ending.strip("`") for ending, name, *_ in rows(exported)} == SUFFIXES
    scores = prose(ROOT / "docs" / "scores.md").split("\n## ")[0]
    assert sorted(re.findall(r"`([\w-]+)`", " ".join(first for first, *_ in rows(scores)))) == sorted(NAMES)


def test_the_commands_that_answer_questions_are_commands():
    """All of them, as the page has them; what a reader fills in is a word like any other."""
    text = prose(ROOT / "docs" / "which-command.md")
    asked = [shlex.split(line) for line in re.findall(r"`extbnsl ([^`]*)`", text) if "..." not in line]
    assert [words for words in asked if usage_error(words) is not None] == []
    assert {words[0] for words in asked} == set(COMMANDS) - {"clean", "plot"}


def test_every_argument_of_learn_is_on_the_page_with_its_default():
    parameters = inspect.signature(extbnsl.learn).parameters
    expected = {name: parameter.default for name, parameter in parameters.items() if name != "data"}
    table = prose(OPTIONS).split("\n## Python\n")[1]
    written = {first.strip("`"): eval(default.strip("`"), {}) for first, default, _ in rows(table)}
    assert written == expected
