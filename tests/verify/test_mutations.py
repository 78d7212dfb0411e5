"""Random forgeries: numbers, lists, names and keys of documents changed, of true claims and of false ones.

Whatever is believed of them is true by the oracle: see `forging.believed`. Nothing but a named failure comes out.
"""

import random

import pytest
from forge.random_edits import mutate, places
from forging import KINDS, believed, claimed, dearer_networks, true_document
from portions import some

from extbnsl.verify.certificate import floor_units


def close_the_gap(document, rng):
    """Change figures so that they seem to prove what is claimed: minima, multipliers, or one beside the other."""
    for component in document["certificate"]["components"]:
        if not component["steps"]:
            continue
        one = component["steps"][0]
        needs = [(len(cut) + 1) // 2 for cut in one["cuts"]]
        root = sum(m * n for m, n in zip(one["multipliers"], needs, strict=True)) + sum(component["least"].values())
        lacking = floor_units(component["lower_bound"]) + 1 - root
        high, low = rng.choice(component["variables"]), rng.choice(component["variables"])
        if one["cuts"] and rng.random() < 0.6:
            at = rng.randrange(len(one["cuts"]))
            one["multipliers"][at] = max(1, one["multipliers"][at] + lacking // needs[at] + 1)
        else:
            more = rng.choice([0, floor_units(10.0), 1 << 50])
            component["least"][high] += lacking + more
            component["least"][low] -= more
        if rng.random() < 0.3:
            rng.shuffle(component["steps"])
        if rng.random() < 0.3:
            del component["steps"][1:]


def forge(case, rng):
    """A document: true or of a dearer network, figures fitted to the claims or not, and up to three changes."""
    document = true_document(case)
    false = rng.random() < 0.6
    if false:
        document = claimed(case, rng.choice(list(dearer_networks(case))))
    if false and rng.random() < 0.7:
        close_the_gap(document, rng)
    for _ in range(rng.randrange(4) if false else 1 + rng.randrange(3)):
        if any(len(path) == 1 for path in places(document)):
            mutate(document, rng)
    return document


def assert_nothing_false_is_believed(seeds):
    """How many of the documents were believed in full: some are still true."""
    complete = 0
    for seed in seeds:
        rng = random.Random(seed)
        case = KINDS[rng.choice(sorted(KINDS))]()
        optimality = believed(forge(case, rng), case.problem)
        complete += optimality is not None and optimality.complete
    return complete


@pytest.mark.slow
def test_some_random_forgeries():
    assert 0 < assert_nothing_false_is_believed(range(150)) < 75


@pytest.mark.slow
@pytest.mark.parametrize("first", some(range(1000, 2250, 250), 2))
def test_many_random_forgeries(first):
    assert 0 < assert_nothing_false_is_believed(range(first, first + 250)) < 125
