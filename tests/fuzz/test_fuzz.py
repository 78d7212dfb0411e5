"""Some dozens of cases of the fuzzer, and the fuzzer itself: what it must find, and when it must give up."""

import json
import os
import shlex
import time
from dataclasses import dataclass, replace

import naive
import numpy as np
import pytest
from asking import k_best_networks, solve
from portions import is_thorough

from extbnsl.cli.parser import usage_error
from extbnsl.kbest.scope import Scope
from extbnsl.kernels.compiler import njit
from fuzz import truth
from fuzz.command import Campaign, keep, main
from fuzz.kinds import KINDS, Trial, trial_at, trial_from
from fuzz.rules import Violated, check_bounds, check_network, check_verified
from fuzz.score_checks import check_ranked, small_file
from fuzz.score_file import ScoreFile
from fuzz.shell import shell_line
from fuzz.shrinking import Shrinking
from fuzz.table import Table
from fuzz.watchdog import Failure, Watched, run_one

CASES, SEED = 150 if is_thorough() else 60, 20


@pytest.fixture
def watched():
    one = Watched()
    yield one
    one.end()


def hold(kinds, cases):
    said = []
    campaign = Campaign(SEED, kinds, out=said.append)
    campaign.run(1, cases=cases)
    assert not campaign.failures, "\n".join(said)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_cases_of_each_kind_hold(kind):
    """With NUMBA_BOUNDSCHECK=1 no kernel leaves its arrays either: what that compiles takes minutes."""
    shares = sum(one.share for one in KINDS.values())
    hold([kind], max(2, round(CASES * KINDS[kind].share / shares)))


def test_a_seed_gives_the_same_cases():
    for kind in KINDS:
        one, other = (trial_at(3, 17, [kind]).drawn() for _ in range(2))
        assert one == other
        assert one != trial_at(3, 18, [kind]).drawn()
        assert one != trial_at(4, 17, [kind]).drawn()
    among_all = trial_at(3, 17, list(KINDS))
    assert among_all.drawn() == trial_at(3, 17, [among_all.kind]).drawn()


def test_a_case_is_the_same_after_it_was_written():
    for kind in KINDS:
        trial = trial_at(1, 5, [kind]).drawn()
        assert trial_from(json.loads(json.dumps(trial.document()))) == trial


class Busy:
    """A task that takes as long as it can."""

    def run(self):
        while True:
            sum(range(1000))


class Dies:
    def run(self):
        os._exit(3)


class Greedy:
    """A task that takes all memory there is."""

    def run(self):
        held = []
        while True:
            held.append(np.ones(1 << 24))
            time.sleep(0.01)


class Idle:
    """A task that waits: no CPU seconds."""

    def run(self):
        time.sleep(3.0)


class Outside:
    """A task whose kernel reads behind its array."""

    def run(self):
        entry(np.zeros(3), 3)


@njit
def entry(values, place):
    return values[place]


class Wrong:
    def run(self):
        raise Violated("a rule", "does not hold")


@pytest.mark.slow
def test_the_watchdog_ends_what_takes_too_long_and_goes_on(watched):
    assert run_one(watched, Busy(), 1.0).failure.rule == "too long"
    assert run_one(watched, Dies(), 20.0).failure.rule == "died 3"
    assert run_one(watched, Wrong(), 20.0).failure == Failure("a rule", "does not hold")
    assert run_one(watched, Idle(), 2.0).failure is None  # seconds of CPU, not of the clock


@pytest.mark.slow
def test_the_watchdog_sees_who_leaves_his_array(monkeypatch):
    monkeypatch.setenv("NUMBA_BOUNDSCHECK", "1")
    watched = Watched()
    assert run_one(watched, Outside(), 20.0).failure.rule.startswith("IndexError")
    watched.end()


@pytest.mark.slow
def test_the_watchdog_ends_what_takes_too_much_memory(watched, monkeypatch):
    monkeypatch.setattr("fuzz.watchdog.MEMORY", 512 << 20)
    assert run_one(watched, Greedy(), 60.0).failure.rule == "too much memory"


@dataclass(frozen=True)
class Fussy(Trial):
    """A trial that fails if a child has a family of three parents that costs more than another of its families."""

    def run(self):
        for own in self.subject.families:
            if any(v.bit_count() == 3 and c > min(cost for _, cost in own) for v, c in own):
                raise Violated("dear", "")
        if self.subject.size == 0 or "seed" not in self.options:
            raise Violated("another rule", "")


@pytest.mark.slow
def test_what_fails_is_made_as_small_as_can_be(watched):
    rng = np.random.default_rng(5)
    families = [[(v, rng.normal()) for v in range(64) if not v >> x & 1] for x in range(6)]
    file = ScoreFile(tuple("abcdef"), tuple(map(tuple, families)))
    trial = Fussy("solve", 0, 0, file, {"seed": 1, "polish": True})
    small = Shrinking(watched, Failure("dear", ""), 20.0).smallest(trial)
    assert small.subject.variables == 4
    assert sorted(map(len, small.subject.families)) == [1, 1, 1, 2]
    assert {cost for own in small.subject.families for _, cost in own} == {0.0, 1.0}
    assert small.options == {}


@dataclass(frozen=True)
class Narrow(Trial):
    """A trial that fails if a column has three states."""

    def run(self):
        if max(len(set(column)) for column in zip(*self.subject.rows, strict=True)) >= 3:
            raise Violated("three", "")


@pytest.mark.slow
def test_data_are_made_small_too(watched):
    rows = tuple(map(tuple, np.random.default_rng(1).integers(5, 9, (40, 4)).tolist()))
    trial = Narrow("states", 0, 0, Table(tuple("abcd"), rows))
    small = Shrinking(watched, Failure("three", ""), 20.0).smallest(trial)
    assert (small.subject.variables, len(small.subject.rows)) == (1, 3)
    assert sorted(small.subject.rows) == [(0,), (1,), (2,)]


@pytest.mark.slow
def test_what_was_kept_is_repeated(tmp_path, capsys):
    trial = replace(trial_at(0, 1, ["solve"]).drawn(), options={"lower_bound": "none"})
    path, file = keep(tmp_path / "kept", trial, Failure("refused", "for the test"))
    assert file.read_text() == trial.subject.text()
    assert main(["--repeat", str(path)]) == 1
    assert f"FAILED {trial.name}: refused" in capsys.readouterr().out
    path.write_text(json.dumps(trial.document() | {"options": {}}))
    assert main(["--repeat", str(path)]) == 0


@pytest.mark.slow
def test_the_command_line_of_a_case_can_be_given():
    """Whatever its options, extbnsl knows them."""
    for kind in KINDS:
        for number in range(40):
            trial = trial_at(2, number, [kind]).drawn()
            line = shell_line(trial, f"x{trial.subject.ending}").partition("  (")[0]
            assert usage_error(shlex.split(line)[1:]) is None, line


@pytest.mark.slow
def test_the_command_counts_its_cases(capsys):
    assert main(["--cases", "4", "--kinds", "components", "--jobs", "2"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].split()[:2] == ["all", "4"]
    assert main(["--kinds", "none"]) == 2


# What the checks compare with, and that they notice what is wrong


@pytest.mark.parametrize("seed", range(8))
def test_the_dynamic_program_is_that_of_the_other_tests(seed):
    file = small_file(np.random.default_rng(seed), 8)
    table = file.table()
    assert truth.least_cost(table) == pytest.approx(naive.optimal_cost_dp(len(table), naive.best_scores(table)))


def test_all_networks_and_their_classes():
    for n, graphs, classes in ((1, 1, 1), (2, 3, 2), (3, 25, 11), (4, 543, 185)):
        table = np.where(np.arange(2**n) >> np.arange(n)[:, None] & 1, np.inf, 1.0)
        parents, costs = truth.networks(table)
        assert (len(parents), len(set(map(tuple, parents.tolist())))) == (graphs, graphs)
        assert set(costs.tolist()) == {float(n)}
        assert len(np.unique(truth.classes(parents))) == classes


@pytest.fixture
def solved():
    """A file of three variables, its result and the costs of the network's families."""
    families = (((0, 5.0), (2, 1.0)), ((0, 4.0), (1, 1.0), (4, 2.0)), ((0, 1.0), (3, 0.5)))
    file = ScoreFile(("a", "b", "c"), families)
    result = solve(file.scores())
    assert (result.status, result.cost) == ("optimal", 4.0)
    return file, result


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"cost": 3.5, "upper_bound": 3.5}, "cost said"),
        ({"upper_bound": 5.0}, "upper bound"),
        ({"lower_bound": 4.5}, "bounds"),
        ({"order": (0, 1, 1)}, "order"),
        ({"order": (0, 1, 2)}, "order"),
        ({"status": "perfect"}, "status"),
    ],
)
def test_a_false_result_is_noticed(solved, change, rule):
    file, result = solved
    costs = file.costs_of(result.network.parents)
    check_network(result, costs)
    with pytest.raises(Violated) as violated:
        check_network(replace(result, **change), costs)
    assert violated.value.rule == rule


def test_false_bounds_are_noticed(solved):
    file, result = solved
    costs, cheapest = file.costs_of(result.network.parents), file.cheapest()
    check_bounds(result, costs, 4.0, cheapest)
    for least, change, rule in (
        (3.9, {"lower_bound": 3.0}, "not optimal"),
        (4.1, {}, "cost below the least"),
        (3.9, {"status": "time_limit"}, "lower bound"),
        (4.0, {"lower_bound": 3.9}, "bounds apart"),
    ):
        with pytest.raises(Violated) as violated:
            check_bounds(replace(result, **change), costs, least, cheapest)
        assert violated.value.rule == rule


def test_a_false_certificate_is_noticed(solved):
    file, result = solved
    check_verified(result, file.scores())
    dearer = file.with_costs(lambda x, cost: cost + (0.5 if x == 2 else 0.0))
    with pytest.raises(Violated, match="digest"):
        check_verified(result, dearer.scores())


def test_a_list_that_lacks_a_network_is_noticed(solved):
    file, _ = solved
    scope = Scope(k=4)
    result = k_best_networks(file.scores(), scope)
    every = truth.networks(file.table())
    check_ranked(file, result, scope, *every)
    fewer = replace(result, networks=list(result.networks)[1:])
    with pytest.raises(Violated, match="not 8 to 8"):
        check_ranked(file, fewer, scope, *every)
