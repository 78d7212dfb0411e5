"""Random problems for the tests: data sets with structure, ties, constant columns and repeated rows."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from extbnsl.core.claims import Claim
from extbnsl.core.data_options import DataOptions
from extbnsl.core.knowledge import NOTHING
from extbnsl.data import Dataset, Mixed, Numbers, measured, prepare
from extbnsl.data.beside import Weights
from extbnsl.data.both import mixed
from extbnsl.data.given import given
from extbnsl.files.shelf import Shelf
from extbnsl.files.store import Store
from extbnsl.scores.local import local_scores


def shelf_of(memory=1 << 30, folder=None):
    """A shelf with room in memory and, in a folder, a gigabyte on disk."""
    return Shelf(memory, Store(folder or Path(), 1 << 30 if folder else 0))


def places_of(present):
    """The places of varsets (extbnsl/ranks.py), given a bool for each rank."""
    padded = np.pad(present, (0, -present.size % 64))
    marks = np.packbits(padded, bitorder="little").view(np.uint64)
    count = np.bitwise_count(marks)
    return np.stack((marks, np.cumsum(count, dtype=np.uint64) - count), axis=1)


def from_array(array, names=None, **options):
    """The data set in an array, by `DataOptions`."""
    return given(array, names).made(prepare, DataOptions(**options))


def from_dataframe(frame, **options):
    """The data set in a data frame, by `DataOptions`."""
    return given(frame).made(prepare, DataOptions(**options))


def random_dataset(rng, n, records, largest_arity=4):
    """Columns of 1 to `largest_arity` states, many of them noisy functions of others; rows may repeat.

    Now and then a state is declared that never occurs, so that a column may be constant and yet cost something.
    """
    columns, arities = [], []
    for _ in range(n):
        arity = int(rng.integers(1, largest_arity + 1))
        column = rng.integers(0, arity, records)
        if columns and rng.random() < 0.7:
            chosen = rng.choice(len(columns), size=min(len(columns), int(rng.integers(1, 3))), replace=False)
            exact = sum(columns[i] for i in chosen) % arity
            column = np.where(rng.random(records) < rng.choice([0.0, 0.1, 0.4]), column, exact)
        columns.append(column)
        arities.append(arity + int(rng.random() < 0.1))
    order = rng.permutation(n)
    codes = np.stack([columns[i] for i in order], axis=1)
    if rng.random() < 0.3:
        codes = codes[rng.integers(0, max(1, records // 4), records)]
    return dataset_of(codes, [arities[i] for i in order])


def in_parts(rng, data, each=None):
    """The data with records that weigh some parts of this size each, or of one at random."""
    each = each or float(rng.choice([1e-4, 0.03, 0.25, 0.6, 0.95]))
    parts = rng.integers(1, rng.choice([2, 5, 30]), data.records)
    return replace(data.taken(np.repeat(np.arange(data.records), parts)), weights=Weights(each, np.cumsum(parts)))


def random_numbers(rng, n, records):
    """Columns of numbers, many of them noisy sums of others, in units and with offsets of their own."""
    columns = []
    for _ in range(n):
        column = rng.normal(size=records)
        for other in columns:
            if rng.random() < 0.5:
                column = column + rng.choice([-1.0, 0.3, 2.0]) * other
        columns.append(column)
    chosen = np.stack([columns[i] for i in rng.permutation(n)], axis=1)
    return numbers_of(chosen * 10.0 ** rng.integers(-3, 4, n) + rng.integers(-1000, 1000, n))


def collinear_numbers(rng, n):
    """Columns of numbers of which some determine each other: copies, sums, or more columns than records."""
    values = rng.normal(size=(int(rng.choice([3, 5, 6, 30])), n))
    for v in range(1, n):
        a, b = rng.integers(0, v, 2)
        made = [values[:, v], values[:, v] + values[:, a], 3.0 * values[:, a], values[:, a] - 2.0 * values[:, b]]
        values[:, v] = made[rng.choice(4, p=[0.3, 0.3, 0.15, 0.25])] if a != b or v == 1 else made[0]
    return numbers_of(values[:, rng.permutation(n)] * 10.0 ** rng.integers(-3, 4, n) + rng.integers(-9, 10, n))


def chained_numbers(rng, n, records):
    """Columns of numbers, each a noisy sum of one or two before it: few families of each can win."""
    values = rng.normal(size=(records, n))
    for v in range(1, n):
        values[:, v] += rng.choice([0.4, 0.8]) * values[:, rng.integers(v)] + rng.choice([0.0, 0.4]) * values[:, v - 1]
    return numbers_of(values)


def random_mixed(rng, n, records):
    """Columns of states and of numbers, many of which depend on others before them: some rounded, copies of others in
    other units, with states that do not occur, or with all records several times."""
    discrete = rng.random(n) < 0.5
    codes, values, states = np.zeros((records, n), np.uint16), np.zeros((records, n)), []
    for j in range(n):
        before = [b for b in range(j) if rng.random() < 0.5]
        causes = [b for b in before if discrete[b]]
        if discrete[j]:
            arity = int(rng.integers(2, 4))
            own = rng.integers(0, arity, records)
            for b in causes:
                own = np.where(rng.random(records) < 0.6, codes[:, b] % arity, own)
            codes[:, j] = own
            states.append(tuple(f"s{k}" for k in range(arity + (rng.random() < 0.2))))
            continue
        own = rng.normal(size=records)
        for b in before:
            own = own + (rng.normal(0, 2, 4)[codes[:, b]] if discrete[b] else rng.normal() * values[:, b])
        if causes:
            own = own * rng.uniform(0.2, 2.0, 4)[codes[:, causes[0]]]
        others = [b for b in before if not discrete[b]]
        if others and rng.random() < 0.15:
            own = 2.0 * values[:, others[-1]] + 1.0
        values[:, j] = np.round(own) if rng.random() < 0.2 else own
        states.append(())
    if rng.random() < 0.3:
        again = rng.integers(0, max(1, records // 2), records)
        codes, values = codes[again], values[again]
    units = 10.0 ** rng.integers(-3, 4, n)
    values = values * units + np.where(discrete, 0.0, rng.integers(-100, 100, n))
    for j in np.flatnonzero(~discrete & (values == values[0]).all(axis=0)).tolist():
        values[:, j] = np.arange(records)
    return Mixed(tuple(f"v{j}" for j in range(n)), tuple(states), codes, values, "<test>")


def numbers_of(values):
    """The Numbers of an array."""
    values = np.ascontiguousarray(values, float)
    return Numbers(tuple(f"v{j}" for j in range(values.shape[1])), values, "<test>")


def dataset_of(codes, arities=None):
    """The data set of an array of codes; arities default to the largest codes plus one."""
    codes = np.ascontiguousarray(codes, dtype=np.uint16)
    arities = codes.max(axis=0) + 1 if arities is None else arities
    states = tuple(tuple(f"s{k}" for k in range(int(r))) for r in arities)
    return Dataset(tuple(f"v{j}" for j in range(codes.shape[1])), states, codes, "<test>")


def xor_rows(copies):
    """Rows 001, 010, 111 `copies` times each: the last variable is the equivalence of the first two."""
    return np.array([[0, 0, 1], [0, 1, 0], [1, 1, 1]] * copies)


def full_xor_rows(copies):
    """All four rows of an exclusive or, `copies` times each."""
    return np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]] * copies)


def random_families(rng, n, most=12, costs=None):
    """Per child a list of (parent varset, cost), the empty set among them; costs are often equal."""
    families = []
    for child in range(n):
        others = (1 << n) - 1 ^ 1 << child
        varsets = {0} | {int(v) & others for v in rng.integers(0, 1 << n, int(rng.integers(0, most)))}
        values = rng.integers(1, 20, len(varsets)).astype(float) if costs is None else costs(len(varsets))
        families.append(list(zip(sorted(varsets), values.tolist(), strict=True)))
    return families


def wishful(seed, n=7):
    """Families of children that want many parents."""
    rng = np.random.default_rng(seed)
    sets = [[p for p in range(1 << n) if p.bit_count() <= 3 and not p >> x & 1] for x in range(n)]
    return [[(p, 9.0 - 3.0 * p.bit_count() + rng.uniform(0, 4)) for p in own] for own in sets]


def side_by_side(cores, price=40.0):
    """Families of several cores as one component, which falls into them if dear families are fixed.

    The first variable of each core may have the last one of the core before as its parent, at a price that no good
    network pays, as for having none.
    """
    families, n = [], sum(map(len, cores))
    for core in cores:
        at = len(families)
        families += [[(parents << at, cost) for parents, cost in own] for own in core]
        before, dearest = 1 << (at - 1) % n, max(cost for _, cost in families[at])
        families[at] = [(parents, cost + price * (parents == 0)) for parents, cost in families[at]]
        families[at].append((before, dearest + price - 1.0))
    return families


def scores_of(families, max_parents=None):
    """LocalScores, of kind "file", of families given as (parent varset, cost); n <= 64."""
    pairs = [
        (np.array([[v] for v, _ in own], dtype=np.uint64), np.array([c for _, c in own], dtype=np.float64))
        for own in families
    ]
    return local_scores([f"v{j}" for j in range(len(families))], pairs, "file", max_parents)


def cost_of_order(order, best):
    """The cost of the best network along an order, `best` as from naive.best_scores."""
    total, before = 0.0, 0
    for x in order:
        total += best[x][before]
        before |= 1 << int(x)
    return total


PRICED = ("mdl", "aic")  # scores of misfit and a price for each parameter
BY_CELLS = ("bdeu", "bdeu:10", "bds:5", "k2", "fnml", "qnml")  # others, as tests/naive.py has them
EVERY_SCORE = PRICED + BY_CELLS


def claim_by(score, max_parents=None, knowledge=NOTHING):
    """The claim by a score as tests/naive.py has it."""
    name, _, ess = score.partition(":")
    return Claim(name, max_parents, float(ess) if ess else None, knowledge)


def random_series(seed, n, lags, states=2, records=120, units=2, instant=None, both=None):
    """A series whose variables follow from others, of the same time and before; of numbers without states; of both
    kinds, or of these as both, where some have states, by their places."""
    rng = np.random.default_rng(seed)
    rows = {"t": [], "u": []} | {f"v{j}": [] for j in range(n)}
    for unit in range(units):
        before = rng.integers(0, max(1, states), n).astype(float)
        for time in range(records // units):
            now = np.zeros(n)
            for j in range(n):
                push = before[(j + 1) % n] + (now[j - 1] if j else before[j])
                has_states = states if both is None else 2 if j in both else 0
                now[j] = (push + (rng.random() < 0.25)) // 1 % has_states if has_states else 0.5 * push + rng.normal()
            before = now
            if rng.random() < 0.05:
                continue
            for name, value in (("t", time), ("u", f"p{unit}"), *((f"v{j}", now[j]) for j in range(n))):
                rows[name].append(value)
    options = {"time_column": "t", "unit_column": "u", "lags": lags, "instant": instant}
    if both is not None:
        return given(rows).made(mixed, DataOptions(**options, discrete=[f"v{j}" for j in both]))
    if states:
        return from_dataframe(rows, **options)
    return given(rows).made(measured, DataOptions(**options))
