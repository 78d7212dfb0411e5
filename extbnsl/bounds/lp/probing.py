"""Probing: what a choice would cost, and which families no better network has for that.

Root fixing drops families by the multipliers that are best at the root. Others say more about a choice: child X has
parent sets with Y only, or without Y only. The LP under that choice often shows that no network below the limit makes
it, and its duals are multipliers as any: with them root + rc(X, P) of the choice's families is at least the limit, and
perhaps of other families too. So what probing finds is passes of root fixing. (Probing in integer programming:
Savelsbergh 1994.)
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.lp.program import ZERO, Program
from extbnsl.bounds.multipliers import FamilyArrays, Multipliers
from extbnsl.machine.workers import Workers

STREAMS = 4  # programs that are probed side by side
BATCH = 64  # probes before the families dropped are taken from the programs
PROBE_EFFORT = 1000  # simplex iterations of a probe, at most
LIKELY = 3  # families of a choice that are to be columns


@dataclass(frozen=True)
class Choice:
    """Families of one child, some that are left and not all of them: the choice is to have one of these.

    number: that of the child, the variable, and whether it is to be a parent; the same whatever families are left.
    """

    number: int
    families: NDArray[np.int64]
    others: NDArray[np.int64]


@dataclass(frozen=True)
class Probed:
    """How far probing has come.

    alive (m,) bool: the families that are left; a child may have none, then no network is below the limit. passes:
    multipliers that drop the others, each for those that were left then, without their reduced costs. root: the bound
    of what is left. tried: the numbers of the choices probed, of `choices` in all; iterations: what they took.
    """

    alive: NDArray[np.bool_]
    passes: tuple[Multipliers, ...]
    root: float
    tried: frozenset[int]
    choices: int
    iterations: int


def choices_of(families: FamilyArrays) -> list[Choice]:
    """For each child X and variable Y, if both are possible: parents with Y, and without. O(families times n)."""
    bits = np.unpackbits(np.ascontiguousarray(families.parents.T).view(np.uint8), axis=1, bitorder="little")
    found, n = [], families.first.size - 1
    for x, (lo, hi) in enumerate(zip(families.first[:-1].tolist(), families.first[1:].tolist(), strict=True)):
        own, counts = bits[lo:hi].astype(bool), bits[lo:hi].sum(axis=0, dtype=np.int64)
        for y in np.flatnonzero((counts > 0) & (counts < hi - lo)).tolist():
            some, rest = lo + np.flatnonzero(own[:, y]), lo + np.flatnonzero(~own[:, y])
            found += [Choice(2 * (x * n + y), some, rest), Choice(2 * (x * n + y) + 1, rest, some)]
    return found


def probe(
    program: Program,
    limit: float,
    effort: int,
    tried: frozenset[int],
    workers: Workers,
    on_batch: Callable[[Probed], None] = lambda reached: None,
) -> Probed:
    """Probe the choices of the program's families but those that were tried before, within about so many simplex
    iterations.

    Those first that the multipliers of the root nearly exclude. on_batch gets what there is after each batch.
    Deterministic, whatever the threads. Raises Stopped, and what on_batch raises.
    """
    probing = _Probing(program, limit, tried, workers)
    probing.settle(effort)
    choices = probing.promising(choices_of(program.families)) if probing.iterations < effort else []
    for begin in range(0, len(choices), BATCH):
        if probing.iterations < effort and not probing.over:
            probing.settle(effort - probing.iterations)
        if probing.iterations < effort and not probing.over:
            probing.batch(choices[begin : begin + BATCH])
            on_batch(probing.reached())
    return probing.reached()


class _Probing:
    """The programs at work, and what they have found."""

    def __init__(self, program: Program, limit: float, tried: frozenset[int], workers: Workers) -> None:
        self._program, self._limit, self._workers = program, limit, workers
        self._tried, self._choices = set(tried), len(tried)
        self.iterations = 0
        self._streams: list[Program] = []
        self._costs = program.families.costs
        self._least = np.zeros(0)
        self.alive = np.ones(self._costs.size, bool)
        self.passes: list[Multipliers] = []
        self.root = -np.inf

    @property
    def over(self) -> bool:
        """Whether no network is below the limit."""
        return self.root >= self._limit or not self._program.families.has_each(self.alive)

    def reached(self) -> Probed:
        """What there is by now."""
        tried, passes = frozenset(self._tried), tuple(self.passes)
        return Probed(self.alive.copy(), passes, self.root, tried, self._choices, self.iterations)

    def settle(self, effort: int) -> None:
        """Solve the program with the families that are left, at the root."""
        left = self._program.solve(effort, self._workers)
        if left:
            found = self._program.multipliers()
            self._least = found.root + found.reduced
            self.root = max(self.root, found.root)
            self._take(found)
        self.iterations += effort - left

    def promising(self, choices: list[Choice]) -> list[Choice]:
        """The choices not tried yet, those that cost more at the root first; some families of each become columns."""
        choices = [choice for choice in choices if choice.number not in self._tried]
        self._choices = len(self._tried) + len(choices)
        least = np.array([self._least[choice.families].min() for choice in choices])
        columns = [c.families[np.argsort(self._least[c.families], kind="stable")[:LIKELY]] for c in choices]
        self._program.add_columns(np.concatenate([np.zeros(0, np.int64), *columns]))
        return [choices[i] for i in np.argsort(-least, kind="stable")]

    def batch(self, choices: list[Choice]) -> None:
        """Probe some choices side by side, and take what the programs have found."""
        if not self._streams:
            self._streams = self._program.copies(STREAMS)
        values = self._program.values()
        open_ones = [
            choice
            for choice in choices
            if self.alive[choice.families].any()
            and self.alive[choice.others].any()
            and values[choice.families].sum() < 1.0 - ZERO  # otherwise the solution makes this choice
        ]
        parts = [(stream, open_ones[i::STREAMS]) for i, stream in enumerate(self._streams)]
        results = self._workers.map(self._stream, parts)
        for k in range(len(open_ones)):
            found = results[k % STREAMS][0][k // STREAMS]
            if found is not None:
                self._take(found)
        self.iterations += sum(iterations for _, iterations in results)
        self._tried.update(choice.number for choice in choices)

    def _stream(self, stream: Program, choices: list[Choice]) -> tuple[list[Multipliers | None], int]:
        """The multipliers of those choices that show something, and the iterations that they took together."""
        found: list[Multipliers | None] = []
        taken = 0
        basis = self._program.basis
        for choice in choices:
            others = choice.others[self.alive[choice.others]]
            left = stream.run_without(others, basis, PROBE_EFFORT, self._workers.halt)
            taken += PROBE_EFFORT - left
            multipliers = stream.multipliers() if left else None
            if multipliers is not None and not (self._beyond(multipliers) & self.alive).any():
                multipliers = None
            found.append(multipliers)
        return found, taken

    def _beyond(self, found: Multipliers) -> NDArray[np.bool_]:
        """The families that no network below the limit has."""
        return found.root + found.reduced >= self._limit

    def _take(self, found: Multipliers) -> None:
        """Drop families by these multipliers, everywhere."""
        dropped = self._beyond(found) & self.alive
        if not dropped.any() and found.root < self._limit:
            return
        self.passes.append(found.without_costs)
        self.alive &= ~dropped
        self._costs = np.where(self.alive, self._costs, np.inf)
        families = self._program.families._replace(costs=self._costs)
        for program in (self._program, *self._streams):
            program.families = families
            program.allow(np.flatnonzero(dropped), False)
