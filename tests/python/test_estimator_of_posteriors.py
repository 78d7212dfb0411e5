"""The estimator with sums over all networks: what it says of arcs, and the answers of the networks that were drawn,
each against the mixture of their joint distributions in full."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from joint import fitted_joint, log_density
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score

import extbnsl
from extbnsl import BayesianNetworkLearner
from extbnsl.core.errors import InputError
from extbnsl.networks.network import Network
from extbnsl.results.samples import counted_networks

ASKED = {"method": "posterior", "networks": 40, "threads": 1}
GAPS = [(), ("c",), ("a", "d"), ("a", "b", "c", "d")]  # what records lack


@pytest.fixture(scope="module")
def frame():
    """Few records, so that many networks have some weight."""
    random = np.random.default_rng(4)
    a = random.integers(0, 3, 40)
    b = np.where(random.random(40) < 0.5, a % 2, random.integers(0, 2, 40))
    c = np.where(random.random(40) < 0.4, b, random.integers(0, 2, 40))
    return pd.DataFrame({"a": a, "b": np.array(["no", "yes"])[b], "c": c.astype(bool), "d": random.integers(0, 2, 40)})


@pytest.fixture(scope="module")
def fitted(frame):
    return BayesianNetworkLearner(**ASKED, scoring_method="aic", smoothing=0.7).fit(frame)


def drawn(fitted):
    """The networks that were drawn, with how often."""
    found = fitted.posterior_
    counts = counted_networks(found.names, found.networks)
    assert sum(counts.values()) == ASKED["networks"]
    assert len(counts) > 5
    return counts


def mixture(fitted, frame, smoothing):
    """The mean of the joint tables of the networks that were drawn, an axis for each variable, by counting in loops."""
    states = [values.tolist() for values in fitted.states_.values()]
    records = frame.astype(object).to_numpy().tolist()
    total = np.zeros([len(own) for own in states])
    for network, count in drawn(fitted).items():
        for at in np.ndindex(total.shape):
            one, share = [own[i] for own, i in zip(states, at, strict=True)], 1.0
            for child, parents in enumerate(network.parents):
                alike = [record for record in records if all(record[p] == one[p] for p in parents)]
                prior = smoothing / math.prod(len(states[p]) for p in parents)
                same = sum(record[child] == one[child] for record in alike)
                share *= (same + prior / len(states[child])) / (len(alike) + prior)
            total[at] += count * share / ASKED["networks"]
    assert math.isclose(total.sum(), 1.0)
    return total


def lacking(frame):
    """The records, each of which lacks what one of GAPS says."""
    found = frame.astype(object)
    for row, gaps in zip(range(len(frame)), itertools.cycle(GAPS)):
        found.loc[row, list(gaps)] = None
    return found


def parts(fitted, frame, joint, target=None):
    """The part of a joint table that is as each record has it, summed over what that lacks but for the target."""
    states = {name: values.tolist() for name, values in fitted.states_.items()}
    for record in lacking(frame).to_dict("records"):
        at = tuple(
            slice(None) if own is None or name == target else states[name].index(own) for name, own in record.items()
        )
        left = [name for name, own in zip(record, at, strict=True) if isinstance(own, slice)]
        yield joint[at].sum(axis=tuple(i for i, name in enumerate(left) if name != target))


def test_what_is_said_of_arcs(frame, fitted):
    asked = {"score": "aic", "sample": 40}
    found = extbnsl.posterior(frame, **asked).posterior
    table = fitted.arc_probabilities_
    assert table.dtypes.eq(np.float64).all()
    assert list(table.index) == list(table.columns) == list(frame.columns)
    for one, other in itertools.permutations(frame.columns, 2):
        assert (
            table.loc[one, other] == found.arc(one, other).probability == fitted.posterior_.arc(one, other).probability
        )
    assert fitted.posterior_.document() == found.document()
    assert (fitted.cost_, fitted.status_, fitted.optimal_) == (extbnsl.learn(frame, score="aic").cost, "optimal", True)
    assert fitted.adjacency_matrix_.shape == (4, 4)
    of_array = BayesianNetworkLearner(**ASKED, scoring_method="aic").fit(frame.to_numpy())
    assert isinstance(of_array.arc_probabilities_, np.ndarray)
    assert (of_array.arc_probabilities_ == table.to_numpy()).all()


@pytest.mark.parametrize("smoothing", [0.7, 5.0])
def test_records_are_as_likely_as_the_networks_make_them_on_average(frame, fitted, smoothing):
    asked = clone(fitted).set_params(smoothing=smoothing).fit(frame)
    joint = mixture(asked, frame, smoothing)
    expected = [math.log(part) for part in parts(asked, frame, joint)]
    assert asked.score_samples(lacking(frame)) == pytest.approx(expected, rel=1e-10)
    assert asked.score(lacking(frame)) == pytest.approx(np.mean(expected), rel=1e-10)
    alone = BayesianNetworkLearner(scoring_method="aic", smoothing=smoothing).fit(frame)
    assert asked.score(frame) != pytest.approx(alone.score(frame), rel=1e-4)


@pytest.mark.parametrize("target", ["a", "b", "c", "d"])
def test_predictions_are_those_of_the_mixture(frame, fitted, target):
    shares = np.array(list(parts(fitted, frame, mixture(fitted, frame, 0.7), target)))
    expected = shares / shares.sum(axis=1, keepdims=True)
    found = fitted.predict_proba(lacking(frame), target)
    assert found == pytest.approx(expected, rel=1e-9)
    assert (fitted.predict(lacking(frame), target) == fitted.states_[target][expected.argmax(axis=1)]).all()
    (whole,) = fitted.predict_proba(frame[[]].head(1), target)  # nothing is known of it
    assert whole == pytest.approx(fitted.predict_proba(lacking(frame), target)[3], rel=1e-12)


def test_what_queries_say(frame, fitted):
    """The estimator and the result agree."""
    row = frame.iloc[[5]].drop(columns="b")
    given = row.iloc[0].to_dict()
    said = fitted.result_.query(["b"], given, smoothing=0.7, average=True)["b"]
    assert list(said.values()) == pytest.approx(fitted.predict_proba(row, "b")[0].tolist(), rel=1e-12)
    assert list(said.values()) != pytest.approx(
        list(fitted.result_.query(["b"], given, smoothing=0.7)["b"].values()), rel=1e-3
    )


def test_samples_have_the_frequencies_of_the_mixture(frame, fitted):
    records = fitted.sample(20_000, random_state=1)
    assert list(records.dtypes) == list(frame.dtypes)
    joint = mixture(fitted, frame, 0.7)
    states = {name: values.tolist() for name, values in fitted.states_.items()}
    codes = [records[name].map({own: i for i, own in enumerate(states[name])}) for name in frame]
    counts = np.zeros(joint.shape)
    np.add.at(counts, tuple(codes), 1)
    chi_square = ((counts - joint * 20_000) ** 2 / (joint * 20_000)).sum()
    assert chi_square < joint.size + 5.0 * math.sqrt(2.0 * joint.size)
    assert fitted.sample(30, 1).equals(fitted.sample(30, 1))
    assert not fitted.sample(30, 1).equals(fitted.sample(30, 2))


def test_samples_of_networks_are_shuffled():
    """Records of one network do not come before those of another."""
    frame = pd.DataFrame({"a": [0, 1] * 10, "b": [0, 1] * 10})
    fitted = BayesianNetworkLearner(**ASKED, smoothing=0.0).fit(frame)
    apart, joined = (Network(("a", "b"), own) for own in (((), ()), ((), (0,))))
    fitted._answers = replace(fitted._answers, networks={apart: 3, joined: 1})
    records = fitted.sample(4000, 5)
    halves = [(own.a != own.b).mean() for own in (records[:2000], records[2000:])]
    assert halves == pytest.approx([0.375, 0.375], abs=0.05)


def test_impossible_records():
    """A record counts by the networks that allow it; where none does, that is said."""
    frame = pd.DataFrame({"a": [0, 0, 1, 1, 0, 1], "b": [0, 0, 1, 1, 0, 1], "c": [0, 1, 0, 1, 0, 0]})
    fitted = BayesianNetworkLearner(**ASKED, scoring_method="aic", smoothing=0.0).fit(frame)
    new = pd.DataFrame({"a": [0, 1], "b": [1, 1], "c": [0, 1]})
    found = fitted.score_samples(new)
    possible = [
        count
        for network, count in counted_networks(("a", "b", "c"), fitted.posterior_.networks).items()
        if not {(0, 1), (1, 0)} & set(network.arcs())
    ]
    assert np.isneginf(found[0]) == (not possible)
    assert np.isfinite(found[1])
    joined = BayesianNetworkLearner(**ASKED, smoothing=0.0, knowledge={"required": [["a", "b"]]}).fit(frame)
    assert np.isneginf(joined.score_samples(new)[0])
    with pytest.raises(InputError, match="record 1 is impossible by the network whatever 'c' is"):
        joined.predict(new, "c")


@pytest.fixture(scope="module")
def numbers():
    random = np.random.default_rng(2)
    x = random.normal(size=25)
    y = 0.4 * x + random.normal(size=25)
    return pd.DataFrame({"x": x, "y": y, "z": 0.3 * x - 0.5 * y + random.normal(size=25)})


def test_networks_of_numbers(numbers):
    fitted = BayesianNetworkLearner(**ASKED, scoring_method="gaussian-bic").fit(numbers)
    values, weights, means = numbers.to_numpy(), [], []
    total = np.full(len(values), -math.inf)
    for network, count in drawn(fitted).items():
        mean, covariance = fitted_joint(values, network.parents)
        total = np.logaddexp(total, log_density(mean, covariance, values) + math.log(count / ASKED["networks"]))
        one = log_density(mean[:1], covariance[:1, :1], values[:, :1])
        weights.append(count * np.exp(one))
        means.append(mean[2] + covariance[2, 0] / covariance[0, 0] * (values[:, 0] - mean[0]))
    assert fitted.score_samples(numbers) == pytest.approx(total.tolist(), rel=1e-9)
    expected = np.average(np.array(means), axis=0, weights=np.array(weights))
    assert fitted.predict(numbers[["x"]], "z") == pytest.approx(expected.tolist(), rel=1e-9)
    assert not hasattr(fitted, "predict_proba")
    many = fitted.sample(4000, 0)
    assert np.abs(many.mean() - numbers.mean()).max() < 0.1


def test_states_and_numbers_together(numbers):
    both = numbers.assign(s=np.where(numbers.x > 0.2, "high", "low"))
    for score, smoothing in (("cg-bic", 1.0), ("dg-bic", 0.0)):
        fitted = BayesianNetworkLearner(**ASKED, scoring_method=score, smoothing=1.0).fit(both)
        row = both.iloc[[0]]
        said = fitted.result_.query(["s"], {"y": float(row.y.iloc[0])}, smoothing=smoothing, average=True)["s"]
        own = fitted.predict_proba(row[["y"]], "s")[0]
        assert own == pytest.approx(list(said.values()), rel=1e-9)
        told = fitted.result_.query(["x"], {"y": float(row.y.iloc[0])}, average=True, smoothing=smoothing)["x"]
        assert fitted.predict(row[["y"]], "x") == pytest.approx([told["mean"]], rel=1e-9)
        assert np.isfinite(fitted.score_samples(both)).all()
        if score == "cg-bic":
            assert set(fitted.sample(50, 0).s) == {"high", "low"}
        else:
            with pytest.raises(InputError, match="Gaussian, also of states, and draws none"):
                fitted.sample(2)


def test_what_was_set_cuts_every_network():
    """The weights of networks are those of the cut ones: what is set tells nothing of its parents."""
    random = np.random.default_rng(1)
    a = random.integers(0, 2, 60)
    frame = pd.DataFrame({"a": a, "b": np.where(random.random(60) < 0.65, a, 1 - a), "set": np.where(a > 2, "b", "")})
    frame.loc[:9, "set"] = "b"
    fitted = BayesianNetworkLearner(**ASKED, targets="set", smoothing=1.0).fit(frame)
    new = pd.DataFrame({"a": [0, 0], "b": [1, 1], "set": ["b", ""]})
    shares, likely = np.zeros(2), 0.0
    plain, of_b = np.zeros(2), frame[frame.set == ""]
    for network, count in counted_networks(("a", "b"), fitted.posterior_.networks).items():
        p_a = np.array([(frame.a == s).sum() + 0.5 for s in (0, 1)]) / 61.0
        p_b = np.array([(of_b.b == s).sum() + 0.5 for s in (0, 1)]) / 51.0
        if (0, 1) in network.arcs():
            rows = [of_b[of_b.a == s] for s in (0, 1)]
            joint = p_a * np.array([((own.b == 1).sum() + 0.25) / (len(own) + 0.5) for own in rows])
        elif (1, 0) in network.arcs():
            own = frame[frame.b == 1]
            cut = np.array([((own.a == s).sum() + 0.25) / (len(own) + 0.5) for s in (0, 1)])
            joint = p_b[1] * cut
            p_a = cut  # given b, which was set
        else:
            joint = p_a * p_b[1]
        shares += count * p_a
        plain += count * joint
        likely += count * p_a[0] / ASKED["networks"]
    found = fitted.predict_proba(new, "a")
    assert found[0] == pytest.approx((shares / shares.sum()).tolist(), rel=1e-9)
    assert found[1] == pytest.approx((plain / plain.sum()).tolist(), rel=1e-9)
    assert fitted.score_samples(new)[0] == pytest.approx(math.log(likely), rel=1e-9)
    assert fitted.score_samples(new.drop(columns="set"))[1] == fitted.score_samples(new)[1]


def test_of_time_series():
    """One step ahead by all networks; the past is given."""
    random = np.random.default_rng(6)
    state, rows = 0, []
    for day in range(50):
        state = state if random.random() < 0.65 else 1 - state
        rows.append((day, state, int(random.random() < 0.4 + 0.2 * state)))
    frame = pd.DataFrame(rows, columns=["day", "a", "b"])
    asked = {"time_column": "day", "lags": 1, "smoothing": 1.0}
    fitted = BayesianNetworkLearner(**ASKED, **asked).fit(frame)
    counts = counted_networks(fitted.posterior_.names, fitted.posterior_.networks)
    assert len(counts) > 1
    lacking = frame.astype(object)
    lacking.loc[20, "b"] = None  # of the present in one row, and of the past in the next
    ahead, likely = fitted.predict_proba(frame, "a"), fitted.score_samples(lacking)
    expected, log_mean = np.zeros((49, 2)), np.full(49, -math.inf)
    known = fitted._answers.answers
    for network, count in counts.items():
        own = replace(known.best, network=network, smoothing=1.0)
        alone = replace(fitted._answers, network=network, answers=own)
        expected += count / 40 * alone.predict_proba(frame, 0)[:49]
        log_mean = np.logaddexp(log_mean, np.nan_to_num(alone.score_samples(lacking)[1:]) + math.log(count / 40))
    assert ahead[:49] == pytest.approx(expected, rel=1e-9)
    known = ~np.isnan(likely[1:])
    assert likely[1:][known] == pytest.approx(log_mean[known].tolist(), rel=1e-9)
    assert np.flatnonzero(np.isnan(likely)).tolist() == [0, 21]
    with pytest.raises(InputError, match="not how a series begins"):
        fitted.sample(2)


def test_without_networks_the_best_one_answers(frame):
    alone = BayesianNetworkLearner(scoring_method="aic", threads=1).fit(frame)
    summed = BayesianNetworkLearner(scoring_method="aic", method="posterior", prior="order", threads=1).fit(frame)
    assert summed.posterior_.prior == "order"
    assert summed.posterior_.networks is None
    assert (summed.score_samples(frame) == alone.score_samples(frame)).all()
    assert (summed.predict_proba(frame, "b") == alone.predict_proba(frame, "b")).all()
    assert summed.sample(20, 3).equals(alone.sample(20, 3))


def test_in_scikit_learns_tools(frame):
    learner = BayesianNetworkLearner(**ASKED, prior="order", within=0.01, features={"f": {"arcs": [["a", "b"]]}})
    assert clone(learner).get_params() == learner.get_params()
    assert repr(BayesianNetworkLearner(**ASKED)) == "BayesianNetworkLearner(method='posterior', networks=40, threads=1)"
    scores = cross_val_score(learner, frame, cv=3)
    assert np.isfinite(scores).all()
    (feature,) = learner.fit(frame).posterior_.features
    rows = learner.posterior_.networks
    assert feature.share == pytest.approx(
        sum(bool(rows.parents[1][row, 0] & 1) for row in rows.rows[:, 1].tolist()) / 40
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"prior": "order"}, "prior: it is for the method 'posterior'; leave it out"),
        ({"within": 0.1}, "within: it is for the method 'posterior'"),
        ({"networks": 5}, "networks: it is for the method 'posterior'"),
        ({"features": {"f": {"arcs": [["a", "b"]]}}}, "features: it is for the method 'posterior'"),
        ({"method": "posterior", "prior": "even"}, "prior: 'even' is not known; use one of uniform, order"),
        ({"method": "posterior", "within": 1.0}, "within: 1.0 is no width"),
        ({"method": "posterior", "networks": -1}, "networks: -1 is not a whole number from 0"),
        ({"method": "posterior", "bootstrap": 3}, "bootstrap: the method 'posterior' has no use for it"),
        ({"method": "posterior", "features": {"f": {"arcs": [["a", "b"]]}}}, "say by networks how many"),
        ({**ASKED, "features": {"f": {"arcs": [["a", "q"]]}}}, "q"),
        ({"method": "posterior", "missing": "em"}, "in rounds of a solve"),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(frame, options, words):
    with pytest.raises(InputError, match=words) as raised:
        BayesianNetworkLearner(**options).fit(lacking(frame) if "missing" in options else frame)
    assert isinstance(raised.value, ValueError)


def test_where_there_is_no_posterior(frame):
    learner = BayesianNetworkLearner(threads=1)
    with pytest.raises(NotFittedError):
        _ = learner.posterior_
    learner.fit(frame)
    for name in ("posterior_", "arc_probabilities_"):
        assert not hasattr(learner, name)
        with pytest.raises(InputError, match="there are no sums over all networks; fit with method='posterior'"):
            getattr(learner, name)
