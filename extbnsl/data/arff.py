"""ARFF files, as Weka and its readers have them: the declarations are read here, the rows as those of a CSV file.

Declarations are `@attribute NAME {a, b}`, `numeric`, `real`, `integer`, `string` or `date`; names and values may be in
quotes of both kinds. What follows a kind, such as a range, and what follows a `%` says nothing. A row is dense or
sparse, and may end with a weight in braces. See https://waikato.github.io/weka-wiki/formats_and_processing/arff/.
"""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from extbnsl.core.errors import InputError
from extbnsl.core.figures import counted
from extbnsl.data.column import Column, clean_name, column_of_texts, numbers_of
from extbnsl.data.declared import with_states
from extbnsl.data.missing import MARKERS, mark_missing
from extbnsl.data.table import parse
from extbnsl.data.text import BLOCK, Lines, Reading, text_blocks
from extbnsl.data.treatment import Treatment
from extbnsl.data.values import unfit

NUMERIC, TEXT, DATE, NOMINAL = ("numeric", "real", "integer"), "string", "date", "nominal"
NO_VALUE = frozenset({"?", ""})
WEIGHTS = "weight of the instance"
SHOWN = 60  # characters of a line
_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_COMMENT = re.compile(rf"(?<![^\s,{{])(?:{_QUOTED})|(?<![^\s,{{}}])%.*")  # the first of these is none
_ATTRIBUTE = re.compile(rf"@attribute\s+({_QUOTED}|[^\s{{]+)\s*(.*)", re.IGNORECASE)
_STATES = re.compile(rf"\{{((?>{_QUOTED}|[^}}])*+)\}}")
_FIELD = re.compile(rf"(?:^|,)\s*(?:({_QUOTED})|([^,]*?))\s*(?=,|$)")
_WORD = re.compile(rf"(?:^|\s)\s*(?:({_QUOTED})|(\S+))(?=\s|$)")
_PAIR = re.compile(rf"\s*(\d{{1,9}})\s+(?:({_QUOTED})|([^,]+?))\s*(?:,|$)")
_WEIGHT = re.compile(r"[\s,]\s*\{\s*([^{}\s,'\"]+)\s*\}$")
_ESCAPED = re.compile(r"\\(.)")
_ODD = re.compile(rb"""['"{%\\\t]""")  # in no row of values with commas between them alone


@dataclass(frozen=True)
class Attribute:
    """A declared column: its name, its kind, one of the above, and its states if it is nominal."""

    name: str
    kind: str
    states: tuple[str, ...] = ()


def read_arff(path: Path, source: str, wanted: Treatment, reading: Reading) -> tuple[list[Column], Treatment]:
    """The columns of an ARFF file; the states that it declares are all that there are, in their order. Weights of
    instances, where there are any, are a further column, by which the data are then `wanted`.

    Raises InputError for what is no ARFF, for values that are not as declared and for dates, in columns that are
    wanted; BudgetError as `parse` does. O(bytes).
    """
    texts, lines = _lines(text_blocks(path, reading)), Lines(source)
    attributes, declarations = _declared(texts, source)
    lines.leave_out_first(declarations)
    rows = _Rows(attributes, declarations, source)
    found = parse(rows.as_csv(texts), ",", lines, reading).columns
    columns = [_as_declared(*pair, wanted, source) for pair in zip(found, attributes, strict=True)]
    if not rows.weights:
        return columns, wanted
    if wanted.weights is not None:
        raise InputError(f"{source} has weights of its instances in braces: leave out the others.", option="weights")
    weights = column_of_texts(WEIGHTS, (rows.weights.get(row, "1") for row in range(rows.count)))
    return [*columns, weights], replace(wanted, weights=WEIGHTS)


def _lines(blocks: Iterator[bytes]) -> Iterator[bytes]:
    for block in blocks:
        yield from block.splitlines()


def _declared(lines: Iterator[bytes], source: str) -> tuple[list[Attribute], int]:
    """The attributes that the lines before the data declare, and how many lines that are."""
    found = list[Attribute]()
    for number, line in enumerate(lines, 1):
        text = _uncommented(line.decode()).strip()
        word = text.split(None, 1)[0].lower() if text else ""
        if word == "@data" and found:
            return found, number
        if word == "@attribute":
            found.append(_attribute(text, f"{source}, line {number}"))
        elif text and word != "@relation":
            raise InputError(
                f"{source}, line {number}: {text[:SHOWN]!r} stands where ARFF has @attribute with a name and a "
                "kind, or @data after these: correct the line."
            )
    raise InputError(f"{source} cannot be read as ARFF (it has no line @data): write it again, or save it as CSV.")


def _attribute(text: str, where: str) -> Attribute:
    match = _ATTRIBUTE.match(text)
    name, rest = (clean_name(_plain(match[1])), match[2]) if match else ("", "")
    kind = re.split(r"[\s\[{]", rest.lower(), maxsplit=1)[0]
    if nominal := _STATES.match(rest):
        states = (state.strip() for state in _fields(nominal[1].strip()))
        return Attribute(name, NOMINAL, tuple(dict.fromkeys(state for state in states if state)))
    if kind not in (*NUMERIC, TEXT, DATE):
        raise InputError(
            f"{where}: {text[:SHOWN]!r} declares no column: give a name and {{state, ...}}, numeric, integer, real, "
            "string or date."
        )
    return Attribute(name, kind)


class _Rows:
    """Makes rows of CSV of those of ARFF; at the end, `count` is how many they are, and `weights` those of rows that
    have one."""

    def __init__(self, attributes: Sequence[Attribute], declarations: int, source: str) -> None:
        self._width, self._source, self._declarations = len(attributes), source, declarations
        self._absent = [next(iter(one.states), "0" if one.kind in NUMERIC else "?") for one in attributes]
        self.count = 0
        self.weights: dict[int, str] = {}

    def as_csv(self, lines: Iterator[bytes]) -> Iterator[bytes]:
        """The rows, in blocks of about BLOCK bytes."""
        held, size = list[bytes](), 0
        for number, line in enumerate(map(bytes.strip, lines), self._declarations + 1):
            plain = not _ODD.search(line) and line.count(b",") == self._width - 1
            row = line if plain else self._spelled(_uncommented(line.decode()).strip(), number)
            if row:
                held.append(row)
                size += len(row)
                self.count += 1
            if size >= BLOCK:
                yield b"\n".join([*held, b""])
                held, size = [], 0
        yield b"\n".join([*held, b""])

    def _spelled(self, text: str, number: int) -> bytes:
        """The row of CSV of a line without comments, which has that number; empty if it is."""
        if not text:
            return b""
        if weight := _WEIGHT.search(text):
            self.weights[self.count] = weight[1]
            text = text[: weight.start()].rstrip()
        fields = self._sparse(text[1:-1], number) if text[:1] + text[-1:] == "{}" else _fields(text)
        if len(fields) != self._width:
            declared = counted(self._width, "attribute")
            raise self._error(number, f"{counted(len(fields), 'value')} where {declared} are declared")
        row = io.StringIO(newline="")
        csv.writer(row, lineterminator="").writerow(fields)
        return row.getvalue().encode()

    def _sparse(self, text: str, number: int) -> list[str]:
        """The fields of a sparse row, of which this stands in the braces."""
        fields, at = list(self._absent), 0
        while at < len(text.rstrip()):
            pair = _PAIR.match(text, at)
            if pair is None or int(pair[1]) >= self._width:
                shown = text[at:].strip()[:SHOWN]
                raise self._error(number, f"{shown!r} is no number of an attribute, from 0, with its value")
            fields[int(pair[1])] = _plain(pair[2]) if pair[2] else pair[3]
            at = pair.end()
        return fields

    def _error(self, number: int, what: str) -> InputError:
        return InputError(f"{self._source}, line {number}: {what}: correct the line.")


def _uncommented(text: str) -> str:
    return _COMMENT.sub(lambda match: "" if match[0].startswith("%") else match[0], text) if "%" in text else text


def _fields(text: str) -> list[str]:
    """The values that commas separate, or blanks where there are no commas."""
    pattern = _FIELD if "," in re.sub(_QUOTED, "", text) else _WORD
    return [_plain(match[1]) if match[1] else match[2] for match in pattern.finditer(text)]


def _plain(text: str) -> str:
    """A name or a value without its quotes, if it has any."""
    return _ESCAPED.sub(r"\1", text[1:-1]) if text[0] in "'\"" and text[0] == text[-1] and len(text) > 1 else text


def _as_declared(column: Column, attribute: Attribute, wanted: Treatment, source: str) -> Column:
    """The column of an attribute; InputError for a value that is not as declared, if the column is wanted."""
    named = replace(column, name=attribute.name)
    if not wanted.reads(named.name):
        return named
    if attribute.kind == DATE and named.name not in wanted.of_records:
        raise unfit(named.name, "dates or times", source)
    if attribute.kind == NOMINAL:
        return with_states(mark_missing(named, NO_VALUE.difference(attribute.states)), attribute.states, source)
    if attribute.kind in NUMERIC:
        _check_numbers(named, source)
    return named


def _check_numbers(column: Column, source: str) -> None:
    """Raise InputError naming the first value of a numeric attribute that is no number, if there is one."""
    texts = [text for text in column.values if text not in MARKERS]
    if not texts or numbers_of(texts) is not None:
        return
    wrong = next(text for text in texts if numbers_of([text]) is None)
    row = int((column.codes == column.values.index(wrong)).argmax()) + 1
    raise InputError(
        f"{source}: column '{column.name}' is declared numeric, and has {wrong!r} in row {row} of the data: correct "
        "the value, or declare the column as a string.",
        names=[column.name],
        value=wrong,
        row=row,
    )
