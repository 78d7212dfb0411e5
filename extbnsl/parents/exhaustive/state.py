"""How far the enumeration of parent sets has come: immutable between two sizes of parent sets, ready to be stored."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.files.lists import FamilyLists
from extbnsl.kernels.varsets import words


@dataclass(frozen=True)
class Counts:
    """T of the counted varsets of one size: joint (m,) float64, and their places (b, 2) uint64, see ranks.py."""

    places: NDArray[np.uint64]
    joint: NDArray[np.float64]

    @property
    def columns(self) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
        """The kernels' arguments, in their order."""
        return self.places, self.joint


@dataclass(frozen=True)
class Level:
    """One level of the lattice: the counts below and here, and the children alive at each varset, (m, w) uint64."""

    size: int
    below: Counts
    here: Counts
    alive: NDArray[np.uint64]

    def arrays(self) -> dict[str, NDArray]:
        """All of it, to be stored."""
        return {
            "below_places": self.below.places,
            "below": self.below.joint,
            "here_places": self.here.places,
            "here": self.here.joint,
            "alive": self.alive,
        }


@dataclass(frozen=True)
class Child:
    """A child that is not finished: variables (m,) int64 that may be parents, ascending; pairs (m, m) uint8 of them.

    pairs[a, b]: whether some parent set with both may win; of variables alone on the diagonal.
    """

    index: int
    variables: NDArray[np.int64]
    pairs: NDArray[np.uint8]


@dataclass(frozen=True)
class Enumeration:
    """Families found so far: per child parents (m, w) uint64 and costs (m,), undominated, in score order.

    complete_to: every parent set of at most this many variables has been judged. varsets: how many were counted.
    stopped: why the enumeration ended before its time. done: no larger parent set can win. level: where the shared
    table goes on; children: where the search child by child does; neither at the start and at the end.
    """

    parents: FamilyLists
    costs: FamilyLists
    complete_to: int = -1
    varsets: int = 0
    families: int = 0
    stopped: str | None = None
    done: bool = False
    level: Level | None = None
    children: tuple[Child, ...] = ()

    @property
    def bytes(self) -> int:
        """Memory of what goes on to the next size."""
        level = () if self.level is None else self.level.arrays().values()
        pairs = (child.pairs for child in self.children)
        return self.families_bytes + sum(array.nbytes for array in (*level, *pairs))

    @property
    def families_bytes(self) -> int:
        return sum(array.nbytes for array in (*self.parents, *self.costs))

    def arrays(self) -> dict[str, NDArray]:
        """Everything but the families and the counters, to be stored."""
        found: dict[str, NDArray] = {}
        if self.level is not None:
            found |= self.level.arrays()
        if self.children:
            found |= {
                "children": np.array([child.index for child in self.children]),
                "candidates": np.array([child.variables.size for child in self.children]),
                "variables": np.concatenate([child.variables for child in self.children]),
                "pairs": np.concatenate([np.packbits(child.pairs) for child in self.children]),
            }
        return found

    def document(self) -> dict[str, Any]:
        """The counters, as JSON values."""
        return {"complete_to": self.complete_to, "varsets": self.varsets, "families": self.families}


def start_enumeration(n: int) -> Enumeration:
    """Before the first parent set of any of n children."""
    return Enumeration((np.zeros((0, words(n)), np.uint64),) * n, (np.zeros(0),) * n)


def stored_enumeration(
    document: Mapping[str, Any], parents: FamilyLists, costs: FamilyLists, arrays: Mapping[str, NDArray]
) -> Enumeration:
    """The enumeration of which these are the document, the families and the arrays."""
    level = None
    if "alive" in arrays:
        below, here = (Counts(arrays[f"{name}_places"], arrays[name]) for name in ("below", "here"))
        level = Level(document["complete_to"] + 1, below, here, arrays["alive"])
    children = _children(arrays) if "children" in arrays else ()
    return Enumeration(parents, costs, level=level, children=children, **document)


def _children(arrays: Mapping[str, NDArray]) -> tuple[Child, ...]:
    sizes = arrays["candidates"]
    variables = np.split(arrays["variables"], np.cumsum(sizes)[:-1])
    packed = np.split(arrays["pairs"], np.cumsum(-(-(sizes**2) // 8))[:-1])
    return tuple(
        Child(index, own, np.unpackbits(bits, count=own.size**2).reshape(own.size, own.size))
        for index, own, bits in zip(arrays["children"].tolist(), variables, packed, strict=True)
    )
