"""Random forgeries: numbers, lists, names and keys of documents changed, of true claims and of false ones.

Whatever is believed of them is true by the oracle: see `forging.believed`. Nothing but a named failure comes out.
"""

import math
import random

import pytest
from forging import KINDS, believed, claimed, dearer_networks, true_document

from extbnsl.verify.units import UNITS_PER_NAT, floor_units

FIGURES = (
    0,
    1,
    -1,
    0.5,
    -0.0,
    1e300,
    -1e300,
    math.inf,
    -math.inf,
    math.nan,
    True,
    None,
    "1",
    1 << 60,
    1 << 63,
    10**400,
)


def places(value, path=()):
    """The paths of all values inside one."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inside:
        yield (*path, key)
        yield from places(item, (*path, key))


def holder(document, path):
    """What holds the value at a path."""
    for key in path[:-1]:
        document = document[key]
    return document


def other_number(value, rng):
    """Another number: near, far, or none."""
    if isinstance(value, float) and not math.isfinite(value):
        return 0.0
    factor = rng.choice([2, -1, 0, 3])
    near = rng.choice([1, -1, floor_units(1e-6), -floor_units(1e-6), floor_units(0.1), floor_units(5.0)])
    nats = near / UNITS_PER_NAT if isinstance(value, float) else near
    return rng.choice([value * factor, value + nats, value - nats, value + nats, rng.choice(FIGURES)])


def mutate_list(values, names, rng):
    """Change a list in place."""
    at = rng.randrange(len(values) + 1)
    change = rng.randrange(5)
    if change == 0 and values:
        del values[at % len(values)]
    elif change == 1 and values:
        values.insert(at, values[rng.randrange(len(values))])
    elif change == 2:
        rng.shuffle(values)
    elif change == 3:
        values.append(rng.choice(names))
    else:
        values.clear()


def mutate_object(values, rng):
    """Change an object in place: a key less, one renamed, or two values swapped."""
    keys = list(values)
    one, other = rng.choice(keys), rng.choice(keys)
    change = rng.randrange(3)
    if change == 0:
        values[one], values[other] = values[other], values[one]
    elif change == 1:
        values[f"{one}?"] = values.pop(one)
    else:
        del values[one]


def mutate(document, rng):
    """Change something anywhere in a document, in place: in its certificate three times out of four."""
    names = document["variables"] if isinstance(document.get("variables"), list) else ["v0"]
    paths = list(places(document))
    in_certificate = [path for path in paths if path[0] == "certificate" and len(path) > 2]
    path = rng.choice(in_certificate if in_certificate and rng.random() < 0.75 else paths)
    inside = holder(document, path)
    value = inside[path[-1]]
    if isinstance(value, list):
        mutate_list(value, names or ["v0"], rng)
    elif isinstance(value, dict) and value:
        mutate_object(value, rng)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        inside[path[-1]] = other_number(value, rng)
    else:
        inside[path[-1]] = rng.choice([*(names or ["v0"]), *FIGURES])


def close_the_gap(document, rng):
    """Change figures so that they seem to prove what is claimed: minima, multipliers, or one beside the other."""
    for component in document["certificate"]["components"]:
        if not component["passes"]:
            continue
        one = component["passes"][0]
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
            rng.shuffle(component["passes"])
        if rng.random() < 0.3:
            del component["passes"][1:]


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


def test_some_random_forgeries():
    assert 0 < assert_nothing_false_is_believed(range(150)) < 75


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 3000, 250))
def test_many_random_forgeries(first):
    assert 0 < assert_nothing_false_is_believed(range(first, first + 250)) < 125
