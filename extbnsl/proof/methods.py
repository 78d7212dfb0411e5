"""How optimality is proved."""

from dataclasses import dataclass
from typing import Annotated

from extbnsl.core.options import Option, Options

LOWER_BOUNDS = ("static", "pattern", "clusters", "auto")
PARENT_GRAPHS = ("sparse", "layered")
LARGEST_SEED = 2**32 - 1  # steps add their numbers to it, and kernels take 64 bits
SEED = Option("seed of the randomised steps", "S", most=LARGEST_SEED)
LOWER_BOUND = Option(
    "the bound that guides the search: best parents alone, pattern databases, cluster multipliers, or the maximum of "
    "the last two; the optimum is the same with each",
    choices=LOWER_BOUNDS,
)


@dataclass(frozen=True)
class Methods(Options):
    """How optimality is proved; any choice proves the same.

    fixing: whether families that no better network can have are dropped. ancestral: whether that is looked at for each
    node too, and which of its successors are enough, where it pays. parent_graph: 'layered' as in Malone et al. 2011
    has the same layers and takes more time, memory and disk. polish: None is where a search would be large.
    """

    lower_bound: Annotated[str, LOWER_BOUND] = "auto"
    fixing: Annotated[
        bool,
        Option(
            "drop the parent sets that no better network can have",
            off="keep the parent sets that no better network can have, for experiments",
        ),
    ] = True
    ancestral: Annotated[
        bool,
        Option(
            "look at each node for what it need not expand, where that pays",
            off="do not look at each node for what it need not expand, for experiments (otherwise where that pays)",
        ),
    ] = True
    path_extension: Annotated[
        bool,
        Option("use optimal path extension", off="search without optimal path extension, for experiments"),
    ] = True
    parent_graph: Annotated[
        str,
        Option(
            "how the best parents inside a set are found: from the sorted parent sets, or from a table for each layer, "
            "as in the literature; the optimum is the same with each",
            choices=PARENT_GRAPHS,
        ),
    ] = "sparse"
    polish: Annotated[
        bool | None,
        Option(
            "make the cluster multipliers as good as they can be, by linear programming: some seconds more at the "
            "root, far fewer nodes",
            default="if a search of a second or more is expected",
        ),
    ] = None
    seed: Annotated[int, SEED] = 0

    @property
    def clusters(self) -> bool:
        """Whether there are cluster multipliers."""
        return self.lower_bound in ("clusters", "auto")

    @property
    def patterns(self) -> bool:
        """Whether there are pattern databases."""
        return self.lower_bound in ("pattern", "auto")
