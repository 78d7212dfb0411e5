"""The integer program over families with cluster cuts: Jaakkola et al. 2010; Cussens 2011; Bartlett and Cussens 2017.

    minimise the sum of c(X, P) x(X, P), x(X, P) 0 or 1, such that for each child X the x(X, P) sum to 1, and
    for each cluster C the x(X, P) with X in C and P disjoint from C sum to at least 1.

There are too many clusters to write down: the program begins without, and those that a solution violates are added. It
is solved by branch and cut, on relaxations that HiGHS solves:

1. At the root, cuts and families are added until the bound hardly moves. Clusters are looked for by local search
   (Bartlett and Cussens solve a small integer program for that). Their solver also adds {0, 1/2}-cuts, which close most
   of what clusters leave; here these are sums of three clusters.
2. Families whose reduced cost is too large for a better network are dropped, and a local search looks for a network of
   the others. As long as many are dropped, or the gap falls, the root goes on without them.
3. Branching is on arcs: X has parent Y, or has not. Nodes add cuts too.

Solutions are made networks sink by sink (Bartlett and Cussens 2017, Section 4.4).

HiGHS finds duals, and nothing that it says is trusted. The bound of a node is made from the duals in our own arithmetic
(`bounds.multipliers`), so that it holds whatever the tolerances of the solver. That is why HiGHS does not branch: its
mixed-integer solver gives no duals to check, and its tolerance is larger than that of a proof here.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.lp.branching import Reached, branch
from extbnsl.bounds.lp.polish import ROOT, Goal, Polished, polished
from extbnsl.bounds.lp.probing import STREAMS
from extbnsl.bounds.lp.program import beginning
from extbnsl.bounds.lp.separation import order_of_solution
from extbnsl.bounds.lp.tree import Tree
from extbnsl.bounds.multipliers import FamilyArrays, Support, families_of, multipliers_of, no_multipliers
from extbnsl.core.claims import MEMORY_LIMIT, OPTIMAL
from extbnsl.core.events import StageAdvanced
from extbnsl.core.figures import format_gap, in_full
from extbnsl.lab.baselines.outcome import STAGE, BestKnown, Outcome, rows_along
from extbnsl.machine.workers import Stopped
from extbnsl.orders.local_search import USUAL
from extbnsl.parents.components import Component
from extbnsl.proof.context import Context
from extbnsl.proof.incumbents import best_order
from extbnsl.scores.local import LocalScores, feasible_order

EFFORT = 10**9  # simplex iterations of the root: what ends it is that the bound hardly moves
FEW = 0.5  # share of the families that may be left before a smaller program is worth its while
LESS = 0.9  # times the gap before is little enough for the root to go on


def find(scores: LocalScores, context: Context) -> Outcome:
    """A network of least cost. counts: `nodes` that were looked at, `turns` of adding cuts at the root, `cuts` of the
    last program, and `families` that were left to branch on.

    Memory: half of context.memory_left for the programs, as estimated by the entries of their matrices, and half for
    nodes: MEMORY_LIMIT if that is not enough. HiGHS itself knows no limit. A stop is heard between simplex iterations.
    """
    best = BestKnown(scores, context)
    search = Search(scores, best, context)
    try:
        status = search.run()
    except Stopped as stopped:
        status = stopped.reason
    bound = best.limit if status == OPTIMAL else min(best.limit, search.bound)
    return Outcome(status, best.rows, bound, search.counted())


class Search:
    """Branch and cut of local scores at work. bound: what every network costs at least that is not known to be no
    better than the best known one, in nats."""

    def __init__(self, scores: LocalScores, best: BestKnown, context: Context) -> None:
        self._scores, self._best, self._context = scores, best, context
        self._room = context.memory_left // 2
        self._families = families_of(scores.parents, scores.costs)
        self._reached = Polished(no_multipliers(self._families))
        self._turns, self._nodes, self._cuts = 0, 0, 0
        self.bound = self._reached.multipliers.root

    def counted(self) -> dict[str, int]:
        """What has been done."""
        families = self._families.costs.size
        return {"nodes": self._nodes, "turns": self._turns, "cuts": self._cuts, "families": families}

    def run(self) -> str:
        """Prove that no network is better than the best known: OPTIMAL, or MEMORY_LIMIT. Raises Stopped."""
        while self._fix():
            before, gap = self._families.costs.size, self._gap
            self._solve_root()
            if not self._fix():
                break
            self._search_left()
            more = self._families.costs.size <= FEW * before or self._gap <= LESS * gap
            if self._reached.optimal or not more:
                return self._branch()
        return OPTIMAL

    @property
    def _gap(self) -> float:
        return self._best.cost - self.bound

    def _fix(self) -> bool:
        """Drop the families that no better network has; whether there may be a better network."""
        families, found = self._families, self._reached.multipliers
        keep = found.root + found.reduced < self._best.limit
        left = np.add.reduceat(keep, families.first[:-1], dtype=np.int64)
        if not left.all():
            return False
        first = np.concatenate([np.zeros(1, np.int64), np.cumsum(left)])
        self._families = FamilyArrays(np.ascontiguousarray(families.parents[:, keep]), families.costs[keep], first)
        fewer = multipliers_of(self._families, found.cuts, found.weights)
        self._reached = replace(self._reached, multipliers=fewer)
        return True

    def _search_left(self) -> None:
        """Look for a better network of the families that are left: among few, a local search is stuck less often."""
        parents = np.split(np.ascontiguousarray(self._families.parents.T), self._families.first[1:-1])
        if not feasible_order(parents)[1]:
            costs = np.split(self._families.costs, self._families.first[1:-1])
            left = Component(tuple(range(self._scores.variables)), tuple(parents), tuple(costs))
            self._hear_order(best_order(left, self._context.methods.seed, USUAL, self._context).order)

    def _solve_root(self) -> None:
        """Add cuts and families until the bound hardly moves, or so many families could go that it is time to."""

        def on_turn(reached: Polished) -> None:
            self._turns += 1
            self._note(reached.multipliers.root, reached.cuts)
            self._hear(reached.support)

        goal = Goal(self._best.limit, ROOT, self._room // (1 + STREAMS), FEW)
        self._reached = polished(self._families, self._reached, goal, EFFORT, self._context.workers, on_turn)
        self._note(self._reached.multipliers.root, self._reached.cuts)

    def _branch(self) -> str:
        """`run` from the root on. When a better network is found, families are dropped before it goes on."""
        tree = Tree()
        while tree.open and self._fix():
            limit = self._best.limit
            tree = self._branched(tree, limit)
            if tree.open and self._best.limit >= limit:
                return MEMORY_LIMIT
        return OPTIMAL

    def _branched(self, tree: Tree, limit: float) -> Tree:
        """The tree when it has come to its end, to that of memory, or upon a network that costs less than the limit."""
        root, families = self._reached, self._families

        def on_turn(reached: Reached) -> bool:
            self._nodes = reached.tree.looked
            self._note(reached.tree.bound, reached.cuts)
            if reached.tree.order is not None:
                self._hear_order(np.array(reached.tree.order))
            self._hear(reached.support)
            return self._best.limit >= limit

        start = beginning(families, root.multipliers, root.cuts)
        found = branch(families, start, tree, limit, self._room, self._context.workers, on_turn)
        on_turn(found)
        self._reached = replace(root, cuts=found.cuts)
        return found.tree

    def _note(self, bound: float, cuts: NDArray[np.uint64] | None) -> None:
        """Take note of how far it has come."""
        self.bound, self._cuts = max(self.bound, bound), 0 if cuts is None else len(cuts)
        done, unit = (self._nodes, "nodes") if self._nodes else (self._turns, "turns")
        unit = f"{unit}, {in_full(self._cuts, 'cut')}, gap {format_gap(self.bound, self._best.cost)}"
        self._context.observer(StageAdvanced(STAGE, done, 0, unit))

    def _hear(self, support: Support | None) -> None:
        """Let a solution be made a network."""
        if support is not None:
            self._hear_order(order_of_solution(*support, self._scores.variables))

    def _hear_order(self, order: NDArray[np.int64]) -> None:
        self._best.hear(rows_along(order.tolist(), self._scores), self.bound)
