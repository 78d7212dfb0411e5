"""The site of the documentation: it builds without a warning, needs nothing from outside, and compiles nothing."""

import os
import re
import subprocess
import sys

import pytest
from pages import ROOT

import extbnsl
from extbnsl.cli.parser import command_parser

# Elements that a browser fetches by itself; the href of an <a> it does not.
FETCHED = re.compile(
    r"<(?:script|img|iframe|source|object)\b[^>]*\b(?:src|data)=\"https?:|<link\b[^>]*\bhref=\"https?:"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site, made with an empty cache of compiled code; skips where Sphinx is not installed."""
    for name in ("sphinx", "myst_parser", "furo", "numpydoc"):
        pytest.importorskip(name, reason=f"the site needs {name}: pip install '.[docs]'")
    made, cache = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("cache")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-E", "-b", "html", "docs", str(made)]
    env = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=env)
    assert ended.returncode == 0, ended.stderr
    assert not list(cache.rglob("*.nb?")), "autodoc has compiled kernels"
    return made


def test_every_page_is_there(site):
    pages = {path.stem for path in (ROOT / "docs").glob("*.md")}
    assert {path.stem for path in site.glob("*.html")} >= pages


def test_a_browser_fetches_nothing_from_outside(site):
    for page in site.glob("*.html"):
        assert FETCHED.findall(page.read_text()) == [], page.name
    for style in site.rglob("*.css"):
        assert re.findall(r"url\(['\"]?https?:|@import", style.read_text()) == [], style.name


def test_pages_from_outside_have_their_text_and_links_to_them_lead_there(site):
    assert "Add a score" in (site / "contributing.html").read_text()
    assert 'href="examples.html#sources-and-licences"' in (site / "references.html").read_text()


def test_the_help_of_every_command_is_there(site):
    text = (site / "commands.html").read_text()
    (commands,) = (one for one in command_parser()._actions if isinstance(one.choices, dict))
    assert [name for name in commands.choices if f'id="command-{name}"' not in text] == []
    assert "usage: extbnsl solve" in text


def test_everything_public_is_described(site):
    text = (site / "api.html").read_text()
    public = [name for name in extbnsl.__all__ if not name.startswith("_")]
    assert [name for name in public if f'id="extbnsl.{name}"' not in text] == []
    assert re.findall(r"system-message|problematic", text) == []
