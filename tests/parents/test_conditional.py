"""Families of columns of both kinds: their costs against a slow twin and another program, and which are found."""

import math

import naive
import numpy as np
import pytest
from cases import dataset_of, numbers_of, random_mixed, shelf_of
from cases_of_records import complete_of, parameters_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from knowing import admitted, random_knowledge
from patching import sized

from extbnsl.core.claims import TIME_LIMIT, Claim
from extbnsl.core.data_options import DataOptions
from extbnsl.core.errors import InputError, VerificationError
from extbnsl.core.events import ignore
from extbnsl.core.knowledge import Knowledge
from extbnsl.data import Mixed, Reading, read_file
from extbnsl.data.both import mixed
from extbnsl.machine.workers import Stopped, Workers, unhalted
from extbnsl.parents.exhaustive.source import source_of
from extbnsl.parents.exhaustive.state import Means
from extbnsl.parents.exhaustive.surviving import surviving_families
from extbnsl.scores.conditional import scaled
from extbnsl.verify.rescoring import family_cost

SETTINGS = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
SIZES = st.sampled_from([3, 6, 12, 40, 150])
SCORE = "cg-bic"


@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 5), SIZES)
def test_costs_are_those_of_the_slow_twin_and_of_the_check(seed, n, records):
    data = random_mixed(np.random.default_rng(seed), n, records)
    columns = scaled(data)
    for child, own in enumerate(naive.all_conditional_costs(data)):
        for varset, expected in enumerate(own.tolist()):
            if varset >> child & 1:
                continue
            parents = tuple(naive.members(varset))
            assert columns.cost(child, parents, math.log(data.records) / 2) == pytest.approx(
                expected, rel=1e-9, abs=1e-7
            )
            if math.isinf(expected):
                with pytest.raises(VerificationError):
                    family_cost(data, child, parents, Claim(SCORE))
            else:
                assert family_cost(data, child, parents, Claim(SCORE)) == pytest.approx(expected, rel=1e-9, abs=1e-7)


@SETTINGS
@given(st.integers(0, 2**32), st.integers(2, 5), SIZES)
def test_subsets_of_allowed_families_are_allowed_and_fit_no_better(seed, n, records):
    data = random_mixed(np.random.default_rng(seed), n, records)
    columns = scaled(data)
    for child in range(n):
        misfits = {u: columns.misfit(child, naive.members(u)) for u in range(2**n) if not u >> child & 1}
        for u, misfit in misfits.items():
            for v in naive.members(u):
                assert misfits[u ^ 1 << v] >= misfit - 1e-7 or math.isinf(misfit)
                assert not (math.isfinite(misfit) and math.isinf(misfits[u ^ 1 << v]))


def as_mixed(codes=None, values=None):
    """Data of one kind as such of both."""
    if codes is not None:
        data = dataset_of(codes)
        return data, Mixed(data.names, data.states, data.codes, np.zeros(data.codes.shape), "<test>")
    data = numbers_of(values)
    none = ((),) * data.variables
    return data, Mixed(data.names, none, np.zeros(data.values.shape, np.uint16), data.values, "<test>")


def test_of_one_kind_it_is_mdl_or_gaussian_bic():
    rng = np.random.default_rng(5)
    for score, (own, both) in {
        "mdl": as_mixed(codes=rng.integers(0, 3, (50, 4))),
        "gaussian-bic": as_mixed(values=rng.normal(size=(50, 4))),
    }.items():
        alone, together = source_of(own, Claim(score)), source_of(both, Claim(SCORE))
        for parents in ((), (1,), (1, 2), (1, 2, 3)):
            assert together.cost(0, parents) == pytest.approx(alone.cost(0, parents), rel=1e-12)


LEARNED = "[A][B][C][H][D|A:H][F|B:C][E|B:D][G|A:D:E:F]"
# bnlearn 5.2.1: score(..., type = "bic-cg", by.node = TRUE)
THEIRS = {
    None: [
        *(-1571.782626, -5239.826207, -6474.285805, -1458.955836, -6576.619782, -2957.185357, 548.151772),
        3439.181953,
    ],
    500: [-163.440389, -521.716197, -662.184434, -170.394968, -681.076616, -309.926670, 39.497302, 359.861632],
}


def by_degrees_of_freedom(data, child, parents):
    """The log-likelihood of a child of numbers by variances that divide by the degrees of freedom, as in bnlearn."""
    discrete, numbers = ([p for p in parents if bool(data.states[p]) == kind] for kind in (True, False))
    total = 0.0
    groups = {tuple(own) for own in data.codes[:, discrete].tolist()}
    for own in groups:
        rows = (data.codes[:, discrete] == np.array(own, int)).all(axis=1)
        design = np.column_stack([np.ones(rows.sum()), data.values[rows][:, numbers]])
        goal = data.values[rows, child]
        error = goal - design @ np.linalg.lstsq(design, goal, rcond=None)[0]
        variance = float(error @ error) / (len(goal) - design.shape[1])
        total -= len(goal) / 2 * math.log(2 * math.pi * variance) + float(error @ error) / (2 * variance)
    return total


@pytest.mark.parametrize("records", THEIRS)
def test_costs_are_minus_what_bnlearn_says_but_for_its_degrees_of_freedom(shared_data, records):
    path = shared_data / "mixed" / "clgaussian_test.csv.gz"
    data = read_file(mixed, path, DataOptions(records=records), Reading())
    assert data.names == tuple("ABCDEFGH")
    columns = scaled(data)
    parents = {part[0]: part[2:].split(":") if "|" in part else [] for part in LEARNED[1:-1].split("][")}
    for child, theirs in enumerate(THEIRS[records]):
        own = [data.names.index(name) for name in parents[data.names[child]]]
        if data.states[child]:
            assert -columns.cost(child, own, math.log(data.records) / 2) == pytest.approx(theirs, abs=1e-6)
            continue
        price = math.log(data.records) / 2 * columns.parameters(child, own)
        assert by_degrees_of_freedom(data, child, own) - price == pytest.approx(theirs, abs=1e-6)
        assert -columns.cost(child, own, math.log(data.records) / 2) == pytest.approx(
            theirs, abs=columns.parameters(child, own)
        )
        assert -columns.cost(child, own, math.log(data.records) / 2) > theirs  # a smaller variance is likelier


# bnlearn 5.2.1: score(..., type = "pnal-cg", k = log(500) / 2, by.node = TRUE), of a record
THEIR_AVERAGES = [
    *(-0.326880777, -1.038369893, -1.324368868, -0.341061478, -1.353383829, -0.611132723, 0.058926000),
    0.719723264,
]


def test_averages_are_minus_what_bnlearn_says_but_for_its_degrees_of_freedom(shared_data):
    data = read_file(
        mixed, shared_data / "mixed" / "clgaussian_500_missing.csv", DataOptions(missing="average"), Reading()
    )
    assert data.names == tuple("ABCDEFGH")
    assert data.gaps
    columns, price, fewer = scaled(data), math.log(500) / 2, 0
    parents = {part[0]: part[2:].split(":") if "|" in part else [] for part in LEARNED[1:-1].split("][")}
    for child, theirs in enumerate(THEIR_AVERAGES):
        own = tuple(data.names.index(name) for name in parents[data.names[child]])
        cost = columns.cost(child, own, price)
        assert family_cost(data, child, own, Claim(SCORE)) == pytest.approx(cost, rel=1e-9)
        assert source_of(data, Claim(SCORE)).cost(child, own) == pytest.approx(cost, rel=1e-12)
        if data.states[child]:
            assert -cost == pytest.approx(500 * theirs, abs=1e-5)
            continue
        whole = complete_of(data, [child, *own])
        fewer += whole.records < 500
        likely = by_degrees_of_freedom(whole, child, own) * 500 / whole.records
        assert likely - price * parameters_of(data, child, own) == pytest.approx(500 * theirs, abs=1e-5)
        assert 500 * theirs < -cost < 500 * theirs + parameters_of(data, child, own)
    assert fewer


def families(data, claim, slack=0.0, threads=1, tasks=None, begun=None):
    done, known = [], [begun]

    def stop_then(found):
        known[0] = found
        done.append(found)
        if len(done) == tasks:
            raise Stopped(TIME_LIMIT)

    with Workers(threads) as workers:
        found = surviving_families(data, claim, Means(workers, shelf_of(), ignore), begun, stop_then, slack)
    return found, known[0]


def constant(data, v):
    return bool(data.states[v]) and (data.codes[:, v] == data.codes[0, v]).all()


def check_found(data, claim, found, slack):
    """All families that are wanted are there, with their costs, and none that is not allowed."""
    n = data.variables
    costs = naive.all_conditional_costs(data)
    costs[~admitted(claim.knowledge, data.names, claim.max_parents)] = np.inf
    for x in range(n):
        must = sum(1 << p for p in source_of(data, claim).constraints.parents_required(x))
        listed = dict(zip(found.scores.parents[x][:, 0].tolist(), found.scores.costs[x].tolist(), strict=True))
        for varset in range(2**n):
            if varset in listed:
                assert listed[varset] == pytest.approx(costs[x, varset], rel=1e-9, abs=1e-7)
                continue
            below = min((costs[x, p] for p in range(varset) if p & ~varset == 0), default=np.inf)
            idle = [v for v in naive.members(varset & ~must) if constant(data, v)] or constant(data, x)
            idle = idle and slack == 0.0
            assert idle or not costs[x, varset] < below + slack - 1e-6 * (slack == 0.0)


def allowed_required(data, claim):
    """Whether the families of the arcs that must be are allowed."""
    try:
        source_of(data, claim)
    except InputError:
        costs = [naive.conditional_cost(data, x, required_of(data, claim, x)) for x in range(data.variables)]
        assert math.inf in costs
        return False
    return True


def required_of(data, claim, child):
    """The parents that a child must have."""
    return [data.names.index(p) for p, c in claim.knowledge.required if c == data.names[child]]


@SETTINGS
@given(
    st.integers(0, 2**32),
    st.integers(1, 6),
    SIZES,
    st.sampled_from([None, 1, 2]),
    st.sampled_from([0.0, 0.0, 0.7, 25.0, math.inf]),
    st.booleans(),
)
def test_all_families_that_are_wanted_and_no_others(seed, n, records, limit, slack, cut):
    rng = np.random.default_rng(seed)
    data = random_mixed(rng, n, records)
    claim = Claim(SCORE, limit, knowledge=random_knowledge(rng, data.names, limit))
    if not allowed_required(data, claim):
        return
    with sized({"conditional.CUT": 1, "collected.ROOM": 16, "collected.KNOWN": 4} if cut else {}):
        found, _ = families(data, claim, slack, threads=2)
    assert found.stopped is None
    check_found(data, claim, found, slack)


def test_what_is_found_depends_neither_on_stops_nor_on_threads():
    data = random_mixed(np.random.default_rng(11), 12, 400)
    claim = Claim(SCORE)
    whole, _ = families(data, claim)
    assert whole.scores.fingerprint == families(data, claim, threads=3)[0].scores.fingerprint
    begun, ends = None, 0
    while True:
        found, begun = families(data, claim, tasks=3, begun=begun)
        if found.stopped is None:
            break
        ends += 1
        assert found.stopped == TIME_LIMIT
        assert np.isfinite(found.unjudged).any()
    assert ends > 2
    assert found.scores.fingerprint == whole.scores.fingerprint


def test_what_is_said_of_families_that_were_not_judged_is_a_bound():
    for seed in range(30):
        rng = np.random.default_rng(seed)
        data = random_mixed(rng, int(rng.integers(2, 6)), int(rng.choice([5, 20, 80])))
        source = source_of(data, Claim(SCORE))
        with Workers(1) as workers:
            least = source.least_costs(workers)
        for own, bound in zip(naive.all_conditional_costs(data), least, strict=True):
            assert bound <= own.min() + 1e-7


def test_a_search_looks_at_halt():
    data = random_mixed(np.random.default_rng(3), 9, 300)
    source = source_of(data, Claim(SCORE))
    stopped = np.ones(1, np.uint8)
    child = int(np.flatnonzero(~data.of_states)[0])
    counted = source.families_of(child, 0, math.inf, unhalted()).counted
    assert source.families_of(child, 0, math.inf, stopped).counted < counted


def test_arcs_that_cannot_be_are_refused_by_name():
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 2, (40, 1)).astype(np.uint16)
    data = Mixed(
        ("ward", "age"),
        (("east", "west"), ()),
        np.hstack((codes, np.zeros((40, 1), np.uint16))),
        np.column_stack((np.zeros(40), rng.normal(size=40))),
        "a.csv",
    )
    claim = Claim(SCORE, knowledge=Knowledge(required=(("age", "ward"),)))
    with pytest.raises(InputError, match=r"a.csv: 'ward' has states, 'age' numbers, and the score cg-bic has no arc"):
        source_of(data, claim)
    copied = data.values.copy()
    copied[data.codes[:, 0] == 0, 1] = 4.5
    same = Mixed(data.names, data.states, data.codes, copied, "a.csv")
    claim = Claim(SCORE, knowledge=Knowledge(required=(("ward", "age"),)))
    with pytest.raises(InputError, match=r"'age' must have 'ward' as parents, and then some state has too few records"):
        source_of(same, claim)
    constant_numbers = Mixed(data.names, data.states, data.codes, np.zeros((40, 2)), "a.csv")
    with pytest.raises(InputError, match=r"'age' has the same number in every record, which no Gaussian fits"):
        source_of(constant_numbers, Claim(SCORE))


def test_the_check_knows_what_is_no_family():
    rng = np.random.default_rng(2)
    data = random_mixed(rng, 5, 60)
    number, state = int(np.flatnonzero(~data.of_states)[0]), int(np.flatnonzero(data.of_states)[0])
    with pytest.raises(VerificationError, match=r"which has states, has the parent"):
        family_cost(data, state, (number,), Claim(SCORE))
