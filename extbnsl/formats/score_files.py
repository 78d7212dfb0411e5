"""Local-score files of other programs: read strictly, written exactly.

Two formats, told apart by content. The Jaakkola format of GOBNILP (.jkl, .jaa, .scores): a line with the
number of variables; for each variable a line `name count`, then `count` lines `score k parent...`. The
parent-set scores of URLearning (.pss): `VAR name`, then lines `score parent...`, with `META` and `#` lines
and empty lines in between. Scores are like log-likelihoods, larger is better: a cost is minus a score.

GOBNILP takes any word as the name of a variable, and many files use the numbers 0 to n-1. Names are kept as
they are in the file. If they are the numbers 0 to n-1, in whatever order, then variable i is the one called
i; otherwise variables are in order of appearance.
"""

import gzip
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from extbnsl.data.text import read_text
from extbnsl.errors import InputError
from extbnsl.files.atomic import write_atomically
from extbnsl.kernels.varsets import WORD_BITS, sizes, words
from extbnsl.scores.local import LocalScores, has_duplicates, local_scores

SUFFIXES = (".jkl", ".jaa", ".pss", ".scores")
CHUNK = 1 << 13  # families split into words at a time, so that the words stay in cache

ScoredSets = tuple[NDArray[np.uint64], NDArray[np.float64]]  # varsets and costs of one child


@dataclass(frozen=True)
class _Block:
    """The families of one variable: lines[start:end] of the layout; `line` is where it is announced."""

    name: str
    line: int
    start: int
    end: int


@dataclass(frozen=True)
class _Layout:
    """Where the families of a score file are.

    `numbers[i]` is the line number of lines[i] in the file. The parents of a family begin at word
    `parents_at`: 2 if their number comes first, else 1.
    """

    lines: Sequence[str]
    numbers: Sequence[int]
    blocks: Sequence[_Block]
    parents_at: int


def is_score_file(path: str | PathLike[str]) -> bool:
    """Whether a file is named as local scores are: .jkl .jaa .pss .scores, with or without .gz."""
    return Path(path).name.lower().removesuffix(".gz").endswith(SUFFIXES)


def read_scores(path: str | PathLike[str]) -> LocalScores:
    """The local scores in a file, as costs; about 3 s per million families.

    Raises InputError naming the line for anything that is not exactly the format, and for families that
    LocalScores refuses.
    """
    lines = read_text(path).split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    if not lines:
        raise InputError(f"{path} is empty: give a file with local scores.")
    layout = _pss_layout(path, lines) if _is_pss(lines) else _jaakkola_layout(path, lines)
    _check_distinct(path, layout.blocks)
    blocks = _in_order(layout.blocks)
    names = [block.name for block in blocks]
    index = {name: i for i, name in enumerate(names)}
    families = [_families(path, layout, block, index) for block in blocks]
    try:
        return local_scores(names, families, "file")
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def write_scores(scores: LocalScores, path: str | PathLike[str], *, overwrite: bool = False) -> None:
    """Write local scores in the Jaakkola format, best family first, compressed if the name ends in .gz.

    Scores have the digits that give back the same float64. Names are kept if every one is a single word and
    none can be taken for a number (a name that is its own index can be); else all become X0, X1, ... Raises
    InputError if the file is there already, unless `overwrite`, and for a name in .pss, another format.
    """
    if Path(path).name.lower().removesuffix(".gz").endswith(".pss"):
        raise InputError(f"{path} is named as URLearning's format, which is only read: end the name in .jkl.")
    if Path(path).exists() and not overwrite:
        raise InputError(f"{path} exists already: choose another name or allow overwriting.")
    data = "".join(line + "\n" for line in _jaakkola_lines(scores)).encode()
    if Path(path).name.lower().endswith(".gz"):
        data = gzip.compress(data, mtime=0)
    write_atomically(path, data)


def file_names(names: Sequence[str]) -> tuple[str, ...]:
    """The names that `write_scores` gives the variables."""
    if all(name == str(i) or _is_plain_word(name) for i, name in enumerate(names)):
        return tuple(names)
    return tuple(f"X{i}" for i in range(len(names)))


def _is_plain_word(name: str) -> bool:
    """Whether `name` is a single word that is not a number."""
    return name.split() == [name] and "\0" not in name and not _is_number(name)


def _is_number(word: str) -> bool:
    """Whether `word` reads as a float (nan and inf included)."""
    try:
        float(word)
    except ValueError:
        return False
    return True


def _jaakkola_lines(scores: LocalScores) -> Iterator[str]:
    """The lines of a Jaakkola file."""
    names = file_names(scores.names)
    yield str(len(names))
    for name, varsets, costs in zip(names, scores.parents, scores.costs, strict=True):
        yield f"{name} {len(costs)}"
        for start in range(0, len(costs), CHUNK):
            yield from _family_lines(names, varsets[start : start + CHUNK], costs[start : start + CHUNK])


def _family_lines(names: tuple[str, ...], varsets: NDArray[np.uint64], costs: NDArray[np.float64]) -> Iterator[str]:
    """The lines `score k parent...` of some families."""
    bits = np.unpackbits(varsets.astype("<u8").view(np.uint8), axis=1, bitorder="little")
    parents = [names[i] for i in np.nonzero(bits)[1].tolist()]
    end = 0
    for score, size in zip((0.0 - costs).tolist(), sizes(varsets).tolist(), strict=True):
        start, end = end, end + size
        yield " ".join([repr(score), str(size), *parents[start:end]])


def _is_pss(lines: Sequence[str]) -> bool:
    """Whether the first line that says something is that of a URLearning file."""
    first = next((line.split()[0] for line in lines if line.split() and not line.startswith("#")), "")
    return first in ("META", "VAR")


def _jaakkola_layout(path: str | PathLike[str], lines: list[str]) -> _Layout:
    """The layout of a Jaakkola file; raises InputError if the counts do not lead from block to block."""
    if not _is_count(lines[0].strip()) or int(lines[0]) < 1:
        raise InputError(f"{path}, line 1: expected the number of variables, found {_shown(lines[0])}.")
    variables, at = int(lines[0]), 1
    blocks: list[_Block] = []
    layout = _Layout(lines, range(1, len(lines) + 1), blocks, parents_at=2)
    while len(blocks) < variables:
        fault = _header_fault(lines, at)
        if fault:
            # A wrong count leads astray unnoticed at first, so an odd family further up is the better hint.
            _refuse_odd_rows(path, layout, None)
            hint = f" (the count in line {blocks[-1].line} may be wrong)" if blocks else ""
            wanted = f"for variable {len(blocks) + 1} of {variables}"
            raise InputError(f"{path}, line {min(at, len(lines) - 1) + 1}: {fault} {wanted}{hint}.")
        name, count = lines[at].split()
        blocks.append(_Block(name, at + 1, at + 1, min(at + 1 + int(count), len(lines))))
        at += 1 + int(count)
    if at > len(lines):
        _refuse_odd_rows(path, layout, None)
        raise InputError(
            f"{path}, line {len(lines)}: the file ends {at - len(lines)} families early for variable "
            f"{blocks[-1].name!r} announced in line {blocks[-1].line}: correct the count or copy it again."
        )
    if at < len(lines):
        _refuse_odd_rows(path, layout, None)
        raise InputError(
            f"{path}, line {at + 1}: the file goes on with {_shown(lines[at])} after the last family of the "
            f"last of {variables} variables: remove it or correct the counts."
        )
    return layout


def _header_fault(lines: list[str], at: int) -> str | None:
    """What is wrong with lines[at] as `name count`, if anything."""
    if at >= len(lines):
        return "the file ends where a line 'name count' is expected"
    fields = lines[at].split()
    if len(fields) != 2 or not _is_count(fields[1]):
        return f"expected a line 'name count', found {_shown(lines[at])}"
    if int(fields[1]) < 1:
        return f"{fields[0]!r} is announced with no parent set, but at least one is needed,"
    return None


def _pss_layout(path: str | PathLike[str], lines: list[str]) -> _Layout:
    """The layout of a URLearning file, without its META lines, comments and empty lines."""
    kept: list[str] = []
    numbers: list[int] = []
    heads: list[tuple[str, int, int]] = []
    for number, line in enumerate(lines, start=1):
        fields = line.split(maxsplit=1)
        if not fields or fields[0] == "META" or fields[0].startswith("#"):
            continue
        if fields[0] == "VAR":
            if len(line.split()) != 2:
                raise InputError(f"{path}, line {number}: expected 'VAR name', found {_shown(line)}.")
            heads.append((fields[1].strip(), number, len(kept)))
        elif not heads:
            raise InputError(f"{path}, line {number}: expected 'VAR name' before {_shown(line)}.")
        else:
            kept.append(line)
            numbers.append(number)
    if not heads:
        raise InputError(f"{path} has no line 'VAR name': give a file with local scores.")
    ends = [start for _, _, start in heads[1:]] + [len(kept)]
    blocks = [_Block(name, line, start, end) for (name, line, start), end in zip(heads, ends, strict=True)]
    return _Layout(kept, numbers, blocks, parents_at=1)


def _check_distinct(path: str | PathLike[str], blocks: Sequence[_Block]) -> None:
    """Raise InputError if a variable is announced twice or has no family."""
    first: dict[str, int] = {}
    for block in blocks:
        if block.name in first:
            raise InputError(
                f"{path}, line {block.line}: variable {block.name!r} has been announced in line "
                f"{first[block.name]} already: rename one of the two."
            )
        if block.start == block.end:
            raise InputError(f"{path}, line {block.line}: variable {block.name!r} has no parent set: give it one.")
        first[block.name] = block.line


def _in_order(blocks: Sequence[_Block]) -> list[_Block]:
    """The blocks in the order of the variables: by number if the names are 0 to n-1, else as they appear."""
    by_name = {block.name: block for block in blocks}
    numbers = [str(i) for i in range(len(blocks))]
    return [by_name[name] for name in numbers] if by_name.keys() == set(numbers) else list(blocks)


def _families(path: str | PathLike[str], layout: _Layout, block: _Block, index: dict[str, int]) -> ScoredSets:
    """The varsets and costs of one variable, as they come; raises InputError naming the line."""
    starts = range(block.start, block.end, CHUNK)
    try:
        parts = [
            _parse(layout.lines[start : min(start + CHUNK, block.end)], layout.parents_at, index) for start in starts
        ]
    except (ValueError, LookupError):
        _refuse_odd_rows(path, layout, index)
        raise
    varsets = np.concatenate([varsets for varsets, _ in parts])
    child = index[block.name]
    own = varsets[:, child // WORD_BITS] >> np.uint64(child % WORD_BITS) & np.uint64(1)
    if own.any() or has_duplicates(varsets):
        _refuse_odd_rows(path, layout, index)
    return varsets, np.concatenate([costs for _, costs in parts])


def _parse(lines: Sequence[str], parents_at: int, index: dict[str, int]) -> ScoredSets:
    """The varsets and costs of some lines; raises ValueError or LookupError if one is not a family.

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
    members = np.array([index[name] for name in fields[is_parent].tolist()], np.int64)
    varsets = _varsets(counts, members, len(index))
    if (sizes(varsets) != counts).any():
        raise ValueError("a parent twice in a family")
    return varsets, costs


def _numbers(fields: list[str]) -> NDArray[np.float64]:
    """The numbers that some words are; raises ValueError if one is none, or not finite."""
    text = "".join(fields)
    if not text.isascii() or "_" in text:
        raise ValueError("only Python reads this as a number")
    numbers = np.array([float(field) for field in fields])
    if not np.isfinite(numbers).all():
        raise ValueError("not finite")
    return numbers


def _varsets(counts: NDArray[np.int64], members: NDArray[np.int64], variables: int) -> NDArray[np.uint64]:
    """The varsets, (len(counts), words), of which the i-th has the next counts[i] members."""
    varsets = np.zeros((len(counts), words(variables)), dtype=np.uint64)
    starts = np.cumsum(counts) - counts
    for position in range(int(counts.max())):
        rows = np.flatnonzero(counts > position)
        added = members[starts[rows] + position]
        varsets[rows, added // WORD_BITS] |= np.uint64(1) << (added % WORD_BITS).astype(np.uint64)
    return varsets


def _refuse_odd_rows(path: str | PathLike[str], layout: _Layout, index: dict[str, int] | None) -> None:
    """Raise InputError for the first line that is no family; without `index`, any name will do."""
    known: Callable[[str], bool] = (lambda name: True) if index is None else index.__contains__
    for block in layout.blocks:
        seen: dict[frozenset[str], int] = {}
        for at in range(block.start, block.end):
            fields, number = layout.lines[at].split(), layout.numbers[at]
            fault = _row_fault(fields, layout.parents_at, known, block.name)
            if fault:
                raise InputError(f"{path}, line {number}: {fault} (variable {block.name!r} of line {block.line}).")
            parents = frozenset(fields[layout.parents_at :])
            if parents in seen:
                raise InputError(
                    f"{path}, line {number}: the parent set of line {seen[parents]} again "
                    f"(variable {block.name!r} of line {block.line}): keep one of the two."
                )
            seen[parents] = number


def _row_fault(fields: list[str], parents_at: int, known: Callable[[str], bool], child: str) -> str | None:
    """What is wrong with one family of `child`, if anything."""
    if not fields:
        return "an empty line where a family is expected"
    if not _is_number(fields[0]) or "_" in fields[0] or not fields[0].isascii():
        return f"the score {_shown(fields[0])} is not a number"
    if not np.isfinite(float(fields[0])):
        return f"the score {fields[0]} is not finite"
    parents = fields[parents_at:]
    if parents_at == 2 and (len(fields) < 2 or fields[1] != str(len(parents))):
        said = _shown(fields[1]) if len(fields) > 1 else "nothing"
        return f"the number of parents is given as {said}, but {len(parents)} follow"
    unknown = [name for name in parents if not known(name)]
    if unknown:
        return f"the parent {_shown(unknown[0])} is not a variable of this file"
    if child in parents:
        return f"{_shown(child)} is a parent of itself"
    if len(set(parents)) < len(parents):
        return "a parent occurs twice"
    return None


def _is_count(word: str) -> bool:
    """Whether `word` is a whole number in plain digits."""
    return word.isascii() and word.isdigit() and len(word) <= 18


def _shown(text: str) -> str:
    """Some text of a file, cut to fit a sentence."""
    text = text.strip()
    return repr(text if len(text) <= 40 else text[:37] + "...")
