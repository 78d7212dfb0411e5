"""Which step the bounds of a piece take next, and why: rules over what was seen of it, tried from the first on.

How much is done follows the search that is expected: as long as another step costs a small share of that, there is
one. Where no search is possible, bounds at the root are all that there is, and linear programs go on with those.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

from extbnsl.bounds.lp.polish import ITERATION_NS, ROUND_NS
from extbnsl.proof.guide import ASCEND, BRANCH, POLISH, PROBE, Turn

LOOK_NS = 2e7  # what it costs to see what a round has brought, by another trial
FEWEST_ROUNDS, STALE = 8, 0.99  # so many rounds that leave such a share of the gap are not followed by twice as many
PROBE_ITERATIONS = 60  # about how many a probe takes
MOST_ITERATIONS = 1 << 30  # of the simplex method
FAMILY_NS = 3e3  # that a linear program takes for each family before its first iteration
FEWEST_ITERATIONS = 100  # that pay before there is a linear program: a search of some tenths of a second


@dataclass(frozen=True)
class Seen:
    """What was seen of a piece at the end of a turn.

    turn: this one, with what the one before left.
    gap: what it leaves, in nats.
    worth: how long it may take to make the search smaller, in nanoseconds of one thread.
    families: how many are left.
    round_ns: what another round of improving takes.
    choices: counts those that can be probed.
    searchable: whether the piece is small enough for a search.
    optimal: whether no multipliers are better at the root; spread_out: or for the search.
    thorough: whether what is dear may be done, if it saves more.
    programs: whether there may be linear programs.
    droppable: whether probing may drop families, and did so the last time.
    """

    turn: Turn
    gap: float
    worth: float
    families: int
    round_ns: float
    choices: Callable[[], int]
    searchable: bool
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
        return self.polishing and not self.searchable

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
    return turn if step == BRANCH else replace(turn, effort=seen.effort)
