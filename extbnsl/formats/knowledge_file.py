"""Knowledge from outside: in a file of YAML or of another kind, and as what callers in Python give.

    required: [[smoke, lung]]            forbidden: [[dysp, xray]]
    tiers: [[asia, smoke], [tub, lung]]  roots: [asia]     leaves: [xray]
    max_parents: {dysp: 2}               allowed: [[smoke, lung], [smoke, bronc]]
    apart: [[asia, smoke]]               costs: [[smoke, lung, -2.2], [asia, lung, 3]]

A CSV file has one line for each fact, `kind,first,second`: required, forbidden or allowed with parent and child, tier
or apart with the number of a set and a variable of it, root or leaf with a variable, max_parents with a variable and a
number, cost with parent, child and nats. Its first line may have these words. `knowledge_lines` reads it, and files of
other programs.
"""

import glob
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, Strict, StrictInt, StrictStr, ValidationError

from extbnsl.core.arguments import path_of
from extbnsl.core.codec import MOST
from extbnsl.core.errors import InputError
from extbnsl.core.knowledge import ARCS, MOST_COST, Knowledge
from extbnsl.files.atomic import read_given
from extbnsl.files.yaml_file import MOST_BYTES, FileError, error_of, problems_of, read_yaml, spelled, told
from extbnsl.formats.knowledge_lines import read_arcs, read_costs, read_lines

NO_SUCH_KEY = (
    "There is no such key; use required, forbidden, allowed, tiers, roots, leaves, max_parents, apart or costs."
)

Name = Annotated[StrictStr, BeforeValidator(lambda value: str(value) if type(value) in (int, float) else value)]
Arcs = list[Annotated[list[Name], Field(min_length=2, max_length=2)]]
Cost = tuple[Name, Name, Annotated[float, Strict(), Field(ge=-MOST_COST, le=MOST_COST)]]
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
    apart: list[list[Name]] = []
    costs: list[Cost] = []


def read_knowledge(path: Path) -> Knowledge:
    """The knowledge in a file, of whichever kind its first line is: CSV, Tetrad's, GOBNILP's, or else YAML.

    FileError with all that is wrong with it, InputError if it contradicts itself; whether there are such variables, the
    data say.
    """
    document = read_lines(path, read_given(path, MOST_BYTES))
    found = _read_yaml(path) if document is None else _knowledge(document)
    try:
        found.check()
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    return found


def knowledge_of(given: Mapping[str, Any]) -> Knowledge:
    """The knowledge of a mapping with the keys of the file, in which the path of a table may stand for its arcs, and
    costs may be a mapping from (parent, child) to nats; or with the names that pgmpy has for them. InputError, with all
    that is wrong with it."""
    if any(name in given for name in PGMPY):
        given = _as_pgmpy_means(given)
    tables: dict[str, list[Any]] = {
        key: list(map(list, read_arcs(Path(own), key))) for key, own in given.items() if _is_table(key, own)
    }
    costs: Any = given.get("costs")
    if isinstance(costs, str | PathLike):
        tables["costs"] = [list(one) for one in read_costs(Path(costs))]
    elif isinstance(costs, Mapping):
        tables["costs"] = [[*arc, nats] for arc, nats in costs.items()]
    try:
        return _knowledge(dict(given) | tables)
    except ValidationError as error:
        wrong = problems_of(error.errors(include_url=False), NO_SUCH_KEY)
        raise InputError("\n".join(f"knowledge: {spelled(one.key)}: {one.sentence}" for one in wrong)) from None


def knowledge_given(given: Any) -> Knowledge:
    """The knowledge that a caller in Python gives: a Knowledge, a mapping as of `knowledge_of`, the path of a file, an
    object such as pgmpy's ExpertKnowledge; InputError if it is none."""
    if isinstance(given, Knowledge):
        return given
    if isinstance(given, Mapping):
        return knowledge_of(given)
    if isinstance(given, str | PathLike):
        return read_knowledge(path_of(given, "knowledge"))
    if not any(hasattr(given, name) for name in PGMPY):
        raise InputError(
            f"knowledge: {type(given).__name__} is none; give a dict with required, forbidden, tiers, ..., a file of "
            "these, or an object with required_edges, forbidden_edges, temporal_order or search_space."
        )
    return knowledge_of(_attributes(given))


# What pgmpy calls the parts of knowledge: ExpertKnowledge, and HillClimbSearch before there was that.
PGMPY = {
    "required_edges": "required",
    "fixed_edges": "required",
    "forbidden_edges": "forbidden",
    "black_list": "forbidden",
    "search_space": "allowed",
    "white_list": "allowed",
    "temporal_order": "tiers",
    "root_nodes": "roots",
}
DERIVED = "temporal_ordering"  # pgmpy makes it of temporal_order


def _attributes(given: Any) -> dict[str, Any]:
    """What an object says: its public attributes, but for methods of its class."""
    own = getattr(given, "__dict__", {})
    values = {name: getattr(given, name) for name in dir(given) if not name.startswith("_")}
    if "temporal_order" in values:
        values.pop(DERIVED, None)
    return {name: value for name, value in values.items() if name in own or not callable(value)}


def _as_pgmpy_means(given: Mapping[str, Any]) -> dict[str, Any]:
    """A mapping of pgmpy's names with the keys of the file. There the arcs of a search space are directed, an empty one
    is none, and no name is a pattern; InputError for a name that has something to say and is not known."""
    found: dict[str, Any] = {}
    for name, own in given.items():
        if own is None or (hasattr(own, "__len__") and len(own) == 0):
            if name == "white_list" and own is not None:
                found["apart"] = [["*"]]  # it was: no arc at all
            continue
        if name not in PGMPY:
            known = ", ".join(PGMPY)
            raise InputError(
                f"knowledge: {name!r} cannot be kept to here; of pgmpy's names there are {known}. Say it by these, and "
                "leave it out.",
                names=[name],
            )
        if not isinstance(own, Iterable) or isinstance(own, str):
            raise InputError(f"knowledge: {name} is {own!r}, which is no list.", names=[name], value=own)
        found.setdefault(PGMPY[name], []).extend(_plain(own))
    found["tiers"] = [tier for tier in found.get("tiers", []) if tier]
    space = found.get("allowed", [])
    arcs = {tuple(arc) for arc in space}
    back = [arc[::-1] for arc in space if tuple(arc[::-1]) not in arcs]
    return found | {"forbidden": [*found.get("forbidden", []), *back]}


def _plain(value: Any) -> Any:
    """A value of lists, in which a name stands for itself alone; sets in the order of their texts."""
    if isinstance(value, str):
        return glob.escape(value)
    if isinstance(value, set | frozenset):
        value = sorted(value, key=str)
    if isinstance(value, Iterable):
        return [_plain(part) for part in value]
    return value.item() if hasattr(value, "item") else value


def _is_table(key: str, value: Any) -> bool:
    return key in ARCS and isinstance(value, str | PathLike)


def _knowledge(document: Mapping[str, Any]) -> Knowledge:
    return Knowledge.from_document(KnowledgeFile.model_validate(document).model_dump(mode="json"))


def _read_yaml(path: Path) -> Knowledge:
    located = read_yaml(path)
    value = {} if located.value is None else located.value
    if not isinstance(value, dict):
        raise FileError([told(path, None, (), "It holds no knowledge: a mapping with required, forbidden, tiers, ...")])
    problems = list(located.problems)
    try:
        found = _knowledge(value)
    except ValidationError as error:
        problems += problems_of(error.errors(include_url=False), NO_SUCH_KEY)
    if problems:
        raise error_of(path, located, problems)
    return found
