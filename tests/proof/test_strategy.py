"""What comes next for the bounds of a piece: each rule by itself, and all of them in order."""

import math
from dataclasses import replace

import pytest

from extbnsl.bounds.lp.polish import ITERATION_NS, ROUND_NS
from extbnsl.proof.guide import ASCEND, BRANCH, MOST_ITERATIONS, POLISH, PROBE, STEPS, TRY, Turn
from extbnsl.proof.strategy import (
    BRANCHING_SHARE,
    FAMILY_NS,
    FEWEST_ITERATIONS,
    FEWEST_ROUNDS,
    FIRST_BRANCHING,
    LOOK_NS,
    MORE_SHARE,
    PROBE_ITERATIONS,
    RULES,
    Seen,
    branching_pays,
    next_turn,
    nothing_else,
    probing_pays,
    programs_begin,
    root_gains,
    rounds_pay,
)

DEAR = 1e12  # nanoseconds: whatever takes less pays


def never_counted():
    raise AssertionError("nobody asks for the choices before it may pay to probe them")


SEARCHED = Seen(
    Turn(TRY, rounds=4, spent=3, gap=2.0),
    gap=1.0,
    search_ns=LOOK_NS,
    worth=LOOK_NS / 2.0,
    branched=0,
    families=100,
    round_ns=1e6,
    choices=never_counted,
    optimal=False,
    spread_out=False,
    thorough=False,
    programs=False,
    droppable=False,
)  # a piece for which nothing more pays


def seen(effort=0, rounds=4, gap=2.0, **changes):
    return replace(SEARCHED, turn=replace(SEARCHED.turn, effort=effort, rounds=rounds, gap=gap), **changes)


def test_where_nothing_pays_the_piece_is_searched():
    assert next_turn(SEARCHED) is None
    assert [rule for rule in RULES if rule.holds(SEARCHED)] == [RULES[-1]]


def test_every_step_that_a_rule_names_there_is_and_every_rule_says_why():
    assert {rule.step for rule in RULES} <= {*STEPS, None}
    assert all(rule.why for rule in RULES)
    assert RULES[-1].step is None


def test_linear_programs_begin_where_enough_iterations_pay():
    least = FAMILY_NS * 100 + FEWEST_ITERATIONS * ITERATION_NS
    assert programs_begin(seen(programs=True, worth=least + 1.0))
    assert not programs_begin(seen(programs=True, worth=least - ITERATION_NS))
    assert not programs_begin(seen(programs=False, worth=DEAR))
    assert not programs_begin(seen(effort=1, programs=True, worth=DEAR)), "there are some already"


@pytest.mark.parametrize("rounds", [0, 4, FEWEST_ROUNDS])
def test_programs_for_the_root_go_on_as_long_as_they_gain(rounds):
    at_root = seen(effort=5, rounds=rounds, search_ns=math.inf, worth=math.inf)
    assert root_gains(at_root)
    assert not root_gains(replace(at_root, optimal=True))
    assert not root_gains(replace(at_root, gap=1.99)), "less than a hundredth of the gap"
    assert not root_gains(replace(at_root, search_ns=1e30))
    assert not root_gains(seen(search_ns=math.inf, worth=math.inf)), "there are none"


def test_rounds_double_as_long_as_they_pay_and_gain():
    enough = LOOK_NS + 8 * 1e6
    assert rounds_pay(seen(worth=enough))
    assert not rounds_pay(seen(worth=enough - 1.0))
    assert rounds_pay(seen(effort=1, worth=enough + 8 * ROUND_NS))
    assert not rounds_pay(seen(effort=1, worth=enough + 8 * ROUND_NS - 1.0)), "a program takes longer"
    assert rounds_pay(seen(rounds=FEWEST_ROUNDS - 1, gap=1.0, worth=DEAR)), "too few to tell"
    assert not rounds_pay(seen(rounds=FEWEST_ROUNDS, gap=1.0, worth=DEAR)), "they gained nothing"
    assert rounds_pay(seen(effort=1, optimal=True, worth=DEAR))
    assert not rounds_pay(seen(effort=1, optimal=True, spread_out=True, worth=DEAR)), "there are no better ones"


def test_probing_is_for_who_is_thorough_and_costs_less_than_it_saves():
    cost = PROBE_ITERATIONS * ITERATION_NS
    ready = seen(effort=1, thorough=True, droppable=True, choices=lambda: 10, worth=10 * cost)
    assert probing_pays(ready)
    assert not probing_pays(replace(ready, choices=lambda: 11))
    for change in ({"thorough": False}, {"droppable": False}, {"turn": replace(ready.turn, effort=0)}):
        assert not probing_pays(replace(ready, choices=never_counted, **change))


def test_branching_is_what_is_left_where_no_search_is_possible():
    assert nothing_else(seen(effort=1, search_ns=math.inf, thorough=True))
    assert not nothing_else(seen(effort=1, search_ns=math.inf))
    assert not nothing_else(seen(effort=1, thorough=True))


def test_branching_comes_before_a_long_search_and_goes_on_as_long_as_it_gains():
    first = ITERATION_NS * FIRST_BRANCHING
    ready = seen(effort=1, thorough=True, programs=True, search_ns=first / BRANCHING_SHARE)
    assert branching_pays(ready)
    assert not branching_pays(replace(ready, search_ns=0.99 * ready.search_ns))
    for change in ({"thorough": False}, {"programs": False}, {"turn": replace(ready.turn, effort=0)}):
        assert not branching_pays(replace(ready, **change))
    again = replace(ready, branched=FIRST_BRANCHING, gap=0.91 * ready.turn.gap, turn=replace(ready.turn, step=BRANCH))
    assert again.more_branching == 2 * FIRST_BRANCHING
    assert not branching_pays(again)
    assert branching_pays(replace(again, search_ns=2.0 * ready.search_ns)), "it need not gain at first"
    gaining = replace(again, gap=0.9 * again.turn.gap, search_ns=2.0 * first / MORE_SHARE)
    assert branching_pays(gaining)
    assert not branching_pays(replace(gaining, search_ns=0.99 * gaining.search_ns))
    others = replace(gaining, turn=replace(gaining.turn, step=TRY), search_ns=1.9 * ready.search_ns)
    assert not branching_pays(others), "what else has closed of the gap says nothing of branching"


LARGE = seen(
    effort=7, search_ns=math.inf, thorough=True, programs=True, droppable=True, choices=lambda: 1, worth=math.inf
)


@pytest.mark.parametrize(
    ("state", "step", "effort"),
    [
        (seen(programs=True, worth=DEAR), POLISH, (DEAR - FAMILY_NS * 100) // ITERATION_NS),
        (LARGE, POLISH, MOST_ITERATIONS),
        (replace(LARGE, optimal=True), ASCEND, MOST_ITERATIONS),
        (replace(LARGE, gap=2.0), PROBE, MOST_ITERATIONS),
        (replace(LARGE, gap=2.0, droppable=False), BRANCH, MOST_ITERATIONS),
        (seen(effort=1, gap=1.0, thorough=True, programs=True, search_ns=DEAR), BRANCH, FIRST_BRANCHING),
        (seen(worth=DEAR), ASCEND, 0),
        (seen(effort=3, worth=LOOK_NS + 8 * (1e6 + ROUND_NS), families=1 << 40), ASCEND, 1),
    ],
)
def test_the_first_rule_that_holds_decides(state, step, effort):
    turn = next_turn(state)
    assert turn.step == step
    assert (turn.spent, turn.gap, turn.effort) == (0, state.gap, effort)
    assert turn.rounds == (state.more_rounds if step == ASCEND else state.turn.rounds)
