"""What a search for the k best networks has so far: what a commit holds and a resume starts from."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.claims import claim_from
from extbnsl.files import names
from extbnsl.files.arrays import StoredFile, read_arrays
from extbnsl.files.lists import FamilyLists, Put, read_lists, write_lists
from extbnsl.files.manifest import Manifest
from extbnsl.files.shelf import Shelf
from extbnsl.kbest.ledger import Arrays, Entry, Ledger, as_kept
from extbnsl.kbest.networks import Networks
from extbnsl.kernels.varsets import words
from extbnsl.parents.exhaustive.state import Enumeration
from extbnsl.parents.exhaustive.stored import StoredEnumeration, read_enumeration, stored_from
from extbnsl.parents.exhaustive.surviving import Survivors
from extbnsl.proof.commits import CountingCheckpoints
from extbnsl.scores.local import LocalScores
from extbnsl.solver.ranking_document import COUNTED, COUNTING, DONE, FOUND, LISTING, START, TALLIED


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

    parents: FamilyLists
    costs: FamilyLists
    networks: Networks
    within: float


@dataclass(frozen=True)
class Tallied:
    """All networks within the factor, listed or not: how many; weight: of all together, that of the best one being
    1; arcs (n, n) float64: the share of each arc, parent by child."""

    networks: int
    weight: float
    arcs: NDArray[np.float64]


@dataclass
class Ranking:
    """What is known so far.

    slack: in nats, that of the families that are counted, or were; None before that is begun. enumeration: how far they
    are, while that goes on; it may be ahead of `counting`, the one in files. counted: the families; scores: their
    files, once they are written. upper_bound: what some network costs; lower_bound: what every network costs, once it
    is known. next_slack: of the networks that are looked for; found: those of the last slack. tallied: all within the
    factor, where not all of them are listed. log_weight: the logarithm of the sum of exp(-cost) over all networks there
    are, if somebody knows; no commit keeps it.
    ledger: what has been found of components. version: of the file that was written last. done: whether all is found.
    The others as in a Standing.
    """

    slack: float | None = None
    enumeration: Enumeration | None = None
    counting: StoredEnumeration | None = None
    counted: Counted | None = None
    scores: tuple[StoredFile, ...] = ()
    upper_bound: float = math.inf
    lower_bound: float = -math.inf
    next_slack: float | None = None
    found: Found | None = None
    tallied: Tallied | None = None
    log_weight: float | None = None
    ledger: Ledger = field(default_factory=Ledger)
    version: int = 0
    done: bool = False
    stages: dict[str, dict[str, float]] = field(default_factory=dict)
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_rss: int = 0
    peak_disk: int = 0

    @property
    def phase(self) -> str:
        if self.done:
            return DONE
        if self.counted is None:
            return START if self.counting is None else COUNTING
        return COUNTED if self.next_slack is None else LISTING

    def document(self) -> dict[str, Any]:
        """The JSON values that a manifest keeps."""
        counted, found, tallied = self.counted, self.found, self.tallied
        return {
            "phase": self.phase,
            "slack": self.slack,
            "upper_bound": self.upper_bound,
            "lower_bound": self.lower_bound,
            "next_slack": self.next_slack,
            "found": found and {"within": found.within},
            "tallied": tallied and {"networks": tallied.networks, "weight": tallied.weight},
            "counting": self.counting and self.counting.document(),
            "scores": counted and {
                "names": counted.scores.names,
                "score": counted.scores.score,
                "max_parents": counted.scores.max_parents,
                "varsets": counted.varsets,
                "least": counted.least,
                "files": [file.name for file in self.scores],
            },
            "ledger": {key: entry.file.name for key, entry in self.ledger.entries.items() if entry.file is not None},
            "version": self.version,
            "stages": self.stages,
            "seconds": self.seconds,
            "cpu_seconds": self.cpu_seconds,
            "peak_rss": self.peak_rss,
            "peak_disk": self.peak_disk,
        }  # fmt: skip

    def ended(self) -> dict[str, Any]:
        """Those of a run that is over, which needs no files."""
        nothing = dict.fromkeys(("found", "tallied", "counting", "scores"))
        return {**self.document(), **nothing, "phase": DONE, "ledger": {}}


class RankingCommits(CountingCheckpoints[Ranking]):
    """The commits of a search for the k best networks."""

    def stored(self) -> tuple[StoredFile, ...]:
        """The files of counting or of the families, and of the ledger."""
        standing = self.standing
        counted = standing.counted
        if counted is not None and not standing.scores:
            standing.version += 1
            stem = names.families_within(standing.version)
            standing.scores = write_lists(self.store, stem, counted.scores.parents, counted.scores.costs)
        counting = self.stored_counting() if counted is None else ()
        entries = standing.ledger.entries.values()
        for entry in entries:
            if entry.fresh:
                standing.version += 1
                entry.file = self.store.write(names.ranking(standing.version), entry.arrays())
                entry.fresh = False
        return (*standing.scores, *counting, *(entry.file for entry in entries if entry.file is not None))


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


def read_ranking(resume: Manifest, folder: Path, shelf: Shelf, variables: int) -> Ranking:
    """What the checkpoint of a run with so many variables keeps, long arrays on the shelf; RunDirectoryError if a
    file is damaged."""
    state, files = resume.state, {file.name: file for file in resume.files}
    counting = None if state["counting"] is None else stored_from(state["counting"], files)
    scores = () if state["scores"] is None else tuple(files[name] for name in state["scores"]["files"])
    entries = {key: _read_entry(folder, files[name]) for key, name in state["ledger"].items()}
    return Ranking(
        slack=state["slack"] if state["scores"] is None else _open(state["slack"]),
        enumeration=None if counting is None else read_enumeration(counting, folder, shelf),
        counting=counting,
        counted=None if state["scores"] is None else _read_counted(state, scores, folder, shelf.put),
        scores=scores,
        upper_bound=_open(state["upper_bound"]),
        lower_bound=-math.inf if state["lower_bound"] is None else state["lower_bound"],
        next_slack=state["next_slack"],
        found=None if state["found"] is None else _read_found(state["found"], entries[FOUND], variables),
        tallied=None if state["tallied"] is None else _read_tallied(state["tallied"], entries[TALLIED], variables),
        ledger=Ledger(entries),
        version=state["version"],
        stages={name: dict(seconds) for name, seconds in state["stages"].items()},
        seconds=state["seconds"],
        cpu_seconds=state["cpu_seconds"],
        peak_rss=state["peak_rss"],
        peak_disk=state["peak_disk"],
    )


def _read_counted(state: Mapping[str, Any], files: Iterable[StoredFile], folder: Path, put: Put) -> Counted:
    own = state["scores"]
    parents, costs = read_lists(folder, files, put)
    claim = replace(claim_from(state["claim"]), score=own["score"], max_parents=own["max_parents"])
    scores = LocalScores(tuple(own["names"]), parents, costs, claim)
    return Counted(scores, np.array(own["least"]), None, own["varsets"], _open(state["slack"]))


def _read_entry(folder: Path, file: StoredFile) -> Entry:
    arrays = read_arrays(folder, file)
    return Entry(lambda: arrays, file, fresh=False)


def _read_found(state: Mapping[str, Any], entry: Entry, variables: int) -> Found:
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
    return Found(tuple(parents), tuple(costs), networks, _open(state["within"]))


def _read_tallied(state: Mapping[str, Any], entry: Entry, variables: int) -> Tallied:
    """All networks within the factor; RunDirectoryError if the array cannot be of any."""
    with as_kept():
        arcs = entry.arrays()["arcs"]
        assert arcs.dtype == np.float64, "shares"
        assert arcs.shape == (variables, variables), "of each arc"
        assert ((arcs >= 0.0) & (arcs <= 1.0)).all(), "shares"
    return Tallied(state["networks"], state["weight"], arcs)


def _open(value: float | None) -> float:
    """A number that may be infinite, which JSON cannot say."""
    return math.inf if value is None else value
