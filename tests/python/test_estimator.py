"""The estimator: what scikit-learn asks of one, and its answers against the joint distribution in full."""

import itertools
import math
import pickle
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import extbnsl
from extbnsl import BayesianNetworkLearner
from extbnsl.core.errors import BudgetError, ExtbnslError, InputError

EXPECTED = {
    "check_estimators_nan_inf": "the sentence says 'missing', and in which column, where the check looks for 'NaN'",
}
EXPECTED_OF_NUMBERS = EXPECTED | {
    "check_fit2d_1sample": "the sentence says '1 record' where the check looks for '1 sample'",
}

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # that it does not inherit from BaseEstimator, which need not be installed
    as_scikit_learn_wants = parametrize_with_checks(
        [
            BayesianNetworkLearner(discretise="quantile:2", threads=1, target=0),
            BayesianNetworkLearner(scoring_method="gaussian-bic", threads=1, target=0),
            BayesianNetworkLearner(method="posterior", networks=9, discretise="quantile:2", threads=1, target=0),
        ],
        expected_failed_checks=lambda one: EXPECTED_OF_NUMBERS if one.scoring_method == "gaussian-bic" else EXPECTED,
    )


@pytest.mark.filterwarnings("ignore")
@as_scikit_learn_wants
def test_it_is_what_scikit_learn_calls_an_estimator(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def frame():
    """Records of texts, numbers, truth values, and ordered categories with a level that does not occur."""
    random = np.random.default_rng(3)
    a = random.integers(0, 3, 150)
    b = np.where(random.random(150) < 0.8, a % 2, random.integers(0, 2, 150))
    c = random.integers(0, 2, 150)
    d = np.where(random.random(150) < 0.85, b & c, 1)
    return pd.DataFrame(
        {
            "a": pd.Categorical.from_codes(a, ["low", "some", "high", "extreme"], ordered=True),
            "b": np.array(["no", "yes"])[b],
            "c": c.astype(bool),
            "d  e": d + 5,
        }
    )


@pytest.fixture(scope="module")
def fitted(frame):
    return BayesianNetworkLearner(scoring_method="aic", smoothing=0.7).fit(frame)


def chances(fitted, frame, smoothing):
    """The joint distribution in full: the probability of each tuple of values, by counting in loops."""
    names = [str(key) for key in frame.columns]
    records = [dict(zip(names, row, strict=True)) for row in frame.astype(object).to_numpy().tolist()]
    clean = {" ".join(name.split()): name for name in names}
    states = {clean[name]: list(values) for name, values in fitted.states_.items()}
    joint = {}
    for values in itertools.product(*states.values()):
        one = dict(zip(names, values, strict=True))
        probability = 1.0
        for child, parents in fitted.parents_.items():
            child, parents = clean[child], [clean[parent] for parent in parents]
            alike = [record for record in records if all(record[p] == one[p] for p in parents)]
            prior = smoothing / math.prod(len(states[p]) for p in parents)
            same = sum(record[child] == one[child] for record in alike)
            probability *= (same + prior / len(states[child])) / (len(alike) + prior)
        joint[values] = probability
    assert math.isclose(sum(joint.values()), 1.0)
    return joint


def test_attributes_tell_the_network(frame, fitted):
    result = extbnsl.learn(frame, score="aic")
    assert (fitted.cost_, fitted.parents_, fitted.optimal_, fitted.status_) == (
        *(result.cost, result.parents, True, "optimal"),
    )
    assert fitted.network_ == fitted.result_.network
    assert sorted(fitted.causal_graph_.edges) == sorted(result.to_networkx().edges) != []
    matrix = fitted.adjacency_matrix_
    assert {(a, b) for a in matrix.index for b in matrix.columns if matrix.loc[a, b]} == set(fitted.causal_graph_.edges)
    assert fitted.n_features_in_ == 4
    assert fitted.feature_names_in_.tolist() == list(frame.columns)
    assert {name: values.tolist() for name, values in fitted.states_.items()} == {
        "a": ["low", "some", "high", "extreme"],
        "b": ["no", "yes"],
        "c": [False, True],
        "d e": [5, 6],
    }


def test_without_networkx_the_graph_is_plain(fitted, uninstalled):
    uninstalled("networkx")
    assert fitted.causal_graph_ == fitted.parents_


def test_scores_are_the_logarithms_of_the_joint_distribution(frame, fitted):
    joint = chances(fitted, frame, 0.7)
    expected = [math.log(joint[tuple(row)]) for row in frame.astype(object).to_numpy().tolist()]
    assert fitted.score_samples(frame) == pytest.approx(expected, rel=1e-12)
    assert fitted.score(frame) == pytest.approx(np.mean(expected), rel=1e-12)
    assert fitted.score(frame[["d  e", "c", "a", "b"]]) == fitted.score(frame)


@pytest.mark.parametrize("target", ["a", "b", "c", "d  e"])
@pytest.mark.parametrize("smoothing", [0.7, 5.0])
def test_predictions_are_those_of_the_joint_distribution(frame, fitted, target, smoothing):
    asked = BayesianNetworkLearner(scoring_method="aic", smoothing=smoothing).fit(frame)
    assert asked.parents_ == fitted.parents_
    joint = chances(asked, frame, smoothing)
    at = list(frame.columns).index(target)
    states = asked.states_[" ".join(target.split())].tolist()
    rows = frame.astype(object).to_numpy().tolist()
    weights = np.array([[joint[(*row[:at], state, *row[at + 1 :])] for state in states] for row in rows])
    expected = weights / weights.sum(axis=1, keepdims=True)
    found = asked.predict_proba(frame.drop(columns=target), target)
    assert found == pytest.approx(expected, rel=1e-9)
    assert (asked.predict(frame, target) == [states[i] for i in found.argmax(axis=1)]).all()


@pytest.mark.slow
def test_samples_have_the_frequencies_of_the_joint_distribution(frame, fitted):
    records = fitted.sample(40_000, random_state=1)
    assert list(records.columns) == list(frame.columns)
    counts = records.value_counts()
    for values, probability in chances(fitted, frame, 0.7).items():
        found = counts.get(values, 0) / len(records)
        assert abs(found - probability) < 5 * math.sqrt(probability / len(records)) + 1e-4
    assert fitted.sample(50, 1).equals(fitted.sample(50, np.random.default_rng(1)))
    assert math.isfinite(fitted.score(records))
    assert [kind.kind for kind in records.dtypes][2:] == ["b", "i"]


def test_arrays_of_numbers_and_of_texts():
    random = np.random.default_rng(1)
    table = random.integers(0, 3, (200, 3))
    table[:, 2] = (table[:, 0] + (random.random(200) < 0.1)) % 3
    of_numbers = BayesianNetworkLearner().fit(table)
    of_texts = BayesianNetworkLearner().fit(table.astype(str).astype(object))
    of_lists = BayesianNetworkLearner().fit(table.tolist())
    assert of_numbers.cost_ == of_texts.cost_ == of_lists.cost_
    assert isinstance(of_numbers.adjacency_matrix_, np.ndarray)
    assert of_numbers.adjacency_matrix_.sum() == 1
    assert not hasattr(of_numbers, "feature_names_in_")
    assert of_numbers.sample(5, 0).dtype.kind == "i"
    assert set(of_texts.sample(50, 0).ravel()) == {"0", "1", "2"}
    assert (of_numbers.predict(table, 2) == table[:, 0]).mean() > 0.9
    assert (of_numbers.predict_proba(table, "X2") == of_numbers.predict_proba(table, np.int64(2))).all()


def test_measurements_are_cut_as_fit_cut_them():
    random = np.random.default_rng(5)
    frame = pd.DataFrame({"x": random.normal(size=300), "g": random.integers(0, 2, 300)})
    frame["y"] = (frame.x > 0).map({True: "above", False: "below"})
    fitted = BayesianNetworkLearner(discretise="quantile:3").fit(frame)
    edges = np.sort(frame.x.to_numpy())[[99, 199]]
    far = pd.DataFrame({"x": [-9.0, 0.0, 9.0], "g": [0, 1, 0], "y": ["below", "above", "above"]})
    assert (fitted._answers.read(frame)[0].codes[:, 0] == np.searchsorted(edges, frame.x)).all()
    assert fitted._answers.read(far)[0].codes[:, 0].tolist() == [0, 1, 2]
    assert set(fitted.sample(90, 2).x) == set(fitted.states_["x"])
    assert math.isfinite(fitted.score(fitted.sample(90, 2)))


def test_missing_values_may_be_a_state(frame):
    lacking = frame.assign(b=frame.b.where(np.arange(len(frame)) % 7 > 0, None))
    as_state = BayesianNetworkLearner(missing="state").fit(lacking)
    assert len(as_state.states_["b"]) == 3
    assert math.isfinite(as_state.score(lacking))
    with pytest.raises(InputError, match="'missing' in column 'b', which is no state that the network knows"):
        BayesianNetworkLearner(missing="state").fit(frame).score(lacking)
    dropped = BayesianNetworkLearner(missing="drop").fit(lacking)
    assert dropped.score(lacking) > dropped.score(frame), "less is observed of a seventh of the records"


def observed_parts(frame, random):
    """The records with five patterns of missing values, a column of which X may lack."""
    lacking = frame.astype(object)
    for row in range(len(frame)):
        for name in ((), ("a",), ("b", "d  e"), ("a", "b", "c"), tuple(frame.columns))[row % 5]:
            lacking.loc[row, name] = random.choice([None, np.nan, "NA"])
    return lacking


@pytest.mark.parametrize("smoothing", [0.7, 5.0])
def test_what_is_missing_is_summed_out(frame, smoothing):
    fitted = BayesianNetworkLearner(scoring_method="aic", smoothing=smoothing).fit(frame)
    joint, names = chances(fitted, frame, smoothing), list(frame.columns)
    lacking = observed_parts(frame, np.random.default_rng(1))
    rows = lacking.to_numpy().tolist()
    of_state = {name: fitted.states_[" ".join(name.split())].tolist() for name in names}

    def chance(row, at, state):
        """Of what is observed of a record, and this state of a column, by a sum over the joint distribution."""
        own = [*row[:at], state, *row[at + 1 :]]
        seen = [(i, value) for i, value in enumerate(own) if value is not None and value == value and value != "NA"]
        return sum(weight for values, weight in joint.items() if all(values[i] == value for i, value in seen))

    expected = [math.log(chance(row, 0, row[0])) for row in rows]
    assert fitted.score_samples(lacking) == pytest.approx(expected, rel=1e-10, abs=1e-12)
    for at, name in enumerate(names):
        weights = np.array([[chance(row, at, state) for state in of_state[name]] for row in rows])
        found = fitted.predict_proba(lacking, name)
        assert found == pytest.approx(weights / weights.sum(axis=1, keepdims=True), rel=1e-9, abs=1e-12)
        assert (fitted.predict(lacking, name) == np.array(of_state[name], object)[found.argmax(axis=1)]).all()
    others = lacking.assign(a=None, b=None)
    assert (fitted.predict_proba(frame[["d  e", "c"]], "b") == fitted.predict_proba(frame.assign(a=np.nan), "b")).all()
    assert (fitted.score_samples(others) == fitted.score_samples(others[["c", "d  e"]])).all()


def test_a_frame_without_any_column_that_is_known_asks_for_the_marginals(frame, fitted):
    found = fitted.predict_proba(frame[["b"]], "b")
    assert (found == found[0]).all()
    assert found[0] == pytest.approx(fitted.predict_proba(pd.DataFrame({"a": [None], "c": [None]}), "b")[0])
    assert fitted.score_samples(pd.DataFrame({"a": [None, "low"]}))[0] == 0.0


@pytest.mark.parametrize("dtype", [float, object])
def test_arrays_with_gaps(dtype):
    random = np.random.default_rng(1)
    table = random.integers(0, 3, (200, 3))
    table[:, 2] = (table[:, 0] + (random.random(200) < 0.1)) % 3
    fitted = BayesianNetworkLearner().fit(table)
    lacking = table.astype(dtype)
    lacking[::2, 1] = lacking[::3, 0] = np.nan
    found = fitted.predict_proba(lacking, 2)
    whole = fitted.predict_proba(table, 2)
    kept = np.arange(200) % 3 > 0
    assert found[kept] == pytest.approx(whole[kept])
    assert found[~kept] == pytest.approx(
        np.broadcast_to(fitted.predict_proba(table[:1] * np.nan, 2), found[~kept].shape)
    )


def test_cut_columns_with_gaps(frame):
    cut = BayesianNetworkLearner(discretise="quantile:2").fit(
        pd.DataFrame({"x": np.linspace(0, 1, 80), "g": [0, 1] * 40})
    )
    found = cut.predict_proba(pd.DataFrame({"x": [np.nan, 0.2], "g": [None, 1]}), "g")
    assert found[0] == pytest.approx([0.5, 0.5])
    assert cut.score_samples(pd.DataFrame({"x": [0.9, np.nan]})) == pytest.approx([math.log(0.5), 0.0])


def test_an_answer_that_takes_too_much_memory_is_refused(frame, sizes):
    fitted = BayesianNetworkLearner(memory="1GiB").fit(frame)
    sizes(**{"inference.BYTES": 1 << 40})
    with pytest.raises(
        BudgetError, match=r"This query needs \d+\.0TiB of memory, .* and memory grants 1\.0GiB: ask for"
    ):
        fitted.predict_proba(frame[["a"]], "b")


@pytest.mark.slow
def test_more_records_than_a_column_may_have_states():
    """So that they are read in parts, of which each has few enough."""
    random = np.random.default_rng(2)
    table = random.normal(size=(70_000, 2))
    fitted = BayesianNetworkLearner(discretise="mean").fit(table)
    assert (fitted._answers.read(table)[0].codes == (table > table.mean(axis=0))).mean() > 1 - 1e-4


def test_one_variable_and_one_record():
    fitted = BayesianNetworkLearner().fit(pd.DataFrame({"only": ["x", "y", "x"]}))
    assert fitted.predict_proba(pd.DataFrame({"only": ["y"]}), "only") == pytest.approx(np.array([[2.5 / 4, 1.5 / 4]]))
    constant = BayesianNetworkLearner().fit(pd.DataFrame({"a": ["x"], "b": ["y"]}))
    assert constant.score(constant.sample(3)) == pytest.approx(0.0)


@pytest.mark.slow
def test_in_scikit_learns_tools(frame):
    grid = GridSearchCV(BayesianNetworkLearner(scoring_method="bdeu"), {"ess": [0.5, 1.0, 20.0]}, cv=3)
    grid.fit(frame)
    means = [
        cross_val_score(BayesianNetworkLearner(scoring_method="bdeu", ess=ess), frame, cv=3).mean()
        for ess in (0.5, 1.0, 20.0)
    ]
    assert grid.best_params_["ess"] == (0.5, 1.0, 20.0)[int(np.argmax(means))]
    assert grid.best_estimator_.optimal_
    steps = Pipeline([("network", BayesianNetworkLearner(target="b"))]).fit(frame)
    assert steps.score(frame) == steps["network"].score(frame)
    assert (steps.predict(frame) == steps["network"].predict(frame, target="b")).all()
    assert "BayesianNetworkLearner" in steps._repr_html_()
    again = pickle.loads(pickle.dumps(steps))
    assert again.score(frame) == steps.score(frame)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda one, frame: one.score(frame.assign(z=1)), "X has the column 'z' that the network does not know"),
        (
            lambda one, frame: one.score(frame.assign(b="maybe")),
            "record 1 has 'maybe' in column 'b', which is no state",
        ),
        (lambda one, frame: one.predict(frame), "target: say which column"),
        (lambda one, frame: one.predict(frame, "zz"), "target: 'zz' is no column of the network; it has 'a', 'b', 'c'"),
        (lambda one, frame: one.sample(0), "n: 0 is not a whole number of at least 1"),
        (lambda one, frame: one.sample(2, "x"), "random_state: 'x' is neither"),
        (lambda one, frame: one.set_params(esss=1), "'esss' is no parameter of BayesianNetworkLearner; it has scoring"),
        (lambda one, frame: BayesianNetworkLearner(smoothing=-1).fit(frame), "smoothing: -1 is not a number"),
        (
            lambda one, frame: BayesianNetworkLearner(missing="x").fit(frame),
            "missing: 'x' is not known; use one of refuse, drop, state, average, em.",
        ),
        (lambda one, frame: BayesianNetworkLearner().fit([[1, 2], [3]]), "X is ragged"),
        (
            lambda one, frame: BayesianNetworkLearner().fit("data.csv"),
            "X: 'data.csv' is a file name; read the file first",
        ),
        (lambda one, frame: BayesianNetworkLearner().fit(frame.iloc[:0]), "no records"),
        (lambda one, frame: BayesianNetworkLearner().fit(frame.assign(b=None)), "has no value at all."),
        (lambda one, frame: BayesianNetworkLearner().fit(pd.concat([frame, frame], axis=1)), "occurs more than once"),
    ],
)
def test_what_cannot_be_used_is_said_in_a_sentence(frame, fitted, ask, words):
    with pytest.raises(InputError, match=r"\.$") as caught:
        ask(fitted, frame)
    assert words in str(caught.value)
    assert isinstance(caught.value, ValueError)


def test_a_record_that_the_others_make_impossible():
    table = np.array([[0, 0, 0], [1, 1, 1]] * 40)
    table[::4, 1] ^= 1
    fitted = BayesianNetworkLearner(smoothing=0.0).fit(table)
    assert fitted.adjacency_matrix_[0, 2] + fitted.adjacency_matrix_[2, 0] == 1
    with pytest.raises(InputError, match="record 2 is impossible by the network whatever 'X1' is; give a smoothing"):
        BayesianNetworkLearner(smoothing=0.0, knowledge={"required": [["X0", "X2"], ["X1", "X2"]]}).fit(
            table
        ).predict_proba(np.array([[0, 0, 0], [0, 0, 1]]), 1)
    assert fitted.score(np.array([[0, 0, 1]])) == -math.inf


def test_a_fit_that_fails_leaves_the_network_as_it_was(frame):
    table = np.random.default_rng(0).normal(size=(60, 2))
    fitted = BayesianNetworkLearner(discretise="mean").fit(table)
    before = fitted.score(table)
    with pytest.raises(InputError, match="max_parents"):
        fitted.set_params(max_parents=-1).fit(frame)
    assert fitted.score(table) == before


def test_data_frames_need_pandas_to_come_back(fitted, uninstalled):
    uninstalled("pandas")
    with pytest.raises(InputError, match="pip install pandas"):
        fitted.sample(3)


def test_before_fit_there_is_nothing(frame, uninstalled):
    new = BayesianNetworkLearner()
    for ask in (lambda: new.score(frame), lambda: new.cost_, lambda: new.predict(frame, "a"), lambda: new.sample()):
        with pytest.raises(NotFittedError, match="call fit first"):
            ask()
    uninstalled("sklearn.exceptions")
    with pytest.raises(ExtbnslError, match="call fit first"):
        new.score(frame)


def test_parameters_are_shown_if_they_were_chosen():
    assert repr(BayesianNetworkLearner(ess=2, scoring_method="bdeu")) == (
        "BayesianNetworkLearner(scoring_method='bdeu', ess=2)"
    )


def test_it_loads_no_scikit_learn():
    import subprocess

    code = "import sys, extbnsl; extbnsl.BayesianNetworkLearner().get_params(); print('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


def carriers(frame):
    """The same records as other packages carry them."""
    import pyarrow

    yield pyarrow.Table.from_pandas(frame)
    yield {name: frame[name].tolist() for name in frame}
    yield frame.to_dict("records")


def test_records_may_come_in_any_container(frame):
    frame = pd.DataFrame({name: frame[name].tolist() for name in frame})  # without categories, which dicts have not
    fitted = BayesianNetworkLearner(threads=1).fit(frame)
    target = frame.columns[0]
    for records in carriers(frame):
        other = BayesianNetworkLearner(threads=1).fit(records)
        assert other.result_.digest == fitted.result_.digest
        assert other.states_.keys() == fitted.states_.keys()
        assert all(own.tolist() == fitted.states_[name].tolist() for name, own in other.states_.items())
        assert fitted.predict(records, target).tolist() == fitted.predict(frame, target).tolist()
        assert fitted.score(records) == fitted.score(frame)


@pytest.mark.parametrize("discretise", [None, {"b": "quantile:2"}])
def test_declared_states_are_known_of_new_records(discretise):
    frame = pd.DataFrame({"a": ["NA", "low", "NA", "low"] * 10, "b": np.arange(40) / 7})
    options = {"discretise": discretise} if discretise else {"discrete": "b"}
    fitted = BayesianNetworkLearner(states={"a": ["low", "NA", "high"]}, threads=1, **options).fit(frame)
    assert fitted.states_["a"].tolist() == ["low", "NA", "high"]
    new = pd.DataFrame({"a": ["high", "NA"], "b": frame["b"].iloc[:2]})
    assert np.isfinite(fitted.score_samples(new)).all()
    assert fitted.predict_proba(new[["b"]], "a").shape == (2, 3)
    assert fitted.predict_proba(new[["a"]], "b").shape[0] == 2
    with pytest.raises(InputError, match="column 'a' has 'none' in row 1 of the data, which is none of its declared"):
        fitted.score(new.assign(a=["none", "low"]))
