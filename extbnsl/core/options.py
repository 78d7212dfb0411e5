"""Options: the fields of a dataclass say once what a caller may choose, and all faces of the program follow.

    seed: Annotated[int, Option("seed of the randomised steps", "S", most=LARGEST_SEED)] = 0

The field has the name, the type and the default, and `Option` the rest. `Options` checks the values; the command line
has an option for each field (`cli.options.add_options`), functions in Python a keyword (`core.keywords`), and
docs/options.md a line.
"""

import dataclasses
import functools
import operator
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from extbnsl.core.arguments import check_switch, check_whole, plain
from extbnsl.core.errors import InputError

T = TypeVar("T")


@dataclass(frozen=True)
class Option:
    """What is said of an option beside the name, the type and the default of its field.

    usage: what it does, as all faces say it, without its default.
    metavar: what stands for its value in the help.
    choices: the words that it takes, if these are few.
    least, most: the range of a whole number.
    default: the default in words, where its value does not say it.
    off: of a switch that is on, what the option --no-NAME does.
    parse: what makes its value of what is given, such as bytes of '8GiB'; it gets the name too.
    given: the types that callers in Python may give, where these are not that of the field.
    aliases: other names.
    flag: the option of the command line, where it has not the name of the field.
    repeated: whether the command line takes it several times, each with texts with commas between them.
    """

    usage: str
    metavar: str = ""
    choices: tuple[str, ...] = ()
    least: int = 0
    most: int | None = None
    default: str = ""
    off: str = ""
    parse: Callable[[Any, str], Any] | None = None
    given: Any = None
    aliases: tuple[str, ...] = ()
    repeated: bool = False
    flag: str = ""

    def __call__(self, value: Any) -> bool:
        """Whether a value, of the type that it should have, is one of those that there may be."""
        if value is None or isinstance(value, bool):
            return True
        if isinstance(value, int):
            return self.least <= value and (self.most is None or value <= self.most)
        return not self.choices or value in self.choices


@dataclass(frozen=True)
class Declared:
    """An option with what its field says.

    name: that of the field, and of the keyword in Python.
    kind: its type without None.
    optional: whether None is allowed.
    default: the default; None also where the field has none.
    option: what is said of it.
    """

    name: str
    kind: Any
    optional: bool
    default: Any
    option: Option

    @property
    def flag(self) -> str:
        """The option of the command line."""
        if self.option.flag:
            return self.option.flag
        return f"--{self.name.replace('_', '-')}" if len(self.name) > 1 else f"-{self.name}"

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

    def read(self, value: Any) -> Any:
        """The value that a caller in Python gives, as the field has it; InputError for what cannot be."""
        if value is None or self.option.parse is None:
            return plain(value)
        return self.option.parse(plain(value), self.name)


def declared(kind: Any) -> dict[str, Declared]:
    """The options that a dataclass declares, by name, in their order."""
    return dict(_declared(kind))


@functools.cache
def _declared(kind: Any) -> Mapping[str, Declared]:
    found = {}
    for field in dataclasses.fields(kind):
        for own in getattr(field.type, "__metadata__", ()):
            if isinstance(own, Option):
                parts = union_of(typing.get_args(field.type)[0])
                default = None if field.default is dataclasses.MISSING else field.default
                kind_of_value = functools.reduce(operator.or_, [part for part in parts if part is not type(None)])
                found[field.name] = Declared(field.name, kind_of_value, type(None) in parts, default, own)
    return found


def made_of(kind: type[T], given: Mapping[str, Any], **others: Any) -> T:
    """The dataclass of options with what a caller in Python gives of them, and other fields."""
    known = {name: one.read(given[name]) for name, one in declared(kind).items() if name in given}
    return kind(**known | others)


def union_of(hint: Any) -> tuple[Any, ...]:
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

    @classmethod
    def renamed(cls, document: Mapping[str, Any]) -> dict[str, Any]:
        """A `document` in which each option has its own name, where it had an alias."""
        names = {alias: name for name, one in declared(cls).items() for alias in one.option.aliases}
        return {names.get(name, name): value for name, value in document.items()}

    @classmethod
    def completed(cls, document: Mapping[str, Any]) -> dict[str, Any]:
        """A `document` with the defaults of the options that it lacks: it may be from before there were these."""
        fields = dataclasses.fields(typing.cast(Any, cls))
        return {one.name: one.default for one in fields if one.default is not dataclasses.MISSING} | dict(document)
