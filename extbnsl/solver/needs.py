"""What a solve would need: time, memory and disk, from what was seen of it."""

import bisect
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.varsets import WORD_BITS
from extbnsl.machine.budgets import MINIMUM_MEMORY, Granted
from extbnsl.posteriors.scope import MOST_WHOLE, ORDER, UNIFORM
from extbnsl.proof.commits import COMMIT_SECONDS
from extbnsl.search.forecast import Forecast
from extbnsl.search.layers import Room
from extbnsl.search.runs import ANCESTOR_BYTES, node_bytes

MEASURED_LAYERS = 4  # from which on sizes are carried on with the doubt that was measured
TIME_DOUBT = 1.5
EDGE_NS = 100.0  # of an edge, with all threads, where none was seen
SPILL_NS = 250.0  # of a node that goes to files and is read again with every block that it leads to
NODE_BYTES = node_bytes(0)
SCORE_BYTES = 16.0  # of a parent set of up to 64 variables in a checkpoint
HEADERS = 1.05  # what files take, over the bytes of their nodes


@dataclass(frozen=True)
class Counting:
    """The local scores: what was counted, and what is left to count.

    varsets: how many were counted.
    families: how many parent sets were kept.
    seconds: what that took.
    variables: how many the data have.
    judged: the size of the parent sets that were judged last.
    limit: that of the largest that can win.
    seconds_left: about what the rest takes if as large a share of the larger varsets must be counted; mostly it is
    less. 0 if nothing is left, infinity if nobody can tell.
    seconds_most: what it takes if every larger parent set must be counted.
    """

    varsets: int
    families: int
    seconds: float
    variables: int = 0
    judged: int = 0
    limit: int = 0
    seconds_left: float = 0.0
    seconds_most: float = 0.0

    @property
    def complete(self) -> bool:
        return self.seconds_left == 0.0


TOO_MANY = f"more than {WORD_BITS} variables are not searched"
HOPELESS = "its search would take too long, and linear programs go on instead"


@dataclass(frozen=True)
class Trial:
    """The search of one piece of a component, as far as it was seen, and how it goes on.

    variables, families: how many the piece has.
    upper_bound, lower_bound: of the component at the root, in nats.
    unknown: why the search did not begin, if it did not.
    forecast: None if it did not, or if there is nothing to search, because the bounds meet.
    fixed: bytes of memory that it takes beside its nodes.
    least: that it needs at all with this bound.
    node_bytes: of a node, in memory or in files, without the row that it has in `layered` parent graphs.
    edge_ns: of an edge, with all threads.
    seconds: up to the last layer that was seen.
    """

    variables: int
    families: int
    upper_bound: float
    lower_bound: float
    unknown: str = ""
    forecast: Forecast | None = None
    fixed: int = 0
    least: int = 0
    node_bytes: float = float(NODE_BYTES)
    layered: bool = False
    edge_ns: float = 0.0
    seconds: float = 0.0

    @property
    def doubt(self) -> float:
        """The factor by which nodes and edges may well be too small or too large; 1 if they were counted."""
        if self.forecast is None:
            return 1.0
        few = self.forecast.seen < MEASURED_LAYERS and not self.forecast.complete
        return self.forecast.doubt ** (2.0 if few else 1.0)

    @property
    def most_seconds(self) -> float:
        """What the search takes if every varset is a node: all that is known of one that was not seen; infinity where
        linear programs go on instead."""
        if self.unknown == HOPELESS:
            return math.inf
        return 1e-9 * whole_lattice(self.variables) * max(self.edge_ns, EDGE_NS) if self.unknown else 0.0

    @property
    def layer_bytes(self) -> NDArray[np.float64]:
        """Bytes of the nodes while each layer is expanded: its own, the next one's, and what is left of all before."""
        if self.forecast is None:
            return np.zeros(1)
        nodes = self.forecast.nodes
        rows = 8.0 * np.arange(self.variables, self.variables - nodes.size, -1) if self.layered else 0.0
        layers = nodes * (self.node_bytes + rows)
        before = np.concatenate([[0.0], nodes.cumsum()[:-1]])
        return before * (self.node_bytes - NODE_BYTES + ANCESTOR_BYTES) + layers + np.append(layers[1:], 0.0)

    def memory(self, threads: int) -> int:
        """The memory budget, in bytes, with which all layers stay in memory: the search begins to write at half."""
        return max(self.least, self.fixed + _room_for(2.0 * float(self.layer_bytes.max()), threads))

    def fits(self, budgets: Granted) -> bool:
        """Whether all layers stay in memory."""
        return self.forecast is None or budgets.memory >= self.memory(budgets.threads)

    def spilled(self, budgets: Granted) -> float:
        """About how many nodes are in files only because memory is short."""
        if self.forecast is None:
            return 0.0
        room = max(1.0, Room(max(0, budgets.memory - self.fixed)).node_bytes(budgets.threads))
        return float(((1.0 - room / np.maximum(self.layer_bytes, room)) * self.forecast.nodes).sum())

    def search_seconds(self, budgets: Granted) -> float:
        """Seconds of the whole search."""
        if self.forecast is None:
            return 0.0
        guessed = float(self.forecast.edges[self.forecast.seen - 1 :].sum())
        return self.seconds + 1e-9 * (guessed * self.edge_ns + self.spilled(budgets) * SPILL_NS)

    def disk(self, budgets: Granted, seconds: float | None = None) -> float:
        """Bytes of its files at their peak: none if all stays in memory and the search is too short for a checkpoint,
        should it take so many seconds; by default those that are expected.

        Otherwise all nodes that are still needed are in files, and what the last checkpoint needs of an earlier layer.
        """
        committed = (self.search_seconds(budgets) if seconds is None else seconds) > COMMIT_SECONDS
        if self.forecast is None or (self.fits(budgets) and not committed):
            return 0.0
        earlier = (NODE_BYTES - ANCESTOR_BYTES) * float(self.forecast.nodes.max()) if committed else 0.0
        return HEADERS * (float(self.layer_bytes.max()) + earlier)


@dataclass(frozen=True)
class Estimate:
    """What a solve within `budgets` would need; `seconds`: what it took up to the searches.

    stopped: what the stop signal said, if it ended the estimate early.
    busy: the seconds of processors in each second that it took.
    begun: those that had gone before it, for what a solve does too: loading the program, reading.
    """

    budgets: Granted
    counting: Counting
    trials: tuple[Trial, ...]
    seconds: float
    stopped: str | None
    busy: float = 1.0
    begun: float = 0.0

    @property
    def complete(self) -> bool:
        """Whether there is a count or a guess for all that a solve does."""
        return self.counting.complete and not any(trial.unknown for trial in self.trials)

    @property
    def doubt(self) -> float:
        """The factor by which nodes, disk and the seconds of the searches may well be wrong; 1 if all were counted."""
        return max([1.0, *(trial.doubt for trial in self.trials)])

    @property
    def memory(self) -> int:
        """The memory budget, in bytes, with which all layers stay in memory."""
        return max([self.least_memory, *(trial.memory(self.budgets.threads) for trial in self.trials)])

    @property
    def least_memory(self) -> int:
        """The memory budget, in bytes, that the solve needs at all."""
        return max([MINIMUM_MEMORY, *(trial.least for trial in self.trials)])

    @property
    def disk(self) -> float:
        """Bytes of files at their peak; components are searched one after the other, beside the local scores if the
        solve is long enough for a checkpoint."""
        return self._disk(self.time)

    def _disk(self, seconds: float) -> float:
        """Bytes of files at their peak, should the solve take so long."""
        scores = SCORE_BYTES * self.counting.families if seconds > COMMIT_SECONDS else 0.0
        searches = seconds - self.seconds if seconds > self.time else None
        return scores + max([0.0, *(trial.disk(self.budgets, searches) for trial in self.trials)])

    @property
    def search_seconds(self) -> float:
        """Seconds of all searches."""
        return sum(trial.search_seconds(self.budgets) for trial in self.trials)

    @property
    def time(self) -> float:
        """Seconds of the whole solve; infinite if nobody can tell."""
        return self.seconds + self.counting.seconds_left + self.search_seconds

    @property
    def time_range(self) -> tuple[float, float]:
        """The least and the most seconds of the whole solve, if nothing is more wrong than `doubt` says; of what was
        not seen, none and what it takes at most, which may be infinite. The same work may take TIME_DOUBT times as
        long, or as short, another time."""
        most = self.seconds + self.search_seconds * self.doubt + sum(trial.most_seconds for trial in self.trials)
        if not self.counting.complete:
            most += self.counting.seconds_most + 1e-9 * whole_lattice(self.counting.variables) * EDGE_NS
        return (self.seconds + self.search_seconds / self.doubt) / TIME_DOUBT, most * TIME_DOUBT

    @property
    def cpu_seconds(self) -> float:
        """Seconds of processors of the whole solve, which do not depend on what else the machine does."""
        return self.begun + self.busy * self.time

    @property
    def cpu_range(self) -> tuple[float, float]:
        """The least and the most of these; see `time_range`."""
        least, most = self.time_range
        return self.begun + self.busy * least, self.begun + self.busy * most

    @property
    def memory_range(self) -> tuple[int, int]:
        """The least memory budget, in bytes, and that with which all layers stay in memory, or what is granted if that
        is not known: a solve never takes more."""
        return self.least_memory, self.memory if self.complete else max(self.least_memory, self.budgets.memory)

    @property
    def disk_range(self) -> tuple[float, float]:
        """The least and the most bytes of files at their peak; a solve never takes more than is granted."""
        if not self.complete:
            return 0.0, float(self.budgets.disk)
        return self.disk / self.doubt, self._disk(self.time_range[1]) * self.doubt


def whole_lattice(variables: int) -> float:
    """The edges of the order graph of so many variables, if none is pruned; infinite if these are not searched."""
    return variables * 2.0 ** (variables - 1) if variables <= WORD_BITS else math.inf


def _room_for(node_bytes: float, threads: int) -> int:
    """The least memory for nodes and tasks, to a megabyte, that leaves so many bytes to the nodes; an exabyte if that
    is too little."""
    megabytes = range(1, 1 << 40)
    at = bisect.bisect_left(megabytes, node_bytes, key=lambda size: Room(size << 20).node_bytes(threads))
    return megabytes[min(at, len(megabytes) - 1)] << 20


@dataclass(frozen=True)
class SumNeeds:
    """About what sums over all networks of so many variables take, by a prior: seconds of a processor, and bytes of
    memory or disk."""

    prior: str
    seconds: float
    bytes: int


def sum_needs(counting: Counting) -> tuple[SumNeeds, ...]:
    """What `posterior` takes beside counting, by each prior that all sets of variables can be gone through for; the
    most, where the variables fall into parts."""
    from extbnsl.posteriors import networks, orders  # with their kernels

    n = counting.variables
    found = list[SumNeeds]()
    if 0 < n <= networks.MOST_VARIABLES:
        size = max(n, networks.LOW + 1)
        found.append(SumNeeds(UNIFORM, networks.seconds_needed(size), networks.bytes_needed(size)))
    if 0 < n <= MOST_WHOLE:
        found.append(SumNeeds(ORDER, orders.seconds_needed(n, counting.families), orders.bytes_needed(n)))
    return tuple(found)
