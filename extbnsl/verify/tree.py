"""A check of branching: do the answers of a tree leave nothing out, and is nothing below the bound at its leaves?

The families are those that no other one takes the place of, see `Families.needed`: who branched had none of these, and
under an answer that only such a one fits there may be nothing else. A node has the families that those above it have
left, its own answer leaves, and which close no cycle with the parents that answers have given. Its passes bound these,
and drop those that no network below the target has, for the nodes below it too. It is closed if a pass reaches the
target, if a child has no family left, or if no order of the variables lets each have one. Otherwise it must have two
nodes below it, with both answers to one question: then every network below the target is below one of them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.varsets import as_varsets
from extbnsl.machine.workers import Workers
from extbnsl.verify.certificate import Branching, TreeNode
from extbnsl.verify.passes import Families, packed_cuts, singles, weighted


@dataclass(frozen=True)
class _Left:
    """What a node has: the families, and leads (n, n) bool, which says whether the first of two variables comes before
    the second by the answers, or is the second."""

    families: Families
    leads: NDArray[np.bool_]


def fault_of_tree(
    tree: Branching,
    families: Families,
    names: Sequence[str],
    target: int,
    workers: Workers,
    tell: Callable[[int], None] = lambda done: None,
) -> str | None:
    """A clause that says why the tree does not show that families of its variables cost `target` units or more; None if
    it does.

    families: those of its variables that are left, each has one, without those that others take the place of; names: of
    all variables, in the order of varsets.
    `tell` hears how many nodes are done. Raises Stopped. A node takes one look at all families for each cut of its
    passes.
    """
    place = {name: i for i, name in enumerate(names)}
    cuts = packed_cuts(tree.cuts, place)
    below = _below(tree.nodes)
    waiting = [(0, _Left(families, np.eye(families.children.size, dtype=bool)))]
    done = 0
    while waiting:
        workers.check()
        number, left = waiting.pop()
        found = _after_passes(tree.nodes[number], left, cuts, target, workers)
        done += 1
        tell(done)
        if found is None:
            continue
        answers = [tree.nodes[k].answer for k in below[number]]
        if len(answers) != 2 or {answer and answer.has for answer in answers} != {True, False}:
            return f"its node {number} is not closed, and has not both answers to a question below it"
        questions = {answer and (answer.child, answer.parent) for answer in answers}
        if len(questions) > 1:
            return f"the nodes below its node {number} answer different questions"
        waiting += [(k, _answered(found, tree.nodes[k], place)) for k in below[number]]
    return None


def _below(nodes: Sequence[TreeNode]) -> list[list[int]]:
    """The nodes below each, by their numbers."""
    below: list[list[int]] = [[] for _ in nodes]
    for number, node in enumerate(nodes[1:], 1):
        below[node.above].append(number)
    return below


def _after_passes(node: TreeNode, left: _Left, cuts: NDArray[np.uint64], target: int, workers: Workers) -> _Left | None:
    """What the passes of a node leave; None if it is closed."""
    families = left.families
    for places, multipliers in node.passes:
        if not families.complete:
            return None
        shown = families.shown(weighted(cuts[list(places)], multipliers), workers)
        if shown.root >= target:
            return None
        families = families.below(target, shown)
    if not families.complete or not _has_order(families):
        return None
    return _Left(families, left.leads)


def _has_order(families: Families) -> bool:
    """Whether some order of the children lets each have one of its families, with parents from outside at will."""
    alone = singles(families.children, families.varsets.shape[1])
    placed = ~np.bitwise_or.reduce(alone, axis=0)
    waiting = np.ones(families.children.size, bool)
    changed = True
    while changed and waiting.any():
        inside = ~(families.varsets & ~placed).any(axis=1)
        ready = waiting & np.logical_or.reduceat(inside, families.first[:-1])
        placed = placed | np.bitwise_or.reduce(alone[ready], axis=0)
        waiting &= ~ready
        changed = bool(ready.any())
    return not waiting.any()


def _answered(left: _Left, node: TreeNode, place: Mapping[str, int]) -> _Left:
    """What an answer leaves."""
    assert node.answer is not None, "only the first node has none"
    families, position = left.families, {v: i for i, v in enumerate(left.families.children.tolist())}
    child, parent = place[node.answer.child], place[node.answer.parent]
    x, y = position[child], position[parent]
    lo, hi = int(families.first[x]), int(families.first[x + 1])
    having = (families.varsets[lo:hi, parent >> 6] >> np.uint64(parent & 63) & np.uint64(1)).astype(bool)
    stay = np.ones(families.costs.size, bool)
    stay[lo:hi] = having == node.answer.has
    leads = left.leads
    if node.answer.has:
        leads = leads | np.outer(leads[:, y], leads[x])
        stay &= ~(families.varsets & np.repeat(_after(leads, families), np.diff(families.first), axis=0)).any(axis=1)
    return _Left(families.kept(stay), leads)


def _after(leads: NDArray[np.bool_], families: Families) -> NDArray[np.uint64]:
    """For each child the varset of those that come after it, (n, words)."""
    members = np.zeros((families.children.size, 64 * families.varsets.shape[1]), bool)
    members[:, families.children] = leads & ~np.eye(families.children.size, dtype=bool)
    return as_varsets(members)
