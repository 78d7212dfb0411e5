"""A network with its tables, as files of other programs have it: what their formats have in common."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.errors import InputError, VerificationError
from extbnsl.networks.network import Network

ROUNDING = 0.015  # by which probabilities of two digits miss a sum of 1, as three times 0.33 do
NOISE = 1e-6  # by which a program of single precision may miss 0
LARGEST_NUMBER = 1e300  # of a row that is divided by its sum
LONGEST_SHOWN = 40  # characters of what is no number
LARGEST_TABLES = 1 << 26  # probabilities of all tables together; a `default` promises many in a small file

Table = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TabledNetwork:
    """A network of discrete variables with its tables of probabilities.

    Attributes
    ----------
    network : Network
        The variables, in the order of the file, and their parents.
    states : tuple of tuple of str
        The labels of the states of each variable.
    tables : tuple of array
        Of each variable the probabilities, float64 of shape (arities of its parents, in ascending order, then its own
        arity). Rows along the last axis are as in the file: they sum to 1 within 0.015.
    """

    network: Network
    states: tuple[tuple[str, ...], ...]
    tables: tuple[Table, ...]


@dataclass(frozen=True)
class Source:
    """A file that is read, to be named in what is wrong with it; `line_of` finds the line of a place in it."""

    path: str
    line_of: Callable[[int], int]

    def fault(self, what: str, at: int) -> InputError:
        """The failure to be raised for what stands at a place."""
        return InputError(f"{self.path}, line {self.line_of(at)}: {what}.")

    def probabilities(self, words: Sequence[str], count: int, at: int, most: float = 1 + ROUNDING) -> Table:
        """These numbers, which must be `count` probabilities, or what is proportional to them: up to `most`."""
        if len(words) != count:
            raise self.fault(f"expected {count} probabilities, found {len(words)}", at)
        with suppress(ValueError):
            found = np.array([float(word) for word in words])
            if np.all((found >= -NOISE) & (found <= most)):
                return np.maximum(found, 0.0)
        wrong = next(word for word in words if not _is_within(word, most))
        bounds = "from 0 to 1" if most < 2 else "of at least 0"
        raise self.fault(f"expected numbers {bounds}, found {wrong[:LONGEST_SHOWN]!r}: correct it", at)


Fill = Callable[[Sequence[Sequence[str]]], Table]


class Family(NamedTuple):
    """The probabilities of a variable, and their place in the file.

    parents: in the order of the file. fill: makes the table of the states of the parents, in this order, and those of
    the variable, a list for each; its axes are in the same order.
    """

    at: int
    parents: Sequence[str]
    fill: Fill


@dataclass(frozen=True)
class Declared:
    """What a file declares: the states of its variables, in their order, and their families."""

    source: Source
    states: dict[str, Sequence[str]] = field(default_factory=dict)
    families: dict[str, Family] = field(default_factory=dict)

    def variable(self, name: str, labels: Sequence[str], at: int) -> None:
        """A variable with the labels of its states; InputError if it cannot be."""
        if name in self.states:
            raise self.source.fault(f"the variable {name!r} is declared twice: remove one", at)
        if not labels:
            raise self.source.fault(f"the variable {name!r} has no states: declare them", at)
        twice = _repeated(labels)
        if twice is not None:
            raise self.source.fault(f"the variable {name!r} has the state {twice!r} twice: rename one", at)
        self.states[name] = labels

    def family(self, child: str, family: Family) -> None:
        """The probabilities of a variable; InputError if they are there already."""
        if child in self.families:
            raise self.source.fault(f"{child!r} has probabilities twice: remove one block", family.at)
        self.families[child] = family

    def network(self) -> TabledNetwork:
        """All that is declared; InputError if something lacks, does not fit, or is no network."""
        path = self.source.path
        if not self.states:
            raise InputError(f"{path} declares no variable: is it a file of a network?")
        self._check_families()
        without = next((name for name in self.states if name not in self.families), None)
        if without is not None:
            raise InputError(f"{path} has no probabilities of {without!r}: add them.")
        parents = {child: family.parents for child, family in self.families.items()}
        network = Network.from_names(list(self.states), parents)
        tables = tuple(self._table(name) for name in self.states)
        try:
            network.order()
        except VerificationError as error:
            raise InputError(f"Correct the parents in {path}: {error}") from None
        return TabledNetwork(network, tuple(map(tuple, self.states.values())), tables)

    def _check_families(self) -> None:
        """Raise InputError for a name that is not declared, a parent given twice, and tables that are too large."""
        total = 0
        for child, family in self.families.items():
            for name in (child, *family.parents):
                if name not in self.states:
                    raise self.source.fault(
                        f"the variable {name!r} is not declared: correct the name or declare it", family.at
                    )
            twice = _repeated(family.parents)
            if twice is not None:
                raise self.source.fault(f"the parent {twice!r} of {child!r} is given twice: remove one", family.at)
            total += math.prod(len(self.states[name]) for name in (child, *family.parents))
            if total > LARGEST_TABLES:
                raise self.source.fault(
                    f"the tables up to that of {child!r} have {total:,} probabilities, more than {LARGEST_TABLES:,}: "
                    "leave out parents",
                    family.at,
                )

    def _table(self, child: str) -> Table:
        """The table of a variable, its parents in the order of the variables."""
        family = self.families[child]
        labels = [self.states[name] for name in (*family.parents, child)]
        table = family.fill(labels)
        self._check_sums(child, family, labels, table)
        place = {name: i for i, name in enumerate(self.states)}
        order = sorted(range(len(family.parents)), key=lambda k: place[family.parents[k]])
        return np.ascontiguousarray(table.transpose(*order, len(order)))

    def _check_sums(self, child: str, family: Family, labels: Sequence[Sequence[str]], table: Table) -> None:
        """Raise InputError, naming the first configuration that has no row or whose row does not sum to 1."""
        sums = table.sum(axis=-1)
        wrong = np.argwhere(~(np.abs(sums - 1) <= ROUNDING))
        if len(wrong) == 0:
            return
        at = tuple(wrong[0].tolist())
        states = (known[code] for known, code in zip(labels, at, strict=False))
        given = ", ".join(f"{parent} = {state}" for parent, state in zip(family.parents, states, strict=True))
        whose = f"{child!r} given ({given})" if given else repr(child)
        if np.isnan(sums[at]):
            raise self.source.fault(f"there are no probabilities of {whose}: add them", family.at)
        raise self.source.fault(
            f"the probabilities of {whose} sum to {sums[at]:.6g} instead of 1: correct them", family.at
        )


def in_rows(source: Source, words: Sequence[str], at: int, proportional: bool = False) -> Fill:
    """What makes a table of all its numbers, the variable itself changing fastest, then its last parent.

    proportional: whether rows may sum to anything but 0; those that do not sum to 1 are divided by their sum.
    """

    def fill(labels: Sequence[Sequence[str]]) -> Table:
        shape = tuple(map(len, labels))
        if not proportional:
            return source.probabilities(words, math.prod(shape), at).reshape(shape)
        table = source.probabilities(words, math.prod(shape), at, LARGEST_NUMBER).reshape(shape)
        sums = table.sum(axis=-1, keepdims=True)
        return np.where((np.abs(sums - 1) <= ROUNDING) | (sums == 0.0), table, table / np.where(sums > 0.0, sums, 1.0))

    return fill


def _is_within(word: str, most: float) -> bool:
    try:
        return -NOISE <= float(word) <= most
    except ValueError:
        return False


def _repeated(names: Sequence[str]) -> str | None:
    """The first name that occurs twice, or None."""
    return next((name for name, count in Counter(names).items() if count > 1), None)
