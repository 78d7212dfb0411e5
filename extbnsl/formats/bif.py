"""BIF, the Bayesian Interchange Format 0.15, read as repositories of networks have it, and as `bif_writer` writes it.

The format leaves much to the writer, and we take what is in use: commas and bars are blanks, names and labels may stand
in double quotes, blocks come in any order, and properties and comments are passed over. A table is a row for each
configuration of the parents, or `table` with all numbers, the child changing slowest and the last parent fastest;
`default` is the row of all configurations that have none.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from os import PathLike
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.codec import json_value
from extbnsl.core.errors import InputError, VerificationError
from extbnsl.data.text import Reading, text_blocks
from extbnsl.files.atomic import open_given
from extbnsl.networks.network import Network

ROUNDING = 0.015  # by which probabilities of two digits miss a sum of 1, as three times 0.33 do
LARGEST_TABLE = 1 << 26  # probabilities; only `default` can promise so many in a small file

_WORD = re.compile(r'//[^\n]*|/\*.*?\*/|"([^"]*)"|([{}()\[\];]|[^\s,|{}()\[\];"]+)', re.DOTALL)
_ORIGINAL = re.compile(r"^// (\{.*\})\r?$", re.MULTILINE)

States = dict[str, list[str]]  # by variable, in the order of the file


@dataclass(frozen=True, eq=False)
class BifNetwork:
    """A network and its parameters, as `bif_text` takes them.

    `states[i]` are the labels of variable i; `tables[i]` has shape (*arities of its parents, its arity), float64, with
    the parents in ascending order. The rows along the last axis are as in the file: they sum to 1 within ROUNDING.
    """

    network: Network
    states: tuple[tuple[str, ...], ...]
    tables: tuple[NDArray[np.float64], ...]


def read_bif(path: str | PathLike[str], reading: Reading | None = None) -> BifNetwork:
    """The network in a BIF file, plain or gzip, its variables in the order of the file; about 1 s per million words.

    Where a comment of `bif_text` tells the original of a name or a label, that is what comes back. Raises InputError,
    naming the line, for what is no BIF, names that are not declared, tables that lack a row or do not sum to 1, and
    cycles.
    """
    text = b"".join(text_blocks(path, reading or Reading(), open_given)).decode()
    words = _Words(path, text)
    states, families = _blocks(words)
    if not states:
        raise InputError(f"{path} declares no variable: is it a BIF file?")
    without = next((name for name in states if name not in families), None)
    if without is not None:
        raise InputError(f"{path} has no probabilities of {without!r}: add them.")
    network = Network.from_names(list(states), {child: family.parents for child, family in families.items()})
    tables = tuple(_table(words, families[name], states) for name in states)
    try:
        network.order()
    except VerificationError as error:
        raise InputError(f"Correct the parents in {path}: {error}") from None
    return _with_originals(BifNetwork(network, tuple(map(tuple, states.values())), tables), text)


class _Row(NamedTuple):
    """A row of a table: where it begins, whether it is a `table`, a `default` or (what begins with) `(`, the labels of
    the parents, and the probabilities."""

    at: int
    kind: str
    given: list[str]
    numbers: list[str]


class _Family(NamedTuple):
    """A block of probabilities, and where it begins; `parents` in the order of the file."""

    at: int
    child: str
    parents: list[str]
    rows: list[_Row]


class _Words:
    """The words and marks of a text, one after the other; `at` is where the last one begins."""

    def __init__(self, path: str | PathLike[str], text: str) -> None:
        self.at = 0
        self._path, self._text = path, text
        self._matches = (match for match in _WORD.finditer(text) if match.lastindex)

    def __iter__(self) -> Iterator[str]:
        for match in self._matches:
            self.at = match.start()
            yield match[match.lastindex or 0]

    def next(self, wanted: str = "") -> str:
        """The next word, which must be `wanted`, if that is given."""
        word = next(iter(self), None)
        if word is None:
            raise InputError(f"{self._path} ends in the middle of a block: copy it again.")
        if wanted and word != wanted:
            raise self.fault(f"expected {wanted!r}, found {word!r}")
        return word

    def until(self, end: str) -> list[str]:
        """The words before the next `end`, which is passed over."""
        found = []
        while (word := self.next()) != end:
            found.append(word)
        return found

    def fault(self, what: str, at: int | None = None) -> InputError:
        """The failure to be raised for the word at `at`, by default the last one."""
        line = self._text.count("\n", 0, self.at if at is None else at) + 1
        return InputError(f"{self._path}, line {line}: {what}.")


def _blocks(words: _Words) -> tuple[States, dict[str, _Family]]:
    """What the blocks of a file say: the states of its variables, and the families by child."""
    states: States = {}
    families: dict[str, _Family] = {}
    for kind in words:
        if kind == "network":
            words.until("{")
            words.until("}")
        elif kind == "variable":
            name = words.next()
            if name in states:
                raise words.fault(f"the variable {name!r} is declared twice: remove one")
            states[name] = _states(words, name)
        elif kind == "probability":
            family = _family(words)
            if family.child in families:
                raise words.fault(f"{family.child!r} has probabilities twice: remove one block", family.at)
            families[family.child] = family
        else:
            raise words.fault(f"expected 'network', 'variable' or 'probability', found {kind!r}")
    _check_names(words, states, families)
    return states, families


def _states(words: _Words, name: str) -> list[str]:
    """The states that the block of a variable declares."""
    words.next("{")
    labels: list[str] = []
    while (word := words.next()) != "}":
        at, statement = words.at, words.until(";")
        if word == "type":
            labels = statement[5:-1]
            expected = ["discrete", "[", str(len(labels)), "]", "{", *labels, "}"]
            if statement != expected or len(set(labels)) < len(labels):
                raise words.fault(f"expected 'type discrete [ k ] {{ k different states }}' of {name!r}", at)
    if not labels:
        raise words.fault(f"the variable {name!r} has no states: declare them by 'type discrete'")
    return labels


def _family(words: _Words) -> _Family:
    """A block of probabilities, below its first word."""
    at = words.at
    words.next("(")
    names = words.until(")")
    if not names:
        raise words.fault("expected the name of a variable, found ')'")
    words.next("{")
    rows = []
    while (word := words.next()) != "}":
        row = _Row(words.at, word, words.until(")") if word == "(" else [], words.until(";"))
        if word in ("(", "table", "default"):
            rows.append(row)
        elif word != "property":
            raise words.fault(f"expected '(', 'table' or 'default', found {word!r}", row.at)
    return _Family(at, names[0], names[1:], rows)


def _check_names(words: _Words, states: States, families: Mapping[str, _Family]) -> None:
    """Raise InputError for a name that no block declares, and for a parent given twice."""
    for family in families.values():
        for name in (family.child, *family.parents):
            if name not in states:
                raise words.fault(f"the variable {name!r} is not declared: correct the name or declare it", family.at)
        if len(set(family.parents)) < len(family.parents):
            raise words.fault(f"a parent of {family.child!r} is given twice: remove one", family.at)


def _table(words: _Words, family: _Family, states: States) -> NDArray[np.float64]:
    """The probabilities of a family, parents in the order of the variables; InputError unless every row sums to 1."""
    labels = [states[parent] for parent in family.parents]
    arities, arity = [len(row) for row in labels], len(states[family.child])
    if math.prod(arities) * arity > LARGEST_TABLE:
        raise words.fault(f"the table of {family.child!r} is too large: leave out parents", family.at)
    table = np.full((*arities, arity), np.nan)
    for row in sorted(family.rows, key=lambda row: row.kind != "default"):  # the others replace it
        probabilities = _probabilities(words, row, table.size if row.kind == "table" else arity)
        if row.kind == "table":
            table = np.moveaxis(probabilities.reshape(arity, *arities), 0, -1).copy()
        else:
            table[... if row.kind == "default" else _configuration(words, row, labels)] = probabilities
    _check_sums(words, family, labels, table)
    place = {name: i for i, name in enumerate(states)}
    order = sorted(range(len(arities)), key=lambda k: place[family.parents[k]])
    return np.ascontiguousarray(table.transpose(*order, len(arities)))


def _probabilities(words: _Words, row: _Row, count: int) -> NDArray[np.float64]:
    """The numbers of a row, which must be `count` probabilities."""
    if len(row.numbers) != count:
        raise words.fault(f"expected {count} probabilities, found {len(row.numbers)}", row.at)
    with suppress(ValueError):
        found = np.array([float(word) for word in row.numbers])
        if np.all((found >= 0) & (found <= 1 + ROUNDING)):
            return found
    raise words.fault("expected numbers from 0 to 1: correct the row", row.at)


def _configuration(words: _Words, row: _Row, labels: Sequence[list[str]]) -> tuple[int, ...]:
    """The codes of the parents' states that a row begins with."""
    if len(row.given) != len(labels):
        raise words.fault(f"expected the states of {len(labels)} parents, found {len(row.given)}", row.at)
    for label, known in zip(row.given, labels, strict=True):
        if label not in known:
            raise words.fault(f"the state {label!r} is none of {', '.join(known)}: correct it", row.at)
    return tuple(known.index(label) for label, known in zip(row.given, labels, strict=True))


def _check_sums(words: _Words, family: _Family, labels: Sequence[list[str]], table: NDArray[np.float64]) -> None:
    """Raise InputError, naming the first configuration that has no row or whose row does not sum to 1."""
    sums = table.sum(axis=-1)
    wrong = np.argwhere(~(np.abs(sums - 1) <= ROUNDING))
    if len(wrong) == 0:
        return
    at = tuple(wrong[0].tolist())
    given = ", ".join(known[code] for known, code in zip(labels, at, strict=True))
    whose = f"{family.child!r} given ({given})" if given else repr(family.child)
    if np.isnan(sums[at]):
        raise words.fault(f"there are no probabilities of {whose}: add them", family.at)
    raise words.fault(f"the probabilities of {whose} sum to {sums[at]:.6g} instead of 1: correct them", family.at)


def _with_originals(read: BifNetwork, text: str) -> BifNetwork:
    """The network with the names and labels that `bif_text` had to replace, as its comments give them."""
    names: dict[str, str] = {}
    labels: dict[tuple[str, str], str] = {}
    for comment in _ORIGINAL.findall(text):
        with suppress(ValueError):  # a comment of another program
            match json_value(comment):
                case {"variable": str(name), "name": str(original)}:
                    names[name] = original
                case {"variable": str(name), "state": str(state), "label": str(original)}:
                    labels[name, state] = original
    states = tuple(
        tuple(labels.get((name, state), state) for state in row)
        for name, row in zip(read.network.names, read.states, strict=True)
    )
    network = Network(tuple(names.get(name, name) for name in read.network.names), read.network.parents)
    network.check()
    return BifNetwork(network, states, read.tables)
