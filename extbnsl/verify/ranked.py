"""Are the networks of a ranked list what its result claims? Each scored again, and all that follows from the list
alone, in its document and in the tables networks.csv and arcs.csv; what is said of those that are not listed, `others`
checks."""

import csv
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from extbnsl.core.claims import OPTIMAL, tolerance
from extbnsl.core.errors import InputError, RunDirectoryError
from extbnsl.data import Data
from extbnsl.files.atomic import open_regular
from extbnsl.files.names import ARCS, RANKED
from extbnsl.formats.spelling import as_text
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.scores.local import LocalScores
from extbnsl.verify.document import Summary, TopNetwork, read_claims, read_summary
from extbnsl.verify.listed import FIRST, Listed, first_of

NETWORKS_HEAD = [
    *("rank", "cost", "share_of_found", "probability_at_least", "probability_at_most"),
    *("equivalence_class", "arcs", "model"),
]
ARCS_HEAD = [
    *("from", "to", "share_of_found", "either_of_found"),
    *("found_of_all_at_least", "found_of_all_at_most"),
]
LONGEST = 1 << 28  # characters of a field: all arcs of a network are in one
LOOKED_AT = 1 << 8  # networks between two looks at the stop signal
EXACT = 1e-9  # what a share may be off, relatively, and a sum of shares


@dataclass(frozen=True)
class ListCheck:
    """What became of a list of networks."""

    findings: tuple[str, ...]  # a sentence for each claim that does not hold
    summary: Summary | None = None  # what is claimed of the networks together, if that can be read
    listed: Listed | None = None  # the networks, None if they were not all looked at
    why: str = ""  # why not, if nothing was found that does not hold


def verify_networks(
    head: Mapping[str, Any], networks: Iterable[Mapping[str, Any]], problem: Data | LocalScores, workers: Workers
) -> ListCheck:
    """Check the networks of a result of which `verify` finds that all else holds.

    head: the document, of which 'networks' is not read; networks: its items, in their order, well formed as who reads
    them from a file makes sure. Of each: its variables, its parents, that there is no cycle, the parent limit, the
    knowledge and the recomputed cost. Of all: that costs never decrease, that no network is there twice, and every
    number that follows from them.

    There are at most MOST_SAID sentences about single networks, and one that says how many more there would be. Raises
    InputError as `verify` does. About 30 microseconds for each network of 20 variables besides the scoring; some 400
    bytes for each.
    """
    claim = read_claims(head)
    try:
        summary = read_summary(head, claim.variables)
    except InputError as error:
        return ListCheck((str(error),))
    listed = Listed(claim, problem)
    try:
        alone = first_of(itertools.chain.from_iterable(map(listed.add, until_a_stop(networks, workers))), "networks")
    except Stopped as stop:
        return ListCheck((), summary, why=str(stop))
    if alone or not listed.costs:
        return ListCheck((*alone, *_number_findings(listed, summary)), summary)
    findings = (
        *first_of(_place_findings(listed, summary), "networks"),
        *_number_findings(listed, summary),
        *_head_findings(listed, summary),
        *first_of(_arc_findings(listed, summary), "arcs"),
    )
    return ListCheck(findings, summary, listed)


def until_a_stop(networks: Iterable[Mapping[str, Any]], workers: Workers) -> Iterator[Mapping[str, Any]]:
    """The networks; raises Stopped among them when it is time to stop."""
    for number, network in enumerate(networks):
        if number % LOOKED_AT == 0:
            workers.check()
        yield network


def _same_share(claimed: float, true: float) -> bool:
    """Whether a share is what it should be, but for rounding."""
    return math.isclose(claimed, true, rel_tol=EXACT, abs_tol=1e-300)


def _number_findings(listed: Listed, summary: Summary) -> Iterator[str]:
    """Sentences about how many networks there are, and were asked for."""
    if not listed.seen:
        yield "The result lists no networks."
    if listed.seen != summary.count.listed:
        yield f"The result says that it lists {summary.count.listed:,} networks, but it lists {listed.seen:,}."
    if summary.count.networks is not None and summary.count.networks < listed.seen:
        yield f"The result says that there are {summary.count.networks:,} networks, but it lists {listed.seen:,}."
    asked, written = summary.asked, summary.count.written
    if asked.k is not None and listed.seen > asked.k:
        yield f"The {asked.k:,} best networks were asked for, but the result lists {listed.seen:,}."
    if written != max(1, min(asked.top, listed.seen)):
        yield f"The result says that {written:,} networks have files of their own, but {asked.top:,} were asked for."
    if listed.claim.status != OPTIMAL:
        return
    if asked.k is not None and listed.seen < asked.k and summary.count.networks != listed.seen:
        yield f"The {asked.k:,} best networks were asked for, but it lists {listed.seen:,} and not all there are."
    if asked.within_factor is not None and summary.within is not None:
        slack = math.log(asked.within_factor)
        if not math.isclose(summary.within, slack, rel_tol=EXACT, abs_tol=EXACT):
            yield f"The factor that was asked for is {slack!r} nats, but 'within' says {summary.within!r}."
    elif asked.within_factor is not None:
        yield "Networks within a factor were asked for, but 'within' does not say how many nats that is."


def _place_findings(listed: Listed, summary: Summary) -> Iterator[str]:
    """Sentences about what a network says that depends on the others: rank, share, class, the slack."""
    costs, near = listed.costs, tolerance(listed.costs[-1])
    least, rank, weight = costs[0], 1, listed.weight
    most = math.inf if summary.within is None else costs[0] + summary.within + 2.0 * tolerance(costs[0])
    classes = summary.asked.classes
    for i, cost in enumerate(costs):
        if cost - least > near:  # of those that cost the same, within the tolerance of a proof, the first
            least, rank = cost, i + 1
        if listed.ranks[i] != rank:
            yield f"Network {i + 1:,} has the rank {rank}, but is said to have {listed.ranks[i]}."
        share = summary.count.share * math.exp(min(0.0, costs[0] - cost)) / weight
        if not classes and not _same_share(listed.shares[i], share):
            yield f"Network {i + 1:,} is said to have the share {listed.shares[i]!r}, but the costs make it {share!r}."
        if listed.classes[i] != listed.own_classes[i]:
            yield (
                f"Network {i + 1:,} is of equivalence class {listed.own_classes[i]}, but is said to be of "
                f"{listed.classes[i]}."
            )
        if classes and listed.own_classes[i] != i + 1:
            yield f"Network {i + 1:,} is equivalent to one before, but there should be one of each class."
        if cost > most:
            yield f"Network {i + 1:,} costs more than {summary.within!r} nats above the first."


def _head_findings(listed: Listed, summary: Summary) -> Iterator[str]:
    """Sentences about the first network, sums of shares, the classes, and what is told of the first networks."""
    claim = listed.claim
    if not abs(claim.cost - listed.costs[0]) <= tolerance(claim.cost):
        yield f"The cost of the result is {claim.cost!r}, but its first network costs {listed.costs[0]!r}."
    index = {name: i for i, name in enumerate(claim.variables)}
    if tuple(sum(1 << index[p] for p in claim.parents[name]) for name in claim.variables) != listed.first:
        yield "The network of the result is not the first of its networks."
    share = math.fsum(listed.shares)
    if not abs(share - summary.count.share) <= EXACT:
        yield f"The shares of the networks add up to {share!r}, but are said to make {summary.count.share!r}."
    if not summary.tallied and not abs(summary.count.share - 1.0) <= EXACT:
        yield f"No other networks were counted, but the share of the listed ones is said to be {summary.count.share!r}."
    yield from _class_findings(listed, summary)
    figures = (listed.ranks, listed.costs, listed.shares, listed.classes)
    first = tuple(map(TopNetwork, *(own[:FIRST] for own in figures), listed.arcs))
    if len(summary.top) != len(first):
        yield f"The 'top' of the result has {len(summary.top):,} networks, but there are {len(first):,} to tell."
    elif wrong := [i for i, own in enumerate(first) if summary.top[i] != own]:
        yield f"The 'top' of the result does not tell network {wrong[0] + 1:,} as the list does."


def _class_findings(listed: Listed, summary: Summary) -> Iterator[str]:
    """Sentences about the number of classes and the heaviest one."""
    number, heaviest, share = summary.classes.listed, summary.classes.heaviest, summary.classes.share
    if number != len(listed.class_costs):
        yield f"The networks are of {len(listed.class_costs):,} equivalence classes, not of {number:,} as it says."
    shares = [0.0] * len(listed.class_costs)
    for own, each in zip(listed.own_classes, listed.shares, strict=True):
        shares[own - 1] += each
    true = shares[heaviest - 1] if 1 <= heaviest <= len(shares) else 0.0
    if not _same_share(true, max(shares)):
        yield f"Class {heaviest:,} is said to be the heaviest, but {shares.index(max(shares)) + 1:,} is."
    elif not _same_share(share, min(1.0, true)):
        yield f"The heaviest class is said to have the share {share!r}, but it has {true!r}."


def _arc_findings(listed: Listed, summary: Summary) -> Iterator[str]:
    """Sentences about arcs whose shares the networks do not have, and about those that all have.

    Where networks were found that are not listed, these may all have an arc, or none of them.
    """
    names, alone = listed.claim.variables, not summary.tallied and not summary.asked.classes
    in_all = set[tuple[int, int]]()
    for child, weights in enumerate(listed.weights):
        for parent in range(len(names)):
            have, lack = (
                math.fsum(weight for own, weight in weights.items() if (own >> parent & 1) == there) for there in (1, 0)
            )
            if all(own >> parent & 1 for own in weights):
                in_all.add((parent, child))
            claimed, share = summary.arcs.get((parent, child), 0.0), have / (have + lack)
            least = share * summary.count.share
            said = f"The arc from {names[parent]!r} to {names[child]!r} is said to have the share {claimed!r}"
            if alone and not _same_share(claimed, share):
                yield f"{said}, but the networks make it {share!r}."
            elif summary.tallied and not least - EXACT <= claimed <= least + 1.0 - summary.count.share + EXACT:
                yield f"{said}, but the networks listed alone have {least!r}."
    shared = {arc for arc in in_all if summary.arcs.get(arc, 0.0) == 1.0}
    for parent, child in shared ^ set(summary.shared):
        that = "is not" if (parent, child) in shared else "is"
        yield f"The arc from {names[parent]!r} to {names[child]!r} {that} said to be in all networks."
    if len(summary.shared) > len(set(summary.shared)):
        yield "The 'shared_arcs' of the result have an arc twice."


def table_findings(
    folder: Path, head: Mapping[str, Any], networks: Iterable[Mapping[str, Any]], names: Sequence[str]
) -> Iterator[str]:
    """A sentence for each table of a run directory that is there and says something else than a result of which
    `verify_networks` finds that all holds; networks: its items, which are read as the table is."""
    of_all = head["count"]["of_all"]
    yield from _compared(folder / RANKED, NETWORKS_HEAD, (_network_row(one, names, of_all) for one in networks))
    yield from _compared(folder / ARCS, ARCS_HEAD, _arc_rows(head, names))


def _compared(path: Path, head: list[str], rows: Iterable[list[str]]) -> Iterator[str]:
    """A sentence if a table has another head or other rows than these; nothing if there is no table."""
    try:
        file = open(open_regular(path), encoding="utf-8", newline="")  # noqa: SIM115 (closed below)
    except FileNotFoundError:
        return
    before = csv.field_size_limit(LONGEST)
    with file:
        try:
            told = csv.reader(file, strict=True)
            if next(told, None) != head:
                yield f"{path} has another head than such a table."
                return
            for at, row in enumerate(rows, start=1):
                if next(told, None) != row:
                    yield f"Row {at:,} of {path} is not what the result says, or is missing."
                    return
            if next(told, None) is not None:
                yield f"{path} has more rows than the result has to tell."
        except (csv.Error, UnicodeDecodeError) as error:
            raise RunDirectoryError(f"{path} is damaged ({error}).") from error
        finally:
            csv.field_size_limit(before)


def _network_row(network: Mapping[str, Any], names: Sequence[str], of_all: Mapping[str, float] | None) -> list[str]:
    """The row of a network, with its arcs as bnlearn's `modelstring` writes them."""
    parents = network["parents"]
    index = {name: i for i, name in enumerate(names)}
    depth: dict[str, int] = {}
    while len(depth) < len(names):  # it has no cycle
        for name in names:
            if name not in depth and all(parent in depth for parent in parents[name]):
                depth[name] = max((depth[parent] + 1 for parent in parents[name]), default=0)
    order = sorted(names, key=lambda name: (depth[name], index[name]))
    own = {name: ":".join(sorted(parents[name], key=index.__getitem__)) for name in names}
    model = "".join(f"[{name}|{own[name]}]" if own[name] else f"[{name}]" for name in order)
    arcs = sum(map(len, parents.values()))
    figures, others = (network["rank"], network["cost"], network["share"]), (network["equivalence_class"], arcs)
    return [*map(repr, figures), *_ends(of_all, network["share"]), *map(repr, others), _written(model)]


def _ends(of_all: Mapping[str, float] | None, share: float = 1.0) -> list[str]:
    """Between which values such a share of what was found lies, of all networks there are."""
    return ["", ""] if of_all is None else [repr(share * of_all[end]) for end in ("at_least", "at_most")]


def _arc_rows(head: Mapping[str, Any], names: Sequence[str]) -> Iterator[list[str]]:
    """The rows of arcs, that of the largest share first."""
    shares, of_all = head["arc_shares"], head["count"]["of_all"]
    arcs = [(p, x, float(shares[x][p])) for p in names for x in names if p in shares.get(x, {})]
    for p, x, share in sorted(arcs, key=lambda arc: -arc[2]):
        either = min(1.0, share + shares.get(p, {}).get(x, 0.0))
        names_of_both = (as_text(_written(name)) for name in (p, x))
        yield [*names_of_both, repr(share), repr(either), *_ends(of_all)]


def _written(text: str) -> str:
    """A text as it is in a file: what is not Unicode as JSON writes it."""
    return text.encode("utf-8", "backslashreplace").decode()
