"""The E step against completions one by one, and against conditional Gaussians from the joint one."""

from dataclasses import replace

import naive_em
import numpy as np
import pytest
from cases import numbers_of, random_dataset
from hypothesis import given, settings
from hypothesis import strategies as st
from latent import latent

from extbnsl.core.claims import Claim
from extbnsl.core.errors import BudgetError, InputError
from extbnsl.em import states
from extbnsl.em.expectation import expectation_of
from extbnsl.em.model import Model, flat, never_checked
from extbnsl.em.numbers import contrasts, root_of
from extbnsl.em.states import apportioned
from extbnsl.networks.network import Network

SETTINGS = settings(deadline=None, max_examples=40)
MEMORY = 1 << 22


def random_network(rng, names, most=2):
    order = rng.permutation(len(names)).tolist()
    parents = [()] * len(names)
    for at, x in enumerate(order):
        size = int(rng.integers(min(most, at) + 1))
        parents[x] = tuple(sorted(rng.choice(order[:at], size, replace=False).tolist())) if size else ()
    return Network(tuple(names), tuple(parents))


def states_case(seed, n, records):
    rng = np.random.default_rng(seed)
    data = latent(random_dataset(rng, n, records), seed)
    expected = expectation_of(data, Claim(), MEMORY)
    network = random_network(rng, data.names)
    tables = []
    for child, own in enumerate(network.parents):
        table = rng.random(tuple(data.arities[[*own, child]].tolist())) + 0.05
        tables.append(table / table.sum(axis=-1, keepdims=True))
    return data, expected, Model(network, tuple(tables))


def numbers_case(seed, n, records):
    rng = np.random.default_rng(seed)
    mixed = rng.normal(size=(records + n, n)) @ (np.eye(n) + rng.normal(size=(n, n)) / 2) + rng.normal(size=n)
    data = latent(numbers_of(mixed), seed)
    expected = expectation_of(data, Claim("gaussian-bic"), MEMORY)
    network = random_network(rng, data.names)
    regressions = [np.array([*rng.normal(size=1 + len(own)), rng.random() + 0.1]) for own in network.parents]
    return data, expected, Model(network, tuple(regressions))


@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(1, 30))
def test_a_step_of_states_is_that_of_obvious_code(seed, n, records):
    data, expected, model = states_case(seed, n, records)
    cost, following = expected.step(model, never_checked)
    wanted, tables = naive_em.step(data, model.network.parents, model.parameters)
    assert cost == pytest.approx(wanted, rel=1e-10)
    for own, other in zip(following.parameters, tables, strict=True):
        assert own == pytest.approx(other, abs=1e-10)


@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(4, 30))
def test_a_step_of_numbers_is_that_of_obvious_code(seed, n, records):
    data, expected, model = numbers_case(seed, n, records)
    cost, following = expected.step(model, never_checked)
    wanted, regressions = naive_em.gaussian_step(data, model.network.parents, model.network.order(), model.parameters)
    assert cost == pytest.approx(wanted, rel=1e-9)
    for own, other in zip(following.parameters, regressions, strict=True):
        assert own == pytest.approx(other, rel=1e-6, abs=1e-8)


@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(1, 30))
def test_completed_states_are_whole_records_with_counts_to_a_part_of_one(seed, n, records):
    data, expected, model = states_case(seed, n, records)
    completed = expected.completed(model, never_checked)
    assert (completed.gaps, completed.latent) == (False, False)
    assert completed.each == 1 / expected.parts
    assert completed.records == data.records * expected.parts
    wanted = {}
    for codes in data.codes:
        for record, share in naive_em.posterior(codes, data.arities, model.network.parents, model.parameters)[
            0
        ].items():
            of = (tuple(codes.tolist()), record)
            wanted[of] = wanted.get(of, 0.0) + share
    rows, times = np.unique(completed.codes, axis=0, return_counts=True)
    found = {tuple(row): count * completed.each for row, count in zip(rows.tolist(), times.tolist(), strict=True)}
    in_all = {}
    for (_, record), share in wanted.items():
        in_all.setdefault(record, []).append(share)
    assert set(found) <= set(in_all)
    for record, shares in in_all.items():
        assert abs(found.get(record, 0.0) - sum(shares)) <= len(shares) / expected.parts + 1e-9


@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 6), st.integers(1, 30))
def test_completed_numbers_have_the_expected_moments(seed, n, records):
    data, expected, model = numbers_case(seed, n, records)
    completed = expected.completed(model, never_checked)
    mean, covariance = naive_em.joint_gaussian(model.network.parents, model.network.order(), model.parameters)
    first, second, _ = naive_em.gaussian_moments(data, mean, covariance)
    assert completed.each * completed.records == pytest.approx(data.records)
    assert completed.each * completed.values.sum(axis=0) == pytest.approx(first, rel=1e-9, abs=1e-8)
    assert completed.each * completed.values.T @ completed.values == pytest.approx(second, rel=1e-9, abs=1e-8)
    seen = ~np.isnan(data.values)
    each = completed.values.reshape(data.records, -1, n)
    for t in range(each.shape[1]):
        assert np.array_equal(each[:, t][seen], data.values[seen])


def test_columns_in_any_units_have_their_moments():
    rng = np.random.default_rng(3)
    a = rng.normal(size=(200, 1))
    values = np.hstack([a, a + 1e-3 * rng.normal(size=a.shape), a + rng.normal(size=a.shape)])
    units = np.array([1e9, 1e-9, 1.0])
    plain = latent(numbers_of(values), 4)
    scaled = replace(plain, values=plain.values * units + 1e3 * units)
    network = Network(plain.names, ((), (0,), (1,)))
    found = []
    for data in (plain, scaled):
        expected = expectation_of(data, Claim("gaussian-bic"), MEMORY)
        model = expected.begin(network)
        for _ in range(5):
            _, model = expected.step(model, never_checked)
        found.append(expected.completed(model, never_checked).values)
    assert found[1] / units - 1e3 == pytest.approx(found[0], rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("size", [1, 2, 3, 8, 40])
def test_contrasts_are_orthonormal_and_sum_to_nothing(size):
    own = contrasts(size)
    assert own.T @ own == pytest.approx(np.eye(size - 1), abs=1e-12)
    assert own.sum(axis=0) == pytest.approx(np.zeros(size - 1), abs=1e-12)


def test_a_covariance_that_rounding_spoils_has_a_root():
    flat_one = np.array([[1.0, 1.0 + 1e-15], [1.0 + 1e-15, 1.0]])
    own = root_of(flat_one)
    assert own @ own.T == pytest.approx(flat_one, abs=1e-9)


@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 20))
def test_apportioned_rows_sum_up_and_are_off_by_less_than_one(seed, groups):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 9, groups)
    starts = np.concatenate([[0], sizes.cumsum()[:-1]])
    shares = rng.choice([0.0, 0.5, 1.0, 1 / 3], int(sizes.sum())) + 1e-3 * rng.random(int(sizes.sum()))
    shares /= np.repeat(np.add.reduceat(shares, starts), sizes)
    rows = rng.integers(1, 200, groups)
    found = apportioned(shares, np.repeat(rows.astype(float), sizes))
    assert np.array_equal(np.add.reduceat(found, starts), rows)
    assert found.min() >= 0
    for start, size, many in zip(starts.tolist(), sizes.tolist(), rows.tolist(), strict=True):
        off = found[start : start + size] - shares[start : start + size] * many
        assert np.abs(off).max() < 1.0 + 1e-9
        assert np.abs(off.cumsum()).max() <= 0.5 + 1e-9


def test_many_unlikely_completions_take_turns():
    found = apportioned(np.full(1024, 1 / 1024), np.full(1024, 64.0))
    assert found.sum() == 64
    assert set(np.diff(np.flatnonzero(found)).tolist()) == {16}


@pytest.mark.parametrize("case", [states_case, numbers_case])
def test_models_are_read_as_they_were_written(case):
    _, expected, model = case(7, 5, 30)
    again = expected.shaped(model.network, tuple(flat(model)[name] for name in model.network.names))
    for own, other in zip(again.parameters, model.parameters, strict=True):
        assert np.array_equal(own, other)
    wrong = [list(own) for own in flat(model).values()]
    wrong[2][-1] = -1.0
    with pytest.raises(ValueError, match=r"no table|no regression"):
        expected.shaped(model.network, tuple(map(tuple, wrong)))


@pytest.mark.parametrize("case", [states_case, numbers_case])
def test_steps_never_cost_more(case):
    for seed in range(10):
        _, expected, model = case(seed, 5, 60)
        before = np.inf
        for _ in range(15):
            cost, model = expected.step(model, never_checked)
            assert cost <= before + 1e-9 * abs(cost)
            before = cost


def test_a_record_of_too_many_completions_is_told():
    rng = np.random.default_rng(1)
    data = latent(random_dataset(rng, 30, 20, 4), 1, 0.0)
    codes = data.codes.copy()
    codes[4] = data.arities
    data = replace(data, codes=codes)
    with pytest.raises(InputError, match=r"record 5 lacks 30 values.*--drop.*--missing average"):
        expectation_of(data, Claim(), MEMORY)


def test_memory_that_does_not_do_is_told():
    data, _, _ = states_case(3, 5, 30)
    with pytest.raises(BudgetError, match=r"--memory grants .*--missing average"):
        expectation_of(data, Claim(), 10_000)
    numbers, _, _ = numbers_case(3, 5, 30)
    with pytest.raises(BudgetError, match=r"--memory grants .*--missing average"):
        expectation_of(numbers, Claim("gaussian-bic"), 2000)


def test_parts_follow_memory_and_records():
    data, _, _ = states_case(3, 5, 30)
    assert expectation_of(data, Claim(), 1 << 30).parts == states.MOST_PARTS
    assert 30 * states.LEAST_PARTS * data.record_bytes < 160_000 / 4
    assert expectation_of(data, Claim(), 160_000).parts < states.MOST_PARTS


@pytest.mark.parametrize("score", ["bdeu", "bds", "k2", "fnml", "qnml"])
def test_other_scores_are_refused(score):
    data, _, _ = states_case(3, 3, 10)
    with pytest.raises(InputError, match="--missing em goes by a likelihood"):
        expectation_of(data, Claim(score), MEMORY)
