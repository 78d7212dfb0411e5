"""The families of columns of numbers, or of both kinds, where values are missing, counted again: a regression for each,
over its records, or for each configuration of its parents of states.

As `averaged_families` has it, but that a regression over fewer records may leave any squares. So nothing is known of
supersets, and all families are computed, by least squares of plain numpy, before anything else.

How far a cost may be off follows `regression_families`, (a), (c) and (e), for each family by its own columns: each is
off by at most e of its norm, e = (5 |d| / |c| + 10 N m) u for N records of m columns, by which least squares by
singular values are backward stable; and with s the least singular value of the columns over their norms, which is known
to half of itself, the norm of what is left is off by at most t = 2 e sqrt(m) / s of itself. In each configuration the
columns are those of its records. A sum of logarithms of counts is off by a few units of its last place.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.errors import VerificationError
from extbnsl.data import Mixed, Numbers
from extbnsl.kernels.varsets import pack, words
from extbnsl.machine.workers import Workers
from extbnsl.verify.certificate import TooMuch
from extbnsl.verify.demands import Demands
from extbnsl.verify.families import FLOAT_ERROR, FamilySource, RecountedFamilies, Tell
from extbnsl.verify.passes import WeightedCuts
from extbnsl.verify.regression_families import COARSEST, UNCHECKABLE
from extbnsl.verify.rescoring import Scored, scored_cost, with_errors

MOST_FAMILIES = 1_000_000  # a minute or two


@dataclass(frozen=True)
class _Regressions(FamilySource):
    """All families of each child, and what their costs may be off, in nats, (n,)."""

    families: Mapping[int, RecountedFamilies]
    off: NDArray[np.float64]

    def below(self, thresholds: Mapping[int, int], cuts: WeightedCuts, tell: Tell) -> list[RecountedFamilies]:
        return [self.families[child] for child in thresholds]

    def error(self, child: int) -> float:
        return float(self.off[child]) + 16 * FLOAT_ERROR * self.scale(child)

    def scale(self, child: int) -> float:
        costs = self.families[child].costs
        return 1.0 + float(np.abs(costs).max(initial=0.0))


def families_by_averaged_regressions(
    numbers: Numbers | Mixed,
    claim: Scored,
    demands: Demands,
    workers: Workers,
    leads: NDArray[np.float64],
    priced: int,
) -> _Regressions:
    """What computes the families of the columns, whether a subset beats them or not: no lead matters. priced: by how
    many records a parameter is. Raises Stopped, and TooMuch for more than MOST_FAMILIES, or where rounding may come to
    more than COARSEST. Some 100 us for each family.
    """
    n, found, off = numbers.variables, dict[int, RecountedFamilies](), np.zeros(numbers.variables)
    optional = [sorted(demands.may[child] - demands.must[child]) for child in range(n)]
    most = [min(demands.most[x] - len(demands.must[x]), len(optional[x])) for x in range(n)]
    children = [x for x in range(n) if numbers.targets is None or numbers.targets.left(x).all()]  # of these records
    if sum(math.comb(len(optional[x]), size) for x in children for size in range(most[x] + 1)) > MOST_FAMILIES:
        raise TooMuch(f"there are more than {MOST_FAMILIES:,} families of columns with missing values")
    for child in children:
        varsets, costs = [np.zeros((0, words(n)), np.uint64)], list[float]()
        for some in itertools.chain.from_iterable(
            itertools.combinations(optional[child], k) for k in range(most[child] + 1)
        ):
            workers.check()
            parents = tuple(sorted((*demands.must[child], *some)))
            try:
                costs.append(scored_cost(numbers, child, parents, claim, priced))
            except VerificationError:  # no records, or singular
                continue
            if math.isinf(costs[-1]):
                costs.pop()
                continue
            varsets.append(pack(parents, n)[None])
            off[child] = max(off[child], _off(numbers, child, parents))
        found[child] = RecountedFamilies(np.concatenate(varsets), np.array(costs))
    if off.max() > COARSEST:
        raise TooMuch(UNCHECKABLE)
    return _Regressions(found, off)


def _off(data: Numbers | Mixed, child: int, parents: tuple[int, ...]) -> float:
    """What the cost of a family may be off, in nats; see the module."""
    discrete, regressed = list[int](), [child, *parents]
    if isinstance(data, Mixed):
        if data.states[child]:
            return 0.0
        discrete = [p for p in parents if data.states[p]]
        regressed = [child, *(p for p in parents if not data.states[p])]
    whole = np.logical_and.reduce([data.known(v) for v in (child, *parents)])
    values = data.values[whole][:, regressed]
    apart = values - values[0]
    errors = np.array(data.resolution or [0.0] * data.variables)[regressed].tolist()
    if not discrete:
        return data.records * 2.0 * _lost(apart, errors)
    assert isinstance(data, Mixed), "it has states"
    which = np.unique(data.codes[whole][:, discrete], axis=0, return_inverse=True)[1].reshape(-1)
    order, counts = np.argsort(which, kind="stable"), np.bincount(which)
    groups = np.split(order, np.cumsum(counts)[:-1])
    lost = math.fsum(len(rows) * _lost(apart[rows], errors) for rows in groups)
    return data.records / len(values) * 2.0 * lost


def _lost(apart: NDArray[np.float64], errors: Sequence[float]) -> float:
    """The part of the norm of what columns (N, m), less some record, leave of each other that rounding may come to;
    infinity if that is much. errors: of measurement."""
    records, m = apart.shape
    columns = with_errors(apart - apart.mean(axis=0), errors)
    norms = np.sqrt((columns**2).sum(axis=0))
    spread = float((np.sqrt((apart**2).sum(axis=0)) / norms).max())
    least = float(np.linalg.svd(columns / norms, compute_uv=False)[-1])
    relative = (5.0 * spread + 10.0 * records * m) * FLOAT_ERROR * 2.0 * math.sqrt(m) / least
    return relative if relative <= 0.125 else math.inf
