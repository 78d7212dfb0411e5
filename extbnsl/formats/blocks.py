"""Texts of blocks in braces, as BIF and NET are: each has a head, `variable smoke`, and statements with a semicolon.

What stands in double quotes is one word, with blanks, braces and semicolons.
"""

import re
from collections.abc import Callable, Container, Iterator, Sequence
from typing import NamedTuple

from extbnsl.core.errors import InputError
from extbnsl.formats.tabled import Source

_COMMENT = r"//[^\n]*|/\*.*?\*/"
_HEAD = re.compile(r'((?:[^"{};]++|"[^"]*")*+)\{')
_STATEMENT = re.compile(r'((?:[^";]++|"[^"]*")*+);')
_BRACE = re.compile(r"\}")
_BAR = re.compile(r'((?:[^"|]++|"[^"]*")*+)(\|?)(.*)', re.DOTALL)
_BLANK = re.compile(r"\s*")
_WORD = re.compile(r'"[^"]*"|[^\s,"]+(?:"[^"]*"[^\s,"]*)*')
_PIECE = re.compile(r'((?:[^",]++|"[^"]*")*+),')


class Statement(NamedTuple):
    """A statement without its semicolon, and where it begins."""

    at: int
    text: str


class Block(NamedTuple):
    """A block: where its head begins, the head and the statements."""

    at: int
    head: str
    statements: list[Statement]


def without_comments(text: str, more: str = "") -> str:
    """The text with blanks for comments, `// ...` and `/* ... */`, and what `more` matches, so that all else keeps its
    place; none begins in double quotes."""
    comment = re.compile(f'"[^"]*"|{_COMMENT}{more}', re.DOTALL)
    return comment.sub(lambda match: match[0] if match[0][0] == '"' else re.sub(r"[^\n]", " ", match[0]), text)


def blocks_in(source: Source, text: str, kinds: str) -> Iterator[Block]:
    """The blocks of a text without comments, in order. A head begins with one of the words that `kinds` matches;
    InputError for any other, and for a block that does not end. Of a class of Hugin they are the blocks in it."""
    head, at, in_class = re.compile(rf"({kinds})\b"), 0, False
    while (at := _after_blanks(text, at)) < len(text):
        kind = head.match(text, at)
        if in_class and kind is None and (passed := _STATEMENT.match(text, at) or _BRACE.match(text, at)):
            at = passed.end()
            continue
        begun = _HEAD.match(text, at)
        if kind is None or begun is None:
            found = text[at : at + 20].split("\n")[0]
            raise source.fault(f"expected {kinds.replace('|', ', ')} and a block in braces, found {found!r}", at)
        if kind[1] == "class":
            in_class, at = True, begun.end()
            continue
        statements, end = _statements(source, text, begun.end())
        yield Block(at, begun[1].strip(), statements)
        at = end


def _statements(source: Source, text: str, at: int) -> tuple[list[Statement], int]:
    """The statements from a place up to the brace that closes their block, and the place behind that."""
    found = []
    while not text.startswith("}", at := _after_blanks(text, at)):
        match = _STATEMENT.match(text, at)
        if match is None:
            raise InputError(f"{source.path} ends in the middle of a block: copy it again.")
        found.append(Statement(at, match[1]))
        at = match.end()
    return found, at + 1


def _after_blanks(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return at if match is None else match.end()


def unquoted(text: str) -> str:
    """A word as it is meant: as it stands in its quotes, or with single blanks."""
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] == '"' and '"' not in text[1:-1]:
        return text[1:-1]
    return " ".join(text.split())


def name_in(source: Source, block: Block, text: str) -> str:
    """The name in the head of a block, which stands on one line."""
    if "\n" in text.strip() or not text.strip():
        raise source.fault("expected a name and '{' behind it", block.at)
    return unquoted(text)


def words(text: str) -> list[str]:
    """What blanks and commas separate, without quotes around it."""
    return [unquoted(word) for word in _WORD.findall(text)]


def pieces(text: str) -> list[str]:
    """What commas separate, without quotes around it; an empty piece counts, but for one at the end."""
    found = [unquoted(piece) for piece in _PIECE.findall(f"{text},")]
    return found if found[-1] or (len(found) > 1 and '""' in text) else found[:-1]


def bracketed(text: str) -> list[str]:
    """What commas that stand in no brackets separate, as in `(0, 1], (1, 2]`; nothing of a text with quotes."""
    found, begin, depth = list[str](), 0, 0
    if '"' in text:
        return found
    for at, mark in enumerate(text):
        depth += (mark in "([") - (mark in ")]")
        if mark == "," and depth == 0:
            found.append(text[begin:at])
            begin = at + 1
    return [unquoted(piece) for piece in (*found, text[begin:])]


def split(text: str, fits: Callable[[Sequence[str]], bool]) -> list[str] | None:
    """The labels or names in a list: between commas, or blanks and commas, or commas outside of brackets, whichever
    `fits` first."""
    for separate in (pieces, words, bracketed):
        found = separate(text)
        if fits(found):
            return found
    return None


def family_names(source: Source, head: str, at: int, known: Container[str], bar: bool) -> list[str]:
    """The variable and its parents in the head of a block, such as `probability ( a | b, c )`. With `bar` only a bar
    separates parents; InputError for a head of another form, and for names that are not known."""
    _, _, inside = head.partition("(")
    if not inside.endswith(")"):
        raise source.fault("expected the names of a variable and of its parents in round brackets", at)
    own, mark, parents = _BAR.findall(inside[:-1])[0]
    names = _known(source, own, at, known)
    if not names:
        raise source.fault("expected the name of a variable, found none", at)
    if len(names) > 1 and (mark or bar):
        raise source.fault(f"the variables {names[0]!r} and {names[1]!r} have one table: give each its own", at)
    return [*names, *_known(source, parents, at, known)]


def _known(source: Source, text: str, at: int, known: Container[str]) -> list[str]:
    """The names in a text."""

    def fits(names: Sequence[str]) -> bool:
        return all(name in known for name in names)

    found = split(text, fits)
    if found is None and fits(text.split()):
        return text.split()  # names with commas, as UnBBayes has them
    if found is None:
        listed = pieces(text) if "," in text else words(text)
        unknown = next(name for name in listed if name not in known)
        raise source.fault(f"the variable {unknown!r} is not declared: correct the name or declare it", at)
    return found
