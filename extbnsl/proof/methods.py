"""How optimality is proved."""

from dataclasses import asdict, dataclass
from typing import Any

from extbnsl.core.arguments import check_switch, check_whole
from extbnsl.core.errors import InputError

LOWER_BOUNDS = ("static", "pattern", "clusters", "auto")
PARENT_GRAPHS = ("sparse", "layered")
LARGEST_SEED = 2**32 - 1  # steps add their numbers to it, and kernels take 64 bits


@dataclass(frozen=True)
class Methods:
    """How optimality is proved; any choice proves the same.

    lower_bound: 'static', 'pattern' (databases), 'clusters' or 'auto', the maximum of the last two. fixing: whether
    families that no better network can have are dropped; ancestral: whether that is looked at for each node too, and
    which of its successors are enough, where it pays. path_extension: whether optimal paths are extended. parent_graph:
    'sparse', or 'layered' as in Malone et al. 2011, which has the same layers and takes more time, memory and disk.
    polish: whether an LP makes the cluster multipliers better; None: where a search would be large, if the library is
    there. seed: of the randomised steps.
    """

    lower_bound: str = "auto"
    fixing: bool = True
    ancestral: bool = True
    path_extension: bool = True
    parent_graph: str = "sparse"
    polish: bool | None = None
    seed: int = 0

    @property
    def clusters(self) -> bool:
        """Whether there are cluster multipliers."""
        return self.lower_bound in ("clusters", "auto")

    @property
    def patterns(self) -> bool:
        """Whether there are pattern databases."""
        return self.lower_bound in ("pattern", "auto")

    def check(self) -> None:
        """Raise InputError for values that cannot be."""
        if self.lower_bound not in LOWER_BOUNDS:
            raise InputError(f"lower_bound: {self.lower_bound!r} is not known; use one of {', '.join(LOWER_BOUNDS)}.")
        if self.parent_graph not in PARENT_GRAPHS:
            raise InputError(
                f"parent_graph: {self.parent_graph!r} is not known; use one of {', '.join(PARENT_GRAPHS)}."
            )
        for name in ("fixing", "ancestral", "path_extension"):
            check_switch(name, getattr(self, name))
        if self.polish is not None:
            check_switch("polish", self.polish)
        check_whole("seed", self.seed, 0, LARGEST_SEED)

    def document(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return asdict(self)
