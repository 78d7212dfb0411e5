"""Limits from records, arities and entropies: the paper's numbers, and against all networks of up to five variables."""

import math

import naive
import numpy as np
import pytest
from cases import dataset_of, random_dataset
from kbest_twins import at_most, good_subgraphs, k_best, problem_of, small_dataset, subsets_of, within

from extbnsl.core.claims import Claim
from extbnsl.lab.parent_limits.limits import LimitProblem, corollary_1, corollary_2, most_lacking, theorem_5
from extbnsl.lab.parent_limits.permutations import parent_limits, score_list_bytes
from extbnsl.machine.workers import Workers
from extbnsl.parents.exhaustive.problem import varying
from extbnsl.parents.exhaustive.source import source_of

NUMBERS = (1, 2, 3, 10, 100, 1000)


def binary(records, n=30, states=2):
    """Uniform variables of so many states under MDL, of which nothing is known but that."""
    entropies = np.full(n, records * math.log(states))
    return LimitProblem(records, np.full(n, states), entropies, entropies, math.log(records) / 2, n - 1)


@pytest.mark.parametrize(
    ("power", "one", "many"),
    [
        *((6, 4, 5), (7, 5, 6), (8, 6, 7), (9, 6, 7), (10, 7, 8), (11, 8, 9)),
        *((12, 9, 10), (13, 10, 11), (14, 11, 12), (15, 12, 13), (16, 13, 14)),
    ],
)
def test_the_tables_of_d(power, one, many):
    """Those of Theorem 2 and Corollary 1, for 2^6 to 2^16 records."""
    problem = binary(2**power)
    assert set(theorem_5(problem, 1).tolist()) == {one}
    for states in (2, 3):
        for k in (1, 2 ** (many + 1) - 1):
            assert set(corollary_1(binary(2**power, states=states), k).tolist()) == {many}
        assert set(corollary_1(binary(2**power, states=states), 2 ** (many + 1)).tolist()) == {many + 1}


def test_the_examples_of_the_paper():
    assert corollary_1(binary(2**10), 511)[0] == 8
    assert corollary_1(binary(2**10), 1000)[0] == 9
    problem = binary(2**8)
    assert corollary_1(problem, 255)[0] == 7
    assert corollary_1(problem, 1000)[0] == 9
    assert corollary_2(problem, 0, [1], 2, 1000) == 8
    assert corollary_2(problem, 0, [1], 2, 2044) == 8
    assert corollary_2(problem, 0, [1], 2, 2045) == 9


def test_the_sizes_of_lists():
    """S and s of Table 1: as printed, for hepatitis, imports, sensors and flag."""
    for n, full, pruned in [
        (20, 0.16, {6: 0.01, 7: 0.03}),
        (22, 0.69, {6: 0.03, 7: 0.07}),
        (25, 6.25, {10: 1.69}),
        (29, 116.00, {6: 0.22, 7: 0.73}),
    ]:
        assert score_list_bytes(n) / 2**30 == pytest.approx(full, abs=0.005)
        for most, size in pruned.items():
            assert score_list_bytes(n, most) / 2**30 == pytest.approx(size, abs=0.005)
    assert score_list_bytes(5, 9) == score_list_bytes(5) == 16 * 5 * 16
    assert score_list_bytes(5, 0) == 16 * 5


def test_subsets_are_counted():
    """Against all subsets of b + i variables that lack j of the first b, or only some of the last i."""
    for b in range(1, 5):
        for idle in range(3):
            for exponent in range(3):
                first, all_of_them = (1 << b) - 1, (1 << b + idle) - 1
                subsets = [own for own in range(all_of_them) if own & first != first]
                alone = 2**idle - 1
                counts = {
                    j: sum(b - (own & first).bit_count() >= j for own in subsets) * 2**exponent + alone
                    for j in range(1, b + 1)
                }
                for k in range(1, counts[1] + 3):
                    expected = max((j for j in counts if counts[j] >= k), default=0)
                    assert most_lacking(b, exponent, idle, k) == expected


@pytest.mark.parametrize("score", ["mdl", "aic"])
def test_for_one_network_theorem_5_is_the_limit_of_counting(score):
    claim = Claim(score=score)
    for seed in range(40):
        rng = np.random.default_rng(seed)
        dataset = random_dataset(rng, int(rng.integers(2, 9)), int(rng.integers(2, 200)))
        found, order = theorem_5(problem_of(dataset, claim), 1), varying(dataset)
        if order.size:
            with Workers(1) as workers:
                source = source_of(dataset, claim)
                counting = source.with_floors(source.problem(0.0), workers)
                expected = source.with_limits(counting, workers).limits
            assert found[order].tolist() == expected.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("score", ["mdl", "aic"])
@pytest.mark.parametrize(("n", "seeds"), [(3, 40), (4, 40), (5, 20)])
def test_the_k_best_keep_the_limits(n, seeds, score):
    """All of the costs of the k best networks of all are those of networks that keep to the limits."""
    claim, biting = Claim(score=score), {"corollary": 0, "theorem": 0}
    for seed in range(seeds):
        dataset = small_dataset(seed, n)
        problem = problem_of(dataset, claim)
        costs = naive.all_local_scores(dataset.codes, dataset.arities, None, score)
        for k in NUMBERS:
            expected = k_best(costs, k)
            for name, limits in (("corollary", corollary_1(problem, k)), ("theorem", theorem_5(problem, k))):
                biting[name] += bool((limits < n - 1).any())
                np.testing.assert_allclose(k_best(costs, k, within(limits)), expected, rtol=1e-9, atol=1e-9)
    assert biting["theorem"] > seeds * len(NUMBERS) * 0.4
    assert biting["corollary"] > seeds * len(NUMBERS) * 0.1


@pytest.mark.slow
@pytest.mark.parametrize("score", ["mdl", "aic"])
def test_a_family_beyond_a_limit_has_k_subsets_that_are_as_good(score):
    claim, biting = Claim(score=score), 0
    for seed in range(60):
        dataset = small_dataset(seed, 5)
        problem = problem_of(dataset, claim)
        costs = naive.all_local_scores(dataset.codes, dataset.arities, None, score)
        for k in (1, 2, 3, 4, 7, 8, 12, 15):
            limits = np.minimum(corollary_1(problem, k), theorem_5(problem, k))
            for child in range(5):
                for parents in subsets_of(31 ^ 1 << child):
                    if parents.bit_count() > limits[child]:
                        biting += 1
                        assert subsets_as_good(costs, child, parents) >= k
    assert biting > 1000


def subsets_as_good(costs, child, parents):
    """How many proper subsets of a family's parents cost at most what it does."""
    return int(at_most(costs[child][subsets_of(parents)], costs[child][parents]).sum()) - 1


def test_limits_hold_among_networks_of_few_parents():
    for seed in range(30):
        dataset = small_dataset(seed, 4)
        problem = problem_of(dataset, Claim(max_parents=2))
        costs = naive.all_local_scores(dataset.codes, dataset.arities, 2)
        assert (corollary_1(problem, 1000) <= 2).all()
        for k in NUMBERS:
            limits = theorem_5(problem, k)
            np.testing.assert_allclose(k_best(costs, k, within(limits)), k_best(costs, k), rtol=1e-9, atol=1e-9)


def test_constant_parents_are_no_help():
    """Two records of AIC, X = Y, two constants: the paper's d for four networks is 2. But X with Y and both constants
    has three subsets as good, not seven: those with Y."""
    dataset = dataset_of(np.array([[0, 0, 0, 0], [1, 1, 0, 0]]))
    problem = problem_of(dataset, Claim(score="aic"))
    costs = naive.all_local_scores(dataset.codes, dataset.arities, None, "aic")
    without_idle = problem_of(dataset_of(dataset.codes[:, :2]), Claim(score="aic"))
    assert math.floor(math.log2(2 * 2 * math.log(2))) == 1
    assert corollary_1(without_idle, 4).tolist() == [1, 1]  # all that there are; of more, two
    assert subsets_as_good(costs, 0, 0b1110) == 3
    assert corollary_1(problem, 4)[0] == 3
    assert theorem_5(problem, 4)[0] == 3
    assert corollary_1(problem, 1)[0] == 1  # the constants only tie


def test_alpha_is_at_least_one():
    """A child of eight states, of three independent parents of two; another child copies one of these. By the paper's
    own alpha, 1 / 7, d is 2, and all 14 subgraphs would be as good; the empty one is not."""
    bits = np.array([[i >> 3 & 1, i >> 2 & 1, i >> 1 & 1] for i in range(16)] * 2)
    dataset = dataset_of(np.column_stack([bits @ [4, 2, 1], bits, bits[:, 0]]))
    costs = naive.all_local_scores(dataset.codes, dataset.arities)
    assert math.floor(math.log2(4 * 32 / math.log2(32) / 7 * 2)) == 2
    assert good_subgraphs(costs, [0b01110, 0, 0, 0, 0b00010]) == 13
    assert corollary_2(binary_child_of(8, 32), 0, [4], 1, 14) == 5


def binary_child_of(states, records):
    """A child of so many states and ten variables of two."""
    arities = np.array([states] + [2] * 10)
    entropies = records * np.log(arities)
    return LimitProblem(records, arities, entropies, entropies, math.log(records) / 2, 10)


def test_a_child_of_one_state():
    """Nothing is saved by taking its parents away: no other family may lose anything."""
    problem = binary_child_of(1, 256)
    assert corollary_2(problem, 0, (), 0, 1) == 7
    assert corollary_2(problem, 0, [1], 2, 1) == 10  # no limit
    assert corollary_2(binary_child_of(2, 256), 1, [0], 0, 1) == 8
    assert theorem_5(problem, 1)[0] == 0
    assert theorem_5(problem, 3)[0] == 1
    assert theorem_5(problem, 4)[0] == 2


def test_one_record_has_no_penalty():
    problem = problem_of(dataset_of(np.zeros((1, 3)), [2, 2, 1]))
    assert corollary_1(problem, 1).tolist() == [2, 2, 2]
    assert theorem_5(problem, 1).tolist() == [0, 0, 0]
    assert theorem_5(problem, 2).tolist() == [1, 1, 1]  # all cost nothing: 25 networks, most of them of few arcs


def test_the_tightest_names_its_theorem():
    problem = binary(2**8)
    assert set(parent_limits(problem, None, 1000).by) == {"corollary 1"}
    assert set(parent_limits(problem, None, 1).by) == {"theorem 5"}
    assert set(parent_limits(binary(2**8, n=4), None, 1).by) == {"none"}
    assert [parent_limits(problem, None, k).most for k in (1, 255, 1000)] == [6, 7, 9]
