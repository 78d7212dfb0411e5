"""Trees of branching, as the solver makes them, and what a check of them has: families in whole units."""

import itertools
import math
from dataclasses import dataclass, replace

import naive
import numpy as np
from cases import scores_of

from extbnsl.bounds.ascent import find_multipliers
from extbnsl.bounds.lp.branching import branch
from extbnsl.bounds.lp.program import beginning
from extbnsl.bounds.lp.tree import Tree
from extbnsl.bounds.multipliers import families_of
from extbnsl.machine.workers import Workers
from extbnsl.parents.pruning import prune
from extbnsl.proof.steps import Branched, cuts_over
from extbnsl.solver.outcome import _named_step
from extbnsl.verify.branching import Branching
from extbnsl.verify.certificate import floors_of
from extbnsl.verify.passes import Families
from extbnsl.verify.recount import fault_of_tree

ROOM = 1 << 28


@dataclass(frozen=True)
class Grown:
    """A tree over all of some variables, what the solver made it from, what it says that these cost at least, in nats,
    and what they do cost, in units."""

    tree: Branching
    families: Families
    names: tuple[str, ...]
    shown: float
    optimum: int

    @property
    def width(self):
        return len(self.names)

    def fault(self, target, tree=None):
        """What a check finds wrong of the claim that the families cost so many units at least."""
        with Workers(1) as workers:
            families = self.families.needed(np.zeros(len(self.families.children), np.int64), workers)
            return fault_of_tree(tree or self.tree, families, self.names, target, workers)

    def pairs(self):
        """Per child its families as (parent varset, cost in units)."""
        bounds = self.families.first.tolist()
        rows = list(zip(self.families.varsets[:, 0].tolist(), self.families.costs.tolist(), strict=True))
        return [rows[lo:hi] for lo, hi in itertools.pairwise(bounds)]

    def with_node(self, number, **changes):
        """The tree with one of its nodes changed."""
        nodes = list(self.tree.nodes)
        nodes[number] = replace(nodes[number], **changes)
        return replace(self.tree, nodes=tuple(nodes))


def grown(families, limit=math.inf, threads=1):
    """The tree of families given as one list of (parent varset, cost) for each child, below a limit in nats."""
    scores = prune(scores_of(families))
    arrays = families_of(scores.parents, scores.costs)
    with Workers(threads) as workers:
        start = find_multipliers(arrays, None, 1, 0, workers)
        tree = branch(arrays, beginning(arrays, start), Tree(), limit, ROOM, workers, lambda reached: True).tree
    assert not tree.open
    shown, n = min(limit, tree.cost), scores.variables
    step = Branched(tuple(range(n)), shown, cuts_over(tree.cuts, range(n)), tree.closed)
    held = Families(np.arange(n), arrays.first, np.ascontiguousarray(arrays.parents.T), floors_of(arrays.costs))
    own = Grown(_named_step(step, scores.names), held, scores.names, shown, 0)
    return replace(own, optimum=naive.optimal_cost_dp(n, naive.best_scores(naive.cost_table(n, own.pairs()))))
