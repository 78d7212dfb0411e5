"""How optimality is proved."""

from dataclasses import dataclass

from extbnsl.bounds.lp.polish import load_highs
from extbnsl.errors import InputError

LOWER_BOUNDS = ("static", "pattern", "clusters", "auto")
PARENT_GRAPHS = ("sparse", "layered")


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


def check_options(
    max_parents: int | None,
    threads: int | None,
    memory: int | None,
    disk: int | None,
    time_limit: float | None,
    lower_bound: str,
    parent_graph: str,
    polish: bool | None,
) -> None:
    """Raise InputError for arguments that `solve` cannot use."""
    if max_parents is not None and max_parents < 0:
        raise InputError(f"max_parents: {max_parents} is negative; give 0 or more.")
    if threads is not None and threads < 1:
        raise InputError(f"threads: {threads} is too few; give 1 or more.")
    if memory is not None and memory < 1:
        raise InputError(f"memory: {memory} bytes is too little; give a size such as '2GiB'.")
    if disk is not None and disk < 1:
        raise InputError(f"disk: {disk} bytes is too little; give a size such as '40GiB'.")
    if time_limit is not None and not time_limit > 0:
        raise InputError(f"time_limit: {time_limit} is not a positive number of seconds.")
    if lower_bound not in LOWER_BOUNDS:
        raise InputError(f"lower_bound: {lower_bound!r} is not known; use one of {', '.join(LOWER_BOUNDS)}.")
    if parent_graph not in PARENT_GRAPHS:
        raise InputError(f"parent_graph: {parent_graph!r} is not known; use one of {', '.join(PARENT_GRAPHS)}.")
    if polish:
        load_highs()
