"""What is odd about columns, in words: all columns of a kind in one sentence, with what to do."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from extbnsl.core.errors import InputError
from extbnsl.core.sentences import Mention, Sentence, asking, option
from extbnsl.data.column import listed
from extbnsl.data.dressed import Dress, Mark

Part = str | Mention


class Remark(NamedTuple):
    """Something odd about columns.

    names: those of the columns.
    what: what it is, as parts of a sentence that begin with 'column'.
    advice: what to do, as parts.
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
        assert isinstance(first, str), "'column' begins it"
        return Sentence(first[0].upper() + first[1:], *rest, ": ", *self.advice, ".")


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


def of_dresses(dresses: Iterable[tuple[str, Dress]]) -> list[Remark]:
    """Remarks of what keeps columns, which are named, from being numbers: one for each kind of it."""
    by_mark: defaultdict[Mark, list[tuple[str, Dress]]] = defaultdict(list)
    for name, dress in dresses:
        by_mark[dress.mark].append((name, dress))
    return [_of_mark(mark, found) for mark, found in by_mark.items()]


def _of_mark(mark: Mark, found: Sequence[tuple[str, Dress]]) -> Remark:
    names, first = tuple(name for name, _ in found), found[0][1]
    records = sum(dress.records for _, dress in found)
    in_all = f", and {records - 1:,} more values" if records > 2 else ", and one more value" if records > 1 else ""
    have = "have" if len(names) > 1 else "has"
    what = f"{columns_told(names)} {have} {mark.value} ({first.text!r} in row {first.row:,} of the data{in_all})"
    texts = list(dict.fromkeys(text for _, dress in found for text in dress.texts))
    return Remark(names, (what,), _settled(mark, texts), first.text, first.row)


def _settled(mark: Mark, texts: Sequence[str]) -> tuple[Part, ...]:
    """What to do about a mark, of which these are the texts."""
    if mark is Mark.DECIMAL:
        return "say ", Mention("decimal", ",")
    if mark is Mark.THOUSANDS:
        first, *others = (Mention("thousands", text) for text in texts)
        return "say ", first, *(part for other in others for part in (" or ", other))
    if mark is Mark.EITHER:
        return (
            *("say ", Mention("decimal", ","), " if it stands before decimals, or ", Mention("thousands", ",")),
            " if it separates thousands",
        )
    if mark is Mark.UNIT:
        return "say ", option("unit", *texts), " to take it off" if len(texts) == 1 else " to take them off"
    if mark is Mark.BOUND:
        return "say ", asking("below-detection", "half"), " (or limit, or lowest to cut them by quantile:k)"
    if mark is Mark.TEXT:
        return "say ", option("na", *texts), " if that stands for a missing value"
    return ("write numbers alike, without texts among them",)
