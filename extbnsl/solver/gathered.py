"""The families that a search over orders is given: all of local scores, and those of data that can be found in time.

Of few variables all parent sets are counted, size by size, if that can come to its end in the time that is left. Of
many, each child is explored on its own, the more promising parent sets first. Where others could win, the lists grow
while they are searched. Of numbers no lists are needed then: a search chooses parents within its moves.
"""

import contextlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from extbnsl.core.compiling import clock
from extbnsl.core.errors import BudgetError
from extbnsl.core.events import Event, Observer, StageAdvanced, ignore
from extbnsl.core.figures import format_cost, in_full
from extbnsl.data import Data, Dataset
from extbnsl.kernels.varsets import WORD_BITS
from extbnsl.machine.budgets import Deadline, Granted, too_little_memory
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.orders.fitted.search import Fitting, fitting
from extbnsl.orders.growing import GrowingLists, lists_of_families
from extbnsl.orders.parent_lists import ParentLists, lists_of_varsets
from extbnsl.orders.population import DEFAULT
from extbnsl.parents.exhaustive.one_by_one import ChildSource
from extbnsl.parents.exhaustive.source import source_of
from extbnsl.parents.exhaustive.state import Means
from extbnsl.parents.exhaustive.surviving import Survivors, surviving_families
from extbnsl.parents.explored.explore import (
    ALL,
    MOST_PARENTS,
    STOPPED,
    Effort,
    Exploration,
    Explored,
    Left,
    exploration,
    explored_families,
    thread_bytes,
    without_parents,
)
from extbnsl.parents.explored.families import as_local_scores, cheapest, list_of_varsets
from extbnsl.scores.formula import MISFIT
from extbnsl.scores.local import LocalScores
from extbnsl.scores.score import penalty_of
from extbnsl.solver.approximation import EXPLORED, ApproximateCommits
from extbnsl.solver.chained import choices_of, joint_misfit, shared_bound
from extbnsl.solver.families import size_of
from extbnsl.solver.methods import AUTO, INDEPENDENCE
from extbnsl.solver.opening import Opened

SURE = 0.15  # of a size that is done before its time is extrapolated: its first steps are shorter than the others
LEAST = 0.05  # of the time, that it takes until then at least
DOUBT = 1.2  # times as long as is left may be expected


class CountingTime:
    """Hears how counting advances, and passes it on; `over` once the moment `end` of `compiling.clock` has come, or the
    size of parent sets that is being judged cannot be completed until then."""

    def __init__(self, end: float, observer: Observer) -> None:
        self._end, self._observer = end, observer
        self._seconds = end - clock()
        self._size, self._began = "", clock()
        self._hopeless = False

    def observe(self, event: Event) -> None:
        """Hear of an event."""
        self._observer(event)
        if not isinstance(event, StageAdvanced) or not event.total:
            return
        now, share = clock(), event.done / event.total
        if event.detail != self._size:
            self._size, self._began = event.detail, now
        taken = now - self._began
        if share >= SURE and taken >= LEAST * self._seconds:
            self._hopeless = self._hopeless or taken * (1.0 / share - 1.0) > DOUBT * (self._end - now)

    def over(self) -> bool:
        """Whether to stop counting."""
        return self._hopeless or clock() >= self._end


FIRST = 0.5  # of a child's exploration, for small sets
PAIRS = 0.25  # of the exploration, to count all pairs of parents, where that does
SET_SECONDS, RECORD_SECONDS = 2e-6, 2e-9  # to count a pair: for each, and for each record
FEW_PARENTS = 2  # which can be counted of many variables
FLOORS = 0.05  # of the time, for what a family of each child costs at least, where that does
FLOOR_SECONDS = 50e-9  # for each record and variable, at most
SHARED, SHARED_SECONDS = 0.05, 1.0  # of the time, and at most, for multipliers where not all families are known
LISTED, LISTED_IN_ALL = 200, 20_000  # families of a child to begin with: so many, more if there are fewer in all
SETS_A_SECOND = 50_000  # parent sets of numbers that a thread explores, or more
FAMILY_BYTES = 256  # that a family takes as it is found, in the lists, and while these are made


ApproximateRun = Opened[ApproximateCommits]


@dataclass(eq=False)
class Gathered:
    """lists: what is to be searched; they grow if others could win, or are none, and parents are chosen from numbers.
    scores: the same families, if no others could. children: of lists that grow, what was told of each child at last."""

    lists: ParentLists | GrowingLists | Fitting
    scores: LocalScores | None
    children: Sequence[Explored] = ()

    @property
    def families(self) -> int | None:
        """How many families are in the lists, if there are lists."""
        if isinstance(self.lists, Fitting):
            return None
        return (self.lists.lists if isinstance(self.lists, GrowingLists) else self.lists).costs.size

    def grown(self) -> list[Explored]:
        """What is known now of the children whose families have grown since this was asked for."""
        if not isinstance(self.lists, GrowingLists):
            return []
        before, families = self.children, self.lists.families
        self.children = [
            own if own.families is families[own.child] else replace(own, families=families[own.child]) for own in before
        ]
        return [own for own, old in zip(self.children, before, strict=True) if own is not old]


def gathered_families(problem: Data | LocalScores, run: ApproximateRun) -> Gathered:
    """The families to be searched; the standing gets what every network costs at least, and for how many of the
    children there are no others that could win."""
    if isinstance(problem, Data):
        return _of_data(problem, run)
    run.commits.standing.searching = True
    _note([float(costs[0]) for costs in problem.costs], problem.variables, run)
    return Gathered(lists_of_varsets(problem.parents, problem.costs), problem)


def _by_counting(dataset: Data, run: ApproximateRun) -> Gathered:
    """What counting finds in its share of the time. No exploration knows of families that are costed over records of
    their own, so lists do not grow."""
    known = run.commits.standing.children
    if known.floors is None:
        children, least = _counted(dataset, run)
    else:
        children, least = [known.known[child] for child in range(dataset.variables)], known.floors
    whole = sum(own.ended == ALL for own in children)
    _note(least, whole, run)
    run.commits.know(known={})  # the lists have it, and the files
    families = [own.families for own in children]
    scores = as_local_scores(dataset.names, families, run.asked.claim) if whole == dataset.variables else None
    return Gathered(lists_of_families(families), scores)


def _of_data(dataset: Data, run: ApproximateRun) -> Gathered:
    source = source_of(dataset, run.asked.claim)
    if isinstance(source, ChildSource):
        return _size_by_size(source, run)
    n = dataset.variables
    if not dataset.alike:
        return _by_counting(dataset, run)
    selection = INDEPENDENCE if run.asked.methods.selection == AUTO else run.asked.methods.selection
    setting = exploration(dataset, selection, run.asked.claim, FIRST)
    problem = _fitting(setting, run)
    joint = _joint(dataset, setting, run)
    children, least = _known(dataset, setting, problem, run)
    whole = sum(own.ended == ALL for own in children)
    _note(least, whole, run)
    if whole < n and setting.exact is None:
        _share(children, least, joint, setting, run)
    run.commits.know(known={})  # the lists have it, and the files
    if problem is not None and whole < n:
        run.commits.standing.searching = True
        return Gathered(problem, None)
    if whole < n:  # they will grow
        children = [replace(own, families=cheapest(own.families, _listed(n))) for own in children]
    families = [own.families for own in children]
    if whole < n:
        most = _room(dataset, setting, run.granted) // FAMILY_BYTES
        return Gathered(GrowingLists(setting, families, most), None, children)
    as_bitmasks = sum(own.families for own in families) * 8 * (2 + n // WORD_BITS)
    little = as_bitmasks <= run.granted.memory // 8
    scores = as_local_scores(dataset.names, families, run.asked.claim) if little else None
    return Gathered(lists_of_families(families), scores)


def _size_by_size(source: ChildSource, run: ApproximateRun) -> Gathered:
    """The families of a source whose children share nothing: all of up to so many parents that can win, more and more
    until the exploration's share of the time is over; of the last size, those of the children that were done then."""
    data, claim, standing = source.data, run.asked.claim, run.commits.standing
    limits, needed = source.constraints.limits, source.constraints.required.sum(axis=0)
    found, whole = None, False
    with run.context.stages.stage("scores", size_of(data), standing.times.searched) as summary:
        for most in range(1, max(2, int(limits.max()) + 1)):
            fewer = replace(source.constraints, limits=np.minimum(limits, np.maximum(needed, most)))
            with run.workers(standing.times.latest) as workers:
                means = Means(workers, run.context.shelf, ignore)
                now = surviving_families(data, claim, means, constraints=fewer)
            found = now if found is None or now.stopped is None else _both(found, now)
            whole = now.stopped is None and bool((fewer.limits == limits).all())
            if now.stopped is not None or whole:
                break
        assert found is not None, "there is one at least"
        summary.append(f"{in_full(found.scores.families, 'parent set')} kept")
        with run.workers(standing.times.latest) as workers:
            _note(found.least.tolist() if whole else source.least_costs(workers), data.variables if whole else 0, run)
    standing.searching = True
    lists = lists_of_varsets(found.scores.parents, found.scores.costs)
    return Gathered(lists, found.scores if whole else None)


def _both(fewer: Survivors, more: Survivors) -> Survivors:
    """The families of more parents, of the children of which all were judged, and of fewer of the others."""
    done = np.isinf(more.unjudged).tolist()
    parents, costs = (
        tuple(own if is_done else old for own, old, is_done in zip(*each, done, strict=True))
        for each in ((more.scores.parents, fewer.scores.parents), (more.scores.costs, fewer.scores.costs))
    )
    return replace(fewer, scores=replace(fewer.scores, parents=parents, costs=costs))


def _fitting(setting: Exploration, run: ApproximateRun) -> Fitting | None:
    """What a search of numbers chooses parents from, unless others than the usual ways are asked for, or there are so
    few parent sets that all are explored; BudgetError if the memory does not do."""
    methods, granted, times = run.asked.methods, run.granted, run.commits.standing.times
    if setting.exact is None or methods.selection != AUTO or methods.search != DEFAULT or _few(setting, times.whole):
        return None
    if setting.charges.nats.size:  # of parents that cost the same alone
        return None
    problem = fitting(setting.exact, setting.constraints, setting.price, setting.charges.each)
    data = 2 * setting.data.nbytes
    if granted.memory < data + granted.threads * problem.bytes:
        needed = data + granted.threads * problem.bytes
        raise BudgetError(too_little_memory("Searching orders", needed, granted.memory, granted.threads))
    return problem


def _few(setting: Exploration, seconds: float) -> bool:
    """Whether so few parent sets are possible that all can be explored in its share of so many seconds."""
    most, possible = SETS_A_SECOND * EXPLORED * seconds, 0
    for child in range(setting.data.variables):
        candidates = int(setting.constraints.candidates(child).size)
        for size in range(min(setting.most(child), MOST_PARENTS) + 1):
            possible += math.comb(candidates, size)
            if possible > most:
                return False
    return all(setting.most(child) <= MOST_PARENTS for child in range(setting.data.variables))


def _note(least: Iterable[float], whole: int, run: ApproximateRun) -> None:
    """Let the standing know what families cost at least, and of how many children all are known."""
    standing = run.commits.standing
    standing.lower_bound = max(standing.lower_bound, math.fsum(least))
    standing.counted["explored_whole"] = whole


def _joint(dataset: Data, setting: Exploration, run: ApproximateRun) -> float:
    """What the misfits of all families of a network add up to at least, in nats, if there is time for that; the
    standing gets what every network costs at least by that alone."""
    if setting.exact is not None or not isinstance(dataset, Dataset) or run.stop() is not None:
        return 0.0
    joint, standing = 0.0, run.commits.standing
    if FLOOR_SECONDS * dataset.records * dataset.variables <= FLOORS * Deadline(standing.times.end).remaining():
        with run.workers(standing.times.latest) as workers, contextlib.suppress(Stopped):
            joint = workers.run(joint_misfit, dataset)
    prices = map(setting.of_no_parents, range(dataset.variables))
    standing.lower_bound = max(standing.lower_bound, math.fsum([joint, *prices, *-setting.saved]))
    return joint


def _share(
    children: Sequence[Explored], least: Sequence[float], joint: float, setting: Exploration, run: ApproximateRun
) -> None:
    """Let the standing know what every network costs at least, where not all families are known."""
    standing, granted = run.commits.standing, run.granted
    floors = standing.children.floors or _poor_floors(setting)
    choices = [choices_of(own, floor, cost, setting) for own, floor, cost in zip(children, floors, least, strict=True)]
    seconds = min(SHARED_SECONDS, SHARED * Deadline(standing.times.searched).remaining())
    seconds = seconds if run.stop() is None else 0.0
    with run.context.stages.stage("bounds", "") as summary:
        bound = shared_bound(choices, joint, granted.memory // 8, run.asked.methods.seed, seconds)
        standing.lower_bound = max(standing.lower_bound, bound)
        summary.append(f"best bound {format_cost(standing.lower_bound)}")


def _known(
    dataset: Data, setting: Exploration, problem: Fitting | None, run: ApproximateRun
) -> tuple[Sequence[Explored], Sequence[float]]:
    """What counting or an exploration finds in its share of the time, or has found: what is known of all children, and
    what a family of each costs at least, in nats. problem: see `_fitting`; then nothing is explored."""
    begun, floors = run.commits.standing.enumeration is not None, run.commits.standing.children.floors
    if floors is None and (begun or _has_time_to_count(dataset, run)):
        return _counted(dataset, run)
    explored: Sequence[Explored]
    before = run.commits.standing.children.known
    if problem is not None and len(before) < dataset.variables:
        explored = ()
        run.commits.know(floors=floors or tuple(_poor_floors(setting)))
    elif run.commits.standing.searching:  # what was known of all children when the exploration ended
        explored = [before.get(x) or without_parents(x, setting) for x in range(dataset.variables)]
    else:
        explored = _explored(dataset, setting, run)
    known: Sequence[float] = run.commits.standing.children.floors or _poor_floors(setting)
    if not explored:
        return explored, known
    return explored, [max(least, _proved(own, setting)) for least, own in zip(known, explored, strict=True)]


def _counted(dataset: Data, run: ApproximateRun) -> tuple[Sequence[Explored], Sequence[float]]:
    """What counting finds in its share of the time; the standing gets it, if the caller has not said stop. A child of
    which not all was counted is STOPPED, and has the cheapest families."""
    times, stages, commits = run.commits.standing.times, run.context.stages, run.commits
    with stages.stage("scores", size_of(dataset), times.searched) as summary:
        time = CountingTime(times.latest, stages.observer)
        with run.workers(times.latest, time.over) as workers:
            means, begun = Means(workers, run.context.shelf, time.observe), commits.standing.enumeration
            found = surviving_families(dataset, run.asked.claim, means, begun, commits.follow)
        kept = in_full(found.scores.families, "parent set")
        whole = "all" if found.stopped is None else "not all"
        summary.append(f"{kept} kept, of {found.varsets:,} sets of variables counted, {whole} that there are")
    ended, most = (ALL, None) if found.stopped is None else (STOPPED, _listed(found.scores.variables))
    lists = [
        list_of_varsets(varsets, costs, most)
        for varsets, costs in zip(found.scores.parents, found.scores.costs, strict=True)
    ]
    children = [
        Explored(x, own, own.families, ended, Left(math.inf, _least_other(x, found, own.families)))
        for x, own in enumerate(lists)
    ]
    least = found.least.tolist()
    if run.stop() is None:
        commits.know(*children, floors=tuple(least))
        commits.standing.enumeration = commits.standing.counting = None
        commits.standing.searching = True
        commits.commit_or_stop()
    return children, least


def _least_other(child: int, found: Survivors, listed: int) -> float:
    """What a family of the child that is not among so many that are listed costs at least, in nats."""
    costs = found.scores.costs[child]
    return min(float(found.unjudged[child]), float(costs[listed - 1]) if listed < costs.size else math.inf)


def _listed(n: int) -> int:
    """How many families of a child lists begin with, if they grow."""
    return max(LISTED, LISTED_IN_ALL // n)


def _explored(dataset: Data, setting: Exploration, run: ApproximateRun) -> Sequence[Explored]:
    """What is known of all children after an exploration in its share of the time."""

    def keep(own: Explored) -> None:
        run.commits.know(own)
        run.commits.commit_if_due()

    with run.workers(run.commits.standing.times.latest) as workers:
        if run.commits.standing.children.floors is None:
            floors = tuple(_floors(dataset, setting, run, workers))
            if run.stop() is None:  # which may have kept them from being good
                run.commits.know(floors=floors)
        times, n = run.commits.standing.times, dataset.variables
        room, known = _room(dataset, setting, run.granted), run.commits.standing.children.known
        most = room // FAMILY_BYTES // n
        effort = Effort(families=min(most, _listed(n)), whole=most, until=Deadline(times.explored))
        detail = f"exploring those of {in_full(n, 'variable')}"
        with run.context.stages.stage("parents", detail, times.searched) as summary:
            explored = explored_families(setting, effort, workers, room, known, run.context.observer, keep)
            scored, kept = sum(own.scored for own in explored), sum(own.families.families for own in explored)
            whole = f"{sum(own.ended == ALL for own in explored):,} of {in_full(n, 'variable')}"
            summary.append(
                f"{in_full(scored, 'set')} of two or more scored, {kept:,} of any size kept; all for {whole}"
            )
    if run.stop() is None:  # what is known of children that were cut short is all that will be known
        known = run.commits.standing.children.known
        run.commits.know(*(own for own in explored if own.child not in known and own.families.families > 1))
        run.commits.standing.searching = True
        run.commits.commit_or_stop()
    return explored


def _room(dataset: Data, setting: Exploration, granted: Granted) -> int:
    """Bytes for what the threads work on, and as many for the families; BudgetError if they do not do."""
    n, threads = dataset.variables, granted.threads
    data = dataset.records * dataset.record_bytes + setting.data.nbytes
    needed = max(n * FAMILY_BYTES, threads * max(thread_bytes(setting.data), n * n // 8))
    room = (granted.memory - data) // 2
    if room < needed:
        raise BudgetError(too_little_memory("Exploring parent sets", data + 2 * needed, granted.memory, threads))
    return room


def _proved(own: Explored, setting: Exploration) -> float:
    """What a family of the child costs at least, in nats, as its exploration proves; if it did not end, nothing.

    Larger sets than any that are explored cost at least their penalty: of constants, which have one state, nothing is
    gained.
    """
    if own.ended != ALL:
        return -math.inf
    if setting.data.form.kind != MISFIT or setting.exact is not None:
        return float(own.families.costs[0]) if setting.most(own.child) <= MOST_PARENTS else -math.inf
    beyond = penalty_of(setting.parameter, int(setting.data.arities[own.child]), 2.0 ** (MOST_PARENTS + 1))
    return min(float(own.families.costs[0]), beyond - float(setting.saved[own.child]))


def _floors(dataset: Data, setting: Exploration, run: ApproximateRun, workers: Workers) -> Sequence[float]:
    """What a family of each child costs at least, as good as a small share of the time affords."""
    estimated = FLOOR_SECONDS * dataset.records * dataset.variables / workers.threads
    if setting.exact is None and estimated <= FLOORS * Deadline(run.commits.standing.times.end).remaining():
        return source_of(dataset, run.asked.claim).least_costs(workers)
    return _poor_floors(setting)


def _poor_floors(setting: Exploration) -> Sequence[float]:
    """The same where there is no time: of states, zero; of numbers it is known already."""
    exact, saved = setting.exact, setting.saved
    return [-less for less in saved.tolist()] if exact is None else (exact.least_costs(setting.price) - saved).tolist()


def _has_time_to_count(dataset: Data, run: ApproximateRun) -> bool:
    """Whether counting is worth being tried: of few variables, or where few parents are allowed."""
    most = run.asked.claim.max_parents
    few = dataset.variables <= WORD_BITS or (most is not None and most <= FEW_PARENTS)
    needed = dataset.variables**3 / 2 * (SET_SECONDS + RECORD_SECONDS * dataset.records)
    left = max(0.0, run.commits.standing.times.explored - clock()) * run.granted.threads
    return run.asked.methods.selection == AUTO and few and needed <= PAIRS * left
