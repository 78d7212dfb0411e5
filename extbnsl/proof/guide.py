"""How far the bounds of a piece of a component have come, and what guides its search: the families that are left,
multipliers, and groups with tables.

How much is done for it follows the search that is expected, see `trials`.
"""

import math
from dataclasses import dataclass, field, replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.groups import BESIDE_CLUSTERS, Grouping, build_grouping, pair_weights, split_by_weight
from extbnsl.bounds.lp.tree import Tree
from extbnsl.bounds.multipliers import FamilyArrays, Multipliers, families_of
from extbnsl.bounds.patterns import static_table
from extbnsl.core.codec import IN_FILE, UNKEPT, Highest, Lowest, Whole
from extbnsl.kernels.varsets import WORD_BITS
from extbnsl.parents.components import Component
from extbnsl.proof.context import Context
from extbnsl.proof.methods import Methods

SHARE = 0.1  # of the expected search that making it smaller may cost
LONG_NS = 3.5e9  # of a search for which it is worth being thorough
MOST_NS = 120e9  # that it may cost, however large the search will be
EXCESS, LEAST_NS = 4.0, 30e9  # times as long as foreseen, and as so much, a search may take
TOO_LARGE_NS = 20e9  # that it may cost where no search is possible
ASCEND, POLISH, FIX, TRY, PROBE, BRANCH = "ascend", "polish", "fix", "try", "probe", "branch"
STEPS = (ASCEND, POLISH, FIX, TRY, PROBE, BRANCH)
MOST_ITERATIONS = 1 << 30  # of the simplex method


@dataclass(frozen=True)
class Guide:
    """What guides the search of a piece of a component, over positions in it.

    left: its families.
    multipliers: if there are any.
    grouping: groups with their tables; without them it cannot be searched.
    sets: for ancestral successors, over the labels of the search; None if there are to be none.
    at_root: the multipliers with the largest bound at the root, if these are others.
    """

    left: Component
    multipliers: Multipliers | None
    grouping: Grouping | None = None
    sets: tuple[int, ...] | None = None
    at_root: Multipliers | None = None

    @property
    def root(self) -> float:
        """What a network costs at least, in nats."""
        bound = float(sum(costs[0] for costs in self.left.costs))
        for one in (self.multipliers, self.at_root, self.grouping):
            if one is not None:
                bound = max(bound, one.root)
        return bound


@dataclass(frozen=True)
class Guided:
    """What came of a piece.

    guide: what guides its search.
    proved: whether multipliers prove that no network costs less than the limit.
    pieces: what it fell into, if it did.
    passes: the multipliers by which families were dropped, or it is proved (see `Fixed`).
    search_ns: about how long its search will take, in nanoseconds of one thread; infinity if it is too large.
    tree: of branching, which has solved the piece, if no search has to.
    rest: how the bounds go on if the search turns out to be too large, or the limit falls before it begins.
    """

    guide: Guide
    proved: bool = False
    pieces: tuple[Component, ...] = ()
    passes: tuple[Multipliers, ...] = ()
    search_ns: float = 0.0
    tree: Tree | None = None
    rest: "Bounding | None" = None

    @property
    def allowed_ns(self) -> float:
        """How long its search may take before the bounds go on."""
        return math.inf if self.rest is None else EXCESS * max(LEAST_NS, self.search_ns)

    def proves(self, limit: float) -> bool:
        """Whether no network costs less than the limit; groups may prove it too, which no pass repeats."""
        if self.tree is not None:
            return self.tree.cost >= limit
        return self.proved or (not self.pieces and self.guide.root >= limit)


@dataclass(frozen=True)
class Turn:
    """What comes next for a piece, and how much of it.

    step: of STEPS.
    rounds: of improving the multipliers, in this turn.
    spent: of the step already, in rounds or simplex iterations.
    effort: of linear programs, in iterations for each, or for all of probing or of branching; 0 before there are any.
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
    too_large: whether a search has turned out to be.
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
    too_large: bool = False
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
        """Whether there may be a search of the piece."""
        return self.left.size <= WORD_BITS and not self.too_large

    @property
    def at_root(self) -> bool:
        """Whether bounds at the root are all that there is: no search is possible, or it would be hopeless."""
        return not self.searchable or self.turn.effort >= MOST_ITERATIONS

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


def labels(grouping: Grouping) -> list[int]:
    """The variable that each label of the search stands for: the groups one after the other."""
    return [v for group in grouping.groups for v in group]


def rebuilt_grouping(groups: tuple[tuple[int, ...], ...], left: Component, context: Context) -> Grouping:
    """The grouping into these groups, with the tables that the methods ask for."""
    if not context.methods.patterns:
        best = np.array([costs[0] for costs in left.costs])
        return Grouping(groups, tuple(static_table(best[list(group)]) for group in groups))
    return build_grouping(groups, (left.parents, left.costs))


def weighed_grouping(left: Component, context: Context) -> Grouping | None:
    """Groups beside multipliers: by pair weights; better ones would not pay. None if there are too many variables."""
    n = len(left.parents)
    if n > WORD_BITS:
        return None
    count = -(-n // BESIDE_CLUSTERS)
    groups = [range(n)] if count == 1 else split_by_weight(pair_weights(left.parents, left.costs), count)
    return rebuilt_grouping(tuple(map(tuple, groups)), left, context)


def may_polish(methods: Methods) -> bool:
    """Whether multipliers are polished where a search would be large."""
    return methods.clusters and methods.polish is not False


def worthwhile_ns(search_ns: float, methods: Methods) -> float:
    """How long it may take to make a search shorter that takes so long, both in nanoseconds of one thread.

    Where no search is possible, infinity if there may be linear programs: their multipliers are the best that there are
    sooner or later, others never.
    """
    if math.isfinite(search_ns):
        return min(MOST_NS, SHARE * search_ns)
    return math.inf if may_polish(methods) else TOO_LARGE_NS
