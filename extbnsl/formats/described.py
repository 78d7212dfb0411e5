"""What there is to tell of a network, and what a format makes of it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extbnsl.data.summary import Spread
from extbnsl.formats.spelling import Change
from extbnsl.networks.arc_strengths import ArcStrength
from extbnsl.networks.gaussian import Regression
from extbnsl.networks.network import Network


@dataclass(frozen=True, eq=False)
class Described:
    """A network with its cost in nats, and what is known of its parameters and its data.

    `states[i]` are the labels of variable i, and `tables[i]`, float64 of shape (*arities of its parents, its arity),
    its probabilities, rows along the last axis; both None where there are no data, or the variables are continuous,
    which have `regressions`. `strengths`: how much each arc counts, in the order of `network.arcs()`; None where that
    is not known. `counts[i]`: how many records have each of `states[i]`, or `spreads[i]`: where the numbers of a
    continuous variable lie; None where that is not known.
    """

    network: Network
    cost: float
    states: Sequence[Sequence[str]] | None = None
    tables: Sequence[NDArray[np.float64]] | None = None
    strengths: tuple[ArcStrength, ...] | None = None
    regressions: Sequence[Regression] | None = None
    counts: Sequence[Sequence[int]] | None = None
    spreads: Sequence[Spread] | None = None


@dataclass(frozen=True)
class Written:
    """The text of a file. spelled: the names and labels that it spells in another way, of which it does not tell the
    originals itself; told: how many such there are of which it does."""

    text: str
    spelled: tuple[Change, ...] = ()
    told: int = 0
