"""What a search for the k best networks has so far: what a commit holds and a resume starts from."""

import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.codec import UNKEPT, Highest, Whole, Within, decode
from extbnsl.files import names
from extbnsl.files.arrays import StoredFile, named, read_arrays
from extbnsl.files.lists import FamilyLists
from extbnsl.files.manifest import Manifest
from extbnsl.files.run_state import DONE, START, Spent
from extbnsl.files.shelf import Shelf
from extbnsl.kbest.ledger import Arrays, Entry, Ledger, as_kept, is_key
from extbnsl.kbest.networks import Networks, no_networks
from extbnsl.kernels.varsets import words
from extbnsl.parents.exhaustive.state import Enumeration
from extbnsl.parents.exhaustive.stored import StoredEnumeration, read_enumeration
from extbnsl.parents.exhaustive.surviving import Survivors
from extbnsl.proof.commits import CountingCheckpoints
from extbnsl.proof.standing import StoredScores, stored_scores
from extbnsl.scores.local import LocalScores

COUNTING, COUNTED, LISTING = "counting", "scores", "networks"  # phases
FOUND = "found"  # the entry of the ledger that has the networks of the last slack
TALLIED = "tallied"  # that of the arcs of all networks within the factor


@dataclass(frozen=True)
class Counted(Survivors):
    """The families within a slack of the best of their subsets, in nats."""

    slack: float = 0.0


@dataclass(frozen=True)
class Found:
    """All networks that cost up to `within` nats more than the best, or as many of the cheapest as were asked for.

    parents, costs: of each child the families that some of the networks have, (m, words) and (m,), in score order; the
    numbers in the networks are theirs.
    """

    parents: Annotated[FamilyLists, UNKEPT] = ()
    costs: Annotated[FamilyLists, UNKEPT] = ()
    networks: Annotated[Networks, UNKEPT] = field(default_factory=lambda: no_networks(0))
    within: Highest = math.inf


@dataclass(frozen=True)
class Tallied:
    """All networks within the factor, listed or not: how many; weight: of all together, that of the best one being
    1; arcs (n, n) float64: the share of each arc, parent by child."""

    networks: Annotated[int, Within(1)]
    weight: float
    arcs: Annotated[NDArray[np.float64], UNKEPT] = field(default_factory=lambda: np.zeros((0, 0)))


@dataclass
class Ranking:
    """What is known so far.

    slack: in nats, that of the families that are counted, or were; None before that is begun.
    enumeration: how far they are, while that goes on; it may be ahead of the one in files.
    counting: the enumeration in files.
    counted: the families.
    scores: the families in files, once they are written.
    upper_bound: what some network costs.
    lower_bound: what every network costs, once it is known.
    next_slack: of the networks that are looked for.
    found: those of the last slack.
    tallied: all within the factor, where not all of them are listed.
    log_weight: the logarithm of the sum of exp(-cost) over all networks there are, if somebody knows.
    ledger: what has been found of components.
    entries: the files of the ledger.
    version: of the file that was written last.
    spent: what the run has taken.
    done: whether all is found.
    """

    slack: float | None = None
    enumeration: Annotated[Enumeration | None, UNKEPT] = None
    counting: StoredEnumeration | None = None
    counted: Annotated[Counted | None, UNKEPT] = None
    scores: StoredScores | None = None
    upper_bound: Annotated[float, UNKEPT] = math.inf
    lower_bound: Annotated[float, UNKEPT] = -math.inf
    next_slack: float | None = None
    found: Found | None = None
    tallied: Tallied | None = None
    log_weight: Annotated[float | None, UNKEPT] = None
    ledger: Annotated[Ledger, UNKEPT] = field(default_factory=Ledger)
    entries: dict[str, StoredFile] = field(default_factory=dict)
    version: Whole = 0
    spent: Annotated[Spent, UNKEPT] = field(default_factory=Spent)
    done: Annotated[bool, UNKEPT] = False

    def is_sound(self) -> bool:
        """Whether the entries are those that there may be."""
        further = {FOUND} & self.entries.keys(), {TALLIED} & self.entries.keys()
        return (bool(further[0]), bool(further[1])) == (self.found is not None, self.tallied is not None) and all(
            is_key(key) for key in self.entries if key not in (FOUND, TALLIED)
        )

    @property
    def phase(self) -> str:
        if self.done:
            return DONE
        if self.counted is None:
            return START if self.counting is None else COUNTING
        return COUNTED if self.next_slack is None else LISTING

    def ended(self) -> "Ranking":
        """The standing of a run that is over, which needs no files."""
        return replace(self, found=None, tallied=None, counting=None, scores=None, entries={}, done=True)


def found_of(scores: LocalScores, networks: Networks, within: float) -> Found:
    """What is found, with those families alone that the networks have."""
    parents, costs, rows = [], [], np.empty_like(networks.rows)
    for x, (varsets, own) in enumerate(zip(scores.parents, scores.costs, strict=True)):
        used = np.zeros(own.size, np.bool_)
        used[networks.rows[:, x]] = True
        rows[:, x] = (np.cumsum(used, dtype=np.int32) - np.int32(1))[networks.rows[:, x]]
        parents.append(np.ascontiguousarray(varsets[used]))
        costs.append(own[used])
    return Found(tuple(parents), tuple(costs), Networks(rows, networks.costs), within)


def found_arrays(found: Found) -> Arrays:
    """What is found, as the ledger keeps it."""
    return {
        "rows": found.networks.rows,
        "costs": found.networks.costs,
        "families": np.array([own.size for own in found.costs]),
        "parents": np.concatenate(found.parents),
        "family_costs": np.concatenate(found.costs),
    }


def read_ranking(manifest: Manifest, folder: Path, shelf: Shelf, variables: int) -> Ranking:
    """What the checkpoint of a run with so many variables keeps, long arrays on the shelf; Misfit if it keeps nothing
    of that kind, RunDirectoryError if a file is damaged."""
    state = manifest.state
    found: Ranking = decode(Ranking, state.standing, named(manifest.files))
    found.upper_bound, found.lower_bound, found.spent = state.upper_bound, state.lower_bound, state.spent
    if found.counting is not None:
        found.enumeration = read_enumeration(found.counting, folder, shelf)
    if (own := found.scores) is not None:
        found.slack = math.inf if found.slack is None else found.slack  # JSON has no infinity
        scores = own.read(state.claim, folder, shelf.put)
        found.counted = Counted(scores, np.array(own.least), own.stopped, own.varsets, found.slack)
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


def _read_found(within: float, entry: Entry, variables: int) -> Found:
    """What is found of the arrays of `found_arrays`; RunDirectoryError if they cannot be these."""
    arrays = entry.arrays()
    with as_kept():
        ends = np.cumsum(arrays["families"])[:-1]
        parents, costs = np.split(arrays["parents"], ends), np.split(arrays["family_costs"], ends)
        networks = Networks(arrays["rows"], arrays["costs"])
        networks.check()
        assert networks.rows.dtype == np.int32, "numbers of families"
        assert len(costs) == variables, "all variables"
        assert networks.costs.size > 0, "the best is one of them"
        assert networks.rows.shape[1] == len(costs), "a family of each child"
        assert (networks.rows < arrays["families"]).all(), "numbers of families"
        assert [own.shape for own in parents] == [(own.size, words(len(costs))) for own in costs], "families"
    return Found(tuple(parents), tuple(costs), networks, within)


def _read_arcs(entry: Entry, variables: int) -> NDArray[np.float64]:
    """The shares of arcs in all networks within the factor; RunDirectoryError if the array cannot be of any."""
    with as_kept():
        arcs = entry.arrays()["arcs"]
        assert arcs.dtype == np.float64, "shares"
        assert arcs.shape == (variables, variables), "of each arc"
        assert ((arcs >= 0.0) & (arcs <= 1.0)).all(), "shares"
    return arcs


class RankingCommits(CountingCheckpoints[Ranking]):
    """The commits of a search for the k best networks."""

    start = Ranking
    read = staticmethod(read_ranking)

    def stored(self) -> tuple[StoredFile, ...]:
        """The files of counting or of the families, and of the ledger."""
        standing = self.standing
        counted = standing.counted
        if counted is not None and standing.scores is None:
            standing.version += 1
            standing.scores = stored_scores(counted, self.store, names.families_within(standing.version))
        counting = self.stored_counting() if counted is None else ()
        for entry in standing.ledger.entries.values():
            if entry.fresh:
                standing.version += 1
                entry.file = self.store.write(names.ranking(standing.version), entry.arrays())
                entry.fresh = False
        entries = standing.ledger.entries.items()
        standing.entries = {key: entry.file for key, entry in entries if entry.file is not None}
        return (*(standing.scores.files if standing.scores else ()), *counting, *standing.entries.values())
