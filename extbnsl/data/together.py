"""Remarks on data tell an option each; the options that settle all of them together are found here, by trying them."""

from collections.abc import Mapping
from dataclasses import fields, replace
from functools import partial
from os import PathLike
from typing import Any, NamedTuple

from extbnsl.core.data_options import DataOptions
from extbnsl.core.errors import BudgetError, InputError
from extbnsl.core.sentences import Mention, Sentence, in_list
from extbnsl.data.description import described
from extbnsl.data.file import read_file
from extbnsl.data.text import Reading

ROUNDS = 6  # one option may reveal what another has to settle: numbers, when their commas are read, are to be cut
SEVERAL = ("na", "unit", "drop", "discretise", "resolution")  # those of several texts, which add up
JUDGED = ("discrete", "columns", "states", "weights", "imputation", "targets", "records")  # which only the user can say
OF_LINES = ("skip-lines", "comment", "delimiter", "header")
KNOWN = frozenset(field.name.replace("_", "-") for field in fields(DataOptions)).difference(JUDGED)
Added = Mapping[str, tuple[str, ...]]  # the values of each option


class Told(NamedTuple):
    """A sentence about columns that are called so, and whether data are refused for it."""

    sentence: Sentence
    names: tuple[str, ...]
    refuses: bool


def together(
    path: str | PathLike[str], options: DataOptions, reading: Reading, kind: str | None = None
) -> tuple[Mention, ...]:
    """The further options by which the data in a file can be used, by a score of this kind of data, of states if that
    is None: the first that each remark on them advises.

    None if no options are enough, if a remark leaves the choice between two meanings, or if `reading` does not do.
    Reads the file at most ROUNDS times.
    """
    added: Added = {}
    for _ in range(ROUNDS):
        try:
            told = _told(path, _with(options, added), reading, kind)
        except BudgetError:
            return ()
        advised = list(map(_advised, told))
        if any({"decimal", "thousands"} <= {mention.name for mention in own} for own in advised):
            return ()
        before, added = added, _and_first(added, advised)
        if added == before:
            is_enough = not any(one.refuses for one in told)
            return tuple(_typed(name, ",".join(own)) for name, own in added.items()) if is_enough else ()
    return ()


def _typed(name: str, value: str) -> Mention:
    """The option as it is typed, in quotes only if the value needs them."""
    return Mention(name, value, word=value.replace(":", "").isalnum())


def _told(path: str | PathLike[str], options: DataOptions, reading: Reading, kind: str | None) -> list[Told]:
    """All that there is to say of the data, so treated."""
    try:
        found = read_file(partial(described, kind=kind), path, options, reading)
    except InputError as error:
        return [Told(error.sentence, error.names, True)]
    notes = [
        Told(note.sentence, tuple(found.columns[j].name for j in note.columns), note.refuses) for note in found.notes
    ]
    return [*notes, *(Told(one, (), False) for one in found.warnings if isinstance(one, Sentence))]


def _advised(told: Told) -> list[Mention]:
    """The options of reading data that a sentence proposes, in its order; one that leaves out columns, which are too
    many to be in the sentence, with their names."""
    mentions = [part for part in told.sentence.parts if isinstance(part, Mention) and part.name in KNOWN]
    unnamed = Mention("drop", in_list(told.names)) if told.refuses else None
    own = [unnamed if one.name == "drop" and one.value is None else one for one in mentions]
    return [one for one in own if one is not None and one.value is not None]


def _and_first(added: Added, advised: list[list[Mention]]) -> Added:
    """The options, with the first of each advice; those about lines alone, if there are any: with other rows the
    columns are others."""
    now, first = dict(added), [(own[0].name, own[0].value or "") for own in advised if own]
    for name, value in [one for one in first if one[0] in OF_LINES] or first:
        own = now.get(name, ()) if name in SEVERAL else ()
        now[name] = own if value in own else (*own, value)
    return now


def _with(options: DataOptions, added: Added) -> DataOptions:
    """The options as given, and these."""
    changed = dict[str, Any]()
    for name, own in added.items():
        field = name.replace("-", "_")
        given = getattr(options, field) if name in SEVERAL else None
        texts = () if given is None else (given,) if isinstance(given, str) else tuple(given)
        changed[field] = ",".join((*texts, *own))
    return replace(options, **changed)
