"""Fixtures of campaigns."""

import pretended
import pytest

from extbnsl.cli import main
from extbnsl.lab.campaign.one_run import Place


@pytest.fixture(scope="session")
def template(tmp_path_factory):
    """The run directory of a real run."""
    folder = tmp_path_factory.mktemp("template") / "asia.run"
    assert (
        main(["solve", str(pretended.EXAMPLES / "asia.csv"), "--run-dir", str(folder), "--quiet", "--threads", "1"])
        == 0
    )
    return folder


@pytest.fixture
def run(capsys):
    """Runs `extbnsl campaign` in this process; the exit code, standard output and standard error."""

    def run(*arguments):
        try:
            code = main(["campaign", *map(str, arguments)])
        except SystemExit as end:
            code = end.code
        told = capsys.readouterr()
        return code, told.out, told.err

    return run


@pytest.fixture
def pretend(run, here, template, monkeypatch):
    """Runs a campaign of pretended runs; see `pretended`."""
    monkeypatch.setattr(Place.__init__, "__defaults__", (pretended.program(template),))
    return run
