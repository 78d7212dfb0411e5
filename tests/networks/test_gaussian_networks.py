"""What regressions say of records: densities, conditional means and draws, against the joint Gaussian in full."""

import numpy as np
import pytest
from cases import numbers_of, random_numbers
from joint import check_moments, conditional_mean, joint_gaussian, log_density

from extbnsl.core.errors import InputError
from extbnsl.networks.gaussian import Regression, conditioned, log_densities, regressions, sampled
from extbnsl.networks.network import Network


def random_network(rng, n):
    """A network with arcs either way, and regressions of its variables."""
    order = rng.permutation(n)
    parents = [()] * n
    for i, child in enumerate(order.tolist()):
        parents[child] = tuple(sorted(int(p) for p in order[:i] if rng.random() < 0.6))
    fitted = tuple(
        Regression(float(rng.normal() * 10), rng.normal(size=len(own)) * 2, float(rng.uniform(0.1, 4.0)))
        for own in parents
    )
    return Network(tuple(f"v{j}" for j in range(n)), tuple(parents)), fitted


def mean_of(network, fitted, values, target):
    """The mean of one variable given all others."""
    return conditioned(network, fitted, values, [target], set(range(len(fitted))) - {target})[0][:, 0]


def moments(network, fitted):
    numbers = ((own.coefficients, own.intercept, own.variance) for own in fitted)
    return joint_gaussian(network.parents, *zip(*numbers, strict=True))


@pytest.mark.parametrize("seed", range(20))
def test_densities_and_means_are_those_of_the_joint_gaussian(seed):
    rng = np.random.default_rng(seed)
    network, fitted = random_network(rng, int(rng.integers(1, 8)))
    mean, covariance = moments(network, fitted)
    records = mean + rng.normal(size=(9, len(mean))) * 3 * np.sqrt(np.diag(covariance))
    expected = log_density(mean, covariance, records)
    assert log_densities(network, fitted, records) == pytest.approx(expected, rel=1e-7, abs=1e-7)
    for target in range(len(mean)):
        wanted = conditional_mean(mean, covariance, records, target)
        unseen = records.copy()
        unseen[:, target] = np.nan
        found = mean_of(network, fitted, unseen, target)
        assert found == pytest.approx(wanted, rel=1e-7, abs=1e-7)
        assert np.isnan(unseen[:, target]).all(), "what is given stays as it is"


@pytest.mark.parametrize("seed", range(20))
def test_some_variables_given_some_others(seed):
    """By the blocks of the joint covariance, in full."""
    rng = np.random.default_rng(seed)
    network, fitted = random_network(rng, int(rng.integers(2, 9)))
    mean, covariance = moments(network, fitted)
    records = mean + rng.normal(size=(7, len(mean))) * 3 * np.sqrt(np.diag(covariance))
    mixed = rng.permutation(len(mean))
    known, asked = sorted(mixed[: rng.integers(0, len(mean))]), rng.integers(1, len(mean) + 1)
    targets = [int(v) for v in mixed if v not in known][:asked]
    unseen = np.full_like(records, np.nan)
    unseen[:, known] = records[:, known]
    gain = covariance[np.ix_(targets, known)] @ np.linalg.inv(covariance[np.ix_(known, known)])
    means, spread = conditioned(network, fitted, unseen, targets, known)
    expected = mean[targets] + (records[:, known] - mean[known]) @ gain.T
    assert means == pytest.approx(expected, rel=1e-6, abs=1e-6)
    left = covariance[np.ix_(targets, targets)] - gain @ covariance[np.ix_(known, targets)]
    assert spread == pytest.approx(left, rel=1e-6, abs=1e-6 * np.diag(covariance).max())
    own = covariance[np.ix_(known, known)]
    assert log_densities(network, fitted, unseen, known) == pytest.approx(
        log_density(mean[known], own, records[:, known]), rel=1e-6, abs=1e-6
    )


def test_given_everything_and_given_nothing():
    network, fitted = random_network(np.random.default_rng(4), 5)
    mean, covariance = moments(network, fitted)
    means, spread = conditioned(network, fitted, np.full((1, 5), np.nan), [4, 0, 2, 1, 3], ())
    assert means[0] == pytest.approx(mean[[4, 0, 2, 1, 3]])
    assert spread == pytest.approx(covariance[np.ix_([4, 0, 2, 1, 3], [4, 0, 2, 1, 3])])
    assert log_densities(network, fitted, np.full((3, 5), np.nan), ()).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("seed", range(3))
def test_draws_have_the_moments_of_the_joint_gaussian(seed):
    rng = np.random.default_rng(seed)
    network, fitted = random_network(rng, 5)
    check_moments(*moments(network, fitted), sampled(network, fitted, 50_000, rng))


def test_only_the_markov_blanket_matters():
    rng = np.random.default_rng(2)
    parents = ((), (0,), (), (1, 2), (3,))  # the blanket of 1: its parent 0, its child 3 and that one's parent 2
    fitted = tuple(Regression(1.0, rng.normal(size=len(own)), 0.5) for own in parents)
    network = Network(("a", "b", "c", "d", "e"), parents)
    records = rng.normal(size=(6, 5))
    before = mean_of(network, fitted, records, 1)
    for j, matters in enumerate([True, False, True, True, False]):
        other = records.copy()
        other[:, j] += 1.0
        assert (mean_of(network, fitted, other, 1) != before).all() == matters


def test_units_make_no_difference():
    numbers = random_numbers(np.random.default_rng(5), 4, 40)
    network = Network(numbers.names, ((1,), (), (0, 1), (2,)))
    units = np.array([1e-90, 1e90, -1.0, 1e-140])
    other = numbers_of(numbers.values * units)
    plain, scaled = regressions(network, numbers), regressions(network, other)
    shift = np.log(np.abs(units)).sum()
    assert log_densities(network, scaled, other.values) + shift == pytest.approx(
        log_densities(network, plain, numbers.values), rel=1e-9
    )
    for target in range(4):
        expected = mean_of(network, plain, numbers.values, target)
        found = mean_of(network, scaled, other.values, target) / units[target]
        assert found == pytest.approx(expected, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("own", [[7.0] * 6, [0.0] * 6])
def test_a_constant_column_has_no_density_and_no_effect(own):
    values = np.column_stack([own, np.arange(6.0) ** 2])
    child, parent = Network(("v0", "v1"), ((1,), ())), Network(("v0", "v1"), ((), (0,)))
    for network in (child, parent):
        fitted = regressions(network, numbers_of(values))
        assert (fitted[0].intercept, fitted[0].variance) == (own[0], 0.0)
        assert np.isfinite(
            [one for each in fitted for one in (each.intercept, each.variance, *each.coefficients)]
        ).all()
        for ask in (
            lambda network=network, fitted=fitted: log_densities(network, fitted, values),
            lambda network=network, fitted=fitted: sampled(network, fitted, 2, np.random.default_rng(1)),
            lambda network=network, fitted=fitted: mean_of(network, fitted, values, 0),
        ):
            with pytest.raises(InputError, match=r"^'v0' has no density by the network, .* variance of 0: .*\.$"):
                ask()


def test_a_column_that_others_determine_is_refused_where_it_is_needed():
    network = Network(("a", "b", "c"), ((), (0,), ()))
    fitted = (
        Regression(0.0, np.array([]), 1.0),
        Regression(0.0, np.array([2.0]), 0.0),
        Regression(3.0, np.array([]), 1.0),
    )
    records = np.ones((2, 3))
    for target in (0, 1):
        with pytest.raises(InputError, match="'b' has no density"):
            mean_of(network, fitted, records, target)
    assert mean_of(network, fitted, records, 2).tolist() == [3.0, 3.0]
