"""What `verify --require` demands of a claim: KEY=VALUE,... or a file that says it."""

import csv
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from extbnsl.cli.parser import did_you_mean
from extbnsl.cli.score_network import data_options_of
from extbnsl.core.claims import STATUSES
from extbnsl.core.data_options import MISSING_RULES
from extbnsl.core.errors import InputError
from extbnsl.data.treatment import DEFAULT
from extbnsl.posteriors.scope import PRIORS
from extbnsl.scores.known import NAMES

NONE = "none"
GIVEN = "file"  # the score of costs that were not computed here


def demanded(texts: Sequence[str]) -> dict[str, Any]:
    """The values that are demanded, by the keys of `verify.question`, of all --require; InputError for what cannot be.

    A text with = is KEY=VALUE,... where double quotes keep a comma in a value. Any other is a file: YAML with the same
    keys, or a result.json or run directory, whose question is demanded.
    """
    found: dict[str, Any] = {}
    for text in texts:
        for key, value in _pairs(text) if "=" in text else _in_file(Path(text)):
            if key in found and found[key] != value:
                raise InputError(f"--require: {key} is demanded twice, and not the same; give it once.")
            found[key] = value
    return found


def _pairs(text: str) -> Iterator[tuple[str, Any]]:
    """The demands of KEY=VALUE,..."""
    for part in next(csv.reader([text], skipinitialspace=True), []):
        key, equals, value = part.partition("=")
        if not equals:
            raise InputError(
                f"--require: {part!r} is no KEY=VALUE; a value with commas stands in double quotes with it."
            )
        yield _demand(key, value.strip(), Path())


def _in_file(path: Path) -> Iterator[tuple[str, Any]]:
    """The demands of a file."""
    from extbnsl.files.yaml_file import read_yaml
    from extbnsl.results.reading import read_result

    value = read_result(path) if path.is_dir() or path.suffix == ".json" else read_yaml(path).value
    if not isinstance(value, Mapping):
        raise InputError(f"--require: {path} is no mapping of keys such as score and records to values.")
    if "format_version" in value:
        yield from _question_in(value, path)
    else:
        yield from (_demand(str(key), own, path.parent) for key, own in value.items())


def _question_in(document: Mapping[str, Any], path: Path) -> Iterator[tuple[str, Any]]:
    """The demands of another result: that the question is the same, whatever became of it."""
    from extbnsl.verify.document import read_claims
    from extbnsl.verify.question import OUTCOME, question_of

    claim = read_claims(document)
    parts = question_of(document, claim, claim.provenance.records, data_options_of(document, path)).parts()
    yield from ((key, value) for key, value in parts.items() if key not in OUTCOME)


def _demand(key: str, value: Any, folder: Path) -> tuple[str, Any]:
    """A key and its value as `Question.parts` has it, None for 'none'; InputError for what cannot be. Paths are below
    the folder."""
    from extbnsl.verify.question import KEYS

    own = key.strip().replace("_", "-")
    if own not in KEYS:
        raise InputError(f"--require: {_unknown(key.strip(), KEYS)}")
    if value is None or value == NONE or (own, value) == DEFAULT:
        return own, None
    if own == "knowledge":
        return own, _knowledge(value, folder)
    if own in CHOICES:
        if value not in CHOICES[own]:
            raise InputError(f"--require: {own}: {_unknown(str(value), CHOICES[own])}")
        return own, value
    wanted, read = KINDS.get(own, ("a text", _text))
    try:
        return own, read(value)
    except (TypeError, ValueError, KeyError):
        raise InputError(f"--require: {own}: {value!r} is not {wanted} or none.") from None


def _unknown(word: str, known: Sequence[str]) -> str:
    """What to say of a word that is none of those that are known, to the end of the sentence."""
    return f"{word!r} is not known{did_you_mean(word, known) or '; there are ' + ', '.join(known) + '.'}"


def _knowledge(value: Any, folder: Path) -> Any:
    """The knowledge in a file, or of a mapping as such a file has it."""
    from extbnsl.formats.knowledge_file import knowledge_of, read_knowledge

    if isinstance(value, Mapping):
        return knowledge_of(value) or None
    if not isinstance(value, str):
        raise InputError(f"--require: knowledge: {value!r} is not the name of a file or none.")
    return read_knowledge(folder / value) or None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError
    return value


def _whole(value: Any) -> int:
    if isinstance(value, bool | float) or int(value) < 0:
        raise ValueError
    return int(value)


def _number(value: Any) -> float:
    number = float(value)
    if isinstance(value, bool) or not 0.0 < number < math.inf:
        raise ValueError
    return number


def _truth(value: Any) -> bool:
    return {"true": True, "false": False}[str(value).lower()]


def _switch(value: Any) -> bool | None:
    """What is off is what a claim says nothing of."""
    return _truth(value) or None


def _options(value: Any) -> Any:
    """All data options, in a file; 'refuse' for missing values is no option."""
    if not isinstance(value, Mapping):
        raise ValueError
    return {str(key): own for key, own in value.items() if (key, own) != ("missing", "refuse")} or None


CHOICES = {"status": STATUSES, "prior": PRIORS, "score": (*NAMES, GIVEN), "missing": MISSING_RULES}
WHOLE, NUMBER, SWITCH = "a whole number of at least 0", "a number above 0", "true, false"
KINDS: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    **dict.fromkeys(("max-parents", "variables", "records", "k", "resamples", "lags"), (WHOLE, _whole)),
    **dict.fromkeys(("ess", "penalty", "gamma", "parent-cost", "within-factor", "within"), (NUMBER, _number)),
    **dict.fromkeys(("order-optimal", "classes"), (SWITCH, _switch)),
    **dict.fromkeys(("header", "instant"), (SWITCH, _truth)),
    "data-options": ("a mapping in a file", _options),
}
