"""The possible parents of a child, in the order in which the exploration adds them."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.parents.constraints import Constraints
from extbnsl.parents.explored.misfit import Columns, misfits, new_splits, single_misfits
from extbnsl.scores.formula import MISFIT
from extbnsl.scores.gaussian import OWN_PARAMETERS
from extbnsl.scores.score import penalty_of

ROUNDING = 1e-9  # of sums of m ln m, per nat


class Candidates(NamedTuple):
    """The m variables that can be in an undominated parent set of a child, by place: ascending arity, then descending
    gain, then the variables' order.

    variables (m,) int32; arities (m,) float64; misfits (m,) float64: N H(child | candidate); gains (m,) float64: N
    times the mutual information of child and candidate; caps (m,) float64: no undominated set with the candidate has a
    penalty so large; classes (a + 1,) int64: the first place of each arity, and m. alone: the misfit of no parents.
    base (b,) int32: the parents that the child must have; they are part of every set, and of every figure, and no
    candidates. price: the penalty of a configuration, in nats. A candidate multiplies the configurations of a set by
    its arity and adds the step to them: 0 of states. Of continuous variables the arity is 1 here, and a configuration
    is the price of no parents but the base.
    """

    variables: NDArray[np.int32]
    arities: NDArray[np.float64]
    misfits: NDArray[np.float64]
    gains: NDArray[np.float64]
    caps: NDArray[np.float64]
    classes: NDArray[np.int64]
    alone: float
    base: NDArray[np.int32]
    price: float
    step: float


def find_candidates(
    child: int,
    data: Columns,
    parameter: float,
    halt: NDArray[np.uint8],
    constraints: Constraints,
    more: float = 0.0,
) -> Candidates:
    """The candidates of a child, by the exact cost of each as its single parent. O(n N).

    A variable Y explains at most N min(H(X), H(Y)) of the child X, whatever else does. A parent set with Y has
    penalty p, and p / r_Y without Y. So it is dominated if p (1 - 1 / r_Y) is at least that much, and so are its
    supersets, whose penalties are larger: the cap of Y. None is a candidate whose cap its own penalty reaches.
    (The entropy bound of de Campos et al. 2018.) When halt[0] is set, some are missing. more: how many parameters of
    continuous variables each parent costs beside its coefficient.
    """
    base = constraints.parents_required(child)
    parameter *= configurations_of(base, data)
    alone, fast = misfit_of(child, base, data), not base and data.form.kind == MISFIT
    splits = None if fast else new_splits(child, len(base) + 1, data)
    single = single_misfits(child, np.array(base, np.int32), data, splits, halt)
    single[~constraints.allowed[:, child]] = math.nan
    arities = data.arities.astype(np.float64)
    explained = np.minimum(alone, data.entropies) * (1.0 + ROUNDING)
    caps = np.where(arities > 1, explained * arities / np.maximum(1.0, arities - 1), 0.0)
    if data.form.kind != MISFIT:  # nothing is known of what others explain
        caps = np.where(arities > 1, math.inf, 0.0)
    price, step = penalty_of(parameter, int(data.arities[child]), 1.0), 0.0
    if data.half > 0.0:
        arities, step = np.ones(data.variables), (1.0 + more) / (OWN_PARAMETERS + len(base))
        caps = np.where(explained > price * step, math.inf, 0.0)  # each parent costs the same, whatever others are
    possible = np.flatnonzero(~np.isnan(single) & (price * (arities + step) < caps))
    order = possible[np.lexsort((single[possible], arities[possible]))].astype(np.int32)
    first = np.flatnonzero(np.diff(arities[order], prepend=0.0))
    classes = np.append(first, order.size).astype(np.int64)
    return Candidates(
        variables=order,
        arities=arities[order],
        misfits=single[order],
        gains=alone - single[order],
        caps=caps[order],
        classes=classes,
        alone=alone,
        base=np.array(base, np.int32),
        price=price,
        step=step,
    )


def configurations_of(parents: Sequence[int] | NDArray[np.int32], data: Columns) -> float:
    """The number of joint states of some parents; of continuous ones how many times the price of none they cost."""
    if data.half > 0.0:
        return 1.0 + len(parents) / OWN_PARAMETERS
    return math.prod(float(data.arities[v]) for v in parents)


def misfit_of(child: int, parents: Sequence[int], data: Columns) -> float:
    """N H(child | parents), or what the family costs, as `misfits` tells it."""
    if not parents:
        return float(data.entropies[child])
    return float(misfits(child, np.array([parents], np.int32), data, new_splits(child, len(parents), data))[0])
