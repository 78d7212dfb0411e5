"""Networks of time series: the optimum against all DAGs of the present with all parents in the past, by every question;
children that are alone; and that a run which is stopped or resumed ends as if nothing had happened."""

import bisect
import collections
import itertools
import json
import math
from dataclasses import replace

import asking
import naive
import numpy as np
import pytest
from cases import from_dataframe, random_series

import extbnsl
from extbnsl.core.claims import Claim
from extbnsl.core.data_options import DataOptions
from extbnsl.core.errors import InputError
from extbnsl.core.knowledge import Knowledge
from extbnsl.data import Dataset, measured
from extbnsl.data.given import given
from extbnsl.data.resampling import resampling_of
from extbnsl.kernels.varsets import pack, unpack
from extbnsl.machine.workers import Workers
from extbnsl.parents.exhaustive.alone import cheapest_family
from extbnsl.parents.exhaustive.source import source_of
from extbnsl.solver.opening import Request
from extbnsl.verify.statement import Given, check_result

FEW = ("mdl", "bdeu", "gaussian-bic", "cg-bic", "dg-bic")
SCORES = ("mdl", "aic", "bdeu", "k2", "fnml", "qnml", "gaussian-bic", "cg-bic", "dg-bic")
OF_BOTH = {"cg-bic": naive.conditional_cost, "dg-bic": naive.degenerate_cost}
PROBLEMS = [  # a seed, columns, lags and a score
    *((0, 3, 1, score) for score in SCORES),
    *((1, 4, 1, score) for score in FEW),
    *((3, 3, 2, score) for score in FEW),
    *((2, 3, 1, score) for score in OF_BOTH),
]


def series_of(score, seed, n, lags, **how):
    """A series of the kind that a score takes; of both kinds, all of one kind now and then."""
    if score in OF_BOTH:
        return random_series(seed, n, lags, both=[(0, 2), (0, 1, 2, 3), ()][seed % 3][:n], **how)
    return random_series(seed, n, lags, 0 if score == "gaussian-bic" else 2 + seed % 2, **how)


def costs_of(data, score, n):
    """What each set of parents in the present costs each child with its best parents in the past, by the naive twin."""
    past = range(n, data.variables)
    subsets = [s for size in range(len(past) + 1) for s in itertools.combinations(past, size)]

    def cost(child, parents):
        if isinstance(data, Dataset):
            return naive.family_cost(score, data.codes, data.arities, child, parents)
        if score in OF_BOTH:
            return OF_BOTH[score](data, child, parents)
        return naive.gaussian_cost(data.values, child, parents)

    return {
        (child, present): min(cost(child, (*present, *own)) for own in subsets)
        for child in range(n)
        for size in range(n if data.slices.instant else 1)
        for present in itertools.combinations([v for v in range(n) if v != child], size)
    }


def optimum(data, score):
    """The least cost of all DAGs of the present."""
    n = data.variables // (data.slices.lags + 1)
    return least_of(costs_of(data, score, n), n)


def least_of(costs, n):
    """The least sum of these of all DAGs of n variables."""
    best = math.inf
    for graph in naive.all_dags(n):
        parents = [tuple(naive.members(own)) for own in graph]
        if all((x, own) in costs for x, own in enumerate(parents)):
            best = min(best, sum(costs[x, own] for x, own in enumerate(parents)))
    return best


def charged_costs(data, claim, n):
    """The same with what the claim charges: arcs from the past are charged for, and are counted by gamma."""
    names, past = data.names, range(n, data.variables)
    own = 1.0 if claim.score == "aic" else math.log(data.records) / 2
    told = {(parent, child): nats for parent, child, nats in claim.knowledge.costs}
    each = claim.parent_cost + 2.0 * (claim.gamma or 0.0) * math.log(data.variables)

    def cost(child, parents):
        if isinstance(data, Dataset):
            found = naive.family_cost(claim.score, data.codes, data.arities, child, parents)
            parameters = (data.arities[child] - 1) * math.prod(data.arities[list(parents)].tolist())
        else:
            found, parameters = naive.gaussian_cost(data.values, child, parents), len(parents) + 2
        more = 0.0 if claim.penalty is None else (claim.penalty - own) * parameters
        return found + more + sum(each + told.get((names[p], names[child]), 0.0) for p in parents)

    subsets = [s for size in range(len(past) + 1) for s in itertools.combinations(past, size)]
    return {
        (child, present): min(cost(child, (*present, *own)) for own in subsets)
        for child in range(n)
        for size in range(n if data.slices.instant else 1)
        for present in itertools.combinations([v for v in range(n) if v != child], size)
    }


CHARGES = [
    {"penalty": 1.3},
    {"gamma": 1.0},
    {"parent_cost": 2.5},
    {"knowledge": Knowledge(costs=(("v0[t-1]", "v1", -6.0), ("v1", "v0", -4.0), ("v1[t-1]", "v0", 9.0)))},
    {
        **{"penalty": 6.0, "gamma": 0.5, "parent_cost": 0.4},
        "knowledge": Knowledge(costs=(("v2[t-1]", "v2", -20.0), ("v2", "v1", 3.0), ("v1[t-1]", "v1[t-2]", -5.0))),
    },
]


@pytest.mark.parametrize("instant", [None, False])
@pytest.mark.parametrize("score", ["mdl", "aic", "gaussian-bic"])
@pytest.mark.parametrize("charges", CHARGES, ids=range(len(CHARGES)))
def test_the_optimum_with_charges_is_that_of_all_dags(charges, score, instant):
    states, lags = 0 if score == "gaussian-bic" else 3, 2 if len(charges) > 1 else 1
    data = random_series(13, 3, lags, states, instant=instant)
    claim = Claim(score, **charges)
    best = least_of(charged_costs(data, claim, 3), 3)
    found = asking.solve(data, claim)
    assert found.status == "optimal"
    assert found.cost == pytest.approx(best, abs=1e-6)
    assert all(not own for own in found.network.parents[3:])
    with Workers(1) as workers:
        stated = check_result(Given(found.document(), lambda: [], None, data, {}, {}), workers)
    assert stated.holds
    assert stated.optimality.complete
    rough = extbnsl.approximate(data, score=score, time=1, **charges)
    assert rough.lower_bound <= best + 1e-6
    assert rough.cost >= best - 1e-6


def test_what_is_not_for_series_is_refused():
    rows = {"t": range(30), "a": [0, 1, 1] * 10, "x": np.random.default_rng(1).normal(size=30), "s": [""] * 30}
    for options, told in (
        ({"targets": "s"}, "time_column and targets exclude each other"),
        ({"missing": "average"}, 'time_column and missing="average" exclude each other'),
        ({"score": "cg-bic", "targets": "s"}, "time_column and targets exclude each other"),
    ):
        with pytest.raises(InputError, match=told):
            extbnsl.learn(rows, time_column="t", **options)


@pytest.mark.parametrize("instant", [None, False])
@pytest.mark.parametrize(("seed", "n", "lags", "score"), PROBLEMS)
def test_the_optimum_is_that_of_all_dags(seed, n, lags, score, instant):
    data = series_of(score, seed, n, lags, instant=instant)
    best, claim = optimum(data, score), Claim(score)
    found = asking.solve(data, claim)
    assert found.status == "optimal"
    assert found.cost == pytest.approx(best, abs=1e-6)
    assert all(not own for own in found.network.parents[n:])
    assert found.network.parents[:n] == tuple(tuple(sorted(own)) for own in found.network.parents[:n])
    if instant is False:
        assert all(p >= n for own in found.network.parents[:n] for p in own)
    rough = extbnsl.approximate(data, score=score, time=1)
    assert rough.lower_bound <= best + 1e-6
    assert rough.cost >= best - 1e-6
    listed = extbnsl.k_best(data, 5, score=score)
    assert listed.cost == pytest.approx(best, abs=1e-6)
    assert all(not own for one in listed.networks for own in one.network.parents[n:])
    in_order = extbnsl.order(data, data.names[:n], score=score)
    assert in_order.lower_bound <= best + 1e-6 <= in_order.cost + 2e-6
    estimated = asking.estimate(data, claim, effort=1.0)
    assert estimated is not None
    with Workers(1) as workers:
        stated = check_result(Given(found.document(), lambda: [], None, data, {}, {}), workers)
    assert stated.holds
    assert stated.optimality.complete


def test_constant_columns_of_the_past_are_no_parents_of_a_solve_and_are_told_by_k_best():
    rows = {"t": range(40), "a": list("xxyxy" * 8), "c": ["same"] * 40}
    data = from_dataframe(rows, time_column="t")
    best = optimum(data, "mdl")
    assert asking.solve(data).cost == pytest.approx(best)
    listed = extbnsl.k_best(data, 4)
    assert listed.cost == pytest.approx(best)
    assert all(not own for one in listed.networks for own in one.network.parents[2:])


@pytest.mark.parametrize("score", ["mdl", "aic", "bdeu", "k2", "fnml", "qnml"])
def test_where_columns_vary_in_the_past_alone_there_is_an_answer(score):
    """As in resamples that lack a rare state in the present."""
    data = from_dataframe({"t": range(4), "a": list("xyyy")}, time_column="t")
    found = asking.solve(data, Claim(score))
    assert (found.status, found.cost) == ("optimal", pytest.approx(optimum(data, score)))


def test_an_order_names_the_present_alone():
    data = random_series(3, 3, 1)
    best = min(extbnsl.order(data, [f"v{j}" for j in order]).cost for order in itertools.permutations(range(3)))
    assert best == pytest.approx(optimum(data, "mdl"))
    late = extbnsl.order(data, ["v0", "v1", "v2", *data.names[3:]])
    assert late.cost == pytest.approx(extbnsl.order(data, ["v0", "v1", "v2"]).cost)


@pytest.mark.parametrize("slack", [0.0, 3.0])
def test_numbers_of_one_unit_and_one_variable(slack):
    data = random_series(4, 1, 2, states=0, units=1)
    assert asking.solve(data, Claim("gaussian-bic")).cost == pytest.approx(optimum(data, "gaussian-bic"))


def problem_of(data, claim):
    source = source_of(data, Request(data, claim).claim)
    problem = source.problem(0.0)
    with Workers(1) as workers:
        problem = source.with_floors(problem, workers)
    group = source.groups(problem, True)[-1]
    assert group.alone
    return source, source.for_group(problem, group), group


@pytest.mark.parametrize("score", ["mdl", "aic", "gaussian-bic"])
@pytest.mark.parametrize("most", [None, 1, 2])
@pytest.mark.parametrize("seed", range(6))
def test_a_child_alone_gets_its_cheapest_family(seed, most, score):
    states = 0 if score == "gaussian-bic" else 2 + seed % 3
    data = random_series(seed, 4, 2, states, records=90 + 40 * seed, instant=False)
    source, problem, group = problem_of(data, Claim(score, most))
    halt = np.zeros(1, np.uint8)
    past = range(4, 12)
    for x in np.flatnonzero(np.isin(source.order, group.children)).tolist():
        child = int(source.order[x])
        (varsets, costs), counted = cheapest_family(x, problem, halt)
        sets = [s for k in range((most or 8) + 1) for s in itertools.combinations(past, k)]
        best = min(source.cost(child, own) for own in sets)
        own = [int(source.order[v]) for v in naive.members(int(varsets[0, 0]))]
        assert source.cost(child, own) == pytest.approx(best, abs=1e-7)
        assert source.shifted(child, float(costs[0])) <= best + 1e-6
        assert not varsets[-1].any()
        assert counted > 0


@pytest.mark.parametrize("most", [None, 4])
@pytest.mark.parametrize("penalty", [None, 0.4])
@pytest.mark.parametrize("seed", range(4))
def test_a_number_alone_gets_its_cheapest_family_of_columns_that_nearly_tell_each_other(seed, penalty, most):
    """Columns that change slowly, and one that is the sum of two others but for a little."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(70, 5)).cumsum(axis=0)
    values[:, 4] = values[:, 0] + values[:, 1] + 10.0 ** -rng.integers(0, 4) * rng.normal(size=70)
    columns = {"t": range(70)} | {f"x{v}": values[:, v] for v in range(5)}
    data = given(columns).made(measured, DataOptions(time_column="t", lags=2, instant=False))
    source, problem, group = problem_of(data, Claim("gaussian-bic", most, penalty=penalty))
    sets = [s for k in range((most or 10) + 1) for s in itertools.combinations(range(5, 15), k)]
    varsets = np.stack([pack(own, 15) for own in sets])
    for x in np.flatnonzero(np.isin(source.order, group.children)).tolist():
        (found, costs), _ = cheapest_family(x, problem, np.zeros(1, np.uint8))
        of_all = source.columns[0].costs(int(source.order[x]), varsets, source.price)
        assert source.cost(int(source.order[x]), unpack(found[0])) == pytest.approx(of_all.min(), abs=1e-6)
        assert source.shifted(int(source.order[x]), float(costs[0])) <= of_all.min() + 1e-6


def test_ties_are_the_smallest_set():
    """A column and its copy tell the same: one of them is enough, and nothing tells of a coin."""
    rng = np.random.default_rng(5)
    a = rng.integers(0, 2, 200)
    data = from_dataframe(
        {"t": range(200), "a": a, "b": a, "c": rng.integers(0, 2, 200)}, time_column="t", instant=False
    )
    found = extbnsl.learn(data)
    assert all(len(own) <= 1 for own in found.network.parents)
    assert found.cost == pytest.approx(optimum(data, "mdl"))


def test_the_result_does_not_depend_on_threads():
    data = random_series(6, 4, 2, 3, records=300, instant=False)
    one, two = (extbnsl.learn(data, threads=threads) for threads in (1, 2))
    assert one.parents == two.parents
    assert one.cost == two.cost


@pytest.mark.parametrize("instant", [None, False])
def test_a_stop_leaves_a_network_and_a_bound(instant):
    data = random_series(7, 4, 2, 3, records=300, instant=instant)
    best = optimum(data, "mdl")
    for after in range(0, 60, 6):
        asked = itertools.count()
        found = asking.solve(data, stop=lambda: "interrupted" if next(asked) >= after else None)  # noqa: B023
        assert found.lower_bound <= best + 1e-6
        assert found.cost >= best - 1e-6


def test_units_are_drawn_whole():
    data = random_series(8, 2, 1, states=0, units=5, records=200)
    ends, resampling = data.slices.ends.tolist(), resampling_of(data)
    unit_of = {tuple(row): bisect.bisect_right(ends, number) for number, row in enumerate(data.values.tolist())}
    sizes, drawn_units = np.diff([0, *ends]), set()
    for number in range(1, 20):
        drawn = resampling.drawn(3, number).values
        assert drawn.nbytes <= resampling.size
        often = collections.Counter(unit_of[tuple(row)] for row in drawn.tolist())
        times = [often[unit] / sizes[unit] for unit in range(5)]
        assert all(each == int(each) for each in times)
        assert sum(times) == 5
        drawn_units.add(tuple(times))
    assert len(drawn_units) > 5


def test_a_series_without_units_is_drawn_row_by_row():
    data = random_series(8, 2, 1, units=1, records=100)
    drawn = resampling_of(data).drawn(3, 1)
    assert len(drawn.codes) == data.records
    assert {*map(tuple, drawn.codes.tolist())} <= {*map(tuple, data.codes.tolist())}
    found = extbnsl.learn(data, bootstrap=3)
    assert found.bootstrap.proved == 3


def test_the_cost_of_a_given_network():
    data = random_series(9, 3, 1)
    network = {"v0": ["v1[t-1]"], "v1": ["v0"]}
    whole = {name: network.get(name, []) for name in data.names}
    told = extbnsl.cost(whole, data)
    by_hand = [naive.mdl(data.codes, data.arities, 0, [4]), naive.mdl(data.codes, data.arities, 1, [0])]
    assert told.cost == pytest.approx(sum(by_hand) + naive.mdl(data.codes, data.arities, 2, []))
    assert [one.cost for one in told.families[3:]] == [0.0, 0.0, 0.0]
    with pytest.raises(InputError, match=r"arc from 'v0' to 'v0\[t-1\]', but in time"):
        extbnsl.cost(whole | {"v0[t-1]": ["v0"], "v1": []}, data)
    with pytest.raises(InputError, match="both are in a set without arcs"):
        extbnsl.cost(whole, replace(data, slices=replace(data.slices, instant=False)))


def test_the_estimator_predicts_one_step_ahead():
    rng = np.random.default_rng(1)
    a = [0]
    for _ in range(399):
        a.append(int(a[-1] ^ (rng.random() < 0.1)))
    frame = {"t": list(range(400)), "a": a, "b": rng.integers(0, 2, 400).tolist()}
    learner = extbnsl.BayesianNetworkLearner(time_column="t", smoothing=0.0).fit(frame)
    assert learner.parents_["a"] == ["a[t-1]"]
    assert learner.predict(frame, "a").tolist() == a
    stays = sum(x == y == 1 for x, y in itertools.pairwise(a)) / sum(x == 1 for x in a[:-1])
    told = learner.predict_proba({"t": [1, 2], "a": [1, 0], "b": [0, 0]}, "a")
    assert told[0, 1] == pytest.approx(stays)
    each = learner.score_samples(frame)
    assert np.isnan(each[0])
    n, parameters = 399, learner.result_.stats["parameters"]
    assert np.nansum(each) == pytest.approx(-learner.cost_ + parameters * math.log(n) / 2)
    assert learner.score(frame) == pytest.approx(np.nanmean(each))
    gap = learner.score_samples({"t": [1, 2, 4, 5], "a": [1, 1, 1, 1], "b": [0, 0, 0, 0]})
    assert np.isnan(gap).tolist() == [True, False, True, False]
    with pytest.raises(ValueError, match="how a series begins"):
        learner.sample(3)
    with pytest.raises(ValueError, match="is of the past"):
        learner.predict(frame, "a[t-1]")
    with pytest.raises(ValueError, match="does not know"):
        learner.predict(frame | {"new": a}, "a")


def test_the_estimator_of_numbers():
    rng = np.random.default_rng(2)
    a = [0.0, 0.0]
    for _ in range(498):
        a.append(0.6 * a[-1] + 0.3 * a[-2] + rng.normal())
    frame = {"t": list(range(500)), "a": a, "b": rng.normal(size=500).tolist()}
    learner = extbnsl.BayesianNetworkLearner(scoring_method="gaussian-bic", time_column="t", lags=2).fit(frame)
    assert learner.parents_["a"] == ["a[t-1]", "a[t-2]"]
    design = np.column_stack([np.ones(498), a[1:-1], a[:-2]])
    slopes = np.linalg.lstsq(design, np.array(a[2:]), rcond=None)[0]
    ahead = learner.predict(frame, "a")
    assert np.isnan(ahead[0])
    assert ahead[-1] == pytest.approx(slopes @ [1.0, a[-1], a[-2]])
    parameters = learner.result_.stats["parameters"]
    assert np.nansum(learner.score_samples(frame)) == pytest.approx(-learner.cost_ + parameters * math.log(498) / 2)


@pytest.mark.parametrize("score", OF_BOTH)
def test_the_estimator_of_both_kinds(score):
    rng, a, s = np.random.default_rng(3), [0.0], ["no"]
    for _ in range(399):
        s.append("yes" if rng.random() < (0.8 if s[-1] == "yes" else 0.3) else "no")
        a.append(0.6 * a[-1] + (3.0 if s[-2] == "yes" else 0.0) + rng.normal())
    frame = {"t": list(range(400)), "a": a, "s": s, "b": rng.normal(size=400).tolist()}
    learner = extbnsl.BayesianNetworkLearner(scoring_method=score, time_column="t", smoothing=0.0).fit(frame)
    assert set(learner.parents_["a"]) == {"a[t-1]", "s[t-1]"}
    before, state = np.array(a[:-1]), np.array(s[:-1]) == "yes"
    ahead, own = learner.predict(frame, "a"), np.zeros(399)
    for chosen in (state, ~state) if score == "cg-bic" else (np.ones(399, bool),):
        design = np.column_stack([np.ones(chosen.sum()), before[chosen], state[chosen]])[:, : 2 + (score != "cg-bic")]
        own[chosen] = design @ np.linalg.lstsq(design, np.array(a[1:])[chosen], rcond=None)[0]
    np.testing.assert_allclose(ahead[:-1], own, atol=1e-8)
    stays = sum(x == y == "yes" for x, y in itertools.pairwise(s)) / sum(x == "yes" for x in s[:-1])
    shares = learner.predict_proba({"t": [1], "a": [0.0], "s": ["yes"], "b": [0.0]}, "s")[0]
    assert shares.sum() == pytest.approx(1.0)
    assert shares[1] == pytest.approx(stays, abs=1e-9 if score == "cg-bic" else 0.1)
    assert learner.predict(frame, "s")[:1] == ["no"]
    each, parameters = learner.score_samples(frame), learner.result_.stats["parameters"]
    assert np.isnan(each[0])
    assert np.nansum(each) == pytest.approx(-learner.cost_ + parameters * math.log(399) / 2)
    gap = learner.score_samples({"t": [1, 2, 4], "a": [1.0] * 3, "s": ["no"] * 3, "b": [0.0] * 3})
    assert np.isnan(gap).tolist() == [True, False, True]


def test_a_result_says_that_it_is_of_time(tmp_path):
    found = extbnsl.learn(random_series(10, 2, 1, instant=False))
    document = found.document()
    rows = found.dataset.records
    assert document["time_series"] == {
        **{"time": "t", "unit": "u", "lags": 1, "instant": False, "step": "1", "units": 2, "rows": rows},
        "rows_left_out": found.dataset.slices.left_out,
    }
    assert document["knowledge"] == {"roots": ["v0[t-1]", "v1[t-1]"], "apart": [["v0", "v1"]]}
    found.save(tmp_path / "run")
    told = json.loads((tmp_path / "run" / "network.json").read_text())
    assert told["variables"] == ["v0", "v1", "v0[t-1]", "v1[t-1]"]
    assert "no arcs within a time" in found._repr_html_()
    plain = extbnsl.learn(from_dataframe({"a": list("xyxy"), "b": list("xxyy")})).document()
    assert "time_series" not in plain
