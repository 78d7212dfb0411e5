"""What is printed of a search for the k best networks beyond what there is to say of the best one."""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from extbnsl.core.claims import FINISHED
from extbnsl.core.figures import format_cost, format_share, held_of_all, in_full

SHOWN = 10  # networks, and arcs that are undecided
MOST_NATS = 690.0  # of which the factor is told
HELD = "\1"  # a blank that stays
INDENT = 13
KINDS = {False: ("network", "networks"), True: ("class", "classes")}  # of what is listed, by the option for classes


def is_ranked(document: Mapping[str, Any]) -> bool:
    """Whether it is the document of such a result."""
    return "count" in document


def listed(document: Mapping[str, Any]) -> str:
    """How many networks are listed, such as '100 networks'."""
    return in_full(document["count"]["listed"], *_kind(document))


def table(document: Mapping[str, Any]) -> Iterator[str]:
    """The first networks, a line each; of those that cost the same the first alone has its rank, as in Figures 1 and 2
    of Chen, Darwiche and Choi."""
    yield f"{'rank':>6} {'cost':>18} {'difference':>14} {'share':>12} {'class':>9} {'arcs':>6}"
    top = document["top"][:SHOWN]
    for before, one in zip([None, *top], top, strict=False):
        rank = "-" if before is not None and before["rank"] == one["rank"] else one["rank"]
        cost, more = format_cost(one["cost"], 6), format_cost(one["cost"] - top[0]["cost"], 6)
        share = format_share(one["share"])
        yield f"{rank:>6} {cost:>18} {more:>14} {share:>12} {one['equivalence_class']:>9} {one['arcs']:>6}"


def rows(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """How many networks there are, what shares are of, in which classes, and on which arcs they agree, as (subject,
    text)."""
    yield "networks", _wrapped(_found(document))
    yield "shares", _wrapped(f"of the weight of {_of_which(document)}; {held_of_all(document['count']['of_all'])}")
    yield "classes", _wrapped(_classes(document))
    yield from (("arcs" if at == 0 else "", _wrapped(text)) for at, text in enumerate(_arcs(document)))


def _kind(document: Mapping[str, Any]) -> tuple[str, str]:
    return KINDS[bool(document["provenance"]["options"].get("classes"))]


def _found(document: Mapping[str, Any]) -> str:
    """How many networks are listed, and which."""
    count, within, told = document["count"], document["within"], listed(document)
    there, finished = count["networks"], document["status"] in FINISHED
    if there is None and not finished:
        return f"{told}; others may cost as little" if within is None else f"{told}, the best{_within(within)}"
    if there is None:
        return f"{told}, the best"
    if there > count["listed"]:
        return f"{told}, the best of {there:,}{_within(within)}, with {format_share(count['share'])} of their weight"
    return f"{told}, all there are{_within(within)}"


def _of_which(document: Mapping[str, Any]) -> str:
    """The networks that were found, whose weights a share is of."""
    there = document["count"]["networks"]
    if there is not None and there > document["count"]["listed"]:
        return f"these {there:,} networks"
    return "the networks of these classes" if _kind(document) == KINDS[True] else "the listed networks alone"


def _within(within: float | None) -> str:
    """Which networks are meant, if not all."""
    if within is None:
        return ""
    factor = f", a factor of {math.exp(within):.4g}" if within <= MOST_NATS else ""
    return f" within {within:.6g} nats of the best{factor}"


def _classes(document: Mapping[str, Any]) -> str:
    """How many equivalence classes the networks are of, and the heaviest one; empty where each has a network."""
    if _kind(document) == KINDS[True]:
        return ""
    classes = document["classes"]
    among = in_full(classes["listed"], "equivalence class", "equivalence classes")
    return f"{among}; the heaviest is class {classes['heaviest']:,}, with a share of {format_share(classes['share'])}"


def _arcs(document: Mapping[str, Any]) -> Iterator[str]:
    """On how many arcs the networks agree, and those of which it is least clear whether they are there."""
    shared = {(parent, child) for parent, child in document["shared_arcs"]}
    found = [(parent, x, p) for x, own in document["arc_shares"].items() for parent, p in own.items()]
    open_ = sorted((arc for arc in found if arc[:2] not in shared), key=lambda arc: abs(arc[2] - 0.5))
    yield f"{in_full(len(shared), 'arc')} in all of them" + (":" if 0 < len(shared) <= SHOWN else "")
    yield _listed(f"{a} -> {b}" for a, b in document["shared_arcs"]) if len(shared) <= SHOWN else ""
    yield f"{in_full(len(open_), 'arc')} in some" + (
        "; the least decided, with the shares that have them:" if open_ else ""
    )
    yield _listed(f"{a} -> {b} {format_share(p)}" for a, b, p in open_[:SHOWN])


def _listed(arcs: Iterable[str]) -> str:
    """A list that is broken between arcs alone."""
    return ", ".join(arc.replace(" ", HELD) for arc in arcs)


def _wrapped(text: str) -> str:
    """A text in lines that fit behind their subject."""
    from extbnsl.run.progress import wrapped

    return wrapped(HELD * INDENT + text, indent=INDENT).replace(HELD, " ")[INDENT:]
