"""Inputs of the benchmarks: made by seeded generators, so that they are the same on every machine."""

import contextlib
import functools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.multipliers import FamilyArrays, families_of
from extbnsl.core.claims import Claim
from extbnsl.core.events import ignore
from extbnsl.data import Dataset, Mixed, Numbers
from extbnsl.files.shelf import Shelf
from extbnsl.files.store import Store
from extbnsl.kernels.varsets import pack
from extbnsl.machine.budgets import Budgets
from extbnsl.machine.workers import Workers
from extbnsl.parents.exhaustive.state import Means
from extbnsl.parents.exhaustive.surviving import surviving_families
from extbnsl.proof.context import Context, Stages
from extbnsl.proof.methods import Methods
from extbnsl.scores.local import LocalScores, local_scores

MEMORY = 1 << 30
BUDGETS = Budgets(memory=MEMORY, disk=MEMORY, threads=1)
GO_ON = np.zeros(1, np.uint8)  # nobody halts a kernel


@functools.cache
def dataset(variables: int, records: int, states: int = 2, seed: int = 1) -> Dataset:
    """Records of a random network in which each variable has up to three of the eight before it as parents: the state
    is a random function of theirs, but for a third of the records, where it is drawn at random."""
    rng = np.random.default_rng([seed, variables, records, states])
    codes = np.empty((records, variables), np.uint16)
    for v in range(variables):
        parents = rng.permutation(np.arange(max(0, v - 8), v))[: rng.integers(1, 4)]
        cell = codes[:, parents].astype(np.int64) @ states ** np.arange(parents.size)
        clear = rng.integers(0, states, states**parents.size)[cell]
        codes[:, v] = np.where(rng.random(records) < 1 / 3, rng.integers(0, states, records), clear)
    names = tuple(f"v{v}" for v in range(variables))
    return Dataset(names, (tuple(map(str, range(states))),) * variables, codes, "generated")


@functools.cache
def numbers(variables: int, records: int, seed: int = 1) -> Numbers:
    """Columns of noise, each with half of up to two of the eight before it."""
    rng = np.random.default_rng([seed, variables, records])
    values = rng.normal(size=(records, variables))
    for v in range(1, variables):
        values[:, v] += values[:, rng.integers(max(0, v - 8), v, 2)] @ [0.5, 0.5]
    return Numbers(tuple(f"v{v}" for v in range(variables)), values, "generated")


@functools.cache
def with_gaps(variables: int, records: int) -> Dataset:
    """The records of `dataset`, in every other column of which a tenth of the values is missing."""
    whole, rng = dataset(variables, records), np.random.default_rng([1, variables, records])
    lacking = (rng.random(whole.codes.shape) < 0.1) & (np.arange(variables) % 2 == 0)
    return replace(whole, codes=np.where(lacking, whole.arities, whole.codes).astype(np.uint16), gaps=True)


@functools.cache
def numbers_with_gaps(variables: int, records: int) -> Numbers:
    """The same of `numbers`."""
    whole, rng = numbers(variables, records), np.random.default_rng([1, variables, records])
    lacking = (rng.random(whole.values.shape) < 0.1) & (np.arange(variables) % 2 == 0)
    return replace(whole, values=np.where(lacking, np.nan, whole.values), gaps=True)


@functools.cache
def mixed(variables: int, records: int, seed: int = 1) -> Mixed:
    """Every second column the states of `dataset`, and the others the noise of `numbers`, moved by the state before."""
    states, values = dataset(variables, records, seed=seed), numbers(variables, records, seed).values.copy()
    codes, discrete = states.codes.copy(), np.arange(variables) % 2 == 0
    values[:, 1:] += codes[:, :-1] * discrete[:-1]
    values[:, discrete], codes[:, ~discrete] = 0.0, 0
    labels = tuple(own if kind else () for own, kind in zip(states.states, discrete, strict=True))
    return Mixed(states.names, labels, codes, values, "generated")


@functools.cache
def scores(variables: int, records: int, max_parents: int | None = None) -> LocalScores:
    """The families of such records that can win."""
    claim = Claim(max_parents=max_parents)
    with Workers(1) as workers:
        return surviving_families(dataset(variables, records), claim, Means(workers, shelf(), ignore)).scores


@functools.cache
def random_scores(variables: int, families: int, seed: int = 1) -> LocalScores:
    """So many families of each child, of up to five parents, and the empty one; mostly the more parents the cheaper."""
    rng = np.random.default_rng([seed, variables, families])
    given = []
    for child in range(variables):
        others = np.delete(np.arange(variables), child)
        sets = {tuple(sorted(rng.choice(others, rng.integers(1, 6), replace=False).tolist())) for _ in range(families)}
        parents = [(), *sorted(sets)]
        costs = np.array([10.0 - len(own) + rng.uniform(0, 3) for own in parents])
        given.append((np.stack([pack(own, variables) for own in parents]), costs))
    return local_scores([f"v{v}" for v in range(variables)], given, "file", None)


@functools.cache
def random_family_arrays(tiny: bool) -> FamilyArrays:
    """Random families for kernels."""
    given = random_scores(10, 20) if tiny else random_scores(40, 300)
    return families_of(given.parents, given.costs)


def varsets(variables: int, count: int, share: float = 0.5, seed: int = 1) -> NDArray[np.uint64]:
    """So many random varsets of at most 64 variables, each of which is in with a probability: (count,)."""
    rng = np.random.default_rng([seed, variables, count])
    bits = rng.random((count, variables)) < share
    return bits @ (np.uint64(1) << np.arange(variables, dtype=np.uint64))


def shelf() -> Shelf:
    """Room for arrays, in memory."""
    return Shelf(MEMORY, Store(Path(), 0))


@contextlib.contextmanager
def context(methods: Methods = Methods()) -> Iterator[Context]:
    """What the stages of a solve share, on one thread."""
    with Workers(1) as workers:
        yield Context(workers, Stages(ignore, {}), MEMORY, methods, Store(Path(), 0), shelf())
