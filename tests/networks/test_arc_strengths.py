"""What arcs count: the whole network scored again without each of them, and with each turned."""

import itertools

import naive
import numpy as np
import pytest
from cases import EVERY_SCORE, dataset_of, random_dataset, random_numbers

from extbnsl.core.claims import Claim
from extbnsl.core.errors import VerificationError
from extbnsl.core.knowledge import Knowledge
from extbnsl.networks.arcs import ArcStrength, arc_strengths, costs_from, costs_in
from extbnsl.networks.network import Network
from extbnsl.networks.parameters import fit
from extbnsl.scores.local import named_scores


def random_network(rng, names):
    order = rng.permutation(len(names))
    parents = [()] * len(names)
    for at, x in enumerate(order):
        parents[x] = tuple(sorted(int(p) for p in order[:at] if rng.random() < 0.5))
    return Network(tuple(names), tuple(parents))


def with_parents(network, changes):
    return Network(network.names, tuple(changes.get(x, own) for x, own in enumerate(network.parents)))


def is_acyclic(network):
    try:
        network.order()
    except VerificationError:
        return False
    return True


def neighbours(network, parent, child):
    """The network without an arc, and with it turned."""
    less = with_parents(network, {child: tuple(p for p in network.parents[child] if p != parent)})
    return less, with_parents(less, {parent: tuple(sorted((*network.parents[parent], child)))})


def twin(network, dataset, score, allowed=lambda network: True):
    """The strengths by scoring every whole network again."""

    def cost(other):
        return sum(family_cost(dataset, score, child, parents) for child, parents in enumerate(other.parents))

    for parent, child in network.arcs():
        rises = [
            cost(other) - cost(network) if is_acyclic(other) and allowed(other) else None
            for other in neighbours(network, parent, child)
        ]
        yield ArcStrength(network.names[parent], network.names[child], *rises)


def family_cost(data, score, child, parents):
    if score == "gaussian-bic":
        return naive.gaussian_cost(data.values, child, parents)
    return naive.family_cost(score, data.codes, data.arities, child, parents)


def assert_same(found, expected):
    expected = tuple(expected)
    assert [(each.parent, each.child) for each in found] == [(each.parent, each.child) for each in expected]
    for one, other in zip(found, expected, strict=True):
        for key in ("cost_of_removal", "cost_of_reversal"):
            assert getattr(one, key) == (
                None if getattr(other, key) is None else pytest.approx(getattr(other, key), rel=1e-9, abs=1e-6)
            )


def claim_of(score, **more):
    name, _, ess = score.partition(":")
    return Claim(name, ess=float(ess) if ess else None, **more)


@pytest.mark.parametrize("score", EVERY_SCORE)
@pytest.mark.parametrize("seed", range(4))
def test_strengths_are_those_of_whole_networks(score, seed):
    rng = np.random.default_rng(seed)
    dataset = random_dataset(rng, 5, int(rng.integers(1, 80)))
    network = random_network(rng, dataset.names)
    claim = claim_of(score)
    found = arc_strengths(network, claim, costs_from(dataset, claim))
    assert_same(found, twin(network, dataset, score))


@pytest.mark.parametrize("seed", range(4))
def test_strengths_of_columns_of_numbers_are_those_of_whole_networks(seed):
    rng = np.random.default_rng(seed)
    numbers = random_numbers(rng, 5, 40)
    network, claim = random_network(rng, numbers.names), claim_of("gaussian-bic")
    found = arc_strengths(network, claim, costs_from(numbers, claim))
    assert any(one.cost_of_reversal is not None for one in found)
    assert_same(found, twin(network, numbers, "gaussian-bic"))


KNOWLEDGE = Knowledge(
    required=(("v0", "v1"),), forbidden=(("v3", "v0"),), tiers=(("v1",), ("v2",)), max_parents=(("v2", 1),)
)


def allowed(network):
    """What KNOWLEDGE and a limit of 2 parents allow, said once more."""
    arcs = {(network.names[p], network.names[x]) for p, x in network.arcs()}
    limits = all(len(own) <= (1 if x == 2 else 2) for x, own in enumerate(network.parents))
    return ("v0", "v1") in arcs and not arcs & {("v3", "v0"), ("v2", "v1")} and limits


def test_knowledge_and_limits_rule_out_neighbours():
    dataset = random_dataset(np.random.default_rng(1), 4, 50)
    pairs = list(itertools.permutations(range(4), 2))
    seen = 0
    for chosen in itertools.combinations(pairs, 4):
        network = Network(dataset.names, tuple(tuple(sorted(p for p, x in chosen if x == own)) for own in range(4)))
        if is_acyclic(network) and allowed(network):
            claim = Claim(max_parents=2, knowledge=KNOWLEDGE)
            assert_same(
                arc_strengths(network, claim, costs_from(dataset, claim)), twin(network, dataset, "mdl", allowed)
            )
            seen += 1
    assert seen > 5


def test_local_scores_tell_what_they_list():
    scores = named_scores({"a": {(): 5.0}, "b": {(): 7.0, ("a",): 4.0}, "c": {("a", "b"): 1.0, ("a",): 2.0}})
    network = Network(("a", "b", "c"), ((), (0,), (0, 1)))
    assert arc_strengths(network, scores.claim, costs_in(scores)) == (
        ArcStrength("a", "b", 3.0, None),
        ArcStrength("a", "c", None, None),
        ArcStrength("b", "c", 1.0, None),
    )


def test_parents_with_very_many_joint_states():
    """Their product is far beyond the records, so that they are numbered by sorting."""
    rng = np.random.default_rng(3)
    dataset = dataset_of(rng.integers(0, 80, (300, 5)), [80] * 5)
    network = Network(dataset.names, ((), (0,), (0, 1), (0, 1, 2), (0, 1, 2, 3)))
    for score in ("mdl", "bdeu", "k2"):
        claim = claim_of(score)
        assert_same(arc_strengths(network, claim, costs_from(dataset, claim)), twin(network, dataset, score))


def test_no_arcs_and_one_variable():
    dataset = dataset_of(np.zeros((3, 1)))
    assert arc_strengths(Network(("v0",), ((),)), Claim(), costs_from(dataset, Claim())) == ()


@pytest.mark.parametrize("smoothing", [0.0, 0.5, 1.0, 10.0])
def test_smoothing_adds_its_share_to_every_cell(smoothing):
    rng = np.random.default_rng(2)
    dataset = random_dataset(rng, 4, 12)
    network = random_network(rng, dataset.names)
    for child, table in enumerate(fit(network, dataset, smoothing)):
        parents = list(network.parents[child])
        for place in np.ndindex(table.shape):
            given = (dataset.codes[:, parents] == place[:-1]).all(axis=1)
            both = given & (dataset.codes[:, child] == place[-1])
            share = smoothing / table.size
            below = given.sum() + share * table.shape[-1]
            expected = (both.sum() + share) / below if below > 0 else 1 / table.shape[-1]
            assert table[place] == pytest.approx(expected, abs=1e-12)
