"""An independent check of a certificate: every family that matters is counted again, and all sums are exact.

It shares no code with the counting, the costs and the bounds of the solver. Costs are rounded down to whole units; from
there on all is in integers. For each child X of a component, all families with c'(X, P) < mu_X + target - root are
collected, by the claimed mu and root of the first pass, but for some that others take the place of: see `families`.
The minima of c' found must not be below those that the certificate claims. The passes then run on the collected
families, with the minima found: the others are in no network below the target.

The target is the claimed lower bound less what costs may be off by rounding, which follows from the data alone.
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import njit
from extbnsl.kernels.varsets import pack, words
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.verify.certificate import CertifiedComponent, Pass, bound_of
from extbnsl.verify.families import FamilySource, Taken
from extbnsl.verify.units import BEYOND, MOST_UNITS, TooMuch, ceil_units, floor_units, floors_of, nats_of

FARTHEST = (1 << 63) - 1  # what int64 holds


@dataclass(frozen=True)
class Recount:
    """What became of one component's proof.

    findings: sentences, one for each claim that does not hold. why: for which reason the check was given up, a stop
    reason or a clause, and unchecked: the children that were not counted then.
    """

    findings: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()
    why: str = ""

    @property
    def proved(self) -> bool:
        """Whether no network has families of these children below the lower bound, but for the rounding of costs."""
        return not self.findings and not self.why


@dataclass(frozen=True)
class _Found:
    """Families of one child: varsets (m, words) and costs (m,), whole units."""

    varsets: NDArray[np.uint64]
    costs: NDArray[np.int64]

    def reduced(self, taken: Taken) -> NDArray[np.int64]:
        """c' of each, in units: exact."""
        return self.costs - _disjoint_sum(self.varsets, taken.clusters, taken.multipliers)

    def kept(self, which: NDArray[np.bool_]) -> "_Found":
        return _Found(self.varsets[which], self.costs[which])


def check_component(
    component: CertifiedComponent,
    names: Sequence[str],
    source: FamilySource,
    workers: Workers,
    tell: Callable[[int], None] = lambda done: None,
) -> Recount:
    """Run the passes of a component with a proof by clusters, well formed as `read_certificate` makes sure.

    `names` are all variables, in the order of varsets. `source` is asked once for each child. When the workers' stop
    signal comes, the children that were not finished are unchecked. `tell` hears how many children are counted.
    """
    slack = {name: ceil_units(source.rounding(names.index(name))) for name in component.variables}
    target = floor_units(component.lower_bound) - sum(slack.values())
    least = {name: component.least[name] - slack[name] for name in component.variables}
    gap = max(target - bound_of(component.passes[0], least), 0)
    thresholds = {name: mu + gap for name, mu in least.items()}
    found: dict[str, _Found] = {}

    def count(name: str) -> None:
        taken = taken_by(component.passes[0], names.index(name), names)
        varsets, costs = source.below(names.index(name), thresholds[name], taken)
        families = _Found(varsets, floors_of(costs))
        found[name] = families.kept(families.reduced(taken) < thresholds[name])

    try:
        if max(map(abs, thresholds.values())) > MOST_UNITS:
            raise TooMuch(BEYOND)
        workers.check()  # when the time is over already, nothing is counted
        children = ((name,) for name in component.variables)
        for done, _ in enumerate(workers.stream(count, children, 2 * workers.threads, lambda result: None), 1):
            tell(done)
    except (Stopped, TooMuch) as stop:
        left = tuple(name for name in component.variables if name not in found)
        return Recount(unchecked=left, why=reason_of(stop))
    return _run_passes(component, names, found, thresholds, slack)


def reason_of(stop: Stopped | TooMuch) -> str:
    """Why a check was given up: a stop reason, or a clause."""
    return stop.reason if isinstance(stop, Stopped) else str(stop)


def _run_passes(
    component: CertifiedComponent,
    names: Sequence[str],
    found: dict[str, _Found],
    thresholds: Mapping[str, int],
    slack: Mapping[str, int],
) -> Recount:
    """The passes on the families found in the first; all others have a c' of at least the threshold there.

    With no minimum below the claimed one, a threshold is at least its minimum and what the target is above the root:
    the others are in no network below the target.
    """
    target = floor_units(component.lower_bound) - sum(slack.values())
    root = 0
    for number, one in enumerate(component.passes):
        reduced = {name: own.reduced(taken_by(one, names.index(name), names)) for name, own in found.items()}
        if number == 0:
            least = {name: int(values.min(initial=thresholds[name])) for name, values in reduced.items()}
            if wrong := _overstated(component, least, slack):
                return Recount(wrong)
        else:
            least = {name: int(values.min()) for name, values in reduced.items()}
        root = bound_of(one, least)
        if root >= target:
            return Recount()
        for name, values in reduced.items():
            beyond = least[name] + target - root  # a network with such a family reaches the target
            found[name] = found[name].kept(values < min(beyond, FARTHEST))
        if not all(own.costs.size for own in found.values()):
            return Recount()
    return Recount(
        (
            f"The certificate does not prove the component of {component.variables[0]!r}: its cuts show that it "
            f"costs at least {nats_of(root)!r}, but the claim is {component.lower_bound!r}.",
        )
    )


def _overstated(component: CertifiedComponent, least: Mapping[str, int], slack: Mapping[str, int]) -> tuple[str, ...]:
    """Sentences about the minima of the first pass that are below those claimed, by more than costs may be off."""
    return tuple(
        f"The certificate says that the reduced cost of {name!r} is at least {nats_of(component.least[name])!r}, "
        f"but it is {nats_of(mu)!r}."
        for name, mu in least.items()
        if mu < component.least[name] - slack[name]
    )


def taken_by(one: Pass, child: int, names: Sequence[str]) -> Taken:
    """What the cuts of a pass take from the costs of a child's families, as multipliers of either sign.

    A family that counts for k of the clusters that hold the child has ceil(k / 2) taken, k - pairs + 2 triples among
    them; it counts for two if its parents are disjoint from their union.
    """
    place = {name: i for i, name in enumerate(names)}
    rows, multipliers = [], []
    for cut, multiplier in zip(one.cuts, one.multipliers, strict=True):
        own = [pack((place[name] for name in cluster), len(names)) for cluster in cut if names[child] in cluster]
        for size in range(1, len(own) + 1):
            rows += [np.bitwise_or.reduce(some) for some in itertools.combinations(own, size)]
            multipliers += [multiplier * (1, -1, 2)[size - 1]] * math.comb(len(own), size)
    return Taken(np.array(rows, np.uint64).reshape(-1, words(len(names))), np.array(multipliers, np.int64))


@njit
def _disjoint_sum(varsets, clusters, multipliers):
    """For each of the varsets (m, words) the multipliers of the clusters (k, words) disjoint from it: int64 (m,)."""
    total = np.zeros(varsets.shape[0], np.int64)
    for j in range(total.size):
        for c in range(multipliers.size):
            common = u64(0)
            for w in range(varsets.shape[1]):
                common |= varsets[j, w] & clusters[c, w]
            if not common:
                total[j] += multipliers[c]
    return total
