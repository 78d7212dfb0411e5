"""Options: the fields of a dataclass say once what a caller may choose, and all faces of the program follow.

    seed: Annotated[int, Option("seed of the randomised steps", "S", least=0, most=LARGEST_SEED)] = 0

The field has the name, the type and the default, and `Option` the rest. `Options` checks the values, the command line
has an option for each field (`cli.options.add_options`), and functions in Python a keyword (`python.keywords`).
"""

import dataclasses
import functools
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from extbnsl.core.arguments import check_switch, check_whole
from extbnsl.core.errors import InputError


@dataclass(frozen=True)
class Option:
    """What is said of an option beside the name, the type and the default of its field.

    usage: what it does, as the help and the pages say it.
    metavar: what stands for its value there.
    choices: the words that it takes, if these are few.
    least, most: the range of a whole number.
    default: the default in words, where its value does not say it.
    parse: what makes its value of what is given, such as a size of '8GiB'; it gets the name too.
    """

    usage: str
    metavar: str = ""
    choices: tuple[str, ...] = ()
    least: int = 0
    most: int | None = None
    default: str = ""
    parse: Callable[[Any, str], Any] | None = None

    def __call__(self, value: Any) -> bool:
        """Whether a value, of the type that it should have, is one of those that there may be."""
        if value is None or isinstance(value, bool):
            return True
        if isinstance(value, int):
            return self.least <= value and (self.most is None or value <= self.most)
        return not self.choices or value in self.choices


@dataclass(frozen=True)
class Declared:
    """An option with what its field says: its type without None, whether None is allowed, and the default."""

    name: str
    kind: type
    optional: bool
    default: Any
    option: Option

    def check(self, value: Any) -> None:
        """Raise InputError for a value that cannot be."""
        if value is None and self.optional:
            return
        choices = self.option.choices
        if choices and value not in choices:
            raise InputError(f"{self.name}: {value!r} is not known; use one of {', '.join(choices)}.")
        if self.kind is bool:
            check_switch(self.name, value)
        if self.kind is int and self.option.parse is None:
            check_whole(self.name, value, self.option.least, self.option.most)


def declared(kind: Any) -> Mapping[str, Declared]:
    """The options that a dataclass declares, by name, in their order."""
    return _declared(kind)


@functools.cache
def _declared(kind: Any) -> Mapping[str, Declared]:
    hints, found = typing.get_type_hints(kind, include_extras=True), {}
    for field in dataclasses.fields(kind):
        marks = getattr(hints[field.name], "__metadata__", ())
        own = next((mark for mark in marks if isinstance(mark, Option)), None)
        if own is not None:
            parts = _parts(typing.get_args(hints[field.name])[0])
            default = None if field.default is dataclasses.MISSING else field.default
            plain = next(part for part in parts if part is not type(None))
            found[field.name] = Declared(field.name, plain, type(None) in parts, default, own)
    return types.MappingProxyType(found)


def _parts(hint: Any) -> tuple[Any, ...]:
    """The types that a union has, or the one that it is."""
    return typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)


class Options:
    """What dataclasses of options have in common."""

    def check(self) -> None:
        """Raise InputError for values that cannot be."""
        for name, one in declared(type(self)).items():
            one.check(getattr(self, name))

    def document(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return dataclasses.asdict(typing.cast(Any, self))
