"""What a ranked list says of networks that it does not list: that they cost more, how many there are, what they weigh.

Of a few variables every network that costs little is looked at, and the weight of all is added up. A claim that takes
more than that is left as it is, and told.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from extbnsl.claims import OPTIMAL, tolerance
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.verify.all_networks import MOST_VARIABLES, cost_table, log_weight
from extbnsl.verify.complete import CheapNetwork, networks_within
from extbnsl.verify.listed import Listed, Sentences
from extbnsl.verify.ranked import ListCheck
from extbnsl.verify.recount import reason_of
from extbnsl.verify.structures import class_key
from extbnsl.verify.summary import Summary
from extbnsl.verify.unchecked import COUNT, MISSING, OF_ALL, SHARES, Unchecked
from extbnsl.verify.units import TooMuch

ROUNDED = 2e-3  # what the share of the weight of all networks may be off, relatively: the solver's may be half of it
ADDED = 1e-6  # what a share may be off that was added up without a list
TOO_MANY = f"it has more than {MOST_VARIABLES} variables"


@dataclass(frozen=True)
class Others:
    """findings: sentences about claims that do not hold; checked: those that do, of MISSING, COUNT, SHARES and OF_ALL;
    unchecked: those that were left."""

    findings: tuple[str, ...] = ()
    checked: tuple[str, ...] = ()
    unchecked: tuple[Unchecked, ...] = ()


def check_others(check: ListCheck, workers: Workers) -> Others:
    """Check what is said of networks that are not listed, as far as there is anything, of a list that holds."""
    listed, summary = check.listed, check.summary
    assert listed is not None, "it holds"
    assert summary is not None, "it holds"
    claimed = tuple(_claims(listed, summary))
    if not claimed or len(listed.claim.variables) > MOST_VARIABLES:
        return Others(unchecked=tuple(Unchecked(what, TOO_MANY) for what in claimed))
    try:
        table = cost_table(listed.problem, listed.claim, listed.demands, workers)
    except Stopped as stop:
        return Others(unchecked=tuple(Unchecked(what, stop.reason) for what in claimed))
    looked = _Looked(listed, summary, table, workers)
    findings, checked, unchecked = list[str](), list[str](), list[Unchecked]()
    for what in claimed:
        try:
            found = list(_CHECKS[what](looked))
        except (Stopped, TooMuch) as stop:
            unchecked.append(Unchecked(what, reason_of(stop)))
        else:
            findings += found
            checked += [] if found else [what]
    return Others(tuple(findings), tuple(checked), tuple(unchecked))


def _claims(listed: Listed, summary: Summary) -> Iterator[str]:
    """What the result says of networks that it does not list."""
    if listed.claim.status == OPTIMAL or summary.within is not None:
        yield MISSING
        if summary.in_all is not None:
            yield COUNT
        if summary.tallied or summary.asked.classes:
            yield SHARES
    if summary.of_all is not None:
        yield OF_ALL


@dataclass(frozen=True)
class _Tally:
    """What networks add up to: how many, or how many classes; their weight, that of the first of the list being 1, by
    class, by (parent, child), and in all."""

    number: int
    classes: dict[int, float]
    arcs: NDArray[np.float64]
    weight: float


@dataclass(frozen=True)
class _Looked:
    """A list, and what its families and all others cost."""

    listed: Listed
    summary: Summary
    table: NDArray[np.float64]
    workers: Workers

    @property
    def near(self) -> float:
        """Networks whose costs differ by less may be on either side of a limit, in nats."""
        return 2.0 * tolerance(self.listed.costs[-1])

    @property
    def limit(self) -> float:
        """What the networks that were found cost at most, in nats."""
        return math.inf if self.summary.within is None else self.listed.costs[0] + self.summary.within

    @cached_property
    def tallies(self) -> tuple[_Tally, _Tally]:
        """What the networks that were found add up to: those that certainly were, and those that may have been."""
        found = sorted(networks_within(self.table, self.limit + self.near, self.workers), key=lambda one: one.cost)
        certain = [one for one in found if one.cost <= self.limit - self.near]
        return self._tally(certain), self._tally(found)

    def _tally(self, networks: Sequence[CheapNetwork]) -> _Tally:
        """What these add up to; of classes, those of the classes that are listed."""
        of_classes, n = self.summary.asked.classes, len(self.table)
        classes, arcs, every = dict[int, float](), np.zeros((n, n)), set[bytes]()
        weights = list[float]()
        for one in networks:
            number = self.listed.class_number(one.families) if of_classes else 0
            every.add(class_key(one.families) if of_classes else b"")
            if number is None:
                continue
            weights.append(math.exp(min(0.0, self.listed.costs[0] - one.cost)))
            classes[number] = classes.get(number, 0.0) + weights[-1]
            for child, family in enumerate(one.families):
                for parent in range(n):
                    arcs[parent, child] += weights[-1] * (family.parents >> parent & 1)
        return _Tally(len(every) if of_classes else len(weights), classes, arcs, math.fsum(weights))


def _missing_findings(looked: _Looked) -> Iterator[str]:
    """A sentence about networks that cost less than the last and are not listed."""
    listed, costs = looked.listed, looked.listed.costs
    limit = costs[-1] - tolerance(costs[-1])
    missing = [
        one.cost
        for one in networks_within(looked.table, limit, looked.workers)
        if one.cost < limit and not listed.is_listed(one.families, one.cost, looked.summary.asked.classes)
    ]
    if missing:
        yield (
            f"Of the networks that cost less than the last one, {len(missing):,} are not listed; the best of them "
            f"costs {min(missing)!r}."
        )


def _count_findings(looked: _Looked) -> Iterator[str]:
    """A sentence if there are not as many networks, or classes, as it says."""
    least, most = (tally.number for tally in looked.tallies)
    said = looked.summary.in_all
    if said is not None and not least <= said <= most:
        within = looked.summary.within
        which = "" if within is None else f" that cost at most {within!r} nats more than the best"
        what = "equivalence classes" if looked.summary.asked.classes else "networks"
        yield f"The result says that there are {said:,} {what}{which}, but there are {most:,}."


def _share_findings(looked: _Looked) -> Iterator[str]:
    """Sentences about shares in what was found if they are neither those of what was found for certain nor those of
    what may have been."""
    either = [_wrong_shares(looked, tally).all() for tally in looked.tallies if tally.weight > 0.0]
    yield from min(either, key=len, default=())


def _wrong_shares(looked: _Looked, tally: _Tally) -> Sentences:
    """Sentences about shares of which these networks say something else."""
    listed, summary, said = looked.listed, looked.summary, Sentences("shares")
    if summary.asked.classes:
        for i, claimed in enumerate(listed.shares):
            true = tally.classes.get(i + 1, 0.0) / tally.weight
            if not _near(claimed, true):
                said.add([f"Class {i + 1:,} is said to have the share {claimed!r}, but its networks make it {true!r}."])
    elif not _near(summary.share, listed.weight / tally.weight):
        true = listed.weight / tally.weight
        said.add([f"The listed networks are said to have the share {summary.share!r}, but they have {true!r}."])
    names = listed.claim.variables
    for parent, child in np.ndindex(*tally.arcs.shape):
        claimed, true = summary.arcs.get((parent, child), 0.0), float(tally.arcs[parent, child]) / tally.weight
        if not _near(claimed, true):
            arc = f"The arc from {names[parent]!r} to {names[child]!r}"
            said.add([f"{arc} is said to have the share {claimed!r}, but the networks make it {true!r}."])
    return said


def _near(claimed: float, true: float) -> bool:
    return math.isclose(claimed, true, rel_tol=ADDED, abs_tol=1e-300)


def _findings_of_all(looked: _Looked) -> Iterator[str]:
    """A sentence if what was found has another share of the weight of all networks there are."""
    listed, summary = looked.listed, looked.summary
    weights = [listed.weight]
    if summary.tallied or summary.asked.classes:
        weights = [tally.weight for tally in looked.tallies if tally.weight > 0.0]
    in_all = log_weight(looked.table, looked.workers)
    shares = [min(1.0, math.exp(math.log(weight) - listed.costs[0] - in_all)) for weight in weights]
    claimed = summary.of_all
    if claimed is not None and not any(abs(share - claimed) <= ROUNDED * share for share in shares):
        yield (
            f"The networks that were found are said to have {claimed!r} of the weight of all networks there are, but "
            f"they have {shares[-1]!r}."
        )


_CHECKS = {MISSING: _missing_findings, COUNT: _count_findings, SHARES: _share_findings, OF_ALL: _findings_of_all}
