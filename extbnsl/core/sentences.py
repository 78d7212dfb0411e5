"""Sentences with options in them, which each face words in its way: a shell has --drop 'age at entry', and callers of
Python have drop="age at entry".
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

NAMES_SHOWN = 6  # in a sentence


@dataclass(frozen=True)
class Mention:
    """An option in a sentence; as a text it is typed in a shell.

    Attributes
    ----------
    name : str
        Without dashes.
    value : str, optional
        What it is given; None for its bare name.
    word : bool
        Whether the value is a word of the program, such as a rule, and no text of the user's; it needs no quotes.
    link : str
        What stands before an option that chooses columns, such as " with ", and goes where there are none to choose.
    """

    name: str
    value: str | None = None
    word: bool = False
    link: str = ""

    def __str__(self) -> str:
        if self.value is None:
            return f"{self.link}--{self.name}"
        text = self.value if self.word else "'" + self.value.replace("'", "'\"'\"'") + "'"
        between = "=" if self.value.startswith("-") else " "  # after a blank, argparse would take an option
        return f"{self.link}--{self.name}{between}{text}"

    def in_python(self, choosing: bool) -> str:
        """The argument of `learn`; nothing if it chooses columns and the caller has no such choice."""
        if self.link and not choosing:
            return ""
        value = "" if self.value is None else f"={json.dumps(self.value, ensure_ascii=False)}"
        return f"{self.link}{self.name.replace('-', '_')}{value}"


class Sentence(str):
    """A text made of texts, options and other sentences; it reads as the command line words it."""

    parts: tuple[str | Mention, ...]

    def __new__(cls, *parts: str | Mention) -> "Sentence":
        """The parts, one behind the other."""
        made = super().__new__(cls, "".join(map(str, parts)))
        made.parts = tuple(one for part in parts for one in (part.parts if isinstance(part, Sentence) else (part,)))
        return made

    def in_python(self, choosing: bool = True) -> str:
        """The text with options as arguments of `learn`; where the caller cannot choose columns, without those that
        do: 'leave it out with drop="a"' is 'leave it out'."""
        return "".join(part if isinstance(part, str) else part.in_python(choosing) for part in self.parts)


def option(name: str, *texts: str, link: str = "") -> Mention:
    """The option with these texts, such as names of columns; without them if they are none, or too many to show."""
    shown = 0 < len(texts) <= NAMES_SHOWN
    return Mention(name, in_list(texts) if shown else None, link=link)


def asking(name: str, word: object) -> Mention:
    """The option with a word of the program, such as a rule."""
    return Mention(name, str(word), word=True)


def dropped(names: Sequence[str], link: str = " with ") -> Mention:
    """How to leave out these columns, for the end of advice."""
    return option("drop", *names, link=link)


def in_list(texts: Iterable[str]) -> str:
    """One text of several, with commas, as `texts_of` takes it apart."""
    return ",".join(map(_field, texts))


def _field(text: str) -> str:
    """The text as it is among texts with commas between them; argparse drops a bare `--`."""
    quoted = "," in text or '"' in text or text == "--"
    return '"' + text.replace('"', '""') + '"' if quoted else text
