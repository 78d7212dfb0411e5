"""Posteriors of networks of states, against the joint distribution in full and against what must be the same."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joint_states import joint_table, random_tables, summed

from extbnsl.core.errors import BudgetError
from extbnsl.data import Dataset
from extbnsl.formats.network_reader import read_network
from extbnsl.networks.inference import Tables, joint, log_evidence, marginals
from extbnsl.networks.network import Network, relevant
from extbnsl.networks.parameters import fit, log_likelihoods, sampled


def some_records(rng, tables, count):
    return np.column_stack([rng.integers(0, table.shape[-1], count) for table in tables])


@given(seed=st.integers(0, 2**32), n=st.integers(1, 6), zeros=st.sampled_from([0.0, 0.3]))
@settings(max_examples=150, deadline=None)
def test_answers_are_those_of_the_joint_distribution(seed, n, zeros):
    rng = np.random.default_rng(seed)
    network, tables = random_tables(rng, n, zeros)
    full, codes, known = joint_table(network, tables), some_records(rng, tables, 6), Tables.known(network, tables)
    mixed = rng.permutation(n).tolist()
    observed, others = mixed[: rng.integers(0, n)], mixed[rng.integers(0, n) :]
    targets = [v for v in others if v not in observed] or [mixed[-1]]
    each, all_of_them = marginals(known, targets, codes, observed), joint(known, targets, codes, observed)
    evidence = log_evidence(known, codes, observed)
    for i, record in enumerate(codes):
        expected = summed(full, record, observed, targets)
        assert math.exp(evidence[i]) == pytest.approx(expected.sum(), rel=1e-10, abs=1e-300)
        if expected.sum() > 0:
            assert all_of_them[i] == pytest.approx(expected / expected.sum(), rel=1e-10)
            for target, found in zip(targets, each, strict=True):
                own = summed(full, record, observed, [target])
                assert found[i] == pytest.approx(own / own.sum(), rel=1e-10)


@given(seed=st.integers(0, 2**32))
@settings(max_examples=30, deadline=None)
def test_the_law_of_total_probability(seed):
    """P(a) is the sum over b of P(a | b) P(b), in networks too large for a joint table."""
    rng = np.random.default_rng(seed)
    network, tables = random_tables(rng, 12)
    known, (a, b, c) = Tables.known(network, tables), rng.permutation(12)[:3].tolist()
    states = tables[b].shape[-1]
    codes = np.zeros((states, 12), int)
    codes[:, b], codes[:, c] = range(states), tables[c].shape[-1] - 1
    (of_b,) = marginals(known, [b], codes[:1], [c])
    (given_b,) = marginals(known, [a], codes, [b, c])
    (alone,) = marginals(known, [a], codes[:1], [c])
    assert of_b[0] @ given_b == pytest.approx(alone[0], rel=1e-9)
    assert alone.sum() == pytest.approx(1.0, rel=1e-12)


def naive_bayes(likelihoods):
    """A class of two states, and a child for each (l0, l1), the probabilities of its first state."""
    n = len(likelihoods) + 1
    tables = [np.array([0.3, 0.7])] + [np.array([[a, 1 - a], [b, 1 - b]]) for a, b in likelihoods]
    return Tables.known(Network(tuple(f"v{j}" for j in range(n)), ((), *[(0,)] * (n - 1))), tables)


def test_hundreds_of_given_values_neither_vanish_nor_hide_each_other():
    """The first four hundred would leave 1e-1200 of one state, the last four hundred the same of the other."""
    pieces = [(1e-4, 0.1)] * 400 + [(0.1, 1e-4)] * 400 + [(0.2, 0.4)]
    known, codes = naive_bayes(pieces), np.zeros((1, 802), int)
    expected = np.array([0.3 * 0.2, 0.7 * 0.4])
    (found,) = marginals(known, [0], codes, range(1, 802))
    assert found[0] == pytest.approx(expected / expected.sum(), rel=1e-9)
    assert log_evidence(known, codes, range(1, 802))[0] == pytest.approx(
        400 * (math.log(1e-4) + math.log(0.1)) + math.log(expected.sum()), rel=1e-12
    )
    (one_sided,) = marginals(known, [0], codes, range(1, 401))
    assert one_sided[0].tolist() == [0.0, 1.0]


def test_products_of_every_size_are_summed():
    """A chain whose steps leave 1e-200 of either state, so that no order of products stays within floats."""
    step = np.array([[1e-200, 1.0], [1.0, 1e-200]])
    network = Network(tuple("abcdef"), ((), (0,), (1,), (2,), (3,), (4,)))
    known = Tables.known(network, [np.array([0.5, 0.5])] + [step] * 5)
    (found,) = marginals(known, [0], np.zeros((1, 6), int), [5])
    assert found[0] == pytest.approx([5e-200, 1.0], rel=1e-9, abs=0.0), "one of five steps does not turn"
    together = joint(known, [2, 0], np.zeros((1, 6), int), [5])[0]
    assert together[:, 0] == pytest.approx([3e-200, 2e-200], rel=1e-9, abs=0.0)
    assert marginals(known, [0, 2, 4], np.zeros((1, 6), int), [5])[1][0] == pytest.approx(
        [3e-200, 1.0], rel=1e-9, abs=0.0
    )


def test_what_the_observed_values_exclude_is_no_number():
    table = np.array([[1.0, 0.0], [0.0, 1.0]])
    known = Tables.known(Network(tuple("abc"), ((), (0,), (0,))), [np.array([0.5, 0.5]), table, table])
    codes = np.array([[0, 0, 0], [0, 0, 1], [0, 1, 1]])
    (found,) = marginals(known, [0], codes, [1, 2])
    assert np.isnan(found[1]).all()
    assert found[[0, 2]].tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert log_evidence(known, codes, [1, 2]) == pytest.approx([math.log(0.5), -math.inf, math.log(0.5)])


def test_only_families_that_matter_are_relevant():
    #  a -> b -> c <- d, c -> e, f alone
    network = Network(tuple("abcdef"), ((), (0,), (1, 3), (), (2,), ()))
    assert relevant(network, [0], []) == (0,)
    assert relevant(network, [0], [3]) == (0,), "c is not observed, so d says nothing of a"
    assert relevant(network, [0], [4]) == (0, 1, 2, 3, 4)
    assert relevant(network, [0], [1, 4]) == (0, 1), "b screens off all below"
    assert relevant(network, [5], [0, 1, 2, 3, 4]) == (5,)
    assert relevant(network, [], [3, 4]) == (0, 1, 2, 3, 4)
    assert relevant(network, [], []) == ()


def test_values_of_one_part_that_are_impossible_are_seen_from_another():
    known = Tables.known(Network(("a", "b"), ((), ())), [np.array([1.0, 0.0]), np.array([0.5, 0.5])])
    codes = np.array([[1, 0]])
    assert marginals(known, [1], codes, [0])[0].tolist() == [[0.5, 0.5]]
    assert log_evidence(known, codes, [0], apart_from=[1])[0] == -math.inf
    assert log_evidence(known, codes, [0], apart_from=[0]).tolist() == [0.0]


def test_an_elimination_that_is_too_large_is_refused_before_it_begins():
    n = 40
    network = Network(tuple(f"v{j}" for j in range(n)), (*[()] * (n - 1), tuple(range(0, 4))))
    tables = [np.array([0.5, 0.5])] * (n - 1) + [np.full((2,) * 5, 0.5)]
    with pytest.raises(BudgetError, match=r"^This query needs 16\.0TiB of memory, since .* table of 1,099,511,627,776"):
        joint(Tables.known(network, tables), range(n), np.zeros((1, n), int), (), memory=1 << 34)
    with pytest.raises(BudgetError, match=r"--memory grants 200B: ask for fewer"):
        marginals(Tables.known(network, tables), [n - 1], np.zeros((1, n), int), (), memory=200)


def test_many_records_are_answered_in_parts_as_one_by_one(sizes):
    rng = np.random.default_rng(8)
    network, tables = random_tables(rng, 6, 0.2)
    known, codes = Tables.known(network, tables), some_records(rng, tables, 300)
    whole = marginals(known, [1, 4], codes, [0, 2])
    evidence = log_evidence(known, codes, [0, 2])
    sizes(**{"inference.AT_ONCE": 40})
    for one, other in zip(whole, marginals(known, [1, 4], codes, [0, 2]), strict=True):
        assert np.array_equal(one, other, equal_nan=True)
    assert np.array_equal(evidence, log_evidence(known, codes, [0, 2]))


def test_parameters_are_those_of_the_data_with_smoothing():
    rng = np.random.default_rng(5)
    codes = rng.integers(0, [2, 3, 2, 2], (80, 4)).astype(np.uint16)
    states = tuple(tuple(map(str, range(r))) for r in (2, 3, 2, 3))  # the last one has a state that never occurs
    data = Dataset(tuple("abcd"), states, codes, "<array>")
    network = Network(data.names, ((), (0,), (0, 1), (2,)))
    for smoothing in (0.0, 2.5):
        full = joint_table(network, fit(network, data, smoothing))
        fitted = Tables.fitted(network, data, smoothing)
        assert log_evidence(fitted, codes, range(4)) == pytest.approx(log_likelihoods(network, data, codes, smoothing))
        (found,) = marginals(fitted, [0], np.array([[0, 0, 0, 2]]), [3])
        if smoothing == 0.0:
            assert np.isnan(found).all(), "the state never occurs"
        else:
            own = summed(full, [0, 0, 0, 2], [3], [0])
            assert found[0] == pytest.approx(own / own.sum())


def test_samples_agree():
    rng = np.random.default_rng(6)
    codes = rng.integers(0, 2, (50, 5)).astype(np.uint16)
    data = Dataset(tuple("abcde"), (("0", "1"),) * 5, codes, "<array>")
    network = Network(data.names, ((), (0,), (0, 1), (2,), (1, 3)))
    drawn = sampled(network, data, 40_000, rng)
    alike = drawn[(drawn[:, 4] == 1) & (drawn[:, 2] == 0)]
    (found,) = marginals(Tables.fitted(network, data, 1.0), [0], np.array([[0, 0, 0, 0, 1]]), [2, 4])
    share = (alike[:, 0] == 1).mean()
    assert abs(found[0, 1] - share) < 5 * math.sqrt(share * (1 - share) / len(alike))


def test_a_thousand_children_of_one_variable_and_a_chain_of_a_thousand():
    rng = np.random.default_rng(7)
    star = naive_bayes([(0.3, 0.6)] * 1000)
    of_star = marginals(star, range(1001), np.zeros((1, 1001), int), ())
    assert of_star[500][0] == pytest.approx([0.3 * 0.3 + 0.7 * 0.6, 0.3 * 0.7 + 0.7 * 0.4])
    step = rng.random((1000, 2, 2))
    step /= step.sum(axis=-1, keepdims=True)
    network = Network(tuple(f"v{j}" for j in range(1000)), ((), *((j,) for j in range(999))))
    chain = Tables.known(network, [step[0, 0], *step[1:]])
    (first,) = marginals(chain, [0], np.ones((1, 1000), int), [999])
    back = np.array([0.0, 1.0])
    for table in step[:0:-1]:
        back = table @ back
    assert first[0] == pytest.approx(step[0, 0] * back / (step[0, 0] @ back))


@pytest.mark.parametrize(
    "name", ["pigs", "andes", "water", *(pytest.param(name, marks=pytest.mark.slow) for name in ("diabetes", "link"))]
)
def test_published_networks_are_asked_for_all_variables_at_once(shared_data, name):
    """One by one, which eliminates what else there is in other orders, and fewer variables, says the same."""
    read = read_network(shared_data / "networks" / f"{name}.bif.gz")
    known, rng, n = Tables.known(read.network, read.tables), np.random.default_rng(1), len(read.network.names)
    codes = np.zeros((1, n), int)
    for child in read.network.order():
        row = read.tables[child][tuple(codes[0, p] for p in read.network.parents[child])]
        codes[0, child] = rng.choice(len(row), p=row / row.sum())
    leaves = [v for v, below in enumerate(read.network.children()) if not below]
    others = [v for v in range(n) if v not in leaves[:9]]
    found = marginals(known, others, codes, leaves[:9])
    assert [each.sum() for each in found] == pytest.approx([1.0] * len(others))
    for at in rng.choice(len(others), 5, replace=False).tolist():
        assert found[at] == pytest.approx(marginals(known, [others[at]], codes, leaves[:9])[0], rel=1e-8, abs=1e-12)
