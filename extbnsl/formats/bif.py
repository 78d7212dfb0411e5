"""BIF, the Bayesian Interchange Format 0.15, read as other programs and repositories of networks write it.

The format leaves much to the writer, and we take what is in use: blocks come in any order, properties and comments are
passed over, and names and labels may stand in double quotes, or have blanks where commas separate them. How many states
there are, and what they are called elsewhere in the file, decides where labels end. A table is a row for each
configuration of the parents, or `table` with all numbers, the child changing slowest and the last parent fastest;
`default` is the row of all configurations that have none.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial

import numpy as np

from extbnsl.core.codec import json_value
from extbnsl.formats.blocks import (
    Block,
    Statement,
    blocks_in,
    family_names,
    name_in,
    pieces,
    split,
    without_comments,
)
from extbnsl.formats.spelling import Change
from extbnsl.formats.tabled import Declared, Family, Source, Table

KINDS = "network|variable|probability"
_TYPE = re.compile(r"type\s+discrete\s*\[\s*(\d{1,9})\s*\]\s*=?\s*\{(.*)\}\s*", re.DOTALL)
_ROW = re.compile(r"(?:(table|default|property)\b|\()")
_ORIGINAL = re.compile(r"^// (\{.*\})\r?$", re.MULTILINE)


def read_bif(source: Source, text: str) -> Declared:
    """What a text in BIF declares."""
    declared = Declared(source)
    blocks = list(blocks_in(source, without_comments(text), KINDS))
    for block in blocks:
        if block.head.startswith("variable"):
            name = name_in(source, block, block.head.removeprefix("variable"))
            declared.variable(name, _states(source, block, name), block.at)
    for block in blocks:
        if block.head.startswith("probability"):
            child, *parents = family_names(source, block.head, block.at, declared.states, bar=False)
            rows = [row for row in block.statements if _kind(source, row) != "property"]
            declared.family(child, Family(block.at, parents, partial(_table, source, rows)))
    return declared


def _states(source: Source, block: Block, name: str) -> list[str]:
    """The states that the block of a variable declares."""
    labels: list[str] = []
    for at, statement in block.statements:
        if statement.startswith("type"):  # others are properties
            found = _listed(statement)
            if found is None:
                raise source.fault(f"expected 'type discrete [ k ] {{ k states }}' of {name!r}", at)
            labels = found
    return labels


def _listed(statement: str) -> list[str] | None:
    """The labels of a statement `type discrete [ k ] { ... }`, or None if it is none with k of them."""
    match = _TYPE.fullmatch(statement)
    if match is None:
        return None
    count = int(match[1])
    return split(match[2], lambda labels: len(labels) == count)


def _kind(source: Source, row: Statement) -> str:
    """Whether a row is a `table`, a `default`, a `property` or, by the empty text, one of a configuration."""
    match = _ROW.match(row.text)
    if match is None:
        found = (row.text.split() or [";"])[0]
        raise source.fault(f"expected '(', 'table' or 'default', found {found!r}", row.at)
    return match[1] or ""


def _table(source: Source, rows: Sequence[Statement], labels: Sequence[Sequence[str]]) -> Table:
    """The table that these rows are, its axes in the order of the labels."""
    *arities, arity = map(len, labels)
    codes = [{label: code for code, label in enumerate(row)} for row in labels[:-1]]
    table = np.full((*arities, arity), np.nan)
    seen: set[object] = set()
    for row in sorted(rows, key=lambda row: not row.text.startswith("default")):  # the others replace it
        kind = _kind(source, row)
        given, numbers = ("", row.text[len(kind) :]) if kind else _parts(row.text)
        found = numbers.replace(",", " ").replace("|", " ").split()
        probabilities = source.probabilities(found, table.size if kind == "table" else arity, row.at)
        place = kind or _configuration(source, row, given, codes)
        if place in seen:
            raise source.fault("these probabilities are given twice: remove one row", row.at)
        seen.add(place)
        if kind == "table":
            table = np.moveaxis(probabilities.reshape(arity, *arities), 0, -1).copy()
        else:
            table[... if kind == "default" else place] = probabilities
    return table


def _parts(row: str) -> tuple[str, str]:
    """The labels of the parents, and the numbers behind them, which have no brackets."""
    given, _, numbers = row[1:].rpartition(")")
    return given, numbers


def _configuration(source: Source, row: Statement, given: str, codes: Sequence[Mapping[str, int]]) -> tuple[int, ...]:
    """The codes of the parents' states that a row begins with."""

    def fits(labels: Sequence[str]) -> bool:
        return len(labels) == len(codes) and all(label in known for label, known in zip(labels, codes, strict=True))

    labels = split(given, fits)
    if labels is not None:
        return tuple(known[label] for label, known in zip(labels, codes, strict=True))
    labels = split(given, lambda labels: len(labels) == len(codes))
    if labels is None:
        found = len(pieces(given))
        raise source.fault(f"expected the states of {len(codes)} parents, found {found}", row.at)
    label, known = next((label, known) for label, known in zip(labels, codes, strict=True) if label not in known)
    raise source.fault(f"the state {label!r} is none of {', '.join(known)}: correct it", row.at)


def originals_in(text: str) -> list[Change]:
    """What comments of `bif_text` tell of names and labels that it had to replace."""
    found = []
    for comment in _ORIGINAL.findall(text):
        with suppress(ValueError):  # a comment of another program
            found.append(json_value(comment))
    return found
