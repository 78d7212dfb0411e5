"""What an approximation has so far, and when its time is over.

A commit holds an `Approximation`, and a resume starts from it.
"""

import contextlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.claims import tolerance
from extbnsl.core.codec import UNKEPT, Misfit, Whole, Within, decode
from extbnsl.core.compiling import clock
from extbnsl.core.errors import ExtbnslError, RunDirectoryError
from extbnsl.core.events import IncumbentFound, Warned
from extbnsl.files import names
from extbnsl.files.arrays import StoredFile, named, read_arrays
from extbnsl.files.manifest import DONE, START, Manifest
from extbnsl.files.shelf import Shelf
from extbnsl.orders.population import OrderedNetwork, Population
from extbnsl.parents.exhaustive.stored import read_enumeration
from extbnsl.parents.explored.explore import ALL, MEMORY, SECONDS, SETS, STOPPED, Explored
from extbnsl.parents.explored.families import FamilyList
from extbnsl.proof.commits import Checkpoints, Record, sentence
from extbnsl.proof.context import Context
from extbnsl.proof.standing import SoFar

EXPLORING, SEARCHING = "parents", "orders"  # phases
EXPLORED = 0.2  # of the time after reading, after which the exploration is to end
LATEST = 0.5  # of the same, after which it ends even if some children have had no turn
COMMIT_SECONDS = 5.0
COMMIT_PART = 1 / 200  # of the seconds so far, that may be lost where this is more
ENDED = (ALL, SETS, SECONDS, MEMORY, STOPPED)  # numbered in files

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Times:
    """whole: the seconds that the run may take in all its sessions, but for reading; end: the moment of
    `compiling.clock` when they are over; reserve: what scoring and writing the network take of them."""

    whole: float
    end: float
    reserve: float = 0.0

    @property
    def explored(self) -> float:
        """The moment when the exploration is to be over."""
        return self.end - (1.0 - EXPLORED) * self.whole

    @property
    def latest(self) -> float:
        """The moment when the exploration ends at the latest."""
        return self.end - (1.0 - LATEST) * self.whole

    @property
    def searched(self) -> float:
        """The moment when the search ends."""
        return self.end - self.reserve

    @property
    def used(self) -> float:
        """Seconds that the run has taken so far."""
        return self.whole - (self.end - clock())


@dataclass(frozen=True)
class Children:
    """What is known of the families of the children.

    floors: what a family of each costs at least, in nats, once that is known.
    known: the children whose exploration has ended; those that are in files as long as they are needed.
    held: where each child is that is in a file as it is known, those in earlier files first.
    explored: the files, without those of which all children are in later ones.
    """

    floors: tuple[float, ...] | None = None
    known: Annotated[Mapping[int, Explored], UNKEPT] = field(default_factory=dict)
    held: Annotated[Mapping[int, StoredFile], UNKEPT] = field(default_factory=dict)
    explored: tuple[StoredFile, ...] = ()

    @property
    def fresh(self) -> list[Explored]:
        """Those that are in none of the files yet, as they are known."""
        return [own for child, own in self.known.items() if child not in self.held]

    def having(self, *more: Explored) -> "Children":
        """With what is known of more of them, or of the same."""
        known, held = {own.child: own for own in more}, self.held
        if not held.keys().isdisjoint(known):
            held = {child: file for child, file in held.items() if child not in known}
        return replace(self, known={**self.known, **known}, held=held)

    def filed(self, file: StoredFile, needed: bool) -> "Children":
        """With what was in no file in this one; needed: whether it is kept as well."""
        held = {**self.held, **{own.child: file for own in self.fresh}}
        explored = tuple({file.name: file for file in held.values()}.values())
        return replace(self, known=self.known if needed else {}, held=held, explored=explored)


@dataclass
class Approximation(SoFar):
    """What is known so far.

    times: of the run.
    used: how many seconds it had used when this was written.
    children: what is known of their families.
    searching: whether the exploration is over; a child that is not known then has the empty set alone.
    population: where the search stands.
    orders: the file that has a population.
    best: the best network.
    lower_bound: what every network costs at least, in nats.
    bounded: whether the lower bound is as good as it gets.
    counted: for the statistics.
    """

    times: Annotated[Times, UNKEPT] = Times(0.0, 0.0)
    used: Annotated[float, Within()] = 0.0
    children: Children = Children()
    searching: bool = False
    population: Annotated[Population | None, UNKEPT] = None
    orders: StoredFile | None = None
    best: OrderedNetwork | None = None
    lower_bound: Annotated[float, UNKEPT] = -math.inf
    bounded: bool = False
    counted: dict[str, Whole] = field(default_factory=dict)

    @property
    def phase(self) -> str:
        if self.done:
            return DONE
        begun = self.children.floors is not None or self.counting is not None
        return SEARCHING if self.searching else EXPLORING if begun else START

    @property
    def proved(self) -> bool:
        """Whether no network can be better than the best."""
        return self.best is not None and self.best.cost <= self.lower_bound + tolerance(self.best.cost)

    @property
    def upper_bound(self) -> float:
        return math.inf if self.best is None else self.best.cost

    @property
    def seconds_left(self) -> float:
        """Of the time of the run, when this was written."""
        return max(0.0, self.times.whole - self.used)

    def ended(self) -> "Approximation":
        """The network is among what it keeps."""
        children = replace(self.children, explored=())
        return replace(self, used=self.times.used, counting=None, children=children, orders=None, done=True)


def reopened(manifest: Manifest) -> Manifest:
    """The state of a run that is over, to go on with: from its orders, or without them from its network alone."""
    state, standing = manifest.state, manifest.state.standing
    if isinstance(standing, dict) and standing.get("orders") is None:
        children = standing.get("children")
        children = children | {"floors": None} if isinstance(children, dict) else children
        again = {"children": children, "used": 0.0, "searching": False}  # exploring has its share of the new time
        return replace(manifest, state=replace(state, phase=START, standing=standing | again))
    return replace(manifest, state=replace(state, phase=SEARCHING))


def read_approximation(manifest: Manifest, folder: Path, shelf: Shelf, variables: int) -> Approximation:
    """What the checkpoint of a run with so many variables keeps; Misfit if it keeps nothing of that kind,
    RunDirectoryError if a file is damaged or holds what no run writes."""
    state = manifest.state
    found: Approximation = decode(Approximation, state.standing, named(manifest.files))
    if found.children.floors is not None and len(found.children.floors) != variables:
        raise Misfit("floors", "children")
    if found.best is not None and len(found.best.parents) != variables:
        raise Misfit("best")
    known, held, population = dict[int, Explored](), dict[int, StoredFile](), None
    for file in found.children.explored:
        for own in read_explored(folder, file, variables):
            held.pop(own.child, None)
            known[own.child], held[own.child] = own, file
    if found.orders is not None and found.best is not None:
        population = read_population(folder, found.orders, found.best)
    return replace(
        found,
        children=replace(found.children, known=known, held=held),
        enumeration=None if found.counting is None else read_enumeration(found.counting, folder, shelf),
        population=population,
        lower_bound=state.lower_bound,
        done=state.phase == DONE,
    )


class ApproximateCommits(Checkpoints[Approximation]):
    """The commits of an approximation. One that fails costs the checkpoints, not the network."""

    start = Approximation
    read = staticmethod(read_approximation)

    def __init__(self, standing: Approximation, context: Context, record: Record | None = None) -> None:
        super().__init__(standing, context, record)
        self._written = standing.population  # the one in the file of orders

    def know(self, *some: Explored, **values: Any) -> None:
        """Let the standing have what is known of some of the children; `values` are other fields of `Children`."""
        self.standing.children = replace(self.standing.children.having(*some), **values)

    def tell(self, cost: float) -> None:
        """Tell the observer what a network costs, if it is better than the best of the standing."""
        if cost < self.standing.upper_bound:
            self.observer(IncumbentFound(cost, self.standing.lower_bound))

    def pause(self) -> float:
        """The longer the run, the less a few minutes are: else it would have thousands of files."""
        return max(COMMIT_SECONDS, COMMIT_PART * self.elapsed())

    def stored(self) -> tuple[StoredFile, ...]:
        """The files of counting, of the children that are known, and of the orders."""
        standing = self.standing
        standing.used = standing.times.used
        counting = self.stored_counting() if standing.children.floors is None else ()
        if fresh := standing.children.fresh:
            file = self._file(names.explored, explored_arrays(fresh))
            standing.children = standing.children.filed(file, not standing.searching)
        population = standing.population
        if population is not None and population is not self._written:
            standing.orders = self._file(names.orders, population.arrays)
            self._written = population
        return (*counting, *standing.children.explored, *([] if standing.orders is None else [standing.orders]))

    def _file(self, name: Callable[[int], str], arrays: Arrays) -> StoredFile:
        """The next file, with these arrays."""
        self.standing.version += 1
        return self.store.write(name(self.standing.version), arrays)

    def finish(self, status: str) -> None:
        """Say that the run is over. What more time goes on from is kept, where a network can be better and there is
        room for it; otherwise the network alone."""
        self.standing.done = True
        if self._record is not None and not self.standing.proved:
            with contextlib.suppress(ExtbnslError, MemoryError):
                return self.commit(status)
        return super().finish(status)

    def commit_or_stop(self) -> None:
        """Commit; if that fails, warn, and go on without commits until the end."""
        if not self.possible:
            return
        try:
            self.commit()
        except (ExtbnslError, MemoryError) as error:
            self.possible = False
            self.observer(Warned(f"{sentence(error)} The run goes on, but writes no more checkpoints."))


def explored_arrays(some: list[Explored]) -> dict[str, NDArray[Any]]:
    """What is known of some children, one after the other: children int32, ended int8, scored int64 and families int64
    for each; of each family its size, uint8, and its cost; and all parents, int32."""
    lists = [own.families for own in some]
    return {
        "children": np.array([own.child for own in some], np.int32),
        "ended": np.array([ENDED.index(own.ended) for own in some], np.int8),
        "scored": np.array([own.scored for own in some], np.int64),
        "families": np.array([own.families for own in lists], np.int64),
        "sizes": np.concatenate([np.diff(own.starts) for own in lists]).astype(np.uint8),
        "costs": np.concatenate([own.costs for own in lists]),
        "parents": np.concatenate([own.parents for own in lists]),
    }


def read_explored(folder: Path, file: StoredFile, variables: int) -> list[Explored]:
    """What a file knows of some of the children; RunDirectoryError if it holds what no run writes."""
    arrays = read_arrays(folder, file)
    try:
        sound = _is_sound(arrays, variables)
    except (KeyError, TypeError, ValueError):
        sound = False
    if not sound:
        raise _foreign(folder / file.name)
    firsts = np.concatenate(([0], np.cumsum(arrays["families"])))
    starts = np.concatenate(([0], np.cumsum(arrays["sizes"], dtype=np.int64)))
    found = []
    for k, (child, ended, scored) in enumerate(zip(*(arrays[name].tolist() for name in _OF_CHILD), strict=True)):
        first, last = firsts[k], firsts[k + 1]
        own = starts[first : last + 1]
        families = FamilyList(own - own[0], arrays["parents"][own[0] : own[-1]], arrays["costs"][first:last])
        found.append(Explored(child, families, scored, ENDED[ended]))
    return found


_OF_CHILD = ("children", "ended", "scored")


def _is_sound(arrays: Arrays, variables: int) -> bool:
    """Whether kernels can take the arrays of a file of explored children."""
    children, ended, counts = arrays["children"], arrays["ended"], arrays["families"]
    sizes, costs, parents = arrays["sizes"], arrays["costs"], arrays["parents"]
    kinds: tuple[object, ...] = (children.dtype, ended.dtype, counts.dtype, sizes.dtype, costs.dtype, parents.dtype)
    return (
        kinds == (np.int32, np.int8, np.int64, np.uint8, np.float64, np.int32)
        and children.shape == ended.shape == counts.shape == arrays["scored"].shape == (children.size,)
        and costs.shape == sizes.shape == (int(counts.sum()),)
        and parents.shape == (int(sizes.sum(dtype=np.int64)),)
        and bool((counts >= 1).all() and np.isfinite(costs).all())
        and _are_below(children, variables)
        and _are_below(ended, len(ENDED))
        and _are_below(parents, variables)
        and not (np.repeat(np.repeat(children, counts), sizes) == parents).any()
    )


def _are_below(numbers: NDArray[Any], most: int) -> bool:
    return not numbers.size or bool(numbers.min() >= 0 and numbers.max() < most)


def read_population(folder: Path, file: StoredFile, best: OrderedNetwork) -> Population:
    """The population in a file of orders; RunDirectoryError if it holds what no run writes."""
    arrays, n = read_arrays(folder, file), best.order.size
    orders, states, parents = arrays.get("orders"), arrays.get("states"), arrays.get("parents")
    if (
        orders is None
        or states is None
        or (orders.dtype, states.dtype) != (np.int32, np.uint64)
        or orders.shape != (states.size, n)
        or states.shape != (states.size, 1)
        or not states.size
        or not (np.sort(orders, axis=1) == np.arange(n)).all()
        or not (parents is None or _are_parents(parents, *orders.shape))
    ):
        raise _foreign(folder / file.name)
    return Population(orders, states, best, parents)


def _are_parents(parents: NDArray[Any], orders: int, variables: int) -> bool:
    """Whether these are parents under so many orders."""
    return (
        parents.dtype == np.int32
        and parents.ndim == 3
        and parents.shape[:2] == (orders, variables)
        and bool((parents >= -1).all() and (parents < variables).all())
        and not (parents == np.arange(variables)[:, None]).any()
    )


def _foreign(path: Path) -> RunDirectoryError:
    return RunDirectoryError(f"{path} does not hold what a run of extbnsl writes; start the run again.")
