"""The exploration of all children: a budget for each, in parallel; what is known so far when it is stopped."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.claims import Claim
from extbnsl.core.compiling import clock
from extbnsl.core.data_options import NUMBERS, STATES
from extbnsl.core.events import Observer, StageAdvanced, ignore
from extbnsl.data import Data, Dataset, Numbers
from extbnsl.machine.budgets import Deadline
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.parents.charged import most_saved
from extbnsl.parents.constraints import Constraints, constraints_of
from extbnsl.parents.exhaustive.measured import Standardised, all_standardised, check_regular, standardised
from extbnsl.parents.explored.candidates import Candidates, configurations_of, find_candidates, misfit_of
from extbnsl.parents.explored.closed import Closed, closed_bytes, new_closed, undominated
from extbnsl.parents.explored.families import NONE, FamilyList, family_list, packed
from extbnsl.parents.explored.misfit import (
    Columns,
    Splits,
    bit_columns,
    correlated_columns,
    new_splits,
    splits_bytes,
)
from extbnsl.parents.explored.selection import (
    GREEDY,
    INDEPENDENCE,
    SEQUENTIAL,
    Rule,
    Streams,
    begin,
    explore,
    new_streams,
    select,
)
from extbnsl.scores.charges import Charges, charges_of
from extbnsl.scores.gaussian import OWN_PARAMETERS
from extbnsl.scores.known import check_data, parameter_price, score_of
from extbnsl.scores.score import ParameterScore, penalty_of

SELECTIONS = {"independence": INDEPENDENCE, "greedy": GREEDY, "sequential": SEQUENTIAL}
MOST_PARENTS = 16  # larger sets are not explored: each has 65,536 configurations or more
SMALL = 3  # parents of the sets that can go before others
MOST_SETS = 1 << 30  # whose numbers are int32
STREAM_BYTES = 16
SLICE_SECONDS = 0.05  # between two looks at the clock, at most
SLICES = 16  # in the time of a child, at least
FASTEST = 4_000_000  # parent sets that a thread could score in a second: no room for more need be made
FIRST_SLICE, LONGEST_SLICE = 16, 1 << 16  # parent sets
AHEAD = 4  # children for each thread that wait or are done

ALL, SETS, SECONDS, MEMORY, STOPPED = "all", "sets", "seconds", "memory", "stopped"


@dataclass(frozen=True)
class Effort:
    """How long each child is explored. sets: parent sets of two or more that are scored; seconds of one thread; None:
    no limit. families: how many are kept, the cheapest; whole: the same of a child of which no others could win. until:
    the children that are left share what is left until then. A time limit makes the result depend on the machine."""

    sets: int | None = None
    seconds: float | None = None
    families: int | None = None
    whole: int | None = None
    until: Deadline | None = None


@dataclass(frozen=True)
class Exploration:
    """What is explored: the records, by one of the SELECTIONS, with parent sets that the constraints allow; parameter:
    what a free parameter costs in nats, of continuous variables what no parents cost; first: the share of a child's
    effort in which sets of up to SMALL come by size; given: the variables that are given, which cost nothing. exact: of
    continuous variables what families cost again by a factor of the data, as rounding of determinants grows with how
    well variables determine each other. charges: what arcs cost besides, of which an exploration looks at what each
    does, of continuous variables alone; saved (n,): what those of a family save at most
    (`parents.charged.most_saved`)."""

    data: Columns
    selection: str
    parameter: float
    constraints: Constraints
    first: float
    given: range
    exact: Standardised | None
    charges: Charges
    saved: NDArray[np.float64]

    @property
    def price(self) -> float:
        """What a parameter of continuous variables costs, in nats."""
        return self.parameter / OWN_PARAMETERS

    def costed(self, child: int, members: NDArray[np.int32], costs: NDArray[np.float64]) -> NDArray[np.float64]:
        """What families of a child cost, (m,), with parents `members` (m, d), NONE beyond, that cost so much here;
        infinity where they are not allowed."""
        if child in self.given:
            return np.zeros(len(members))
        if self.exact is None and not self.charges:
            return costs
        varsets = packed(members, self.data.variables)
        own = costs if self.exact is None else self.exact.costs(child, varsets, self.price)
        return own + self.charges.costs(child, varsets) if self.charges else own

    def of_no_parents(self, child: int) -> float:
        """The penalty of a child without parents, in nats."""
        return 0.0 if child in self.given else penalty_of(self.parameter, int(self.data.arities[child]), 1.0)

    def most(self, child: int) -> int:
        """The most parents that a child may have beside those that it must have."""
        own = self.constraints.limits[child] - len(self.constraints.parents_required(child))
        return int(min(own, self.constraints.candidates(child).size))


class Left(NamedTuple):
    """What can be said of the families of a child that are not in its list, in nats; infinity where there are none.

    penalty: the least one of a parent set that was not scored, and that none that was scored makes needless. cost: what
    the others cost at least, which were scored, and are too many.
    """

    penalty: float
    cost: float


UNTOLD = Left(0.0, -math.inf)


@dataclass(frozen=True)
class Explored:
    """What is known of a child: its undominated families; `scored`: the parent sets that were scored exactly; ended:
    why no more were: ALL there are, or the budget of SETS, SECONDS or MEMORY, or it was STOPPED; left: of all other
    families that can win."""

    child: int
    families: FamilyList
    scored: int
    ended: str
    left: Left = UNTOLD


class Exploring(NamedTuple):
    """The records, and what the kernels know of a child and work on."""

    data: Columns
    candidates: Candidates
    closed: Closed
    streams: Streams
    splits: Splits


def exploration(
    dataset: Data, selection: str = "independence", claim: Claim = Claim(), first: float = 0.0
) -> Exploration:
    """The exploration of data; InputError for what cannot be scored as the claim says.

    The paper's selections have `first` 0. A search over orders is better off with small sets of all kinds: it needs
    families for a child whose best parents come after it.
    """
    check_data(dataset, claim)
    constraints = constraints_of(claim, dataset.names)
    columns, parameter, exact = _COLUMNS[dataset.kind](dataset, claim, constraints)
    charges, saved = charges_of(claim, dataset.names), most_saved(claim, dataset.names)
    return Exploration(columns, selection, parameter, constraints, first, dataset.given, exact, charges, saved)


Explorable = tuple[Columns, float, Standardised | None]  # as an Exploration has them


def _columns_of_states(dataset: Dataset, claim: Claim, constraints: Constraints) -> Explorable:
    score = score_of(claim)
    parameter = score.parameter(dataset.total) if isinstance(score, ParameterScore) else 0.0
    most = min(MOST_PARENTS + int(constraints.required.sum(axis=0).max()), int(constraints.limits.max()))
    return bit_columns(dataset, score, most), parameter, None


def _columns_of_numbers(numbers: Numbers, claim: Claim, constraints: Constraints) -> Explorable:
    check_regular(all_standardised(numbers), constraints)
    columns = standardised(numbers)
    return correlated_columns(columns), OWN_PARAMETERS * parameter_price(claim, numbers.total), columns


_COLUMNS: dict[str, Callable[[Any, Claim, Constraints], Explorable]] = {
    STATES: _columns_of_states,
    NUMBERS: _columns_of_numbers,
}


def explored_families(
    problem: Exploration,
    effort: Effort,
    workers: Workers,
    memory: int,
    known: Mapping[int, Explored] | None = None,
    observer: Observer = ignore,
    on_child: Callable[[Explored], None] = lambda explored: None,
) -> tuple[Explored, ...]:
    """What is known of every child, in their order, after an exploration of so much effort for each.

    Children that are `known` are not explored again, unless they were STOPPED. memory: bytes that the work on all
    threads may take at a time, `thread_bytes` of each at least, beside the columns and the results. on_child gets each
    result when it is there, in the order of the children, and may raise Stopped. After that, or the workers' stop
    signal, the result is what is known: the children that had not begun have the empty set. For an effort without
    seconds, what is found depends neither on the threads nor, where there is enough, on the memory.
    """
    n = problem.data.variables
    found = {child: own for child, own in (known or {}).items() if own.ended != STOPPED}
    share = memory // workers.together

    def keep(own: Explored) -> None:
        found[own.child] = own

    left = [child for child in range(n) if child not in found]
    turns = (max(1.0, (len(left) - k) / workers.slots) for k in range(len(left)))
    tasks = ((child, problem, effort, share, workers.halt, turn) for child, turn in zip(left, turns, strict=True))
    try:
        for own in workers.spread(explore_in_turn, tasks, AHEAD * workers.threads, keep):
            keep(own)
            observer(StageAdvanced("parents", len(found), n, "variables"))
            if own.ended != STOPPED:
                on_child(own)
    except Stopped:
        pass
    return tuple(found[child] if child in found else without_parents(child, problem) for child in range(n))


def without_parents(child: int, problem: Exploration) -> Explored:
    """The child with no parents but those that it must have, STOPPED."""
    data, base = problem.data, problem.constraints.parents_required(child)
    penalty = penalty_of(problem.parameter, int(data.arities[child]), configurations_of(base, data))
    cost = misfit_of(child, base, data) + penalty
    members = np.array([base], np.int32).reshape(1, -1)
    return Explored(child, family_list(members, problem.costed(child, members, np.array([cost]))), 0, STOPPED)


def explore_in_turn(
    child: int, problem: Exploration, effort: Effort, memory: int, halt: NDArray[np.uint8], turns: float
) -> Explored:
    """`explore_child`, when a thread has so many turns left with this one, and this one its part of what is left of the
    time: what some children take beyond theirs, or do not take, is shared by those that follow."""
    if effort.until is not None:
        effort = replace(effort, seconds=effort.until.remaining() / turns)
    return explore_child(child, problem, effort, memory, halt)


def explore_child(child: int, problem: Exploration, effort: Effort, memory: int, halt: NDArray[np.uint8]) -> Explored:
    """What is known of a child after so much effort, within so many bytes; `halt` cuts it short."""
    if problem.most(child) == 0:
        return replace(without_parents(child, problem), ended=ALL, left=Left(math.inf, math.inf))
    deadline = math.inf if effort.seconds is None else clock() + effort.seconds
    candidates = candidates_of(child, problem, halt)
    rule = _rule(child, problem, candidates)
    widest = rule.parents + candidates.base.size
    room = memory - splits_bytes(widest, problem.data)
    most = min(room // _set_bytes(rule.parents, rule.first.size - 1), MOST_SETS)
    if effort.sets is not None:
        most = min(most, 1 + candidates.variables.size + effort.sets)
    if effort.seconds is not None:  # a table of all that memory has room for would take longer than a short exploration
        most = min(most, 1 + candidates.variables.size + max(FIRST_SLICE, int(FASTEST * effort.seconds)))
    closed, streams = new_closed(most, rule.parents), new_streams(most * (rule.first.size - 1))
    begin(candidates, closed, streams, rule)
    alone = int(closed.used[0])
    exploring = Exploring(problem.data, candidates, closed, streams, new_splits(child, widest, problem.data))
    ended = _explore_in_parts(problem.first, deadline, halt, exploring, rule)
    scored = int(closed.used[0]) - alone
    if ended == SETS and scored != effort.sets:
        ended = MEMORY
    members, costs = _undominated(closed, candidates, halt)
    costs = problem.costed(child, members, costs)
    ended = STOPPED if halt[0] else ended
    kept = effort.whole if ended == ALL else effort.families
    dropped = _least_dropped(costs, kept)
    ended = MEMORY if ended == ALL and dropped < math.inf else ended
    if problem.saved[child] > 0.0:  # by their arcs others may win that a subset replaces, however far this came
        ended = SETS if ended == ALL else ended
        left = UNTOLD
    else:
        left = UNTOLD if ended == STOPPED else Left(_least_open(child, problem, exploring), dropped)
    return Explored(child, family_list(members, costs, kept), scored, ended, left)


def _least_open(child: int, problem: Exploration, exploring: Exploring) -> float:
    """The least penalty of a set that a stream stands for, or that one of these would generate: it has more members,
    and of the sets of a stream the next one has the fewest configurations. Or of a set that is too large to be
    explored: nothing is gained by constants, which have one state."""
    candidates, closed, streams = exploring.candidates, exploring.closed, exploring.streams
    numbers, places = streams.numbers[: streams.used[0]], streams.places[: streams.used[0]]
    configurations = closed.configurations[numbers] * candidates.arities[places] + candidates.step
    least = float(configurations.min(initial=2.0 ** (MOST_PARENTS + 1)))
    all_open = bool(numbers.size) or problem.most(child) > MOST_PARENTS
    return candidates.price * least if all_open else math.inf


def _least_dropped(costs: NDArray[np.float64], most: int | None) -> float:
    """What a family costs at least that `family_list` leaves out of those that cost so much, to keep `most`."""
    costs = costs[np.isfinite(costs)]
    if most is None or costs.size <= most:
        return math.inf
    return float(np.partition(costs, most - 1)[most - 1])


def candidates_of(child: int, problem: Exploration, halt: NDArray[np.uint8]) -> Candidates:
    """The candidates of a child; see `find_candidates`."""
    more = problem.charges.least / problem.price if problem.exact is not None else 0.0
    return find_candidates(child, problem.data, problem.parameter, halt, problem.constraints, more)


def _rule(child: int, problem: Exploration, candidates: Candidates) -> Rule:
    """What the kernels need to know of the exploration of a child."""
    selection = SELECTIONS[problem.selection]
    first = candidates.classes if selection == INDEPENDENCE else np.unique([0, candidates.variables.size])
    ends = np.repeat(first[1:], np.diff(first)).astype(np.int32)
    parents = most_parents(child, problem, candidates)
    return Rule(selection, SMALL if problem.first else 1, parents, child, ends, first)


def most_parents(child: int, problem: Exploration, candidates: Candidates) -> int:
    """The largest size of a parent set of the child, beside those that must be in it; at least 1.

    A set of d parents has as many configurations as the d smallest arities make, or more; if the penalty alone is
    then as much as the empty set costs, it is dominated.
    """
    arities, own = candidates.arities[: min(MOST_PARENTS, problem.most(child))], candidates.price
    penalties = own * (np.cumprod(arities) + candidates.step * np.arange(1, arities.size + 1))
    return max(1, int((penalties < candidates.alone + own).sum()))


def _explore_in_parts(first: float, deadline: float, halt: NDArray[np.uint8], exploring: Exploring, rule: Rule) -> str:
    """Explore small sets by size for the first share of what is left of time and room, then by the rule; returns why it
    ended."""
    closed = exploring.closed
    if first:
        now, used, most = clock(), int(closed.used[0]), closed.costs.size
        until = deadline if math.isinf(deadline) else now + first * (deadline - now)
        ended = _explore(used + int(first * (most - used)), until, halt, exploring, rule)
        if ended in (ALL, STOPPED):
            return ended
        rule = rule._replace(whole=1)
        select(exploring.candidates, closed, exploring.streams, rule)
    return _explore(closed.costs.size, deadline, halt, exploring, rule)


def _explore(most: int, deadline: float, halt: NDArray[np.uint8], exploring: Exploring, rule: Rule) -> str:
    """Explore slice by slice until so many sets are closed; returns why it ended: SETS if it is that."""
    data, candidates, closed, streams, splits = exploring
    pace = min(SLICE_SECONDS, (deadline - clock()) / SLICES)
    sets = FIRST_SLICE
    while streams.used[0]:
        if halt[0]:
            return STOPPED
        if closed.used[0] >= most:
            return SETS
        before = clock()
        if before >= deadline:
            return SECONDS
        explore(int(min(sets, most - closed.used[0])), candidates, closed, streams, rule, data, splits, halt)
        sets = min(LONGEST_SLICE, 2 * sets) if clock() - before < pace else max(1, sets // 2)
    return STOPPED if halt[0] else ALL


def _undominated(
    closed: Closed, candidates: Candidates, halt: NDArray[np.uint8]
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """The closed sets that no closed subset replaces, NONE beyond, and their costs."""
    numbers = undominated(closed, halt)
    width = int(closed.sizes[numbers].max())
    present = np.arange(width) < closed.sizes[numbers, None]
    members = np.full(present.shape, NONE, np.int32)
    members[present] = candidates.variables[closed.members[numbers, :width][present]]
    return with_base(members, candidates.base), closed.costs[numbers]


def with_base(members: NDArray[np.int32], base: NDArray[np.int32]) -> NDArray[np.int32]:
    """Parent sets (m, d), NONE beyond, with those that must be in each: (m, d + b)."""
    return np.hstack((members, np.tile(base, (members.shape[0], 1)))) if base.size else members


def _set_bytes(parents: int, streams: int) -> int:
    """Memory that a closed set takes with its streams and its place in the result, at most."""
    return 2 * closed_bytes(parents) + STREAM_BYTES * max(1, streams)


def thread_bytes(data: Columns) -> int:
    """Memory that a thread takes at least, for single parents, whatever the child."""
    streams = np.unique(data.arities).size
    return (data.variables + 2) * _set_bytes(MOST_PARENTS, streams) + splits_bytes(MOST_PARENTS, data)
