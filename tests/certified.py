"""Results with certificates, as the solver makes them: at the root, and where everything was worth doing."""

import json
import math
from functools import cache

import naive
import numpy as np
from cases import chained_numbers, random_dataset, scores_of, side_by_side, wishful
from flat import solve
from patching import everything_pays, searchable, sized

from extbnsl import learn
from extbnsl.kernels.varsets import words
from extbnsl.machine.workers import Workers, never
from extbnsl.verify import UNITS_PER_NAT
from extbnsl.verify.branching import Branching
from extbnsl.verify.families import untold
from extbnsl.verify.passes import CLUSTERS, weighted
from extbnsl.verify.recount import BRANCHING, CUTS, SEARCH
from extbnsl.verify.statement import verify_optimality
from extbnsl.verify.steps import Pass, Search
from extbnsl.verify.verdict import verify

KINDS_OF_STEPS = {Pass: CUTS, Search: SEARCH, Branching: BRANCHING}


def leads(problem, every=False):
    """By how much a subset must beat a family, for none or for every family to be left out."""
    return np.full(problem.variables, np.inf if every else 0.0)


def below(source, child, threshold, cuts):
    """The families of one child that a source has with c' below a threshold: varsets and costs."""
    (found,) = source.below({child: threshold}, cuts, untold)
    return found


def single_cuts(clusters, multipliers):
    """Cuts of one cluster each, varsets (k, words), with their multipliers."""
    cuts = np.zeros((len(clusters), CLUSTERS, clusters.shape[1]), np.uint64)
    cuts[:, 0] = clusters
    return weighted(cuts, multipliers)


def no_cuts(n):
    """None, over n variables."""
    return single_cuts(np.zeros((0, words(n)), np.uint64), ())


@cache
def solved(seed, n, records=60, max_parents=None, polish=None):
    """The result on random data; the same for the same arguments."""
    dataset = random_dataset(np.random.default_rng(seed), n, records)
    return solve(dataset, threads=1, max_parents=max_parents, polish=polish)


def by_clusters(result):
    """Whether the certificate proves every component by passes alone."""
    return all(map(has_passes_alone, result.certificate.components))


def has_passes_alone(component):
    """Whether no step of the proof settles any variables."""
    return all(isinstance(step, Pass) for step in component.steps)


@cache
def proved():
    """A result whose certificate is by clusters alone and has a component of two passes or more, with cuts in both."""
    return next(
        result
        for result in probed()
        if by_clusters(result) and any(has_passes(component) for component in result.certificate.components)
    )


def kinds_of(result):
    """What the steps of all proofs are."""
    return {KINDS_OF_STEPS[type(step)] for component in result.certificate.components for step in component.steps}


def has_passes(component):
    """Whether the proof takes two passes or more, the first with several cuts."""
    return len(component.steps) > 1 and len(component.first.cuts) > 1


@cache
def of_numbers(seed, n, records=60, **how):
    """The result on random columns of numbers, each search being one for which everything is worth doing."""
    with everything_pays(), sized(TRIPLES=0):  # no cuts of three, which leave little to do
        numbers = chained_numbers(np.random.default_rng(seed), n, records)
        return learn(numbers, score="gaussian-bic", threads=1, **how)


@cache
def numbers_proved():
    """A result of numbers whose certificate is by clusters alone and has a component of two passes or more."""
    return next(
        result
        for result in (of_numbers(seed, 6) for seed in range(200))
        if by_clusters(result) and any(has_passes(component) for component in result.certificate.components)
    )


@cache
def with_cuts_of_three():
    """A result whose certificate is by clusters alone, some of them three together."""
    return next(
        result
        for result in (solved(seed, 7, 200, None, True) for seed in range(200))
        if by_clusters(result)
        and any(len(cut) == 3 for c in result.certificate.components for one in c.steps for cut in one.cuts)
    )


@cache
def probed():
    """Results that took polishing and, where that is not enough, probing, by single clusters."""
    with everything_pays(), sized(TRIPLES=0):  # no cuts of three, which leave little to do
        return [solve(random_dataset(np.random.default_rng(seed), 7, 200), threads=1) for seed in range(24, 33)]


@cache
def searched():
    """Local scores, and a result that took a search."""
    scores = scores_of(wishful(1, 6))
    return scores, solve(scores, threads=1, lower_bound="static")


@cache
def branched():
    """Local scores, and a result that took a tree of branching."""
    scores = scores_of(wishful(5, 6))
    with sized(TRIPLES=0), searchable(3):  # cuts of three would leave nothing to branch on
        return scores, solve(scores, threads=1, fixing=False)


@cache
def in_pieces():
    """Local scores, and a result of pieces that a search, branching and multipliers settled."""
    scores = scores_of(side_by_side([wishful(seed, n) for seed, n in ((0, 3), (1, 5), (2, 5))]))
    with sized(TRIPLES=0), searchable(4):
        return scores, solve(scores, threads=1)


def reduced_by(one, names, costs):
    """c' of every family under a pass: (n, 2^n)."""
    reduced = costs.copy()
    for cut, multiplier in zip(one.cuts, one.multipliers, strict=True):
        clusters = [{names.index(name) for name in cluster} for cluster in cut]
        for x in set().union(*clusters):
            for varset in range(costs.shape[1]):
                counts = sum(x in cluster and not cluster & set(naive.members(varset)) for cluster in clusters)
                reduced[x, varset] -= multiplier / UNITS_PER_NAT * math.ceil(counts / 2)
    return reduced


def checked(result, document=None, stop=never):
    """What a check says of the proof of a result, or of a document in its place, all other claims of which hold."""
    document = json.loads(json.dumps(document or result.document()))
    assert not verify(document, result.dataset).findings
    with Workers(1, stop) as workers:
        return verify_optimality(document, result.dataset, workers)
