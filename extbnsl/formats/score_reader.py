"""Local-score files of other programs, read strictly and within a memory budget.

Two formats, told apart by content. The Jaakkola format of GOBNILP (.jkl, .jaa, .scores): a line with the
number of variables; for each variable a line `name count`, then `count` lines `score k parent...`. The
parent-set scores of URLearning (.pss): `VAR name`, then lines `score parent...`, with `META` lines and empty
lines in between. Lines that begin with `#` are comments in both. Scores are like log-likelihoods to the base e,
larger is better: a cost is minus a score, in nats.

GOBNILP takes any word as the name of a variable, and many files use the numbers 0 to n-1. Names are kept as
they are in the file. If they are the numbers 0 to n-1, in whatever order, then variable i is the one called
i; otherwise variables are in order of appearance.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby, islice
from os import PathLike
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.arguments import written_number
from extbnsl.core.errors import InputError
from extbnsl.core.figures import counted
from extbnsl.data.table import LONGEST_FIELD, TEXT_BYTES
from extbnsl.data.text import BLOCK, Reading, text_blocks
from extbnsl.kernels.varsets import gathered as varsets_of
from extbnsl.kernels.varsets import sizes, words
from extbnsl.scores.local import GIVEN, LARGEST_COST, LocalScores, local_scores, repeated

CHUNK = 1 << 13  # families split into words at a time, so that the words stay in cache
CHUNK_CHARACTERS = 1 << 19  # of them, or one line
MOST_BLANKS = BLOCK // 2  # bytes of blanks that are taken for a mistake

Line = tuple[int, str]  # with its number


def read_scores(path: str | PathLike[str], reading: Reading | None = None) -> LocalScores:
    """Read the local scores in a file, as costs; about 3 s per million families.

    Parameters
    ----------
    path : str or path-like
        The file, plain or gzip; its format is found by its content.
    reading : Reading, optional
        The memory and the time that it may take, and who hears of it, an `extbnsl.data.Reading`; None for three
        quarters of the free memory, as long as it takes.

    Returns
    -------
    LocalScores
        The scores, in nats, minimised.

    Raises
    ------
    InputError
        For anything that is not exactly the format, with the line, and for families that `LocalScores` refuses.
    BudgetError
        If the memory or the time does not do.
    """
    reading = reading or Reading()
    lines = _lines(path, reading)
    first = next((line for line in lines if line[1].strip()), None)
    if first is None:
        raise InputError(f"{path} is empty: give a file with local scores.")
    fields = first[1].split()
    variables = (written_number(fields[0]) or 0) if len(fields) == 1 else 0
    if not variables and fields[0] not in ("META", "VAR"):
        raise InputError(f"{path}, line {first[0]}: expected the number of variables, found {_shown(first[1])}.")
    gathered = _Gathered(path, reading, parents_at=2 if variables else 1)
    if variables:
        _read_jaakkola(variables, lines, gathered)
    else:
        _read_pss(chain([first], lines), gathered)
    return gathered.scores()


def _lines(path: str | PathLike[str], reading: Reading) -> Iterator[Line]:
    """The lines of a file but comments, and blank lines at its end; InputError for blank lines without end."""
    number, blank = 1, list[Line]()
    for block in text_blocks(path, reading):
        if block.isspace() and len(block) > MOST_BLANKS:
            raise InputError(
                f"{path} has too many blank lines, one after the other, from line {number} on: remove them."
            )
        lines = list(enumerate(block.decode().removesuffix("\n").split("\n"), start=number))
        number += len(lines)
        lines = [line for line in lines if not line[1].lstrip().startswith("#")] if b"#" in block else lines
        end = next((at for at in range(len(lines), 0, -1) if lines[at - 1][1].strip()), 0)
        if end:
            yield from chain(blank, lines[:end])
            blank.clear()
        blank += lines[end:]


def _read_jaakkola(variables: int, lines: Iterator[Line], gathered: "_Gathered") -> None:
    """Gather a Jaakkola file below its first line; InputError if the counts do not lead from variable to variable."""
    path, last, hint = gathered.path, 1, ""
    for variable in range(1, variables + 1):
        number, line = next(lines, (last, None))
        fault = "the file ends where a line 'name count' is expected" if line is None else _header_fault(line)
        if line is None or fault:
            raise InputError(f"{path}, line {number}: {fault} for variable {variable} of {variables}{hint}.")
        name, count = line.split()
        gathered.announce(name, number)
        last, left = number, int(count)
        hint = f" (the count in line {number} may be wrong)"
        while left:
            rows = list(_some(lines, left))
            if not rows:
                raise InputError(
                    f"{path}, line {last}: the file ends {counted(left, 'family', 'families')} early for variable "
                    f"{name!r} announced in line {number}: correct the count or copy it again."
                )
            gathered.add(rows)
            last = rows[-1][0]
            left -= len(rows)
    odd = next((line for line in lines if line[1].strip()), None)
    if odd is not None:
        raise InputError(
            f"{path}, line {odd[0]}: the file goes on with {_shown(odd[1])} after the last family of the "
            f"last of {variables} variables: remove it or correct the counts."
        )


def _header_fault(line: str) -> str | None:
    """What is wrong with a line as `name count`, if anything."""
    fields = line.split()
    if len(fields) != 2 or written_number(fields[1]) is None:
        return f"expected a line 'name count', found {_shown(line)}"
    if int(fields[1]) < 1:
        return f"{fields[0]!r} is announced with no parent set, but at least one is needed,"
    return None


def _read_pss(lines: Iterator[Line], gathered: "_Gathered") -> None:
    """Gather a URLearning file, without its META lines and empty lines."""
    told = (line for line in lines if not _is_passed_over(line[1]))
    for announces, some in groupby(told, lambda line: line[1].split(maxsplit=1)[0] == "VAR"):
        for number, line in some if announces else ():
            if len(line.split()) != 2:
                raise InputError(f"{gathered.path}, line {number}: expected 'VAR name', found {_shown(line)}.")
            gathered.announce(line.split()[1], number)
        while rows := list(_some(some, CHUNK)):
            gathered.add(rows)
    if not gathered.variables:
        raise InputError(f"{gathered.path} has no line 'VAR name': give a file with local scores.")


def _is_passed_over(line: str) -> bool:
    """Whether a line of a URLearning file says nothing of a family."""
    fields = line.split(maxsplit=1)
    return not fields or fields[0] == "META"


def _some(lines: Iterator[Line], most: int) -> Iterator[Line]:
    """At most `most` of the lines, and not more than CHUNK of them or CHUNK_CHARACTERS, but one."""
    taken = 0
    for line in islice(lines, min(most, CHUNK)):
        yield line
        taken += len(line[1])
        if taken > CHUNK_CHARACTERS:
            return


class _Rows(NamedTuple):
    """Some families: costs (m,) float64, numbers of parents (m,) int32, all parents by the numbers of their words, one
    family after the other, int32, and the lines (m,) int64."""

    costs: NDArray[np.float64]
    counts: NDArray[np.int32]
    members: NDArray[np.int32]
    lines: NDArray[np.int64]

    def line_of(self, member: int) -> int | None:
        """The line of the first family that has this parent, if one has."""
        at = np.flatnonzero(self.members == member)
        family = np.searchsorted(np.cumsum(self.counts), at[:1], side="right")
        return int(self.lines[family[0]]) if at.size else None


@dataclass
class _Variable:
    """A variable, the line that announces it, and its families as they come."""

    name: str
    line: int
    rows: list[_Rows] = field(default_factory=list)


class _Gathered:
    """What has been read of a file: its variables, with parents by the number of their word, since a parent may be
    announced later.

    The parents of a family begin at word `parents_at`: 2 if their number comes first, else 1.
    """

    def __init__(self, path: str | PathLike[str], reading: Reading, parents_at: int) -> None:
        self.path = path
        self.variables: dict[str, _Variable] = {}
        self._last: _Variable | None = None
        self._reading = reading
        self._parents_at = parents_at
        self._number_of: defaultdict[str, int] = defaultdict()
        self._number_of.default_factory = self._number_of.__len__
        self._families = self._bytes = 0

    def announce(self, name: str, line: int) -> None:
        """Let the families that follow be those of this variable."""
        self._check_last()
        if name in self.variables:
            raise InputError(
                f"{self.path}, line {line}: variable {name!r} has been announced in line {self.variables[name].line} "
                "already: rename one of the two."
            )
        if len(name) > LONGEST_FIELD:
            raise InputError(f"{self.path}, line {line}: the name {_shown(name)} is too long: shorten it.")
        self._last = self.variables[name] = _Variable(name, line)
        self._count(0, TEXT_BYTES + len(name))

    def add(self, lines: Sequence[Line]) -> None:
        """Add families, one at least, to the last variable; InputError naming the line if one is none, BudgetError if
        memory ends."""
        child = self._last
        if child is None:
            raise InputError(f"{self.path}, line {lines[0][0]}: expected 'VAR name' before {_shown(lines[0][1])}.")
        try:
            costs, counts, names = _parse([line for _, line in lines], self._parents_at, child.name)
        except ValueError:
            for number, line in lines:
                fault = _row_fault(line.split(), self._parents_at, child.name)
                if fault:
                    raise _refusal(self.path, number, fault, child) from None
            raise
        known = len(self._number_of)
        members = np.fromiter(map(self._number_of.__getitem__, names), dtype=np.int32, count=len(names))
        numbers = np.array([number for number, _ in lines])
        rows = _Rows(costs, counts.astype(np.int32), members, numbers)
        child.rows.append(rows)
        new = list(islice(self._number_of, known, None))
        for number, name in enumerate(new, start=known):
            if len(name) > LONGEST_FIELD:
                raise _refusal(self.path, rows.line_of(number) or 0, f"the name {_shown(name)} is too long", child)
        self._count(0, sum(TEXT_BYTES + len(name) for name in new))
        self._count(len(lines), sum(array.nbytes for array in rows))

    def scores(self) -> LocalScores:
        """All that was gathered, which is let go; InputError as `read_scores` raises it."""
        self._check_last()
        numbers = [str(i) for i in range(len(self.variables))]
        in_order = numbers if self.variables.keys() == set(numbers) else self.variables
        variables = [self.variables[name] for name in in_order]
        index = {variable.name: i for i, variable in enumerate(variables)}
        unknown = next((name for name in self._number_of if name not in index), None)  # in the order of lines
        if unknown is not None:
            number, told = self._number_of[unknown], f"the parent {_shown(unknown)} is not a variable of this file"
            places = (
                (variable, rows.line_of(number)) for variable in self.variables.values() for rows in variable.rows
            )
            raise next(_refusal(self.path, line, told, child) for child, line in places if line is not None)
        index_of = np.array([index[name] for name in self._number_of], dtype=np.int64)
        families = [_families(self.path, variable, index_of, len(index)) for variable in variables]
        try:
            return local_scores(tuple(index), families, GIVEN)
        except InputError as error:
            raise InputError(f"{self.path}: {error}") from None

    def _check_last(self) -> None:
        """Raise InputError if the last variable has no family."""
        last = self._last
        if last is not None and not last.rows:
            raise InputError(f"{self.path}, line {last.line}: variable {last.name!r} has no parent set: give it one.")

    def _count(self, families: int, size: int) -> None:
        """Count families and bytes; BudgetError if they, and the varsets made of them, exceed the memory."""
        self._families += families
        self._bytes += size
        later = self._families * 8 * (words(len(self.variables)) + 1)
        told = f"the {self._families:,} parent sets of {len(self.variables):,} variables"
        self._reading.check_memory(self.path, self._bytes + later, told)


def _families(
    path: str | PathLike[str], variable: _Variable, index_of: NDArray[np.int64], n: int
) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
    """The varsets and costs of a variable, as they come; its rows are let go. index_of: the variable of each word."""
    each = ((np.repeat(np.arange(rows.costs.size), rows.counts), rows) for rows in variable.rows)
    varsets = np.concatenate([varsets_of(at, index_of[rows.members], rows.costs.size, n) for at, rows in each])
    counts, lines = (np.concatenate([getattr(rows, of) for rows in variable.rows]) for of in ("counts", "lines"))
    costs = np.concatenate([rows.costs for rows in variable.rows])
    variable.rows.clear()
    twice = np.flatnonzero(sizes(varsets) != counts)
    if twice.size:
        raise _refusal(path, int(lines[twice[0]]), "a parent occurs twice", variable)
    again = np.flatnonzero(repeated(varsets))
    if again.size:
        first = lines[(varsets == varsets[again[0]]).all(axis=1).argmax()]
        what = f"the parent set of line {first} again"
        raise _refusal(path, int(lines[again[0]]), what, variable, ": keep one of the two")
    return varsets, costs


def _parse(
    lines: Sequence[str], parents_at: int, child: str
) -> tuple[NDArray[np.float64], NDArray[np.int64], list[str]]:
    """The costs, the numbers of parents and the names of all parents of some lines; ValueError if one is no family.

    `_row_fault` says the same one line at a time and says what is wrong; a test holds the two together.
    """
    # One list of words rather than one per line: a million small lists keep the garbage collector busy.
    lengths = np.array([len(line.split()) for line in lines])
    counts = lengths - parents_at
    if counts.min() < 0:
        raise ValueError("a line that is too short")
    fields = np.array(" ".join(lines).split(), dtype=object)
    starts = np.cumsum(lengths) - lengths
    costs = 0.0 - _numbers(fields[starts].tolist())
    if parents_at == 2 and fields[starts + 1].tolist() != [str(count) for count in counts.tolist()]:
        raise ValueError("a number of parents that is not that of the parents")
    is_parent = np.ones(len(fields), dtype=np.bool_)
    is_parent[starts] = is_parent[starts + parents_at - 1] = False
    names = fields[is_parent].tolist()
    if child in names:
        raise ValueError("a variable that is its own parent")
    return costs, counts, names


def _numbers(fields: list[str]) -> NDArray[np.float64]:
    """The numbers that some words are; raises ValueError if one is none, or beyond LARGEST_COST."""
    if max(map(len, fields)) > LONGEST_FIELD:
        raise ValueError("a number that nobody means")
    text = "".join(fields)
    if not text.isascii() or "_" in text:
        raise ValueError("only Python reads this as a number")
    numbers = np.array([float(field) for field in fields])
    if not (np.abs(numbers) <= LARGEST_COST).all():
        raise ValueError("not finite, or too large")
    return numbers


def _row_fault(fields: list[str], parents_at: int, child: str) -> str | None:
    """What is wrong with one family of `child` as it stands, if anything."""
    if not fields:
        return "an empty line where a family is expected"
    if parents_at == 2 and _announces(fields):
        said = _shown(" ".join(fields))
        return f"{said} may announce a variable where a family is expected: then the count before it is too large"
    if not _is_score(fields[0]):
        return f"the score {_shown(fields[0])} is not a number"
    if not np.isfinite(float(fields[0])):
        return f"the score {fields[0]} is not finite"
    if abs(float(fields[0])) > LARGEST_COST:
        return f"the score {_shown(fields[0])} is beyond {LARGEST_COST:g} nats"
    parents = fields[parents_at:]
    if parents_at == 2 and (len(fields) < 2 or fields[1] != str(len(parents))):
        said = _shown(fields[1]) if len(fields) > 1 else "nothing"
        return f"the number of parents is given as {said}, but it is {len(parents)}"
    return f"{_shown(child)} is a parent of itself" if child in parents else None


def _announces(fields: list[str]) -> bool:
    """Whether what is to be a family, but is none, looks like `name count`, with a number for a name perhaps."""
    if len(fields) != 2 or (written_number(fields[1]) or 0) < 1:
        return False
    return written_number(fields[0]) is not None or not _is_score(fields[0])


def _refusal(path: str | PathLike[str], line: int, fault: str, child: _Variable, advice: str = "") -> InputError:
    """The refusal of a family of `child`."""
    return InputError(f"{path}, line {line}: {fault} (variable {child.name!r} of line {child.line}){advice}.")


def _is_score(word: str) -> bool:
    """Whether `word` is a number as other programs write it (nan and inf included)."""
    try:
        float(word[: LONGEST_FIELD + 1])
    except ValueError:
        return False
    return word.isascii() and "_" not in word and len(word) <= LONGEST_FIELD


def _shown(text: str) -> str:
    """Some text of a file, cut to fit a sentence."""
    text = text.strip()
    return repr(text if len(text) <= 40 else text[:37] + "...")
