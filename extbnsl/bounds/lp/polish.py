"""The best multipliers that there are, by linear programming.

The largest bound at the root fixes most families, but multipliers whose bound is the largest in the mean over nodes
prune more of them; those are for the search. Where the root bound falls short by little, and a search would be long or
is not possible at all, probing drops most of the families that are left.
"""

import importlib.util

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.lp.probing import STREAMS, Probed, Told, choices_of, probe
from extbnsl.bounds.lp.program import Program, least_sums
from extbnsl.bounds.multipliers import UNIT, FamilyArrays, Multipliers, families_of, no_multipliers
from extbnsl.errors import InputError
from extbnsl.machine.workers import Workers

EFFORT = 5_000  # simplex iterations, for each of the two LPs, in a round of improvement
ITERATION_NS = 1.5e5  # of one thread, where there are 10,000 families
PROBE_ITERATIONS = 60  # about how many a probe takes
LACKING = 0.8  # the probability that a node of the search lacks a variable
WINDOW, STALE = 20, 0.02  # so many turns that gain less than such a share of the gap are the last


def highs_installed() -> bool:
    """Whether there is HiGHS. It is not loaded for that."""
    return importlib.util.find_spec("highspy") is not None


def load_highs() -> None:
    """Load HiGHS; InputError if it is not installed."""
    try:
        import highspy  # noqa: F401 - which is loaded, then
    except ImportError as error:
        raise InputError("--polish needs highspy: pip install 'extbnsl[lp]'.") from error


def load_polish() -> None:
    """Run the kernels on a toy, and HiGHS, which must be installed."""
    parents = np.array([[0], [2]], np.uint64), np.array([[0], [1]], np.uint64)
    families = families_of(parents, [np.array([2.0, 1.0])] * 2)
    with Workers(1) as workers:
        Polish(1 << 20).improved(families, no_multipliers(families), np.inf, 1, workers)


class Polish:
    """Improves the multipliers of a piece round after round; remembers cuts from one to the next.

    room: bytes that the LP may take. If it takes more, the multipliers are as good as they are by then. told: gets what
    has been done, of how much (0: nobody knows), and its unit. optimal: whether another round cannot make them better.
    """

    round_ns = 2 * EFFORT * ITERATION_NS  # about what a round costs, in nanoseconds of one thread

    def __init__(self, room: int, told: Told = lambda done, total, unit: None) -> None:
        self._room, self._told = room, told
        self._pools: dict[float, NDArray[np.uint64]] = {}  # the cuts of the last program, by its share
        self._optimal = False  # at the root
        self.optimal = False

    def improved(
        self, families: FamilyArrays, start: Multipliers, limit: float, rounds: int, workers: Workers
    ) -> Multipliers:
        """Multipliers with the largest bound at the root, or on the way to them, from `start`; at least as good.

        Ends early when the bound reaches `limit`, or hardly moves. The families may be fewer from call to call, by
        fixing: that leaves optimal multipliers optimal. Deterministic. Raises Stopped.
        """
        if self._optimal:
            return start
        found, self._optimal = self._best(families, start, limit, 1.0, EFFORT * rounds, workers)
        return found

    def spread(
        self, families: FamilyArrays, start: Multipliers, limit: float, rounds: int, workers: Workers
    ) -> Multipliers:
        """Multipliers whose bound is the largest in the mean over nodes that lack each variable with probability
        LACKING, from `start`, which is to have the largest at the root. Otherwise as `improved`."""
        found, optimal = self._best(families, start, limit, LACKING, EFFORT * rounds, workers)
        self.optimal = self._optimal and optimal
        return found

    def probing_ns(self, families: FamilyArrays) -> float:
        """About what probing costs, in nanoseconds of one thread."""
        return PROBE_ITERATIONS * ITERATION_NS * len(choices_of(families))

    def probed(self, families: FamilyArrays, start: Multipliers, limit: float, effort: int, workers: Workers) -> Probed:
        """What probing leaves of the families, from the multipliers with the largest bound at the root, within about so
        many simplex iterations. What is left may have a larger bound. Deterministic. Raises Stopped."""
        self._optimal = self.optimal = False
        program = Program(families, start, self._pools.get(1.0), 1.0, self._room // (1 + STREAMS))
        return probe(program, limit, effort, workers, self._told)

    def _best(
        self, families: FamilyArrays, start: Multipliers, limit: float, share: float, effort: int, workers: Workers
    ) -> tuple[Multipliers, bool]:
        """The best multipliers in the mean over nodes that lack each variable with probability `share`, and whether
        there are none that are better."""
        program = Program(families, start, self._pools.get(share), share, self._room)
        best, value = start, mean_value(start, share)
        optimal, mark, turn = False, value, 0
        while best.root < limit and program.bytes <= self._room:
            effort = program.solve(effort, workers)
            if effort <= 0:
                break
            found = program.multipliers()
            if mean_value(found, share) > value:
                best, value = found, mean_value(found, share)
            self._told(len(program.cuts), 0, f"cuts, gap {limit - best.root:.3f}")
            columns = program.missing_columns(found)
            cuts, effort = program.violated(effort)
            optimal = effort > 0 and not columns.size and not len(cuts)
            turn += 1
            if optimal or (turn % WINDOW == 0 and value - mark < STALE * (limit - value)):
                break
            mark = value if turn % WINDOW == 0 else mark
            program.drop_slack()
            program.add_columns(columns)
            program.add_cuts(cuts)
        self._pools[share] = program.cuts
        return best, optimal


def mean_value(multipliers: Multipliers, share: float) -> float:
    """The bound in the mean over nodes that lack each variable with probability `share`, divided by that; of the root
    if it is 1."""
    return float((multipliers.weights * UNIT) @ least_sums(multipliers.cuts, share) + multipliers.least.sum())
