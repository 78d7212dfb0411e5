"""Reading YAML so that every value knows its line, keys are not repeated, and no file is larger than it looks.

What is wrong with a file is told at once, each problem with its line and key, what pydantic finds in the words of this
program.
"""

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from extbnsl.core.errors import InputError
from extbnsl.files.atomic import read_given

Key = tuple[str | int, ...]  # the way to a value: keys of mappings and places in lists, from 0


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong, at a key of the file; a sentence. line: None for that of the key."""

    key: Key
    sentence: str
    line: int | None = None


class FileError(InputError):
    """A file that cannot be used; `lines` has a line for each problem, in the order of the file."""

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__("\n".join(lines))
        self.lines = tuple(lines)


def told(path: Path, line: int | None, key: Key, sentence: str) -> str:
    """A problem as people and editors read it, such as 'smoke.yaml:12: methods.2.options: ...'."""
    where = f"{path}:{line}" if line else f"{path}"
    return f"{where}: {spelled(key)}: {sentence}" if key else f"{where}: {sentence}"


def spelled(key: Key) -> str:
    """A key as people write it; places in lists are counted from 1."""
    return ".".join(str(part + 1) if isinstance(part, int) else part for part in key)


MOST_BYTES = 4 << 20
MOST_VALUES = 200_000  # after aliases have been followed: a few lines can stand for billions
MOST_LEVELS = 20
MERGE = "tag:yaml.org,2002:merge"


@dataclass(frozen=True)
class Located:
    """A value of plain dicts, lists and scalars, the line, from 1, of everything in it by its key, and what is wrong
    with it that did not hinder reading it."""

    value: Any
    lines: Mapping[Key, int]
    problems: Sequence[Problem]
    content: bytes

    def line(self, key: Key) -> int | None:
        """The line of the value at a key, or of what it would be in."""
        while key and key not in self.lines:
            key = key[:-1]
        return self.lines.get(key)


def read_yaml(path: Path, as_written: bool = False) -> Located:
    """The document in a YAML file; InputError if it cannot be read or is too large, FileError if it is none.

    as_written: whether all values are the texts that stand there, `no` and `1.0` too.
    """
    content = read_given(path, MOST_BYTES)
    loader: yaml.BaseLoader | yaml.SafeLoader | None = None
    if path.suffix.lower() == ".json":
        content = content.replace(b"\t", b" ")  # which indent JSON, but not YAML
    try:
        loader = yaml.BaseLoader(content) if as_written else yaml.SafeLoader(content)
        node = loader.get_single_node()
        reader = _Reader(path, loader)
        value = reader.value(node, ()) if node is not None else None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        sentence = " ".join(filter(None, (error.context, error.problem))) or "It is no YAML"
        raise FileError([told(path, None if mark is None else mark.line + 1, (), f"{sentence}.")]) from error
    except RecursionError as error:
        raise FileError([told(path, None, (), "It has more levels than such a file needs.")]) from error
    except (yaml.YAMLError, ValueError, OverflowError) as error:  # the last two of escapes of no character
        first = (str(error) or "not readable").splitlines()[0]
        raise FileError([told(path, None, (), f"It is no YAML ({first}).")]) from error
    finally:
        if loader is not None:
            loader.dispose()
    return Located(value, reader.lines, reader.problems, content)


class _Reader:
    """Makes values of nodes, and keeps the lines; `problems` has what is wrong with them."""

    def __init__(self, path: Path, loader: yaml.BaseLoader | yaml.SafeLoader) -> None:
        self.lines: dict[Key, int] = {}
        self.problems: list[Problem] = []
        self._path = path
        self._loader = loader
        self._values = 0
        self._open: list[yaml.Node] = []  # from the document to the node in work

    def value(self, node: yaml.Node, key: Key) -> Any:
        """The value of a node, at a key."""
        self.lines[key] = node.start_mark.line + 1
        with self._opened(node, key):
            if isinstance(node, yaml.MappingNode):
                return self._mapping(node, key)
            if isinstance(node, yaml.SequenceNode):
                return [self.value(item, (*key, place)) for place, item in enumerate(node.value)]
            try:
                return self._loader.construct_object(node)
            except ValueError as error:  # such as a date in month 13
                self._tell(node, key, f"It cannot be read: {error}.")
                return node.value

    @contextlib.contextmanager
    def _opened(self, node: yaml.Node, key: Key) -> Iterator[None]:
        """Count a node while it is in work; FileError if it holds itself, or if it is one too many."""
        self._values += 1
        if any(node is other for other in self._open):
            raise self._error(node, key, "It holds itself.")
        if self._values > MOST_VALUES or len(self._open) > MOST_LEVELS:
            raise self._error(node, key, "With it the file stands for more values, or levels, than such a file needs.")
        self._open.append(node)
        yield
        self._open.pop()

    def _error(self, node: yaml.Node, key: Key, sentence: str) -> FileError:
        return FileError([told(self._path, node.start_mark.line + 1, key, sentence)])

    def _tell(self, node: yaml.Node, key: Key, sentence: str) -> None:
        problem = Problem(key, sentence, node.start_mark.line + 1)
        if problem not in self.problems:  # what is merged is read again
            self.problems.append(problem)

    def _mapping(self, node: yaml.MappingNode, key: Key) -> dict[str, Any]:
        """The content of a mapping: what it merges first, so that its own keys have the last word, on lines too."""
        merged: dict[str, Any] = {}
        for other in reversed(list(self._merged(node, key))):
            with self._opened(other, key):
                merged |= self._mapping(other, key)
        found: dict[str, Any] = {}
        for name_node, value_node in node.value:
            if name_node.tag != MERGE:
                name = str(name_node.value) if isinstance(name_node, yaml.ScalarNode) else "?"
                if name in found:
                    self._tell(name_node, (*key, name), "It is there already; leave one of them out.")
                found[name] = self.value(value_node, (*key, name))
        return merged | found

    def _merged(self, node: yaml.MappingNode, key: Key) -> Iterator[yaml.MappingNode]:
        """The mappings that the '<<' of a mapping name; of a key in several of them, the first counts."""
        for name, value in node.value:
            if name.tag == MERGE:
                for each in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                    if isinstance(each, yaml.MappingNode):
                        yield each
                    else:
                        self._tell(each, (*key, "<<"), "It merges mappings alone.")


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
