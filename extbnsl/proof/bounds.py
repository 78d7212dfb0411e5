"""How far the bounds of a piece have come: what every step of `bounding` goes on from, and leaves."""

import math
from dataclasses import dataclass, field, replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.lp.tree import Tree
from extbnsl.bounds.multipliers import FamilyArrays, Multipliers, families_of
from extbnsl.core.codec import IN_FILE, UNKEPT, Highest, Lowest, Whole
from extbnsl.kernels.varsets import WORD_BITS
from extbnsl.parents.components import Component
from extbnsl.proof.guide import Guide

ASCEND, POLISH, FIX, TRY, PROBE, BRANCH = "ascend", "polish", "fix", "try", "probe", "branch"
STEPS = (ASCEND, POLISH, FIX, TRY, PROBE, BRANCH)


@dataclass(frozen=True)
class Turn:
    """What comes next for a piece, and how much of it.

    step: of STEPS.
    rounds: of improving the multipliers, in this turn.
    spent: of the step already, in rounds or simplex iterations.
    effort: of linear programs, in iterations for each, or for all of probing; 0 before there are any.
    gap: what the turn before left, in nats.
    """

    step: Annotated[str, STEPS.__contains__] = ASCEND
    rounds: Whole = 0
    spent: Whole = 0
    effort: Whole = 0
    gap: Highest = math.inf


@dataclass(frozen=True)
class Programs:
    """What the last linear programs of a piece have left.

    optimal: whether no multipliers are better at the root.
    cuts: of the one for the root.
    spread: the multipliers of the one for the search; None before there are any.
    spread_cuts: its cuts.
    """

    optimal: bool = False
    cuts: Annotated[NDArray[np.uint64] | None, IN_FILE] = None
    spread: Multipliers | None = None
    spread_cuts: Annotated[NDArray[np.uint64] | None, IN_FILE] = None


@dataclass(frozen=True)
class Probing:
    """How far the families of a piece have been probed.

    pays: whether it may drop more.
    tried: the choices probed.
    before: of how many families.
    """

    pays: bool = True
    tried: frozenset[Whole] = frozenset()
    before: Whole = 0


@dataclass(frozen=True)
class Bounding:
    """How far the bounds of a piece have come, and how they go on.

    left: the families that are left.
    multipliers: those with the best bound at the root; None before there are any.
    root: what a network costs at least, in nats.
    passes: the multipliers by which families were dropped since this was begun, each for those that were left then.
    turn: what comes next.
    programs, probing: what they have left.
    tree: of branching, if that has begun.
    guide: what a search would have by now.
    """

    left: Annotated[Component, UNKEPT] = field(default_factory=lambda: Component((), (), ()))  # both are the piece's
    multipliers: Annotated[Multipliers | None, UNKEPT] = None
    root: Lowest = -math.inf
    passes: Annotated[tuple[Multipliers, ...], UNKEPT] = ()
    turn: Turn = field(default_factory=Turn)
    programs: Programs = field(default_factory=Programs)
    probing: Probing = field(default_factory=Probing)
    tree: Tree | None = None
    guide: Annotated[Guide | None, UNKEPT] = None

    @property
    def families(self) -> FamilyArrays:
        """The families that are left, as kernels take them."""
        return families_of(self.left.parents, self.left.costs)

    @property
    def reached(self) -> Multipliers:
        """The multipliers, when there are some."""
        assert self.multipliers is not None, "an ascent comes first"
        return self.multipliers

    @property
    def searchable(self) -> bool:
        """Whether the piece is small enough for a search; otherwise bounds at the root are all that there is."""
        return self.left.size <= WORD_BITS

    @property
    def unguided(self) -> Guide:
        """What is left of the piece, without anything that guides a search."""
        return Guide(self.left, self.multipliers)

    def at(self, step: str) -> "Bounding":
        """The same before another step."""
        return replace(self, turn=replace(self.turn, step=step, spent=0))

    def having(self, multipliers: Multipliers, spent: int = 0) -> "Bounding":
        """The same with other multipliers for the families that are left, when so much of the step is spent."""
        root, turn = max(self.root, multipliers.root), replace(self.turn, spent=spent)
        return replace(self, multipliers=multipliers, root=root, turn=turn)
