"""Random edits of documents: numbers, lists, names and keys."""

import math

from extbnsl.verify import UNITS_PER_NAT
from extbnsl.verify.certificate import floor_units

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
