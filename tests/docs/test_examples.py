"""The examples of the pages run as they stand, in the order of the page, beside the example data and campaigns."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest
from pages import PAGES, ROOT, blocks

# What is no command of this program, and so is not run.
OTHERS = ("pip", "pytest", "ruff", "dot", "python -m bench", "sphinx-build")
EXIT_CODE = re.compile(r"  # exit code (\d+)$")
VARYING = re.compile(r"\b\d[\d.]*([KMG]iB|B| s)\b|\b\d+:\d\d:\d\d\b")
PRINTED = re.compile(r"^print\(.*\)  # (.*)$", re.MULTILINE)

RUNNING = [page for page in PAGES if any(block.kind in ("bash", "console", "python") for block in blocks(page))]


def run_command(line, folder):
    """Run a line of a shell, which must end with the exit code that it names, else 0; what it wrote."""
    expected = EXIT_CODE.search(line)
    words = shlex.split(EXIT_CODE.sub("", line))
    assert words[0] == "extbnsl" or line.startswith(OTHERS), f"{line}: no command that is known"
    if words[0] != "extbnsl":
        return ""
    ended = subprocess.run(
        [sys.executable, "-m", "extbnsl", *words[1:]], cwd=folder, capture_output=True, text=True, check=False
    )
    assert ended.returncode == (int(expected[1]) if expected else 0), f"{line}\n{ended.stderr}"
    return ended.stderr + ended.stdout


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


@pytest.mark.parametrize("page", RUNNING, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_examples_run(page, tmp_path):
    for folder in ("examples", "configs"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    written = {}
    for block in blocks(page):
        if block.skipped:
            continue
        if block.kind == "python":
            run_python(block.text, tmp_path)
        for line in block.commands:
            if line not in written:
                written[line] = run_command(line, tmp_path)
            if block.kind == "console":
                check_shown(block, written[line])


@pytest.mark.slow
def test_the_first_run_takes_as_much_memory_as_the_readme_says(tmp_path):
    """Of the example of the README, with nothing compiled before."""
    least, most = re.search(r"(\d+) to (\d+) MB of memory", " ".join((ROOT / "README.md").read_text().split())).groups()
    subprocess.run(
        [sys.executable, "-m", "extbnsl", "solve", ROOT / "examples" / "wdbc.csv", "--run-dir", "r", "--quiet"],
        cwd=tmp_path,
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")},
        capture_output=True,
        check=True,
    )
    stats = json.loads((tmp_path / "r" / "result.json").read_text())["stats"]
    assert stats["stages"]["kernels"]["seconds"] > 1.0, "something was compiled"
    assert int(least) * 1e6 < stats["peak_rss_bytes"] < int(most) * 1e6
