"""Which step the bounds of a piece take next, and why: rules over what was seen of it, tried from the first on.

How much is done follows the search that is expected: as long as another step costs a small share of that, there is
one. Where no search is possible, bounds at the root are all that there is, and linear programs go on with those.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

from extbnsl.bounds.lp.polish import ITERATION_NS, ROUND_NS
from extbnsl.proof.guide import ASCEND, BRANCH, MOST_ITERATIONS, POLISH, PROBE, Turn

LOOK_NS = 2e7  # what it costs to see what a round has brought, by another trial
FEWEST_ROUNDS, STALE = 8, 0.99  # so many rounds that leave such a share of the gap are not followed by twice as many
PROBE_ITERATIONS = 60  # about how many a probe takes
FAMILY_NS = 3e3  # that a linear program takes for each family before its first iteration
FEWEST_ITERATIONS = 100  # that pay before there is a linear program: a search of some tenths of a second
FIRST_BRANCHING = 6_000  # iterations of the first turn of branching where a search is possible
BRANCHING_SHARE, MORE_SHARE = 0.5, 1.0  # of the search that branching may cost, and as long as it gains
BRANCHING_STALE = 0.9  # of the gap, that a turn of it must not leave if it is to gain


@dataclass(frozen=True)
class Seen:
    """What was seen of a piece at the end of a turn.

    turn: this one, with what the one before left.
    gap: what it leaves, in nats.
    search_ns: how long the search will take, in nanoseconds of one thread; infinity if none is possible.
    worth: how long it may take to make it smaller.
    branched: simplex iterations of branching so far.
    families: how many are left.
    round_ns: what another round of improving takes.
    choices: counts those that can be probed.
    optimal: whether no multipliers are better at the root; spread_out: or for the search.
    thorough: whether what is dear may be done, if it saves more.
    programs: whether there may be linear programs.
    droppable: whether probing may drop families, and did so the last time.
    """

    turn: Turn
    gap: float
    search_ns: float
    worth: float
    branched: int
    families: int
    round_ns: float
    choices: Callable[[], int]
    optimal: bool
    spread_out: bool
    thorough: bool
    programs: bool
    droppable: bool

    @property
    def polishing(self) -> bool:
        """Whether there are linear programs already."""
        return self.turn.effort > 0

    @property
    def at_root(self) -> bool:
        """Whether linear programs for the root are all that there is."""
        return self.polishing and math.isinf(self.search_ns)

    @property
    def stale(self) -> bool:
        """Whether the turn has left nearly all of the gap."""
        return (self.at_root or self.turn.rounds >= FEWEST_ROUNDS) and self.gap > STALE * self.turn.gap

    @property
    def effort(self) -> int:
        """How many simplex iterations a linear program may take."""
        return int(max(0.0, min(MOST_ITERATIONS, (self.worth - FAMILY_NS * self.families) / ITERATION_NS)))

    @property
    def more_rounds(self) -> int:
        """Twice as many as this turn had."""
        return max(1, 2 * self.turn.rounds)

    @property
    def more_branching(self) -> int:
        """Simplex iterations of branching when there was twice as much of it."""
        return MOST_ITERATIONS if self.at_root else max(FIRST_BRANCHING, 2 * self.branched)


def programs_begin(seen: Seen) -> bool:
    return not seen.polishing and seen.programs and seen.effort >= FEWEST_ITERATIONS


def root_gains(seen: Seen) -> bool:
    return seen.at_root and not seen.stale and not seen.optimal


def rounds_pay(seen: Seen) -> bool:
    done = seen.stale or (seen.polishing and seen.optimal and seen.spread_out)
    turn_ns = seen.round_ns + (ROUND_NS if seen.polishing else 0.0)
    return not done and LOOK_NS + seen.more_rounds * turn_ns <= seen.worth


def probing_pays(seen: Seen) -> bool:
    if not (seen.polishing and seen.thorough and seen.droppable):
        return False
    return PROBE_ITERATIONS * ITERATION_NS * seen.choices() <= seen.worth


def nothing_else(seen: Seen) -> bool:
    return seen.at_root and seen.thorough


def branching_pays(seen: Seen) -> bool:
    """A tree may be done long before a search; how far it has come is all that tells, and at first not even that."""
    gains = seen.turn.step == BRANCH and seen.gap <= BRANCHING_STALE * seen.turn.gap
    share = MORE_SHARE if gains else BRANCHING_SHARE
    affordable = ITERATION_NS * seen.more_branching <= share * seen.search_ns
    return seen.polishing and seen.thorough and seen.programs and affordable


class Rule(NamedTuple):
    """A step that comes next if the rule holds and none before it does: None is the search, or whatever follows."""

    holds: Callable[[Seen], bool]
    step: str | None
    why: str


RULES = (
    Rule(programs_begin, POLISH, "the search would be so long that a linear program pays"),
    Rule(root_gains, POLISH, "no search is possible, and the program for the root still closes the gap"),
    Rule(rounds_pay, ASCEND, "twice as many rounds cost a small share of the search, and those before closed the gap"),
    Rule(probing_pays, PROBE, "dropping families one by one costs less than they cost a search"),
    Rule(nothing_else, BRANCH, "no search is possible, and the bound at the root is as good as it gets"),
    Rule(
        branching_pays,
        BRANCH,
        "twice as much branching costs half of the search at most, or no more than it, if it gains",
    ),
    Rule(lambda seen: True, None, "nothing more pays"),
)


def next_turn(seen: Seen) -> Turn | None:
    """What comes next by the first rule that holds, with what it may take; None is the search."""
    step = next(rule.step for rule in RULES if rule.holds(seen))
    if step is None:
        return None
    turn = replace(seen.turn, step=step, gap=seen.gap, spent=0)
    if step == ASCEND:
        return replace(turn, rounds=seen.more_rounds, effort=max(1, seen.effort) if seen.polishing else 0)
    return replace(turn, effort=seen.more_branching if step == BRANCH else seen.effort)
