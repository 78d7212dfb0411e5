"""The examples of the pages run as they stand, in the order of the page, beside the example data and campaigns."""

import re
import shlex
import shutil
import subprocess
import sys

import pytest
from pages import PAGES, ROOT, blocks

from extbnsl.cli import main

# What is no command of this program, and so is not run.
OTHERS = ("pip", "pytest", "ruff", "dot", "python -m bench", "sphinx-build")
EXIT_CODE = re.compile(r"  # exit code (\d+)$")
VARYING = re.compile(r"\b\d[\d.]*([KMG]iB|B| s)\b|\b\d+:\d\d:\d\d\b")
PRINTED = re.compile(r"^print\(.*\)  # (.*)$", re.MULTILINE)

RUNNING = [page for page in PAGES if any(block.kind in ("bash", "console", "python") for block in blocks(page))]


def run_command(line, capsys):
    """Run a line of a shell, which must end with the exit code that it names, else 0; what it wrote."""
    expected = EXIT_CODE.search(line)
    words = shlex.split(EXIT_CODE.sub("", line))
    assert line.startswith(("extbnsl ", *OTHERS)), f"{line}: no command that is known"
    if words[0] != "extbnsl":
        return ""
    try:
        code = main(words[1:])
    except SystemExit as end:
        code = end.code or 0
    out, err = capsys.readouterr()
    assert code == (int(expected[1]) if expected else 0), f"{line}\n{err}"
    return err + out


def steady(text):
    """The lines of a text without what differs from run to run: seconds, sizes, and blanks that follow from them."""
    return [" ".join(VARYING.sub("#", line).split()) for line in text.splitlines()]


def check_shown(block, written):
    """What a block shows of a run below its last '...' must be what the run writes."""
    shown = block.text.rpartition("...\n")[2].rpartition("$ ")[2]
    assert [line for line in steady(shown) if line not in steady(written)] == [], "the page shows another run"


def run_python(text, folder):
    """Run a block of Python; it must print what its comments say."""
    ended = subprocess.run([sys.executable, "-c", text], cwd=folder, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    printed = ended.stdout.splitlines()
    for wanted in PRINTED.findall(text):
        assert wanted in printed


@pytest.mark.slow
@pytest.mark.parametrize("page", RUNNING, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_examples_run(page, here, capsys):
    for folder in ("examples", "configs"):
        shutil.copytree(ROOT / folder, here / folder)
    written = {}
    for block in blocks(page):
        if block.skipped:
            continue
        if block.kind == "python":
            run_python(block.text, here)
        for line in block.commands:
            if line not in written:
                written[line] = run_command(line, capsys)
            if block.kind == "console":
                check_shown(block, written[line])
