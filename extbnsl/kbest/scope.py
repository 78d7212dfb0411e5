"""Which networks are asked for, and by which methods. Light: the command line imports this for the words."""

import math
from dataclasses import dataclass
from typing import Annotated

from extbnsl.core.errors import InputError
from extbnsl.core.options import Option, Options
from extbnsl.proof.methods import Methods

LARGEST_FACTOR = 1e300
KEEPS_ONE = ("path_extension", "ancestral")  # methods that keep one of several best networks
ALL = Methods(path_extension=False, ancestral=False)  # those that keep every network
MOST_LISTED = 100_000  # networks within a factor, unless another number is asked for


@dataclass(frozen=True)
class Scope(Options):
    """The k best networks, or all whose weight is at least that of the best over `within_factor`, or the k best of
    these. Of those within a factor not more than MOST_LISTED are listed unless k says so; all are counted.

    classes: equivalence classes in the place of networks, each by one of its members. top: so many of the best get
    files of their own, and the best one in any case.
    """

    k: Annotated[int | None, Option("how many networks", "K", least=1)] = None
    within_factor: Annotated[
        float | None,
        Option(
            "networks whose weight is at least that of the best divided by F, 1 or more; the k best of these are "
            f"listed, or {MOST_LISTED:,}, and all are counted",
            "F",
        ),
    ] = None
    classes: Annotated[bool, Option("the best Markov equivalence classes, each by one of its networks")] = False
    top: Annotated[int, Option("write the M best to network.*, network-2.* and so on", "M")] = 10

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
        super().check()
        if self.within_factor is not None and not 1.0 <= self.within_factor <= LARGEST_FACTOR:
            raise InputError(f"within_factor: {self.within_factor} is not a factor; give 1 or more.")
