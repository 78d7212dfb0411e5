"""Imputed tables: their records count once, and the resamples are the tables."""

import numpy as np
import pandas
import pytest
from asking import bootstrap_network, solve
from cases import from_dataframe

import extbnsl
from extbnsl.core.claims import Claim
from extbnsl.core.errors import InputError
from extbnsl.solver.methods import Resamples


def long_frame(tables=3, records=40, seed=2):
    """Tables of the same records, but for one column in a fifth of them; rows in any order."""
    rng = np.random.default_rng(seed)
    whole = pandas.DataFrame(rng.integers(0, 3, (records, 3)), columns=list("abc"))
    lacking = rng.random(records) < 0.2
    parts = []
    for table in range(1, tables + 1):
        own = whole.copy()
        own.loc[lacking, "b"] = rng.integers(0, 3, int(lacking.sum()))
        parts.append(own.assign(imp=table))
    return pandas.concat(parts).sample(frac=1.0, random_state=seed).reset_index(drop=True)


def test_records_count_once():
    frame = long_frame()
    data = from_dataframe(frame, imputation="imp")
    assert (data.observed, data.records, data.tables) == (40, 120, 3)
    assert data.total == pytest.approx(40.0)
    result = solve(data, Claim("mdl"))
    stacked = from_dataframe(frame.drop(columns="imp"))
    price = np.log(40) / 2
    same = solve(stacked, Claim("mdl", penalty=3 * price))
    assert result.cost == pytest.approx(same.cost / 3, rel=1e-9)
    assert result.parents == same.parents


def test_resamples_are_the_tables():
    frame = long_frame()
    found = bootstrap_network(from_dataframe(frame, imputation="imp"), Resamples(3)).bootstrap
    for one in found.done:
        own = frame[frame["imp"] == one.number].drop(columns="imp").reset_index(drop=True)
        assert one.cost == pytest.approx(solve(from_dataframe(own)).cost, rel=1e-9)
    with pytest.raises(InputError, match="the resamples are the 3 imputed tables: give 3"):
        bootstrap_network(from_dataframe(frame, imputation="imp"), Resamples(4))


@pytest.mark.parametrize(
    ("change", "options", "sentence"),
    [
        ({}, {"imputation": "x"}, "has no column 'x'"),
        ({"imp": 1}, {}, "column 'imp' of .* names one table alone, '1'"),
        ({"imp": [None, *[1, 2] * 59, 1]}, {}, "record 1 of .* has no table in column 'imp'"),
        ({"imp": [None, *[1, 2] * 59, 1]}, {"missing": "drop"}, "record 1 of .* has no table in column 'imp'"),
        ({"imp": [None, *[1, 2] * 59, 1]}, {"missing": "average"}, "record 1 of .* has no table in column 'imp'"),
        (
            {"imp": [1, *[1, 2] * 59, 1]},
            {},
            r"the tables in column 'imp' of .* have different numbers of records: .*61",
        ),
        ({}, {"weights": "a"}, "exclude each other"),
        ({}, {"time_column": "a"}, "exclude each other"),
        ({"b": [None, *[1] * 119]}, {}, "missing"),
    ],
)
def test_what_is_no_set_of_tables_is_refused(change, options, sentence):
    frame = long_frame().assign(**change)
    with pytest.raises(InputError, match=sentence):
        from_dataframe(frame, **({"imputation": "imp"} | options))


def test_scores_that_count_whole_records_are_refused():
    with pytest.raises(InputError, match="counts whole records"):
        extbnsl.learn(long_frame(), imputation="imp", score="fnml")


@pytest.mark.parametrize("score", ["bdeu", "bds", "k2"])
def test_the_same_table_twice_is_that_table_by_priors(score):
    rng = np.random.default_rng(8)
    table = pandas.DataFrame(rng.integers(0, 2, (80, 4)), columns=list("abcd"))
    twice = pandas.concat([table.assign(imp=1), table.assign(imp=2)])
    result, alone = extbnsl.learn(twice, imputation="imp", score=score), extbnsl.learn(table, score=score)
    assert (result.status, result.parents) == ("optimal", alone.parents)
    assert result.cost == pytest.approx(alone.cost, rel=1e-12)


def test_numbers_too():
    rng = np.random.default_rng(4)
    frame = pandas.DataFrame(rng.normal(size=(60, 3)), columns=list("abc")).assign(imp=np.repeat([1, 2], 30))
    result = extbnsl.learn(frame, imputation="imp", score="gaussian-bic", bootstrap=2)
    alone = extbnsl.learn(frame[frame["imp"] == 2].drop(columns="imp"), score="gaussian-bic")
    assert result.bootstrap.done[1].cost == pytest.approx(alone.cost, rel=1e-9)
