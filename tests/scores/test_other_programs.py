"""Scores of families against those of pgmpy and pyAgrum, where these are installed, and bnlearn's regrets."""

import math

import naive
import numpy as np
import pytest

from extbnsl.data.reading import read_csv
from extbnsl.scores.cells import Cells
from extbnsl.scores.known import score_named
from extbnsl.scores.qnml import log_regrets_of

FILES = ("sampled/asia_1000.csv", "uci/zoo.csv", "sampled/child_1000.csv")


class Families:
    """Random families of a data set: (child, parents), and what they cost."""

    def __init__(self, path):
        self.dataset, rng = read_csv(path), np.random.default_rng(1)
        sizes = rng.integers(0, 5, 40)
        self.chosen = [rng.permutation(self.dataset.variables)[: size + 1].tolist() for size in sizes]
        self.labels = dict(zip(self.dataset.names, map(list, self.dataset.states), strict=True))

    def frame(self):
        import pandas

        columns = {
            name: np.array(states)[self.dataset.codes[:, v]] for v, (name, states) in enumerate(self.labels.items())
        }
        return pandas.DataFrame(columns)

    def each(self):
        """The child and its parents by name, and their cells."""
        arities = self.dataset.arities
        for child, *parents in self.chosen:
            _, which = np.unique(self.dataset.codes[:, parents], axis=0, return_inverse=True)
            counts = np.zeros((int(which.max()) + 1, int(arities[child])), np.int64)
            np.add.at(counts, (which, self.dataset.codes[:, child]), 1)
            states = math.prod(int(arities[p]) for p in parents)
            names = self.dataset.names
            yield names[child], [names[p] for p in parents], Cells(counts, int(arities[child]), float(states))


def approximate_regret(m, states):
    """ln C(m, K) as Szpankowski and Weinberger (2012) approximate it, the lesser of two ways: for many records, and for
    many states. bnlearn 5.2 has it for more than 1,000 records or 100 states."""
    share = math.exp(math.lgamma(states / 2) - math.lgamma((states - 1) / 2))
    root = math.sqrt(0.5) - share * states / 3 / math.sqrt(m)
    many_records = (states - 1) / 2 * math.log(m / 2) + math.log(math.pi) / 2 - math.lgamma(states / 2) + 0.5
    many_records += -root * root + (3 + states * (states - 2) * (2 * states + 1)) / (36 * m)
    ratio = states / m
    c = (1 + math.sqrt(1 + 4 / ratio)) / 2
    many_states = m * (math.log(ratio) + (ratio + 2) * math.log(c) - 1 / c) - math.log(c + 2 / ratio) / 2
    return min(many_records, many_states)


@pytest.mark.parametrize(("m", "states"), [(1001, 2), (1001, 48), (1001, 100), (355, 104), (300, 101), (1020, 64)])
def test_bnlearn_has_other_regrets_beyond_a_thousand_records_or_a_hundred_states(m, states):
    exact = naive.log_regret(m, states)
    assert log_regrets_of(m, np.array([float(states)]))[0] == pytest.approx(exact, abs=1e-9)
    too_much = approximate_regret(m, states) - exact
    assert 0 < too_much < (6e-7 if states == 2 else 0.004)


@pytest.mark.parametrize("file", FILES)
def test_pgmpy(file, shared_data):
    scores = pytest.importorskip("pgmpy.structure_score")
    families = Families(shared_data / file)
    frame = families.frame().astype("category")
    others = {
        ("mdl", None): scores.BIC(frame, state_names=families.labels),
        ("aic", None): scores.AIC(frame, state_names=families.labels),
        ("k2", None): scores.K2(frame, state_names=families.labels),
        ("bdeu", 1.0): scores.BDeu(frame, state_names=families.labels, equivalent_sample_size=1),
        ("bdeu", 10.0): scores.BDeu(frame, state_names=families.labels, equivalent_sample_size=10),
        ("bds", 10.0): scores.BDs(frame, state_names=families.labels, equivalent_sample_size=10),
    }
    for (name, ess), other in others.items():
        score = score_named(name, ess)
        for child, parents, cells in families.each():
            lacking = cells.configurations - len(cells.counts)
            if name == "bds" and lacking:
                continue  # its prior of a joint state is spread over all states of the parents, that of these is not
            extra = lacking * math.lgamma(cells.arity) if name == "k2" else 0.0  # of states of parents without records
            theirs = other.local_score(child, tuple(parents)) - extra
            assert -theirs == pytest.approx(score.cost(cells), rel=1e-9, abs=1e-9), (name, child, parents)


@pytest.mark.parametrize("file", FILES)
def test_pyagrum(file, shared_data):
    gum = pytest.importorskip("pyagrum")
    families = Families(shared_data / file)
    frame, network = families.frame(), gum.BayesNet()
    for name, states in families.labels.items():
        network.add(gum.LabelizedVariable(name, name, states))

    def learner(name, prior):
        made = gum.BNLearner(frame, network)
        made.useNoPrior()
        getattr(made, name)()
        if prior:
            made.useBDeuPrior(prior)
        return made

    others = {
        ("mdl", None): learner("useScoreBIC", None),
        ("aic", None): learner("useScoreAIC", None),
        ("k2", None): learner("useScoreK2", None),
        ("bdeu", 1.0): learner("useScoreBDeu", None),
        ("bdeu", 10.0): learner("useScoreBD", 10.0),
    }
    compared = 0
    for (name, ess), other in others.items():
        score = score_named(name, ess)
        for child, parents, cells in families.each():
            prior = 0.0 if ess is None else 100.0 * ess / cells.configurations / cells.arity
            if abs(prior - round(prior)) > 1e-9:
                continue  # its table of ln G has steps of 0.01
            nats = math.log(2.0) * other.score(child, parents)
            if name == "aic":  # it charges a bit for a parameter, not a nat
                nats -= (1.0 - math.log(2.0)) * (cells.arity - 1) * cells.configurations
            assert -nats == pytest.approx(score.cost(cells), rel=1e-5, abs=1e-5), (name, child, parents)
            compared += 1
    assert compared >= 3 * len(families.chosen)
