"""Sums over all orders beyond the whole lattice: layer by layer, over the nodes through which most goes, with a proved
bound of what is ignored.

The weight of an order is the product of alpha_i(what is before i), alpha_i(U) the weights of the families of i inside
U; Z is the sum over all orders. A node U is a set of variables that come first; g(U) is the sum over its orders, h(U)
the sum over all ways to go on. So g(U) h(U) goes through U, and Z through each layer, the nodes of one size. In each
layer nodes are dropped, and

    g(U) = sum over i in U of g(U - i) alpha_i(U - i)

goes over the kept ones. **What is ignored.** An order either passes through kept nodes alone, or there is a first node
U of it that is dropped. All before U are kept, so such orders together weigh at most g(U) h(U) <= g(U) H(U), where g is
the sum over kept nodes and H >= h any upper bound (`completions`). So Z_kept <= Z <= Z_kept + the sum of g(U) H(U) over
all dropped U; nothing has to be known of what would have come after them. The same holds of the orders and families
with any property, so each event has a probability p with

    p_kept Z_kept / (Z_kept + ignored) <= p <= (p_kept Z_kept + ignored) / (Z_kept + ignored).

**Families that are cut off.** Of a sum alpha_i(U) the last terms may be left out, as long as they are a share `cut` of
it or less. That is a factor of 1 + cut for each variable of an order, so (1 + cut)^n - 1 of Z_kept is ignored, and what
goes through dropped nodes is larger by (1 + cut)^n at most.

**Passes.** A bound below Z is needed to know what may be ignored. So there are passes, each with more nodes: what the
one before kept is such a bound, and it has an answer for whoever cannot wait longer. In a layer those with the least
g(U) H(U) go: as long as all that go bring the allowance of the layer or less; and more, whatever they bring, where
otherwise more nodes would stay than there is room for.

**Back.** h by layers, and for each edge from U to U + i the share of Z_kept that goes over it, g(U) alpha_i(U) h(U + i)
/ Z_kept, which the families of i inside U have by their weights.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.ascent import find_multipliers
from extbnsl.bounds.groups import pair_weights
from extbnsl.bounds.multipliers import UNIT, families_of
from extbnsl.core.codec import Highest, Lowest, Misfit, Whole
from extbnsl.core.events import StageAdvanced
from extbnsl.machine.workers import chunks
from extbnsl.parents.exhaustive.state import Means
from extbnsl.posteriors.choice import Choice, log_of_sum
from extbnsl.posteriors.completions import Completions, Relaxation, across, completions, log_through, relaxed
from extbnsl.posteriors.inside import ROUNDING, WORD, Families, inside_tables, rounding_along
from extbnsl.posteriors.steps import Nodes, Pass, completed, successors
from extbnsl.posteriors.tuning import Sample, Tuned, good_groups, tuned, with_pairs
from extbnsl.posteriors.wide import LOWEST, NATS, Wide, log_of
from extbnsl.scores.local import LocalScores, feasible_order

STAGE = "sums"
NODES_AT_FIRST = 1 << 9  # of a layer, in the first pass
GROWTH = 8  # of the nodes of a layer from pass to pass
CUT_SHARE = 1.0 / 16.0  # of what may be ignored: for families that are cut off
LEAST_CUT = 2.0**-60
TASK_EDGES = 1 << 17
TASK_NODES = 1 << 12  # on the way back, at least
MOST_TASKS = 64  # of a layer, on the way back
SHARES_BYTES = 1 << 26  # for what tasks of the way back add up
NODE_BYTES = 64  # of a node that is kept, with what those of a layer at work take besides
LOOKED_AT = 1 << 10  # nodes by whose successors the tasks of a layer are divided
FIRST_WIDTH = 12  # variables in a group, at most, in the first pass
WIDEST = 20  # and in later ones
ROUNDS = 10  # of the search for the first multipliers
TUNING_SHARE = 0.5  # of the time of a pass, for a descent to better bounds of the groups that there are
TRIALS_SHARE = 0.25  # and for trials of other groups
MOST_TRIALS = 8
LEAST_STEPS, MOST_STEPS = 16, 200  # of a descent
MOST_NATS = 700.0  # by which what is ignored may outweigh what is kept
SAMPLED = 64  # nodes of a layer for which they are to be better


@dataclass(frozen=True)
class Limits:
    """What may be ignored, of what is kept, and at most how many nodes are kept in all layers together."""

    within: float
    nodes: int


def cut_of(limits: Limits, n: int) -> float:
    """The share at which the sums of a child's families end."""
    return max(LEAST_CUT, CUT_SHARE * limits.within / n)


def nodes_in(memory: int) -> int:
    """How many nodes so many bytes hold."""
    return max(1, memory // NODE_BYTES)


NO_SAMPLE = Sample(np.zeros(0, np.uint64), np.zeros(0))


@dataclass(frozen=True)
class LayeredSum:
    """How far the sums are; immutable. A pass goes forward from the empty set, then back.

    The answer of the last complete pass: log_weight, the logarithm of Z_kept, or less by all rounding; log_ignored,
    that of what is ignored at most, and all rounding: so log Z is from log_weight to log(exp(log_weight) +
    exp(log_ignored)). families: of each child, in the order of the scores, the share of Z_kept that each of its
    families has. Before the first pass is complete log_weight is -inf, log_ignored infinity and families ().
    done: no pass follows.

    Of the pass that is on, or was the last: its number `turn`, from 0. low: a bound below log Z. dropped: the logarithm
    of what the nodes that it dropped may bring; capped: whether some went that a later pass will keep. layers: of each
    size so far the Nodes that are kept, with g; those of `reached` variables or more with h in its place. total: g of
    all variables, once it is known. shares (words, 64): on the way back, what is known of families. groups, multipliers
    (clusters,): of the bounds; sample: the nodes that the next ones are made for.

    Arrays are those of families, layers (three each), shares, multipliers and sample (two); all others are numbers.
    """

    engine: ClassVar[str] = "layers"
    error: ClassVar[float] = 0.0  # what rounding does is in what is ignored

    log_weight: Lowest = -math.inf
    log_ignored: Highest = math.inf
    families: tuple[NDArray[np.float64], ...] = ()
    done: bool = False
    turn: int = -1
    low: Lowest = -math.inf
    dropped: Lowest = -math.inf
    capped: bool = False
    layers: tuple[Nodes, ...] = ()
    reached: Whole = 0
    total: tuple[float, int] = (0.0, LOWEST)
    shares: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, WORD)))
    groups: tuple[tuple[int, ...], ...] = ()
    multipliers: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    sample: Sample = NO_SAMPLE

    @property
    def ignored(self) -> float:
        """What is ignored at most, of what is kept."""
        return math.exp(self.log_ignored - self.log_weight)

    @property
    def answers(self) -> bool:
        """Whether a pass is complete, and bounds what it ignored by a number that a double holds."""
        return bool(self.families) and self.log_ignored - self.log_weight < MOST_NATS

    @property
    def drawable(self) -> bool:
        """Whether samples can be drawn: between passes."""
        return bool(self.families) and self.reached == 0

    @property
    def kept(self) -> int:
        """How many nodes the pass has kept so far."""
        return sum(layer.varsets.size for layer in self.layers)


def sum_in_layers(
    scores: LocalScores, means: Means, limits: Limits, begun: LayeredSum | None = None
) -> Iterator[LayeredSum]:
    """Sum over all orders of at most 64 variables, so that what is ignored is at most `within` of what is kept, if that
    many nodes do for it; else as close to it as they allow.

    Yields a state after each layer; goes on from `begun`, with the same results. Raises Stopped, BudgetError if the
    shelf has no room for the nodes, and Misfit if `begun` is not of these scores. Results do not depend on the number
    of threads. Time: some dozen ns for each edge from a kept node, there and back; memory: NODE_BYTES for each node
    that is kept.
    """
    sums = _Sums(scores, means, limits)
    if begun is not None:
        sums.check(begun)
    state = begun or LayeredSum()
    while not state.done:
        state = sums.next_state(state)
        yield state


class _Sums:
    """What all steps share."""

    def __init__(self, scores: LocalScores, means: Means, limits: Limits) -> None:
        self._n = scores.variables
        self._means, self._workers, self._limits = means, means.workers, limits
        self._families = Families([own[:, 0] for own in scores.parents], scores.costs)
        cut = cut_of(limits, self._n)
        self._tables, self._places = inside_tables(self._families, cut)
        self._least = math.fsum(float(own[0]) for own in scores.costs)
        self._cut_off = self._n * math.log1p(cut)
        found = find_multipliers(families_of(scores.parents, scores.costs), None, ROUNDS, 0, self._workers)
        assert not found.cuts[:, 1:].any(), "an ascent raises clusters alone"
        self._clusters, self._first_multipliers = with_pairs(
            found.cuts[:, 0, 0], found.weights * np.float64(UNIT), self._n
        )
        self._weights = pair_weights(scores.parents, scores.costs)
        self._bounds: tuple[NDArray[np.float64], Completions] | None = None
        order, _ = feasible_order(scores.parents)
        self._guarded = [sum(1 << x for x in order[:size]) for size in range(self._n + 1)]

    def check(self, state: LayeredSum) -> None:
        """Raise Misfit unless a state is of these scores: kernels take the arrays as they are."""
        n, own = self._n, [costs.size for costs in self._families.costs]
        shape = self._tables.weights.shape if 0 < state.reached <= n else (0, WORD)
        fits = len(state.layers) <= n + 1 and state.reached <= n + 1
        fits = fits and (not state.families or [shares.size for shares in state.families] == own)
        if fits and state.turn >= 0:
            members = sorted(x for group in state.groups for x in group)
            fits = members == list(range(n)) and max(map(len, state.groups)) <= max(2, WIDEST)
            fits = fits and state.multipliers.size == self._clusters.size and state.shares.shape == shape
            fits = fits and all(_are_nodes(nodes, size, n) for size, nodes in enumerate(state.layers))
            fits = fits and (len(state.layers) == n + 1 or state.reached > n)
        if not fits or state.sample.varsets.size != state.sample.masses.size:
            raise Misfit("sums")

    def _completions(self, state: LayeredSum) -> Completions:
        """The upper bounds of what follows a node, in the pass that is on."""
        if self._bounds is None or self._bounds[0] is not state.multipliers:
            bound = relaxed(self._relaxation(state), self._families, self._workers)
            self._bounds = state.multipliers, completions(bound)
        return self._bounds[1]

    def _relaxation(self, state: LayeredSum) -> Relaxation:
        """What the bounds of a pass are made from."""
        counting = across(state.groups, self._clusters)
        return Relaxation(state.groups, self._clusters[counting], state.multipliers[counting])

    def _begun(self, state: LayeredSum) -> LayeredSum:
        """A pass begins, with better bounds if it is not the first one."""
        turn = state.turn + 1
        begun = LayeredSum(
            log_weight=state.log_weight,
            log_ignored=state.log_ignored,
            families=state.families,
            turn=turn,
            low=max(state.low, state.log_weight),
            layers=(Nodes(np.zeros(1, np.uint64), *_one()),),
            reached=self._n + 1,
            groups=state.groups if turn else self._groups(0),
            multipliers=state.multipliers if turn else self._first_multipliers,
            sample=state.sample,
        )
        return self._tuned(begun) if turn else begun

    def _groups(self, turn: int, seed: int | None = None) -> tuple[tuple[int, ...], ...]:
        """Groups as wide as a pass can have them."""
        width = min(WIDEST, FIRST_WIDTH + 2 * turn)
        return good_groups(self._weights, max(min(2, self._n), -(-self._n // width)), seed)

    def _tuned(self, state: LayeredSum) -> LayeredSum:
        """With multipliers, and groups, that are better for the nodes through which most went in the last pass."""
        turn, edges = state.turn, self._n**2 * min(_most_in(state.turn), self._limits.nodes // self._n) / 2
        others = [self._groups(turn, MOST_TRIALS * turn + seed) for seed in range(MOST_TRIALS)]
        step = 2 * sum(len(group) << len(group) for group in others[0]) + 4 * sum(map(len, self._families.costs))
        steps = int(min(MOST_STEPS, max(LEAST_STEPS, TUNING_SHARE * edges / step)))
        wider = [self._groups(turn)] if len(others[0]) < len(state.groups) else []
        trials = [state.groups, *wider, *others[: int(TRIALS_SHARE * edges / (steps * step))]]
        best = min((self._descended(state, groups, steps) for groups in trials), key=attrgetter("mean"))
        relaxation = best.bound.relaxation
        multipliers = state.multipliers.copy()
        multipliers[across(relaxation.groups, self._clusters)] = relaxation.multipliers
        return replace(state, groups=relaxation.groups, multipliers=multipliers)

    def _descended(self, state: LayeredSum, groups: tuple[tuple[int, ...], ...], steps: int) -> Tuned:
        """The bounds by these groups, tuned."""
        start = self._relaxation(replace(state, groups=groups))
        return tuned(start, self._families, state.sample, steps, self._workers)

    def next_state(self, state: LayeredSum) -> LayeredSum:
        """After one layer more."""
        n = self._n
        if state.reached == 0:
            return self._begun(state)
        if len(state.layers) <= n:
            state = self._forward(state)
        elif state.reached > n:
            varsets, (total,), (exponent,) = state.layers[n]
            state = replace(
                state,
                layers=(*state.layers[:n], Nodes(varsets, *_one())),
                reached=n,
                total=(float(total), int(exponent)),
                shares=np.zeros(self._tables.weights.shape),
                sample=NO_SAMPLE,
            )
        else:
            state = self._backward(state)
        done = len(state.layers) - 1 + max(0, n - state.reached)
        self._means.observer(StageAdvanced(STAGE, done, 2 * n, "", detail=f"pass {state.turn + 1}"))
        return state

    def _forward(self, state: LayeredSum) -> LayeredSum:
        """With the next layer."""
        nodes, size = state.layers[-1], len(state.layers)
        self._means.shelf.touched(sum(column.nbytes for column in nodes))
        choice, bounds = self._choice(state, size), self._completions(state)
        ends = _range_ends(nodes.varsets, self._n, size - 1)
        tasks = [(lo, last, nodes, bounds) for lo, last in zip([0, *(end + 1 for end in ends)], ends, strict=False)]
        threads = self._workers.threads
        for found, through in self._workers.stream(self._expanded, tasks, 2 * threads, lambda _: None):
            choice.add(found, through)
        made, put = self._workers.run(choice.made), self._means.shelf.put
        kept = Nodes(put(made.varsets), put(made.mantissas), put(made.exponents))
        capped = state.capped or (choice.capped and choice.most == _most_in(state.turn))
        return replace(state, layers=(*state.layers, kept), dropped=choice.dropped, capped=capped)

    def _expanded(self, lo: int, last: int, nodes: Nodes, bounds: Completions) -> tuple[Nodes, NDArray[np.float64]]:
        """The successors of a layer from lo to last, and what goes through each."""
        found = successors(np.uint64(lo), np.uint64(last), nodes, self._tables, self._workers.halt)
        return found, log_through(found.varsets, found.mantissas, found.exponents, bounds) + self._cut_off

    def _choice(self, state: LayeredSum, size: int) -> Choice:
        """How the nodes of a layer are chosen. What the layers so far may have dropped, nobody else needs."""
        n, last = self._n, size == self._n
        left = self._limits.nodes - state.kept
        most = min(_evenly([math.comb(n, k) for k in range(size, n + 1)], left), _most_in(state.turn))
        large = [math.sqrt(math.comb(n, k)) for k in range(1, n + 1)]  # about as sizes of layers go
        allowance = (1.0 - 2.0 * CUT_SHARE) * self._limits.within * math.fsum(large[:size]) / math.fsum(large)
        if last or allowance <= 0.0 or state.low == -math.inf:
            return Choice(most, self._guarded[size], state.dropped, -math.inf, -math.inf)
        log_allowed = state.low + self._least + math.log(allowance)
        spare = -math.expm1(min(0.0, state.dropped - log_allowed))
        edges = state.layers[-1].varsets.size * (n - size + 1)
        floor = log_allowed + math.log(spare / (4 * edges)) if spare > 0.0 else -math.inf
        return Choice(most, self._guarded[size], state.dropped, log_allowed, floor)

    def _backward(self, state: LayeredSum) -> LayeredSum:
        """One layer farther back; the answer, at its end."""
        size = state.reached - 1
        nodes, following = state.layers[size : size + 2]
        self._means.shelf.touched(sum(column.nbytes for column in (*nodes, *following)))
        known = Pass(self._tables, *state.total)
        rows = nodes.varsets.size
        most = min(MOST_TASKS, max(1, SHARES_BYTES // max(1, state.shares.nbytes)))
        tasks = [(lo, hi, nodes, following, known) for lo, hi in chunks(rows, max(TASK_NODES, -(-rows // most)))]
        shares, pieces = state.shares.copy(), []
        for mantissas, exponents, more in self._workers.stream(
            self._completed, tasks, 2 * self._workers.threads, lambda _: None
        ):
            pieces.append((mantissas, exponents))
            shares += more
        put = self._means.shelf.put
        mantissas, exponents = (put(np.concatenate(columns)) for columns in zip(*pieces, strict=True))
        complete = Nodes(nodes.varsets, mantissas, exponents)
        state = replace(
            state,
            layers=(*state.layers[:size], complete, *state.layers[size + 1 :]),
            reached=size,
            shares=shares,
            sample=_joined(state.sample, _most_through(nodes, complete, state.total)),
        )
        return self._answered(state) if size == 0 else state

    def _completed(
        self, lo: int, hi: int, nodes: Nodes, following: Nodes, known: Pass
    ) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.float64]]:
        """h of some nodes of a layer, and what they bring to families."""
        shares = np.zeros(self._tables.weights.shape)
        mantissas, exponents = completed(lo, hi, nodes, following, known, shares, self._workers.halt)
        return mantissas, exponents, shares

    def _answered(self, state: LayeredSum) -> LayeredSum:
        """With the answer of the pass, which is over."""
        log_kept = log_of(*state.total)
        rounding = rounding_along(self._families) + 16.0 * ROUNDING * (abs(log_kept) + abs(self._least))
        cut_off = math.log(math.expm1(self._cut_off)) + log_kept
        ignored = np.array([state.dropped, cut_off, log_kept + math.log(8.0 * rounding)])
        log_weight = log_kept - self._least - rounding
        log_ignored = log_of_sum(ignored) - self._least + rounding
        enough = log_ignored - log_weight <= math.log(self._limits.within) if self._limits.within > 0.0 else False
        shares = state.shares.reshape(-1)
        return replace(
            state,
            log_weight=log_weight,
            log_ignored=log_ignored,
            families=tuple(shares[own] for own in self._places),
            done=enough or not state.capped,
            shares=np.zeros((0, WORD)),
        )


def _one() -> Wide:
    """The number 1, in arrays."""
    return np.ones(1), np.zeros(1, np.int32)


def _most_through(nodes: Nodes, complete: Nodes, total: tuple[float, int]) -> Sample:
    """The nodes of a layer through which most goes, of all, and how much; from g and h."""
    with np.errstate(divide="ignore"):
        logs = np.log(nodes.mantissas) + np.log(complete.mantissas)
        logs += (nodes.exponents.astype(np.int64) + complete.exponents) * NATS
    most = np.sort(np.argsort(-logs, kind="stable")[:SAMPLED])
    return Sample(nodes.varsets[most], np.exp(logs[most] - log_of(*total)))


def _joined(one: Sample, other: Sample) -> Sample:
    """Both."""
    return Sample(*(np.concatenate(columns) for columns in zip(one, other, strict=True)))


def _are_nodes(nodes: Nodes, size: int, n: int) -> bool:
    """Whether these can be the nodes of so many of n variables: ascending, at least one, each with its number."""
    varsets = nodes.varsets
    if not 0 < varsets.size == nodes.mantissas.size == nodes.exponents.size or int(varsets[-1]) >= 1 << n:
        return False
    return bool((varsets[1:] > varsets[:-1]).all() and (np.bitwise_count(varsets) == size).all())


def _most_in(turn: int) -> int:
    """Of a layer, the most nodes that a pass keeps."""
    return NODES_AT_FIRST * GROWTH**turn


def _evenly(wanted: Sequence[int], there: int) -> int:
    """The most that each may have, at least 1, where some want more than that and the others get what they want."""
    for number, own in enumerate(sorted(wanted)):
        if own * (len(wanted) - number) > there:
            return max(1, there // (len(wanted) - number))
        there -= own
    return max(wanted)


def _range_ends(varsets: NDArray[np.uint64], n: int, size: int) -> list[int]:
    """The last varsets of ranges into which the successors of nodes of `size` variables are divided, about evenly."""
    everything = (1 << n) - 1
    ranges = -(-varsets.size * (n - size) // TASK_EDGES)
    if ranges == 1:
        return [everything]
    some = varsets[:: max(1, varsets.size // LOOKED_AT)]
    bits = np.uint64(1) << np.arange(n, dtype=np.uint64)
    found = np.sort((some[:, None] | bits)[(some[:, None] & bits) == 0])
    ends = found[np.arange(1, ranges) * found.size // ranges].tolist()
    return sorted({*ends, everything})
