"""The families of a child that matter to a bound, by conditional Gaussian BIC: columns of states and of numbers.

Children of states have parents of states, and are counted as `data_families` counts by MDL. A child of numbers with
parents D of states and C of numbers costs, in nats,

    sum over the configurations j of D of n_j / 2 (ln(2 pi RSS_j / n_j) + 1) + ln N / 2 q (|C| + 2),

RSS_j being the squares that a regression on C with an intercept leaves in the n_j records of j, and q the product of
the arities of D. RSS_j never rises with C. So a set C with any of the candidates behind it costs at least what all of
them leave, and the price of C alone. C and these supersets are left out if that is not below

1. the cost of a family whose parents are some of D + C, which takes their place, or 2. the threshold and what is taken
from D + C: no more is taken from a superset.

D is left out with all that have more parents of states where a configuration has fewer than two records, where it
divides the records as some of D do (these cost less with any C), or where the price with the least misfit that there
can be is not below these. A subset may have to cost less by some lead; none does by an infinite one.

A family is singular if, in some configuration, the others of C and the child leave one of them a mean square of less
than SINGULAR of its variance over all records; so are all that have more parents: with parts of a configuration, or
more columns, no mean square is larger than the least that there is now. They are left out; what all candidates leave
where they are singular is SINGULAR of the variance of the child.

How far a cost may be off: as `regression_families` has it. The columns of a configuration, less the first record, less
the mean, are made a triangle by rotations; these coordinates are those of columns that are off by e of their length.
With 1 / s for the root of the sum, over the members, of the square of a column times that of its row of the inverse of
the triangle, what is left is off by at most t = e sqrt(members) / s of its length; as much again for the kernel's own
rounding. So a cost is off by 2 t N at most, t being less than OFF. Where it is not, columns nearly determine each
other; nothing is checked if such a family may matter.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.knowledge import NOTHING, Knowledge
from extbnsl.data import Mixed
from extbnsl.kernels.varsets import as_varsets, pack, words
from extbnsl.machine.workers import Workers, chunks
from extbnsl.verify.both_search import COARSE, FULL, BothChild, both_frames, search_both
from extbnsl.verify.certificate import TooMuch
from extbnsl.verify.data_families import families_of_data
from extbnsl.verify.demands import Demands
from extbnsl.verify.families import (
    FLOAT_ERROR,
    MOST_FAMILIES,
    FamilySource,
    RecountedFamilies,
    Taken,
    Tell,
    members_of,
    taken_by,
)
from extbnsl.verify.passes import WeightedCuts
from extbnsl.verify.regression_families import triangle
from extbnsl.verify.rescoring import SINGULAR, Scored, first_of_past, parameter_cost, with_errors

OFF = 1e-9  # of the length of what is left: what rounding may come to
ROOM = 1 << 12  # families of a search
MOST_DIVISIONS = 1 << 18  # sets of parents of states
UNCHECKABLE = f"columns of the data determine each other so nearly that rounding may hide {OFF:g} of what is left"
AT_ONCE = 16  # of them in a task


@dataclass(frozen=True, eq=False)
class _Division:
    """The records as some variables of states divide them: members, ascending; which (N,): the number of the
    configuration of each record, from 0 without gaps; joint: how many there might be; alone (n,): what a family of each
    child of numbers costs that has these parents alone, infinity where it is singular."""

    members: tuple[int, ...]
    which: NDArray[np.int64]
    joint: float
    alone: NDArray[np.float64]


@dataclass(frozen=True)
class _Both(FamilySource):
    """The data, numbers as columns of mean 0 and variance 1 (N, n), of which the squares of errors (n,) are a part;
    logs (n,): ln of their standard deviations; price: of a parameter, in nats."""

    data: Mixed
    demands: Demands
    workers: Workers
    claim: Scored
    leads: NDArray[np.float64]
    columns: NDArray[np.float64]
    errors: NDArray[np.float64]
    logs: NDArray[np.float64]
    price: float

    def own(self, child: int) -> float:
        """What a family costs that leaves all of a child, without prices."""
        return self.data.records * ((math.log(2.0 * math.pi) + 1.0) / 2.0 + float(self.logs[child]))

    def scale(self, child: int) -> float:
        records = self.data.records
        most = abs(float(self.logs[child])) + math.log(2.0 * math.pi) + 2.0 - math.log(SINGULAR)
        return records * (most + math.log(records)) + self.price * records

    def error(self, child: int) -> float:
        return self.data.records * 2.0 * OFF + 64.0 * FLOAT_ERROR * self.scale(child)

    @property
    def all_beaten(self) -> bool:
        """Whether any subset that costs no more takes the place of a family, of all children."""
        return not self.leads.any()

    def below(self, thresholds: Mapping[int, int], cuts: WeightedCuts, tell: Tell) -> list[RecountedFamilies]:
        past, alone = first_of_past(self.data), np.zeros((1, words(self.data.variables)), np.uint64)
        found = {child: RecountedFamilies(alone, np.zeros(1)) for child in thresholds if child >= past}
        states = [child for child in thresholds if self.data.states[child] and child < past]
        numbers = {x: most for x, most in thresholds.items() if not self.data.states[x] and x < past}
        found |= zip(states, self._of_states({x: thresholds[x] for x in states}, cuts), strict=True)
        tell(len(found), len(thresholds))
        if numbers:
            found |= self._of_numbers(numbers, cuts)
        return [found[child] for child in thresholds]

    def _of_states(self, thresholds: Mapping[int, int], cuts: WeightedCuts) -> list[RecountedFamilies]:
        """Those of children of states, by the columns of states alone."""
        if not thresholds:
            return []
        places = [v for v, own in enumerate(self.data.states) if own]
        at = {v: i for i, v in enumerate(places)}
        demands = Demands(
            tuple(frozenset(at[p] for p in self.demands.may[v] if p in at) for v in places),
            tuple(frozenset(at[p] for p in self.demands.must[v] if p in at) for v in places),
            tuple(min(self.demands.most[v], len(places) - 1) for v in places),
        )
        n = self.data.variables
        masks = as_varsets(members_of(cuts.cuts, n)[..., places].reshape(-1, len(places)))
        own = replace(cuts, cuts=masks.reshape(*cuts.cuts.shape[:2], words(len(places))))
        as_mdl = _AsMDL(self.price)
        source = families_of_data(self.data.discrete(), as_mdl, demands, self.workers, self.leads[places])
        found = source.below({at[v]: most for v, most in thresholds.items()}, own, lambda done, of: None)
        wide = list[RecountedFamilies]()
        for child, one in zip(thresholds, found, strict=True):
            if any(p not in at for p in self.demands.must[child]):  # it has no family
                one = RecountedFamilies(one.varsets[:0], one.costs[:0])
            rows = np.zeros((len(one.varsets), n), np.bool_)
            rows[:, places] = members_of(one.varsets, len(places))
            wide.append(RecountedFamilies(as_varsets(rows), one.costs))
        return wide

    def _of_numbers(self, thresholds: Mapping[int, int], cuts: WeightedCuts) -> dict[int, RecountedFamilies]:
        taken = taken_by(cuts, self.data.variables)
        divisions = list(self._divisions(sorted(thresholds)))
        cheapest = _cheapest_within(divisions)
        given = ((division, cheapest[division.members]) for division in divisions)
        listed = list(given)
        tasks = ((self, listed[lo:hi], dict(thresholds), taken) for lo, hi in chunks(len(listed), AT_ONCE))
        parts = dict[int, list[RecountedFamilies]]((child, []) for child in thresholds)
        total = 0
        for found in self.workers.stream(_search, tasks, 2 * self.workers.threads, lambda result: None):
            for child, own in found:
                parts[child].append(own)
                total += own.costs.size
            if total > MOST_FAMILIES:
                raise TooMuch(f"more than {MOST_FAMILIES:,} parent sets of columns of numbers matter to it")
        nothing = RecountedFamilies(np.empty((0, words(self.data.variables)), np.uint64), np.empty(0))
        return {
            child: RecountedFamilies(*map(np.concatenate, zip(*(own or [nothing]), strict=True)))
            for child, own in parts.items()
        }

    def _divisions(self, children: list[int]) -> Iterator[_Division]:
        """All sets of parents of states that matter to some child, depth first, smaller ones before their supersets."""
        discrete = [v for v, own in enumerate(self.data.states) if own]
        must = {v for child in children for v in self.demands.must[child]}
        records, n = self.data.records, self.data.variables
        first = _Division((), np.zeros(records, np.int64), 1.0, self._alone(np.zeros(records, np.int64), 1.0, n))
        waiting, count = [(first, 0)], 0
        while waiting:
            division, at = waiting.pop()
            self.workers.check()
            count += 1
            if count > MOST_DIVISIONS:
                raise TooMuch(f"more than {MOST_DIVISIONS:,} sets of parents of states matter to it")
            yield division
            for place in range(len(discrete) - 1, at - 1, -1):
                v = discrete[place]
                if len(division.members) == max(self.demands.most[child] for child in children):
                    break
                joint = division.joint * len(self.data.states[v])
                which = np.unique(
                    division.which * len(self.data.states[v]) + self.data.codes[:, v], return_inverse=True
                )[1].reshape(-1)
                counts = np.bincount(which)
                idle = counts.size == int(division.which.max()) + 1 and v not in must and self.all_beaten
                if counts.min() < 2 or idle or self._is_dear(joint, children):
                    continue
                alone = self._alone(which, joint, n)
                waiting.append((_Division((*division.members, v), which, joint, alone), place + 1))

    def _is_dear(self, joint: float, children: list[int]) -> bool:
        """Whether no family with so many configurations can win against one without parents."""
        if not self.all_beaten or any(self.demands.must[child] for child in children):
            return False
        least = self.data.records * math.log(SINGULAR) / 2.0
        return least + self.price * 2.0 * (joint - 1.0) >= 1.0

    def _alone(self, which: NDArray[np.int64], joint: float, n: int) -> NDArray[np.float64]:
        """What families without parents of numbers cost, (n,), infinity where they are singular."""
        counts = np.bincount(which)
        found = np.full(n, math.inf)
        for child in (v for v in range(n) if not self.data.states[v]):
            column = self.columns[:, child]
            centred = column - (np.bincount(which, column) / counts)[which]
            squares = np.bincount(which, centred**2) / counts + self.errors[child] ** 2
            if counts.min() > 1 and squares.min() >= SINGULAR * (1.0 + 1e-3):
                misfit = math.fsum((counts / 2.0 * np.log(squares)).tolist())
                found[child] = self.own(child) + misfit + self.price * 2.0 * joint + 1e-9 * len(column)
        return found


def _cheapest_within(divisions: list[_Division]) -> dict[tuple[int, ...], NDArray[np.float64]]:
    """Of each division, what the best family costs that has fewer of these parents and none of numbers, (n,)."""
    best, strictly = dict[tuple[int, ...], NDArray[np.float64]](), dict[tuple[int, ...], NDArray[np.float64]]()
    for division in sorted(divisions, key=lambda one: len(one.members)):
        fewer = [division.members[:i] + division.members[i + 1 :] for i in range(len(division.members))]
        below = [best[m] for m in fewer if m in best]
        strictly[division.members] = np.min(below, axis=0) if below else np.full_like(division.alone, math.inf)
        best[division.members] = np.minimum(strictly[division.members], division.alone)
    return strictly


@dataclass(frozen=True)
class _AsMDL:
    """What is claimed of children of states: MDL, a parameter having this price."""

    penalty: float | None
    score: str = "mdl"
    ess: float | None = None
    gamma: float | None = None
    parent_cost: float = 0.0
    knowledge: Knowledge = NOTHING


def families_of_both(
    data: Mixed,
    claim: Scored,
    demands: Demands,
    workers: Workers,
    leads: NDArray[np.float64],
    priced: int | None = None,
) -> _Both:
    """What counts families of columns of both kinds; leads, priced: as of `families_of_data`. `below` raises Stopped
    when the workers halt, and TooMuch for too many families or sets of parents of states."""
    columns = data.values - data.values[:1]
    columns, errors = columns - columns.mean(axis=0), np.array(data.resolution or [0.0] * data.variables)
    deviations = np.sqrt((columns**2).mean(axis=0) + errors**2)
    numbers = np.array([not own for own in data.states], np.bool_)
    deviations[~numbers | (deviations == 0.0)] = 1.0  # of columns that never vary families are singular
    price = parameter_cost(claim, priced or data.records)
    columns, errors = columns / deviations, errors / deviations
    return _Both(data, demands, workers, claim, leads, columns, errors, np.log(deviations), price)


def _search(
    problem: _Both,
    divisions: list[tuple[_Division, NDArray[np.float64]]],
    thresholds: dict[int, int],
    taken: Taken,
) -> list[tuple[int, RecountedFamilies]]:
    """The families of children of numbers with these parents of states."""
    found = list[tuple[int, RecountedFamilies]]()
    for division, cheapest in divisions:
        own = [child for child in thresholds if _has(problem.demands, child, division.members, problem.data)]
        if not own:
            continue
        vectors, errors = _vectors(problem, division)
        for child in own:
            part = _of_child(problem, division, child, thresholds[child], taken, (vectors, errors, cheapest))
            if part.costs.size:
                found.append((child, part))
    return found


def _has(demands: Demands, child: int, members: tuple[int, ...], data: Mixed) -> bool:
    """Whether a child may have these parents of states, and no others."""
    must = {v for v in demands.must[child] if data.states[v]}
    return must <= set(members) <= demands.may[child] and len(members) <= demands.most[child]


def _vectors(problem: _Both, division: _Division) -> tuple[NDArray[np.float64], float]:
    """The columns of numbers in coordinates in each configuration, (q, n, m), one a row, of m columns of numbers; and
    what they are off, a part of their length."""
    numbers = [v for v, own in enumerate(problem.data.states) if not own]
    counts = np.bincount(division.which)
    vectors, worst = np.zeros((counts.size, problem.data.variables, len(numbers))), 0.0
    for j, rows in enumerate(np.split(np.argsort(division.which, kind="stable"), np.cumsum(counts)[:-1])):
        apart = problem.columns[rows][:, numbers]
        apart = apart - apart[:1]
        centred = apart - np.array([math.fsum(own.tolist()) / len(rows) for own in apart.T])
        centred = with_errors(centred, problem.errors[numbers].tolist() if problem.errors.any() else [])
        lengths, before = np.sqrt((centred**2).sum(axis=0)), np.sqrt((apart**2).sum(axis=0))
        coordinates, stages = triangle(centred, problem.workers)
        vectors[j, numbers] = coordinates.T / math.sqrt(len(rows))
        spread = float((before / np.where(lengths > 0.0, lengths, 1.0)).max())
        worst = max(worst, (8.0 * spread + 10.0 * (stages + 3 * len(numbers))) * FLOAT_ERROR)
    return vectors, worst


def _of_child(
    problem: _Both,
    division: _Division,
    child: int,
    threshold: int,
    taken: Taken,
    known: tuple[NDArray[np.float64], float, NDArray[np.float64]],
) -> RecountedFamilies:
    """All families of one child that matter with these parents of states."""
    vectors, error, cheapest = known
    demands, data = problem.demands, problem.data
    base = sorted(v for v in demands.must[child] if not data.states[v])
    candidates = sorted(v for v in demands.may[child] - demands.must[child] if not data.states[v])
    counts, own, n = np.bincount(division.which), taken.of(child), data.variables
    told = np.abs(np.einsum("jvi,ji->jv", vectors, vectors[:, child]) * counts[:, None]).sum(axis=0)
    candidates.sort(key=lambda v: -float(told[v]))
    depth = min(demands.most[child] - len(division.members) - len(base), len(candidates), int(counts.min()) - 2)
    if depth < 0:
        return RecountedFamilies(np.empty((0, words(n)), np.uint64), np.empty(0))
    chosen = [*base, *candidates, child]
    lead = problem.margin(child) + float(problem.leads[child])
    step = problem.price * division.joint
    asked = BothChild(
        counts=counts,
        own=problem.own(child) + 2.0 * step,
        price=step,
        base=len(base),
        margin=problem.margin(child),
        lead=lead,
        threshold=threshold,
        depth=depth,
        cheapest=math.inf if demands.must[child] else float(cheapest[child]) + lead,
        least=SINGULAR,
        error=2.0 * error,
        most=OFF,
        candidates=np.array(chosen[:-1], np.int64),
        hits=members_of(own.clusters, n)[:, candidates].reshape(own.multipliers.size, len(candidates)),
        multipliers=own.multipliers,
    )
    first = pack((*division.members, *base), n)
    apart: NDArray[np.bool_] = np.logical_not((own.clusters & first).any(axis=1))
    own_vectors = np.ascontiguousarray(vectors[:, chosen])
    room = ROOM
    while True:
        found = np.empty((room, words(n)), np.uint64), np.empty(room)
        written = int(search_both(asked, both_frames(asked, own_vectors, apart), problem.workers.halt, first, *found))
        if written == COARSE:
            raise TooMuch(UNCHECKABLE)
        if written != FULL:
            return RecountedFamilies(found[0][:written].copy(), found[1][:written].copy())
        room *= 8
