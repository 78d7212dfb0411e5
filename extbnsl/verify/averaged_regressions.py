"""The families of columns of numbers where values are missing, counted again: a regression for each, over its records.

As `averaged_families` has it, but that a regression over fewer records may leave any squares. So nothing is known of
supersets, and all families are computed, by least squares of plain numpy, before anything else.

How far a cost may be off follows `regression_families`, (a), (c) and (e), for each family by its own columns: each is
off by at most e of its norm, e = (5 |d| / |c| + 10 N m) u for N records of m columns, by which least squares by
singular values are backward stable; and with s the least singular value of the columns over their norms, which is known
to half of itself, the norm of what is left is off by at most t = 2 e sqrt(m) / s of itself.
"""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.errors import VerificationError
from extbnsl.data import Numbers
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
    numbers: Numbers, claim: Scored, demands: Demands, workers: Workers, leads: NDArray[np.float64], priced: int
) -> _Regressions:
    """What computes the families of the columns, whether a subset beats them or not: no lead matters. priced: by how
    many records a parameter is. Raises Stopped, and TooMuch for more than MOST_FAMILIES, or where rounding may come to
    more than COARSEST. Some 100 us for each family.
    """
    n, found, off = numbers.variables, dict[int, RecountedFamilies](), np.zeros(numbers.variables)
    optional = [sorted(demands.may[child] - demands.must[child]) for child in range(n)]
    most = [min(demands.most[x] - len(demands.must[x]), len(optional[x])) for x in range(n)]
    if sum(math.comb(len(optional[x]), size) for x in range(n) for size in range(most[x] + 1)) > MOST_FAMILIES:
        raise TooMuch(f"there are more than {MOST_FAMILIES:,} families of columns with missing values")
    for child in range(n):
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
            off[child] = max(off[child], _off(numbers, [child, *parents]))
        found[child] = RecountedFamilies(np.concatenate(varsets), np.array(costs))
    if off.max() > COARSEST:
        raise TooMuch(UNCHECKABLE)
    return _Regressions(found, off)


def _off(numbers: Numbers, family: list[int]) -> float:
    """What the cost of a family may be off, in nats; see the module."""
    values = numbers.values[:, family]
    values = values[~np.isnan(values).any(axis=1)]
    records, m = values.shape
    apart = values - values[0]
    errors = [numbers.resolution[v] for v in family] if numbers.resolution else []
    columns = with_errors(apart - apart.mean(axis=0), errors)
    norms = np.sqrt((columns**2).sum(axis=0))
    spread = float((np.sqrt((apart**2).sum(axis=0)) / norms).max())
    least = float(np.linalg.svd(columns / norms, compute_uv=False)[-1])
    relative = (5.0 * spread + 10.0 * records * m) * FLOAT_ERROR * 2.0 * math.sqrt(m) / least
    return numbers.records * 2.0 * relative if relative <= 0.125 else math.inf
