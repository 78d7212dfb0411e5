"""What callers of the public functions give: data, budgets, who hears of progress.

Nothing heavy is imported before it is called.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from extbnsl.core.arguments import plain
from extbnsl.core.claims import Claim
from extbnsl.core.data_options import TABLE_OPTIONS
from extbnsl.core.options import Declared, Option, made_of
from extbnsl.scores.known import CLAIM_OPTIONS

if TYPE_CHECKING:
    from extbnsl.core.events import Observer
    from extbnsl.data import Data
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
    from extbnsl.data.advice import in_python

    try:
        yield
    except ExtbnslError as error:
        error.args = (in_python(str(error)),)
        raise


def claim_from(options: Mapping[str, Any]) -> Claim:
    """The claim that a caller asks for."""
    from extbnsl.formats.expert_knowledge import knowledge_given

    ess, knowledge = plain(options["ess"]), knowledge_given(options["knowledge"])
    return made_of(Claim, options, score=options["score"], ess=ess, knowledge=knowledge)


def problem_from(data: Any, options: Mapping[str, Any]) -> "Data | LocalScores":
    """`data` as a problem to solve, of numbers if the score is of these; InputError for options that its kind has no
    use for."""
    from extbnsl.core.errors import InputError
    from extbnsl.data import Data, from_array, from_dataframe, numbers_from_array, numbers_from_dataframe
    from extbnsl.data.advice import in_python
    from extbnsl.data.treatment import chosen
    from extbnsl.scores.known import is_of_numbers
    from extbnsl.scores.local import LocalScores, named_scores

    names, score = options["names"], options["score"]
    treated: dict[str, Any] = {name: options[name] for name in TABLE_OPTIONS}
    if isinstance(data, dict):
        data = named_scores(data)
    ready = isinstance(data, Data | LocalScores)
    if names is not None and (ready or hasattr(data, "columns")):
        raise InputError(f"names: a {type(data).__name__} has names of its own; leave them out.")
    if ready and (useless := ", ".join(chosen(treated))):
        raise InputError(f"{useless}: a {type(data).__name__} is ready to use; leave them out.")
    if isinstance(data, Data | LocalScores):
        return data
    if isinstance(data, (str, bytes, PathLike)):
        raise InputError(f"data: {data!r} is no data; read a file with extbnsl.read_csv first.")
    if hasattr(data, "to_frame"):
        raise InputError("data: a series is a single column; give a data frame (series.to_frame()).")
    made: Data
    if is_of_numbers(score):
        of_frame = hasattr(data, "columns")
        made = numbers_from_dataframe(data, **treated) if of_frame else numbers_from_array(data, names, **treated)
    else:
        made = from_dataframe(data, **treated) if hasattr(data, "columns") else from_array(data, names, **treated)
    return replace(made, warnings=tuple(map(in_python, made.warnings)))


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
