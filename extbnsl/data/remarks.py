"""What is odd about columns, in words: all columns of a kind in one sentence, with what to do."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from extbnsl.core.errors import InputError
from extbnsl.core.sentences import Mention, Sentence
from extbnsl.data.column import listed

Part = str | Mention


class Remark(NamedTuple):
    """Something odd about columns.

    names: those of the columns.
    what: what it is, as parts of a sentence, of which the first is a text.
    advice: what to do, as parts; none if there is nothing to do.
    value, row: the first value that is odd, and its row in the data; None if the columns as a whole are.
    """

    names: tuple[str, ...]
    what: tuple[Part, ...]
    advice: tuple[Part, ...]
    value: Any = None
    row: int | None = None

    def sentence(self) -> Sentence:
        """A sentence of its own, for a warning."""
        first, *rest = self.what
        assert isinstance(first, str), "a text begins it"
        return Sentence(first[0].upper() + first[1:], *rest, *((": ", *self.advice) if self.advice else ()), ".")


def refusal(source: str, remarks: Sequence[Remark]) -> InputError:
    """The refusal of columns for all that these remarks, one at least, say of them."""
    *before, last = remarks
    said: list[Part] = [f"{source}: "]
    for remark in before:
        said += [*remark.what, ": ", *remark.advice, "; "]
    names = [name for remark in remarks for name in remark.names]
    first = remarks[0]
    return InputError(*said, *last.what, names=names, value=first.value, row=first.row, advice=last.advice)


def columns_told(names: Sequence[str]) -> str:
    """The columns for a sentence: "column 'a'", "columns 'a' and 'b'"."""
    return f"column{'s' if len(names) > 1 else ''} {listed(names)}"
