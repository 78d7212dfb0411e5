"""An independent check of a certificate: every family that matters is counted again from the data.

It shares no code with the counting, the costs and the bounds of the solver. For each child X of a component, all
parent sets P are enumerated depth first, and the families with c'(X, P) < mu_X + limit - root are collected, by the
claimed mu and root of the first pass. The minima of c' found must not be below those that the certificate claims. The
passes then run on the collected families, with the minima found: the others are in no network below the limit.

Parent sets are left out, with all their supersets Q or alone, if one of these holds; let states(P) be the product of
the arities in P, and the penalty of P = unit * states(P), unit = (r_X - 1) ln N / 2:

1. Some subset of Q costs no more than Q. A subset is disjoint from no fewer clusters, so in every pass its c' is no
   larger either: it takes the place of Q in every minimum, and goes only when Q can go. It has no more parents, so it
   is within any limit of their number. By induction over the size the sets that no subset beats suffice. Hence
   a. columns that are constant in the data are no parents: they add nothing but, perhaps, penalty;
   b. Q needs floor + penalty(Q) < cost of a subset, where floor = N H(X | all other variables) <= N H(X | Q);
   c. for Y in Q, N I(X; Y | Q - Y) must exceed the penalty that Y adds, unit * states(Q - Y) * (r_Y - 1). For P inside
      Q - Y, that is at least unit * states(P) * (r_Y - 1), while I(X; Y | Q - Y) <= min(H(X | Q - Y), H(Y | Q - Y)) in
      every cell of P (a joint state of P with its rows), so that N I is at most the sum over the cells of P of
      min(N H(X), N H(Y)) within the cell. If that does not exceed it, no Q that holds P and Y is needed.
2. c' of every superset is too high: floor + penalty(Q) - sum of lambda_C over the C with X that are disjoint from P is
   at least the threshold, for Q = P + Y. A superset has no smaller penalty and is disjoint from no more clusters.

A cell in which X has one state is dropped: it adds nothing to N H(X | Q), nor to 1c, for P inside Q.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extbnsl.certificate import CertifiedComponent, Pass
from extbnsl.data import Dataset
from extbnsl.kernels import njit, u64
from extbnsl.scores.local import LocalScores
from extbnsl.varsets import pack, sizes, words
from extbnsl.workers import Stopped, Workers

ROOM = 4096  # families that a search hands over at a time
MOST_FAMILIES = 20_000_000  # of a child
TIE = 1e-9  # nats: sets that are beaten by less than this are kept, against rounding

Families = tuple[NDArray[np.uint64], NDArray[np.float64]]  # varsets (m, words) and costs (m,) in nats


@dataclass(frozen=True)
class Cuts:
    """The clusters of one pass that hold a child, varsets (k, words) uint64, and their multipliers (k,) in nats."""

    clusters: NDArray[np.uint64]
    multipliers: NDArray[np.float64]


FamiliesBelow = Callable[[int, float, Cuts], Families]  # of a child: all that matter with c' below a threshold


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
        cuts = _cuts(first, child, names)
        varsets, costs = families_below(child, threshold, cuts)
        below = _reduced(varsets, costs, cuts.clusters, cuts.multipliers) < threshold
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
            cuts = _cuts(one, names.index(name), names)
            reduced[name] = _reduced(varsets, costs, cuts.clusters, cuts.multipliers)
            beyond = one.least[name] + gap if number == 0 else math.inf
            least[name] = float(reduced[name].min(initial=beyond))
            if least[name] < one.least[name] - slack / 10:
                wrong.append(
                    f"The certificate says that in pass {number + 1} the reduced cost of {name!r} is at least "
                    f"{one.least[name]!r}, but it is {least[name]!r}."
                )
        if wrong:
            return Recount(tuple(wrong), (), root)
        root = math.fsum((*one.multipliers, *least.values()))
        if root >= component.limit - slack:
            return Recount((), (), root)
        for name, (varsets, costs) in found.items():
            keep = root + reduced[name] - least[name] < component.limit - slack
            found[name] = varsets[keep], costs[keep]
        if not all(costs.size for _, costs in found.values()):
            return Recount((), (), component.limit)
    return Recount(
        (
            f"The certificate does not prove the component of {component.variables[0]!r}: its clusters show that it "
            f"costs at least {root!r}, but the claim is {component.limit!r}.",
        ),
        (),
        root,
    )


def _cuts(one: Pass, child: int, names: Sequence[str]) -> Cuts:
    """The clusters of a pass that hold a child."""
    place = {name: i for i, name in enumerate(names)}
    own = [i for i, cluster in enumerate(one.clusters) if names[child] in cluster]
    rows = [pack((place[name] for name in one.clusters[i]), len(names)) for i in own]
    return Cuts(
        np.array(rows, np.uint64).reshape(-1, words(len(names))),
        np.array([one.multipliers[i] for i in own], np.float64),
    )


def families_of_scores(scores: LocalScores, max_parents: int | None) -> FamiliesBelow:
    """What asks local scores: all families that they list within the limit, whatever the threshold."""
    most = scores.variables if max_parents is None else max_parents

    def listed(child: int, threshold: float, cuts: Cuts) -> Families:
        small = sizes(scores.parents[child]) <= most
        return scores.parents[child][small], scores.costs[child][small]

    return listed


def families_of_data(dataset: Dataset, max_parents: int | None, workers: Workers) -> FamiliesBelow:
    """What counts in the data: families below a threshold, all that matter under the argument of this module.

    Raises Stopped when the workers halt, or with the reason 'memory_limit' at MOST_FAMILIES. Time per parent set:
    about a nanosecond per row and 30 columns, and some per cell and candidate. Memory: rows times states of all
    columns.
    """
    rows, weights = np.unique(dataset.codes, axis=0, return_counts=True)
    counts = np.arange(dataset.records + 1, dtype=np.float64)
    mlogm = counts * np.log(np.maximum(counts, 1.0))
    problem = _Data(rows, weights.astype(np.int64), dataset.arities, mlogm, max_parents)
    return lambda child, threshold, cuts: _search_child(problem, child, threshold, cuts, workers)


@dataclass(frozen=True)
class _Data:
    """Distinct rows (d, n) with their weights (d,), declared arities (n,), m ln m for m up to the number of records."""

    rows: NDArray[np.uint16]
    weights: NDArray[np.int64]
    arities: NDArray[np.int64]
    mlogm: NDArray[np.float64]
    max_parents: int | None

    def misfit(self, child: int, parents: NDArray[np.int64]) -> float:
        """N H(child | parents) in nats."""
        of_group, of_cell = (self._weights(self.rows[:, columns]) for columns in (parents, np.append(parents, child)))
        return math.fsum(self.mlogm[of_group].tolist()) - math.fsum(self.mlogm[of_cell].tolist())

    def _weights(self, rows: NDArray[np.uint16]) -> NDArray[np.int64]:
        """How many records each of the distinct rows has."""
        if rows.shape[1] == 0:
            return self.weights.sum(keepdims=True)
        _, inverse = np.unique(rows, axis=0, return_inverse=True)
        return np.bincount(inverse.reshape(-1), self.weights).astype(np.int64)


def _search_child(data: _Data, child: int, threshold: float, cuts: Cuts, workers: Workers) -> Families:
    """All families of one child that matter, with c' below the threshold."""
    n = data.arities.size
    unit = math.log(data.mlogm.size - 1) / 2 * (int(data.arities[child]) - 1)
    varying = np.flatnonzero(data.rows.min(axis=0) != data.rows.max(axis=0))
    candidates = varying[varying != child]
    alone = data.misfit(child, candidates[:0]) + unit
    floor = max(0.0, data.misfit(child, candidates) - TIE)
    parts = [(np.zeros((1, words(n)), np.uint64), np.array([alone]))]
    depth = _depth(data, candidates, floor, unit, alone)
    if depth == 0:
        return parts[0]
    local = _local(data, child, candidates)
    frames = _frames(depth, local, cuts, child, alone, n)
    goal = (floor, threshold, unit, depth)
    room = ROOM + candidates.size
    out = varsets, costs = np.empty((room, words(n)), np.uint64), np.empty(room)
    hits = _hits(cuts, candidates), cuts.multipliers
    written, finished = 0, False
    while not finished:
        finished, count = _search(goal, local, hits, frames, data.mlogm, workers.halt, out)
        if workers.halt[0]:
            raise Stopped("time_limit")
        parts.append((varsets[:count].copy(), costs[:count].copy()))
        written += count
        if written > MOST_FAMILIES:
            raise Stopped("memory_limit")
    return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])


def _depth(data: _Data, candidates: NDArray[np.int64], floor: float, unit: float, alone: float) -> int:
    """How many parents a set has at most that the empty one does not beat."""
    states, depth = 1.0, 0
    most = candidates.size if data.max_parents is None else min(data.max_parents, candidates.size)
    for arity in np.sort(data.arities[candidates])[:most].tolist():
        states *= arity
        if floor + unit * states >= alone:
            break
        depth += 1
    return depth


def _local(data: _Data, child: int, candidates: NDArray[np.int64]) -> tuple:
    """The rows in the order of the child's states: codes (m, d) of the candidates, their states that occur one column
    each in columns (d, c), first column of each (m + 1,), weights and states of the child (d,), declared arities (m,),
    and the candidates (m,) themselves."""
    order = np.argsort(data.rows[:, child], kind="stable")
    rows, weights = data.rows[order], data.weights[order]
    codes = np.stack([np.unique(rows[:, y], return_inverse=True)[1].reshape(-1) for y in candidates]).astype(np.int32)
    first = np.concatenate(([0], np.cumsum(codes.max(axis=1) + 1))).astype(np.int64)
    columns = np.zeros((order.size, int(first[-1])), np.uint16 if data.mlogm.size <= 1 << 16 else np.uint32)
    for k, own in enumerate(codes):
        columns[np.arange(order.size), first[k] + own] = weights
    return codes, columns, first, weights, rows[:, child].astype(np.int64), data.arities[candidates] * 1.0, candidates


def _hits(cuts: Cuts, candidates: NDArray[np.int64]) -> NDArray[np.float64]:
    """The multiplier of each cluster that a candidate is in, 0 elsewhere: (k, m)."""
    has = cuts.clusters[:, candidates // 64] >> (candidates % 64).astype(np.uint64) & np.uint64(1)
    return np.ascontiguousarray(has * cuts.multipliers[:, None])


def _frames(depth: int, local: tuple, cuts: Cuts, child: int, alone: float, n: int) -> tuple:
    """A stack of depth + 1 nodes, and the empty parent set on it, not yet opened."""
    m, d = local[0].shape
    k = cuts.multipliers.size
    frames = (
        np.zeros((depth + 1, d), np.uint32),  # 0: rows, cell by cell
        np.zeros((depth + 1, d), np.uint32),  # 1: end of each cell
        np.zeros(depth + 1, np.int64),  # 2: number of cells
        np.zeros((depth + 1, m), np.int64),  # 3: candidates that may still be added
        np.zeros(depth + 1, np.int64),  # 4: number of candidates
        np.full(depth + 1, -1, np.int64),  # 5: position of the next candidate to descend to; -1: not opened yet
        np.zeros((depth + 1, m), np.float64),  # 6: cost of the node with each candidate
        np.zeros(depth + 1, np.float64),  # 7: least cost of the node and the nodes below it on the stack
        np.zeros(depth + 1, np.float64),  # 8: product of the arities
        np.zeros((depth + 1, k), np.int64),  # 9: clusters disjoint from the node
        np.zeros(depth + 1, np.int64),  # 10: number of these
        np.zeros((depth + 1, words(n)), np.uint64),  # 11: varset
        np.zeros(1, np.int64),  # 12: the top
    )
    frames[0][0] = np.arange(d)
    frames[1][0, 0] = d
    frames[2][0] = 1
    frames[3][0] = np.arange(m)
    frames[4][0] = m
    frames[7][0] = alone
    frames[8][0] = 1.0
    frames[9][0] = np.arange(k)
    frames[10][0] = k
    return frames


@njit
def _reduced(varsets, costs, clusters, multipliers):
    """c' of families of one child under the clusters that hold it."""
    reduced = costs.copy()
    for j in range(costs.size):
        for c in range(multipliers.size):
            common = u64(0)
            for w in range(varsets.shape[1]):
                common |= varsets[j, w] & clusters[c, w]
            if not common:
                reduced[j] -= multipliers[c]
    return reduced


@njit
def _count(top, local, frames, mlogm, misfit, gain):
    """For each candidate Y of the node P: N H(X | P + Y) into misfit, and the bound 1c of its gain into gain."""
    columns, first, weights, states = local[1], local[2], local[3], local[4]
    rows, ends = frames[0][top], frames[1][top]
    candidates = frames[3][top, : frames[4][top]]
    part, total = np.zeros_like(columns[0]), np.zeros_like(columns[0])
    for y in candidates:
        misfit[y] = 0.0
        gain[y] = 0.0
    i = np.int64(0)
    for cell in range(frames[2][top]):
        end = np.int64(ends[cell])
        total[:] = 0
        records = np.int64(0)
        child = 0.0  # sum of m ln m over the states of the child
        while i < end:
            state = states[rows[i]]
            part[:] = 0
            m = np.int64(0)
            while i < end and states[rows[i]] == state:
                row = columns[rows[i]]
                for q in range(part.size):
                    part[q] += row[q]
                m += weights[rows[i]]
                i += 1
            if m > 1:  # 1 ln 1 = 0
                for y in candidates:
                    for q in range(first[y], first[y + 1]):
                        misfit[y] -= mlogm[part[q]]
            for q in range(part.size):
                total[q] += part[q]
            child += mlogm[m]
            records += m
        for y in candidates:
            own = 0.0
            for q in range(first[y], first[y + 1]):
                own += mlogm[total[q]]
            misfit[y] += own
            gain[y] += mlogm[records] - max(child, own)


@njit
def _split(top, y, local, frames, sizes, mixed):
    """The rows of node top + 1: the cells of the node split by candidate y, without those where the child has one
    state only. Rows of a cell stay in the order of the child's states. sizes, mixed: zero, room for the states of y."""
    codes, states = local[0][y], local[4]
    rows, ends = frames[0], frames[1]
    i = np.int64(0)
    filled = np.int64(0)
    cells = np.int64(0)
    arity = local[2][y + 1] - local[2][y]
    seen = np.empty(arity, np.int64)
    for cell in range(frames[2][top]):
        end = np.int64(ends[top, cell])
        sizes[:arity] = 0
        mixed[:arity] = 0
        for j in range(i, end):
            s, x = codes[rows[top, j]], states[rows[top, j]]
            if sizes[s] == 0:
                seen[s] = x
            elif seen[s] != x:
                mixed[s] = 1
            sizes[s] += 1
        for s in range(arity):
            if mixed[s]:
                seen[s] = filled
                filled += sizes[s]
                ends[top + 1, cells] = filled
                cells += 1
        for j in range(i, end):
            s = codes[rows[top, j]]
            if mixed[s]:
                rows[top + 1, seen[s]] = rows[top, j]
                seen[s] += 1
        i = end
    frames[2][top + 1] = cells


@njit
def _lost(top, cuts, frames, lost):
    """The multipliers of the clusters disjoint from the node, and into lost[y] those of them that hold y."""
    hits, multipliers = cuts
    lost[:] = 0.0
    rest = 0.0
    for a in range(frames[10][top]):
        c = frames[9][top, a]
        rest += multipliers[c]
        for y in range(lost.size):
            lost[y] += hits[c, y]
    return rest


@njit
def _open(top, goal, local, cuts, frames, mlogm, space, out, written):
    """Judge the node with each of its candidates: hand over the families that matter, and keep the candidates with
    which larger ones may matter. How many families are handed over by now."""
    floor, threshold, unit, _ = goal
    misfit, gain, lost = space
    candidates, cheapest, states = frames[3][top], frames[7][top], frames[8][top]
    arities = local[5]
    rest = _lost(top, cuts, frames, lost)
    kept = 0
    for i in range(frames[4][top]):
        y = candidates[i]
        if floor + unit * states * arities[y] < min(cheapest, threshold + rest - lost[y]):  # 1b and 2
            candidates[kept] = y
            kept += 1
    frames[4][top] = kept
    if kept > 0:
        _count(top, local, frames, mlogm, misfit, gain)
    kept = 0
    for i in range(frames[4][top]):
        y = candidates[i]
        if gain[y] + TIE <= unit * states * (arities[y] - 1.0):  # 1c
            continue
        cost = misfit[y] + unit * states * arities[y]
        if cost < min(cheapest, threshold + rest - lost[y]):
            out[0][written] = frames[11][top]
            v = local[6][y]
            out[0][written, v >> 6] |= u64(1) << u64(v & 63)
            out[1][written] = cost
            written += 1
        candidates[kept] = y
        frames[6][top, kept] = cost
        kept += 1
    # the cheapest first: the sets with them are many, and are held against their cost (1b)
    order = np.argsort(frames[6][top, :kept])
    frames[6][top, :kept] = frames[6][top, :kept][order]
    candidates[:kept] = candidates[:kept][order]
    frames[4][top] = kept
    frames[5][top] = 0
    return written


@njit
def _descend(top, goal, local, cuts, frames, sizes, mixed):
    """Put the node with its next candidate on the stack, if a set with one more candidate may matter; whether so."""
    floor, threshold, unit, depth = goal
    i = frames[5][top]
    frames[5][top] += 1
    y = frames[3][top, i]
    following = frames[4][top] - i - 1
    if top + 1 >= depth or following == 0:
        return False
    up = top + 1
    count = 0
    rest = 0.0
    for a in range(frames[10][top]):
        c = frames[9][top, a]
        if cuts[0][c, y] == 0.0:
            frames[9][up, count] = c
            rest += cuts[1][c]
            count += 1
    frames[7][up] = min(frames[7][top], frames[6][top, i])
    frames[8][up] = frames[8][top] * local[5][y]
    # every further parent has two states or more, and meets no cluster perhaps: 1b and 2
    if floor + unit * frames[8][up] * 2.0 >= min(frames[7][up], threshold + rest):
        return False
    frames[10][up] = count
    frames[3][up, :following] = frames[3][top, i + 1 : i + 1 + following]
    frames[4][up] = following
    frames[5][up] = -1
    frames[11][up] = frames[11][top]
    v = local[6][y]
    frames[11][up, v >> 6] |= u64(1) << u64(v & 63)
    _split(top, y, local, frames, sizes, mixed)
    return True


@njit
def _search(goal, local, cuts, frames, mlogm, halt, out):
    """Go on with the search until it is over, halted or `out` is full; whether it is over, and how many families are
    in `out`."""
    m = local[0].shape[0]
    space = np.empty(m), np.empty(m), np.empty(m)
    widest = 0
    for y in range(m):
        widest = max(widest, local[2][y + 1] - local[2][y])
    sizes, mixed = np.zeros(widest, np.int64), np.zeros(widest, np.int64)
    tops = frames[12]
    written = 0
    while tops[0] >= 0 and not halt[0]:
        top = tops[0]
        if frames[5][top] < 0:
            if written + m > out[1].size:
                return False, written
            written = _open(top, goal, local, cuts, frames, mlogm, space, out, written)
        elif frames[5][top] == frames[4][top]:
            tops[0] = top - 1
        elif _descend(top, goal, local, cuts, frames, sizes, mixed):
            tops[0] = top + 1
    return tops[0] < 0, written
