"""Score files at random, of the kinds that solvers find hard to get right: ties, tiny and huge differences, children
without the empty set, one child with thousands of families."""

import itertools
import math

import naive
import numpy as np

from fuzz.score_file import ScoreFile

NEAR = 1e-9  # nats: what a proof leaves open


def random_score_file(rng, n, most, feasible=True):
    """A file of n variables whose children have up to about `most` families each."""
    varsets = _structure(rng, n, most)
    if rng.random() < 0.25:
        varsets = _without_empty_sets(rng, varsets, feasible)
    costs = _costs(rng, n, varsets)
    families = [list(zip(sets, own, strict=True)) for sets, own in zip(varsets, costs, strict=True)]
    for own in families:
        rng.shuffle(own)
    return ScoreFile(_names(rng, n), tuple(tuple((int(v), float(c)) for v, c in own) for own in families))


def tied_score_file(rng):
    """A file of 10 to 15 variables, one or two of which have hundreds of families or thousands that cost the same, or
    nearly, and that others want as their parents."""
    n = int(rng.integers(10, 16))
    crowded = set(rng.choice(n, int(rng.integers(1, 3)), replace=False).tolist())
    families = []
    for x in range(n):
        if x in crowded:
            sets = _all_of(rng, [v for v in range(n) if v != x])
            ties = rng.integers(0, int(rng.choice([1, 2, 4])), len(sets)) * float(rng.choice([1e-10, NEAR, 1e-7, 1.0]))
            families.append([(0, float(rng.choice([1.0, 10.0]))), *zip(sets, ties.tolist(), strict=True)])
        else:
            wanted = [1 << c for c in crowded if rng.random() < 0.8]
            wanted += _random_varsets(rng, n, int(rng.integers(0, 4)), 3)
            varsets = {v & ~(1 << x) for v in wanted} - {0}
            families.append([(0, 10.0), *((v, float(rng.integers(0, 3))) for v in sorted(varsets))])
    return ScoreFile(_names(rng, n), tuple(map(tuple, families)))


def _all_of(rng, others):
    """All sets of k of these variables, or of up to k."""
    most = int(rng.integers(2, 7))
    sizes = range(1 if rng.random() < 0.5 else most, most + 1)
    sets = [sum(1 << v for v in own) for k in sizes for own in itertools.combinations(others, k)]
    return sets[: int(rng.choice([300, 1000, 3000]))]


def _names(rng, n):
    """Mostly v0, v1 and so on, now and then the numbers themselves, as files of others have them."""
    if rng.random() < 0.1:
        return tuple(map(str, range(n)))
    return tuple(f"v{x}" for x in range(n))


# Which parent sets there are: for each child a list of distinct varsets, the empty one among them.


def _structure(rng, n, most):
    make = rng.choice([_scattered, _scattered, _levels, _giant, _same, _blocks, _chains, _constants, _crowd])
    found = make(rng, n, most)
    return [sorted({0, *(int(v) & ~(1 << x) for v in own)}) for x, own in enumerate(found)]


def _random_varsets(rng, n, count, most_parents=None):
    """Random varsets of up to so many members, with fewer more often."""
    limit = n if most_parents is None else min(n, most_parents)
    found = []
    for size in rng.integers(0, limit + 1, count).tolist():
        found.append(sum(1 << int(v) for v in rng.choice(n, size, replace=False)))
    return found


def _scattered(rng, n, most):
    limit = int(rng.integers(1, 6))
    return [_random_varsets(rng, n, int(rng.integers(0, most)), limit) for _ in range(n)]


def _levels(rng, n, most):
    """All sets of up to k parents among some candidates."""
    found = []
    for x in range(n):
        others = [v for v in rng.permutation(n).tolist() if v != x]
        candidates = others[: max(1, int(math.log2(max(2, most))))]
        limit = int(rng.integers(1, 4))
        masks = [sum(1 << v for v in candidates if m >> candidates.index(v) & 1) for m in range(1 << len(candidates))]
        found.append([m for m in masks if m.bit_count() <= limit][: 4 * most])
    return found


def _giant(rng, n, most):
    """One child with very many families, others with few."""
    found = [_random_varsets(rng, n, int(rng.integers(0, 4)), 3) for _ in range(n)]
    found[int(rng.integers(n))] = _random_varsets(rng, n, most * n, None)
    return found


def _crowd(rng, n, most):
    """One child with all sets of up to so many parents, hundreds or thousands where n allows."""
    found = [_random_varsets(rng, n, int(rng.integers(0, 4)), 3) for _ in range(n)]
    limit = int(rng.integers(2, 6))
    others = list(range(n))[:14]
    sets = [sum(1 << v for v in own) for k in range(limit + 1) for own in itertools.combinations(others, k)]
    found[int(rng.integers(n))] = sets[:3000]
    return found


def _same(rng, n, most):
    """The same sets for all."""
    own = _random_varsets(rng, n, most, 4)
    return [own] * n


def _blocks(rng, n, most):
    """Several components."""
    block = rng.integers(0, max(1, n // 3) + 1, n)
    inside = [sum(1 << v for v in np.flatnonzero(block == b).tolist()) for b in block.tolist()]
    return [[v & own for v in _random_varsets(rng, n, int(rng.integers(0, most)), 6)] for own in inside]


def _chains(rng, n, most):
    """Each child wants its neighbours on a ring."""
    ring = rng.permutation(n).tolist()
    place = {x: at for at, x in enumerate(ring)}
    found = []
    for x in range(n):
        near = [ring[(place[x] + d) % n] for d in (-2, -1, 1, 2)]
        found.append([sum({1 << v for v in near if rng.random() < 0.5}) for _ in range(min(most, 12))])
    return found


def _constants(rng, n, most):
    """Many children with one family."""
    return [[] if rng.random() < 0.5 else _random_varsets(rng, n, int(rng.integers(0, most)), 3) for _ in range(n)]


def _without_empty_sets(rng, varsets, feasible):
    """Some children lose the empty set; there is still a network if that is wanted, along a hidden order."""
    n = len(varsets)
    order = rng.permutation(n).tolist()
    found, before = [list(own) for own in varsets], 0
    for place, x in enumerate(order):
        if rng.random() < 0.6 and (not feasible or place > 0):
            own = [v for v in found[x] if v]
            if feasible and not any(v & ~before == 0 for v in own):
                own.append(1 << order[int(rng.integers(place))])
            found[x] = sorted(set(own)) or [0]
        before |= 1 << x
    return found


# What they cost: for each child an array.


def _costs(rng, n, varsets):
    make = rng.choice([_small_integers, _equal, _normal, _eager, _eager, _ulps, _near, _mixed, _free, _subset_sums])
    costs = [make(rng, n, np.array(own, object)) for own in varsets]
    if rng.random() < 0.2:
        dear = rng.choice([0.0, NEAR / 2, 0.1, 5.0])
        costs = [_below_supersets(own, cost, dear) for own, cost in zip(varsets, costs, strict=True)]
    return _shifted(rng, costs)


def _sizes(sets):
    return np.array([int(v).bit_count() for v in sets], float)


def _small_integers(rng, n, sets):
    return rng.integers(-3, int(rng.choice([2, 5, 20])), len(sets)).astype(float)


def _equal(rng, n, sets):
    """All the same, or all but the empty set."""
    value = float(rng.integers(-5, 6))
    costs = np.full(len(sets), value)
    if rng.random() < 0.5:
        costs[[v == 0 for v in sets]] = value + float(rng.integers(-1, 4))
    return costs


def _normal(rng, n, sets):
    return rng.normal(0.0, 10.0 ** rng.integers(-3, 4), len(sets))


def _eager(rng, n, sets):
    """Every child wants many parents: what is cheap has cycles."""
    gain = rng.choice([1.0, 3.0, 10.0])
    noise = rng.choice([0.0, 0.5, 4.0])
    return 20.0 - gain * np.minimum(_sizes(sets), 4) + noise * rng.random(len(sets)).round(int(rng.integers(0, 16)))


def _ulps(rng, n, sets):
    """Equal but for the last bits."""
    value = float(rng.choice([1.0, 1e3, 0.1])) - np.minimum(_sizes(sets), 2)
    return value + np.spacing(np.maximum(abs(value), 1e-3)) * rng.integers(-2, 3, len(sets))


def _near(rng, n, sets):
    """About as far apart as a proof may be from the optimum."""
    step = NEAR * float(rng.choice([0.1, 0.5, 1.0, 1.0, 2.0, 10.0]))
    return 10.0 - np.minimum(_sizes(sets), int(rng.integers(0, 3))) + step * rng.integers(-3, 4, len(sets))


def _mixed(rng, n, sets):
    """Of very different sizes."""
    return rng.choice([-1.0, 1.0], len(sets)) * 10.0 ** rng.uniform(-12, 6, len(sets))


def _free(rng, n, sets):
    """Very many cost as much as the best, others a little more."""
    return np.where(rng.random(len(sets)) < 0.8, 0.0, rng.integers(0, 3, len(sets)))


def _subset_sums(rng, n, sets):
    """Each parent is worth something: supersets are cheaper, and ties come from equal worths."""
    worth = rng.integers(-1, 3, n).astype(float)
    return np.array([-sum(worth[v] for v in naive.members(int(own))) for own in sets]) + 30.0


def _below_supersets(sets, costs, dear):
    """Costs under which a superset costs as much as its cheapest subset, or a little more."""
    order = sorted(range(len(sets)), key=lambda i: int(sets[i]).bit_count())
    found = np.array(costs, float)
    for place, i in enumerate(order[:60]):
        below = [found[j] for j in order[:place] if sets[j] & ~sets[i] == 0 and sets[j] != sets[i]]
        if below:
            found[i] = min(below) + dear
    return found


def _shifted(rng, costs):
    """Now and then a constant for each child, huge or tiny, or all costs times something."""
    which = rng.random()
    if which < 0.1:
        size = 10.0 ** float(rng.choice([3, 6, 9, 12]))
        return [own + size * float(rng.choice([-1.0, 1.0, 1.0])) for own in costs]
    if which < 0.15:
        return [own + 1e12 if rng.random() < 0.3 else own for own in costs]
    if which < 0.2:
        return [own + float(rng.normal(0.0, 1e-6)) for own in costs]
    if which < 0.25:
        factor = 10.0 ** float(rng.choice([-12, -9, -6, 6, 9]))
        return [own * factor for own in costs]
    return costs
