"""Normalised maximum likelihood: quotient (qNML) and factorised (fNML), with C the regret; nats.

qNML: cost(X | P) = N H(X | P) + ln C(N, q r_X) - ln C(N, q),  q the product of the parents' arities
(Silander, Leppa-aho, Jaasaari, Roos 2018). Equivalent networks cost the same. That the penalty never falls with q is
not proved in print; `formula` checks it for every q that can occur.

fNML: cost(X | P) = N H(X | P) + sum over the states j of P of ln C(m_j, r_X)
(Silander, Roos, Kontkanen, Myllymaki 2008). The sum never falls when parents are added: of the sequences of a + b
records each has a largest likelihood that is at most the product of those of its two parts, so
C(a + b, r) <= C(a, r) C(b, r). Hence what N H(X | all other variables) and the sum make for P bounds all families with
more parents too. So do ln r_X for each joint state of P and X that occurs: with the first record of a state in a cell
of m others the product m^m C(m, r) of `between_bounds` becomes at least r times as large, and no other record lowers a
cost. Equivalent networks may cost different sums.

The regret of the multinomial is how much the normalised maximum likelihood takes off the largest likelihood. C(m, K) is
the sum, over all sequences of m records with K states, of the largest likelihood of each. It is 1 for K = 1 or m = 0,
and C(m, K + 2) = C(m, K + 1) + m / K C(m, K) (Kontkanen and Myllymaki 2007); for one K it is

    C(m, K) = sum over k of m! / (m - k)! m^-k (K - 1) K ... (K + k - 2) / k!     (Mononen and Myllymaki 2008)
"""

import functools
import math
from itertools import pairwise
from typing import TYPE_CHECKING

from extbnsl.scores.score import CellScore

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from extbnsl.scores.cells import Cells
    from extbnsl.scores.formula import Formula
    from extbnsl.scores.rows import Rows

NEGLIGIBLE = 45.0  # nats below the largest term: 3e-20 of it
TERMS = 64  # at a time


class QuotientNML(CellScore):
    """The regret of parents and child together, less that of the parents."""

    def least(self, cells: "Cells", floor: float) -> float:
        return floor + _penalty(cells.records, cells.arity, cells.configurations)

    def formula(self, rows: "Rows", arities: "NDArray", max_parents: int, base: int = 1) -> "Formula":
        import numpy as np

        from extbnsl.scores.counting import mlogm_table
        from extbnsl.scores.formula import TABLES, Tables, formula

        most, records = _most_parents(rows.count, int(arities.max(initial=2)), max_parents), rows.count
        sizes = _products(arities, most + 1)
        regrets = dict(zip(sizes, log_regrets_of(records, base * np.array(sizes, float)).tolist(), strict=True))
        _check_monotony(regrets, sorted(set(arities.tolist())))
        return formula(TABLES, arities, rows, tables=Tables(mlogm_table(records)), regrets=regrets, least=["misfit"])


QNML = QuotientNML("qnml", "qNML", "log qNML")


def _penalty(records: int, arity: int, configurations: float) -> float:
    import numpy as np

    one, both = log_regrets_of(records, np.array([configurations, configurations * arity])).tolist()
    return float(both - one)


def _most_parents(records: int, arity: int, limit: int) -> int:
    """How many parents of two states each make the penalty as large as the cost of no parents can be; `limit` at
    most."""
    alone, most = records * math.log(arity) + _penalty(records, arity, 1.0), 0
    while most < limit and _penalty(records, 2, 2.0**most) < alone:
        most += 1
    return most


def _products(arities: "NDArray", most: int) -> list[int]:
    """The products of the arities of every set of at most so many variables, ascending."""
    found = {0: {1}}  # by the number of factors
    for arity in arities.tolist():
        for size in sorted(found, reverse=True):
            if size < most:
                found.setdefault(size + 1, set()).update(states * arity for states in found[size])
    return sorted(set().union(*found.values()))


def _check_monotony(regrets: dict[int, float], arities: list[int]) -> None:
    """Assert that the penalty of a family never falls when its parents have more states."""
    for arity in arities:
        penalties = [regrets[q * arity] - regret for q, regret in regrets.items() if q * arity in regrets]
        rises = all(more >= less - 1e-9 * (1.0 + less) for less, more in pairwise(penalties))
        assert rises, f"the penalty of qNML falls for a variable of {arity} states"


class FactorisedNML(CellScore):
    """The regret of each state of the parents by itself."""

    def least(self, cells: "Cells", floor: float) -> float:
        return floor + float(log_regrets(cells.records, cells.arity)[cells.counts.sum(axis=1)].sum())

    def formula(self, rows: "Rows", arities: "NDArray", max_parents: int, base: int = 1) -> "Formula":
        from extbnsl.scores.counting import mlogm_table
        from extbnsl.scores.formula import TABLES, Tables, formula, rising_table

        joint, kinds = mlogm_table(rows.count), sorted(set(arities.tolist()))
        own = [joint + log_regrets(rows.count, arity) for arity in kinds]
        mixed = [rising_table(max(1.0, arity / 2), rows) for arity in kinds]
        return formula(TABLES, arities, rows, tables=Tables(joint, own, mixed), least=["cells", "misfit"])


FNML = FactorisedNML("fnml", "fNML", "log fNML")


@functools.lru_cache(maxsize=64)
def log_regrets(records: int, arity: int) -> "NDArray":
    """ln C(m, arity) for m = 0 to `records`, not to be changed. O(records (sqrt(records) + arity))."""
    import numpy as np

    counts = np.arange(records + 1, dtype=np.float64)
    one, two = np.zeros(records + 1), _of_two_states(counts)
    if arity == 1:
        return one
    with np.errstate(divide="ignore"):
        for states in range(1, arity - 1):
            one, two = two, np.logaddexp(two, np.log(counts / states) + one)
    return two


def log_regrets_of(records: int, states: "NDArray") -> "NDArray":
    """ln C(records, K) for each K of `states`, at least 1. O(records) for each at worst, mostly much less."""
    import numpy as np

    found = np.zeros(states.size)
    if records == 0:
        return found
    open_, term, first = np.flatnonzero(states > 1.0), np.zeros(states.size), 1
    largest = np.zeros(states.size)
    while first <= records and open_.size:
        k = np.arange(first, min(first + TERMS, records + 1), dtype=np.float64)
        shrinking = np.log1p(-(k - 1) / records) - np.log(k)
        logs = term[open_, None] + np.cumsum(shrinking + np.log(states[open_, None] - 2.0 + k), axis=1)
        found[open_] = np.logaddexp(found[open_], np.logaddexp.reduce(logs, axis=1))
        term[open_], largest[open_] = logs[:, -1], np.maximum(largest[open_], logs.max(axis=1))
        open_ = open_[term[open_] >= largest[open_] - NEGLIGIBLE]  # they rise to one largest, and fall after it
        first += TERMS
    return found


def _of_two_states(counts: "NDArray") -> "NDArray":
    """ln C(m, 2) for these m: the sum over k of m! / (m - k)! m^-k, the terms of which fall."""
    import numpy as np

    total, term = np.ones(counts.size), np.ones(counts.size)
    k = 0
    while k < counts.size and term.max() > math.exp(-NEGLIGIBLE):
        with np.errstate(divide="ignore", invalid="ignore"):
            term = np.where(counts > k, term * (1.0 - k / counts), 0.0)
        total += term
        k += 1
    return np.log(total)
