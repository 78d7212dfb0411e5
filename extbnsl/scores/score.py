"""What a score is: a cost in nats, minimised, that is the sum of the costs of a network's families.

A score takes part by its value and its line in known.py; the checker says its formula again. Two kinds:

- `ParameterScore`: misfit + a price for each free parameter. MDL and AIC are of this kind. Searches of parent sets get
  the price as one number, see formula.py, and bound what parents can gain by entropies.
- Any other `Score`: it says by its `formula` (formula.py) what the cells of a family add up to, and by `least` what a
  family and all that have more parents cost at least. Searches of parent sets end by that.

Light: the command line imports this for the names.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from extbnsl.core.knowledge import Knowledge
    from extbnsl.data import Data
    from extbnsl.scores.cells import Cells
    from extbnsl.scores.formula import Formula
    from extbnsl.scores.rows import Rows

DEFAULT_ESS = 1.0


@dataclass(frozen=True)
class Titled:
    """What a score is called.

    name: the word for it in options and documents; title: for people; maximised: what people call minus the cost; ess:
    the equivalent sample size of its prior, None where it has none; penalty: what a free parameter costs, in nats,
    where that was given.
    """

    name: str
    title: str
    maximised: str
    ess: float | None = field(default=None, kw_only=True)
    penalty: float | None = field(default=None, kw_only=True)

    def implied(self, knowledge: "Knowledge", data: "Data") -> "Knowledge":
        """The knowledge with what else the score says of networks of these data."""
        return knowledge


@dataclass(frozen=True)
class Nats:
    """What a free parameter costs whatever the number of records, in nats."""

    nats: float

    def __call__(self, records: float) -> float:
        return self.nats


class Score(Titled, ABC):
    """A decomposable score of discrete data as a cost."""

    def cost(self, cells: "Cells") -> float:
        """What a family costs, in nats: here its misfit and what `least` adds to that."""
        return self.least(cells, cells.misfit)

    @abstractmethod
    def least(self, cells: "Cells", floor: float) -> float:
        """What any family of this child costs at least whose parents are those of `cells` and perhaps more.

        floor: a lower bound of N H(child | all other variables) in nats.
        """


class CellScore(Score):
    """A score that is not misfit and a price: what its cells add up to, kernels are told by a formula."""

    @abstractmethod
    def formula(self, rows: "Rows", arities: "NDArray", max_parents: int, base: int = 1) -> "Formula":
        """For rows of variables of these arities, and parent sets of at most so many beside those that must be, which
        have `base` joint states."""


def penalty_of(parameter: float, arity: int, configurations: float) -> float:
    """The one formula of the penalty: `parameter` nats for each free parameter of a family."""
    return parameter * (arity - 1) * configurations


@dataclass(frozen=True)
class PenalisedScore(Titled):
    """A score of misfit and a price for each free parameter, of any kind of data.

    parameter: what one costs, in nats, given the number of records; not negative.
    """

    parameter: Callable[[float], float]


@dataclass(frozen=True)
class ParameterScore(Score, PenalisedScore):
    """cost(X | P) = N H(X | P) + parameter(N) (r_X - 1) prod of r_Y over Y in P, in nats."""

    def least(self, cells: "Cells", floor: float) -> float:
        """See `Score.least`: the misfit never falls below the floor, and the penalty never falls with more parents."""
        records = cells.records if cells.priced is None else cells.priced
        return floor + penalty_of(self.parameter(records), cells.arity, cells.configurations)


def most_parents(
    score: Score, alone: "Cells", floor: float, smallest_arities: Iterable[int], slack: float = 0.0
) -> int:
    """Largest size of a parent set that can cost less than the empty one and `slack` nats together.

    alone: the child without parents, or with those that it must have; floor: as in `Score.least`; smallest_arities:
    those of the possible parents, ascending, each at least 2. A set of d parents has at least as many configurations as
    the d smallest arities make. Let b(d) be `least` for that many; it bounds every family of d or more parents. If b(d)
    is at least the cost of the empty set and the slack, all these families cost more than their empty subset by the
    slack or more: the limit is the largest d with b(d) below that, and b never falls with d. So this holds for every
    score, whatever a parameter costs; if `least` never gets so large, there is no limit.

    With MDL and no floor it is 2^d < 1 + 2 N H(X) / ((r - 1) ln N) for binary parents. Tian's Theorem 1 and eq. 25 drop
    the '1 +' of eq. 24 and are too small at some N. With AIC it is 2^d < 1 + N H(X) / (r - 1), about log2 N.
    """
    most = score.cost(alone) + slack
    size, configurations = 0, alone.configurations
    for arity in smallest_arities:
        configurations *= arity
        if score.least(replace(alone, configurations=configurations), floor) >= most:
            break
        size += 1
    return size


def titled(score: Titled) -> str:
    """The score's title and what it takes, for people."""
    ess = "" if score.ess is None else f", equivalent sample size {score.ess:g}"
    penalty = "" if score.penalty is None else f", {score.penalty:g} nats a parameter"
    return score.title + ess + penalty
