"""An order of the variables that the user gives, checked name by name."""

from collections import Counter
from collections.abc import Iterable, Sequence

from extbnsl.core.errors import InputError
from extbnsl.core.knowledge import spelled


def places_in(text: str, source: str) -> list[tuple[str, str]]:
    """The names in the text of an order file, one a line, with where each stands; empty lines and blanks around a name
    do not count. InputError if there is none."""
    lines = enumerate(text.splitlines(), start=1)
    found = [(f"{source}, line {number}", name) for number, line in lines if (name := line.strip())]
    if not found:
        raise InputError(f"{source} has no name; write those of all variables, one a line, parents first.")
    return found


def places_of(order: object) -> list[tuple[str, str]]:
    """The names of an order that a caller gives, with where each stands. InputError for a text, which is no list, for a
    set, whose order is by chance, and for what has no names at all."""
    if isinstance(order, str | bytes):
        raise InputError(f"order: {order!r} is a text; give a list of names.")
    if isinstance(order, set | frozenset):
        raise InputError("order: a set has no order; give a list of names.")
    if not isinstance(order, Iterable):
        raise InputError(f"order: {order!r} is no list of names; give those of all variables, parents first.")
    return [(f"order[{place}]", str(name)) for place, name in enumerate(order)]


def positions(
    given: Sequence[tuple[str, str]], names: Sequence[str], source: str, data: str, first: Sequence[int] = ()
) -> tuple[int, ...]:
    """The positions among `names`, those of `data`, of the names that are given, each with where it stands; before them
    `first`, which come before all others wherever they are named, and need not be named.

    A name may be encoded in another way, or have other blanks, as in knowledge. Raises InputError, with that place, for
    a name that is unknown or repeated, and for names that `source` lacks.
    """
    index = {name: i for i, name in enumerate(names)}
    alike = Counter(map(spelled, names))
    known = {spelled(name): name for name in names if alike[spelled(name)] == 1}
    seen: dict[str, str] = {}
    for where, written in given:
        name = written if written in index else known.get(spelled(written))
        if name is None:
            raise InputError(f"{where}: {written!r} is no variable of {data}; correct the name, or take it out.")
        if name in seen:
            raise InputError(f"{where}: {name!r} is there already, at {seen[name]}; name each variable once.")
        seen[name] = where
    early = [names[v] for v in first]
    missing = [name for name in names if name not in seen and name not in early]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise InputError(f"{source} lacks {missing[0]!r}{more} of the variables of {data}; name each of them once.")
    return (*first, *(index[name] for name in seen if name not in early))
