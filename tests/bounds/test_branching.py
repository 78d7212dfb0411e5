"""Branching: it finds the cheapest network and proves it, whatever the threads and wherever it is stopped."""

import itertools
import math
import pickle
import time
from concurrent.futures import ThreadPoolExecutor

import naive
import numpy as np
import pytest
from cases import random_families, scores_of
from fake_hands import WAYS, hands_that_are
from fixed import ROOM
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_clusters import families_in, found, networks_below
from test_probing import wishful

from extbnsl.bounds.lp.branching import NODE_BYTES, branch
from extbnsl.bounds.lp.program import Program, beginning
from extbnsl.bounds.lp.subtrees import Given, _Places, allowed, grow
from extbnsl.bounds.lp.tree import ROOT_NODE, Tree
from extbnsl.core.codec import encode
from extbnsl.machine.workers import Alone, Stopped, Workers
from extbnsl.parents.pruning import prune

SETTINGS = settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))


@pytest.fixture(autouse=True)
def _by_clusters_alone(sizes):
    """Cuts of three clusters would leave little to branch on."""
    sizes({"TRIPLES": 0, "PART_EFFORT": 1})


def branched(scores, limit=math.inf, *, tree=None, threads=1, workers=None, room=ROOM, on_turn=lambda tree: True):
    """What branching makes of local scores; on_turn gets each tree on the way."""
    families = families_in(scores)
    start = beginning(families, found(scores, 1))
    with workers or Workers(threads) as workers:
        return branch(families, start, tree or Tree(), limit, room, workers, lambda got: on_turn(got.tree)).tree


@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 5))
def test_the_cheapest_network_is_found_and_proved(seed, n):
    scores = prune(scores_of(random_families(np.random.default_rng(seed), n, 10)))
    pairs = pairs_of(scores)
    optimum = naive.optimal_cost_dp(n, naive.best_scores(naive.cost_table(n, pairs)))
    bounds = []
    tree = branched(scores, on_turn=lambda tree: bounds.append(tree.bound) or True)
    assert tree.fits(n)
    assert not tree.open
    assert tree.cost == pytest.approx(optimum, abs=1e-9)
    assert best_along(tree.order, pairs) == pytest.approx(optimum, abs=1e-9)
    assert max(bounds, default=-math.inf) <= optimum + 1e-9
    above, below = branched(scores, optimum + 1e-6), branched(scores, optimum - 1e-6)
    assert above.cost == pytest.approx(optimum, abs=1e-9)
    assert (below.open, below.order) == ((), None)


def pairs_of(scores):
    """Per child its families as (parent varset, cost)."""
    return [
        list(zip(p[:, 0].tolist(), c.tolist(), strict=True)) for p, c in zip(scores.parents, scores.costs, strict=True)
    ]


def best_along(order, pairs):
    """The cost of the best network along an order."""
    total, before = 0.0, 0
    for x in order:
        total += min(cost for varset, cost in pairs[x] if not varset & ~before)
        before |= 1 << x
    return total


@pytest.mark.parametrize("seed", range(3))
def test_a_gap_at_the_root_is_closed(seed):
    scores, optimum = wishful(seed, 7)
    bounds = []
    tree = branched(scores, on_turn=lambda tree: bounds.append(tree.bound) or True)
    assert tree.looked > 10
    assert bounds[0] < optimum - 0.1
    assert max(bounds) <= optimum + 1e-9
    assert (not tree.open, tree.cost) == (True, pytest.approx(optimum, abs=1e-9))


@pytest.mark.parametrize("nodes", [1, 5, 20])
def test_it_goes_on_from_where_it_was_stopped(nodes):
    scores, optimum = wishful(1, 7)
    first = branched(scores, on_turn=lambda tree: tree.looked < nodes)
    assert first.open
    assert first.looked >= nodes
    assert first.bound <= optimum + 1e-9
    whole = branched(scores, tree=first)
    assert not whole.open
    assert whole.looked > first.looked
    assert whole.cost == pytest.approx(optimum, abs=1e-9)


def kept(tree):
    """All of a tree, as a file has it."""
    return encode(tree), tree.cuts.tolist()


def trees_of(scores, **how):
    """The trees on the way."""
    trees = []
    branched(scores, on_turn=lambda tree: trees.append(kept(tree)) or True, **how)
    return trees


@pytest.mark.parametrize("effort", [1, 300])
def test_threads_do_not_matter(sizes, effort):
    sizes(PART_EFFORT=effort)
    scores, _ = wishful(2, 6)
    one, two, three = (trees_of(scores, threads=threads) for threads in (1, 2, 3))
    assert len(one) > 4
    assert one == two == three


@pytest.mark.parametrize("way", WAYS)
def test_it_does_not_matter_who_does_a_part_and_when(way, sizes):
    sizes(START_SECONDS=0.0)
    scores, _ = wishful(1, 7)
    hands = hands_that_are(way)
    assert trees_of(scores, workers=Workers(1, hands=hands)) == trees_of(scores)
    assert (len(hands.bundles) > 3) == (way != "nobody")


def test_a_part_changes_nothing_that_it_was_given():
    scores, _ = wishful(0, 5)
    packed = []

    class Careful(Workers):
        def spread(self, task, arguments, ahead):
            for own in arguments:
                before = pickle.dumps(own)
                packed.append(pickle.dumps(task(*own)))
                assert pickle.dumps(own) == before
                assert pickle.dumps(task(*own)) == packed[-1]
                yield pickle.loads(packed[-1])

    branched(scores, workers=Careful(1))
    assert len(packed) > 1


@pytest.mark.parametrize("parts", [1, 3])
def test_neither_how_many_parts_nor_how_large_ones_change_the_optimum(parts, sizes):
    for effort in (1, 200, 100_000):
        sizes(PARTS=parts, PART_EFFORT=effort)
        for seed in range(2):
            scores, optimum = wishful(seed, 6)
            tree = branched(scores)
            assert (not tree.open, tree.cost) == (True, pytest.approx(optimum, abs=1e-9))


def test_open_nodes_that_a_network_makes_too_dear_are_closed_without_a_look():
    tree = branched(wishful(1, 7)[0])
    assert not tree.open
    assert len(tree.closed) > tree.looked


@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 5))
def test_ties(seed, n):
    """Costs are whole numbers: networks by the dozen cost the same."""
    rng = np.random.default_rng(seed)
    costs = [[(p, float(round(cost))) for p, cost in own] for own in random_families(rng, n, 10)]
    scores = prune(scores_of(costs))
    optimum = naive.optimal_cost_dp(n, naive.best_scores(naive.cost_table(n, costs)))
    trees = [branched(scores, threads=threads) for threads in (1, 2)]
    assert kept(trees[0]) == kept(trees[1])
    assert (not trees[0].open, trees[0].cost) == (True, pytest.approx(optimum, abs=1e-9))
    assert branched(scores, optimum).order is None


@pytest.mark.parametrize("turns", [1, 4, 9])
def test_a_stop_in_a_round_loses_nothing_that_was_told(turns):
    """Parts of a round that were joined stay, and the nodes of the others are open."""
    scores, optimum = wishful(1, 7)
    trees = []

    class Ticking(Workers):
        def check(self):
            if len(trees) >= turns:
                raise Stopped("time_limit")

    with pytest.raises(Stopped):
        branched(scores, workers=Ticking(2), on_turn=lambda tree: trees.append(tree) or True)
    assert len(trees) == turns
    assert trees[-1].fits(7)
    assert trees[-1].bound <= optimum + 1e-9
    whole = branched(scores, tree=trees[-1])
    assert (not whole.open, whole.cost) == (True, pytest.approx(optimum, abs=1e-9))


def test_looking_for_cuts_that_is_halted_finds_none_of_chance():
    """Whatever lay before where the violations are to stand."""
    scores, _ = wishful(3, 7)
    families, halt = families_in(scores), np.zeros(1, np.uint8)
    program = Program(families, beginning(families, found(scores, 1)), 1.0, ROOM)
    assert program.solve(10_000, Alone(halt)) > 0
    halt[0] = 1
    before = [np.ones(length) for length in range(1, 200) for _ in range(8)]
    del before
    cuts, _ = program.violated(1000, Alone(halt))
    assert len(cuts) == 0


def test_a_program_goes_on_from_a_snapshot_with_more_in_it():
    """Where it was, it needs no iteration; families and cuts that it gets besides are there."""
    scores, _ = wishful(3, 7)
    families = families_in(scores)
    with Workers(1) as workers:
        program = Program(families, beginning(families, found(scores, 1)), 1.0, ROOM)
        assert program.solve(10_000, workers) > 0
        cuts, _ = program.violated(1000, workers)
        snapshot = pickle.loads(pickle.dumps(program.snapshot))
        again = Program(families, snapshot, 1.0, ROOM)
        assert again.solve(10_000, workers) == 10_000
        assert (again.value, again.values().tolist()) == (program.value, program.values().tolist())
        everyone = np.arange(families.costs.size)
        assert len(cuts)
        assert snapshot.columns.size < everyone.size
        more = Program(families, snapshot.with_more(everyone, cuts), 1.0, ROOM)
        assert more.solve(10_000, workers) > 0
        program.add_columns(everyone)
        program.add_cuts(cuts)
        assert program.solve(10_000, workers) > 0
    assert more.value == pytest.approx(program.value, abs=1e-7)
    assert (more.snapshot.columns == everyone).all()
    assert (more.cuts == program.cuts).all()


def test_a_halted_part_looks_at_nothing():
    scores, _ = wishful(0, 5)
    families = families_in(scores)
    given = Given(beginning(families, found(scores, 1)), ROOM, 1, math.inf, {}, 0, 0, 100)
    grown = grow(families, given, (ROOT_NODE,), np.ones(1, np.uint8))
    assert (grown.open, grown.closed, grown.looked) == ((ROOT_NODE,), (), 0)


def test_programs_take_turns_where_there_is_little_room():
    """At most so many parts are at work in a process as there is room for the programs of."""
    scores, optimum = wishful(1, 6)
    seen = []

    class Watched(Workers):
        def spread(self, task, arguments, ahead):
            seen.append(arguments[0][1].places)
            return super().spread(task, arguments, ahead)

    tree = branched(scores, workers=Watched(2), room=1 << 19)
    assert (not tree.open, tree.cost) == (True, pytest.approx(optimum, abs=1e-9))
    assert 1 <= min(seen) < 8


def test_so_many_parts_as_there_are_places_are_at_work():
    places, halt, now, most = _Places(), np.zeros(1, np.uint8), [], []

    def part(number):
        with places.one(2, halt):
            now.append(number)
            most.append(len(now))
            time.sleep(0.01)
            now.remove(number)

    with ThreadPoolExecutor(5) as threads:
        list(threads.map(part, range(20)))
        assert max(most) == 2
        with places.one(1, halt):
            waiting = threads.submit(lambda: places.one(1, halt).__enter__())
            time.sleep(0.05)
            assert not waiting.done()
            halt[0] = 1  # whoever is halted waits for nobody
            waiting.result(5.0)


def test_it_ends_when_open_nodes_take_too_much_memory():
    scores, optimum = wishful(1, 7)
    tree = branched(scores, room=NODE_BYTES)
    assert tree.open
    assert tree.bound <= optimum


def test_without_solutions_of_programs_it_ends_nevertheless(sizes):
    sizes({"subtrees.EFFORT": 1})
    scores, optimum = wishful(0, 4)
    tree = branched(scores)
    assert (not tree.open, tree.cost) == (True, pytest.approx(optimum, abs=1e-9))


def test_it_stops_when_it_is_time():
    scores, _ = wishful(1, 6)
    families = families_in(scores)
    with Workers(1, lambda: "time_limit") as workers, pytest.raises(Stopped):
        branch(families, beginning(families, found(scores, 1)), Tree(), math.inf, ROOM, workers, lambda reached: True)


@SETTINGS
@given(st.integers(0, 2**32), st.integers(2, 4), st.integers(1, 3))
def test_choices_leave_every_network_that_makes_them(seed, n, count):
    rng = np.random.default_rng(seed)
    scores = prune(scores_of(random_families(rng, n, 10)))
    families, pairs = families_in(scores), pairs_of(scores)
    networks = list(networks_below(n, pairs, math.inf))
    made = networks[rng.integers(len(networks))] if rng.random() < 0.5 else rng.integers(0, 1 << n, n).tolist()
    arcs = rng.permutation(list(itertools.permutations(range(n), 2)))[:count].tolist()
    choices = tuple(2 * (x * n + y) + 1 - (made[x] >> y & 1) for x, y in arcs)  # as a network makes them, or any
    left = allowed(families, choices)
    rows = [set(families.parents[0, lo:hi][left[lo:hi]].tolist()) for lo, hi in itertools.pairwise(families.first)]
    making = [one for one in networks if all((one[c // 2 // n] >> c // 2 % n & 1) != c % 2 for c in choices)]
    assert making or made not in networks
    for network in making:
        assert all(p in rows[x] for x, p in enumerate(network))
    for c in choices:
        x, y = divmod(c // 2, n)
        assert all((p >> y & 1) != c % 2 for p in rows[x])
