"""The page on campaigns: its file is a campaign that runs, what it says of broken ones is what they say."""

import contextlib
import re

import pytest
from pages import ROOT, prose

from extbnsl.cli import main
from extbnsl.lab.campaign.figures import FIGURES
from extbnsl.lab.campaign.spec import Campaign
from extbnsl.lab.report.tables import MEANING

PAGE = ROOT / "docs" / "campaigns.md"
(EXAMPLE,) = re.findall(r"^```yaml\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
BROKEN = re.search(r"^```text\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)[1].splitlines()


@pytest.fixture
def file(tmp_path):
    """The example of the page, beside a folder with the example data."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "configs").mkdir()
    path = tmp_path / "configs" / "tables.yaml"
    path.write_text(EXAMPLE)
    return path


@pytest.mark.slow
def test_the_example_runs(file, tmp_path, capsys):
    assert main(["campaign", str(file), "--output-dir", str(tmp_path / "out")]) == 0
    told = capsys.readouterr().out
    for word in ("Seconds, and memory of our search", "static bound", "10 best", "A*"):
        assert word in told


def test_what_is_wrong_with_it_is_told_as_the_page_says(file, capsys):
    broken = EXAMPLE.replace("{lower-bound: static}}", "{lower-bound: statik}}").replace("2GiB", "2 apples")
    broken = broken.replace("{method: astar, lower-bound: static}", "{method: bene, score: bdeu}")
    file.write_text(broken)
    with contextlib.chdir(file.parent):
        assert main(["campaign", "tables.yaml"]) == 30
    told = capsys.readouterr().err.splitlines()
    assert [line for line in BROKEN if line not in told] == []


def test_every_key_figure_and_mark_is_on_the_page():
    text = prose(PAGE)
    assert [key for key in Campaign.model_fields if f"`{key}`" not in text] == []
    assert [name for name in FIGURES if f"`{name}`" not in text] == []
    assert [mark for mark in MEANING if not re.search(rf"(^|[\s|,]){re.escape(mark)}[ ,:;|]", text)] == []


def test_every_campaign_of_the_source_is_on_the_page():
    text = prose(PAGE)
    assert [path.name for path in (ROOT / "configs").glob("*.yaml") if f"`{path.name}`" not in text] == []
