"""The estimator on records of interventions: a column of X says what was set, in `fit` and in new records."""

import math
import pickle

import numpy as np
import pandas as pd
import pytest

import extbnsl
from extbnsl.networks.gaussian import regressions
from extbnsl.networks.parameters import fit


def cells(records=600, seed=6):
    """erk follows pka, akt follows erk; some of both are set."""
    draw = np.random.default_rng(seed)
    done = draw.choice(["", "akt", "erk", "akt;erk"], records)
    pka = draw.random(records) < 0.5
    erk = np.where([("erk" in own) for own in done], True, draw.random(records) < np.where(pka, 0.8, 0.2))
    akt = np.where([("akt" in own) for own in done], False, draw.random(records) < np.where(erk, 0.85, 0.25))
    return pd.DataFrame({"pka": pka, "set": done, "erk": erk, "akt": akt}).astype({"pka": int, "erk": int, "akt": int})


def measured(records=400, seed=6):
    frame, draw = cells(records, seed), np.random.default_rng(seed + 1)
    pka = 5 + draw.normal(size=records)
    erk = np.where(["erk" in own for own in frame["set"]], 100.0, 2 * pka + draw.normal(size=records))
    akt = np.where(["akt" in own for own in frame["set"]], -50.0, erk - 3 + draw.normal(size=records))
    return pd.DataFrame({"pka": pka, "set": frame["set"], "erk": erk, "akt": akt})


def expected_scores(learner, frame):
    """The logarithms of the tables' entries of what was not set, record by record; others are summed out."""
    data, network = learner.result_.dataset, learner.network_
    tables, names = fit(network, data, learner.smoothing), list(network.names)
    found = []
    for _, row in frame.iterrows():
        done = set(filter(None, str(row["set"]).split(";")))
        total = 0.0
        for states in np.ndindex(*[len(own) for own in data.states]):
            labels = [data.states[j][k] for j, k in enumerate(states)]
            if any(not pd.isna(row[name]) and str(int(row[name])) != labels[j] for j, name in enumerate(names)):
                continue
            share = 1.0
            for child, own in enumerate(network.parents):
                if names[child] not in done:
                    share *= tables[child][(*(states[p] for p in own), states[child])]
            total += share
        found.append(math.log(total))
    return np.array(found)


def test_of_states():
    frame = cells()
    learner = extbnsl.BayesianNetworkLearner(targets="set").fit(frame)
    assert learner.parents_ == extbnsl.learn(frame, targets="set").parents
    assert learner.network_.names == ("pka", "erk", "akt")
    assert learner.adjacency_matrix_.shape == (3, 3)
    assert sorted(learner.states_) == ["akt", "erk", "pka"]
    assert learner.n_features_in_ == 4
    new = cells(40, 7)
    assert learner.score_samples(new) == pytest.approx(expected_scores(learner, new))
    assert learner.score(new) == pytest.approx(expected_scores(learner, new).mean())
    lacking = new.copy()
    lacking["pka"] = lacking["pka"].astype(float).where(np.arange(40) % 2 == 0)
    gaps = extbnsl.BayesianNetworkLearner(targets="set", missing="drop").fit(frame)
    assert gaps.score_samples(lacking) == pytest.approx(expected_scores(gaps, lacking))
    for columns in (["pka", "erk", "akt"], ["akt", "pka", "erk"]):
        plain = learner.score_samples(new[columns])
        assert plain == pytest.approx(expected_scores(learner, new.assign(set="")))
    assert pickle.loads(pickle.dumps(learner)).score(new) == learner.score(new)


def test_what_was_set_tells_nothing_of_its_parents():
    learner = extbnsl.BayesianNetworkLearner(targets="set").fit(cells())
    assert learner.parents_["erk"] == ["pka"]
    seen = pd.DataFrame({"erk": [1, 1], "akt": [1, 1], "set": ["", "erk"]})
    told = learner.predict_proba(seen, target="pka")[:, 1]
    assert told[0] > 0.7
    assert told[1] == pytest.approx(learner.predict_proba(pd.DataFrame({"set": ["erk"], "erk": [1]}), "pka")[0, 1])
    assert abs(told[1] - 0.5) < 0.1
    # of a variable that was set: what it would be by the others
    both = pd.DataFrame({"pka": [1, 1], "akt": [1, 1], "erk": [0, 0], "set": ["", "erk"]})
    first, second = learner.predict_proba(both, target="erk")
    assert first == pytest.approx(second)
    assert learner.predict(seen, "pka").tolist()[0] == 1
    drawn = learner.sample(5, random_state=1)
    assert list(drawn.columns) == ["pka", "erk", "akt"]


def test_of_numbers():
    frame = measured()
    learner = extbnsl.BayesianNetworkLearner(scoring_method="gaussian-bic", targets="set").fit(frame)
    network, new = learner.network_, measured(30, 9)
    fitted = regressions(network, learner.result_.dataset)
    expected = np.zeros(30)
    for child, own in enumerate(network.parents):
        name = network.names[child]
        mean = fitted[child].intercept + new[[network.names[p] for p in own]].to_numpy() @ fitted[child].coefficients
        each = -np.log(2 * np.pi * fitted[child].variance) / 2 - (new[name] - mean) ** 2 / 2 / fitted[child].variance
        expected += np.where([name in done.split(";") for done in new["set"]], 0.0, each)
    assert learner.score_samples(new) == pytest.approx(expected)
    assert learner.parents_["akt"] == ["erk"]
    seen = pd.DataFrame({"erk": [100.0, 100.0], "set": ["", "erk"]})
    free, done = learner.predict(seen, target="pka")
    assert free > 40
    assert done == pytest.approx(frame["pka"].mean(), abs=0.2)
    assert learner.predict(seen, target="akt") == pytest.approx([97, 97], abs=1)
    assert list(learner.sample(3, random_state=1).columns) == ["pka", "erk", "akt"]


def test_arrays_have_the_column_or_lack_it():
    frame = cells().rename(columns={"pka": "X0", "set": "X1", "erk": "X2", "akt": "X3"})
    frame["X1"] = frame["X1"].str.replace("akt", "X3").str.replace("erk", "X2")
    array = frame.to_numpy(dtype=object)
    learner = extbnsl.BayesianNetworkLearner(targets="X1").fit(array)
    named = extbnsl.BayesianNetworkLearner(targets="X1").fit(frame)
    assert learner.parents_ == named.parents_
    assert learner.score_samples(array[:20]) == pytest.approx(named.score_samples(frame[:20]))
    without = np.delete(array, 1, axis=1)
    assert learner.score_samples(without[:20]) == pytest.approx(named.score_samples(frame[:20].drop(columns="X1")))
    assert learner.predict(array[:20], target=3).tolist() == named.predict(frame[:20], target="X3").astype(str).tolist()
    plain = named.predict(frame[:20].drop(columns="X1"), "X3").astype(str)
    assert learner.predict(without[:20], target=3).tolist() == plain.tolist()
    assert learner.sample(4, random_state=1).shape == (4, 3)
    with pytest.raises(ValueError, match="'X1' is no column of the network"):
        learner.predict(array, target=1)


@pytest.mark.parametrize(
    ("new", "told"),
    [
        ({"erk": [1], "set": ["raf"]}, "has 'raf' in row 1 of the data, which no column is called"),
        ({"pka": [1, 1], "set": ["", "erk"]}, "in record 2 'erk' was set, and its value is missing"),
        ({"erk": [1], "raf": [1]}, "the column 'raf' that the network does not know"),
    ],
)
def test_what_is_refused(new, told):
    learner = extbnsl.BayesianNetworkLearner(targets="set").fit(cells())
    with pytest.raises(ValueError, match=told):
        learner.score_samples(pd.DataFrame(new))


def test_columns_that_are_cut_and_no_column_of_that_name():
    frame = measured()
    learner = extbnsl.BayesianNetworkLearner(targets="set", discretise="quantile:3").fit(frame)
    assert learner.score_samples(frame).shape == (400,)
    assert learner.score_samples(frame)[0] != learner.score_samples(frame.assign(set="erk"))[0]
    with pytest.raises(ValueError, match="no column 'done'"):
        extbnsl.BayesianNetworkLearner(targets="done").fit(frame)


def test_measurement_errors():
    frame = measured().drop(columns="set").assign(copy=lambda own: 2 * own["pka"])
    learner = extbnsl.BayesianNetworkLearner(scoring_method="gaussian-bic", resolution={"copy": 0.1, "pka": 0.05})
    learner.fit(frame)
    assert learner.result_.dataset.resolution == (0.05, 0.0, 0.0, 0.1)
    assert np.isfinite(learner.score_samples(frame)).all()
    assert learner.predict(frame, "copy") == pytest.approx(2 * frame["pka"], abs=0.5)
