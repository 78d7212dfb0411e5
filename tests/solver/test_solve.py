"""The whole solver against brute force: the same optimum with every option, honest bounds whenever it is stopped."""

import itertools
import math

import naive
import numpy as np
import pytest
from cases import (
    cost_of_order,
    dataset_of,
    from_array,
    full_xor_rows,
    random_dataset,
    random_families,
    scores_of,
    xor_rows,
)
from data_invariants import check_scores
from flat import compute_scores, solve
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from large import most_memory_of
from portions import first, some

import extbnsl.parents.exhaustive.by_level
import extbnsl.proof.incumbents
import extbnsl.solver.solve
from extbnsl.core.claims import Claim, tolerance
from extbnsl.core.errors import InputError
from extbnsl.core.events import IncumbentFound, LayerEnded, StageEnded, StageStarted, Warned
from extbnsl.files.manifest import read_manifest
from extbnsl.formats.score_reader import read_scores
from extbnsl.formats.score_writer import write_scores
from extbnsl.kernels.varsets import pack
from extbnsl.machine.workers import Stopped, never
from extbnsl.orders.local_search import Incumbent, improve_order
from extbnsl.scores.local import LocalScores, local_scores
from extbnsl.verify.rescoring import score_network
from extbnsl.verify.verdict import verify

SETTINGS = settings(deadline=None, max_examples=30, suppress_health_check=list(HealthCheck))


def assert_optimal(result, dataset, optimum):
    """The result claims, rightly, that `optimum` is the least cost of a network of the data."""
    assert result.status == "optimal"
    assert result.optimal
    assert result.cost == pytest.approx(optimum, rel=1e-9, abs=1e-9)
    assert result.cost == pytest.approx(score_network(dataset, result.network, Claim()), rel=1e-12, abs=1e-9)
    assert result.lower_bound <= result.cost == result.upper_bound
    slack = tolerance(result.cost) + 1e-9 * len(result.stats["components"])  # each component has its own
    assert result.cost - result.lower_bound <= 1.01 * slack
    assert naive.is_acyclic([sum(1 << p for p in parents) for parents in result.network.parents])
    place = {v: k for k, v in enumerate(result.order)}
    assert len(place) == dataset.variables
    assert all(place[p] < place[c] for p, c in result.network.arcs())
    verdict = verify(result.document(), dataset)
    assert not verdict.findings


def small_dataset(seed):
    rng = np.random.default_rng(seed)
    return random_dataset(rng, int(rng.integers(2, 7)), int(rng.integers(1, 61)))


OPTIONS = ({}, {"lower_bound": "static"}, {"path_extension": False}, {"threads": 2})


@pytest.mark.parametrize("block", first(1, range(6)))
def test_small_data_equal_brute_force(block):
    for seed in range(20 * block, 20 * block + 20):
        dataset = small_dataset(seed)
        codes, arities = dataset.codes, dataset.arities
        brute = naive.optimal_cost_brute if dataset.variables <= 5 else naive.optimal_cost
        optimum = brute(codes, arities)
        for options in OPTIONS:
            assert_optimal(solve(dataset, **({"threads": 1} | options)), dataset, optimum)
        limit = seed % 3
        limited = solve(dataset, threads=1, max_parents=limit)
        assert_optimal(limited, dataset, brute(codes, arities, limit))
        assert limited.max_parents == limit
        assert max(len(p) for p in limited.network.parents) <= limit


@pytest.mark.slow
@pytest.mark.parametrize("block", first(1, range(6)))
def test_larger_data_equal_dynamic_program(block):
    for seed in some(range(5 * block, 5 * block + 5), 2):
        rng = np.random.default_rng(1000 + seed)
        dataset = random_dataset(rng, 7 + seed % 6, int(rng.integers(20, 300)))
        codes, arities = dataset.codes, dataset.arities
        costs = naive.all_local_scores(codes, arities)
        optimum = naive.optimal_cost_dp(len(costs), naive.best_scores(costs))
        for options in OPTIONS:
            assert_optimal(solve(dataset, **({"threads": 1} | options)), dataset, optimum)
        limit = 1 + seed % 3
        few = np.bitwise_count(np.arange(costs.shape[1])) <= limit
        optimum = naive.optimal_cost_dp(len(costs), naive.best_scores(np.where(few, costs, np.inf)))
        assert_optimal(solve(dataset, threads=1, max_parents=limit), dataset, optimum)


@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 7), st.booleans(), st.sampled_from(["static", "pattern"]))
def test_local_scores_equal_dynamic_program(seed, n, path_extension, lower_bound):
    families = random_families(np.random.default_rng(seed), n)
    optimum = naive.optimal_cost_dp(n, naive.best_scores(naive.cost_table(n, families)))
    scores = scores_of(families)
    result = solve(scores, threads=1, path_extension=path_extension, lower_bound=lower_bound)
    assert result.status == "optimal"
    assert result.cost == pytest.approx(optimum, rel=1e-9)
    chosen = [sum(1 << p for p in parents) for parents in result.network.parents]
    assert naive.is_acyclic(chosen)
    assert math.fsum(dict(families[x])[chosen[x]] for x in range(n)) == pytest.approx(result.cost, rel=1e-12)
    assert result.dataset is None
    assert result.score == "file"


@pytest.mark.slow
@SETTINGS
@given(st.integers(0, 2**32), st.integers(2, 6))
def test_children_that_lack_the_empty_set(seed, n):
    rng = np.random.default_rng(seed)
    families = random_families(rng, n)
    last = int(rng.integers(n))  # this one may stand without parents, so a network exists
    for x in range(n):
        if x != last and rng.random() < 0.7:
            families[x] = [f for f in families[x] if f[0]] + [(1 << last, 30.0)] * (1 << last not in dict(families[x]))
    optimum = naive.optimal_cost_dp(n, naive.best_scores(naive.cost_table(n, families)))
    for options in OPTIONS:
        result = solve(scores_of(families), **({"threads": 1} | options))
        assert result.status == "optimal"
        assert result.cost == pytest.approx(optimum, rel=1e-9)
        assert result.lower_bound <= result.cost


@SETTINGS
@given(st.integers(0, 2**32), st.integers(2, 6))
def test_negative_and_huge_costs(seed, n):
    rng = np.random.default_rng(seed)
    scale = float(rng.choice([1e-3, 1.0, 1e6]))
    families = random_families(rng, n, costs=lambda m: rng.normal(0, scale, m))
    optimum = naive.optimal_cost_dp(n, naive.best_scores(naive.cost_table(n, families)))
    result = solve(scores_of(families), threads=1)
    assert result.status == "optimal"
    assert abs(result.cost - optimum) <= 2 * tolerance(optimum)
    assert result.lower_bound <= result.cost


@pytest.mark.parametrize("seed", range(12))
def test_scores_written_and_read_again_give_the_same_cost(seed, tmp_path):
    dataset = small_dataset(seed)
    result = solve(dataset, threads=1)
    write_scores(result.local_scores, tmp_path / "data.jkl")
    again = solve(read_scores(tmp_path / "data.jkl"), threads=1)
    assert again.status == "optimal"
    assert again.cost == pytest.approx(result.cost, rel=1e-12, abs=1e-9)
    every_family = naive.all_local_scores(dataset.codes, dataset.arities)
    families = [[(v, c) for v, c in enumerate(row) if math.isfinite(c)] for row in every_family.tolist()]
    unpruned = solve(scores_of(families), threads=1)
    assert unpruned.cost == pytest.approx(result.cost, rel=1e-9, abs=1e-9)


def test_compute_scores_gives_the_scores_of_a_solve():
    dataset = small_dataset(3)
    scores, solved = compute_scores(dataset, threads=1), solve(dataset, threads=1).local_scores
    for own, other in zip(scores.parents + scores.costs, solved.parents + solved.costs, strict=True):
        np.testing.assert_array_equal(own, other)
    check_scores(scores)


def test_max_parents_limits_local_scores():
    families = [[(0, 9.0), (0b110, 1.0), (0b10, 5.0)], [(0, 4.0)], [(0, 4.0)]]
    assert solve(scores_of(families), threads=1).cost == pytest.approx(9.0)
    limited = solve(scores_of(families), threads=1, max_parents=1)
    assert limited.cost == pytest.approx(13.0)
    assert limited.max_parents == 1
    with pytest.raises(InputError, match="max_parents"):
        solve(scores_of([[(0b10, 1.0)], [(0, 1.0)]]), threads=1, max_parents=0)


def outcome(result):
    """What must not depend on the number of threads."""
    nodes = {k: v for k, v in result.stats.items() if k.startswith("nodes") or k == "peak_layer"}
    return result.network.parents, result.order, result.cost, result.lower_bound, nodes, result.stats["varsets_counted"]


@pytest.mark.parametrize("seed", range(6))
def test_threads_and_repetition_change_nothing(seed):
    rng = np.random.default_rng(seed)
    dataset = random_dataset(rng, 10, 150)
    one = outcome(solve(dataset, threads=1, seed=seed))
    for threads in (1, 2, 3):
        assert outcome(solve(dataset, threads=threads, seed=seed)) == one
    static = outcome(solve(dataset, threads=1, lower_bound="static"))
    assert outcome(solve(dataset, threads=3, lower_bound="static")) == static


def test_the_memory_of_a_search_is_told():
    """Nothing is counted, and nodes dominate; for a moment a task holds its sources and what it makes a second time."""
    rng = np.random.default_rng(1)
    scores = scores_of(random_families(rng, 19, most=30, costs=lambda m: rng.normal(20, 10, m)))
    results = []
    how = {"lower_bound": "static", "path_extension": False, "fixing": False, "memory": 1 << 26}
    peak = most_memory_of(lambda: results.append(solve(scores, threads=1, **how)))
    stats = results[0].stats
    assert stats["nodes_kept"] > 10_000
    assert peak / 4 < stats["search_bytes"] < peak
    assert solve(scores_of([[(0, 1.0)], [(0, 2.0)]]), threads=1).stats["search_bytes"] == 0


@pytest.mark.parametrize("seed", range(4))
def test_the_seed_changes_no_cost(seed):
    dataset = random_dataset(np.random.default_rng(77), 9, 100)
    optimum = naive.optimal_cost(dataset.codes, dataset.arities)
    assert_optimal(solve(dataset, threads=1, seed=seed), dataset, optimum)


@pytest.mark.parametrize(
    ("codes", "arities"),
    [
        ([[0]], None),
        ([[0]], [3]),
        ([[0], [1], [1]], None),
        ([[0, 0, 0]], None),
        ([[0, 1, 0]], [1, 2, 5]),
        (np.zeros((7, 4)), None),
        (np.zeros((7, 4)), [2, 3, 1, 2]),
        ([[0, 0], [1, 1]], None),
        (np.arange(6)[:, None] * [1, 0, 1], None),
    ],
)
def test_degenerate_data(codes, arities):
    dataset = dataset_of(codes, arities)
    optimum = naive.optimal_cost_brute(dataset.codes, dataset.arities)
    for options in OPTIONS:
        assert_optimal(solve(dataset, **({"threads": 1} | options)), dataset, optimum)


def test_several_components():
    rng = np.random.default_rng(5)
    pairs = rng.integers(0, 2, (2000, 4))
    noisy = pairs ^ (rng.random(pairs.shape) < 0.1)
    dataset = dataset_of(np.concatenate([pairs, noisy], axis=1))
    result = solve(dataset, threads=1)
    assert sorted(result.stats["components"]) == [2, 2, 2, 2]
    assert_optimal(result, dataset, naive.optimal_cost(dataset.codes, dataset.arities))


def test_components_that_depend_on_each_other():
    # 0 <-> 1, and 2 <-> 3 may have parents among them, not the other way round; 4 stands alone
    families = [
        [(0, 10.0), (0b00010, 6.0)],
        [(0, 10.0), (0b00001, 5.0)],
        [(0, 20.0), (0b01000, 15.0), (0b00011, 12.0), (0b01001, 7.0)],
        [(0, 20.0), (0b00100, 14.0), (0b00110, 8.0)],
        [(0, 3.0)],
    ]
    result = solve(scores_of(families), threads=1)
    assert sorted(result.stats["components"]) == [1, 2, 2]
    assert result.cost == naive.optimal_cost_dp(5, naive.best_scores(naive.cost_table(5, families))) == 38.0


@pytest.mark.parametrize("rows", [xor_rows(1), *[xor_rows(c) for c in (2, 4)], *[full_xor_rows(c) for c in (2, 5, 50)]])
def test_exclusive_or(rows):
    dataset = dataset_of(rows)
    assert_optimal(solve(dataset, threads=1), dataset, naive.optimal_cost_brute(dataset.codes, dataset.arities))


@pytest.mark.parametrize("rows", [xor_rows(1), full_xor_rows(5)])
def test_exclusive_or_needs_two_parents(rows):
    dataset = dataset_of(rows)
    result = solve(dataset, threads=1)
    assert max(len(p) for p in result.network.parents) == 2
    assert result.cost < naive.optimal_cost_brute(dataset.codes, dataset.arities, 1) - 0.01


class StopAt:
    """A stop signal that begins at the k-th poll (counted from 0) and lasts."""

    def __init__(self, k, reason="interrupted"):
        self.k, self.reason, self.polls = k, reason, 0

    def __call__(self):
        self.polls += 1
        return self.reason if self.polls > self.k else None


def stoppable():
    """A problem of several components, with a search of some layers, and its optimum."""
    rng = np.random.default_rng(17)  # no column is a copy of another one
    dataset = random_dataset(rng, 10, 120)
    return dataset, naive.optimal_cost(dataset.codes, dataset.arities)


def assert_honest(result, problem, optimum, status):
    """A stopped result has a network of its cost, and bounds on both sides of the optimum."""
    assert result.status == status
    assert not result.optimal
    slack = tolerance(optimum)
    assert result.lower_bound <= optimum + slack
    assert optimum <= result.cost + slack
    assert result.lower_bound <= result.upper_bound == result.cost
    assert math.isfinite(result.cost)
    assert sorted(result.order) == list(range(len(result.network.names)))
    result.network.order()
    if result.dataset is not None:
        assert result.cost == pytest.approx(score_network(problem, result.network, Claim()), rel=1e-9)
        assert not verify(result.document(), problem).findings


def polls(problem, **options):
    """How often a solve that is never stopped asks."""
    signal = StopAt(math.inf)
    solve(problem, stop=signal, threads=1, **options)
    return signal.polls


@pytest.mark.slow
@pytest.mark.parametrize("options", first(1, [{}, {"lower_bound": "static"}, {"path_extension": False}]))
def test_stopped_at_any_poll(options, sizes):
    sizes({"by_level.CHUNK": 16, "LOW_BITS": 3, "LEAST_SOURCES": 2})  # small tasks: many polls
    dataset, optimum = stoppable()
    total = polls(dataset, **options)
    assert total > 15
    stopped = 0
    moments = some(range(total), 12)
    for k in moments:  # the last polls may come when there is nothing left to do
        result = solve(dataset, stop=StopAt(k), threads=1, **options)
        stopped += result.status != "optimal"
        if result.status != "optimal":
            assert_honest(result, dataset, optimum, "interrupted")
    assert stopped > len(moments) // 2


@pytest.mark.parametrize("seed", range(3))
def test_stopped_local_scores(seed):
    n = 8
    families = random_families(np.random.default_rng(seed), n, most=30)
    scores = scores_of(families)
    optimum = naive.optimal_cost_dp(n, naive.best_scores(naive.cost_table(n, families)))
    total, stopped = polls(scores), 0
    for k in range(total):  # the last polls may come when there is nothing left to do
        result = solve(scores, stop=StopAt(k), threads=2)
        stopped += result.status != "optimal"
        if result.status != "optimal":
            assert_honest(result, scores, optimum, "interrupted")
    assert stopped > total // 2


def test_the_reason_of_the_stop_is_the_status():
    dataset, optimum = stoppable()
    middle = polls(dataset) // 2
    assert_honest(solve(dataset, stop=StopAt(middle, "memory_limit"), threads=1), dataset, optimum, "memory_limit")


def test_a_run_that_was_stopped_and_goes_on_is_optimal(tmp_path):
    data = random_dataset(np.random.default_rng(5), 9, 60)
    layers = []

    def observe(event):
        if isinstance(event, LayerEnded):
            layers.append(event.layer)

    options = {"lower_bound": "static", "run_folder": tmp_path}
    stopped = solve(data, observer=observe, stop=lambda: "interrupted" if layers[-1:] == [2] else None, **options)
    assert stopped.status == "interrupted"
    result = solve(data, resume=read_manifest(tmp_path), **options)
    assert (result.status, result.cost) == ("optimal", solve(data).cost)


def test_lower_bounds_rise_with_the_work_done():
    dataset, _ = stoppable()
    total = polls(dataset)
    bounds = [solve(dataset, stop=StopAt(k), threads=1).lower_bound for k in range(0, total, max(1, total // 20))]
    assert all(later >= earlier - 1e-9 for earlier, later in itertools.pairwise(bounds))
    assert bounds[-1] > bounds[0]


def test_a_stopped_solve_knows_since_when_it_has_its_network():
    dataset, _ = stoppable()
    total = polls(dataset, lower_bound="static")
    stops = range(0, total, max(1, total // 20))
    results = [solve(dataset, lower_bound="static", stop=StopAt(k), threads=1) for k in stops]
    known = [(result, result.stats["improved"]) for result in results if result.stats["improved"]]
    assert known
    for result, improved in known:
        assert improved["cost"] == pytest.approx(result.cost)
        assert 0.0 <= improved["seconds"] <= result.stats["seconds"]
        assert improved["lower_bound"] <= result.lower_bound + tolerance(result.cost)


@pytest.mark.parametrize("time_limit", [1e-9, 1e-3])
def test_a_tiny_time_limit(time_limit):
    dataset, optimum = stoppable()
    result = solve(dataset, time_limit=time_limit, threads=1)
    assert_honest(result, dataset, optimum, "time_limit")


@pytest.mark.parametrize(("memory", "enough"), [(1, False), (1000, False), (20_000, True), (1 << 20, True)])
def test_little_memory_is_honest(memory, enough):
    dataset, optimum = stoppable()
    result = solve(dataset, memory=memory, threads=1)
    if enough:
        assert_optimal(result, dataset, optimum)
    else:
        assert_honest(result, dataset, optimum, "memory_limit")


@pytest.mark.parametrize(
    "options",
    [
        {"max_parents": -1},
        {"threads": 0},
        {"memory": 0},
        {"time_limit": 0},
        {"time_limit": -1.0},
        {"time_limit": math.nan},
        {"lower_bound": "none"},
    ],
)
def test_bad_arguments(options):
    name = next(iter(options))
    with pytest.raises(InputError, match=name):
        solve(dataset_of([[0, 1], [1, 0]]), **options)


def test_compute_scores_refuses_and_stops():
    dataset = small_dataset(0)
    with pytest.raises(InputError, match="max_parents"):
        compute_scores(dataset, max_parents=-1)
    with pytest.raises(Stopped, match="interrupted"):
        compute_scores(dataset_of(full_xor_rows(3)), threads=1, stop=StopAt(0))


def test_compute_scores_needs_no_memory_where_there_is_disk():
    dataset = small_dataset(0)
    little, ample = (compute_scores(dataset, threads=1, memory=memory) for memory in (1, 1 << 30))
    assert little.fingerprint == ample.fingerprint


def test_events_come_in_a_sane_order():
    dataset, optimum = stoppable()
    events = []
    result = solve(dataset, threads=1, observer=events.append, lower_bound="static")  # which leaves something to search
    entered = [e.stage for e in events if isinstance(e, StageStarted)]
    assert entered[0] == "scores"
    assert entered[-1] == "verify"
    open_stage = None
    for event in events:
        if isinstance(event, StageStarted):
            assert open_stage is None
            open_stage = event.stage
        elif isinstance(event, StageEnded):
            assert event.stage == open_stage
            assert event.seconds >= 0
            open_stage = None
        elif isinstance(event, LayerEnded):
            assert open_stage == "search"
            assert 0 <= event.layer <= event.layers
            assert event.lower_bound <= optimum + tolerance(optimum)
            assert optimum <= event.upper_bound + tolerance(optimum)
        elif isinstance(event, IncumbentFound):
            assert open_stage in ("incumbent", "search")
    assert open_stage is None
    assert any(isinstance(event, IncumbentFound) for event in events)
    layers = [e for e in events if isinstance(e, LayerEnded)]
    assert len(layers) > 2
    for earlier, later in itertools.pairwise(layers):
        assert (earlier.component, earlier.layer) < (later.component, later.layer)
        assert earlier.lower_bound <= later.lower_bound + 1e-9
        assert later.upper_bound <= earlier.upper_bound + 1e-9
    assert set(result.stats["stages"]) == set(entered)


def independent_pairs(pairs):
    """A data set of so many independent pairs of variables, which are equal in seven of eight records."""
    draws = np.array(list(itertools.product(range(8), repeat=pairs)))
    return dataset_of(np.stack([draws & 1, draws & 1 ^ (draws < 1)], axis=2).reshape(len(draws), -1))


def test_many_small_components_are_one_line_and_the_others_say_which_they_are():
    events = []
    result = solve(independent_pairs(5), threads=1, observer=events.append)
    assert result.stats["components"] == [2] * 5
    ended = [e for e in events if isinstance(e, StageEnded)]
    assert [e.stage for e in ended] == ["scores", "incumbent", "components", "verify"]
    assert ended[1].summary == f"5 components of up to 2 variables; cost {result.cost:.3f}"
    assert ended[2].summary.startswith(f"5 of up to 2 variables; in all: best bound {result.cost:.3f}, ")
    assert not [e for e in events if isinstance(e, LayerEnded)]
    assert all(e.cost == pytest.approx(result.cost) for e in events if isinstance(e, IncumbentFound))
    assert result.stats["stages"]["bounds"]["seconds"] > 0
    events.clear()
    result = solve(independent_pairs(3), threads=1, observer=events.append)
    bounds = [e.detail for e in events if isinstance(e, StageStarted) and e.stage == "bounds"]
    assert bounds == [f"component {k} of 3, 2 variables" for k in (1, 2, 3)]


def test_warnings_are_told_and_kept():
    dataset = dataset_of([[0, 1], [1, 0]])
    warned = type(dataset)(dataset.names, dataset.states, dataset.codes, "<test>", ("Look at this.",))
    events = []
    result = solve(warned, observer=events.append, threads=1)
    assert result.warnings == ("Look at this.",)
    assert Warned("Look at this.") in events


def test_names_and_states_that_bif_spells_in_another_way_are_counted():
    dataset = from_array([[0, 0], [1, 0], [2, 1], [3, 1], [3, 0]] * 9, ["年齢", "b"], discretise="年齢=mean")
    events = []
    result = solve(dataset, observer=events.append, threads=1)
    (warning,) = result.warnings
    assert warning.startswith("network.bif spells 3 names or states in another way")
    assert Warned(warning) in events
    assert [line[:2] for line in result.to_bif().splitlines()].count("//") == 3


@pytest.mark.parametrize("n", [63, 64, 65, 70])
def test_a_chain_around_the_word_size(n):
    """Every variable may only have its neighbours as parents: a single component with a known optimum."""
    pairs = []
    for x in range(n):
        neighbours = [y for y in (x - 1, x + 1) if 0 <= y < n]
        varsets = np.zeros((1 + len(neighbours), -(-n // 64)), dtype=np.uint64)
        for k, y in enumerate(neighbours):
            varsets[k + 1, y // 64] = np.uint64(1 << y % 64)
        pairs.append((varsets, np.array([2.0] + [1.0] * len(neighbours))))
    result = solve(local_scores([f"v{j}" for j in range(n)], pairs, "file"), threads=1)
    optimum = n + 1.0  # one variable goes without a parent
    assert result.lower_bound <= optimum
    assert result.status == "optimal"
    assert result.cost == pytest.approx(optimum)


def test_the_result_is_complete():
    dataset = small_dataset(8)
    result = solve(dataset, threads=1, seed=5)
    assert isinstance(result.local_scores, LocalScores)
    assert result.digest == dataset.fingerprint
    assert result.dataset is dataset
    assert result.seed == 5
    assert result.options["threads"] == 1
    best = naive.best_scores(naive.all_local_scores(dataset.codes, dataset.arities))
    assert cost_of_order(result.order, best) == pytest.approx(result.cost, rel=1e-9)
    assert "network " in result.to_bif()
    assert result.to_dot().startswith("digraph")


def test_a_better_network_between_layers_tightens_the_search(monkeypatch, sizes, tmp_path):
    """The first incumbent is poor; the second attempt, between two layers, is not."""
    dataset = random_dataset(np.random.default_rng(7), 11, 300)
    attempts, found = [], []

    def search_orders(tables, n, workers, seed, effort, on_better, feasible):
        attempts.append(seed)
        if len(attempts) > components_searched:
            return real(tables, n, workers, seed, effort, on_better, feasible)
        order, halt = np.arange(n), np.ones(1, np.uint8)
        return Incumbent(order, improve_order(order, np.ones(1, np.uint64), 0, halt, tables)[1])

    real = extbnsl.proof.incumbents.search_orders
    options = {"lower_bound": "static", "threads": 1}
    whole = solve(dataset, **options)
    components_searched = sum(size > 1 for size in whole.stats["components"])
    monkeypatch.setattr(extbnsl.proof.incumbents, "search_orders", search_orders)
    poor = solve(dataset, **options)
    assert len(attempts) == components_searched
    attempts.clear()
    sizes(FEWEST_NODES=8)
    better = solve(dataset, run_folder=tmp_path, observer=found.append, **options)
    assert len(attempts) > components_searched
    assert better.cost == poor.cost == whole.cost
    assert better.stats["nodes_kept"] < poor.stats["nodes_kept"]
    costs = [event.cost for event in found if isinstance(event, IncumbentFound)]
    assert costs == sorted(costs, reverse=True)


def chain_without_empty_sets(n, cost=1.0):
    """Local scores in which each variable but the first needs the one before it, or any other."""
    families = []
    for x in range(n):
        sets = [()] if x == 0 else [(x - 1,), ((x + 1) % n,)]
        varsets = np.array([pack(own, n) for own in sets])
        families.append((varsets, np.arange(1.0, len(sets) + 1.0) * cost))
    return local_scores([f"v{x}" for x in range(n)], families, "file")


@pytest.mark.parametrize("n", [12, 70])
@pytest.mark.parametrize("cost", [1.0, 1e11])
@pytest.mark.parametrize("polls", [0, 1, 5, None])
def test_children_without_the_empty_set_always_get_a_network(n, cost, polls):
    """However early it is stopped: then with a network and bounds, each of which holds.

    Its cheapest families may be found in the moment that a stop takes: they are a proof.
    """
    scores = chain_without_empty_sets(n, cost)
    seen = itertools.count()
    stop = never if polls is None else lambda: "interrupted" if next(seen) >= polls else None
    result = solve(scores, threads=1, stop=stop)
    assert result.network.order() is not None
    assert result.cost >= n * cost
    assert result.lower_bound <= n * cost
    if polls is None or result.status != "interrupted":
        assert result.status == "optimal"
        assert result.cost == pytest.approx(n * cost, rel=1e-9)


def test_the_bound_of_several_components_is_what_they_prove():
    """Costs of either sign: the total is small, but each component is proved within its own tolerance."""
    families = [[(0, 2e12), (2, 2e12 - 3)], [(0, 1e12)], [(0, -2e12), (8, -2e12 - 3)], [(0, -1e12)]]
    result = solve(scores_of(families), threads=1)
    assert result.status == "optimal"
    assert result.cost == pytest.approx(-6.0, abs=1e-2)
    proved = sum(cost - tolerance(cost) for cost in (2e12 - 3, 1e12, -2e12 - 3, -1e12))
    assert result.lower_bound == pytest.approx(proved, rel=1e-6)
