"""`extbnsl approximate` and `extbnsl.approximate`: what is printed and written, and what cannot be used."""

import contextlib
import json
import os
import signal
from pathlib import Path

import numpy as np
import pytest
from commands import a_table, fails, run
from patching import called_by, rounds_of_search, running_out, signalling

import extbnsl
from extbnsl.core.errors import InputError
from extbnsl.data.reading import read_csv
from extbnsl.verify.verdict import verify

TIME = ("--time", "2s")


@pytest.fixture(autouse=True)
def there(here):
    pass


def document(folder="data.run"):
    return json.loads((Path(folder) / "result.json").read_text())


def test_the_summary_and_the_files(capsys):
    code, out, err = run(capsys, "approximate", "data.csv", *TIME, "--threads", 1, "--seed", 3)
    assert code == 0, err
    found = document()
    assert (found["status"], found["order_optimal"], found["certificate"]) == ("heuristic", None, None)
    assert found["lower_bound"] <= found["cost"] == found["upper_bound"]
    assert found["cost"] == pytest.approx(extbnsl.learn(read_csv("data.csv"), threads=1).cost, rel=1e-9)
    assert verify(found, read_csv("data.csv")).findings == ()
    assert out.startswith("status       heuristic\n")
    assert all(len(line) <= 80 for line in (out + err).splitlines())
    assert {"result.json", "network.bif", "network.json", "network.dot"} <= set(os.listdir("data.run"))
    options = found["provenance"]["options"]
    assert (options["selection"], options["search"], options["seed"]) == ("auto", "memetic", 3)
    code, out, _ = run(capsys, "verify", "data.run", "data.csv")
    assert (code, "not checked  that every network costs as much as the lower bound" in " ".join(out.split())) == (
        11,
        False,
    )
    assert "\nstate        done: heuristic\n" in run(capsys, "status", "data.run")[1]


def test_the_line_of_exploration_tells_which_sets_are_counted(capsys):
    options = ("--selection", "independence", "--max-parents", 1, "--threads", 1)
    code, _, err = run(capsys, "approximate", "data.csv", *TIME, *options)
    assert code == 0, err
    words = " ".join(err.split())
    kept = document()["stats"]["parent_sets"]
    assert f"parents: 0 sets of two or more scored, {kept} of any size kept; all for 4 of 4 variables" in words


@pytest.mark.parametrize("name", ["own.jkl", "own.jaa"])
def test_local_scores_give_the_same_cost(capsys, name):
    assert run(capsys, "approximate", "data.csv", *TIME, "--quiet")[0] == 0
    assert run(capsys, "score", "data.csv", "-o", name, "--quiet")[0] == 0
    code, out, err = run(capsys, "approximate", name, *TIME, "--json", "--run-dir", "own")
    assert code == 0, err
    assert json.loads(out)["cost"] == pytest.approx(document()["cost"], rel=1e-6)


def test_local_scores_of_urlearning_are_read(capsys):
    Path("x.pss").write_text("VAR a\n-3 b\n-9\nVAR b\n-4 a\n-6\n")
    code, _, err = run(capsys, "approximate", "x.pss", *TIME)
    assert code == 0, err
    found = document("x.run")
    assert (found["cost"], found["lower_bound"], found["order"]) == (9.0, 9.0, ["b", "a"])


def test_a_signal_ends_it_with_the_best_network(capsys):
    with signalling("solver.approximate", "search_lists"):
        code, out, err = run(capsys, "approximate", "data.csv", "--time", "10m", "--quiet")
    assert code == 10, err
    assert document()["status"] == "interrupted"
    assert out.startswith("interrupted: cost ")
    assert verify(document(), read_csv("data.csv")).findings == ()


def killed_while_searching():
    """The command while whoever searches for an order is killed."""
    return running_out("solver.approximate", "_searched", KeyboardInterrupt())


def killed_before_its_result():
    """The command while it is killed when it is about to write its result."""
    return running_out("run.directory", "write_atomically", KeyboardInterrupt())


def test_a_run_that_was_killed_is_resumed_with_the_time_that_is_left(capsys):
    with killed_while_searching():
        assert run(capsys, "approximate", "data.csv", "--time", "9m", "--threads", 1, "--seed", 5)[0] == 130
    told = run(capsys, "status", "data.run")[1]
    assert "\ncontinue     extbnsl resume data.run\n" in told
    assert "\nleft         0:08:5" in told
    assert 500 < json.loads(run(capsys, "status", "data.run", "--json")[1])["seconds_left"] < 540
    code, out, err = run(capsys, "resume", "data.run")
    assert code == 0, err
    assert "resuming data.run: orders, after 0:00:0" in err
    assert "1 thread, " in err
    assert "time limit 0:08:5" in err
    found = document()
    assert (found["status"], found["provenance"]["options"]["seed"]) == ("heuristic", 5)
    assert out.startswith("status       heuristic\n")
    assert verify(found, read_csv("data.csv")).findings == ()
    assert "is finished; " in run(capsys, "resume", "data.run")[2]
    assert "\nleft " not in run(capsys, "status", "data.run")[1]
    assert "holds a run; go on with it by 'extbnsl resume data.run'" in fails(
        capsys, "approximate", "data.csv", "--run-dir", "data.run"
    )


def test_a_run_that_was_killed_before_its_result_was_written_has_it_all_the_same(capsys):
    with killed_before_its_result():
        assert run(capsys, "approximate", "data.csv", *TIME)[0] == 130
    assert not Path("data.run/result.json").exists()
    code, out, err = run(capsys, "resume", "data.run", "--json")
    assert code == 0, err
    assert json.loads(out) == document()
    assert document()["cost"] == pytest.approx(extbnsl.learn(read_csv("data.csv"), threads=1).cost, rel=1e-9)
    assert verify(document(), read_csv("data.csv")).findings == ()


def test_a_stopped_run_goes_on_for_a_time_that_is_given(capsys):
    with signalling("solver.approximate", "search_lists", signal.SIGTERM):
        code, out, _ = run(capsys, "approximate", "data.csv", "--time", "10m")
    assert (code, document()["status"]) == (10, "interrupted")
    assert "continue     extbnsl resume data.run\n" in out
    _, _, err = run(capsys, "approximate", "data.csv", *TIME)
    assert "data.run holds a stopped run of data.csv: 'extbnsl resume data.run' resumes it" in " ".join(err.split())
    code, _, err = run(capsys, "resume", "data.run", "--time-limit", "30s", "--threads", 2)
    assert (code, document()["status"]) == (0, "heuristic")
    assert "2 threads, " in err
    assert "time limit 0:00:30" in err


@contextlib.contextmanager
def searching(rounds):
    """The command while the search over orders has so many rounds, and nothing is proved."""
    unproved = called_by("solver.approximate", "_raise_bound", lambda real: lambda *given: None)
    with rounds_of_search(rounds), unproved:
        yield


@pytest.fixture
def wide():
    """A table of so many variables that a random network is no good one."""
    codes = np.random.default_rng(3).integers(0, 2, (100, 12)).cumsum(axis=1) // 2 % 2
    np.savetxt("data.csv", codes, fmt="%d", delimiter=",", header="abcdefghijkl".replace("", ",")[1:-1], comments="")


def test_a_finished_run_is_given_more_time(capsys, wide):
    with searching(0):
        assert run(capsys, "approximate", "data.csv", "--time", "20s", "--seed", 1)[0] == 0
    first = document()
    code, _, err = run(capsys, "resume", "data.run")
    assert (code, document()) == (0, first)
    assert err == "extbnsl: The run in data.run is finished; give it more time with --time-limit.\n"
    told = " ".join(run(capsys, "clean", "data.run")[1].split())
    assert "without these files more time has nothing to go on from" in told
    with searching(5):
        code, _, err = run(capsys, "resume", "data.run", "--time-limit", "30s")
    assert code == 0, err
    assert "resuming data.run: orders, after" in err
    assert "time limit 0:00:30" in err
    assert document()["cost"] < first["cost"]
    assert document()["lower_bound"] >= first["lower_bound"]
    assert document()["status"] == "heuristic"
    assert verify(document(), read_csv("data.csv")).findings == ()
    assert "give it more time" in run(capsys, "resume", "data.run")[2]
    assert "state        done: heuristic\n" in run(capsys, "status", "data.run")[1]
    best = document()
    with searching(0):
        code, _, err = run(capsys, "resume", "data.run", "--time-limit", "30s")
    assert (code, document()["cost"]) == (0, best["cost"]), err
    assert run(capsys, "clean", "data.run", "--yes")[0] == 0
    assert "finished; there is nothing left to do" in run(capsys, "resume", "data.run", "--time-limit", "9s")[2]


def test_more_time_that_is_killed_costs_nothing(capsys, wide):
    """While it works the run is one that goes on, and when it was killed before its result was written, that is."""
    with searching(0):
        assert run(capsys, "approximate", "data.csv", "--time", "20s", "--seed", 1)[0] == 0
    first = document()
    with killed_while_searching():
        assert run(capsys, "resume", "data.run", "--time-limit", "9m")[0] == 130
    assert "continue     extbnsl resume data.run\n" in run(capsys, "status", "data.run")[1]
    with killed_before_its_result():
        assert run(capsys, "resume", "data.run")[0] == 130
    assert document() == first
    code, _, err = run(capsys, "resume", "data.run")
    assert code == 0, err
    assert "resuming data.run: done" in err
    assert document()["cost"] < first["cost"]


def test_a_network_that_is_proved_to_be_a_best_one_needs_no_more_time(capsys):
    Path("x.jkl").write_text("1\na 1\n-1 0\n")
    assert run(capsys, "approximate", "x.jkl", *TIME)[0] == 0
    before = document("x.run")
    code, _, err = run(capsys, "resume", "x.run", "--time-limit", "9s")
    assert (code, err) == (0, "extbnsl: The run in x.run is finished; there is nothing left to do.\n")
    assert document("x.run") == before
    assert {path.suffix for path in Path("x.run").iterdir()} == {"", ".json", ".jsonl", ".log", ".dot"}


def test_bad_arguments_are_told_in_one_sentence(capsys):
    assert "'soon' is not a duration" in fails(capsys, "approximate", "data.csv", "--time", "soon")
    assert "did you mean memetic?" in fails(capsys, "approximate", "data.csv", "--search", "mimetic")
    assert "seed" in fails(capsys, "approximate", "data.csv", "--seed", 2**32, "--quiet")
    assert "none.csv" in fails(capsys, "approximate", "none.csv", "--quiet")
    Path("x.jkl").write_text("1\na 1\n-1 0\n")
    assert "is for data" in fails(capsys, "approximate", "x.jkl", "--missing", "drop", "--quiet")


def test_from_python():
    names = ["a", "b", "c", "d"]
    result = extbnsl.approximate(a_table(), time=2, names=names, threads=1)
    assert (result.status, result.optimal) == ("heuristic", False)
    assert result.cost == pytest.approx(extbnsl.learn(a_table(), names=names, threads=1).cost, rel=1e-9)
    assert extbnsl.approximate({"a": {(): 1.0}}, time="1s").cost == 1.0
    for given, words in (({"time": 0}, "time"), ({"search": "k2"}, "search: 'k2'"), ({"seed": -1}, "seed")):
        with pytest.raises(InputError, match=words):
            extbnsl.approximate(a_table(), names=names, **given)
