"""An independent check of a certificate: every family that matters is counted again from the data.

It shares no code with the counting, the costs and the bounds of the solver. For each child X of a component, all
families with c'(X, P) < mu_X + limit - root are collected, by the claimed mu and root of the first pass, but for some
that others take the place of: see extbnsl/recount_families.py. The minima of c' found must not be below those that the
certificate claims. The passes then run on the collected families, with the minima found: the others are in no network
below the limit.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import njit
from extbnsl.kernels.varsets import pack, sizes, words
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.scores.local import LocalScores
from extbnsl.verify.certificate import CertifiedComponent, Pass, bound_of
from extbnsl.verify.families import Families, FamiliesBelow, Taken


@dataclass(frozen=True)
class Recount:
    """What became of one component's proof.

    findings: sentences, one for each claim that does not hold. unchecked: the children that were not finished when the
    check was stopped. root: the bound in nats that was reached, nan before any.
    """

    findings: tuple[str, ...]
    unchecked: tuple[str, ...]
    root: float

    @property
    def proved(self) -> bool:
        """Whether no network has families of these children below the limit, but for `rounding`."""
        return not self.findings and not self.unchecked


def rounding(component: CertifiedComponent) -> float:
    """What sums of costs may be off, in nats: a bound this far below the limit proves, a minimum a tenth of it below
    the claimed one does not refute."""
    return 1e-6 + 1e-11 * abs(component.upper_bound)


def check_component(
    component: CertifiedComponent, names: Sequence[str], families_below: FamiliesBelow, workers: Workers
) -> Recount:
    """Run the passes of a component with a proof by clusters, well formed as `read_certificate` makes sure.

    `names` are all variables, in the order of varsets.

    `families_below` is asked once for each child. When the workers' stop signal comes, the children that were not
    finished are unchecked.
    """
    children = [names.index(name) for name in component.variables]
    slack = rounding(component)
    first = component.passes[0]
    gap = max(component.limit - first.root, 0.0)
    found: dict[str, Families] = {}

    def count(child: int) -> None:
        name = names[child]
        # the minima may all be a little below those claimed, which raises what a cheaper network can afford
        threshold = first.least[name] + gap + slack * (1 + len(children))
        taken = taken_by(first, child, names)
        varsets, costs = families_below(child, threshold, taken)
        below = _reduced(varsets, costs, taken) < threshold
        found[name] = varsets[below], costs[below]

    try:
        workers.map(count, [(child,) for child in children])
    except Stopped:
        return Recount((), tuple(name for name in component.variables if name not in found), math.nan)
    return _run_passes(component, names, found, gap)


def _run_passes(component: CertifiedComponent, names: Sequence[str], found: dict[str, Families], gap: float) -> Recount:
    """The passes on the families found in the first; all others have a c' of at least the claimed mu + gap there."""
    slack = rounding(component)
    root = -math.inf
    for number, one in enumerate(component.passes):
        reduced, least, wrong = {}, {}, []
        for name, (varsets, costs) in found.items():
            taken = taken_by(one, names.index(name), names)
            reduced[name] = _reduced(varsets, costs, taken)
            beyond = one.least[name] + gap if number == 0 else math.inf
            least[name] = float(reduced[name].min(initial=beyond))
            if least[name] < one.least[name] - slack / 10:
                wrong.append(
                    f"The certificate says that in pass {number + 1} the reduced cost of {name!r} is at least "
                    f"{one.least[name]!r}, but it is {least[name]!r}."
                )
        if wrong:
            return Recount(tuple(wrong), (), root)
        root = bound_of(one, least)
        if root >= component.limit - slack:
            return Recount((), (), root)
        for name, (varsets, costs) in found.items():
            keep = root + reduced[name] - least[name] < component.limit - slack
            found[name] = varsets[keep], costs[keep]
        if not all(costs.size for _, costs in found.values()):
            return Recount((), (), component.limit)
    return Recount(
        (
            f"The certificate does not prove the component of {component.variables[0]!r}: its cuts show that it "
            f"costs at least {root!r}, but the claim is {component.limit!r}.",
        ),
        (),
        root,
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
            multipliers += [multiplier * (1.0, -1.0, 2.0)[size - 1]] * math.comb(len(own), size)
    return Taken(np.array(rows, np.uint64).reshape(-1, words(len(names))), np.array(multipliers, np.float64))


def families_of_scores(scores: LocalScores, max_parents: int | None) -> FamiliesBelow:
    """What asks local scores: all families that they list within the limit, whatever the threshold."""
    most = scores.variables if max_parents is None else max_parents

    def listed(child: int, threshold: float, taken: Taken) -> Families:
        small = sizes(scores.parents[child]) <= most
        return scores.parents[child][small], scores.costs[child][small]

    return listed


def _reduced(varsets: NDArray[np.uint64], costs: NDArray[np.float64], taken: Taken) -> NDArray[np.float64]:
    """c' of families of one child, of whose costs the cuts take that much."""
    return costs - _disjoint_sum(varsets, taken.clusters, taken.multipliers)


@njit
def _disjoint_sum(varsets, clusters, multipliers):
    """For each of the varsets (m, words) the multipliers of the clusters (k, words) disjoint from it: float64 (m,)."""
    total = np.zeros(varsets.shape[0])
    for j in range(total.size):
        for c in range(multipliers.size):
            common = u64(0)
            for w in range(varsets.shape[1]):
                common |= varsets[j, w] & clusters[c, w]
            if not common:
                total[j] += multipliers[c]
    return total
