"""The steps of a certificate that every proof is made of: passes and searches; see `certificate`."""

from dataclasses import dataclass
from typing import Any

from extbnsl.core.codec import Misfit, encode

Cut = tuple[tuple[str, ...], ...]  # the names of the clusters of a cut, one cluster or three


class Wholes(tuple[int, ...]):
    """Whole numbers; of these a document may have millions."""

    __slots__ = ()

    @classmethod
    def from_document(cls, value: Any) -> "Wholes":
        """Those of a JSON list; Misfit if it is none."""
        if not (isinstance(value, list) and all(type(one) is int for one in value)):
            raise Misfit
        return cls(value)

    def document(self) -> list[int]:
        """As a JSON value."""
        return list(self)


@dataclass(frozen=True)
class Pass:
    """Multipliers for the families that are left. Without cuts it says that every child has its cheapest family."""

    cuts: tuple[Cut, ...]
    multipliers: Wholes  # of each cut, in units


NO_CUTS = Pass((), Wholes())


@dataclass(frozen=True)
class Search:
    """Some variables, whose families cost at least so much, as going through their orders shows."""

    variables: tuple[str, ...]
    lower_bound: float  # in nats
    guide: Pass  # the multipliers that bound what is left

    def document(self) -> dict[str, Any]:
        """As a JSON value, in which the guide is no part of its own."""
        return {"variables": list(self.variables), "lower_bound": self.lower_bound, **encode(self.guide)}
