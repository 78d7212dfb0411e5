"""The call `learn` from Python: what it takes, what it refuses, and in which words."""

import importlib.util

import numpy as np
import pytest

import extbnsl
from extbnsl.data import from_array
from extbnsl.errors import InputError
from extbnsl.verify.rescoring import score_network


@pytest.fixture
def table():
    """Sixty records of four variables: b follows a, d follows b and c."""
    random = np.random.default_rng(7)
    a, c, noise = random.integers(0, 2, (3, 60))
    b = np.where(random.random(60) < 0.9, a, 1 - a)
    return np.column_stack([a, b, c, (b + c + (noise & a & c)) % 3])


@pytest.fixture
def dataset(table):
    return from_array(table, list("abcd"))


def test_learn_takes_what_people_have(capsys, table, dataset):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(table, columns=list("abcd"))
    results = [
        extbnsl.learn(frame, memory="1GiB", threads=1, time_limit="1h"),
        extbnsl.learn(table, names=list("abcd")),
        extbnsl.learn(dataset, lower_bound="static", path_extension=False),
    ]
    assert all(isinstance(result, extbnsl.Result) for result in results)
    assert len({result.cost for result in results}) == 1
    assert results[0].cost == pytest.approx(score_network(dataset, results[0].network), rel=1e-12)
    again = extbnsl.learn(results[0].local_scores, progress=True)
    assert again.cost == pytest.approx(results[0].cost, rel=1e-12)
    assert capsys.readouterr().err
    seen = []
    extbnsl.learn(table, progress=seen.append)
    assert seen


def test_learn_spills_and_leaves_nothing_behind(tmp_path):
    table = np.random.default_rng(3).integers(0, 2, (200, 14))
    table[:, 7:] ^= table[:, :7] & table[:, 1:8]
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    compress = importlib.util.find_spec("hdf5plugin") is not None
    options = {"scratch_dir": scratch, "disk": "1GiB", "lower_bound": "static", "compress": compress}
    results = [
        extbnsl.learn(table, memory=memory, parent_graph=graph, **options)
        for memory, graph in (("1GiB", "sparse"), ("16MiB", "sparse"), ("16MiB", "layered"))
    ]
    assert len({result.cost for result in results}) == 1
    assert not any(scratch.iterdir())


def test_learn_refuses_in_a_sentence(table, dataset):
    for data, options, word in (
        (table, {"score": "bdeu"}, "score"),
        (table, {"memory": "1q"}, "memory"),
        (table, {"memory": "1MiB"}, "memory: '1MiB' is too little; give at least 16.0MiB"),
        (table, {"discretise": "odd"}, "discretise odd is unknown"),
        (table, {"time_limit": -1}, "time_limit"),
        (table, {"names": ["a"]}, "names"),
        (dataset, {"names": list("abcd")}, "names"),
        (dataset, {"missing": "drop"}, "missing"),
        (dataset, {"drop": ["a"]}, "drop"),
        (table, {"drop": ["z"]}, "drop: <array> has no column 'z'"),
        (table / 7, {}, "or say how to cut it with discretise"),
        ("data.csv", {}, "read_csv"),
        (table, {"disk": "0"}, "disk"),
        (table, {"scratch_dir": "absent"}, "scratch_dir: absent"),
        (table, {"parent_graph": "dense"}, "parent_graph"),
    ):
        with pytest.raises(InputError, match=f"^(?!.*--).*{word}"):  # no word of the command line
            extbnsl.learn(data, **options)


def test_learn_takes_the_options_of_columns_and_warns_in_its_own_words():
    ages = np.arange(200)[:, None] * 3 % 120 * [1, 1, 1] + [0, 1, 2]
    result = extbnsl.learn(ages, drop="X2", discretise=["X1=mean"])
    assert result.dataset.names == ("X0", "X1")
    assert result.dataset.arities.tolist() == [40, 2]
    (warning,) = result.dataset.warnings
    assert "discretise X0=quantile:4, or say discrete X0" in warning
    assert "--" not in warning


def test_the_package_has_no_other_attributes():
    with pytest.raises(AttributeError, match="nothing"):
        extbnsl.nothing  # noqa: B018
