"""What networks of states and numbers say of states, against all joint states one by one."""

import itertools
import math

import numpy as np
import pytest

from extbnsl.core.errors import InputError
from extbnsl.networks.conditional import Conditionals, Family, conditioned, joint, log_densities_observed
from extbnsl.networks.gaussian import Regression
from extbnsl.networks.network import Network

NEAR = 1e-9


def random_known(rng, kinds, zeros):
    """A network over variables of so many states, 0 of numbers, with parameters: so many entries of tables are 0."""
    n, parents, families = len(kinds), [], []
    for child, arity in enumerate(kinds):
        own = tuple(p for p in range(child) if (kinds[p] or not arity) and rng.random() < 0.6)
        parents.append(own)
        discrete, numbers = (tuple(p for p in own if bool(kinds[p]) == states) for states in (True, False))
        shape = tuple(kinds[p] for p in discrete)
        if arity:
            table = rng.random((*shape, arity)) * (rng.random((*shape, arity)) >= zeros)
            table[..., 0] += table.sum(axis=-1) == 0
            families.append(Family(table / table.sum(axis=-1, keepdims=True), discrete, numbers, shape))
            continue
        fits = (
            Regression(rng.normal(), rng.normal(size=len(numbers)), 0.5 + rng.random()) for _ in range(math.prod(shape))
        )
        families.append(Family(None, discrete, numbers, shape, tuple(fits)))
    states = tuple(tuple(f"s{i}" for i in range(arity)) for arity in kinds)
    return Conditionals(Network(tuple(f"v{i}" for i in range(n)), tuple(parents)), states, tuple(families))


def density(known, codes, values):
    """How likely one record is, family by family."""
    total = 1.0
    for child, family in enumerate(known.families):
        own = tuple(codes[p] for p in family.discrete)
        if family.table is not None:
            total *= family.table[(*own, codes[child])]
            continue
        fit = family.regressions[int(np.ravel_multi_index(own, family.shape)) if own else 0]
        mean = fit.intercept + sum(s * values[p] for s, p in zip(fit.coefficients, family.numbers, strict=True))
        total *= math.exp(-((values[child] - mean) ** 2) / (2 * fit.variance)) / math.sqrt(2 * math.pi * fit.variance)
    return total


@pytest.mark.parametrize("zeros", [0.0, 0.5])
@pytest.mark.parametrize("seed", range(12))
def test_states_given_others_and_all_numbers(seed, zeros):
    rng = np.random.default_rng(seed)
    kinds = rng.permutation([2, 3, 2, 2, 0, 0]).tolist()
    known = random_known(rng, kinds, zeros)
    discrete, numbers = [v for v in range(6) if kinds[v]], [v for v in range(6) if not kinds[v]]
    codes, values = rng.integers(0, np.maximum(kinds, 1), (3, 6)), rng.normal(size=(3, 6))
    for many in range(4):
        targets = discrete[many:]
        observed = sorted({*discrete[:many], *numbers})
        lacking = np.ones((3, 6), bool)
        lacking[:, observed] = False
        logs = log_densities_observed(known, codes, values, lacking)
        answer = conditioned(known, codes, values, targets, observed)
        for row in range(3):
            expected = np.zeros([kinds[v] for v in targets])
            for own in itertools.product(*(range(kinds[v]) for v in targets)):
                codes[row, targets] = own
                expected[own] = density(known, codes[row], values[row])
            total = expected.sum()
            one = slice(row, row + 1)
            together = joint(known, codes[one], values[one], targets, observed)
            if total == 0.0:  # because of what the targets depend on, or of something else
                assert logs[row] == -math.inf
                for own in (together, *(answer.states[v][row] for v in targets)):
                    assert np.isnan(own).all() or own.sum() == pytest.approx(1.0)
                continue
            assert logs[row] == pytest.approx(math.log(total), abs=NEAR)
            np.testing.assert_allclose(together, expected / total, atol=NEAR)
            for axis, v in enumerate(targets):
                others = tuple(a for a in range(len(targets)) if a != axis)
                np.testing.assert_allclose(answer.states[v][row], expected.sum(axis=others) / total, atol=NEAR)


def test_states_that_no_number_depends_on_may_be_many():
    """A chain of 40 variables of states has 2^40 joint states; the number at its end depends on the last alone."""
    n, step = 40, np.array([[0.9, 0.1], [0.3, 0.7]])
    table = [Family(np.array([0.5, 0.5]), (), (), ()), *(Family(step, (v,), (), (2,)) for v in range(n - 1))]
    end = Family(None, (n - 1,), (), (2,), (Regression(0.0, np.zeros(0), 1.0), Regression(5.0, np.zeros(0), 2.0)))
    names = tuple(f"v{i}" for i in range(n + 1))
    network = Network(names, ((), *((v,) for v in range(n))))
    known = Conditionals(network, (("a", "b"),) * n + ((),), (*table, end))
    share = (np.array([0.0, 1.0]) @ np.linalg.matrix_power(step, n - 1))[1]
    codes, values = np.ones((1, n + 1), np.int64), np.zeros((1, n + 1))
    answer = conditioned(known, codes, values, [n, n - 1], [0])
    assert answer.states[n - 1][0] == pytest.approx([1.0 - share, share])
    assert answer.means[0, 0] == pytest.approx(5.0 * share)
    assert answer.covariances[0, 0, 0] == pytest.approx(1.0 + share + 25.0 * share * (1.0 - share))


def test_too_many_joint_states_are_refused(monkeypatch):
    monkeypatch.setattr("extbnsl.networks.conditional.MOST_JOINT", 3)
    known = random_known(np.random.default_rng(0), [2, 2, 0], 0.0)
    network = Network(known.network.names, ((), (), (0, 1)))
    fits = (Regression(0.0, np.zeros(0), 1.0),) * 4
    known = Conditionals(network, known.states, (*known.families[:2], Family(None, (0, 1), (), (2, 2), fits)))
    with pytest.raises(InputError, match="4 joint states that numbers depend on"):
        conditioned(known, np.zeros((1, 3), np.int64), np.zeros((1, 3)), [2], [])
