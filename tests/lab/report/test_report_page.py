"""The whole report: one page that needs nothing else, pictures or the reason why there are none, and all files."""

import html.parser
import re
import xml.etree.ElementTree as ElementTree

import pytest
from made_rows import row

from extbnsl.core.claims import TIME_LIMIT
from extbnsl.lab.campaign.rows import NO_RESULT, WAITING
from extbnsl.lab.campaign.spec import Campaign
from extbnsl.lab.report.campaign import page, report_on, text_of, write_report
from extbnsl.lab.report.plots import pictures_of

EVIL = "<script>alert('x')</script> & $\\frac$ 中"
pytestmark = pytest.mark.filterwarnings("error")  # users would see them
KINDS = ("bars", "cactus", "scaling", "layers")
VOID = {"meta", "br", "img", "link", "input"}


def campaign(**more):
    """A campaign with a table and all kinds of pictures."""
    plots = [{"title": f"{kind} {EVIL}", "kind": kind} for kind in KINDS]
    plots.append({"title": "by records", "kind": "scaling", "against": "records", "figure": "stats.$\\frac$"})
    return Campaign.model_validate({"title": EVIL, "data": ["a"], "plots": plots, **more})


def rows():
    return [
        row(0, EVIL, "m$", cost=3.0),
        row(1, "b", "m$", cost=4.0, status=TIME_LIMIT),
        row(2, "c", "n", status=NO_RESULT, message=f"It was {EVIL}."),
        row(3, "d", "n", status=WAITING),
        row(4, EVIL, "n", cost=3.5, stats={"seconds": 0.0}),
    ]


class Tags(html.parser.HTMLParser):
    """What a browser makes of a page: its tags, their attributes, and whether all are closed."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.open = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attributes]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attributes]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.slow
def test_the_page_is_one_sound_file_without_references_to_others():
    pytest.importorskip("matplotlib")
    text = page(report_on(campaign(), rows()))
    found = Tags(text)
    assert found.open == []
    assert not {"script", "link", "img", "iframe", "object"} & set(found.tags)
    assert found.tags.count("svg") == 5
    places = [value for name, value in found.attributes if name in ("src", "href", "xlink:href", "srcset", "data")]
    assert places
    assert all(value.startswith(("#", "runs/")) for value in places)
    assert "@import" not in text
    assert all(target.startswith("#") for target in re.findall(r"url\(['\"]?([^)]*)", text))


def test_failures_come_first_on_page_and_terminal_and_all_runs_have_a_link():
    report = report_on(campaign(plots=[]), rows())
    text = page(report)
    assert text.index("Failures") < text.index("All runs") < text.index("The run directories")
    assert text_of(report).index("Failures") < text_of(report).index("All runs")
    assert [f"runs/run-{number}.run/" in text for number in range(5)] == [True] * 5
    assert "5 runs: 2 optimal, 1 time limit, 1 failed, 1 waiting." in text


def test_without_failures_there_is_no_such_heading():
    assert "Failures" not in page(report_on(campaign(plots=[]), rows()[:2]))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("some", [[], rows()[2:4], rows()[:1], rows()])
def test_pictures_of_any_rows_are_sound(kind, some):
    pytest.importorskip("matplotlib")
    plots = [plot for plot in campaign().plots if plot.kind == kind]
    for picture in pictures_of(plots, some):
        ElementTree.fromstring(picture.svg)
        drawn = any(one.document for one in some) and picture.title != "by records"
        assert ("No run has the figure." in picture.svg) != drawn


@pytest.mark.slow
def test_pictures_are_the_same_each_time():
    pytest.importorskip("matplotlib")
    assert pictures_of(campaign().plots, rows()) == pictures_of(campaign().plots, rows())


def test_pictures_have_the_names_as_they_are():
    pytest.importorskip("matplotlib")
    (picture,) = pictures_of(campaign().plots[:1], rows())
    texts = {"".join(element.itertext()).strip() for element in ElementTree.fromstring(picture.svg).iter()}
    assert {EVIL, "m$", "n"} <= texts


def test_without_matplotlib_all_else_is_there_and_it_says_so(uninstalled, tmp_path):
    uninstalled("matplotlib")
    report = report_on(campaign(), rows())
    write_report(report, tmp_path)
    sentence = "The plots need matplotlib: pip install 'extbnsl[plot]'."
    assert sentence in text_of(report)
    assert sentence.replace("'", "&#x27;") in (tmp_path / "index.html").read_text()
    assert sentence.replace("[", "\\[").replace("]", "\\]") in (tmp_path / "tables/all.md").read_text()
    assert not list((tmp_path / "plots").iterdir())


def test_all_files_are_written_and_those_of_an_earlier_report_go(tmp_path):
    tables = [{"title": str(k), "columns": [{"label": "c", "figure": "cost"}]} for k in range(3)]
    write_report(report_on(campaign(plots=[], tables=tables), rows()), tmp_path)
    names = {f"table-{k}.{kind}" for k in (1, 2, 3) for kind in ("csv", "tex")} | {"all.md"}
    assert {path.name for path in (tmp_path / "tables").iterdir()} == names
    write_report(report_on(campaign(plots=[], tables=tables[:1]), rows()), tmp_path)
    assert {path.name for path in (tmp_path / "tables").iterdir()} == {"table-1.csv", "table-1.tex", "all.md"}
