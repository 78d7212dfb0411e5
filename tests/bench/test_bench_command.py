"""`python -m bench`: names, the table, what is saved, what is slower; and `python -m bench.resumed`."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bench import __main__ as command
from bench import resumed
from bench.__main__ import main
from bench.ratios import FACTOR, read_ratios, save_ratios, slower
from bench.timing import Timing
from bench.work import Benchmark, Work

ASIA = Path(__file__).parents[2] / "examples" / "asia.csv"
NAMES = ("search.expand", "search.expand/rows", "orders.search.climb", "scores.count")


@pytest.fixture
def table(monkeypatch):
    """A pretended table of benchmarks: the ratios that they will have, one after the other."""
    ratios = {name: [] for name in NAMES}

    def prepare(name):
        return lambda tiny: Work(name, [], 1)

    def pretended(work, repeats):
        left = ratios[work.kernel]
        return Timing(2.0 * left[0], 2.0) if len(left) == 1 else Timing(2.0 * left.pop(0), 2.0)

    monkeypatch.setattr(command, "BENCHMARKS", tuple(Benchmark(name, "step", prepare(name)) for name in NAMES))
    monkeypatch.setattr(command, "timed", pretended)
    for name in NAMES:
        ratios[name].append(10.0)
    return ratios


@pytest.fixture
def file(tmp_path):
    """Ratios that are all 10."""
    path = tmp_path / "ratios.json"
    path.write_text(json.dumps(dict.fromkeys(NAMES, 10.0)))
    return path


def rows(text):
    """The rows of a printed table, by their names."""
    return {line.split()[0]: line.split()[1:] for line in text.splitlines() if line.startswith(NAMES)}


def test_the_table_has_units_nanoseconds_and_ratios(table, capsys):
    table["scores.count"][:] = [1234.5678]
    assert main([]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0].split() == ["kernel", "unit", "ns", "ratio"]
    assert rows(out) == {name: ["step", "20", "10"] for name in NAMES[:3]} | {
        "scores.count": ["step", "2,469", "1,235"]
    }


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        ([], NAMES),
        (["search.expand"], NAMES[:2]),
        (["search"], NAMES[:2]),
        (["climb"], NAMES[2:3]),
        (["expand/rows", "scores"], (NAMES[1], NAMES[3])),
        (["scores", "search", "search.expand"], (NAMES[0], NAMES[1], NAMES[3])),
    ],
)
def test_names_choose_by_their_beginning_or_else_by_a_part(table, capsys, names, chosen):
    assert main(["--list", *names]) == 0
    assert capsys.readouterr().out.split() == list(chosen)
    assert main(names) == 0
    assert list(rows(capsys.readouterr().out)) == list(chosen)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["scores", "serch.expand"], "no benchmark has 'serch.expand' in its name; did you mean search.expand?"),
        (["xyz"], "no benchmark has 'xyz' in its name; see --list."),
        (["--compare", "--ratios", "none.json"], "there is no file none.json to compare with; --save writes one."),
    ],
)
def test_what_is_not_there_is_told_in_a_sentence(table, capsys, arguments, told):
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", f"bench: {told}\n")


def test_saved_ratios_are_sorted_and_short_and_others_stay(table, file):
    file.write_text(json.dumps({"search.expand/rows": 7.0, "of.old": 3.0}))
    table["search.expand"][:], table["scores.count"][:] = [0.123456], [98765.4]
    assert main(["search.expand", "scores", "--save", "--ratios", str(file)]) == 0
    assert list(read_ratios(file).items()) == [
        ("scores.count", 98800.0),
        ("search.expand", 0.123),
        ("search.expand/rows", 10.0),
    ]
    table["scores.count"][:] = [5.0]
    assert main(["scores", "--save", "--ratios", str(file)]) == 0
    assert read_ratios(file) == {"scores.count": 5.0, "search.expand": 0.123, "search.expand/rows": 10.0}


def test_nothing_is_saved_unasked(table, file):
    before = file.read_text()
    assert main(["--compare", "--ratios", str(file)]) == 0
    assert file.read_text() == before


def test_a_comparison_shows_what_was_and_the_quotient(table, file, capsys):
    table["search.expand"][:] = [12.0]
    save_ratios({}, NAMES[:3], file)
    assert main(["--compare", "--ratios", str(file)]) == 0
    found = rows(capsys.readouterr().out)
    assert found["search.expand"] == ["step", "24", "12", "10", "1.20"]
    assert found["scores.count"] == ["step", "20", "10"], "it is new"


@pytest.mark.parametrize(("times", "code"), [(0.9 * FACTOR, 0), (2 * FACTOR, 1)])
def test_a_kernel_that_is_slower_by_the_factor_fails(table, file, capsys, times, code):
    table["orders.search.climb"][:] = [10.0 * times]
    assert main(["--compare", "--ratios", str(file)]) == code
    last = capsys.readouterr().out.splitlines()[-1]
    assert (last == f"More than {FACTOR} times as slow as it was: orders.search.climb.") == bool(code)
    assert main(["orders", "--ratios", str(file)]) == 0, "nothing is compared unasked"


def test_what_seems_slower_is_measured_again(table, file, capsys):
    """Once a disturbance of all, then of one still; the better figure is that which is saved."""
    for name in NAMES:
        table[name][:] = [30.0, 11.0]
    table["search.expand"][:] = [30.0, 40.0, 12.0]
    assert main(["--compare", "--save", "--ratios", str(file)]) == 0
    assert read_ratios(file) == dict.fromkeys(NAMES, 11.0) | {"search.expand": 12.0}
    assert capsys.readouterr().out.count("Once more:") == 2
    table["search.expand"][:] = [30.0, 40.0, 35.0, 12.0]
    assert main(["--compare", "--ratios", str(file)]) == 1


def test_slower_is_beyond_the_factor_and_known():
    assert slower({"a": 20.0, "b": 20.1, "new": 1e9}, {"a": 10.0, "b": 10.0, "gone": 1.0}, 2.0) == ["b"]
    assert slower({"a": 10.0}, {"a": 10.0}, 1.0) == []


class FakeProcess:
    """In place of the sessions of a run: each writes a checkpoint, and the last one a result."""

    seen, codes, run = [], [], None

    def __init__(self, command, stdout):
        self.command = command[3:-1]
        self.seen.append(self.command)
        if not self.run.exists():
            self.run.mkdir()
        self.sent = None

    def wait(self, timeout=None):
        code = self.codes[0]
        if timeout is not None and self.sent is None and code < 0:
            raise subprocess.TimeoutExpired("", timeout)
        self.codes.pop(0)
        if code != -signal.SIGTERM:
            (self.run / "manifest.json").touch()
        if code == 0:
            (self.run / "result.json").write_text(json.dumps({"status": "optimal", "cost": 1.5}))
        return code

    def send_signal(self, number):
        self.sent = number
        assert -number == self.codes[0]


@pytest.fixture
def sessions(tmp_path, monkeypatch):
    monkeypatch.setattr(subprocess, "Popen", FakeProcess)
    monkeypatch.setattr(FakeProcess, "run", tmp_path / "run")
    monkeypatch.setattr(FakeProcess, "seen", [])
    return FakeProcess


def test_a_run_is_gone_on_with_until_it_ends(sessions, tmp_path):
    run = tmp_path / "run"
    sessions.codes = [10, 10, 0]
    whole = resumed.whole(["solve", "data"], run, resumed.Ends("limit", 60.0))
    assert (whole.sessions, whole.status, whole.cost) == (3, "optimal", 1.5)
    limit = ["--time-limit", "60.0s"]
    assert sessions.seen == [["solve", "data", "--run-dir", str(run), *limit], *[["resume", str(run), *limit]] * 2]


def test_without_a_checkpoint_it_begins_again(sessions, tmp_path):
    run = tmp_path / "run"
    sessions.codes = [-signal.SIGTERM, 0]
    assert resumed.whole(["solve", "data"], run, resumed.Ends("term", 1.0)).sessions == 2
    assert sessions.seen[1] == ["solve", "data", "--run-dir", str(run), "--overwrite"]


def test_a_killed_run_is_resumed(sessions, tmp_path):
    run = tmp_path / "run"
    sessions.codes = [-signal.SIGKILL, -signal.SIGKILL, 0]
    assert resumed.whole(["solve", "data"], run, resumed.Ends("kill", 1.0)).sessions == 3
    assert sessions.seen[1:] == [["resume", str(run)]] * 2


def test_it_fails_where_the_ends_differ(monkeypatch, capsys):
    ends = iter([("optimal", 2.0)] * 2 + [("optimal", 2.0 + 1e-6)])
    monkeypatch.setattr(resumed, "whole", lambda *_: resumed.Whole(2, 3.0, 0.25, *next(ends)))
    assert resumed.main(["data.csv", "--by", "term"]) == 1
    assert "At most 0.25 s from a signal to the end of the process." in capsys.readouterr().out


@pytest.mark.slow
def test_a_real_run_ends_as_it_does_when_left_alone(capsys):
    assert resumed.main([str(ASIA), "--every", "60s", "--solving", "--threads 1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["left", "in"]
    assert lines[1].endswith("times")


def test_a_duration_that_is_none_is_told(capsys):
    with pytest.raises(SystemExit) as ended:
        resumed.main(["data.csv", "--every", "soon"])
    assert ended.value.code == 2
    assert "'soon' is not a duration" in capsys.readouterr().err


@pytest.mark.slow
def test_the_module_runs():
    done = subprocess.run([sys.executable, "-m", "bench", "--list", "kernels"], capture_output=True, text=True)
    assert done.stdout.split() == ["kernels.bits", "kernels.ranks", "kernels.random"]
