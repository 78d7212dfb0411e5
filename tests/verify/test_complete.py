"""Every network below a limit, each once: as brute force has it, whatever guide, limit and known network there are."""

import itertools
import math

import naive
import numpy as np
import pytest
from asking import k_best_networks
from cases import EVERY_SCORE, claim_by, dataset_of, random_dataset, random_families, random_numbers, scores_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from knowing import random_knowledge

from extbnsl.bounds.ascent import find_multipliers
from extbnsl.bounds.lp.polish import EFFORT, LACKING, Goal, Polished, polished
from extbnsl.bounds.multipliers import families_of
from extbnsl.core.claims import TIME_LIMIT, Claim, tolerance
from extbnsl.core.errors import VerificationError
from extbnsl.core.knowledge import NOTHING
from extbnsl.data.reading import read_csv
from extbnsl.kbest.scope import Scope
from extbnsl.kernels.varsets import pack, unpack
from extbnsl.machine.budgets import Budgets
from extbnsl.machine.workers import Stopped, Workers, unhalted
from extbnsl.scores.local import local_scores
from extbnsl.verify.certificate import TooMuch
from extbnsl.verify.complete import Question, networks_below
from extbnsl.verify.demands import demands_of
from extbnsl.verify.listed import cycle_of, scored_family
from extbnsl.verify.order_nodes import Walkable, walk
from extbnsl.verify.recount import family_source
from extbnsl.verify.steps import NO_CUTS, Pass

SETTINGS = settings(deadline=None, max_examples=8, suppress_health_check=list(HealthCheck))
ROOM = 1 << 30
ROUNDING = 1e-7  # nats: more than what costs of some hundred records are off
BUDGETS = Budgets(threads=1, memory=1 << 30)


def question_of(problem, claim, workers, guide=NO_CUTS, least=None):
    """least: what somebody says of the reduced costs, true or not."""
    demands = demands_of(problem.names, claim.max_parents, claim.knowledge)
    source = family_source(problem, claim, demands, workers, every=True)

    def scored(x, parents):
        return scored_family(problem, x, parents, claim)

    return Question(problem.names, source, scored, guide, least)


def found(problem, claim, limit, known, guide=NO_CUTS, threads=1, room=ROOM, least=None):
    """The networks as tuples of parent sets, and what each costs."""
    with Workers(threads) as workers:
        question = question_of(problem, claim, workers, guide, least)
        networks = list(networks_below(question, limit, known, workers, room))
    return [(tuple(f.parents for f in families), math.fsum(f.cost for f in families)) for families in networks]


def all_networks(problem, claim):
    """What every network costs that is as demanded, by its parent sets."""
    demands = demands_of(problem.names, claim.max_parents, claim.knowledge)
    n = len(problem.names)

    def cost(x, varset):
        parents = tuple(naive.members(varset))
        if demands.fault(problem.names, x, parents) is not None:
            return math.inf
        try:
            return scored_family(problem, x, parents, claim).cost
        except VerificationError:
            return math.inf

    costs = [[cost(x, varset) if not varset >> x & 1 else math.inf for varset in range(1 << n)] for x in range(n)]
    graphs = ((tuple(graph), math.fsum(costs[x][own] for x, own in enumerate(graph))) for graph in naive.all_dags(n))
    return {graph: cost for graph, cost in graphs if cost < math.inf}


def random_guide(rng, names):
    """Cuts of any clusters with multipliers that help or do harm."""
    n, cuts = len(names), []
    for _ in range(int(rng.integers(0, 6))):
        clusters = [rng.permutation(n)[: rng.integers(1, n + 1)] for _ in range(rng.choice([1, 3]))]
        cuts.append(tuple(tuple(names[v] for v in cluster) for cluster in clusters))
    return Pass(tuple(cuts), tuple(int(m) for m in rng.integers(1, 1 << 37, len(cuts))))


def assert_all_found(problem, claim, rng, threads=1):
    """All networks below a limit, whether few or all are, and no others but by rounding."""
    every = all_networks(problem, claim)
    costs = sorted(every.values())
    if not costs:
        return
    some = list(every)[int(rng.integers(0, len(every)))]
    known = tuple(tuple(naive.members(own)) for own in some)
    for limit in {costs[0] - 1.0, costs[0] + ROUNDING, costs[len(costs) // 3], costs[-1], costs[-1] + 1.0}:
        guide = random_guide(rng, problem.names)
        least = None if rng.random() < 0.5 else rng.integers(-(1 << 42), 1 << 43, len(problem.names)).tolist()
        networks = found(problem, claim, limit, known, guide, threads, least=least)
        assert len(networks) == len(dict(networks))
        for graph, cost in networks:
            assert cost == every[graph]
            assert cost < limit + ROUNDING
        assert {graph for graph, cost in every.items() if cost < limit} <= dict(networks).keys()


@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(1, 3), st.booleans())
def test_all_networks_of_local_scores_are_found(seed, n, threads, knowing):
    """Of either sign, with ties."""
    rng = np.random.default_rng(seed)
    scores = scores_of(random_families(rng, n, 20, lambda m: rng.integers(-5, 9, m).astype(float)))
    knowledge = random_knowledge(rng, scores.names, None) if knowing else NOTHING
    assert_all_found(scores, Claim("file", knowledge=knowledge), rng, threads)


@pytest.mark.parametrize("score", EVERY_SCORE)
@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(2, 60), st.sampled_from([None, None, 1, 2]), st.booleans())
def test_all_networks_of_data_are_found(score, seed, n, records, max_parents, knowing):
    """With constant columns, and states that never occur."""
    rng = np.random.default_rng(seed)
    dataset = random_dataset(rng, n, records, 3)
    knowledge = random_knowledge(rng, dataset.names, max_parents) if knowing else NOTHING
    assert_all_found(dataset, claim_by(score, max_parents, knowledge), rng)


@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 4), st.sampled_from([None, 1]))
def test_all_networks_of_numbers_are_found(seed, n, max_parents):
    rng = np.random.default_rng(seed)
    numbers = random_numbers(rng, n, int(rng.integers(n + 2, 60)))
    assert_all_found(numbers, claim_by("gaussian-bic", max_parents), rng)


@pytest.mark.parametrize(("n", "graphs"), [(1, 1), (2, 3), (3, 25), (4, 543), (5, 29281)])
def test_a_walk_meets_each_network_once(n, graphs):
    """With all families, all for nothing; the first of them where room or steps do not do."""
    others = [[own for own in range(1 << n) if not own >> x & 1] for x in range(n)]
    walkable = Walkable(
        np.concatenate([np.array(own, np.uint64) for own in others]),
        np.zeros(n << n - 1, np.int64),
        np.arange(n + 1) << n - 1,
        np.arange(1 << n, dtype=np.uint64),
        np.zeros(1 << n, np.int64),
    )
    rows, costs = np.empty((1 << 15, n), np.int32), np.empty(1 << 15, np.int64)
    count, steps = walk(walkable, 1, 1 << 30, rows, costs, unhalted())
    seen = [tuple(own) for own in rows[:count].tolist()]
    assert len(seen) == len(set(seen)) == graphs
    assert steps > graphs
    sets = [[int(walkable.parents[row]) for row in own] for own in seen]
    assert all(map(naive.is_acyclic, sets))
    for size, most in ((1, 1 << 30), (1 + graphs // 2, 1 << 30), (1 << 15, 0), (1 << 15, 1), (1 << 15, steps // 2)):
        some, own = np.empty((size, n), np.int32), np.empty(size, np.int64)
        count, made = walk(walkable, 1, most, some, own, unhalted())
        assert (some[:count] == rows[:count]).all()
        assert count == size or made == most
        assert count <= made <= most
    assert walk(walkable, 1, 1 << 30, rows, costs, np.ones(1, np.uint8)) == (0, 0)


def parts_of(sizes, seed):
    """Local scores of variables in parts of these sizes, and of all networks the costs by brute force, ascending."""
    rng = np.random.default_rng(seed)
    families, costs, begin = [], [0.0], 0
    for size in sizes:
        own = random_families(rng, size, 6, lambda m: rng.integers(0, 30, m) / 4)
        own[0].append(((1 << size) - 2, 0.25))  # all hang together in one part, and not with the others
        for x in range(1, size):
            own[x].append((1, 0.5))
        own = [list(dict(one).items()) for one in own]
        table = naive.cost_table(size, own)
        some = [sum(table[x, parents] for x, parents in enumerate(graph)) for graph in naive.all_dags(size)]
        costs = [a + b for a in costs for b in some if b < math.inf]
        # the next part may have parents in the first one
        families += [[(parents << begin | (begin > 0), cost) for parents, cost in one] for one in own]
        begin += size
    return scores_of(families), sorted(costs)


@pytest.mark.parametrize(("sizes", "seed"), [((2, 3), 0), ((3, 1, 2), 1), ((1, 1, 1), 2), ((4, 2), 3), ((1,), 4)])
def test_networks_are_put_together_from_pieces(sizes, seed):
    scores, costs = parts_of(sizes, seed)
    empty = tuple(unpack(min(own, key=lambda row: int(np.bitwise_count(row).sum()))) for own in scores.parents)
    for limit in (costs[0] + 0.1, costs[len(costs) // 2] + 0.1, costs[-1] + 0.1):
        networks = found(scores, Claim("file"), limit, empty)
        assert len(networks) == len(dict(networks))
        assert sorted(cost for _, cost in networks) == pytest.approx([cost for cost in costs if cost < limit])


def test_more_variables_than_a_mask_has(sizes):
    """A hundred variables in pairs, each of which can go either way; some for the same cost."""
    n, known = 100, ((),) * 100
    pairs = [
        (np.stack([pack((), n), pack((x ^ 1,), n)]), np.array([2.0, 1.0 + (x > 5) * (x % 2) / 4])) for x in range(n)
    ]
    scores = local_scores([f"v{x}" for x in range(n)], pairs, "file", None)
    best = 50 * 3.0
    assert found(scores, Claim("file"), best - 0.1, known) == []
    networks = found(scores, Claim("file"), best + 0.1, known)
    assert len(dict(networks)) == len(networks) == 8
    networks = found(scores, Claim("file"), best + 0.35, known)
    assert len(dict(networks)) == len(networks) == 8 * (1 + 47)
    sizes(MOST_NETWORKS=384)
    assert len(found(scores, Claim("file"), best + 0.35, known)) == 384
    sizes(MOST_NETWORKS=100)
    with pytest.raises(TooMuch, match="more than 100 networks, or parts of them"):
        found(scores, Claim("file"), best + 0.35, known)


def ring(n):
    """Local scores in which each variable wants the next one."""
    return scores_of([[(0, 2.0), (1 << (x + 1) % n, 1.0)] for x in range(n)])


def test_a_piece_may_be_too_large(sizes):
    scores, known = ring(9), ((),) * 9
    assert len(found(scores, Claim("file"), 10.5, known)) == 9
    sizes({"complete.LARGEST": 8})
    with pytest.raises(TooMuch, match="9 variables hang together, and a search takes 8"):
        found(scores, Claim("file"), 10.5, known)


def why_given_up(problem, limit, workers, met, room=ROOM):
    """Why it does not come to the end; met: gets the networks that come before that, and there should be none."""
    question = question_of(problem, Claim("file"), workers)
    try:
        for families in networks_below(question, limit, ((),) * len(problem.names), workers, room):
            assert not cycle_of(families)
            met.append(families)
    except (TooMuch, Stopped) as why:
        return str(why)
    raise AssertionError("it came to the end")


def test_a_walk_that_takes_too_long_is_given_up(sizes):
    sizes({"complete.MOST_STEPS": 1000})
    met = []
    with Workers(1) as workers:
        assert why_given_up(ring(9), 13.5, workers, met) == "a walk to the networks takes more than 1,000 steps"
    assert not met


def test_a_search_that_takes_too_much_room_is_given_up():
    met = []
    with Workers(1) as workers:
        assert "a search of 9 variables has" in why_given_up(ring(9), 18.5, workers, met, 3000)
    assert not met


@pytest.mark.parametrize("after", [0, 5, 10])
def test_a_stop_is_heard(after):
    asked, met = itertools.count(), []
    with Workers(1, lambda: TIME_LIMIT if next(asked) >= after else None) as workers:
        assert why_given_up(ring(9), 13.5, workers, met) == TIME_LIMIT
    assert next(asked) > after
    assert not met


def guide_of(scores):
    """Good multipliers for the families of a solve."""
    with Workers(1) as workers:
        families = families_of(scores.parents, scores.costs)
        begun = Polished(find_multipliers(families, None, 20, 0, workers))
        own = polished(families, begun, Goal(math.inf, LACKING, ROOM), EFFORT, workers).multipliers
    clusters = [[unpack(cluster) for cluster in cut if cluster.any()] for cut in own.cuts]
    names = tuple(tuple(tuple(scores.names[v] for v in cluster) for cluster in cut) for cut in clusters)
    return Pass(names, tuple(own.weights.tolist()))


def assert_complete(problem, scope, claim=Claim()):
    """All networks that cost less than the last of a list are in it, and those in it are found."""
    result = k_best_networks(problem, scope, claim, budgets=BUDGETS)
    limit = result.networks[-1].cost - tolerance(result.networks[-1].cost)
    networks = found(problem, claim, limit, result.network.parents, guide_of(result.local_scores))
    assert len(networks) == len(dict(networks))
    listed = {tuple(sum(1 << p for p in own) for own in one.network.parents): one.cost for one in result.networks}
    below = {graph for graph, cost in networks if cost < limit}
    assert below == {graph for graph, cost in listed.items() if cost < limit}
    return len(below)


@pytest.mark.parametrize(("score", "n"), [("mdl", 10), ("aic", 7), ("bdeu", 8), ("fnml", 8)])
def test_lists_are_complete(score, n):
    """Of records in which each variable follows others."""
    rng = np.random.default_rng(n)
    codes = rng.integers(0, 3, (150, n))
    for v in range(2, n):
        follows = rng.random(150) < 0.7
        codes[follows, v] = (codes[follows, v - 1] * codes[follows, rng.integers(0, v - 1)]) % 3
    assert assert_complete(dataset_of(codes), Scope(k=200), claim_by(score)) > 50


def test_lists_of_numbers_are_complete():
    numbers = random_numbers(np.random.default_rng(5), 7, 200)
    assert assert_complete(numbers, Scope(k=100), claim_by("gaussian-bic")) > 50


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hepatitis", "spect", "autos", "flag"])
def test_lists_of_real_data_are_complete(name, shared_data):
    dataset = read_csv(shared_data / "uci" / f"{name}.csv")
    assert 0 < assert_complete(dataset, Scope(k=1000)) <= 1000
