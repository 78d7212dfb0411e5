"""The cheapest family of a column of numbers by itself, where columns of the past determine each other: against all
regular sets, and the bound by what it must hold."""

import itertools

import asking
import numpy as np
import pytest

from extbnsl.core.claims import Claim
from extbnsl.core.data_options import DataOptions
from extbnsl.core.errors import InputError
from extbnsl.data import measured
from extbnsl.data.given import given
from extbnsl.kernels.varsets import pack, unpack
from extbnsl.machine.workers import Workers
from extbnsl.parents.exhaustive.alone import cheapest_family
from extbnsl.parents.exhaustive.alone_numbers import _split
from extbnsl.parents.exhaustive.measured import _dependent, _regular_sets
from extbnsl.parents.exhaustive.source import source_of
from extbnsl.scores.determinants import SQUARES
from extbnsl.scores.gaussian import LEAST_SHARE
from extbnsl.solver.opening import Request
from extbnsl.verify.statement import Given, check_result


def autoregression(seed, n, records):
    rng = np.random.default_rng(seed)
    matrix = np.eye(n) + rng.normal(size=(n, n)) * (rng.random((n, n)) < 3 / n)
    matrix *= 0.9 / np.abs(np.linalg.eigvals(matrix)).max()
    values = np.zeros((records, n))
    for t in range(1, records):
        values[t] = matrix @ values[t - 1] + rng.normal(size=n)
    return values


def before(column):
    return np.r_[0.0, column[:-1]]


def near(column, rng, length):
    """A copy but for noise of this length, as a part of its standard deviation."""
    return column + length * column.std() * rng.normal(size=column.size)


AT_THE_LIMIT = LEAST_SHARE**0.5
MORE = {  # columns beside those of a series x, by what they are
    "a copy and a sum": lambda x, rng: [x[:, 0], x[:, 1] + x[:, 2]],
    "sums in a chain": lambda x, rng: [x[:, 0] + x[:, 1], x[:, 1] - x[:, 2], 3.0 * x[:, 3] + 7.0],
    "near copies": lambda x, rng: [
        near(x[:, 0], rng, 10.0 ** -rng.uniform(3, 7)),
        near(x[:, 1] + x[:, 2], rng, 10.0 ** -rng.uniform(3, 7)),
    ],
    "near copies at the limit": lambda x, rng: [
        near(x[:, 0], rng, AT_THE_LIMIT * rng.uniform(0.7, 1.4)),
        near(x[:, 0], rng, AT_THE_LIMIT * rng.uniform(0.7, 1.4)),
        x[:, 2],
    ],
    "children that the past determines": lambda x, rng: [before(x[:, 0]), before(x[:, 1] + x[:, 2])],
    "all of that": lambda x, rng: [
        near(before(x[:, 0]), rng, 10.0 ** -rng.uniform(3, 7)),
        x[:, 1] + x[:, 2] + x[:, 3],
        x[:, 0],
    ],
}


def series_with(kind, seed):
    values = autoregression(seed, 4, 80)
    more = MORE[kind](values, np.random.default_rng(seed))
    return np.column_stack([values, *more])


def made(values):
    rows = {"t": range(len(values))} | {f"x{v}": column for v, column in enumerate(values.T)}
    return given(rows).made(measured, DataOptions(time_column="t", instant=False))


def searched(values, claim):
    """What the search finds of each column: the source, the columns, their families and how many nodes it took."""
    data = made(values)
    source = source_of(data, Request(data, claim).claim)
    problem, halt = source.problem(0.0), np.zeros(1, np.uint8)
    group = source.groups(problem, True)[-1]
    assert group.alone
    problem = source.for_group(problem, group)
    with Workers(1) as workers:
        problem = source.with_limits(problem, workers)
    return source, {child: cheapest_family(child, problem, halt) for child in group.children}


@pytest.mark.parametrize(("most", "penalty"), [(None, None), (3, 0.4)])
@pytest.mark.parametrize("seed", range(9))
@pytest.mark.parametrize("kind", MORE)
def test_it_is_the_cheapest_of_all_regular_sets(kind, seed, most, penalty):
    values = series_with(kind, seed)
    n = values.shape[1]
    source, found = searched(values, Claim("gaussian-bic", most, penalty=penalty))
    sets = [own for size in range((most or n) + 1) for own in itertools.combinations(range(n, 2 * n), size)]
    varsets = np.stack([pack(own, 2 * n) for own in sets])
    assert list(found) == list(range(n))
    for child, ((families, costs), _) in found.items():
        best = source.columns[0].costs(child, varsets, source.price).min()
        assert source.cost(child, unpack(families[0])) == pytest.approx(best, abs=1e-6)
        assert source.shifted(child, float(costs[0])) <= best + 1e-6


@pytest.mark.parametrize("kind", MORE)
def test_families_are_in_the_order_of_their_costs(kind):
    """And the empty one is last."""
    _, found = searched(series_with(kind, 20), Claim("gaussian-bic"))
    for (families, costs), _ in found.values():
        assert not families[-1].any()
        assert (np.diff(costs) > 0).all()


def columns_with(kind, seed):
    """The correlations and the factor of the columns of such a series."""
    centred = series_with(kind, seed)
    centred = centred - centred.mean(axis=0)
    factor = np.linalg.qr(centred / np.linalg.norm(centred, axis=0), mode="r").T
    return factor @ factor.T, np.ascontiguousarray(factor)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("kind", ["a copy and a sum", "sums in a chain", "near copies", "all of that"])
def test_what_the_bound_takes_of_regular_sets_is_there(kind, seed):
    matrix, factor = columns_with(kind, seed)
    groups = [
        [np.array(own) for own, _ in _regular_sets(factor, sorted(group))]
        for group in _dependent(factor, range(len(factor)))
    ]
    split, short = _split(matrix, groups)
    assert np.linalg.eigvalsh(matrix - split.part)[0] >= -short
    assert short < 1e-6
    assert (split.shares > 1e3 * SQUARES).all()
    for number, regular in enumerate(itertools.chain(*groups)):
        part = split.part[np.ix_(regular, regular)]
        assert np.linalg.eigvalsh(part - np.diag(split.shares[number, regular]))[0] >= short
        assert (split.shares[-1, regular] <= split.shares[number, regular]).all()
        assert (split.sets[number].nonzero()[0] == regular).all()
    alone = split.own < 0
    assert np.diag(split.part)[alone] - 2.0 * short == pytest.approx(split.shares[-1, alone])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n", [12, 30])
def test_copies_sums_and_differences_take_few_nodes(n, seed):
    """Of twelve more than 100,000, where groups that are regular at a node have no bound of their own."""
    values = autoregression(seed, n, 34 * n)
    more = [values[:, 0], values[:, 1] + values[:, 2], values[:, 3] - values[:, 4]]
    _, found = searched(np.column_stack([values, *more]), Claim("gaussian-bic"))
    assert sum(counted for _, counted in found.values()) < 20_000


def test_shares_of_a_whole_take_few_nodes():
    """Each is one minus the others."""
    parts = np.exp(0.3 * autoregression(4, 12, 400))
    _, found = searched(parts / parts.sum(axis=1, keepdims=True), Claim("gaussian-bic"))
    assert sum(counted for _, counted in found.values()) < 20_000


def test_few_records_are_not_searched_child_by_child():
    """Each twelve of the columns of the past are regular, or nearly each: these are too many."""
    data = made(autoregression(5, 16, 14))
    source = source_of(data, Claim("gaussian-bic"))
    assert source.columns[0].groups is None
    assert not source.alone()


def test_a_column_that_never_varies_in_the_past_is_refused():
    values = autoregression(6, 3, 50)
    values[:-1, 2] = 1.0
    with pytest.raises(InputError, match=r"'x2\[t-1\]' has the same number"):
        source_of(made(values), Claim("gaussian-bic"))


def test_a_solve_is_proved_and_holds():
    values = autoregression(7, 5, 120)
    data = made(np.column_stack([values, values[:, 0], values[:, 1] + values[:, 2]]))
    found = asking.solve(data, Claim("gaussian-bic"))
    assert found.status == "optimal"
    source = source_of(data, Claim("gaussian-bic"))
    costs = [source.cost(child, found.network.parents[child]) for child in range(7)]
    assert found.cost == pytest.approx(sum(costs), abs=1e-6)
    with Workers(1) as workers:
        stated = check_result(Given(found.document(), lambda: [], None, data, {}, {}), workers)
    assert stated.holds
