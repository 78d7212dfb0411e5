"""An independent check of a certificate: every family that matters is counted again, and all sums are exact.

It shares no code with the counting, the costs and the bounds of the solver. Costs are rounded down to whole units; from
there on all is in integers. For each child X of a component, all families with c'(X, P) < mu_X + target - root are
collected, by the claimed mu and root of the first pass, but for some that others take the place of: see `families`.
The minima of c' found must not be below those that the certificate claims. The steps then run on the collected
families, with the minima found: the others are in no network below the target.

The target is the claimed lower bound less what costs may be off by rounding, which follows from the data alone; so is
that of each step that settles some of the variables.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from extbnsl.core.events import Observer, StageAdvanced, ignore
from extbnsl.core.figures import in_full
from extbnsl.data import Data, Numbers
from extbnsl.kernels.varsets import WORD_BITS
from extbnsl.machine.budgets import default_memory
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.scores.local import LocalScores
from extbnsl.verify.certificate import (
    BEYOND,
    MOST_UNITS,
    Branching,
    CertifiedComponent,
    Pass,
    Search,
    TooMuch,
    bound_of,
    ceil_units,
    floor_units,
    floors_of,
    nats_of,
)
from extbnsl.verify.data_families import families_of_data
from extbnsl.verify.demands import Demands
from extbnsl.verify.document import ClaimedResult
from extbnsl.verify.families import FamilySource, ListedFamilies, Tell, untold
from extbnsl.verify.order_search import least_cost
from extbnsl.verify.passes import Families, cuts_of
from extbnsl.verify.regression_families import families_by_regressions
from extbnsl.verify.tree import fault_of_tree

CUTS, BRANCHING, SEARCH = "multipliers", "the answers of branching", "a search, repeated"
WAYS = (CUTS, BRANCHING, SEARCH)  # what a proof is by


@dataclass(frozen=True)
class Recount:
    """What became of one component's proof."""

    findings: tuple[str, ...] = ()  # a sentence for each claim that does not hold
    why: str = ""  # for which reason the check was given up, a stop reason or a clause
    by: frozenset[str] = frozenset()  # what the proof was by

    @property
    def proved(self) -> bool:
        """Whether no network has families of these children below the lower bound, but for the rounding of costs."""
        return not self.findings and not self.why


class _Fault(Exception):
    """A sentence that says what does not hold."""


def check_component(
    component: CertifiedComponent,
    names: Sequence[str],
    source: FamilySource,
    workers: Workers,
    observer: Observer = ignore,
    before: int = 0,
) -> Recount:
    """Check the proof of a component, well formed as `read_certificate` makes sure.

    `names` are all variables, in the order of varsets. `source` is asked once. The observer hears about how many of the
    variables are counted, so many of them before, and how far a search or a tree is.
    """
    slack = {name: ceil_units(rounding(component, names.index(name), source)) for name in component.variables}
    try:
        proof = _Proof(component, names, slack, workers, observer)
        proof.begin(source, before)
        proof.check()
    except (Stopped, TooMuch) as stop:
        return Recount(why=reason_of(stop))
    except _Fault as fault:
        return Recount((str(fault),))
    return Recount(by=frozenset(proof.by))


def rounding(component: CertifiedComponent, child: int, source: FamilySource) -> float:
    """What the costs of a child's families may be off, in nats. Twice that where a tree is checked: of two families
    that cost the same but for rounding the cheaper one may be left out, see `Families.needed`."""
    return source.rounding(child) * (1 + any(isinstance(step, Branching) for step in component.steps))


def reason_of(stop: Stopped | TooMuch) -> str:
    """Why a check was given up: a stop reason, or a clause."""
    return stop.reason if isinstance(stop, Stopped) else str(stop)


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
        component, workers = self.component, self.workers
        least = {name: component.least[name] - self.slack[name] for name in component.variables}
        gap = max(self.target - bound_of(component.first, least), 0)
        children = [self.place[name] for name in least]
        thresholds = [mu + gap for mu in least.values()]

        def tell(done: int, of: int) -> None:
            counted = before + len(children) * done // of
            self._tell("counting parent sets again", counted, len(self.names), "variables")

        workers.check()  # when the time is over already, nothing is counted
        tell(0, 1)
        self.families, found = count_below(component.first, thresholds, children, self.names, source, workers, tell)
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


def count_below(
    guide: Pass,
    thresholds: Sequence[int],
    children: Sequence[int],
    names: Sequence[str],
    source: FamilySource,
    workers: Workers,
    tell: Tell = untold,
) -> tuple[Families, list[int]]:
    """The families of some children with c' by these multipliers below the threshold of each, in units, counted again,
    with costs rounded down to units; and the smallest c' of each, the threshold if there are none. Raises Stopped and
    TooMuch."""
    if max(map(abs, thresholds)) > MOST_UNITS:
        raise TooMuch(BEYOND)
    cuts = cuts_of(guide, names)
    counted = source.below(dict(zip(children, thresholds, strict=True)), cuts, tell)
    families = Families.joined(children, ((own.varsets, floors_of(own.costs)) for own in counted))
    shown = families.shown(cuts, workers)
    own = families.kept(shown.reduced < families.by_child(np.array(thresholds, np.int64)))
    return own, list(map(min, shown.least.tolist(), thresholds))


def family_source(
    problem: Data | LocalScores, claim: ClaimedResult, demands: Demands, workers: Workers, every: bool = False
) -> FamilySource:
    """The families that are as demanded: as scores list them, or counted again by the score of the claim; every: also
    those that a subset beats, of data. Raises Stopped and TooMuch as the modules that do it."""
    if isinstance(problem, LocalScores):
        return ListedFamilies(problem, demands)
    if isinstance(problem, Numbers):
        return families_by_regressions(problem, demands, workers, every)
    return families_of_data(problem, claim.score, claim.ess, demands, workers, every)
