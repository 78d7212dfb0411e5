"""What is wrong with a file of the user's: everything at once, each with its line and key."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from extbnsl.core.errors import InputError

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
