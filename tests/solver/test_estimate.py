"""Estimates: exact where the whole search was seen, honest where it was not, and nothing is written."""

import json
import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cases import dataset_of, random_dataset, scores_of, wishful
from flat import estimate, solve
from patching import in_place_of
from portions import first

from extbnsl.cli import main
from extbnsl.cli.outlook import advice, document, format_span, lines, warnings
from extbnsl.core.errors import InputError
from extbnsl.core.events import LayerEnded, StageAdvanced, StageStarted
from extbnsl.core.figures import WIDTH
from extbnsl.core.version import __version__
from extbnsl.data.reading import read_csv
from extbnsl.machine.budgets import Granted
from extbnsl.scores.local import local_scores
from extbnsl.search.forecast import forecast
from extbnsl.solver.needs import TIME_DOUBT, Counting, Estimate, Trial

STATIC = ("--lower-bound", "static", "--no-path-extension")
FULL = {"lower_bound": "static", "path_extension": False}
MEGABYTE = 1 << 20


@pytest.fixture(scope="module")
def wide():
    """Data whose search, of a single component, has some hundred thousand nodes."""
    whole = read_csv(Path(__file__).parents[2] / "examples" / "wdbc.csv")
    return dataset_of(whole.codes[:, :19], whole.arities[:19])


def stopped_at(problem, reached, **options):
    """The estimate when a stop comes with the first event that `reached` says yes to."""
    seen = []

    def observe(event):
        if reached(event):
            seen.append(event)

    return estimate(problem, threads=1, observer=observe, stop=lambda: "interrupted" if seen else None, **options)


@pytest.mark.parametrize("options", [{}, FULL, {"lower_bound": "static"}, {"max_parents": 1}])
@pytest.mark.parametrize("seed", range(3))
def test_what_was_seen_to_the_end_is_what_solve_then_does(options, seed):
    dataset = random_dataset(np.random.default_rng(seed), 11, 100)
    found = estimate(dataset, threads=1, **options)
    stats = solve(dataset, threads=1, **options).stats
    forecasts = [trial.forecast for trial in found.trials if trial.forecast is not None]
    assert found.complete
    assert found.doubt == 1.0
    assert found.counting.varsets == stats["varsets_counted"]
    assert found.counting.families == stats["parent_sets"]
    assert [trial.variables for trial in found.trials] == stats["components"]
    assert sum(f.nodes.sum() for f in forecasts) == stats["nodes_kept"]
    assert sum(f.edges.sum() for f in forecasts) == stats["nodes_generated"]
    assert max((f.nodes.max() for f in forecasts), default=0) == stats["peak_layer"]
    assert found.disk == stats["peak_disk_bytes"] == 0
    assert found.time_range == pytest.approx((found.time / TIME_DOUBT, found.time * TIME_DOUBT))


@pytest.mark.slow
@pytest.mark.parametrize("polish", first(2, [None, True, False]))
def test_what_would_be_large_is_polished_first(thorough, polish, calls):
    """Children that want many parents: a solve closes the gap at the root then, and the estimate knows."""
    done = calls("bounds.lp.polish", "polished")
    problem = scores_of(wishful(4))
    found = estimate(problem, threads=1, polish=polish)
    assert bool(done) == (polish is not False)
    assert found.complete
    best = solve(problem, threads=1).cost
    assert max(trial.lower_bound for trial in found.trials) <= best + 1e-9


@pytest.mark.slow
def test_memory_and_disk_are_what_solve_then_takes():
    whole = read_csv(Path(__file__).parents[2] / "examples" / "wdbc.csv")
    wide = dataset_of(whole.codes[:, :21], whole.arities[:21])  # whose layers outgrow the least memory by far
    found = estimate(wide, threads=1, **FULL)
    (trial,) = found.trials
    little, ample = (Granted(memory, 1 << 40, 1, None) for memory in (least_of(trial), trial.memory(1)))
    assert not trial.fits(little)
    assert trial.fits(ample)
    taken = {}
    for granted in (little, ample):
        result = solve(wide, threads=1, memory=granted.memory, **FULL)
        assert result.status == "optimal"
        taken[granted] = result.stats["peak_disk_bytes"]
    assert 0.6 * trial.disk(little) <= taken[little] <= trial.disk(little)
    assert taken[ample] == trial.disk(ample) == 0
    assert solve(wide, threads=1, memory=least_of(trial) - 1, **FULL).status == "memory_limit"
    assert solve(wide, threads=1, memory=little.memory, disk=0, **FULL).status == "memory_limit"


def least_of(trial):
    """The least memory of a search with the static bound and one thread."""
    return trial.fixed + 3 * MEGABYTE


def test_a_search_that_outgrows_the_memory_is_guessed(wide):
    exact = estimate(wide, threads=1, **FULL)
    guess = estimate(wide, threads=1, memory=exact.trials[0].fixed + 3 * MEGABYTE, **FULL)
    (trial,) = guess.trials
    assert not trial.forecast.complete
    assert 1.0 < guess.doubt < 4.0
    assert guess.time_range[0] < guess.time < guess.time_range[1]
    nodes, edges = exact.trials[0].forecast.nodes.sum(), exact.trials[0].forecast.edges.sum()
    assert nodes / 2 < trial.forecast.nodes.sum() < nodes * 2
    assert edges / 2 < trial.forecast.edges.sum() < edges * 2
    assert exact.memory / 2 < guess.memory < exact.memory * 2
    assert guess.disk > 0


def test_a_stop_while_scores_are_counted_tells_how_far_they_are(wide):
    at_once = stopped_at(wide, lambda event: isinstance(event, StageStarted))
    assert not at_once.complete
    assert at_once.counting.seconds_left == float("inf")
    later = stopped_at(wide, lambda event: isinstance(event, StageAdvanced) and event.level == 2)
    assert later.stopped == "interrupted"
    assert later.counting.judged == 2
    assert later.counting.limit >= 4
    assert 0 < later.counting.seconds_left < float("inf")
    for found in (at_once, later):
        assert found.trials == ()
        assert "longer --effort" in advice(found)
        assert len(warnings(found)) == 1
        shown = document(found)
        assert shown["seconds"] is shown["disk_bytes"] is None
        least, most = shown["seconds_range"]
        assert found.seconds / TIME_DOUBT == least < most
        assert shown["disk_bytes_range"] == (0.0, found.budgets.disk)
        assert shown["memory_bytes_range"] == (found.least_memory, found.budgets.memory)
        assert [line.split()[0] for line in lines(found) if line[0] != " "][:4] == ["scores", "memory", "disk", "time"]


def test_a_stop_before_there_is_a_bound_leaves_the_search_unknown(wide):
    found = stopped_at(wide, lambda event: isinstance(event, StageStarted) and event.stage == "bounds")
    (trial,) = found.trials
    assert trial.forecast is None
    assert not found.complete
    assert "before it had a bound" in warnings(found)[0]
    assert "longer --effort" in advice(found)


def test_a_stop_after_one_layer_leaves_the_search_unknown(wide):
    found = stopped_at(wide, lambda event: isinstance(event, LayerEnded) and event.layer == 0)
    assert "before enough layers" in warnings(found)[0]
    assert not found.complete
    assert lines(found)[1].split()[-4:] == ["-", "-", "-", "-"]
    least, most = found.time_range
    assert most > least + 19 * 2**18 * 1e-9  # every varset may be a node


def test_a_stop_after_two_layers_is_a_guess_of_much_doubt(wide):
    exact = estimate(wide, threads=1, **FULL)
    found = stopped_at(wide, lambda event: isinstance(event, LayerEnded) and event.layer == 2, **FULL)
    assert found.complete
    (guess,), (seen,) = found.trials, exact.trials
    assert found.doubt > 10
    nodes, doubt = guess.forecast.nodes.sum(), found.doubt
    assert nodes / doubt <= seen.forecast.nodes.sum() <= nodes * doubt


def test_a_component_that_is_too_large_is_said_to_be():
    n, random = 66, np.random.default_rng(1)
    pairs = []
    for x in range(n):  # any other variable, at random costs: bounds alone need more than a minute, if they do it
        others = [y for y in range(n) if y != x]
        chosen = [random.choice(others, 3, replace=False) for _ in range(10)]
        varsets = [[sum(1 << int(y) % 64 for y in p if y // 64 == word) for word in (0, 1)] for p in chosen]
        costs = np.append(3.0, 1 + random.random(len(chosen)))
        pairs.append((np.array([[0, 0], *varsets], np.uint64), costs))
    found = estimate(local_scores([f"v{x}" for x in range(n)], pairs, "file"), threads=1, effort=0.5)
    assert not found.complete
    assert warnings(found) == ["Component 1, of 66 variables: more than 64 variables are not searched."]
    assert "maybe no proof" in advice(found)


def guessed(budgets):
    """An estimate of a search of 30 variables whose first layers are known."""
    kept = [1, 30, 435, 4000, 25_000, 110_000, 350_000]
    edges = [count * (30 - size) for size, count in enumerate(kept[:-1])]
    trial = Trial(
        30, 500, 110.0, 100.0, "", forecast(kept, edges, 30), 10 * MEGABYTE, 14 * MEGABYTE, 13.0, 50.0, seconds=1.0
    )
    return Estimate(budgets, Counting(1000, 500, 2.0), (trial,), 3.0, None)


@pytest.fixture
def machine(until_it_ends):
    """A function that sets what the machine has of memory and what is free on its disk."""

    def has(memory, disk):
        until_it_ends(in_place_of)("machine.budgets", "machine_memory", lambda real: lambda: memory)
        until_it_ends(in_place_of)("machine.budgets", "free_disk", lambda real: lambda folder: disk)

    has(1 << 50, 1 << 50)
    return has


@pytest.mark.parametrize("granted", [Granted(1 << 50, 1 << 50, 1, None), Granted(64 * MEGABYTE, MEGABYTE, 2, 60.0)])
def test_what_is_told_fits_a_terminal(machine, granted):
    machine(8 << 30, 1 << 30)
    found = guessed(granted)
    large = replace(found, trials=(replace(found.trials[0], families=9_876_543, lower_bound=0.0),))
    shown = "\n".join(lines(large)).splitlines()
    assert shown[0].split()[:2] == ["component", "variables"]
    assert max(map(len, shown)) <= WIDTH
    assert "sets of variables counted" in " ".join(shown)
    assert any(line.startswith("memory ") for line in shown)


def test_what_is_granted_but_not_there_is_told(machine):
    found = guessed(Granted(1 << 50, 1 << 50, 1, None))
    machine(MEGABYTE, MEGABYTE)
    told = " ".join(" ".join(lines(found)).split())
    assert "--memory grants 1024.0TiB (the machine has 1.0MiB)" in told
    assert warnings(found)[0].endswith("of memory, and the machine has 1.0MiB.")
    assert advice(found) == "Give a --memory that the machine has: less than 1.0MiB."
    spilling = guessed(Granted(64 * MEGABYTE, 1 << 50, 1, None))
    machine(1 << 50, MEGABYTE)
    assert "--disk grants 1024.0TiB (1.0MiB are free)" in " ".join(" ".join(lines(spilling)).split())
    assert warnings(spilling)[0].endswith("and 1.0MiB of disk are free.")


def test_the_last_row_of_a_trial_is_written(here, capsys):
    example = Path(__file__).parents[2] / "examples" / "wdbc.csv"
    assert main(["estimate", str(example), "--columns", ",".join(read_csv(example).names[:12]), *STATIC]) == 0
    assert re.search(r"^[ SC*]{3} +11/12 ", capsys.readouterr().err, re.MULTILINE)


def test_budgets_that_will_not_do_are_warned_of(machine):
    ample = Granted(1 << 50, 1 << 50, 1, None)
    found = guessed(ample)
    assert warnings(found) == []
    assert advice(found) == "The budgets will do, and all layers stay in memory."
    assert any("perhaps" in line for line in lines(found))
    spilling = guessed(Granted(64 * MEGABYTE, 1 << 50, 1, None))
    assert warnings(spilling) == []
    assert "would keep all layers in memory" in advice(spilling)
    small_disk = guessed(Granted(64 * MEGABYTE, int(spilling.disk * 1.01), 1, None))
    assert "perhaps" in warnings(small_disk)[0]
    assert advice(small_disk).startswith("Give --disk")
    for disk, told in ((MEGABYTE, "1.0MiB"), (0, "0B")):
        tiny_disk = guessed(Granted(64 * MEGABYTE, disk, 1, None))
        assert f"and --disk grants {told}" in warnings(tiny_disk)[0]
        assert advice(tiny_disk).startswith("Give --disk")
    hopeless = guessed(Granted(16 * MEGABYTE, MEGABYTE, 1, None))
    assert advice(hopeless).startswith("A proof is out of reach")
    hasty = guessed(Granted(1 << 50, 1 << 50, 1, 1.0))
    assert "--time-limit grants 1.0 s" in warnings(hasty)[0]
    assert advice(hasty).startswith("Give --time-limit")
    cramped = guessed(Granted(12 * MEGABYTE, 1 << 50, 1, None))
    assert "--memory grants 12.0MiB" in warnings(cramped)[0]
    assert advice(cramped) == "Give --memory 16.0MiB or more."


def test_a_rough_guess_asks_for_more_effort(machine, sizes):
    sizes(ROUGH=1.0)
    found = guessed(Granted(1 << 50, 1 << 50, 1, 4.0))
    assert "too rough" in advice(found)


def test_useless_arguments_are_refused(wide):
    for wrong in ({"effort": 0}, {"threads": 0}, {"lower_bound": "none"}, {"disk": -1}):
        with pytest.raises(InputError):
            estimate(wide, **wrong)


@pytest.mark.parametrize("n", [26, 27])
def test_of_more_than_26_variables_the_uniform_prior_may_be_estimated(n):
    found = estimate(random_dataset(np.random.default_rng(3), n, 20), max_parents=1, threads=1)
    told = " ".join(" ".join(lines(found)).split())
    assert ("sums by the prior uniform" in told, "by the prior uniform it may give estimates" in told) == (
        n == 26,
        n > 26,
    )


def test_the_command_prints_lines_or_json_and_writes_nothing(here, tmp_path, capsys):
    dataset = random_dataset(np.random.default_rng(1), 8, 60)
    rows = [",".join(dataset.names), *(",".join(f"s{code}" for code in record) for record in dataset.codes)]
    (tmp_path / "data.csv").write_text("\n".join(rows) + "\n")
    assert main(["estimate", "data.csv", "--effort", "30s", "--threads", "1"]) == 0
    said = capsys.readouterr()
    subjects = [line.split()[0] for line in said.out.splitlines() if not line.startswith(" ")]
    assert subjects[-7:] == ["scores", "search", "memory", "disk", "time", "posterior", "advice"]
    assert "nothing is kept, solve does it again" in " ".join(said.out.split())
    assert said.err.startswith(f"extbnsl {__version__}\ninput: data.csv: 60 records, 8 variables")
    assert "scores:" in said.err
    assert re.search(r"^bounds: .*(parent sets left|proved before any search)", said.err, re.MULTILINE)
    assert max(map(len, (said.out + said.err).splitlines())) <= WIDTH
    assert main(["estimate", "data.csv", "--json", "--quiet", "--disk", "1GiB", "--time-limit", "1h"]) == 0
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert said.err == ""
    assert found["complete"] is True
    assert found["factor"] == 1
    assert found["budgets"]["time_limit"] == 3600
    assert found["seconds_range"] == pytest.approx([found["seconds"] / TIME_DOUBT, found["seconds"] * TIME_DOUBT])
    assert 0 < found["cpu_seconds_range"][0] < found["cpu_seconds"] < found["cpu_seconds_range"][1]
    assert os.listdir(tmp_path) == ["data.csv"]
    assert main(["estimate", "none.csv"]) == 30
    with pytest.raises(SystemExit) as ended:
        main(["estimate", "data.csv", "--effort"])
    assert ended.value.code == 30
    assert main(["estimate", "data.csv", "--effort", "never"]) == 30


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.04, "0.0 s"),
        (9.94, "9.9 s"),
        (41, "41 s"),
        (900, "15 min"),
        (12000, "3.3 h"),
        (4.4e5, "5.1 days"),
        (1e12, "31,688 years"),
    ],
)
def test_spans_are_told_in_the_unit_that_suits(seconds, text):
    assert format_span(seconds) == text
