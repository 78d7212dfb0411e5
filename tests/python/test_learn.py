"""The call `learn` from Python: what it takes, what it refuses, in which words, and what its result can do."""

import importlib.util
import json
import re
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cases import from_array
from portions import first

import extbnsl
from extbnsl.core.claims import STATUSES
from extbnsl.core.errors import InputError
from extbnsl.core.events import StageStarted
from extbnsl.verify.rescoring import score_network
from extbnsl.verify.verdict import verify

WDBC = Path(__file__).parents[2] / "examples" / "wdbc.csv"


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
    assert results[0].cost == pytest.approx(score_network(dataset, results[0].network, results[0].claim), rel=1e-12)
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
        (table, {"score": "bge"}, "score"),
        (table, {"score": "bdeu", "ess": 0}, "ess: 0 is no equivalent sample size"),
        (table, {"ess": 1}, "ess: the score .mdl. has no equivalent sample size"),
        (table, {"memory": "1q"}, "memory"),
        (table, {"memory": "1MiB"}, "memory: '1MiB' is too little; give at least 16.0MiB"),
        (table, {"discretise": "odd"}, 'discretise="odd" is unknown'),
        (table, {"time_limit": -1}, "time_limit"),
        (table, {"names": ["a"]}, "names"),
        (dataset, {"names": list("abcd")}, "names"),
        (dataset, {"missing": "drop"}, "missing"),
        (dataset, {"drop": ["a"]}, "drop"),
        (table, {"drop": ["z"]}, "drop: <array> has no column 'z'"),
        (np.arange(60).reshape(-1, 2) / 7, {}, 'cut them with discretise="mean"'),
        ("data.csv", {}, "data: 'data.csv' is a file name; read the file first, with extbnsl.read_data"),
        (Path("data.csv"), {}, "is a file name; read the file first, with extbnsl.read_data"),
        (None, {}, "None is no data: give a data frame, or an array of records by variables"),
        (np.array([[["a"]]]), {}, "data has 3 dimensions: give two"),
        ({1, 2}, {}, r"data: {1, 2} is no data: give a data frame"),
        (object, {}, "is no data: give a data frame"),
        (table, {"disk": "1q"}, "disk"),
        (table, {"scratch_dir": "absent"}, "scratch_dir: absent"),
        (table, {"parent_graph": "dense"}, "parent_graph"),
    ):
        with pytest.raises(InputError, match=f"^(?!.*--).*{word}"):  # no word of the command line
            extbnsl.learn(data, **options)


def test_learn_works_without_disk(table):
    for disk in (0, "0B"):
        result = extbnsl.learn(table, disk=disk)
        assert (result.status, result.stats["peak_disk_bytes"]) == ("optimal", 0)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"max_parents": 1.5}, "max_parents: 1.5 is not a whole number of at least 0."),
        ({"max_parents": True}, "max_parents: True is not a whole number of at least 0."),
        ({"max_parents": "2"}, "max_parents: '2' is not a whole number of at least 0."),
        ({"max_parents": -1}, "max_parents: -1 is not a whole number of at least 0."),
        ({"seed": -1}, "seed: -1 is not a whole number from 0 to 4294967295; give a number in that range."),
        ({"seed": 2**32}, "seed: 4294967296 is not a whole number from 0 to"),
        ({"seed": 1.5}, "seed: 1.5 is not a whole number"),
        ({"seed": True}, "seed: True is not a whole number"),
        ({"seed": "a"}, "seed: 'a' is not a whole number"),
        ({"seed": None}, "seed: None is not a whole number"),
        ({"threads": True}, "threads: True is not a whole number from 1 to 1024; give a number in that range."),
        ({"threads": "2"}, "threads: '2' is not a whole number"),
        ({"threads": 1.5}, "threads: 1.5 is not a whole number"),
        ({"threads": 0}, "threads: 0 is not a whole number"),
        ({"polish": "x"}, "polish: 'x' is neither True nor False."),
        ({"fixing": 3}, "fixing: 3 is neither True nor False."),
        ({"ancestral": None}, "ancestral: None is neither True nor False."),
        ({"path_extension": 1}, "path_extension: 1 is neither True nor False."),
        ({"compress": "x"}, "compress: 'x' is neither True nor False."),
        ({"score": ["mdl"]}, "score: ['mdl'] is not known"),
        ({"scratch_dir": 3}, "scratch_dir: 3 is no path."),
        ({"names": 3}, "names: 3 is no list of names"),
        ({"names": "abcd"}, "names: 'abcd' is no list of names"),
        ({"drop": 3}, "drop: 3 is neither a text nor a sequence of texts."),
        ({"na": -99}, "na: -99 is neither a text nor a sequence of texts."),
        ({"progress": 3}, "progress: 3 is neither True, False nor a function that takes an event."),
    ],
)
def test_arguments_of_the_wrong_kind_are_refused(table, options, says):
    with pytest.raises(InputError, match=re.escape(says)):
        extbnsl.learn(table, **options)


def test_numbers_of_numpy_are_taken_as_those_of_python(table):
    result = extbnsl.learn(
        table, max_parents=np.int64(2), seed=np.uint8(3), threads=np.int32(1), fixing=np.True_, polish=np.False_
    )
    assert not verify(json.loads(json.dumps(result.document())), from_array(table)).findings
    given = [result.document()["provenance"]["options"][name] for name in ("max_parents", "seed", "threads", "fixing")]
    assert [(type(value), value) for value in given] == [(int, 2), (int, 3), (int, 1), (bool, True)]


def test_a_series_is_to_become_a_frame():
    pandas = pytest.importorskip("pandas")
    series = pandas.Series([1, 2])
    with pytest.raises(InputError, match=r"give a data frame \(series.to_frame\(\)\)"):
        extbnsl.learn(series)
    assert extbnsl.learn(series.to_frame(), threads=1).optimal


def test_learn_takes_the_options_of_columns_and_warns_in_its_own_words():
    ages = np.arange(200)[:, None] * 3 % 120 * [1, 1, 1] + [0, 1, 2]
    result = extbnsl.learn(ages, drop="X2", discretise=["X1=mean"])
    assert result.dataset.names == ("X0", "X1")
    assert result.dataset.arities.tolist() == [40, 2]
    (warning,) = result.dataset.warnings
    assert 'discretise="X0=quantile:4", or say discrete="X0"' in warning
    assert "--" not in warning


def test_ordered_categories_keep_their_order_and_levels():
    pandas = pytest.importorskip("pandas")
    levels = ["low", "mid", "high", "NA"]
    grade = pandas.Categorical(["high", "low", None, "low", "NA"] * 12, categories=levels, ordered=True)
    frame = pandas.DataFrame({"grade": grade, "b": [1, 0, 0, 1, 1] * 12})
    with pytest.raises(InputError, match="missing"):
        extbnsl.learn(frame)
    dataset = extbnsl.learn(frame, missing="drop").dataset
    assert dataset.states == (("low", "mid", "high", "NA"), ("0", "1"))
    assert dataset.codes[:4, 0].tolist() == [2, 0, 0, 3]
    assert extbnsl.learn(frame, missing="state").dataset.states[0] == (*levels, "missing")
    numbers = pandas.DataFrame(
        {"a": pandas.Categorical([10, 2] * 9, categories=[10, 2, 1], ordered=True), "b": [1, 0] * 9}
    )
    assert extbnsl.learn(numbers).dataset.states[0] == ("10", "2", "1")
    same = pandas.Categorical([1], categories=[1, "1"], ordered=True)
    with pytest.raises(InputError, match="two categories with the same text"):
        extbnsl.learn(pandas.DataFrame({"a": same}))


COSTS = {
    "a": {(): 10.0, "b": 4.0, ("b", "c"): 3.5},
    "b": {(): 9.0, frozenset("c"): 8.0},
    "c": {(): 5.0, ("a",): 1.0},
}


def test_local_scores_come_from_a_dict(tmp_path):
    result = extbnsl.learn(COSTS, threads=1)
    assert result.optimal
    assert result.cost == 14.0
    assert result.parents == {"a": ["b"], "b": [], "c": ["a"]}
    assert repr(result) == "<Result optimal: 3 variables, 2 arcs, file cost 14.000000 nats>"
    assert extbnsl.learn(extbnsl.local_scores(COSTS)).cost == 14.0


@pytest.mark.parametrize(
    ("costs", "says"),
    [
        ({}, "has no columns"),
        ({"a": {}}, "'a' has no parent set"),
        ({"a": 1.0}, "column 'a' is 1.0: give a list of one value for each record"),
        ({"a": {("b",): 1.0}}, "'b', a parent of 'a', is no variable"),
        ({"a": {7: 1.0}}, "7, a parent of 'a', is no variable"),
        ({"a": {("b", "b"): 1.0}, "b": {(): 1.0}}, "names a parent twice"),
        ({"a": {("a",): 1.0}}, "'a'"),
        ({"a": {(): "much"}}, "a parent set of 'a' costs 'much', which is no number"),
        ({"a": {(): "1"}}, "a parent set of 'a' costs '1', which is no number"),
        ({"a": {(): 10**400}}, "a parent set of 'a' costs more than 1e\\+150 nats, or less"),
        ({"a": {(): float("nan")}}, "costs nan, which is no number"),
        ({"a": {(): float("inf")}}, "not finite"),
        ({"a": {("b",): 1.0}, "b": {("a",): 1.0}}, "No choice of families is acyclic"),
        ({"a": {("b",): 1.0, "b": 2.0, (): 0.0}, "b": {(): 1.0}}, "twice"),
    ],
)
def test_a_dict_that_holds_no_scores_is_refused(costs, says):
    with pytest.raises(InputError, match=says):
        extbnsl.learn(costs)


def test_a_result_is_saved_and_nothing_is_written_over(tmp_path, dataset):
    result = extbnsl.learn(dataset, threads=1)
    result.save(tmp_path / "new" / "folder")
    names = {"result.json", "network.bif", "network.json", "network.dot"}
    assert {path.name for path in (tmp_path / "new" / "folder").iterdir()} == names
    written = json.loads((tmp_path / "new" / "folder" / "result.json").read_text())
    assert not verify(written, dataset).findings
    assert written["parents"] == result.parents
    before = (tmp_path / "new" / "folder" / "result.json").read_bytes()
    with pytest.raises(InputError, match=r"result\.json exists already"):
        extbnsl.learn(dataset, max_parents=0).save(tmp_path / "new" / "folder")
    assert (tmp_path / "new" / "folder" / "result.json").read_bytes() == before
    extbnsl.learn(dataset, max_parents=0).save(tmp_path / "new" / "folder", overwrite=True)
    assert (tmp_path / "new" / "folder" / "result.json").read_bytes() != before
    with pytest.raises(InputError, match=r"result\.json cannot be written|json cannot be written"):
        result.save(tmp_path / "new" / "folder" / "result.json")


def test_files_are_read_from_the_package_itself(tmp_path, dataset):
    file = tmp_path / "d.csv"
    file.write_text("a,b\n0,1\n1,0\n")
    assert extbnsl.read_csv(file).names == ("a", "b")
    scores = tmp_path / "s.jkl"
    scores.write_text("1\na 1\n-2.5 0\n")
    assert extbnsl.learn(extbnsl.read_scores(scores)).cost == 2.5
    assert set(extbnsl.__all__) <= set(dir(extbnsl))


def test_learn_works_in_threads(dataset):
    with ThreadPoolExecutor() as pool:
        results = list(pool.map(lambda limit: extbnsl.learn(dataset, max_parents=limit, threads=1), (0, 3, None)))
    assert [result.optimal for result in results] == [True] * 3
    assert results[0].network.arcs() == ()
    assert results[1].cost == results[2].cost == extbnsl.learn(dataset).cost < results[0].cost


@pytest.mark.parametrize("stage", first(1, ["scores", "bounds", "search"]))
def test_ctrl_c_ends_learn_and_no_file_stays(tmp_path, stage):
    def press(event):
        if isinstance(event, StageStarted) and event.stage == stage:
            signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored where the tests run
    try:
        with pytest.raises(KeyboardInterrupt):
            extbnsl.learn(extbnsl.read_csv(WDBC), threads=2, scratch_dir=tmp_path, progress=press)
    finally:
        signal.signal(signal.SIGINT, before)
    assert not any(tmp_path.iterdir())


def test_a_result_tells_of_itself_in_few_words():
    result = extbnsl.learn(extbnsl.read_csv(WDBC.with_name("asia.csv")), threads=2)
    assert repr(result) == "<Result optimal: 8 variables, 7 arcs, mdl cost 2229.695122 nats>"
    assert len(repr(replace(result, status="memory_limit", lower_bound=0.0))) < 200
    assert [status for status in STATUSES if f"'{status}'" not in extbnsl.Result.__doc__] == []


def test_the_package_has_no_other_attributes():
    with pytest.raises(AttributeError, match="nothing"):
        extbnsl.nothing  # noqa: B018
