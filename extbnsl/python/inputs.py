"""What callers of the public functions give: data, budgets, knowledge, who hears of progress.

Nothing heavy is imported before it is called.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from extbnsl.core.arguments import path_of, plain
from extbnsl.core.claims import Claim
from extbnsl.core.data_options import TABLE_OPTIONS, DataOptions
from extbnsl.core.options import Declared, Option, made_of
from extbnsl.scores.known import CLAIM_OPTIONS

if TYPE_CHECKING:
    from extbnsl.core.events import Observer
    from extbnsl.core.knowledge import Knowledge
    from extbnsl.data import Data
    from extbnsl.data.encode import Make
    from extbnsl.scores.local import LocalScores

KNOWLEDGE = Option(
    'which networks there are to choose from: a dict of lists such as {"required": [["a", "b"]]}, the path of a file, '
    "a Knowledge, or an object such as pgmpy's ExpertKnowledge"
)
NAMES = Option("the names of the columns of an array", given=Sequence[str])
PROGRESS = Option(
    "True for lines on standard error, or a function that takes an event, see extbnsl.core.events",
    given=bool | Callable[[Any], None],
)
QUESTION = CLAIM_OPTIONS | {"knowledge": Declared("knowledge", object, True, None, KNOWLEDGE)}
TABLE = {"names": Declared("names", list, True, None, NAMES)} | TABLE_OPTIONS
TELLING = {"progress": Declared("progress", bool, False, False, PROGRESS)}


@contextlib.contextmanager
def told_in_python() -> Iterator[None]:
    """Let errors name arguments where they name options."""
    from extbnsl.core.errors import ExtbnslError

    try:
        yield
    except ExtbnslError as error:
        error.tell_in_python()
        raise


def claim_from(options: Mapping[str, Any]) -> Claim:
    """The claim that a caller asks for."""
    ess, knowledge = plain(options["ess"]), knowledge_given(options["knowledge"])
    return made_of(Claim, options, score=options["score"], ess=ess, knowledge=knowledge)


def problem_from(data: Any, options: Mapping[str, Any]) -> "Data | LocalScores":
    """`data` as a problem to solve, of numbers if the score is of these; InputError for options that its kind has no
    use for."""
    from extbnsl.core.errors import InputError
    from extbnsl.core.sentences import Sentence
    from extbnsl.data import Data, measured, prepare
    from extbnsl.data.given import made_of_array, made_of_frame
    from extbnsl.data.treatment import chosen
    from extbnsl.scores.known import is_of_numbers
    from extbnsl.scores.local import LocalScores, named_scores

    names, score = options["names"], options["score"]
    treated = made_of(DataOptions, options)
    if isinstance(data, dict):
        data = named_scores(data)
    ready = isinstance(data, Data | LocalScores)
    if names is not None and (ready or hasattr(data, "columns")):
        raise InputError(f"names: a {type(data).__name__} has names of its own; leave them out.")
    if ready and (useless := ", ".join(chosen(treated.document()))):
        raise InputError(f"{useless}: a {type(data).__name__} is ready to use; leave them out.")
    if isinstance(data, Data | LocalScores):
        return data
    if isinstance(data, (str, bytes, PathLike)):
        raise InputError(f"data: {data!r} is no data; read a file with extbnsl.read_csv first.")
    if hasattr(data, "to_frame"):
        raise InputError("data: a series is a single column; give a data frame (series.to_frame()).")
    make: Make[Any] = measured if is_of_numbers(score) else prepare
    framed = hasattr(data, "columns")
    made = made_of_frame(make, data, treated) if framed else made_of_array(make, data, names, treated)
    return replace(made, warnings=tuple(Sentence(warning).in_python() for warning in made.warnings))


def observer_from(options: Mapping[str, Any]) -> "Observer":
    """What `progress` asks for: lines on standard error, nothing, or the observer that it is."""
    import sys

    from extbnsl.core.errors import InputError
    from extbnsl.core.events import ignore
    from extbnsl.run.progress import Table, line_writer

    progress = options["progress"]
    if progress is True:
        return Table(line_writer(sys.stderr))
    if progress is False:
        return ignore
    if callable(progress):
        observer: Observer = progress
        return observer
    raise InputError(f"progress: {progress!r} is neither True, False nor a function that takes an event.")


_ATTRIBUTES = {
    "required": "required_edges",
    "forbidden": "forbidden_edges",
    "allowed": "search_space",
    "tiers": "temporal_order",
}


def knowledge_given(given: Any) -> "Knowledge":
    """The knowledge that is given: a Knowledge, a dict with the keys of the file, the path of one, or another package's
    object; InputError if it is none.

    An object as pgmpy's ExpertKnowledge has `required_edges`, `forbidden_edges`, `search_space` (pairs of parent and
    child) and `temporal_order` (a list of lists); what it lacks, or has as None, says nothing.
    """
    from extbnsl.core.errors import InputError
    from extbnsl.core.knowledge import NOTHING, Knowledge
    from extbnsl.formats.knowledge_file import knowledge_of, read_knowledge

    if given is None:
        return NOTHING
    if isinstance(given, Knowledge):
        return given
    if isinstance(given, Mapping):
        return knowledge_of(given)
    if isinstance(given, str | PathLike):
        return read_knowledge(path_of(given, "knowledge"))
    if not any(hasattr(given, name) for name in _ATTRIBUTES.values()):
        raise InputError(
            f"knowledge: {type(given).__name__} is none; give a dict with required, forbidden, tiers, ..., a file of "
            "these, or an object with required_edges, forbidden_edges, temporal_order or search_space."
        )
    found: dict[str, Any] = {}
    for key, name in _ATTRIBUTES.items():
        own = getattr(given, name, None)
        if own is not None and len(own) > 0:
            found[key] = [list(part) if isinstance(part, list | tuple | set | frozenset) else part for part in own]
    return knowledge_of(found)
