"""An independent check of a certificate: every family that matters is counted again, and all sums are exact.

It shares no code with the counting, the costs and the bounds of the solver. Costs are rounded down to whole units; from
there on all is in integers. For each child X of a component, all families with c'(X, P) < mu_X + target - root are
collected, by the claimed mu and root of the first pass, but for some that others take the place of: see `families`.
The minima of c' found must not be below those that the certificate claims. The steps then run on the collected
families, with the minima found: the others are in no network below the target.

The target is the claimed lower bound less what costs may be off by rounding, which follows from the data alone; so is
that of each step that settles some of the variables.

**A tree of branching** is checked for two things: its answers leave nothing out, and nothing is below the bound at its
leaves. The families are those that no other one takes the place of, see `Families.needed`: who branched had none of
these, and under an answer that only such a one fits there may be nothing else. A node has the families that those above
it have left, its own answer leaves, and which close no cycle with the parents that answers have given. Its passes bound
these, and drop those that no network below the target has, for the nodes below it too. It is closed if a pass reaches
the target, if a child has no family left, or if no order of the variables lets each have one. Otherwise it must have
two nodes below it, with both answers to one question: then every network below the target is below one of them.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.data_options import MIXED, NUMBERS, STATES
from extbnsl.core.events import Observer, StageAdvanced, ignore
from extbnsl.core.figures import in_full
from extbnsl.data import Data, Numbers
from extbnsl.kernels.varsets import WORD_BITS, as_varsets
from extbnsl.machine.budgets import default_memory
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.scores.local import LocalScores
from extbnsl.verify.arc_costs import ChargedFamilies, arcs_beside, leads_of
from extbnsl.verify.averaged_families import families_by_averages
from extbnsl.verify.averaged_regressions import families_by_averaged_regressions
from extbnsl.verify.block_families import families_by_blocks
from extbnsl.verify.both_families import families_of_both
from extbnsl.verify.branching import Branching, TreeNode
from extbnsl.verify.certificate import (
    BEYOND,
    MOST_UNITS,
    CertifiedComponent,
    TooMuch,
    ceil_units,
    floor_units,
    floors_of,
    nats_of,
)
from extbnsl.verify.data_families import families_of_data
from extbnsl.verify.demands import Demands
from extbnsl.verify.document import ClaimedResult
from extbnsl.verify.families import FamiliesByRecords, FamilySource, ListedFamilies, Tell, untold
from extbnsl.verify.order_search import least_cost
from extbnsl.verify.passes import Families, WeightedCuts, cuts_of, packed_cuts, weighted
from extbnsl.verify.regression_families import families_by_regressions
from extbnsl.verify.rescoring import PARAMETER_COSTS, cost_of_any, records_of_children
from extbnsl.verify.row_families import RowFamilies, claim_of_rows
from extbnsl.verify.steps import Pass, Search

CUTS, BRANCHING, SEARCH = "multipliers", "the answers of branching", "a search, repeated"
WAYS = (CUTS, BRANCHING, SEARCH)  # what a proof is by


@dataclass(frozen=True)
class Optimality:
    """What became of the claim that nothing costs less, of a result whose other claims hold; or nothing of its order,
    of which no component is told."""

    findings: tuple[str, ...] = ()  # a sentence for each claim that does not hold
    proved: tuple[tuple[str, ...], ...] = ()  # the components that are proved, as tuples of names
    by: frozenset[str] = frozenset()  # what their proofs are by
    unchecked: tuple[tuple[str, ...], ...] = ()  # the components of which the check was given up
    why: str = ""  # for which reason: a stop reason, or a clause
    rounding: float = 0.0  # by how much less a network may cost, in nats, beside the tolerance, as costs are floats

    @property
    def complete(self) -> bool:
        """Whether it is proved that no network is cheaper, but for the tolerance of the claim."""
        return not self.findings and not self.why

    @classmethod
    def joined(cls, parts: Sequence["Optimality"]) -> "Optimality":
        """What became of all parts of a claim."""
        return cls(
            tuple(finding for part in parts for finding in part.findings),
            tuple(component for part in parts for component in part.proved),
            frozenset[str]().union(*(part.by for part in parts)),
            tuple(component for part in parts for component in part.unchecked),
            next((part.why for part in parts if part.why), ""),
            math.fsum(part.rounding for part in parts),
        )


class _Fault(Exception):
    """A sentence that says what does not hold."""


def check_component(
    component: CertifiedComponent,
    names: Sequence[str],
    source: FamilySource,
    workers: Workers,
    observer: Observer = ignore,
    before: int = 0,
) -> Optimality:
    """Check the proof of a component, well formed as `read_certificate` makes sure.

    `names` are all variables, in the order of varsets. `source` is asked once. The observer hears about how many of the
    variables are counted, so many of them before, and how far a search or a tree is.
    """
    own = component.variables
    # where a tree is checked, the cheaper of two that cost the same but for rounding may go, see `Families.needed`
    times = 1 + any(isinstance(step, Branching) for step in component.steps)
    off = {name: times * source.rounding(names.index(name)) for name in own}  # nats
    try:
        proof = _Proof(component, names, {name: ceil_units(off[name]) for name in own}, workers, observer)
        proof.begin(source, before)
        proof.check()
    except (Stopped, TooMuch) as stop:
        return Optimality(unchecked=(own,), why=str(stop))
    except _Fault as fault:
        return Optimality((str(fault),))
    return Optimality(proved=(own,), by=frozenset(proof.by), rounding=math.fsum(off.values()))


@dataclass
class _Proof:
    """The proof of a component as far as it has been checked: the families that are left of the children that are not
    settled, and what the settled ones cost at least, in units."""

    component: CertifiedComponent
    names: Sequence[str]
    slack: Mapping[str, int]
    workers: Workers
    observer: Observer
    settled: int = 0
    by: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.place = {name: i for i, name in enumerate(self.names)}
        self.target = self._within(floor_units(self.component.lower_bound) - sum(self.slack.values()))

    def begin(self, source: FamilySource, before: int) -> None:
        """Count the families that matter by the first pass; so many variables of other components are counted.

        With no minimum below the claimed one, a threshold is at least its minimum and what the target is above the
        root: all other families are in no network below the target.
        """
        component, workers, cuts = self.component, self.workers, cuts_of(self.component.first, self.names)
        least = {name: component.least[name] - self.slack[name] for name in component.variables}
        gap = max(self.target - cuts.needed - sum(least.values()), 0)
        thresholds = {self.place[name]: mu + gap for name, mu in least.items()}

        def tell(done: int, of: int) -> None:
            counted = before + len(thresholds) * done // of
            self._tell("counting parent sets again", counted, len(self.names), "variables")

        workers.check()  # when the time is over already, nothing is counted
        tell(0, 1)
        self.families, found = count_below(cuts, thresholds, source, workers, tell)
        tell(1, 1)
        for (name, mu), own in zip(least.items(), found, strict=True):
            if own < mu:
                raise _Fault(
                    f"The certificate says that the reduced cost of {name!r} is at least "
                    f"{nats_of(component.least[name])!r}, but it is {nats_of(own)!r}."
                )
        self.by.add(CUTS)  # the first pass may leave nothing, so that it is all

    def check(self) -> None:
        """Check the steps until they prove the bound; raises _Fault if they do not."""
        shown = None
        for step in self.component.steps:
            self.workers.check()
            if not self.families.complete:
                return
            if isinstance(step, Pass):
                shown = self._take(step)
            else:
                self._settle(step)
                shown = self.settled if not self.families.children.size else None
            if shown is not None and shown >= self.target:
                return
        if not self.families.complete:
            return
        said = "nothing together" if shown is None else f"at least {nats_of(shown)!r}"
        raise _Fault(
            f"The certificate does not prove the component of {self.component.variables[0]!r}: its steps show that it "
            f"costs {said}, but the claim is {self.component.lower_bound!r}."
        )

    def _take(self, step: Pass) -> int:
        """Take a pass; what the component costs at least by it."""
        shown = self.families.shown(cuts_of(step, self.names), self.workers)
        self.families = self.families.below(self.target - self.settled, shown)
        return self.settled + shown.root

    def _settle(self, step: Search | Branching) -> None:
        """Check a step that settles some of the variables."""
        own = np.isin(self.families.children, [self.place[name] for name in step.variables])
        bound = self._within(ceil_units(step.lower_bound) - sum(self.slack[name] for name in step.variables))
        if isinstance(step, Search):
            fault = self._fault_of_search(step, self.families.of(own), bound)
        else:
            fault = self._fault_of_tree(step, self.families.of(own), bound)
        if fault is not None:
            raise _Fault(
                f"The certificate says that the families of {step.variables[0]!r} and {len(step.variables) - 1} others "
                f"cost at least {step.lower_bound!r}, but {fault}."
            )
        self.by.add(SEARCH if isinstance(step, Search) else BRANCHING)
        self.settled += bound
        self.families = self.families.of(~own)

    def _fault_of_search(self, step: Search, families: Families, bound: int) -> str | None:
        """A clause that says why the families of the step cost less than `bound` units; None if they do not.

        Raises Stopped, and TooMuch where the search is too large.
        """
        variables = families.children.size
        if variables > WORD_BITS:
            raise TooMuch(f"a search of {variables} variables is too large")

        def tell(size: int, of: int, nodes: int) -> None:
            self._tell(f"repeating a search, {in_full(nodes, 'node')}", size, of, "layers")

        guide = cuts_of(step.guide, self.names)
        least = least_cost(families, guide, bound, self.workers, default_memory(), tell)
        return None if least >= bound else f"an order of them has families that cost {nats_of(least)!r}"

    def _fault_of_tree(self, step: Branching, families: Families, bound: int) -> str | None:
        """A clause that says why the tree does not show that its families cost `bound` units; None if it does."""
        spare = np.array([self.slack[self.names[child]] // 2 for child in families.children], np.int64)

        def tell(done: int) -> None:
            self._tell("going through the answers of branching", done, len(step.nodes), "nodes")

        needed = families.needed(spare, self.workers)
        return fault_of_tree(step, needed, self.names, bound + int(spare.sum()), self.workers, tell)

    def _tell(self, detail: str, done: int, total: int, unit: str) -> None:
        self.observer(StageAdvanced("verify", done, total, unit, detail=detail))

    def _within(self, units: int) -> int:
        """A claimed number of units, if sums of it stay within range; raises TooMuch."""
        if abs(units) > MOST_UNITS:
            raise TooMuch(BEYOND)
        return units


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
    cuts, below, done = packed_cuts(tree.cuts, place), _below(tree.nodes), 0
    waiting = [(0, families, np.eye(families.children.size, dtype=bool))]
    while waiting:
        workers.check()
        number, own, leads = waiting.pop()
        left = _after_passes(tree.nodes[number], own, cuts, target, workers)
        done += 1
        tell(done)
        if left is None:
            continue
        answers = [tree.nodes[k].answer for k in below[number]]
        if len(answers) != 2 or {answer and answer.has for answer in answers} != {True, False}:
            return f"its node {number} is not closed, and has not both answers to a question below it"
        questions = {answer and (answer.child, answer.parent) for answer in answers}
        if len(questions) > 1:
            return f"the nodes below its node {number} answer different questions"
        waiting += [(k, *_answered(left, leads, tree.nodes[k], place)) for k in below[number]]
    return None


def _below(nodes: Sequence[TreeNode]) -> list[list[int]]:
    """The nodes below each, by their numbers."""
    below: list[list[int]] = [[] for _ in nodes]
    for number, node in enumerate(nodes[1:], 1):
        below[node.above].append(number)
    return below


def _after_passes(
    node: TreeNode, families: Families, cuts: NDArray[np.uint64], target: int, workers: Workers
) -> Families | None:
    """What the passes of a node leave; None if it is closed."""
    for places, multipliers in node.passes:
        if not families.complete:
            return None
        shown = families.shown(weighted(cuts[list(places)], multipliers), workers)
        if shown.root >= target:
            return None
        families = families.below(target, shown)
    return families if families.complete and _has_order(families) else None


def _has_order(families: Families) -> bool:
    """Whether some order of the children lets each have one of its families, with parents from outside at will."""
    everyone = WORD_BITS * families.varsets.shape[1]
    alone = as_varsets(np.eye(everyone, dtype=np.bool_)[families.children])
    placed = ~np.bitwise_or.reduce(alone, axis=0)
    waiting = np.ones(families.children.size, bool)
    while waiting.any():
        inside = ~(families.varsets & ~placed).any(axis=1)
        ready = waiting & np.logical_or.reduceat(inside, families.first[:-1])
        if not ready.any():
            return False
        placed = placed | np.bitwise_or.reduce(alone[ready], axis=0)
        waiting &= ~ready
    return True


def _answered(
    families: Families, leads: NDArray[np.bool_], node: TreeNode, place: Mapping[str, int]
) -> tuple[Families, NDArray[np.bool_]]:
    """What an answer leaves. leads (n, n): whether the first of two variables comes before the second by the answers,
    or is the second."""
    assert node.answer is not None, "only the first node has none"
    position = {v: i for i, v in enumerate(families.children.tolist())}
    child, parent = place[node.answer.child], place[node.answer.parent]
    x, y = position[child], position[parent]
    lo, hi = int(families.first[x]), int(families.first[x + 1])
    having = (families.varsets[lo:hi, parent >> 6] >> np.uint64(parent & 63) & np.uint64(1)).astype(bool)
    stay = np.ones(families.costs.size, bool)
    stay[lo:hi] = having == node.answer.has
    if node.answer.has:
        leads = leads | np.outer(leads[:, y], leads[x])
        after = np.zeros((len(leads), WORD_BITS * families.varsets.shape[1]), bool)  # of each child those behind it
        after[:, families.children] = leads & ~np.eye(len(leads), dtype=bool)
        stay &= ~(families.varsets & np.repeat(as_varsets(after), np.diff(families.first), axis=0)).any(axis=1)
    return families.kept(stay), leads


def count_below(
    cuts: WeightedCuts, thresholds: Mapping[int, int], source: FamilySource, workers: Workers, tell: Tell = untold
) -> tuple[Families, list[int]]:
    """The families of children with c' by these cuts below a threshold each, in units, counted again, with costs
    rounded down to units; and the smallest c' of each, the threshold if there are none. Raises Stopped and TooMuch."""
    if max(map(abs, thresholds.values())) > MOST_UNITS:
        raise TooMuch(BEYOND)
    counted = source.below(thresholds, cuts, tell)
    families = Families.joined(list(thresholds), ((own.varsets, floors_of(own.costs)) for own in counted))
    shown, most = families.shown(cuts, workers), list(thresholds.values())
    own = families.kept(shown.reduced < families.by_child(np.array(most, np.int64)))
    return own, list(map(min, shown.least.tolist(), most))


def family_source(
    problem: Data | LocalScores, claim: ClaimedResult, demands: Demands, workers: Workers, every: bool = False
) -> FamilySource:
    """The families that are as demanded: as scores list them, or counted again by the score of the claim; every: also
    those that a subset beats, of data. Raises Stopped and TooMuch as the modules that do it."""
    by_regressions, names = isinstance(problem, Numbers) and not problem.gaps, problem.names
    nats = arcs_beside(claim, names, demands, cost_of_any(claim, len(names)) if by_regressions else 0.0)
    leads = leads_of(nats)
    source = _scored(problem, claim, demands, workers, np.full(leads.size, math.inf) if every else leads)
    return ChargedFamilies(source, nats, leads) if nats.any() else source


def _scored(
    problem: Data | LocalScores, claim: ClaimedResult, demands: Demands, workers: Workers, leads: NDArray[np.float64]
) -> FamilySource:
    """The same by what the score says alone; leads: by how much a subset must beat a family, in nats."""
    if isinstance(problem, LocalScores):
        return ListedFamilies(problem, demands)
    if problem.weights is not None and claim.score in PARAMETER_COSTS:
        of_rows = claim_of_rows(claim, problem.variables, problem.total, problem.each)
        return RowFamilies(_scored(problem.as_records(), of_rows, demands, workers, leads / problem.each), problem.each)
    sources, of = list[FamilySource](), dict[int, int]()
    for children, own in records_of_children(problem):
        of |= dict.fromkeys(children, len(sources))
        make = _BY_SCORE.get(claim.score) or (_AVERAGED if own.gaps else _FAMILIES)[own.kind]
        sources.append(make(own, claim, demands, workers, leads, problem.records))
    return sources[0] if len(sources) == 1 else FamiliesByRecords(tuple(sources), of)


Maker = Callable[..., FamilySource]
_BY_SCORE: dict[str, Maker] = {"dg-bic": families_by_blocks}  # of one that is not the first of its kind
_FAMILIES: dict[str, Maker] = {
    STATES: families_of_data,
    NUMBERS: families_by_regressions,
    MIXED: families_of_both,
}
_AVERAGED: dict[str, Maker] = {
    STATES: families_by_averages,
    NUMBERS: families_by_averaged_regressions,
    MIXED: families_by_averaged_regressions,
}
