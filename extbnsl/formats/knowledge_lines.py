"""Knowledge in files of lines: our own CSV, Tetrad's files, GOBNILP's constraints, and tables of arcs.

Each reader takes a file line by line and says of each that it cannot use what is wrong with it.

- CSV: `kind,first,second`, see `knowledge_file`.
- Tetrad: sections `addtemporal`, `forbiddirect`, `requiredirect`, `forbiddengroup` and `requiredgroup`, as its
  `SimpleDataLoader.loadKnowledge` reads and its `DataWriter.saveKnowledge` writes them.
- GOBNILP: `A<-B`, `~A<-B`, `~A-B`, `A->B<-C`, `sink A`, as its file of constraints on the graph has them (parameter
  `gobnilp/dagconstraintsfile`).
- A table of arcs: two columns, such as bnlearn's white and black lists, with or without row numbers.
"""

import csv
import io
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from extbnsl.core.arguments import written_number
from extbnsl.core.errors import InputError
from extbnsl.core.figures import in_full
from extbnsl.core.knowledge import ARCS, Arc, pairs
from extbnsl.files.atomic import read_given
from extbnsl.files.yaml_file import FileError, told

PLURALS = {"root": "roots", "leaf": "leaves"}
NUMBERED = {"tier": "tiers", "apart": "apart"}  # sets of variables, each line with the number of one
COST = "cost"
KINDS = (*ARCS, "tier", *PLURALS, "max_parents", "apart", COST)
LONGEST = 1000  # characters of the first line that tell what it is
COMMENTS = ("#", "//")
SHOWN = 60  # characters of what cannot be used
MOST_TABLE = 64 << 20  # bytes of a table of arcs
NOT_WHOLE = "{!r} is not a whole number of at least 0."
NO_NUMBER = "{!r} is no finite number of nats."

Document = dict[str, Any]  # with the keys of knowledge_file.KnowledgeFile
T = TypeVar("T")


def read_lines(path: Path, content: bytes) -> Document | None:
    """What a file of lines says, with the keys of a file in YAML; None if its first line is of none of these kinds, and
    its name does not end in .csv. FileError with all that is wrong with it."""
    text = content.decode("utf-8-sig", errors="replace")
    first = next((line.strip() for line in text.splitlines() if line.strip() and not line.startswith(COMMENTS)), "")
    fields = next(csv.reader([first[:LONGEST]], delimiter=_delimiter(first)), None) or [""]
    if _section(first) is not None:
        return _Tetrad().document(path, _text(path, content))
    if _LIKE_GOBNILP.match(first):
        return _gobnilp(path, _text(path, content))
    if _headed(fields):
        sentence = "It is a table of arcs: give it to --required, --forbidden or --allowed, which says what they are."
        raise FileError([told(path, None, (), sentence)])
    if path.suffix.lower() == ".csv" or fields[0].strip() in (*KINDS, "kind") or fields[:2] == ["", "kind"]:
        return _csv(path, _text(path, content))
    return None


def read_arcs(path: Path, kind: str = "", more_columns: bool = False) -> tuple[Arc, ...]:
    """The arcs (parent, child) of a table: two columns, parents first, between commas, semicolons, tabs or blanks.
    kind: what they are as knowledge, one of ARCS; more_columns: whether there may be others behind two that are named.

    The first line may name the columns, and the first column may number the rows, as R's write.csv and write.table do.
    FileError with all that is wrong with it, InputError if it cannot be read, or if no arc is allowed.
    """
    found: list[Arc] = []

    def take(own: Sequence[str]) -> str | None:
        if len(own) != 2 or not all(own):
            what = f"{in_full(len(own), 'field')}, where an arc has a parent and a child"
            return f"{what}: {','.join(own)[:SHOWN]!r}; leave other columns out."
        found.append((own[0], own[1]))
        return None

    _take_table(path, 2, more_columns, take)
    if not found and kind == "allowed":  # which would say nothing, and not that there is no arc
        raise InputError(f"{path} has no arc, so that none were allowed; to say this, give all variables to --apart.")
    return tuple(found)


def read_costs(path: Path) -> tuple[tuple[str, str, float], ...]:
    """What arcs cost, (parent, child, nats), by a table as of `read_arcs` with these three columns."""
    found: list[tuple[str, str, float]] = []

    def take(own: Sequence[str]) -> str | None:
        if len(own) != 3 or not all(own):
            return (
                f"{in_full(len(own), 'field')}, where there are a parent, a child and nats: {','.join(own)[:SHOWN]!r}."
            )
        nats = _number(own[2])
        if nats is None:
            return NO_NUMBER.format(own[2][:SHOWN])
        found.append((own[0], own[1], nats))
        return None

    _take_table(path, 3, True, take)
    return tuple(found)


def _take_table(path: Path, columns: int, more_columns: bool, take: Callable[[Sequence[str]], str | None]) -> None:
    """Take the rows of a table of so many columns, without the line that names them and the numbers of rows."""
    rows = list(_rows(path, _text(path, read_given(path, MOST_TABLE))))
    head = rows[0][1] if rows else []
    headed = _headed(head, more_columns)
    unnamed = head[:1] == [""]
    width = len(head) if unnamed or not headed else len(head) + 1  # of rows with a number
    numbered = unnamed or (headed and len(rows[-1][1]) == width)

    def take_own(fields: Sequence[str]) -> str | None:
        own = fields[1:] if numbered and len(fields) == width else fields
        return take(own[:columns] if more_columns and headed else own)

    _taken(path, rows[1:] if headed or (unnamed and len(head) == columns + 1) else rows, take_own)


def _number(text: str) -> float | None:
    """The finite number that a text writes; None if it is none."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


_HEADS = {("from", "to"), ("parent", "child"), ("source", "target"), ("cause", "effect"), ("tail", "head")}


def _headed(fields: Sequence[str], more_columns: bool = False) -> bool:
    """Whether the first line of a table names columns of arcs, or these first and more."""
    names = [field.strip().lower() for field in fields]
    own = names[1:] if names[:1] == [""] else names
    return tuple(own[:2] if more_columns else own) in _HEADS


def _text(path: Path, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError([told(path, None, (), "It is no text in UTF-8.")]) from error


def _delimiter(line: str) -> str:
    """What stands between the fields of a line: that of comma, semicolon and tab which occurs most, or else blanks."""
    bare = re.sub(r'"[^"]*"', "", line)
    most = max(",;\t", key=bare.count)
    return most if most in bare or " " not in bare else " "


def _rows(path: Path, text: str) -> Iterator[tuple[int, list[str]]]:
    """The rows of a table, each with the number of its last line; FileError if it is none."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=_delimiter(first.strip()), skipinitialspace=True, strict=True
    )
    try:
        for fields in reader:
            if any(field.strip() for field in fields):
                yield reader.line_num, [" ".join(field.split()) for field in fields]
    except csv.Error as error:
        raise FileError([told(path, reader.line_num, (), f"It is no CSV ({error}).")]) from error


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines that say something, with their numbers."""
    stripped = ((number, line.strip()) for number, line in enumerate(text.splitlines(), 1))
    return ((number, line) for number, line in stripped if line and not line.startswith(COMMENTS))


def _taken(path: Path, rows: Iterable[tuple[int, T]], take: Callable[[T], str | None]) -> None:
    """Take all rows, with the numbers of their lines; FileError with what is wrong with those that cannot be taken."""
    if problems := [told(path, line, (), wrong) for line, row in rows if (wrong := take(row))]:
        raise FileError(problems)


def _csv(path: Path, text: str) -> Document:
    """What our own CSV says."""
    found: Document = {key: [] for key in (*ARCS, *PLURALS.values(), "costs")} | {"max_parents": {}}
    groups: dict[str, dict[int, list[str]]] = {key: {} for key in NUMBERED.values()}

    def take(fields: Sequence[str]) -> str | None:
        kind, *rest = [field for field in fields if field]
        if kind not in KINDS:
            return f"{kind!r} is none of {', '.join(KINDS)}."
        if len(rest) != (1 if kind in PLURALS else 3 if kind == COST else 2):
            wanted = (
                "a variable" if kind in PLURALS else "a parent, a child and nats" if kind == COST else "two more fields"
            )
            return f"{kind!r} needs {wanted}; names with commas go in quotes."
        if kind == COST:
            nats = _number(rest[2])
            if nats is not None:
                found["costs"].append([*rest[:2], nats])
            return NO_NUMBER.format(rest[2][:SHOWN]) if nats is None else None
        if kind in ARCS or kind in PLURALS:
            found[PLURALS.get(kind, kind)].append(rest if kind in ARCS else rest[0])
            return None
        text, name = rest if kind in NUMBERED else rest[::-1]
        number = written_number(text)
        if number is None:
            return NOT_WHOLE.format(text[:SHOWN])
        if kind in NUMBERED:
            groups[NUMBERED[kind]].setdefault(number, []).append(name)
        elif (limit := found["max_parents"].setdefault(name, number)) != number:
            return f"{name!r} has the limit {limit} already; leave one of them out."
        return None

    rows = list(_rows(path, text))
    if rows and rows[0][1][:2] == ["", "kind"]:  # R and pandas number the rows
        rows = [(line, own[1:] or own) for line, own in rows]
    _taken(path, ((line, own) for line, own in rows if own[0] != "kind" and not own[0].startswith("#")), take)
    return found | {key: [own for _, own in sorted(groups[key].items())] for key in groups}


_SECTIONS = ("addtemporal", "addtemp", "forbiddirect", "requiredirect", "forbiddengroup", "requiredgroup")
_TIER = re.compile(r"(\d{1,18})(\*?)(-?)")
_NAME = re.compile(r'"([^"]*)"|([^\s",]+)')


def _section(line: str) -> str | None:
    """The section of Tetrad's that a line begins, '' for the title of the file; None for any other line."""
    word = line.lower()
    return "" if word == "/knowledge" else word if word in _SECTIONS else None


class _Tetrad:
    """Reads Tetrad's knowledge: sections of lines."""

    def __init__(self) -> None:
        self._found: dict[str, list[Any]] = {"required": [], "forbidden": [], "apart": []}
        self._tiers: dict[int, list[str]] = {}
        self._within: set[int] = set()  # tiers without arcs
        self._next_only: set[int] = set()  # tiers whose arcs lead into the next one
        self._section = ""
        self._causes: list[str] | None = None  # of a group whose effects are on the next line

    def document(self, path: Path, text: str) -> Document:
        """What the file says."""
        _taken(path, _lines(text), self._take)
        if self._causes is not None:
            raise FileError([told(path, None, (), "Its last group has no line of effects; add one.")])
        for tier in sorted(self._next_only):
            for later in (own for number, own in self._tiers.items() if number > tier + 1):
                self._found["forbidden"] += pairs("forbidden", self._tiers[tier], later)
        tiers = [own for _, own in sorted(self._tiers.items()) if own]
        apart = [self._tiers[tier] for tier in sorted(self._within) if self._tiers[tier]]
        return self._found | {"tiers": tiers, "apart": apart}

    def _take(self, line: str) -> str | None:
        section = _section(line)
        if section is not None:
            unfinished = self._causes is not None
            self._section, self._causes = section, None
            return "The group before it has no line of effects; add one." if unfinished else None
        names = [quoted or plain for quoted, plain in _NAME.findall(line)]
        if not self._section:
            return f"{line[:SHOWN]!r} is in no section; begin with one of {', '.join(_SECTIONS)}."
        if self._section.startswith("addtemp"):
            return self._take_tier(*names)
        kind = "required" if self._section.startswith("required") else "forbidden"
        if self._section.endswith("group"):
            if self._causes is None:
                self._causes = names
                return None
            self._found[kind] += pairs(kind, self._causes, names)
            self._causes = None
            return None
        if len(names) != 2:
            what = f"{in_full(len(names), 'name')}, where an arc has a parent and a child"
            return f"{what}; names with blanks go in double quotes."
        self._found[kind].append(names)
        return None

    def _take_tier(self, word: str = "", *names: str) -> str | None:
        told = _TIER.fullmatch(word)
        if told is None:
            return f"{word[:SHOWN]!r} is no number of a tier, such as 1 or 1* (without arcs within it)."
        tier = int(told[1])
        self._tiers.setdefault(tier, []).extend(names)
        self._within |= {tier} if told[2] else set()
        self._next_only |= {tier} if told[3] else set()
        return None


_LIKE_GOBNILP = re.compile(r"~\s*\w|sink\s|[^:\[{\"',]*(<-|->|_\|_)")
_OWN = r"\s*([^~<>-]+?)\s*"  # a name
_ARROW = re.compile(rf"(~?){_OWN}<-{_OWN}")
_NO_EDGE = re.compile(rf"~{_OWN}-{_OWN}")
_MEETING = re.compile(rf"{_OWN}->{_OWN}<-{_OWN}")
_SINK = re.compile(rf"sink\s{_OWN}")


def _gobnilp(path: Path, text: str) -> Document:
    """What a file of GOBNILP's constraints says."""
    found: Document = {"required": [], "forbidden": [], "apart": [], "leaves": []}

    def take(line: str) -> str | None:
        if arrow := _ARROW.fullmatch(line):
            found["forbidden" if arrow[1] else "required"].append((arrow[3], arrow[2]))
        elif edge := _NO_EDGE.fullmatch(line):
            found["apart"].append(edge.groups())
        elif meeting := _MEETING.fullmatch(line):  # an immorality: both arcs, and none between the parents
            found["required"] += [(meeting[1], meeting[2]), (meeting[3], meeting[2])]
            found["apart"].append((meeting[1], meeting[3]))
        elif sink := _SINK.fullmatch(line):
            found["leaves"].append(sink[1])
        else:
            kinds = "A<-B, ~A<-B, ~A-B, A->B<-C or sink A"
            return f"{line[:SHOWN]!r} cannot be kept to here; a constraint is {kinds}. Leave it out."
        return None

    _taken(path, _lines(text), take)
    return found
