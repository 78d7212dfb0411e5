"""Layered parent graphs: the same layers as sparse ones, node by node, and rows that are BestScore."""

import itertools
import json
import math
import shutil

import naive
import pytest
from flat import solve
from hypothesis import given
from hypothesis import strategies as st
from kept import as_kept, search_state
from patching import SMALL_CHUNKS, sized, some_sizes
from real import EXAMPLES, assert_proved, optima
from test_layers import IN_MEMORY, SETTINGS, Problem, counters, nodes_of, searched

from extbnsl.cli import main
from extbnsl.core import events
from extbnsl.core.errors import RunDirectoryError
from extbnsl.data.reading import read_csv
from extbnsl.files.manifest import read_manifest
from extbnsl.files.store import Store
from extbnsl.machine.workers import Workers
from extbnsl.search.layers import Room, search_layers
from extbnsl.search.problem import search_problem
from extbnsl.search.runs import load_sources, write_run
from extbnsl.search.score_cache import open_score_cache, score_cache_bytes, write_score_cache
from extbnsl.search.state import optimal_order


class Layered(Problem):
    """The same problem by layered parent graphs."""

    def layered(self, store, limit=math.inf, path_extension=False):
        cache = write_score_cache(store, "families-1", self.scores.parents, self.scores.costs)
        return search_problem(self.scores.parents, self.scores.costs, self.bound, limit, path_extension, cache)

    def assert_rows(self, state, ready, folder=None):
        """Every row of the layer is BestScore of the variables outside."""
        for run in state.layer.runs:
            nodes = load_sources(run, run.first, run.last + 1, folder)
            for varset, row in zip(nodes.varsets(ready.low_bits).tolist(), nodes.best.tolist(), strict=True):
                assert row == [self.best[x, varset] for x in range(self.n) if not varset >> x & 1]


def columns(state, ready, folder=None):
    return nodes_of(state, ready, folder), counters(state)


@SETTINGS
@given(
    seed=st.integers(0, 2**32),
    n=st.integers(1, 9),
    most=st.sampled_from([5, 25, 100]),
    pattern=st.booleans(),
    path_extension=st.booleans(),
    slack=st.sampled_from([-5.0, 0.0, 0.5, 3.0, 20.0, math.inf]),
)
def test_layers_are_those_of_sparse_parent_graphs(seed, n, most, pattern, path_extension, slack, tmp_path_factory):
    problem = Layered(seed, n, most, pattern)
    limit = problem.optimum + slack
    sparse = problem.ready(limit, path_extension)
    layered = problem.layered(Store(tmp_path_factory.mktemp("cache"), 1 << 30), limit, path_extension)
    expected, states = searched(sparse), searched(layered)
    assert [columns(s, layered) for s in states] == [columns(s, sparse) for s in expected]
    for state in states:
        problem.assert_rows(state, layered)
    if limit > problem.optimum:
        assert optimal_order(states[-1], layered.low_bits) == optimal_order(expected[-1], sparse.low_bits)


@pytest.mark.slow
def test_families_that_no_predecessor_contains_are_found_when_some_are_pruned(tmp_path):
    """Looking up the whole varset alone, as is enough without pruning, would give rows that are wrong."""
    wrong = 0
    for seed in range(40):
        problem = Layered(seed, 9, most=60)
        costs = naive.cost_table(9, problem.families)
        for slack in (0.5, 3.0):
            ready = problem.layered(Store(tmp_path, 1 << 30), problem.optimum + slack, True)
            before = set()
            for state in searched(ready):
                problem.assert_rows(state, ready)
                present = set(nodes_of(state, ready)[0])
                for varset, x in itertools.product(present, range(9)):
                    below = [varset ^ 1 << y for y in naive.members(varset) if varset ^ 1 << y in before]
                    looked_up = min([costs[x, varset], *(problem.best[x, u] for u in below)])
                    wrong += not varset >> x & 1 and looked_up > problem.best[x, varset]
                before = present
    assert wrong > 100


@pytest.mark.parametrize(
    ("low_bits", "path_extension"),
    [(3, True), pytest.param(1, False, marks=pytest.mark.slow), pytest.param(4, True, marks=pytest.mark.slow)],
)
def test_partitions_tasks_and_chunks_change_nothing(low_bits, path_extension, tmp_path):
    problem = Layered(low_bits, 9, most=80)
    for limit in (problem.optimum + 4, math.inf):
        sparse = problem.ready(limit, path_extension)
        expected = [columns(s, sparse) for s in searched(sparse)]
        with sized(SMALL_CHUNKS, LOW_BITS=low_bits, LEAST_SOURCES=9, FAMILIES_READ=7):
            ready = problem.layered(Store(tmp_path, 1 << 30), limit, path_extension)
            states = searched(ready, 3)
            assert [columns(s, ready) for s in states] == expected
            for state in states:
                problem.assert_rows(state, ready)


@pytest.mark.slow
@SETTINGS
@given(
    seed=st.integers(0, 2**32),
    n=st.integers(2, 9),
    memory=st.sampled_from([0, 300, 3000, 30_000]),
    threads=st.sampled_from([1, 2]),
    path_extension=st.booleans(),
    slack=st.sampled_from([0.0, 2.0, 20.0, math.inf]),
    data=st.data(),
)
def test_budgets_and_commits_change_nothing(seed, n, memory, threads, path_extension, slack, data, tmp_path_factory):
    """Rows in memory and in files, commits at any time, and a search that goes on from any commit."""
    problem = Layered(seed, n, most=60)
    limit = problem.optimum + slack
    sparse = problem.ready(limit, path_extension)
    expected = {s.layer.size: columns(s, sparse) for s in searched(sparse)}
    with sized(some_sizes(data)):
        store = Store(tmp_path_factory.mktemp("store"), 1 << 30)
        ready = problem.layered(store, limit, path_extension)
        answers = itertools.cycle(data.draw(st.lists(st.booleans(), min_size=1, max_size=20)))
        seen, committed = {}, []
        with Workers(threads) as workers:
            for state in search_layers(ready, workers, Room(memory, store, lambda: next(answers), name="c")):
                if state.to_commit:
                    assert set(ready.score_cache.files) <= set(state.files)
                    committed.append(as_kept(state))
                if state.layer.size not in seen:
                    seen[state.layer.size] = columns(state, ready, store.folder)
                    problem.assert_rows(state, ready, store.folder)
        assert seen == expected
        for number, document in enumerate(committed[:: max(1, len(committed) // 3)]):
            copy = Store(store.folder.with_name(f"{store.folder.name}-{number}"), 1 << 30)
            shutil.copytree(store.folder, copy.folder)
            state = search_state(document, store.files, copy.folder)
            cache = open_score_cache(copy.folder, state.cache, n)
            again = search_problem(
                problem.scores.parents, problem.scores.costs, problem.bound, limit, path_extension, cache
            )
            room = Room(data.draw(st.sampled_from([0, 1e9])), copy, name="c")
            for following in searched(again, 3 - threads, room, state):
                if following.layer.size > document["layer"]["size"]:
                    assert columns(following, again, copy.folder) == expected[following.layer.size]
                    problem.assert_rows(following, again, copy.folder)


@pytest.mark.slow
def test_more_than_a_byte_of_low_bits_and_many_families(tmp_path, sizes):
    problem = Layered(6, 17, most=700, widths=[9, 8])
    sizes(FAMILIES_READ=1000)
    for path_extension in (False, True):
        sparse = problem.ready(problem.optimum + 1e-6, path_extension)
        layered = problem.layered(Store(tmp_path, 1 << 30), problem.optimum + 1e-6, path_extension)
        assert layered.low_bits == 9
        states = searched(layered)
        assert [columns(s, layered) for s in states] == [columns(s, sparse) for s in searched(sparse)]
        problem.assert_rows(states[6], layered)


@pytest.mark.parametrize(("read", "piece"), [(1, 1 << 20), (5, 1 << 20), (1 << 14, 1 << 20), (1 << 14, 160), (5, 160)])
def test_the_score_cache_holds_the_families_by_size_child_and_cost(read, piece, tmp_path, sizes):
    sizes(FAMILIES_READ=read, PIECE_BYTES=piece)
    problem = Layered(7, 8, most=60)
    scores = problem.scores
    written = write_score_cache(Store(tmp_path, 1 << 30), "families-1", scores.parents, scores.costs)
    assert sum(file.bytes for file in written.files) <= score_cache_bytes(scores.costs)
    assert (len(written.files) > 3) == (piece < 1000)
    cache = open_score_cache(tmp_path, written.files, 8)
    assert cache.starts == written.starts
    everything = sorted(
        (varset.bit_count(), child, cost, varset)
        for child in range(8)
        for varset, cost in zip(scores.parents[child][:, 0].tolist(), scores.costs[child].tolist(), strict=True)
    )
    for least, most in ((0, 0), (0, 9), (2, 3), (3, 2), (7, 12), (20, 30)):
        found = []
        for part in cache.families(least, most):
            assert part.costs.size <= read
            assert part.first[-1] == part.costs.size == part.parents.size
            for k, (lo, hi) in enumerate(itertools.pairwise(part.first.tolist())):
                assert lo < hi
                rows = zip(part.costs[lo:hi].tolist(), part.parents[lo:hi].tolist(), strict=True)
                found += [(int(part.size[k]), int(part.child[k]), *row) for row in rows]
        assert [f[:3] for f in found] == [f[:3] for f in everything if least <= f[0] <= most]
        assert sorted(found) == [f for f in everything if least <= f[0] <= most]


def test_a_damaged_score_cache_is_named(tmp_path):
    ready = Layered(3, 6).layered(Store(tmp_path, 1 << 30))
    (tmp_path / "families-1.h5").write_bytes(b"nonsense")
    with Workers(1) as workers, pytest.raises(RunDirectoryError, match=r"families-1\.h5"):
        list(search_layers(ready, workers, IN_MEMORY))


def test_rows_count_in_memory_and_in_files(tmp_path):
    problem = Layered(3, 11)
    sparse, layered = searched(problem.ready()), searched(problem.layered(Store(tmp_path, 1 << 30)))
    for size in range(11):
        nodes = layered[size].layer.nodes
        assert layered[size].layer.memory - sparse[size].layer.memory == 8 * (11 - size) * nodes
        (run,) = layered[size].layer.runs
        written = write_run(run, str(size), Store(tmp_path, 1 << 30))
        assert 8 * (11 - size) * nodes < written.costs.bytes
        assert written.varsets.bytes + written.costs.bytes <= run.file_bytes()
    assert layered[-1].memory == sparse[-1].memory


@pytest.mark.slow
@pytest.mark.parametrize("file", ["uci/flag.csv", "uci/steelPlatesFaults.csv"])
def test_real_data_with_rows_in_files(file, shared_data):
    spilled = []

    def observe(event):
        if isinstance(event, events.LayerEnded):
            spilled.append(event.spilled)

    data = read_csv(shared_data / file)
    result = solve(data, lower_bound="pattern", parent_graph="layered", memory=16 << 20, threads=1, observer=observe)
    row = optima(shared_data).get(file)
    assert_proved(result, solve(data).cost if row is None else float(row["optimal_cost_nats"]))
    assert max(spilled) > 10_000
    assert result.stats["peak_disk_bytes"] > 8 * 10 * max(spilled)


def test_a_run_that_is_stopped_goes_on_with_its_score_cache(tmp_path):
    data = read_csv(EXAMPLES / "wine.csv")
    options = {"parent_graph": "layered", "lower_bound": "static", "run_folder": tmp_path}
    reached = []

    def observe(event):
        if isinstance(event, events.LayerEnded):
            reached.append(event.layer)

    stopped = solve(data, observer=observe, stop=lambda: "interrupted" if reached[-1:] == [4] else None, **options)
    assert stopped.status == "interrupted"
    manifest = read_manifest(tmp_path)
    assert manifest.state.standing["search"]["state"]["cache"] == ["families-1-1.h5"]
    assert "families-1-1.h5" in [file.name for file in manifest.files]
    whole = solve(data, parent_graph="sparse", lower_bound="static")
    result = solve(data, resume=manifest, **options)
    assert_proved(result, whole.cost)
    names = ("nodes_expanded", "nodes_generated", "nodes_kept", "peak_layer")
    assert [result.stats[name] for name in names] == [whole.stats[name] for name in names]
    assert not list(tmp_path.rglob("*.h5"))


def test_a_disk_without_room_for_the_score_cache_ends_the_search():
    result = solve(read_csv(EXAMPLES / "wine.csv"), parent_graph="layered", lower_bound="static", disk=1000)
    assert result.status == "disk_limit"


def test_the_command_line(here, capsys):
    assert main(["solve", str(EXAMPLES / "wine.csv"), "--parent-graph", "layered", "--lower-bound", "static"]) == 0
    assert "status       optimal" in capsys.readouterr().out
    document = json.loads((here / "wine.run" / "result.json").read_text())
    assert document["cost"] == pytest.approx(1280.074832)
    assert document["provenance"]["options"]["parent_graph"] == "layered"
    assert not list(here.rglob("*.h5"))
