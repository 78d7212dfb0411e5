"""The layered search against its obvious twin: same nodes, costs and leaves, however the layers are cut."""

import itertools
import math
import shutil
from dataclasses import replace
from math import comb

import naive
import numpy as np
import pytest
from cases import cost_of_order, random_families, scores_of
from fake_hands import WAYS, FakeHands, hands_that_are
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kept import as_kept, search_state
from patching import SMALL_CHUNKS, sized, some_sizes
from search_invariants import check_groups, check_nodes, check_run, check_state, group_value

from extbnsl.bounds.at_nodes import group_bound
from extbnsl.bounds.patterns import group_families, pattern_table, static_table
from extbnsl.files.arrays import read_arrays
from extbnsl.files.store import Store
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.parents.pruning import prune
from extbnsl.search.forecast import predicted_layers
from extbnsl.search.layers import Room, search_layers
from extbnsl.search.problem import search_problem
from extbnsl.search.runs import (
    SUCCESSORS,
    Nodes,
    leaf_of,
    load_sources,
    run_in_memory,
    write_run,
)
from extbnsl.search.state import optimal_order, whole_layer

SETTINGS = settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))


class Problem:
    """Families of whole costs, so that sums are exact; the bound has two groups of variables."""

    def __init__(self, seed, n, most=25, pattern=True, widths=None):
        self.n = n
        self.families = random_families(np.random.default_rng(seed), n, most)
        self.scores = prune(scores_of(self.families))
        self.best = naive.best_scores(naive.cost_table(n, self.families))
        widths = widths or [(n + 1) // 2, n // 2]
        ends = list(itertools.accumulate(widths))
        groups = [tuple(range(end - width, end)) for width, end in zip(widths, ends, strict=True) if width]
        if pattern:
            tables = [pattern_table(*group_families(self.scores.parents, self.scores.costs, g)) for g in groups]
        else:
            tables = [static_table(np.array([self.scores.costs[x][0] for x in g])) for g in groups]
        self.bound = group_bound(tables)
        self.optimum = naive.optimal_cost_dp(n, self.best)

    def ready(self, limit=math.inf, path_extension=False):
        check_groups(self.bound)
        return search_problem(self.scores.parents, self.scores.costs, self.bound, limit, path_extension)

    def naive_layers(self, limit, path_extension):
        """Per layer {varset: (g, leaf)} and the number of edges generated."""
        favourite = [int(p[0, 0]) for p in self.scores.parents]
        layer, found = {0: (0.0, 255)}, []
        while layer:
            found.append((layer, 0))
            following, edges = {}, 0
            for varset, (g, _) in layer.items():
                outside = [x for x in range(self.n) if not varset >> x & 1]
                ready = [x for x in outside if favourite[x] & ~varset == 0]
                extend = path_extension and ready and varset  # the search starts unforced
                for x in ready[:1] if extend else outside:
                    edges += 1
                    node, cost = varset | 1 << x, g + self.best[x, varset]
                    if cost + group_value(self.bound, node) < limit:
                        following[node] = min(following.get(node, (math.inf, 255)), (cost, x))
            found[-1] = (layer, edges)
            layer = following
        return found


IN_MEMORY = Room(math.inf)


def searched(ready, threads=1, room=IN_MEMORY, state=None):
    """The states after each layer."""
    with Workers(threads) as workers:
        return ends(search_layers(ready, workers, room, state))


def ends(states):
    """Those of the states that are the first with their layer."""
    found = []
    for state in states:
        check_state(state, 64)
        if not found or state.layer.size != found[-1].layer.size:
            found.append(state)
    return found


def nodes_of(state, ready, folder=None):
    """The columns of the layer, wherever they are: varsets, g, leaf, successors."""
    columns = [[], [], [], []]
    for run in state.layer.runs:
        nodes = run.nodes
        if nodes is None:
            varsets, costs = read_arrays(folder, run.varsets), read_arrays(folder, run.costs)
            starts = np.concatenate([[0], varsets["counts"]]).cumsum()
            nodes = Nodes(
                varsets["highs"], starts, varsets["lows"], varsets["leaf"], costs["g"], costs[SUCCESSORS], costs["best"]
            )
        check_nodes(nodes, ready.low_bits, state.layer.size)
        assert (run.first, run.last) == (nodes.highs[0], nodes.highs[-1])
        assert (run.size, run.partitions) == (nodes.lows.size, nodes.highs.size)
        for column, part in zip(
            columns, (nodes.varsets(ready.low_bits), nodes.g, nodes.leaf, nodes.successors), strict=True
        ):
            column += part.tolist()
    varsets = columns[0]
    assert all(earlier < later for earlier, later in itertools.pairwise(varsets)), "runs follow each other"
    return columns


def goal_cost(states):
    return whole_layer(states[-1]).g[0]


def counters(state):
    return state.expanded, state.generated, state.edges_in, state.kept, state.peak, state.least_f


@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 8), st.booleans())
def test_the_full_lattice(seed, n, pattern):
    problem = Problem(seed, n, pattern=pattern)
    ready = problem.ready()
    states = searched(ready)
    cheapest = {0: 0.0}
    for state in states:
        assert state.layer.nodes == comb(n, state.layer.size)
        for varset, g, leaf, _ in zip(*nodes_of(state, ready), strict=True):
            if varset:
                costs = {x: cheapest[varset ^ 1 << x] + problem.best[x, varset ^ 1 << x] for x in naive.members(varset)}
                cheapest[varset] = min(costs.values())
                assert g == cheapest[varset]
                assert leaf == min(x for x, cost in costs.items() if cost == g)
    last = states[-1]
    assert last.kept == 2**n
    assert last.expanded == 2**n - 1
    assert last.generated == n * 2 ** (n - 1)
    assert last.peak == comb(n, n // 2)
    assert last.layer.runs[0].nodes.g[0] == problem.optimum
    order = optimal_order(last, ready.low_bits)
    assert cost_of_order(order, problem.best) == problem.optimum


@SETTINGS
@given(
    seed=st.integers(0, 2**32),
    n=st.integers(1, 8),
    pattern=st.booleans(),
    path_extension=st.booleans(),
    slack=st.sampled_from([-5.0, 0.0, 0.5, 3.0, 20.0, math.inf]),
)
def test_nodes_are_those_of_the_obvious_search(seed, n, pattern, path_extension, slack):
    problem = Problem(seed, n, pattern=pattern)
    limit = problem.optimum + slack
    ready = problem.ready(limit, path_extension)
    states = searched(ready)
    expected = problem.naive_layers(limit, path_extension)
    generated = 0
    for k, (nodes, edges) in enumerate(expected):
        varsets, g, leaf, _ = nodes_of(states[k], ready)
        assert dict(zip(varsets, zip(g, leaf, strict=True), strict=True)) == nodes
        assert states[k].generated == generated
        if k:
            assert states[k].least_f == min(cost + group_value(problem.bound, v) for v, (cost, _) in nodes.items())
        generated += edges
    if len(expected) == n + 1:
        assert slack > 0
        assert len(states) == n + 1
        assert goal_cost(states) == problem.optimum
        assert cost_of_order(optimal_order(states[-1], ready.low_bits), problem.best) == problem.optimum
    else:
        assert slack <= 0
        assert states[-1].layer.nodes == 0
        assert states[-1].least_f == math.inf


@pytest.mark.parametrize(
    ("low_bits", "sources", "path_extension"),
    [
        (3, 9, True),
        *(pytest.param(*one, marks=pytest.mark.slow) for one in ((1, 1, False), (2, 9, False), (4, 1, True))),
    ],
)
def test_partitions_and_tasks_change_nothing(low_bits, sources, path_extension):
    for seed in range(3):
        problem = Problem(seed, 9)
        for limit in (problem.optimum + 4, math.inf):
            whole = problem.ready(limit, path_extension)
            expected = searched(whole)
            with sized(SMALL_CHUNKS, LOW_BITS=low_bits, LEAST_SOURCES=sources):
                ready = problem.ready(limit, path_extension)
                assert ready.low_bits == low_bits
                for threads in (1, 3):
                    states = searched(ready, threads)
                    assert [nodes_of(s, ready) for s in states] == [nodes_of(s, whole) for s in expected]
                    assert [counters(s) for s in states] == [counters(s) for s in expected]
                    assert optimal_order(states[-1], low_bits) == optimal_order(expected[-1], whole.low_bits)


@pytest.mark.slow
@SETTINGS
@given(
    seed=st.integers(0, 2**32),
    n=st.integers(2, 9),
    memory=st.sampled_from([0, 1, 300, 3000, 30_000]),
    threads=st.sampled_from([1, 2]),
    path_extension=st.booleans(),
    slack=st.sampled_from([0.0, 2.0, 20.0, math.inf]),
    data=st.data(),
)
def test_budgets_and_commits_change_nothing(seed, n, memory, threads, path_extension, slack, data, tmp_path_factory):
    """Runs in memory and in files, commits at any time, and a search that goes on from any commit."""
    problem = Problem(seed, n)
    limit = problem.optimum + slack
    with sized(some_sizes(data)):
        ready = problem.ready(limit, path_extension)
        expected = searched(ready)
        store = Store(tmp_path_factory.mktemp("store"), 1 << 30)
        due = st.lists(st.booleans(), min_size=1, max_size=20)
        answers = itertools.cycle(data.draw(due))
        room = Room(memory, store, lambda: next(answers), data.draw(st.sampled_from([0, 500, math.inf])), "c")
        seen, committed = {}, []
        with Workers(threads) as workers:
            for state in search_layers(ready, workers, room):
                check_state(state, n)
                if state.to_commit:
                    assert all(run.files for run in state.runs)
                    committed.append(as_kept(state))
                seen.setdefault(state.layer.size, (nodes_of(state, ready, store.folder), counters(state)))
        assert list(seen.values()) == [(nodes_of(s, ready), counters(s)) for s in expected]
        for number, document in enumerate(committed[:: max(1, len(committed) // 3)]):
            copy = Store(store.folder.with_name(f"{store.folder.name}-{number}"), 1 << 30)
            shutil.copytree(store.folder, copy.folder)
            again = search_state(document, store.files, copy.folder)
            room = Room(data.draw(st.sampled_from([0, 1e9])), copy, name="c")
            for state in searched(ready, 3 - threads, room, again):
                if state.layer.size > document["layer"]["size"]:
                    assert (nodes_of(state, ready, copy.folder), counters(state)) == seen[state.layer.size]
            if limit > problem.optimum:
                order = optimal_order(state, ready.low_bits, copy.folder)
                assert order == optimal_order(expected[-1], ready.low_bits)


FAR = {"START_SECONDS": 0.0, "FAR_NODES": 4, "LOW_BITS": 1, "LEAST_SOURCES": 2, "LEAST_TASK_BYTES": 400}


@pytest.mark.parametrize("way", WAYS)
def test_hands_change_nothing(way, tmp_path):
    """Layers that hands expand, from files to files."""
    problem, hands = Problem(3, 9), hands_that_are(way)
    store = Store(tmp_path, 1 << 30)
    with sized(FAR), Workers(1, hands=hands) as workers:
        ready = problem.ready(math.inf, False)
        found = ends(search_layers(ready, workers, Room(1e9, store, name="c")))
        assert [(nodes_of(state, ready, store.folder), counters(state)) for state in found] == [
            (nodes_of(state, ready), counters(state)) for state in searched(ready)
        ]
    assert bool(hands.bundles) == (way != "nobody")


def test_hands_that_do_not_see_the_folder_expand_nothing(tmp_path):
    problem, hands = Problem(3, 7), FakeHands()
    hands.see = lambda mark: False
    with sized(FAR), Workers(1, hands=hands) as workers:
        ready = problem.ready(math.inf, False)
        found = ends(search_layers(ready, workers, Room(1e9, Store(tmp_path, 1 << 30), name="c")))
    assert len(found) == 8
    assert hands.bundles == []


def test_files_go_when_no_state_names_them(tmp_path):
    problem = Problem(5, 9)
    store = Store(tmp_path, 1 << 30)
    ready = problem.ready(path_extension=True)
    with Workers(2) as workers:
        for state in search_layers(ready, workers, Room(0, store)):
            store.keep_only(state.files)
            on_disk = {str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*.h5")}
            assert {file.name for file in state.files} <= on_disk
            assert store.used == sum((tmp_path / name).stat().st_size for name in on_disk)
    assert [str(file.parent.name) for file in tmp_path.rglob("*.h5")].count("runs") == len(state.layer.runs)


def test_the_disk_budget_ends_the_search_and_is_kept(tmp_path):
    ready = Problem(5, 14).ready()
    store = Store(tmp_path, 150_000)
    reached = []

    def search_within_budget(workers):
        for state in search_layers(ready, workers, Room(0, store)):
            if state.to_commit:
                store.keep_only(state.files)
            assert sum(file.stat().st_size for file in tmp_path.rglob("*.h5")) <= store.disk
            reached.append(state.layer.size)

    with Workers(2) as workers, pytest.raises(Stopped, match="disk_limit"):
        search_within_budget(workers)
    assert 2 < reached[-1] < 14


def test_without_a_store_the_memory_budget_ends_the_search():
    with Workers(1) as workers, pytest.raises(Stopped, match="memory_limit"):
        list(search_layers(Problem(5, 10).ready(), workers, Room(500)))


@pytest.mark.parametrize("widths", [[12], [9, 3], [3, 9], [4, 4, 4], [1, 11], [10, 1, 1]])
def test_any_groups(widths):
    problem = Problem(4, 12, most=60, widths=widths)
    ready = problem.ready(problem.optimum + 1e-6, True)
    states = searched(ready)
    assert goal_cost(states) == problem.optimum
    assert cost_of_order(optimal_order(states[-1], ready.low_bits), problem.best) == problem.optimum


@pytest.mark.slow
def test_more_than_a_byte_of_low_bits_and_many_families(sizes):
    """17 variables: two low bytes, a high one, and children with more than 64 parent sets."""
    problem = Problem(6, 17, most=700, widths=[9, 8])
    assert max(c.size for c in problem.scores.costs) > 64
    ready = problem.ready(problem.optimum + 1e-6, False)
    exact = searched(ready)
    assert goal_cost(exact) == problem.optimum
    for low_bits in (5, 8):
        sizes(LOW_BITS=low_bits)
        other = problem.ready(problem.optimum + 1e-6, False)
        assert [nodes_of(s, other) for s in searched(other)] == [nodes_of(s, ready) for s in exact]


def test_leaves_of_closed_layers(tmp_path):
    problem = Problem(2, 7)
    ready = problem.ready()
    states = searched(ready)
    filed = searched(ready, room=Room(0, Store(tmp_path, 1 << 30)))[-1]
    for state, kept, written in zip(states, states[-1].closed, filed.closed, strict=False):
        varsets, _, leaves, _ = nodes_of(state, ready)
        for varset, leaf in zip(varsets, leaves, strict=True):
            assert leaf_of(kept, varset, ready.low_bits, None) == leaf
            assert leaf_of(written, varset, ready.low_bits, tmp_path) == leaf
        for closed in (kept, written):
            with pytest.raises(KeyError):
                leaf_of(closed, (1 << state.layer.size + 1) - 1, ready.low_bits, tmp_path)


def test_a_trial_ends_early_and_is_extrapolated():
    problem = Problem(3, 10).ready()
    with Workers(1) as workers:
        trial = ends(search_layers(problem, workers, IN_MEMORY, most_nodes_kept=100))
        assert trial[-1].kept > 100 >= trial[-2].kept
        whole = predicted_layers(search_layers(problem, workers, IN_MEMORY), 10)
        guess = predicted_layers(search_layers(problem, workers, IN_MEMORY, most_nodes_kept=300), 10)
    states = searched(problem)
    assert whole.complete
    assert whole.nodes.tolist() == [state.layer.nodes for state in states]
    assert whole.edges.tolist() == [state.edges_in for state in states[1:]]
    assert not guess.complete
    assert guess.nodes[: guess.seen].tolist() == whole.nodes[: guess.seen].tolist()
    assert whole.edges.sum() / 4 < guess.edges.sum() < whole.edges.sum() * 4


@pytest.mark.slow
def test_files_of_runs_keep_to_what_was_reserved_for_them_and_give_any_part_back(tmp_path, sizes):
    for fence_nodes in (2, 1024):
        sizes(FENCE_NODES=fence_nodes)
        run = run_in_memory(whole_layer(searched(Problem(3, 17, widths=[9, 8]).ready())[8]))
        filed = write_run(run, f"run-{fence_nodes}", Store(tmp_path, 1 << 30)).filed
        assert sum(file.bytes for file in filed.files) <= run.file_bytes()
        highs = run.nodes.highs.tolist()
        for lo, hi in ((highs[3], highs[9]), (0, 1 << 40), (highs[-1], highs[-1] + 1), (0, highs[0] + 1)):
            part, expected = load_sources(filed, lo, hi, tmp_path), run.nodes.part(lo, hi)
            for column in ("highs", "starts", "lows", "g", "successors", "best"):
                np.testing.assert_array_equal(getattr(part, column), getattr(expected, column))


def test_memory_grows_with_the_layers():
    states = searched(Problem(3, 9).ready())
    assert all(earlier.memory < later.memory for earlier, later in itertools.pairwise(states[:5]))
    assert states[4].memory >= 12 * states[4].layer.nodes


def test_a_stop_ends_the_search():
    with Workers(1, lambda: "interrupted") as workers, pytest.raises(Stopped):
        list(search_layers(Problem(3, 6).ready(), workers, IN_MEMORY))


def stopped(ready, room):
    """The states of a search that is stopped soon."""
    countdown = iter(range(6))
    states = []
    with Workers(1, lambda: None if next(countdown, None) is not None else "interrupted") as workers:
        search_so_far = search_layers(ready, workers, room)
        with pytest.raises(Stopped):
            states.extend(search_so_far)
    return states


def test_a_stop_writes_nothing_where_nothing_is_committed(tmp_path):
    states = stopped(Problem(3, 9).ready(), Room(math.inf, Store(tmp_path, 1 << 30)))
    assert not states[-1].to_commit
    assert not any(tmp_path.iterdir())


def test_a_stop_leaves_a_state_that_can_be_committed(tmp_path):
    ready = Problem(3, 9).ready()
    store = Store(tmp_path, 1 << 30)
    last = stopped(ready, Room(math.inf, store, unsaved=1 << 20))[-1]
    assert last.to_commit
    assert last.memory > 0
    assert last.filed().memory == 0
    assert as_kept(last.filed()) == as_kept(last)
    assert all(run.files for run in last.runs)
    assert 0 < last.layer.size < 9
    again = searched(ready, state=search_state(as_kept(last), store.files, tmp_path), room=Room(0, store))
    assert optimal_order(again[-1], ready.low_bits, tmp_path) == optimal_order(searched(ready)[-1], ready.low_bits)


def test_check_finds_broken_states():
    state = searched(Problem(3, 6).ready())[3]
    check_state(state, 6)
    (run,) = state.layer.runs
    twice = replace(state.layer, runs=(run, run))
    for change in (
        {"kept": state.kept + 1},
        {"closed": state.closed[1:]},
        {"peak": 1},
        {"layer": twice},
        {"following": (replace(run, last=run.first - 1),)},
        {"least_f": math.inf},
        {"to_commit": True},
    ):
        with pytest.raises(AssertionError):
            check_state(replace(state, **change), 6)
    with pytest.raises(AssertionError):
        check_run(replace(run, fence_nodes=run.fence_nodes + 1))


def test_check_finds_broken_nodes():
    ready = Problem(3, 6).ready()
    nodes = whole_layer(searched(ready)[3])
    check_nodes(nodes, ready.low_bits, 3)
    for change in (
        {"lows": nodes.lows[::-1].copy()},
        {"g": np.full_like(nodes.g, np.inf)},
        {"leaf": nodes.leaf[1:]},
        {"lows": np.repeat(nodes.lows[:1], nodes.lows.size)},
    ):
        with pytest.raises(AssertionError):
            check_nodes(nodes._replace(**change), ready.low_bits, 3)
    with pytest.raises(AssertionError):
        check_nodes(nodes, ready.low_bits, 2)
