"""Other people's programs: what they get, what is made of what they give, and what they can do wrong.

GOBNILP, URLearning, BLIP and bene are stood in for by commands that talk as they do (fake_programs.py). The last test
is for the real programs and packages, where they are installed.
"""

import importlib.util
import json
import os
import time
from pathlib import Path

import naive
import numpy as np
import pytest
from asking import solve_by
from cases import dataset_of, random_dataset, random_families, scores_of
from fake_programs import COMMANDS, install
from portions import first
from processes import is_alive

import extbnsl
from extbnsl.cli import main
from extbnsl.core.claims import DISK_LIMIT, HEURISTIC, INTERRUPTED, MEMORY_LIMIT, OPTIMAL, TIME_LIMIT, Claim, tolerance
from extbnsl.core.errors import InputError, ProgramError
from extbnsl.lab.baselines.external import running
from extbnsl.lab.baselines.external.task import Program, network_of_parents
from extbnsl.lab.baselines.methods import EXTERNAL, BaselineMethods, methods_named
from extbnsl.lab.baselines.solving import DIALOGUES
from extbnsl.machine.budgets import Budgets
from extbnsl.proof.methods import Methods
from extbnsl.verify.verdict import verify

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "asia.csv"
PROGRAMS = list(COMMANDS)
TAKE_SCORES = [name for name in PROGRAMS if EXTERNAL[name].takes_scores]
PACKAGES = [name for name in EXTERNAL if name not in PROGRAMS]
BUDGETS = Budgets(memory=1 << 29, disk=1 << 28, threads=1)
NOBODY = Program("nobody", ("nobody",))


@pytest.fixture
def there(tmp_path, monkeypatch):
    """Puts a program that does something on PATH, where it is alone."""
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("FAKE_TELLS", str(tmp_path / "tells"))
    monkeypatch.delenv("BLIP_JAR", raising=False)
    return lambda name, does="right": install(folder, name, does)


def found(problem, name, claim=Claim(), budgets=BUDGETS, **how):
    return solve_by(problem, claim, BaselineMethods(name), budgets, **how)


def assert_best(result, problem, optimum, status):
    assert result.status == status
    assert abs(result.cost - optimum) <= 2 * tolerance(optimum)
    assert result.lower_bound <= result.cost
    verdict = verify(result.document(), problem)
    assert not verdict.findings


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("seed", range(3))
def test_data(there, name, seed):
    there(name)
    rng = np.random.default_rng(seed)
    data = random_dataset(rng, int(rng.integers(1, 7)), 90)
    limit = 1 if seed == 2 else None
    told = []
    result = found(data, name, Claim(max_parents=limit), observer=told.append)
    optimum = naive.optimal_cost(data.codes, data.arities, limit)
    assert_best(result, data, optimum, OPTIMAL if name == "gobnilp" else HEURISTIC)
    assert result.stats["method"] == result.stats["program"]["name"] == name
    assert result.stats["program"]["seconds"] > 0
    assert ("parent_sets" in result.stats) == EXTERNAL[name].takes_scores
    json.dumps(result.document())
    assert not result.warnings


@pytest.mark.parametrize("name", TAKE_SCORES)
def test_given_scores(there, name):
    there(name)
    for seed in range(2):
        families = random_families(np.random.default_rng(seed), 5)
        scores = scores_of(families)
        optimum = naive.optimal_cost_dp(5, naive.best_scores(naive.cost_table(5, families)))
        assert_best(found(scores, name), scores, optimum, OPTIMAL if name == "gobnilp" else HEURISTIC)


def test_programs_that_take_data_refuse_scores(there):
    there("bene")
    with pytest.raises(InputError, match="'bene' learns from data, and local scores are given"):
        found(scores_of(random_families(np.random.default_rng(0), 3)), "bene")


def test_a_family_that_cannot_win_costs_what_it_costs(there):
    """The fake gives all arcs, which no list of families that can win has."""
    there("bene", "more")
    data = random_dataset(np.random.default_rng(3), 5, 60)
    result = found(data, "bene")
    parents = [tuple(range(x)) for x in range(5)]
    assert result.network.parents == tuple(parents)
    assert result.cost == pytest.approx(naive.network_cost(data.codes, data.arities, parents))
    assert not verify(result.document(), data).findings


def test_more_parents_than_allowed(there):
    there("bene", "more")
    with pytest.raises(ProgramError, match="bene has given a variable 4 parents, and --max-parents is 2"):
        found(random_dataset(np.random.default_rng(3), 5, 60), "bene", Claim(max_parents=2))


def test_versions_are_told(there):
    there("gobnilp")
    program = found(dataset_of([[0, 1], [1, 0], [1, 1]]), "gobnilp").stats["program"]
    assert program["version"] == "GOBNILP 1.6.3, SCIP 3.2.1"
    assert program["says"] == "optimal solution found"


@pytest.mark.parametrize(("does", "status"), [("late", TIME_LIMIT), ("fewer", HEURISTIC)])
def test_optimal_is_what_gobnilp_says_of_all_families(there, does, status):
    there("gobnilp", does)
    data = random_dataset(np.random.default_rng(1), 4, 50)
    result = found(data, "gobnilp")
    assert result.status == status
    assert result.cost == pytest.approx(naive.optimal_cost(data.codes, data.arities))
    assert result.lower_bound < result.cost - 1e-6


@pytest.mark.parametrize("name", ["gobnilp", "urlearning"])
def test_another_problem_than_ours(there, name):
    there(name, "lie")
    with pytest.raises(ProgramError, match="it has solved another problem"):
        found(random_dataset(np.random.default_rng(1), 4, 50), name)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize(
    ("does", "sentence"),
    [
        ("crash", "was killed by signal 11; the last that it said is"),
        ("code", r"ended with code 1; the last that it said is 'no licence\?\[2J'"),
        ("cycle", "has given what is no network. The network has the cycle"),
        ("unknown", "rows for 4 variables|has given what is no network|has written what is no network"),
        ("garbage", "has written what is no network"),
        ("silent", "and said nothing"),
    ],
)
def test_failures_are_one_sentence(there, name, does, sentence):
    there(name, does)
    with pytest.raises(ProgramError, match=sentence) as raised:
        found(random_dataset(np.random.default_rng(2), 4, 50), name)
    assert str(raised.value).startswith(name)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(("does", "sentence"), [("binary", "that is no text"), ("large", "more than 64 MiB")])
def test_hostile_files(there, does, sentence):
    there("gobnilp", does)
    with pytest.raises(ProgramError, match=sentence):
        found(random_dataset(np.random.default_rng(2), 3, 50), "gobnilp")


@pytest.mark.parametrize("name", ["urlearning", "blip"])
def test_no_network(there, name):
    there(name, "late")
    with pytest.raises(ProgramError, match="no network; the last that it said is"):
        found(random_dataset(np.random.default_rng(2), 3, 50), name)


def test_much_is_said(there):
    there("gobnilp", "loud")
    data = random_dataset(np.random.default_rng(2), 4, 50)
    result = found(data, "gobnilp")
    assert result.cost == pytest.approx(naive.optimal_cost(data.codes, data.arities))


def assert_own_network(result, data, status):
    """That of a run whose program had none: honest, and it says so."""
    assert result.status == status
    assert "had no network when it was stopped: this one is extbnsl's own" in result.warnings[-1]
    assert not verify(result.document(), data).findings
    assert result.lower_bound <= naive.optimal_cost(data.codes, data.arities) + 1e-6


@pytest.mark.parametrize("name", first(1, PROGRAMS))
def test_a_program_that_hangs_ends_with_the_time(there, tmp_path, name):
    there(name, "hang")
    data = random_dataset(np.random.default_rng(2), 4, 50)
    assert_own_network(found(data, name, budgets=Budgets(1 << 29, 1 << 28, 1, time_limit=2.0)), data, TIME_LIMIT)
    assert not any(map(is_alive, map(int, (tmp_path / "tells").read_text().split())))


def test_a_stop_ends_the_program_and_what_it_began_within_a_second(there, tmp_path):
    there("gobnilp", "hang")
    tells, asked = tmp_path / "tells", []

    def stop():
        if not tells.exists() or not tells.read_text():
            return None
        asked.append(time.monotonic())
        return INTERRUPTED

    data = random_dataset(np.random.default_rng(2), 4, 50)
    result = found(data, "gobnilp", stop=stop)
    assert_own_network(result, data, INTERRUPTED)
    assert result.stats["program"]["seconds"] < 60
    assert not any(map(is_alive, map(int, tells.read_text().split())))
    assert running.GRACE_SECONDS < 1


def test_a_stop_before_the_program_begins(there):
    for name in ("gobnilp", "bene"):
        there(name)
        data = random_dataset(np.random.default_rng(2), 4, 50)
        assert_own_network(found(data, name, stop=lambda: INTERRUPTED), data, INTERRUPTED)


def test_memory(there):
    there("gobnilp", "memory")
    data = random_dataset(np.random.default_rng(2), 4, 50)
    assert_own_network(found(data, "gobnilp", budgets=Budgets(1 << 28, 1 << 28, 1)), data, MEMORY_LIMIT)


def test_disk(there):
    there("bene", "disk")
    data = random_dataset(np.random.default_rng(2), 4, 50)
    assert_own_network(found(data, "bene", budgets=Budgets(1 << 29, 1 << 24, 1)), data, DISK_LIMIT)


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_not_there_is_named(there, name):
    with pytest.raises(InputError, match=rf"method: '{name}' needs the command '{COMMANDS[name]}', which is not on"):
        found(dataset_of([[0], [1]]), name)


@pytest.mark.parametrize("name", PACKAGES)
def test_what_is_not_installed_is_named(monkeypatch, name):
    monkeypatch.setattr(importlib.util, "find_spec", lambda package: None)
    with pytest.raises(InputError, match=rf"needs the package {name}; install it: pip install {name}"):
        found(dataset_of([[0], [1]]), name)


def test_the_jar_file_of_blip(there, tmp_path, monkeypatch):
    monkeypatch.setenv("BLIP_JAR", str(tmp_path / "blip.jar"))
    with pytest.raises(InputError, match=r"BLIP_JAR: .*blip\.jar is not there"):
        found(dataset_of([[0], [1]]), "blip")
    (tmp_path / "blip.jar").write_text("")
    with pytest.raises(InputError, match="needs the command 'java'"):
        found(dataset_of([[0], [1]]), "blip")
    blip = there("blip")
    java = blip.with_name("java")
    java.write_text(f'#!/bin/sh\n[ "$2" = -jar ] && [ "$3" = {tmp_path}/blip.jar ] && shift 3 && exec {blip} "$@"\n')
    java.chmod(0o755)
    data = random_dataset(np.random.default_rng(2), 4, 50)
    result = found(data, "blip")
    assert result.cost == pytest.approx(naive.optimal_cost(data.codes, data.arities))


def test_many_variables_and_states(there):
    there("bene")
    with pytest.raises(InputError, match="'bene' is for 31 variables at most, and there are 32"):
        found(dataset_of(np.eye(3, 32, dtype=int)), "bene")
    with pytest.raises(InputError, match="takes 255 states at most, and a variable has 256"):
        found(dataset_of([[0], [1]], [256]), "bene")


@pytest.mark.parametrize("parents", [[[0]], [[-1]], [[1]], [[], [0, 0]]])
def test_what_is_no_network(parents):
    names = [f"v{i}" for i in range(len(parents))]
    with pytest.raises(ProgramError, match="nobody has given what is no network"):
        network_of_parents(NOBODY, names, parents, None)


@pytest.mark.parametrize("name", EXTERNAL)
def test_options_without_use_are_refused(name):
    with pytest.raises(InputError, match=f"lower_bound: the method '{name}' has no use for it"):
        methods_named(name, Methods(lower_bound="static"))


def test_commands(there, here, capsys):
    arguments = ["solve", str(EXAMPLE), "--method", "gobnilp", "--threads", "1", "--quiet", "--run-dir"]
    assert main([*arguments, "a"]) == 30
    assert "needs the command 'gobnilp'" in capsys.readouterr().err
    there("gobnilp", "crash")
    assert main([*arguments, "b"]) == 32
    assert "was killed by signal 11" in capsys.readouterr().err
    assert json.loads(Path("b/status.json").read_text())["ended"].startswith("failed: gobnilp was killed")
    assert not [name for name in os.listdir("b") if name.startswith("program-")]


def is_there(name):
    try:
        DIALOGUES[name].locate()
    except InputError:
        return False
    return True


def real(name):
    return pytest.param(name, marks=pytest.mark.skipif(not is_there(name), reason=f"{name} is not on this machine"))


@pytest.mark.parametrize("name", [real(name) for name in EXTERNAL])
def test_real_programs(name):
    """A network whose cost is that of the definition, with a limit of parents too."""
    rng = np.random.default_rng(4)
    data = random_dataset(rng, 5, 200)
    for limit in (None, 1):
        result = found(data, name, Claim(max_parents=limit), Budgets(threads=1))
        assert result.status in (HEURISTIC, OPTIMAL)
        assert result.cost == pytest.approx(naive.network_cost(data.codes, data.arities, result.network.parents))
        assert result.cost >= naive.optimal_cost(data.codes, data.arities, limit) - 1e-6
        assert not verify(result.document(), data).findings
        assert result.stats["program"]["version"] or name in PROGRAMS
    assert extbnsl.learn(data, method=name).network == found(data, name, budgets=Budgets(threads=1)).network
