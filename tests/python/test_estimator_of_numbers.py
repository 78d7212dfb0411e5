"""The estimator for columns of numbers: its answers against the joint Gaussian of numpy's regressions."""

import math
import pickle

import numpy as np
import pandas as pd
import pytest
from joint import check_moments, conditional_mean, fitted_joint, log_density
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

import extbnsl
from extbnsl import BayesianNetworkLearner
from extbnsl.core.errors import InputError

SCORE = "gaussian-bic"


def learner(**parameters):
    return BayesianNetworkLearner(scoring_method=SCORE, threads=1, **parameters)


@pytest.fixture(scope="module")
def frame():
    """Measurements in units and with offsets of their own, one in whole numbers; in no order of their causes."""
    random = np.random.default_rng(8)
    age = random.integers(20, 80, 200)
    weight = 60 + 0.3 * age + random.normal(size=200) * 9
    pressure = 0.08 + 4e-4 * weight + 3e-4 * age + random.normal(size=200) * 0.01
    dose = 1e6 * random.normal(size=200)
    effect = 5.0 - 30.0 * pressure + 2e-6 * dose + random.normal(size=200)
    return pd.DataFrame({"effect": effect, "blood  pressure": pressure, "age": age, "dose": dose, "weight": weight})


@pytest.fixture(scope="module")
def fitted(frame):
    return learner().fit(frame)


@pytest.fixture(scope="module")
def joint(frame, fitted):
    """Mean and covariance in the order of the columns."""
    names = list(fitted.parents_)
    parents = [[names.index(p) for p in own] for own in fitted.parents_.values()]
    assert sum(map(len, parents)) >= 4
    return fitted_joint(frame.to_numpy(float), parents)


@pytest.fixture(scope="module")
def new(frame):
    """Records that `fit` has not seen."""
    random = np.random.default_rng(9)
    return frame.sample(30, random_state=1).apply(lambda column: random.permutation(column) * 1.0)


def test_attributes_tell_the_network(frame, fitted):
    result = extbnsl.learn(frame, score=SCORE)
    assert (fitted.cost_, fitted.parents_, fitted.optimal_, fitted.status_) == (
        *(result.cost, result.parents, True, "optimal"),
    )
    assert fitted.network_ == fitted.result_.network == result.network
    assert sorted(fitted.causal_graph_.edges) == sorted(result.to_networkx().edges) != []
    matrix = fitted.adjacency_matrix_
    assert {(a, b) for a in matrix.index for b in matrix.columns if matrix.loc[a, b]} == set(fitted.causal_graph_.edges)
    assert fitted.n_features_in_ == 5
    assert fitted.feature_names_in_.tolist() == list(frame.columns)


def test_scores_are_the_logarithms_of_the_joint_density(frame, fitted, joint, new):
    for records in (frame, new, new.head(1)):
        expected = log_density(*joint, records.to_numpy(float))
        found = fitted.score_samples(records)
        assert found == pytest.approx(expected, rel=1e-7, abs=1e-6)
        assert found.dtype == np.float64
        assert fitted.score(records) == pytest.approx(np.mean(expected), rel=1e-7)
    assert fitted.score(new[["age", "effect", "weight", "dose", "blood  pressure"]]) == fitted.score(new)


def test_the_score_of_the_data_is_what_the_network_costs_without_its_parameters(frame, fitted):
    price = math.log(len(frame)) / 2 * (2 * 5 + len(fitted.network_.arcs()))
    assert -fitted.score(frame) * len(frame) + price == pytest.approx(fitted.cost_, rel=1e-9)


@pytest.mark.parametrize("at", range(5))
def test_predictions_are_conditional_means(frame, fitted, joint, new, at):
    target = frame.columns[at]
    expected = conditional_mean(*joint, new.to_numpy(float), at)
    found = fitted.predict(new, target)
    assert found == pytest.approx(expected, rel=1e-7)
    assert (found.dtype, found.shape) == (np.float64, (30,))
    assert (fitted.predict(new.drop(columns=target), target) == found).all()
    assert (fitted.predict(new.assign(**{target: "unknown"}), target) == found).all()
    assert (clone(fitted).set_params(target=target).fit(frame).predict(new) == found).all()


def test_what_is_missing_is_integrated_out(frame, fitted, joint, new):
    """By the blocks of the joint covariance, in full, record by record."""
    mean, covariance = joint
    lacking = new.copy()
    for row, name in enumerate(["age", "dose", "weight", "effect", "blood  pressure"] * 6):
        lacking.iloc[row, list(new.columns).index(name)] = np.nan
        if row % 2:
            lacking.iloc[row, :2] = np.nan
    values = lacking.to_numpy()
    known = [np.flatnonzero(~np.isnan(row)) for row in values]
    expected = [
        log_density(mean[seen], covariance[np.ix_(seen, seen)], row[None, seen])[0]
        for row, seen in zip(values, known, strict=True)
    ]
    assert fitted.score_samples(lacking) == pytest.approx(expected, rel=1e-7, abs=1e-6)
    for at, name in enumerate(new.columns):
        wanted = []
        for row, seen in zip(values, known, strict=True):
            own = [j for j in seen if j != at]
            gain = np.linalg.solve(covariance[np.ix_(own, own)], covariance[own, at])
            wanted.append(mean[at] + (row[own] - mean[own]) @ gain)
        assert fitted.predict(lacking, name) == pytest.approx(wanted, rel=1e-7)
    assert fitted.predict(new[["age"]], "dose") == pytest.approx(
        fitted.predict(new.assign(effect="NA")[["age"]], "dose")
    )


def test_samples_have_the_moments_of_the_joint_gaussian(frame, fitted, joint):
    records = fitted.sample(40_000, random_state=1)
    assert list(records.columns) == list(frame.columns)
    assert set(records.dtypes) == {np.dtype(float)}
    check_moments(*joint, records.to_numpy())
    assert fitted.sample(50, 1).equals(fitted.sample(50, np.random.default_rng(1)))
    assert not fitted.sample(50, 1).equals(fitted.sample(50, 2))
    assert fitted.score(records) == pytest.approx(
        -(5 * (math.log(2 * math.pi) + 1) + np.linalg.slogdet(joint[1])[1]) / 2, abs=0.1
    )


def test_arrays_lists_and_texts_that_write_numbers(frame, fitted, new):
    of_array = learner().fit(frame.to_numpy(float))
    of_lists = learner().fit(frame.to_numpy(float).tolist())
    of_texts = learner().fit(frame.astype(str).to_numpy(object))
    assert of_array.cost_ == of_lists.cost_ == of_texts.cost_ == fitted.cost_
    assert list(of_array.parents_) == ["X0", "X1", "X2", "X3", "X4"]
    assert isinstance(of_array.adjacency_matrix_, np.ndarray)
    assert not hasattr(of_array, "feature_names_in_")
    drawn = of_array.sample(7, 1)
    assert (drawn.shape, drawn.dtype) == ((7, 5), np.float64)
    assert (drawn == fitted.sample(7, 1).to_numpy()).all()
    values = new.to_numpy(float, copy=True)
    assert (of_array.score_samples(values) == fitted.score_samples(new)).all()
    assert (of_array.predict(values, 2) == fitted.predict(new, "age")).all()
    single = values.astype(np.float32)
    assert of_array.score_samples(single) == pytest.approx(of_array.score_samples(values), rel=1e-4)
    values[:, 2] = np.nan
    assert (of_array.predict(values, "X2") == fitted.predict(new, "age")).all()


def test_one_column_alone():
    values = np.array([1.0, 2.0, 4.0, 5.0])
    for fitted, records in (
        (learner().fit(values[:, None]), np.array([[np.nan], [3.5]])),
        (learner().fit(pd.DataFrame({"only": values})), pd.DataFrame({"only": [None, 3.5]})),
    ):
        assert fitted.predict(records, fitted.network_.names[0]).tolist() == [3.0, 3.0]
        expected = -math.log(2 * math.pi * 2.5) / 2 - 0.25 / 5.0
        assert fitted.score_samples(records[1:]) == pytest.approx([expected])
        assert fitted.sample(3, 0).shape == (3, 1)


def test_states_and_their_probabilities_are_not_there(frame, fitted, new):
    for one in (fitted, learner()):
        assert not hasattr(one, "states_")
        assert not hasattr(one, "predict_proba")
        with pytest.raises(InputError, match=r"^predict_proba: .* numbers and have no states; predict .*\.$") as caught:
            one.predict_proba(new, "age")
        assert isinstance(caught.value, ValueError)
    with pytest.raises(AttributeError, match=r"^states_: .* numbers and have no states; .*\.$"):
        _ = fitted.states_
    states = frame.assign(effect=frame.effect > 0)[["effect", "age"]]
    refitted = clone(fitted).fit(frame).set_params(scoring_method="mdl")
    assert not hasattr(refitted, "states_")
    refitted.fit(states)
    assert refitted.states_["effect"].tolist() == [False, True]
    refitted.set_params(scoring_method=SCORE)
    assert refitted.predict_proba(states, "effect").shape == (200, 2)


def test_smoothing_has_no_effect(frame, fitted, new):
    other = learner(smoothing=20.0).fit(frame)
    assert other.score(new) == fitted.score(new)
    assert (other.predict(new, "age") == fitted.predict(new, "age")).all()


def test_knowledge_limits_methods_and_bootstrap_work(frame, fitted):
    limited = learner(max_parents=1).fit(frame)
    assert max(map(len, limited.parents_.values())) == 1
    assert limited.cost_ > fitted.cost_
    known = learner(knowledge={"required": [["dose", "age"]]}).fit(frame)
    assert "dose" in known.parents_["age"]
    assert learner(method="astar").fit(frame).cost_ == pytest.approx(fitted.cost_, rel=1e-12)
    resampled = learner(bootstrap=3, seed=4, memory="1GiB", disk="1GiB", time_limit="5m").fit(frame)
    assert resampled.result_.bootstrap.resamples == 3
    assert resampled.cost_ == fitted.cost_


def test_records_with_missing_values_may_be_dropped(frame):
    lacking = frame.assign(weight=frame.weight.where(np.arange(len(frame)) % 7 > 0), dose=frame.dose.astype(str))
    lacking.loc[3, "dose"] = "unknown"
    dropped = learner(missing="drop", na="unknown").fit(lacking)
    kept = [i for i in range(len(frame)) if i % 7 > 0 and i != 3]
    assert dropped.cost_ == learner().fit(frame.iloc[kept]).cost_
    assert math.isfinite(dropped.score(lacking.iloc[2:5]))
    assert math.isfinite(dropped.predict(lacking.iloc[3:4].assign(weight=70.0), "dose")[0])


@pytest.mark.slow
def test_in_scikit_learns_tools(frame):
    values = frame.to_numpy(float)
    grid = GridSearchCV(learner(), {"max_parents": [0, 1, 2, None]}, cv=3).fit(values)
    means = [cross_val_score(learner(max_parents=most), values, cv=3).mean() for most in (0, 1, 2, None)]
    assert grid.best_params_["max_parents"] == (0, 1, 2, None)[int(np.argmax(means))] != 0
    assert grid.cv_results_["mean_test_score"].tolist() == means
    assert grid.best_estimator_.optimal_
    steps = Pipeline([("scaled", StandardScaler()), ("network", learner(target=1))]).fit(values)
    scaled = steps["scaled"].transform(values)
    assert steps.score(values) == steps["network"].score(scaled)
    assert (steps.predict(values) == steps["network"].predict(scaled, 1)).all()
    assert not hasattr(steps, "predict_proba")
    again = pickle.loads(pickle.dumps(steps))
    assert again.score(values) == steps.score(values)
    copied = clone(steps["network"])
    assert copied.get_params() == steps["network"].get_params()
    with pytest.raises(NotFittedError):
        copied.score(scaled)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda one, new: one.score(new.assign(z=1)), "X has the column 'z' that the network does not know"),
        (
            lambda one, new: one.score(new.to_numpy()[:, :4]),
            "X has 4 features, but BayesianNetworkLearner is expecting 5",
        ),
        (lambda one, new: one.score(new.assign(age=np.inf)), "column 'age' has an infinite value"),
        (
            lambda one, new: one.score(new.assign(age="old")),
            "column 'age' has 'old' in row 1 of the data, which is no number, and the score gaussian-bic takes",
        ),
        (lambda one, new: one.score(new.assign(age=1e200)), "has 1e+200 in row 1 of the data, which is beyond 1e+150"),
        (lambda one, new: one.predict(new), "target: say which column"),
        (
            lambda one, new: one.predict(new, "zz"),
            "target: 'zz' is no column of the network; it has 'effect', 'blood pr",
        ),
        (lambda one, new: one.sample(0), "n: 0 is not a whole number of at least 1"),
        (lambda one, new: one.sample(2, "x"), "random_state: 'x' is neither"),
        (
            lambda one, new: learner(discretise="mean").fit(new),
            "discretise makes states of columns, and the score gauss",
        ),
        (lambda one, new: learner(discrete="age").fit(new), "discrete makes states of columns, and the score gaussian"),
        (lambda one, new: learner(missing="state").fit(new), 'missing="state" makes states of columns'),
        (lambda one, new: learner(ess=2.0).fit(new), "ess: the score 'gaussian-bic' has no equivalent sample size"),
        (lambda one, new: learner(smoothing=-1).fit(new), "smoothing: -1 is not a number"),
        (lambda one, new: learner(max_parents=-1).fit(new), "max_parents"),
        (lambda one, new: learner().fit(new.assign(age="old")), "'old' in row 1 of the data, which is no number"),
        (
            lambda one, new: learner().fit(new.assign(age=3)),
            "'age' has the same number in every record, which no Gaussian fits: leave out what never varies.",
        ),
        (lambda one, new: learner().fit(new.head(1)), "has 1 record, which tells of no variance: give two or more."),
    ],
)
def test_what_cannot_be_used_is_said_in_a_sentence(fitted, new, ask, words):
    with pytest.raises(InputError, match=r"\.$") as caught:
        ask(fitted, new)
    assert words in str(caught.value)
    assert isinstance(caught.value, ValueError)
    assert "drop=" not in str(caught.value)


def test_columns_that_determine_each_other_are_fitted(new):
    twice = new.assign(two=2 * new.age + 1)
    fitted = learner().fit(twice)
    assert np.isfinite(fitted.score(twice))
    assert not {("age", "two"), ("two", "age")} & {(p, c) for c, own in fitted.parents_.items() for p in own}
    assert learner().fit(new.head(5)).adjacency_matrix_.sum(axis=0).max() <= 3


def test_no_answer_is_infinite_or_no_number():
    random = np.random.default_rng(3)
    table = random.normal(size=(50, 1)) + random.normal(size=(50, 3)) * 0.1
    far = np.array([[0.0, 0.0, 0.0], [1e150, -1e150, 1e150]])
    fitted = learner().fit(table * [1.0, 1e-120, 1e120])
    assert np.isfinite(fitted.predict(table * [1.0, 1e-120, 1e120], 1)).all()
    with pytest.raises(InputError, match=r"^X: record 2 is so far from the records of fit that no answer is finite"):
        fitted.score(far)
    tiny = learner().fit(table * 1e-170)
    assert tiny.adjacency_matrix_.sum() > 0
    for ask in (lambda: tiny.score(table), lambda: tiny.predict(table, 0), lambda: tiny.sample(3)):
        with pytest.raises(
            InputError, match=r"^'X\d' has no density by the network, .*: give the column in larger units"
        ):
            ask()


def test_a_fit_that_fails_leaves_the_network_as_it_was(frame, new):
    fitted = learner().fit(frame)
    before = fitted.score(new)
    with pytest.raises(InputError, match="takes numbers"):
        fitted.fit(pd.DataFrame({"a": ["x", "y", "x"]}))
    assert fitted.score(new) == before
    assert fitted.n_features_in_ == 5


def test_data_frames_need_pandas_to_come_back(fitted, uninstalled):
    uninstalled("pandas")
    for ask in (lambda: fitted.sample(3), lambda: fitted.adjacency_matrix_):
        with pytest.raises(InputError, match="pip install pandas") as caught:
            ask()
        assert isinstance(caught.value, ValueError)


def test_before_fit_there_is_nothing(frame):
    for ask in (lambda one: one.score(frame), lambda one: one.predict(frame, "age"), lambda one: one.sample()):
        with pytest.raises(NotFittedError, match="call fit first"):
            ask(learner())
