"""Knowledge in a YAML or CSV file.

    required: [[smoke, lung]]            forbidden: [[dysp, xray]]
    tiers: [[asia, smoke], [tub, lung]]  roots: [asia]     leaves: [xray]
    max_parents: {dysp: 2}               allowed: [[smoke, lung], [smoke, bronc]]

A CSV file has one line for each fact, `kind,first,second`: required, forbidden or allowed with parent and child, tier
with its number and a variable, root or leaf with a variable, max_parents with a variable and a number. Its first line
may have these words.
"""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictInt, StrictStr, ValidationError

from extbnsl.core.arguments import written_number
from extbnsl.core.codec import MOST
from extbnsl.core.errors import InputError
from extbnsl.core.knowledge import Knowledge
from extbnsl.files.atomic import read_given
from extbnsl.files.yaml_file import MOST_BYTES, FileError, error_of, problems_of, read_yaml, spelled, told

NO_SUCH_KEY = "There is no such key; use required, forbidden, allowed, tiers, roots, leaves or max_parents."
ARCS = ("required", "forbidden", "allowed")
SHOWN = 60  # characters of what is no number
PLURALS = {"root": "roots", "leaf": "leaves"}
KINDS = (*ARCS, "tier", *PLURALS, "max_parents")

Name = Annotated[StrictStr, BeforeValidator(lambda value: str(value) if type(value) in (int, float) else value)]
Arcs = list[Annotated[list[Name], Field(min_length=2, max_length=2)]]
Most = Annotated[StrictInt, Field(ge=0, le=MOST)]


class KnowledgeFile(BaseModel):
    """What the file may say."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    required: Arcs = []
    forbidden: Arcs = []
    allowed: Arcs = []
    tiers: list[list[Name]] = []
    roots: list[Name] = []
    leaves: list[Name] = []
    max_parents: dict[str, Most] = {}


def read_knowledge(path: Path) -> Knowledge:
    """The knowledge in a file, CSV if its name ends so, or else YAML.

    FileError with all that is wrong with it, InputError if it contradicts itself; whether there are such variables, the
    data say.
    """
    found = _read_csv(path) if path.suffix.lower() == ".csv" else _read_yaml(path)
    try:
        found.check()
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    return found


def knowledge_of(given: Mapping[str, Any]) -> Knowledge:
    """The knowledge of a mapping with the keys of the file; InputError, with all that is wrong with it."""
    try:
        return Knowledge.from_document(KnowledgeFile.model_validate(dict(given)).model_dump())
    except ValidationError as error:
        wrong = problems_of(error.errors(include_url=False), NO_SUCH_KEY)
        raise InputError("\n".join(f"knowledge: {spelled(one.key)}: {one.sentence}" for one in wrong)) from None


def _read_yaml(path: Path) -> Knowledge:
    located = read_yaml(path)
    value = {} if located.value is None else located.value
    if not isinstance(value, dict):
        raise FileError([told(path, None, (), "It holds no knowledge: a mapping with required, forbidden, tiers, ...")])
    problems = list(located.problems)
    try:
        found = KnowledgeFile.model_validate(value)
    except ValidationError as error:
        problems += problems_of(error.errors(include_url=False), NO_SUCH_KEY)
    if problems:
        raise error_of(path, located, problems)
    return Knowledge.from_document(found.model_dump())


def _read_csv(path: Path) -> Knowledge:
    try:
        text = read_given(path, MOST_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError([told(path, None, (), "It is no text in UTF-8.")]) from error
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    found: dict[str, Any] = {key: [] for key in (*ARCS, *PLURALS.values())} | {"tiers": {}, "max_parents": {}}
    problems = []
    try:
        for fields in reader:
            if wrong := _take([field.strip() for field in fields], reader.line_num, found):
                problems.append(told(path, reader.line_num, (), wrong))
    except csv.Error as error:
        raise FileError([told(path, reader.line_num, (), f"It is no CSV ({error}).")]) from error
    if problems:
        raise FileError(problems)
    tiers = [names for _, names in sorted(found["tiers"].items())]
    return Knowledge.from_document(KnowledgeFile(**found | {"tiers": tiers}).model_dump())


def _take(fields: Sequence[str], line: int, found: dict[str, Any]) -> str | None:
    """Add what a line says to what a file in YAML would say, but tiers by their numbers; or else what is wrong."""
    kind, *rest = fields or [""]
    rest = [field for field in rest if field]
    if (not kind and not rest) or (line == 1 and kind == "kind"):
        return None
    if kind not in KINDS:
        return f"{kind!r} is none of {', '.join(KINDS)}."
    if len(rest) != (1 if kind in PLURALS else 2):
        wanted = "a variable" if kind in PLURALS else "two more fields"
        return f"{kind!r} needs {wanted}; names with commas go in quotes."
    if kind in ARCS or kind in PLURALS:
        found[PLURALS.get(kind, kind)].append(rest if kind in ARCS else rest[0])
        return None
    text, name = rest if kind == "tier" else rest[::-1]
    number = written_number(text)
    if number is None:
        return f"{text[:SHOWN]!r} is not a whole number of at least 0."
    if kind == "tier":
        found["tiers"].setdefault(number, []).append(name)
    elif (limit := found["max_parents"].setdefault(name, number)) != number:
        return f"{name!r} has the limit {limit} already; leave one of them out."
    return None
