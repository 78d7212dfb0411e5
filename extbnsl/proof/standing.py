"""How far a solve has come: what a commit holds and a resume starts from."""

import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, TypeVar

import numpy as np

from extbnsl.core.claims import STOP_REASONS, Claim
from extbnsl.core.codec import UNKEPT, Misfit, Whole, decode
from extbnsl.core.figures import format_cost, format_gap
from extbnsl.files.arrays import StoredFile, named
from extbnsl.files.manifest import DONE, Manifest
from extbnsl.files.shelf import Put, Shelf, read_lists
from extbnsl.parents.exhaustive.state import Enumeration, StoredEnumeration
from extbnsl.parents.exhaustive.surviving import Survivors
from extbnsl.parents.priced.prices import Prices
from extbnsl.proof.pieces import Part, PieceSearch, read_search
from extbnsl.scores.local import LocalScores
from extbnsl.search.state import SearchState

COUNTERS = ("nodes_expanded", "nodes_generated", "nodes_kept", "peak_layer", "search_bytes")


@dataclass(frozen=True)
class StoredScores:
    """Local scores in files.

    names: of the variables.
    score, max_parents: of their claim.
    stopped, varsets: as of Survivors.
    files: of the lists of families.
    """

    names: tuple[str, ...]
    score: str
    max_parents: Whole | None
    stopped: Annotated[str, STOP_REASONS.__contains__] | None
    varsets: Whole
    files: tuple[StoredFile, ...]

    def read(self, claim: Claim, folder: Path, put: Put) -> Survivors:
        """The families, each list as `put` holds it; RunDirectoryError if a file is damaged."""
        parents, costs = read_lists(folder, self.files, put)
        own = replace(claim, score=self.score, max_parents=self.max_parents)
        nothing_left = np.full(len(self.names), np.inf)  # a commit has the families when all are known
        return Survivors(LocalScores(self.names, parents, costs, own), nothing_left, self.stopped, self.varsets)


@dataclass
class SoFar:
    """What every kind of run has so far.

    enumeration: how far the families are counted, while that goes on; it may be ahead of the one in files.
    counting: the enumeration in files.
    version: of the file that was written last.
    done: whether nothing is left to do.
    """

    enumeration: Annotated[Enumeration | None, UNKEPT] = None
    counting: StoredEnumeration | None = None
    version: Whole = 0
    done: Annotated[bool, UNKEPT] = False

    @property
    def phase(self) -> str:
        """What the run is at."""
        raise NotImplementedError

    @property
    def upper_bound(self) -> float:
        """The cost of the best network, in nats; infinity before there is one."""
        raise NotImplementedError

    @property
    def lower_bound(self) -> float:
        """What every network costs at least, in nats; minus infinity before that is known."""
        raise NotImplementedError

    def ended(self) -> "SoFar":
        """That of a run that is over, which needs no files."""
        raise NotImplementedError


@dataclass
class FamiliesSoFar(SoFar):
    """What a run has so far that goes on from all families.

    survivors: the families, once they are known.
    scores: the survivors in files, once they are written.
    """

    survivors: Annotated[Survivors | None, UNKEPT] = None
    scores: StoredScores | None = None

    def read_families(self, claim: Claim, folder: Path, shelf: Shelf, variables: int) -> None:
        """Read what the files have, long arrays on the shelf; Misfit if they are not over so many variables,
        RunDirectoryError if one is damaged."""
        if self.counting is not None:
            from extbnsl.parents.exhaustive.stored import read_enumeration

            self.enumeration = read_enumeration(self.counting, folder, shelf)
        if self.scores is not None:
            if len(self.scores.names) != variables:
                raise Misfit("names", "scores")
            self.survivors = self.scores.read(claim, folder, shelf.put)


@dataclass(frozen=True)
class Improvement:
    """When the best network became the best, as far as this process knows: its cost, the seconds of the run by then,
    and the lower bound by then."""

    cost: float
    seconds: float
    lower_bound: float


@dataclass
class Standing(FamiliesSoFar):
    """What is known so far: local scores, a part per component, and the search that is going on.

    parts: of each component, once they are known.
    search: that of the component that is being solved.
    latest: the search's state, which may be ahead of the one in `search`.
    improved: when there was a better network.
    counters: nodes of the searches that are over, and the most bytes that one had in memory.
    resampling: whether the data are solved, and resamples are to be.
    completing: whether data are completed and solved in rounds.
    """

    parts: list[Part] = field(default_factory=list)
    search: PieceSearch | None = None
    latest: Annotated[SearchState | None, UNKEPT] = None
    improved: Annotated[Improvement | None, UNKEPT] = None
    counters: dict[str, Whole] = field(default_factory=dict)
    resampling: Annotated[bool, UNKEPT] = False
    completing: Annotated[bool, UNKEPT] = False

    def is_sound(self) -> bool:
        """Whether the search, if there is one, is of one of the parts."""
        search, parts = self.search, self.parts
        return search is None or (
            search.component < len(parts) and len(parts[search.component].order) == len(search.variables)
        )

    @property
    def phase(self) -> str:
        if self.done:
            return DONE
        if self.resampling:
            return "bootstrap"
        if self.completing:
            return "em"
        if self.survivors is None:
            return "start" if self.counting is None else "counting"
        return "search" if self.parts else "scores"

    @property
    def upper_bound(self) -> float:
        if self.parts or self.pricing is None:
            return math.fsum(part.upper_bound for part in self.parts) if self.parts else math.inf
        return self.pricing.stage.cost

    @property
    def lower_bound(self) -> float:
        if self.parts or self.pricing is None:
            return math.fsum(part.lower_bound for part in self.parts) if self.parts else -math.inf
        return self.pricing.bound

    @property
    def pricing(self) -> Prices | None:
        """The prices of the families, while these are found."""
        return None if self.enumeration is None else self.enumeration.prices

    def bounds_told(self) -> str:
        """The bounds of the whole problem, for a person."""
        lower, upper = self.lower_bound, self.upper_bound
        whole = "in all: " if len(self.parts) > 1 else ""
        costs = f"best bound {format_cost(lower)}, best network {format_cost(upper)}"
        return f"{whole}{costs}, gap {format_gap(lower, upper)}"

    def counted(self) -> dict[str, int]:
        """The counters with those of the search that is going on."""
        total = {name: self.counters.get(name, 0) for name in COUNTERS}
        if self.latest is not None:
            total["nodes_expanded"] += self.latest.expanded
            total["nodes_generated"] += self.latest.generated
            total["nodes_kept"] += self.latest.kept
            total["peak_layer"] = max(total["peak_layer"], self.latest.peak)
        return total

    def ended(self) -> "Standing":
        return replace(self, counting=None, scores=None, search=None, done=True)


S = TypeVar("S", bound=Standing)


def read_standing(manifest: Manifest, folder: Path, shelf: Shelf, variables: int, kind: type[S]) -> S:
    """The standing of this kind over so many variables that the manifest keeps, long arrays on the shelf; Misfit if it
    keeps none, RunDirectoryError if a file in `folder` is damaged."""
    files = named(manifest.files)
    readers = {**files, PieceSearch: lambda search: read_search(search, files, folder, shelf.put)}
    standing: S = decode(kind, manifest.state.standing, readers)
    standing.read_families(manifest.state.claim, folder, shelf, variables)
    standing.latest = None if standing.search is None else standing.search.state
    return standing
