"""What the user knows of a network: part of the claim, since it decides which networks there are to choose from.

Light: the command line imports this for the value.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from graphlib import CycleError, TopologicalSorter
from typing import Any, TypeVar, get_type_hints

from extbnsl.core.arguments import check_number, check_whole
from extbnsl.core.codec import Whole, decode_some, encode
from extbnsl.core.errors import InputError
from extbnsl.core.figures import in_full

T = TypeVar("T")
Arc = tuple[str, str]  # parent, child
SHOWN = 5  # names in a sentence
MOST_COST = 1e9  # nats of an arc
MOST_ARCS = 1_000_000  # that two patterns or groups stand for: each is told in the result
ARCS, GROUPS, NAMES = ("required", "forbidden", "allowed"), ("tiers", "apart"), ("roots", "leaves")
# What there is of each part, for people: one, several.
NOUNS = {
    "required": ("required arc", "required arcs"),
    "forbidden": ("forbidden arc", "forbidden arcs"),
    "allowed": ("allowed pair", "allowed pairs"),
    "tiers": ("tier", "tiers"),
    "roots": ("root", "roots"),
    "leaves": ("leaf", "leaves"),
    "max_parents": ("limit", "limits"),
    "apart": ("set without arcs", "sets without arcs"),
    "costs": ("arc cost", "arc costs"),
}


@dataclass(frozen=True)
class Knowledge:
    """What is known of the network, by names of variables. Each part may be empty.

    Before the variables are known, a name may be a pattern, such as 'gene_*' or '[ab]?', that stands for all names
    that it fits: see `over`.

    Attributes
    ----------
    required : tuple of (str, str)
        Arcs (parent, child) that every network has.
    forbidden : tuple of (str, str)
        Arcs that none has.
    allowed : tuple of (str, str)
        If there are any, all pairs that an arc may join, in either direction (a super-structure).
    tiers : tuple of tuple of str
        Sets of variables in time; none has a parent of a later tier. Variables of no tier may be anywhere.
    roots : tuple of str
        Variables without parents.
    leaves : tuple of str
        Variables without children.
    max_parents : tuple of (str, int)
        The most parents of some variables, as (name, number).
    apart : tuple of tuple of str
        Sets of variables; no arc joins two of one set.
    costs : tuple of (str, str, float)
        What some arcs cost besides, as (parent, child, nats), such as the log odds against an arc; below 0 for what is
        rather there.
    """

    required: tuple[Arc, ...] = ()
    forbidden: tuple[Arc, ...] = ()
    allowed: tuple[Arc, ...] = ()
    tiers: tuple[tuple[str, ...], ...] = ()
    roots: tuple[str, ...] = ()
    leaves: tuple[str, ...] = ()
    max_parents: tuple[tuple[str, int], ...] = ()
    apart: tuple[tuple[str, ...], ...] = ()
    costs: tuple[tuple[str, str, float], ...] = ()

    def __bool__(self) -> bool:
        return any(vars(self).values())

    def __str__(self) -> str:
        """What there is of it, for people."""
        told = [in_full(len(part), *NOUNS[key]) for key, part in vars(self).items() if part]
        return ", ".join(told) or "nothing"

    def over(self, names: Sequence[str]) -> "Knowledge":
        """The same of these variables: in place of each pattern the names that it fits, of two patterns all pairs but
        loops. A name that there is stands for itself alone; of one that there is not, spellings count as equal that
        differ in white space or in how Unicode composes characters.

        InputError for a name that there is not, for a pattern that fits nothing, and for two that fit more than
        MOST_ARCS pairs. O(names in it + n), and O(n) more for each pattern.
        """
        there = set(names)
        if all(name in there for _, name in self._named()):
            return self
        meant = _Names(names)
        found: dict[str, Any] = {}
        for key in ARCS:
            told = ((one, meant(key, one[0]), meant(key, one[1])) for one in getattr(self, key))
            found[key] = _once(arc for one, parents, children in told for arc in pairs(key, parents, children, one))
        for key in NAMES:
            found[key] = _once(own for name in getattr(self, key) for own in meant(key, name))
        for key in GROUPS:
            found[key] = tuple(_once(own for name in group for own in meant(key, name)) for group in getattr(self, key))
        limits: dict[str, int] = {}
        for name, most in self.max_parents:
            limits |= {own: min(most, limits.get(own, most)) for own in meant("max_parents", name)}
        costs = _once(
            (*arc, nats)
            for parent, child, nats in self.costs
            for arc in pairs("costs", meant("costs", parent), meant("costs", child), (parent, child))
        )
        return Knowledge(**found, max_parents=tuple(limits.items()), costs=costs)

    def check(self) -> None:
        """Raise InputError for what contradicts itself, whatever the data: a variable in two tiers, an arc that is
        required and ruled out, a cycle of required arcs, more required parents than a variable may have."""
        if not self:
            return
        _check_tiers(self.tiers)
        _check_costs(self.costs)
        limits = self.limits()
        parents: dict[str, list[str]] = {}
        ruled_out = self.ruling_out()
        for parent, child in dict.fromkeys(self.required):
            why = ruled_out(parent, child)
            if why is not None:
                raise InputError(f"The arc from {parent!r} to {child!r} is required, but {why}: leave one of them out.")
            parents.setdefault(child, []).append(parent)
        for child, own in parents.items():
            _check_limit(child, len(own), limits.get(child))
        _check_cycles(parents)

    def ruling_out(self) -> Callable[[str, str], str | None]:
        """What says why there can be no arc from a parent to a child, as a clause; None if there can. O(1) each, or the
        sets without arcs that the parent is in."""
        forbidden, allowed = set(self.forbidden), set(self.allowed)
        roots, leaves = set(self.roots), set(self.leaves)
        place: dict[str, int] = {}
        sets: dict[str, set[int]] = {}
        for tier, names in enumerate(self.tiers):
            place |= dict.fromkeys(names, tier)
        for number, names in enumerate(self.apart):
            for name in names:
                sets.setdefault(name, set()).add(number)

        def why(parent: str, child: str) -> str | None:
            if parent == child:
                return "no variable is its own parent"
            if (parent, child) in forbidden:
                return "it is forbidden"
            if allowed and (parent, child) not in allowed and (child, parent) not in allowed:
                return "it is not among the allowed pairs"
            if child in roots:
                return f"{child!r} is a root"
            if parent in leaves:
                return f"{parent!r} is a leaf"
            if parent in place and child in place and place[parent] > place[child]:
                return f"{parent!r} is in a later tier than {child!r}"
            if parent in sets and not sets[parent].isdisjoint(sets.get(child, ())):
                return "both are in a set without arcs"
            return None

        return why

    def check_limit(self, max_parents: int | None) -> None:
        """Raise InputError if a variable has more required parents than all may have."""
        for child, own in Counter(child for _, child in dict.fromkeys(self.required)).items():
            _check_limit(child, own, max_parents)

    def limits(self) -> dict[str, int]:
        """The least limit of each variable that has one; InputError for what is none."""
        limits: dict[str, int] = {}
        for name, most in self.max_parents:
            check_whole(f"max_parents of {name!r}", most, 0)
            limits[name] = min(most, limits.get(name, most))
        return limits

    def _named(self) -> Iterator[tuple[str, str]]:
        """Every name there is, with the key that it is at."""
        for key in (*ARCS, *GROUPS):
            yield from ((key, name) for own in getattr(self, key) for name in own)
        for key in NAMES:
            yield from ((key, name) for name in getattr(self, key))
        yield from (("max_parents", name) for name, _ in self.max_parents)
        yield from (("costs", name) for *arc, _ in self.costs for name in arc)

    def document(self) -> dict[str, Any]:
        """What there is of it, as JSON values; `from_document` takes it back."""
        found: dict[str, Any] = {}
        for one in fields(self):
            own = getattr(self, one.name)
            if own:
                found[one.name] = dict(own) if one.name == "max_parents" else encode(own)
        return found

    @classmethod
    def from_document(cls, document: Any) -> "Knowledge":
        """The knowledge of a `document`; Misfit if that is none."""
        found = decode_some(get_type_hints(cls) | {"max_parents": dict[str, Whole]}, document)
        return cls(**found | {"max_parents": tuple(found.get("max_parents", {}).items())})

    def joined(self, other: "Knowledge") -> "Knowledge":
        """What both say; InputError if both have tiers."""
        if self.tiers and other.tiers:
            raise InputError("There are two orders of tiers: give one.")
        both = {one.name: _once(getattr(self, one.name) + getattr(other, one.name)) for one in fields(self)}
        return Knowledge(**both)


NOTHING = Knowledge()


def _once(values: Iterable[T]) -> tuple[T, ...]:
    """The values without those that are there already."""
    return tuple(dict.fromkeys(values))


_OF_PAST = re.compile(r"\[(t-\d+)\]")  # how columns of the past end: no set of characters


class _Names:
    """The variables that a name of knowledge stands for."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names, self._there = names, set(names)
        self._alike: dict[str, list[str]] = {}
        for name in names:
            self._alike.setdefault(spelled(name), []).append(name)

    def __call__(self, key: str, name: str) -> Sequence[str]:
        """The names that this one, of a part of knowledge, stands for; InputError if there are none."""
        if name in self._there:
            return (name,)
        alike = self._alike.get(spelled(name), ())
        if len(alike) == 1:
            return alike
        from fnmatch import fnmatchcase

        pattern = _OF_PAST.sub(r"[[]\1]", name)
        if found := [own for own in self._names if fnmatchcase(own, pattern)]:
            return found
        what = f"no variable fits {name!r}" if set("*?[") & set(name) else f"there is no variable {name!r}"
        raise InputError(f"{key}: {what}{did_you_mean(name, self._names)}", names=[name])


def spelled(name: str) -> str:
    """A name without what the same text may have in different files."""
    from unicodedata import normalize

    return " ".join(normalize("NFC", name).split())


def pairs(key: str, parents: Sequence[str], children: Sequence[str], told: Arc | None = None) -> list[Arc]:
    """All arcs of a part of knowledge from some variables to others, without loops but one that is `told`; InputError
    for more than MOST_ARCS, and if there are loops alone."""
    if len(parents) * len(children) > MOST_ARCS:
        number = len(parents) * len(children)
        raise InputError(
            f"{key}: all pairs of {len(parents):,} and {len(children):,} variables are {number:,} arcs; say it by "
            "tiers, roots, leaves or sets without arcs (apart)."
        )
    found = [(parent, child) for parent in parents for child in children if parent != child or (parent, child) == told]
    if not found and parents and children:
        raise InputError(f"{key}: only {parents[0]!r} fits both, and no arc joins a variable to itself.", names=parents)
    return found


def _check_limit(child: str, required: int, most: int | None) -> None:
    if most is not None and required > most:
        raise InputError(f"{child!r} has {required} required parents, but a limit of {most}: raise the limit.")


def _check_tiers(tiers: Iterable[Sequence[str]]) -> None:
    seen: set[str] = set()
    for name in (name for tier in tiers for name in tier):
        if name in seen:
            raise InputError(f"tiers: {name!r} is there twice; leave it out of one place.")
        seen.add(name)


def _check_costs(costs: Iterable[tuple[str, str, float]]) -> None:
    seen: dict[Arc, float] = {}
    for parent, child, nats in costs:
        check_number(f"costs of the arc from {parent!r} to {child!r}", nats, -MOST_COST, MOST_COST)
        if parent == child:
            raise InputError(f"costs: no arc joins {parent!r} to itself; leave its cost out.", names=[parent])
        if seen.setdefault((parent, child), nats) != nats:
            told = f"{seen[parent, child]:g} and {nats:g} nats"
            raise InputError(f"costs: the arc from {parent!r} to {child!r} has {told}: leave one of them out.")


def _check_cycles(parents: Mapping[str, Sequence[str]]) -> None:
    """Raise InputError, naming the arcs, if the required parents of some variables make a cycle."""
    upwards = TopologicalSorter(dict.fromkeys(parents, ()))  # which is to look from each child at its parents
    for child, own in parents.items():
        for parent in own:
            upwards.add(parent, child)
    try:
        upwards.prepare()
    except CycleError as error:
        named = [repr(name) for name in reversed(error.args[1])]
        if len(named) > 2 * SHOWN:
            named[SHOWN:-SHOWN] = [f"({len(named) - 2 * SHOWN:,} more)"]
        raise InputError(f"The required arcs make a cycle: {' -> '.join(named)}; leave one out.") from None


def did_you_mean(name: str, names: Sequence[str]) -> str:
    """The end of a sentence about a name that is none of these: the one that may be meant, or the first of them."""
    import difflib

    close = difflib.get_close_matches(name, list(names), 1)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; there are {', '.join(map(repr, names[:SHOWN]))}{' and others' if len(names) > SHOWN else ''}."
