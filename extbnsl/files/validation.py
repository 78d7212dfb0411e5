"""What pydantic finds wrong with a file, in the words of this program."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from extbnsl.files.problems import FileError, Key, Problem, told
from extbnsl.files.yaml_file import Located

_KINDS = ("str", "int", "float", "bool", "constrained-str", "constrained-int")


def problems_of(errors: Sequence[Any], no_such_key: str) -> Iterator[Problem]:
    """Each error once, of a value that may be of several kinds too; no_such_key: what to say of a key that is none."""
    kinds: dict[Key, list[str]] = {}
    for error in errors:
        key = _key(error)
        if error["type"] == "extra_forbidden":
            yield Problem(key, no_such_key)
        elif error["type"] == "missing":
            yield Problem(key, "It is missing.")
        else:
            kinds.setdefault(key, []).append(error["msg"].removeprefix("Input ").removeprefix("List "))
            if len(kinds[key]) == sum(_key(other) == key for other in errors):
                wanted = " or ".join(dict.fromkeys(kinds[key])).replace(" or should be ", " or ")
                yield Problem(key, f"It {wanted}, and is {_short(error['input'])}.")


def error_of(path: Path, located: Located, problems: Iterable[Problem]) -> FileError:
    """The error of these problems, in the order of the lines."""
    lines = {}
    for problem in problems:
        line = problem.line or located.line(problem.key)
        lines[told(path, line, problem.key, problem.sentence)] = line or 0
    return FileError(sorted(lines, key=lambda text: lines[text]))


def _key(error: Any) -> Key:
    """Where an error is: without the kinds of values, and the names of functions, that pydantic tried."""
    key: Key = tuple(error["loc"])
    if error["type"] in ("extra_forbidden", "missing"):
        return key
    for at, part in enumerate(key):
        if isinstance(part, str) and part.startswith("list["):
            return key[:at]
    return key[:-1] if key and isinstance(key[-1], str) and key[-1] in _KINDS else key


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
