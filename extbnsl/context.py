"""What the stages of one solve share, and the one statement of how exact a proof is."""

from dataclasses import dataclass

from extbnsl.commits import Commits
from extbnsl.events import Observer
from extbnsl.shelf import Shelf
from extbnsl.stages import Stages
from extbnsl.standing import Standing
from extbnsl.workers import Workers


@dataclass(frozen=True)
class Methods:
    """How optimality is proved; any choice proves the same.

    lower_bound: 'static', 'pattern' (databases), 'clusters' or 'auto', the maximum of the last two. fixing: whether
    families that no better network can have are dropped; ancestral: whether that is looked at for each node too, and
    which of its successors are enough, where it pays. parent_graph: 'sparse' or 'layered'. polish: whether an LP makes
    the cluster multipliers better; None: where a search would be large, if the library is there.
    """

    lower_bound: str = "auto"
    fixing: bool = True
    ancestral: bool = True
    path_extension: bool = True
    parent_graph: str = "sparse"
    polish: bool | None = None

    @property
    def clusters(self) -> bool:
        """Whether there are cluster multipliers."""
        return self.lower_bound in ("clusters", "auto")


@dataclass(frozen=True)
class Context:
    """What the stages of one solve share; memory in bytes, of which the shelf may hold some."""

    workers: Workers
    stages: Stages
    observer: Observer
    memory: int
    seed: int
    methods: Methods
    commits: Commits
    shelf: Shelf

    @property
    def memory_left(self) -> int:
        """Bytes that the shelf does not hold."""
        return self.memory - self.shelf.held

    @property
    def standing(self) -> Standing:
        return self.commits.standing


def tolerance(upper_bound: float) -> float:
    """How much cheaper than the incumbent a network must be to count, in nats: the proof holds within this."""
    return 1e-9 * abs(upper_bound) + 1e-9
