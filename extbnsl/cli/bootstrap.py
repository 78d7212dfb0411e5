"""What is printed of resamples beyond what there is to say of the network of the data."""

from collections.abc import Iterator, Mapping
from typing import Any

from extbnsl.cli.ranked import HELD
from extbnsl.core.figures import in_full
from extbnsl.files.names import ARC_FREQUENCIES

SHOWN = 15  # arcs
RESAMPLES = "resample", "resamples"


def has_resamples(document: Mapping[str, Any]) -> bool:
    """Whether it is the document of a result with resamples."""
    return "bootstrap" in document


def done(document: Mapping[str, Any]) -> str:
    """How many resamples are done, such as '200 resamples' or '17 of 200 resamples'."""
    found = document["bootstrap"]
    some = "" if found["done"] == found["resamples"] else f"{found['done']:,} of "
    return some + in_full(found["resamples"], *RESAMPLES)


def table(document: Mapping[str, Any]) -> Iterator[str]:
    """The strongest arcs, a line each, of each pair the likelier one; * for those of the network. Nothing without
    resamples, or before one is done."""
    if not has_resamples(document) or not document["bootstrap"]["arcs"]:
        return
    from extbnsl.run.progress import wrapped

    likelier = document["bootstrap"]["arcs"][::2]
    parents = document["parents"]
    yield f"{'strength':>8} {'direction':>9} {'compelled':>9} {'reversible':>10}   arc (* joined in the network)"
    for one in likelier[:SHOWN]:
        at, to = one["from"], one["to"]
        mark = "*" if at in parents[to] or to in parents[at] else " "
        shares = f"{one['strength']:8.3f} {one['direction']:9.3f} {one['compelled']:9.3f} {one['reversible']:10.3f}"
        held = f"{shares} {mark} ".replace(" ", HELD)  # blanks of the columns are no places to break a line at
        yield wrapped(f"{held}{at} -> {to}", indent=len(held)).replace(HELD, " ")
    if len(likelier) > SHOWN:
        yield f"and {len(likelier) - SHOWN:,} that are weaker, in {ARC_FREQUENCIES}"
    yield ""


def rows(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """How many resamples there are, and the arcs that most of them have, as (subject, text)."""
    if not has_resamples(document):
        return
    found = document["bootstrap"]
    unproved = found["done"] - found["proved"]
    proved = f", {f'{unproved:,} not proved' if unproved else 'all proved'}" if found["done"] else ""
    yield "bootstrap", done(document) + proved
    agreed = found["consensus"]
    cut = f"; {agreed['left_out']:,} would close a cycle" if agreed["left_out"] else ""
    share = f"in at least {agreed['threshold']:g} of them"
    yield "consensus", f"{in_full(len(agreed['arcs']), 'arc')} {share}{cut}" if found["done"] else ""
