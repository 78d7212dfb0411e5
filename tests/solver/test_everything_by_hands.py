"""Every question is answered alike by threads and by hands, however badly these behave."""

import numpy as np
import pytest
from cases import random_dataset, random_numbers
from fake_hands import WAYS, FakeHands, hands_that_are
from latent import latent
from patching import sized

import extbnsl
from extbnsl.core.claims import NO_WORKERS
from extbnsl.core.codec import json_text
from extbnsl.posteriors.scope import PRIORS

COUNTERS = (
    "nodes_expanded",
    "nodes_generated",
    "nodes_kept",
    "varsets_counted",
    "parent_sets",
    "components",
    "parameters",
)


SMALL = {  # threads have no time for themselves, and tasks are small
    **{"START_SECONDS": 0.0, "by_level.CHUNK": 16, "FAR_NODES": 4},
    **{"MOST_MEETINGS": 9, "BLOCKS": 5, "FAR_STEPS": 3000},
    **{"LOW_BITS": 1, "LEAST_SOURCES": 2, "LEAST_TASK_BYTES": 400},
}


def answer_of(result):
    """What must be the same of an answer: all but what it took."""
    document = dict(result.document({}))
    stats = document.pop("stats")
    del document["provenance"]
    document["stats"] = {key: stats.get(key) for key in COUNTERS}
    if (bootstrap := getattr(result, "bootstrap", None)) is not None:
        document["resamples"] = [
            (one.number, one.status, one.cost, one.lower_bound, one.network.parents_by_name()) for one in bootstrap.done
        ]
    if (summed := getattr(result, "posterior", None)) is not None:
        document["files"] = {name: told.hex() for name, told in contents(summed.files()).items()}
    return json_text(document)


def contents(files):
    """What files have, whole or in pieces."""
    return {name: told if isinstance(told, bytes) else b"".join(told) for name, told in files}


def questions(seed):
    """A question of each kind about a random problem, as functions of hands."""
    rng = np.random.default_rng(seed)
    data = random_dataset(rng, int(rng.integers(1, 7)), int(rng.integers(20, 200)))
    names = list(data.names)
    numbers = random_numbers(rng, 5, 40)
    common = {"threads": 2}
    yield lambda hands: extbnsl.learn(data, score="bdeu", ess=5.0, hands=hands, **common)
    yield lambda hands: extbnsl.learn(data, bootstrap=5, hands=hands, **common)
    yield lambda hands: extbnsl.learn(latent(data, seed, 0.1), hands=hands, memory="64MiB", **common)
    yield lambda hands: extbnsl.learn(numbers, score="gaussian-bic", hands=hands, **common)
    yield lambda hands: extbnsl.learn(data, lower_bound="static", parent_graph="layered", hands=hands, **common)
    yield lambda hands: extbnsl.k_best(data, 7, hands=hands, **common)
    yield lambda hands: extbnsl.k_best(data, within_factor=30.0, hands=hands, **common)
    for prior in PRIORS:
        asked = {"prior": prior, "sample": 20, **common}
        yield lambda hands, asked=asked: extbnsl.posterior(data, score="bdeu", hands=hands, **asked)
        yield lambda hands, asked=asked: extbnsl.posterior(numbers, score="gaussian-bic", hands=hands, **asked)
    yield lambda hands: extbnsl.order(data, names, hands=hands, **common)


@pytest.mark.parametrize("way", [way for way in WAYS if way != "nobody"])
def test_the_same_families_by_price(way):
    """Climbs and parts of searches travel too."""
    data = random_dataset(np.random.default_rng(list(WAYS).index(way)), 8, 80, 3)
    hands = hands_that_are(way, 1)
    priced = {"cells_by_child.MANY": 20, "cells_by_child.FEW": 60, "rounds.FEW": 16, "rounds.MANY": 16}
    with sized({**SMALL, **priced}):
        common = {"score": "bdeu", "ess": 5.0, "threads": 2}
        assert answer_of(extbnsl.learn(data, hands=hands, **common)) == answer_of(extbnsl.learn(data, **common))
    assert sum(hands.bundles) > 5


@pytest.mark.parametrize("way", WAYS)
def test_the_same_answers(way):
    seed, sent = list(WAYS).index(way), 0
    for ask in questions(seed):
        hands = hands_that_are(way, seed)
        with sized(SMALL):
            assert answer_of(ask(hands)) == answer_of(ask(None))
        sent += len(hands.bundles)
    assert (sent > 5) == (way != "nobody")


def test_workers_that_are_gone_for_good_end_every_question():
    """With a result, whose status says so."""
    data = random_dataset(np.random.default_rng(1), 6, 100)
    with sized(SMALL):
        for ask in (
            lambda hands: extbnsl.learn(data, score="bdeu", hands=hands),
            lambda hands: extbnsl.learn(data, bootstrap=3, hands=hands),
            lambda hands: extbnsl.k_best(data, 3, hands=hands),
            lambda hands: extbnsl.posterior(data, hands=hands),
            lambda hands: extbnsl.approximate(data, time=20, hands=hands),
        ):
            hands = FakeHands(slots=0)
            hands.missing = 99.0
            result = ask(hands)
            assert result.status == NO_WORKERS
            assert result.lower_bound <= result.cost
