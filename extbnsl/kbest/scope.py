"""Which networks are asked for. Light: the command line imports this for the words."""

import math
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from extbnsl.core.arguments import check_switch, check_whole
from extbnsl.core.codec import Whole, Within
from extbnsl.core.errors import InputError

LARGEST_FACTOR = 1e300
MOST_LISTED = 100_000  # networks within a factor, unless another number is asked for


@dataclass(frozen=True)
class Scope:
    """The k best networks, or all whose weight is at least that of the best over `within_factor`, or the k best of
    these. Of those within a factor not more than MOST_LISTED are listed unless k says so; all are counted.

    classes: equivalence classes in the place of networks, each by one of its members. top: so many of the best get
    files of their own, and the best one in any case.
    """

    k: Annotated[int, Within(1)] | None = None
    within_factor: float | None = None
    classes: bool = False
    top: Whole = 10

    @property
    def slack(self) -> float | None:
        """How much more than the best a network may cost, in nats; None if that is open."""
        return None if self.within_factor is None else math.log(self.within_factor)

    @property
    def most(self) -> int | None:
        """How many networks are listed at most; None if as many as it takes."""
        return None if self.classes else self.k or MOST_LISTED

    def check(self) -> None:
        """Raise InputError for values that cannot be."""
        if self.k is None and self.within_factor is None:
            raise InputError("k: say how many networks are wanted, or within which factor of the best.")
        if self.k is not None:
            check_whole("k", self.k, 1)
        if self.within_factor is not None and not 1.0 <= self.within_factor <= LARGEST_FACTOR:
            raise InputError(f"within_factor: {self.within_factor} is not a factor; give 1 or more.")
        check_switch("classes", self.classes)
        check_whole("top", self.top, 0)

    def document(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return asdict(self)
