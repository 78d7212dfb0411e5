"""Trees of branching: those of the solver are accepted, and whatever is accepted is true, by brute force."""

import itertools
import math
import random
from dataclasses import replace

import naive
import numpy as np
import pytest
from cases import random_families, scores_of, wishful
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from patching import sized
from trees import grown

from extbnsl.core.claims import TIME_LIMIT
from extbnsl.machine.workers import Stopped, Workers
from extbnsl.verify.branching import Answer, Branching, TreeNode
from extbnsl.verify.certificate import MOST_UNITS, floor_units
from extbnsl.verify.passes import Families, packed_cuts
from extbnsl.verify.recount import _after_passes, _answered, _below, _has_order, fault_of_tree

SETTINGS = settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
SLACK = 3  # units a variable: what rounding the costs down may take from a bound


@pytest.fixture(autouse=True)
def _by_clusters_alone(sizes):
    """Cuts of three clusters would leave little to branch on."""
    sizes(TRIPLES=0)


def with_dominated(families):
    """The families with those of one parent more that cost the same: others take their place."""
    n, more = len(families), []
    for x, own in enumerate(families):
        found = dict(own)
        for (parents, cost), y in itertools.product(own, range(n)):
            if y != x:
                found.setdefault(parents | 1 << y, cost)
        more.append(sorted(found.items()))
    return more


def some_families(seed, n):
    """Families of several kinds: that want many parents, with many ties, or costs of either sign."""
    rng = np.random.default_rng(seed)
    if seed % 3 == 0:
        return wishful(seed, n)
    if seed % 3 == 1:
        return random_families(rng, n, 14)
    return [[(p, c - 15.0) for p, c in own] for own in wishful(seed, n)]


def optimum_of(families):
    return naive.optimal_cost_dp(len(families), naive.best_scores(naive.cost_table(len(families), families)))


def families_of(families):
    """All of the families as a check has them, none left out."""
    scores = scores_of(families)
    first = np.cumsum([0, *(costs.size for costs in scores.costs)])
    costs = np.floor(np.concatenate(scores.costs) * 2.0**36).astype(np.int64)
    return Families(np.arange(len(families)), first, np.concatenate(scores.parents), costs)


def after_passes(*given):
    """What the passes of a node leave."""
    with Workers(1) as workers:
        return _after_passes(*given, workers)


def target_of(own):
    return floor_units(own.shown) - SLACK * len(own.names)


@pytest.mark.slow
@SETTINGS
@given(st.integers(0, 2**32), st.integers(4, 7), st.sampled_from([math.inf, 5.0, 1e-3, 0.0, -0.5]), st.booleans())
def test_trees_of_the_solver_are_accepted_and_prove_no_more_than_is_true(seed, n, beyond, dominated):
    """Below a limit that is above the optimum, or not; with families that another one takes the place of, or not."""
    families = some_families(seed, n)
    own = grown(families, optimum_of(families) + beyond)
    if dominated:
        families = with_dominated(families)
        own = replace(own, families=families_of(families))
    assert own.fault(target_of(own)) is None
    for more in (1, 2, 1000, 1 << 36, 1 << 40):
        assert own.fault(own.optimum + more) is not None


@pytest.mark.parametrize("seed", [114, 138])
def test_families_that_others_take_the_place_of_do_not_matter(seed):
    """Under the answer that they fit the solver had others, or none: so they must not keep a node from being closed."""
    families = with_dominated(wishful(seed, 7))
    own = grown(families, optimum_of(families) - 1e-8)
    assert own.fault(target_of(own)) is None
    assert replace(own, families=families_of(families)).fault(target_of(own)) is None


@SETTINGS
@given(st.integers(0, 2**32), st.integers(2, 4), st.sampled_from([0.0, 1e-6, 0.5, 3.0]))
def test_no_network_below_the_target_is_left_out(seed, n, beyond):
    """Whatever the target: each network below it stays at every node whose answers it gives, down to one that is not
    closed; and where there is none, the tree that proves it is accepted."""
    families = some_families(seed, n)
    own = grown(families)
    target = own.optimum + floor_units(beyond)
    cheap = networks_below(own, target)
    place = {name: i for i, name in enumerate(own.names)}
    cuts, below = packed_cuts(own.tree.cuts, place), _below(own.tree.nodes)
    for network in cheap:
        number, left, leads = 0, own.families, np.eye(n, dtype=bool)
        while number is not None:
            left = after_passes(own.tree.nodes[number], left, cuts, target)
            assert left is not None
            assert all(p in rows_of(left, x) for x, p in enumerate(network))
            number = next((k for k in below[number] if gives(network, own.tree.nodes[k].answer, place)), None)
            if number is not None:
                left, leads = _answered(left, leads, own.tree.nodes[number], place)
                assert all(p in rows_of(left, x) for x, p in enumerate(network))
    assert (own.fault(target) is None) <= (not cheap)
    assert own.fault(target - n * SLACK - floor_units(beyond)) is None


def networks_below(own, target):
    """All acyclic choices of a family for each child that together cost less, as tuples of parent varsets."""
    return [
        tuple(p for p, _ in chosen)
        for chosen in itertools.product(*own.pairs())
        if sum(c for _, c in chosen) < target and naive.is_acyclic(tuple(p for p, _ in chosen))
    ]


def rows_of(families, x):
    lo, hi = families.first[x : x + 2].tolist()
    return families.varsets[lo:hi, 0].tolist()


def gives(network, answer, place):
    """Whether a network gives an answer."""
    return (network[place[answer.child]] >> place[answer.parent] & 1) == answer.has


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_do_not_matter(threads):
    assert grown(wishful(0, 6), threads=threads).tree == grown(wishful(0, 6)).tree


@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(1, 3))
def test_an_order_is_found_where_there_is_one(seed, n, most):
    """As brute force has it, with parents from elsewhere in the second of two words."""
    rng = np.random.default_rng(seed)
    own = [rng.integers(1, 1 << n, rng.integers(1, most + 1)) & ~(1 << x) for x in range(n)]
    varsets = [[int(rng.integers(8)), int(p)] for some in own for p in some]
    first = np.cumsum([0, *map(len, own)])
    families = Families(np.arange(64, 64 + n), first, np.array(varsets, np.uint64), np.zeros(first[-1], int))
    exists = any(naive.is_acyclic(tuple(int(p) for p in chosen)) for chosen in itertools.product(*own))
    assert _has_order(families) == exists


@SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 6), st.integers(1, 30), st.integers(1, 3))
def test_needed_families_are_those_that_no_other_takes_the_place_of(seed, n, most, spare):
    """Parents beyond the variables do not count; of several that are alike one stays."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, most + 1, n)
    inside = [rng.integers(0, 1 << n, size) & ~(1 << x) for x, size in enumerate(sizes)]
    varsets = np.array([[int(rng.integers(4)), int(p)] for some in inside for p in some], np.uint64)
    families = Families(np.arange(64, 64 + n), np.cumsum([0, *sizes]), varsets, rng.integers(-3, 4, sizes.sum()))
    with Workers(2) as workers:
        needed = families.needed(np.zeros(n, np.int64), workers)
        fewer = families.needed(np.full(n, spare), workers)
    assert fewer.costs.size <= needed.costs.size
    for x in range(n):
        lo, hi = families.first[x : x + 2].tolist()
        own = set(zip(inside[x].tolist(), families.costs[lo:hi].tolist(), strict=True))
        minimal = {(p, c) for p, c in own if not any(q & ~p == 0 and d <= c and (q, d) != (p, c) for q, d in own)}
        lo, hi = needed.first[x : x + 2].tolist()
        kept = list(zip(needed.varsets[lo:hi, 1].tolist(), needed.costs[lo:hi].tolist(), strict=True))
        assert len(kept) == len(set(kept))
        assert set(kept) == minimal
        lo, hi = fewer.first[x : x + 2].tolist()
        left = list(zip(fewer.varsets[lo:hi, 1].tolist(), fewer.costs[lo:hi].tolist(), strict=True))
        assert all(any(q & ~p == 0 and d <= c + spare for q, d in left) for p, c in own)


def test_a_network_that_is_left_alone_is_compared_with_the_target():
    """Without any cuts: at the leaves there is one family for each child, or a cycle."""
    families = [[(0, 4.0), (2, 1.0)], [(0, 3.0), (1, 1.0)]]
    own = grown(families)
    answers = [None, Answer("v0", "v1", True), Answer("v0", "v1", False)]
    answers += [Answer("v1", "v0", has) for has in (True, False)]
    passes = (((), ()),)
    nodes = [TreeNode(above, answer, passes) for above, answer in zip((-1, 0, 0, 2, 2), answers, strict=True)]
    nodes = tuple(replace(node, passes=()) if k in (0, 2) else node for k, node in enumerate(nodes))
    tree = Branching(own.names, 4.0, (), nodes)
    four = floor_units(4.0)
    assert own.fault(four, tree) is None
    assert own.fault(four + 1, tree) == "its node 1 is not closed, and has not both answers to a question below it"
    assert own.fault(four, replace(tree, nodes=nodes[:1])).startswith("its node 0 is not closed")


@pytest.fixture(scope="module")
def whole():
    """A tree with inner nodes at several levels, all of whose nodes are needed."""
    families = wishful(7, 7)
    with sized(TRIPLES=0):
        own = grown(families, optimum_of(families))
    own = replace(own, tree=trimmed(own))
    assert len(own.tree.nodes) > 15
    return own


def trimmed(own):
    """The tree without what is below nodes that are closed themselves."""
    place = {name: i for i, name in enumerate(own.names)}
    cuts, below = packed_cuts(own.tree.cuts, place), _below(own.tree.nodes)
    waiting, spare = [(0, own.families, np.eye(own.width, dtype=bool))], []
    for number, left, leads in waiting:
        found = after_passes(own.tree.nodes[number], left, cuts, target_of(own))
        if found is None:
            spare += below[number]
        else:
            waiting += [(k, *_answered(found, leads, own.tree.nodes[k], place)) for k in below[number]]
    tree = own.tree
    for number in sorted(spare, reverse=True):
        tree = without(tree, number)
    return tree


def inner(tree):
    """The nodes that others are below."""
    return [k for k, below in enumerate(_below(tree.nodes)) if below]


def without(tree, gone):
    """The tree without a node and all below it."""
    lost = {gone}
    for k, node in enumerate(tree.nodes):
        if node.above in lost:
            lost.add(k)
    number = {-1: -1}
    for k in range(len(tree.nodes)):
        if k not in lost:
            number[k] = len(number) - 1
    kept = (node for k, node in enumerate(tree.nodes) if k not in lost)
    return replace(tree, nodes=tuple(replace(node, above=number[node.above]) for node in kept))


def test_it_stops_when_it_is_time(whole):
    stop, done = [None], []

    def tell(number):
        done.append(number)
        stop[0] = TIME_LIMIT if number == 5 else None

    with Workers(1, lambda: stop[0]) as workers, pytest.raises(Stopped, match=TIME_LIMIT):
        fault_of_tree(whole.tree, whole.families, whole.names, target_of(whole), workers, tell)
    assert done == [1, 2, 3, 4, 5]


NOT_CLOSED = "is not closed, and has not both answers to a question below it"


def test_a_missing_answer_is_found(whole):
    tree = whole.tree
    for gone in range(1, len(tree.nodes)):
        assert NOT_CLOSED in whole.fault(target_of(whole), without(tree, gone))


def test_one_side_twice_is_found(whole):
    tree = whole.tree
    for number in range(1, len(tree.nodes)):
        answer = tree.nodes[number].answer
        forged = whole.with_node(number, answer=answer._replace(has=not answer.has))
        assert NOT_CLOSED in whole.fault(target_of(whole), forged)


def test_a_third_answer_is_found(whole):
    """One node more below another, whatever it says."""
    tree = whole.tree
    for number in inner(tree):
        k = _below(tree.nodes)[number][0]
        more = replace(tree, nodes=(*tree.nodes, replace(tree.nodes[k])))
        assert NOT_CLOSED in whole.fault(target_of(whole), more)


def test_answers_to_different_questions_are_found(whole):
    tree = whole.tree
    for number in inner(tree):
        k = _below(tree.nodes)[number][0]
        child, parent, has = tree.nodes[k].answer
        other = next(name for name in whole.names if name not in (child, parent))
        for answer in (Answer(child, other, has), Answer(parent, child, has), Answer(other, parent, has)):
            forged = whole.with_node(k, answer=answer)
            said = f"the nodes below its node {number} answer different questions"
            assert whole.fault(target_of(whole), forged) == said


def test_a_bound_above_the_truth_is_found(whole):
    assert whole.fault(target_of(whole)) is None
    for more in (1, 10, 1 << 20, 1 << 36, 1 << 40, MOST_UNITS):
        assert whole.fault(whole.optimum + more) is not None


def test_the_root_alone_is_found(whole):
    tree = whole.tree
    assert NOT_CLOSED in whole.fault(target_of(whole), replace(tree, nodes=tree.nodes[:1]))
    assert NOT_CLOSED in whole.fault(target_of(whole), replace(tree, nodes=(TreeNode(-1, None, ()),)))


def test_a_node_that_is_closed_without_reason_is_found(whole):
    """Its passes are gone, and nothing is below it."""
    tree = whole.tree
    leaves = [k for k in range(1, len(tree.nodes)) if k not in inner(tree)]
    found = [whole.fault(target_of(whole), whole.with_node(k, passes=())) is not None for k in leaves]
    assert sum(found) > len(leaves) / 2  # of others all families close a cycle, say


@pytest.mark.slow
def test_nodes_that_change_places_are_found(whole):
    """The leaves below another node, with their passes: most close nothing there."""
    tree, rng = whole.tree, random.Random(0)
    leaves = [k for k in range(1, len(tree.nodes)) if k not in inner(tree)]
    found = 0
    for one, other in itertools.combinations(leaves, 2):
        nodes = list(tree.nodes)
        if rng.random() < 0.5:
            nodes[one] = replace(nodes[one], passes=tree.nodes[other].passes)
            nodes[other] = replace(nodes[other], passes=tree.nodes[one].passes)
        else:
            nodes[one], nodes[other] = (
                replace(nodes[one], answer=tree.nodes[other].answer),
                replace(nodes[other], answer=tree.nodes[one].answer),
            )
        fault = whole.fault(target_of(whole), replace(tree, nodes=tuple(nodes)))
        found += fault is not None
        assert whole.fault(whole.optimum + 1, replace(tree, nodes=tuple(nodes))) is not None
    assert found > 10


@pytest.mark.slow
def test_larger_multipliers_prove_nothing_false(whole):
    """Any multipliers are allowed: what they show is looked at again."""
    tree, rng = whole.tree, random.Random(1)
    for _ in range(100):
        number = rng.randrange(len(tree.nodes))
        factor, most = rng.choice([2, 3, 10]), MOST_UNITS // 4
        passes = tuple(
            (cuts, tuple(min(factor * m, most // len(cuts)) for m in multipliers))
            for cuts, multipliers in tree.nodes[number].passes
        )
        assert whole.fault(whole.optimum + 1, whole.with_node(number, passes=passes)) is not None


def test_cuts_of_another_tree_prove_nothing_false(whole):
    other = grown(wishful(3, 7))
    tree = whole.tree
    cuts = (*other.tree.cuts[: len(tree.cuts)], *tree.cuts[len(other.tree.cuts) :])
    assert whole.fault(target_of(whole), replace(tree, cuts=cuts)) is not None
    assert whole.fault(target_of(whole), other.tree) is not None
    assert whole.fault(whole.optimum + 1, replace(tree, cuts=cuts)) is not None


def mutated(own, rng):
    """The tree with something changed: an answer, a place, a pass, a cut; what is read still has its form."""
    tree = own.tree
    number = rng.randrange(len(tree.nodes))
    node = tree.nodes[number]
    change = rng.randrange(8)
    if change == 0:
        return own.with_node(number, above=rng.randrange(-1, number) if number > 1 else node.above)
    if change == 1 and number:
        child, parent = rng.sample(own.names, 2)
        return own.with_node(number, answer=Answer(child, parent, rng.random() < 0.5))
    if change == 2 and number:
        return own.with_node(number, answer=node.answer._replace(has=not node.answer.has))
    if change == 3:
        return own.with_node(number, passes=rng.choice(tree.nodes).passes)
    if change == 4 and number:
        return without(tree, number)
    if change == 5:
        cuts = list(tree.cuts)
        at = rng.randrange(len(cuts) + 1)
        cluster = tuple(rng.sample(own.names, rng.randrange(1, len(own.names) + 1)))
        cuts[at : at + 1] = [(cluster,) * rng.choice([1, 3])]
        return replace(tree, cuts=tuple(cuts))
    if change == 6 and node.passes:
        passes = [list(one) for one in node.passes]
        one = rng.choice(passes)
        factor = rng.choice([0.5, 0.9, 1.1, 2.0, 50.0])
        one[1] = tuple(min(max(1, int(m * factor)), MOST_UNITS // 1000) for m in one[1])
        return own.with_node(number, passes=tuple(map(tuple, passes)))
    order = rng.sample(node.passes, len(node.passes))
    return own.with_node(number, passes=tuple(order[: rng.randrange(len(order) + 1)]))


@pytest.mark.slow
@pytest.mark.parametrize("kind", range(6))
def test_whatever_is_accepted_of_random_forgeries_is_true(kind):
    """Of changed trees, at targets about the optimum: none is believed above it, some are still believed below."""
    rng = random.Random(kind)
    own = grown(some_families(kind, 5 + kind % 2))
    accepted = 0
    for _ in range(60):
        tree = own.tree
        for _ in range(rng.randrange(1, 4)):
            tree = mutated(replace(own, tree=tree), rng)
        target = own.optimum + rng.choice([-(1 << 36), -1000, -18, 0, 1, 2, 1000, 1 << 36])
        if own.fault(target, tree) is None:
            accepted += 1
            assert target <= own.optimum
    assert accepted
