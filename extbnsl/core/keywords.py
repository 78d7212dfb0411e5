"""Keywords of functions, from the options that dataclasses declare.

    @keywords(declared(Budgets), declared(Methods))
    def learn(data, *, progress=False, **options): ...

The signature of `learn` then has a keyword for each option, with its type and its default, and its docstring a
paragraph, where it has the line '{options}'.
"""

import functools
import inspect
import textwrap
from collections.abc import Callable, Iterable, Mapping
from inspect import Parameter
from typing import Any, TypeVar, cast

from extbnsl.core.options import Declared, union_of

T = TypeVar("T")
Function = TypeVar("Function", bound=Callable[..., Any])
WIDTH = 120 - 8  # of a paragraph in a docstring, without its margin
NAMES_OF_TYPES = {
    "PathLike": "path-like",
    "Sequence": "sequence of str",
    "Callable": "callable",
    "Path": "path-like",
    "Mapping": "dict",
}


def without(options: Mapping[str, Declared], *names: str) -> dict[str, Declared]:
    """The options but these."""
    return {name: one for name, one in options.items() if name not in names}


def described(*groups: Mapping[str, Declared]) -> Callable[[type[T]], type[T]]:
    """Let the docstring of a class have these options, as those of functions have them."""

    def decorated(kind: type[T]) -> type[T]:
        kind.__doc__ = with_options(kind.__doc__ or "", _together(groups))
        return kind

    return decorated


def keywords(*groups: Mapping[str, Declared]) -> Callable[[Function], Function]:
    """Let a function that takes **options have a keyword for each of these."""
    options = _together(groups)
    names = {alias: one.name for one in options.values() for alias in one.option.aliases}

    def decorated(function: Function) -> Function:
        own = inspect.signature(function)
        named = [one for one in own.parameters.values() if one.kind is not Parameter.VAR_KEYWORD]
        more = [
            Parameter(one.name, Parameter.KEYWORD_ONLY, default=one.default, annotation=type_of(one))
            for one in options.values()
        ]
        signature = own.replace(parameters=[*named, *more])

        @functools.wraps(function)
        def called(*arguments: Any, **given: Any) -> Any:
            try:
                bound = signature.bind(*arguments, **{names.get(name, name): value for name, value in given.items()})
            except TypeError as error:
                raise TypeError(f"{function.__name__}() {error}") from None
            bound.apply_defaults()
            return function(*bound.args, **bound.kwargs)

        whole = cast(Any, called)
        whole.__signature__ = signature
        whole.__doc__ = with_options(function.__doc__ or "", options)
        return cast(Function, called)

    return decorated


def with_options(text: str, options: Mapping[str, Declared]) -> str:
    """A docstring with the options, one paragraph each, in place of its line '{options}'."""
    for line in text.splitlines():
        if line.strip() == "{options}":
            margin = line[: line.index("{")]
            told = "\n".join(textwrap.indent(_paragraph(one), margin) for one in options.values())
            return text.replace(line, told)
    return text


def type_of(one: Declared) -> Any:
    """The type of the values that a caller in Python may give of an option."""
    kind = one.option.given or one.kind
    return kind | None if one.optional else kind


def _together(groups: Iterable[Mapping[str, Declared]]) -> dict[str, Declared]:
    return {name: one for group in groups for name, one in group.items()}


def _paragraph(one: Declared) -> str:
    """An option as the section 'Parameters' of a docstring has it."""
    option = one.option
    kind = "{" + ", ".join(f'"{word}"' for word in option.choices) + "}" if option.choices else _words(one)
    quoted = f'"{one.default}"' if isinstance(one.default, str) else repr(one.default)
    usual = "optional" if one.default is None else f"default {quoted}"
    text = option.usage[0].upper() + option.usage[1:]
    unsaid = f" (default: {option.default})" if option.default else ""
    lines = textwrap.wrap(f"{text}{unsaid}.", WIDTH)
    return f"{one.name} : {kind}, {usual}\n" + textwrap.indent("\n".join(lines), "    ")


def _words(one: Declared) -> str:
    """The types of an option for people."""
    kind = one.option.given or one.kind
    names = [getattr(part, "__name__", str(part)) for part in union_of(kind)]
    return " or ".join(NAMES_OF_TYPES.get(name, name) for name in names)
