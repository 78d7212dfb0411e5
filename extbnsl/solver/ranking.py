"""What a search for the k best networks has so far: what a commit holds and a resume starts from. Its result follows
from that of the best network and what is found of the others.
"""

import math
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.codec import UNKEPT, Highest, Within, decode
from extbnsl.data.dataset import apart_in
from extbnsl.files import names
from extbnsl.files.arrays import StoredFile, named, read_arrays
from extbnsl.files.manifest import DONE, START, Manifest
from extbnsl.files.shelf import FamilyLists, Shelf
from extbnsl.kbest.ledger import Arrays, Entry, Ledger, as_kept, is_key
from extbnsl.kbest.networks import Networks, lists_of, no_networks
from extbnsl.kbest.ranking import arc_shares, class_keys, family_shares, numbered, ranks, shares
from extbnsl.kbest.scope import Scope
from extbnsl.kernels.varsets import pack, sizes, words
from extbnsl.posteriors.between import LogWeight
from extbnsl.proof.commits import FamilyCheckpoints, Record
from extbnsl.proof.context import Context
from extbnsl.proof.standing import FamiliesSoFar
from extbnsl.results.networks import Between, CostedNetwork, RankedNetworks, network_of, varsets_of
from extbnsl.results.ranked import KBestResult
from extbnsl.results.result import Result
from extbnsl.scores.local import LocalScores

COUNTING, COUNTED, LISTING = "counting", "scores", "networks"  # phases
FOUND = "found"  # the entry of the ledger that has the networks of the last slack
TALLIED = "tallied"  # that of the arcs of all networks within the factor


@dataclass(frozen=True)
class FoundNetworks:
    """All networks that cost up to `within` nats more than the best, or as many of the cheapest as were asked for.

    parents, costs: of each child the families that some of the networks have, (m, words) and (m,), in score order; the
    numbers in the networks are theirs.
    """

    parents: Annotated[FamilyLists, UNKEPT] = ()
    costs: Annotated[FamilyLists, UNKEPT] = ()
    networks: Annotated[Networks, UNKEPT] = field(default_factory=lambda: no_networks(0))
    within: Highest = math.inf

    def arrays(self) -> Arrays:
        """The same, as the ledger keeps it."""
        return {
            "rows": self.networks.rows,
            "costs": self.networks.costs,
            "families": np.array([own.size for own in self.costs]),
            "parents": np.concatenate(self.parents),
            "family_costs": np.concatenate(self.costs),
        }


@dataclass(frozen=True)
class Tallied:
    """All networks within the factor, listed or not: how many; weight: of all together, that of the best one being
    1; arcs (n, n) float64: the share of each arc, parent by child."""

    networks: Annotated[int, Within(1)]
    weight: float
    arcs: Annotated[NDArray[np.float64], UNKEPT] = field(default_factory=lambda: np.zeros((0, 0)))


@dataclass
class Ranking(FamiliesSoFar):
    """What is known so far.

    slack: in nats, that of the families that are counted, or were; 0 before that is begun.
    upper_bound: what some network costs.
    lower_bound: what every network costs, once it is known.
    next_slack: of the networks that are looked for.
    found: those of the last slack.
    tallied: all within the factor, where not all of them are listed.
    log_weight: of the sum of exp(-cost) over all networks there are, if somebody knows.
    ledger: what has been found of components.
    entries: the files of the ledger.
    """

    slack: Highest = 0.0
    upper_bound: Annotated[float, UNKEPT] = math.inf
    lower_bound: Annotated[float, UNKEPT] = -math.inf
    next_slack: float | None = None
    found: FoundNetworks | None = None
    tallied: Tallied | None = None
    log_weight: Annotated[LogWeight | None, UNKEPT] = None
    ledger: Annotated[Ledger, UNKEPT] = field(default_factory=Ledger)
    entries: dict[str, StoredFile] = field(default_factory=dict)

    def is_sound(self) -> bool:
        """Whether the entries are those that there may be."""
        return (
            (FOUND in self.entries) == (self.found is not None)
            and (TALLIED in self.entries) == (self.tallied is not None)
            and all(is_key(key) for key in self.entries.keys() - {FOUND, TALLIED})
        )

    @property
    def phase(self) -> str:
        if self.done:
            return DONE
        if self.survivors is None:
            return START if self.counting is None else COUNTING
        return COUNTED if self.next_slack is None else LISTING

    def ended(self) -> "Ranking":
        return replace(self, found=None, tallied=None, counting=None, scores=None, entries={}, done=True)


def found_of(scores: LocalScores, networks: Networks, within: float) -> FoundNetworks:
    """What is found, with those families alone that the networks have."""
    parents, costs, rows = [], [], np.empty_like(networks.rows)
    for x, (varsets, own) in enumerate(zip(scores.parents, scores.costs, strict=True)):
        used = np.zeros(own.size, np.bool_)
        used[networks.rows[:, x]] = True
        rows[:, x] = (np.cumsum(used, dtype=np.int32) - np.int32(1))[networks.rows[:, x]]
        parents.append(np.ascontiguousarray(varsets[used]))
        costs.append(own[used])
    return FoundNetworks(tuple(parents), tuple(costs), Networks(rows, networks.costs), within)


def read_ranking(manifest: Manifest, folder: Path, shelf: Shelf, variables: int) -> Ranking:
    """What the checkpoint of a run with so many variables keeps, long arrays on the shelf; Misfit if it keeps nothing
    of that kind, RunDirectoryError if a file is damaged."""
    state = manifest.state
    found: Ranking = decode(Ranking, state.standing, named(manifest.files))
    found.upper_bound, found.lower_bound = state.upper_bound, state.lower_bound
    found.read_families(state.claim, folder, shelf, variables)
    entries = {key: _read_entry(folder, file) for key, file in found.entries.items()}
    found.ledger = Ledger(entries)
    if found.found is not None:
        found.found = _read_found(found.found.within, entries[FOUND], variables)
    if found.tallied is not None:
        found.tallied = replace(found.tallied, arcs=_read_arcs(entries[TALLIED], variables))
    return found


def _read_entry(folder: Path, file: StoredFile) -> Entry:
    arrays = read_arrays(folder, file)
    return Entry(lambda: arrays, file, fresh=False)


def _read_found(within: float, entry: Entry, variables: int) -> FoundNetworks:
    """What is found of the arrays of `FoundNetworks.arrays`; RunDirectoryError if they cannot be these."""
    arrays = entry.arrays()
    with as_kept():
        ends = np.cumsum(arrays["families"])[:-1]
        parents, costs = np.split(arrays["parents"], ends), np.split(arrays["family_costs"], ends)
        networks = lists_of({"rows-0": arrays["rows"], "costs-0": arrays["costs"]}, lambda _: costs)[0]
        assert len(costs) == variables, "all variables"
        assert networks.costs.size > 0, "the best is one of them"
        assert [own.shape for own in parents] == [(own.size, words(len(costs))) for own in costs], "families"
    return FoundNetworks(tuple(parents), tuple(costs), networks, within)


def _read_arcs(entry: Entry, variables: int) -> NDArray[np.float64]:
    """The shares of arcs in all networks within the factor; RunDirectoryError if the array cannot be of any."""
    with as_kept():
        arcs = entry.arrays()["arcs"]
        assert arcs.dtype == np.float64, "shares"
        assert arcs.shape == (variables, variables), "of each arc"
        assert ((arcs >= 0.0) & (arcs <= 1.0)).all(), "shares"
    return arcs


class RankingCommits(FamilyCheckpoints[Ranking]):
    """The commits of a search for the k best networks."""

    start = Ranking
    read = staticmethod(read_ranking)

    def __init__(self, standing: Ranking, context: Context, record: Record | None = None) -> None:
        super().__init__(standing, context, record)
        standing.ledger.look = self.commit_if_due

    def stored(self) -> tuple[StoredFile, ...]:
        """The files of counting or of the families, and of the ledger."""
        standing = self.standing
        if standing.survivors is not None and standing.scores is None:
            standing.version += 1
        families = self.stored_families(names.families_within(standing.version))
        for entry in standing.ledger.entries.values():
            if entry.fresh:
                standing.version += 1
                entry.file = self.store.write(names.ranking(standing.version), entry.arrays())
                entry.fresh = False
        entries = standing.ledger.entries.items()
        standing.entries = {key: entry.file for key, entry in entries if entry.file is not None}
        return (*families, *standing.entries.values())


def ranked_result(result: Result, standing: Ranking, scope: Scope) -> KBestResult:
    """The networks with their ranks, classes and shares; the first is that of the result. Without any that are
    found, the network of the result alone, of which it is not known whether it is the best.

    Of classes each is listed by its cheapest network, and has the share of all of its networks that are found. Shares
    are among all that are tallied, if they are, and else among those that are found.
    """
    found, tallied = standing.found or _alone(result), standing.tallied
    networks = _in_order(found)
    classes = numbered(class_keys(varsets_of(found.parents, networks.rows), apart=apart_in(result.dataset)))
    kept = (classes if scope.classes else np.arange(classes.size)) < (scope.k or classes.size)
    networks, classes = Networks(networks.rows[kept], networks.costs[kept]), classes[kept]
    own_shares = shares(networks.costs)
    log_listed = math.log(float(np.exp(networks.costs[0] - networks.costs).sum())) - float(networks.costs[0])
    if tallied is None:
        families = family_shares(networks, [costs.size for costs in found.costs], own_shares)
        arcs, share, log_found = arc_shares(found.parents, families), 1.0, log_listed
    else:
        log_found = math.log(tallied.weight) - float(networks.costs[0])
        arcs, share = tallied.arcs, min(1.0, math.exp(log_listed - log_found))
    if scope.classes:
        first = np.unique(classes, return_index=True)[1]
        own_shares = np.bincount(classes, weights=own_shares).astype(np.float64, copy=False)
        networks, classes = Networks(networks.rows[first], networks.costs[first]), classes[first]
    weight = standing.log_weight
    ranked = RankedNetworks(
        result.network.names,
        found.parents,
        networks.rows,
        networks.costs,
        ranks(networks.costs),
        classes + 1,
        share * own_shares,
        None if weight is None else _share_of(weight, log_found),
    )
    own = {field.name: getattr(result, field.name) for field in fields(Result)}
    own |= {"network": ranked[0].network, "order": ranked[0].network.order()}
    counted = _how_many(ranked, found, tallied, scope)
    within = found.within if found.within >= 0.0 else None
    if scope.slack is not None and within is not None and counted is None:
        within = scope.slack  # there are as many within less
    return KBestResult(
        **own,
        networks=ranked,
        within=within,
        arcs=arcs,
        counted=counted,
        share=share,
        written=scope.top,
    )


def _share_of(weight: LogWeight, log_found: float) -> Between:
    """What networks of this log weight have of all."""
    return Between(*(math.exp(min(0.0, log_found - end)) for end in (weight.at_most, weight.at_least)))


def _how_many(ranked: RankedNetworks, found: FoundNetworks, tallied: Tallied | None, scope: Scope) -> int | None:
    """How many networks, or classes, there are within what is found; None if nobody knows."""
    if tallied is not None:
        return tallied.networks
    most = scope.k if scope.classes else scope.most
    return None if found.within < 0.0 or (most is not None and len(ranked) >= most) else len(ranked)


def costed_networks(found: FoundNetworks, names: tuple[str, ...]) -> list[CostedNetwork]:
    """The networks, best first; there may be more that cost the same as the last ones, but none that cost less."""
    networks = _in_order(found)
    return [
        CostedNetwork(rank, cost, network_of(names, found.parents, row))
        for rank, cost, row in zip(ranks(networks.costs).tolist(), networks.costs.tolist(), networks.rows, strict=True)
    ]


def _alone(result: Result) -> FoundNetworks:
    n, cost = len(result.network.names), np.array([result.cost])
    parents = tuple(pack(own, n)[None, :] for own in result.network.parents)
    costs = (cost, *(np.zeros(1),) * (n - 1))  # what each family costs is not known here
    return FoundNetworks(parents, costs, Networks(np.zeros((1, n), np.int32), cost), -math.inf)


def _in_order(found: FoundNetworks) -> Networks:
    """The networks with what each costs, whatever the order in which its families were found; of those that cost the
    same the ones with the fewest arcs first."""
    networks = found.networks
    costs, arcs = np.zeros(networks.costs.size), np.zeros(networks.costs.size, np.int64)
    lost = np.zeros_like(costs)
    for x, (varsets, own) in enumerate(zip(found.parents, found.costs, strict=True)):
        more = own[networks.rows[:, x]]
        total = costs + more
        taken = total - costs
        lost += (costs - (total - taken)) + (more - taken)  # what this rounds off (Knuth's sum of two)
        costs = total
        arcs += sizes(varsets)[networks.rows[:, x]]
    costs += lost
    order = np.lexsort((arcs, costs))
    return Networks(networks.rows[order], costs[order])
