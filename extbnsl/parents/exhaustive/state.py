"""How far the enumeration of parent sets has come: immutable, ready to be stored, at any moment of a size."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.codec import Whole, Within
from extbnsl.core.events import Observer
from extbnsl.files.arrays import StoredFile
from extbnsl.files.shelf import Column, FamilyLists, Shelf
from extbnsl.kernels.varsets import words
from extbnsl.machine.workers import Workers
from extbnsl.parents.exhaustive.lattice import Counts
from extbnsl.parents.priced.prices import Prices, Stage

if TYPE_CHECKING:
    from extbnsl.parents.exhaustive.children import Child


@dataclass(frozen=True)
class Means:
    """What an enumeration works with: threads, a shelf for what lasts, and who hears how far it is."""

    workers: Workers
    shelf: Shelf
    observer: Observer


@dataclass(frozen=True)
class Counters:
    """How far an enumeration is, without its arrays.

    complete_to, singles, varsets, families, paired, parts, group: as of an Enumeration.
    ahead: how many of its children are.
    filled: how many rows of the columns of the next level are known.
    pricing: the stage of its prices, if it has some.
    """

    complete_to: Annotated[int, Within(-1)]
    singles: bool
    varsets: Whole
    families: Whole
    paired: bool
    parts: Whole
    group: Whole
    ahead: Whole
    filled: Whole
    pricing: Stage | None


@dataclass(frozen=True)
class StoredEnumeration:
    """An enumeration in files: its counters, the files of its families, and of its arrays with their lengths."""

    counters: Counters
    families: tuple[StoredFile, ...]
    arrays: tuple[StoredFile, ...]
    lengths: dict[str, Whole]

    @property
    def files(self) -> tuple[StoredFile, ...]:
        return self.families + self.arrays


@dataclass(frozen=True)
class Filled:
    """A column of which the first `rows` rows are known; they do not change any more."""

    column: Column
    rows: int

    @property
    def known(self) -> NDArray:
        return self.column.array()[: self.rows]

    @property
    def length(self) -> int:
        return int(self.column.array().shape[0])


@dataclass(frozen=True)
class Level:
    """One level of the lattice: the counts below and here, and the children alive at each varset, (m, w) uint64.

    And what is known of the next level: the places of its varsets, (b, 2) uint64, T of some of them; then the children
    for which parent sets of this level may be extended; then those alive at the next level. Each is begun when the one
    before is complete. While the last level is judged there are only the places.
    """

    size: int
    below: Counts
    here: Counts
    alive: NDArray
    places: NDArray[np.uint64] | None = None
    joint: Filled | None = None
    extend: Filled | None = None
    following: Filled | None = None

    @property
    def above(self) -> Counts:
        """The counts of the next level, all of which are known."""
        assert self.places is not None, "its varsets are marked"
        assert self.joint is not None, "its varsets are counted"
        return Counts(self.places, self.joint.column.array())

    def columns(self) -> dict[str, NDArray | Filled]:
        """All of it, to be stored, by names that tell the content: the number is that of the level."""
        below, here, above = (f"{max(0, self.size + k):02}" for k in (-1, 0, 1))
        found: dict[str, NDArray | Filled | None] = {
            f"{below}-places": self.below.places,
            f"{below}-joint": self.below.joint,
            f"{here}-places": self.here.places,
            f"{here}-joint": self.here.joint,
            f"{here}-alive": self.alive,
            f"{above}-places": self.places,
            f"{above}-joint": self.joint,
            f"{here}-extend": self.extend,
            f"{above}-ready": self.following,
        }
        return {name: column for name, column in found.items() if column is not None}


@dataclass(frozen=True)
class Enumeration:
    """Families found so far: per child parents (m, w) uint64 and costs (m,), those that are wanted, in score order.

    Which families are wanted, the problem says (CountingProblem: its slack, its limits); whoever goes on from this does
    so with the same problem.

    complete_to: every parent set of at most this many variables has been judged. singles: whether every parent set of
    one variable has been costed at least. varsets, families: how many were counted and found. stopped: why the
    enumeration ended before its time. done: no larger parent set can win. level: where the shared table goes on; if it
    is the last one, `parts` of its varsets have been judged.

    children: where the search child by child does, those to be judged at the next size; ahead: those that have been,
    as they will be at the size after; paired: whether the pairs of `children` are known for that size; parts: how many
    tasks of the first of `children` are over, and `pairs` (m, m) uint8 those of its variables that they found alive.
    Neither level nor children at the start and at the end. group: what does not share the lattice of most children is
    judged after it, group by group; this is the one that all of this is about.

    prices: where only families are wanted that a network cheaper than the best known one can have, those of the round
    that is on, or was the last: `children` are those that it has still to search.
    """

    parents: FamilyLists
    costs: FamilyLists
    complete_to: int = -1
    singles: bool = False
    varsets: int = 0
    families: int = 0
    stopped: str | None = None
    done: bool = False
    level: Level | None = None
    children: "tuple[Child, ...]" = ()
    ahead: "tuple[Child, ...]" = ()
    paired: bool = False
    parts: int = 0
    pairs: NDArray[np.uint8] | None = None
    group: int = 0
    prices: Prices | None = None

    @property
    def version(self) -> int:
        """What tells the arrays of a size apart as the search goes on."""
        if self.level is not None:
            return self.group
        turn = self.group if self.prices is None else self.prices.stage.round + 1
        return (turn << 40) + ((len(self.children) + 1) << 16) + (self.paired << 15) + self.parts

    def _stored(self) -> Mapping[str, NDArray | Filled]:
        """Everything but the families and the counters, to be stored, by names that begin with a size."""
        if self.level is not None:
            return self.level.columns()
        everyone, size = (*self.children, *self.ahead), f"{self.complete_to + 1:02}"
        priced = {} if self.prices is None else {f"{size}-{name}": own for name, own in self.prices.arrays.items()}
        if not everyone:
            return priced
        pairs = [np.packbits(child.pairs) for child in everyone]
        return priced | {
            f"{size}-children": np.array([child.index for child in everyone]),
            f"{size}-candidates": np.array([child.variables.size for child in everyone]),
            f"{size}-variables": np.concatenate([child.variables for child in everyone]),
            f"{size}-pairs": np.concatenate(pairs),
            f"{size}-paired": np.zeros(0, np.uint8) if self.pairs is None else np.packbits(self.pairs),
        }

    def columns(self) -> dict[str, tuple[NDArray, int]]:
        """What is known of each of these, and how long it will be when it is complete."""
        return {
            name: (own.known, own.length) if isinstance(own, Filled) else (own, len(own))
            for name, own in self._stored().items()
        }

    @property
    def counters(self) -> Counters:
        """How far it is."""
        level = self.level
        columns = () if level is None else (level.joint, level.extend, level.following)
        filled = sum(column.rows for column in columns if column is not None)
        known = self.complete_to, self.singles, self.varsets, self.families, self.paired, self.parts, self.group
        return Counters(*known, len(self.ahead), filled, None if self.prices is None else self.prices.stage)


def start_enumeration(n: int) -> Enumeration:
    """Before the first parent set of any of n children."""
    return Enumeration((np.zeros((0, words(n)), np.uint64),) * n, (np.zeros(0),) * n)
