"""What reading a file may take, and who hears of it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from os import PathLike
from typing import TypeVar

from extbnsl.core.errors import BudgetError
from extbnsl.core.events import Observer, StageAdvanced, ignore
from extbnsl.machine.budgets import Deadline, default_memory, format_size

STAGE = "reading"

T = TypeVar("T")


@dataclass(frozen=True)
class Reading:
    """What reading a file may take, and who hears of it.

    memory: bytes for what is kept of the file and what is made of it, by default three quarters of what the machine
    has free. deadline: until when. observer: hears how much of the file has been read.
    """

    memory: int = field(default_factory=default_memory)
    deadline: Deadline = field(default_factory=Deadline)
    observer: Observer = ignore

    def advanced(self, path: str | PathLike[str], done: int, total: int) -> None:
        """Say that `done` of `total` bytes of the file have been read (0: nobody knows); BudgetError if time is up."""
        self.check_time(path)
        self.observer(StageAdvanced(STAGE, done, total, "bytes"))

    def watched(self, path: str | PathLike[str], columns: Iterable[T]) -> Iterator[T]:
        """The columns, one after the other; BudgetError when the time is up between two."""
        for column in columns:
            self.check_time(path)
            yield column

    def check_time(self, path: str | PathLike[str]) -> None:
        """Raise BudgetError if the time is up."""
        if self.deadline.passed():
            raise BudgetError(f"The time limit passed while {path} was read: give a longer one.")

    def check_memory(self, path: str | PathLike[str], needed: int, so_far: str) -> None:
        """Raise BudgetError if what has been read so far is certain to need more bytes than the memory has."""
        if needed > self.memory:
            raise BudgetError(
                f"{path} needs more than the {format_size(self.memory)} of memory that --memory grants: "
                f"{so_far} read so far take {format_size(needed)}; grant more, or leave out what is not needed."
            )
