"""Proofs in several steps: whatever settles the pieces, and wherever a run is stopped, the certificate proves it."""

import contextlib
import json
import math

import naive
import numpy as np
import pytest
from cases import random_dataset, random_families, scores_of, side_by_side, wishful
from flat import solve
from patching import COMMIT_ALWAYS, poor_incumbents, searchable
from portions import some

from extbnsl.bounds.lp.tree import Tree
from extbnsl.core.codec import arrays_of, decode, encode
from extbnsl.core.events import StageAdvanced
from extbnsl.files.arrays import read_arrays
from extbnsl.files.manifest import read_manifest
from extbnsl.machine.workers import Workers
from extbnsl.orders.local_search import BRIEF
from extbnsl.proof.guide import PROBE
from extbnsl.proof.steps import Branched, RootPass, Searched, Step, cuts_over
from extbnsl.proof.strategy import RULES
from extbnsl.verify.branching import Branching
from extbnsl.verify.recount import BRANCHING, CUTS, SEARCH
from extbnsl.verify.statement import verify_optimality
from extbnsl.verify.steps import Pass, Search
from extbnsl.verify.verdict import verify

SMALL = 4  # variables that a search may have at most


@pytest.fixture(autouse=True)
def _little_at_the_root(sizes, searchable):
    """Cuts of three clusters would close the gaps; pieces that are not small are too large; each node is told."""
    sizes({"TRIPLES": 0, "PART_EFFORT": 1, "LONG": BRIEF})
    searchable(SMALL)


@pytest.fixture
def _no_probing(monkeypatch):
    """It leaves little to branch on."""
    others = tuple(rule for rule in RULES if rule.step != PROBE)
    monkeypatch.setattr("extbnsl.proof.strategy.RULES", others)


def steps_of(result):
    return [step for component in result.certificate.components for step in component.steps]


def kinds_of(result):
    """P for a pass, S for a search, B for branching: the steps of all components."""
    letters = {Pass: "P", Search: "S", Branching: "B"}
    return "".join(letters[type(step)] for step in steps_of(result))


def checked(result, problem):
    """What the check of a result's document finds, as a file has it; all of it is proved."""
    document = json.loads(json.dumps(result.document()))
    assert not verify(document, problem).findings
    with Workers(1) as workers:
        optimality = verify_optimality(document, problem, workers)
    assert optimality.complete, optimality
    return optimality


def optimum_of(families):
    n = len(families)
    return naive.optimal_cost_dp(n, naive.best_scores(naive.cost_table(n, families)))


def cores(seed, *sizes):
    return side_by_side([wishful(10 * seed + number, n) for number, n in enumerate(sizes)])


@pytest.mark.parametrize("seed", [0, 5, 10])
def test_pieces_are_settled_in_every_way(seed):
    """The smallest by a search, the next one by branching, and the last one by multipliers."""
    families = cores(seed, 3, 5, 5)
    result = solve(scores_of(families), threads=1)
    assert result.stats["components"] == [13]
    assert result.cost == pytest.approx(optimum_of(families), abs=1e-9)
    settling = [step for step in steps_of(result) if not isinstance(step, Pass)]
    assert [type(step) for step in settling] == [Search, Branching]
    assert [len(step.variables) for step in settling] == [3, 5]
    assert kinds_of(result).endswith("BPPPP")
    assert checked(result, scores_of(families)).by == {CUTS, SEARCH, BRANCHING}


@pytest.mark.usefixtures("_no_probing")
@pytest.mark.parametrize(("seed", "settled"), [(0, [Search, Branching]), (2, [Search, Branching, Branching])])
def test_pieces_are_settled_by_branching(seed, settled):
    families = cores(seed, 3, 5, 5)
    result = solve(scores_of(families), threads=1)
    assert [type(step) for step in steps_of(result) if not isinstance(step, Pass)] == settled
    assert result.cost == pytest.approx(optimum_of(families), abs=1e-9)
    checked(result, scores_of(families))


@pytest.mark.parametrize("parts", [(3, 3, 5), (5, 6), (2, 2, 2, 4)])
@pytest.mark.parametrize("largest", [SMALL, 64])
def test_what_pieces_are_settled_by_adds_up(parts, largest, searchable):
    """Each bound is rounded for itself: the last one must leave room for that."""
    searchable(largest)
    for seed in range(2):
        families = cores(seed + sum(parts), *parts)
        result = solve(scores_of(families), threads=1)
        assert result.cost == pytest.approx(optimum_of(families), abs=1e-9)
        checked(result, scores_of(families))


@pytest.mark.parametrize("price", [1e-3, 1e3, 1e5])
def test_figures_of_any_size_add_up(price):
    """The costs of pieces are settled one by one, and claimed together."""
    families = [[(p, cost * price - 7.0 * price) for p, cost in own] for own in cores(1, 3, 4, 4)]
    result = solve(scores_of(families), threads=1)
    assert kinds_of(result).count("S") > 1
    assert result.cost == pytest.approx(optimum_of(families), rel=1e-9)
    checked(result, scores_of(families))


@pytest.mark.slow
@pytest.mark.parametrize("poor", [False, True])
def test_branching_without_fixing(poor, poor_incumbents):
    """A tree over all of a component, at the incumbent or down to a better network."""
    if poor:
        poor_incumbents()
    trees = 0
    for seed in range(6):
        families = wishful(seed, 6)
        result = solve(scores_of(families), threads=1, fixing=False)
        assert result.cost == pytest.approx(optimum_of(families), abs=1e-9)
        checked(result, scores_of(families))
        trees += kinds_of(result).endswith("B")
    assert trees > (5 if poor else 2)


@pytest.mark.slow
def test_branching_of_data(thorough, poor_incumbents):
    """Families that others take the place of are counted again too: they do not keep a node open."""
    poor_incumbents()
    trees = 0
    for seed in range(24, 40):
        dataset = random_dataset(np.random.default_rng(seed), 7, 200)
        result = solve(dataset, threads=1, fixing=False)
        assert result.cost == pytest.approx(naive.optimal_cost(dataset.codes, dataset.arities), rel=1e-9)
        trees += BRANCHING in checked(result, dataset).by
    assert trees > 2


@pytest.mark.slow
@pytest.mark.usefixtures("_no_probing")
def test_threads_do_not_matter():
    scores = scores_of(cores(2, 3, 5, 5))
    one, two, three = (solve(scores, threads=threads).certificate for threads in (1, 2, 3))
    assert one == two == three


class Watch:
    """How many nodes are told, and a signal to stop after so many nodes, or when it is asked so often."""

    def __init__(self, nodes=math.inf, asked=math.inf):
        self.nodes, self.asked, self._most = 0, 0, (nodes, asked)

    def __call__(self, event):
        self.nodes += isinstance(event, StageAdvanced) and event.unit.startswith("nodes")

    def stop(self):
        self.asked += 1
        return "time_limit" if self.nodes >= self._most[0] or self.asked > self._most[1] else None


def session(scores, folder, watch, **options):
    folder.mkdir(exist_ok=True)
    resume = read_manifest(folder) if (folder / "manifest.json").exists() else None
    return solve(scores, observer=watch, stop=watch.stop, run_folder=folder, resume=resume, threads=1, **options)


def tree_in(folder):
    """The closed nodes of the tree that a checkpoint has, and its cuts."""
    manifest = read_manifest(folder)
    search = manifest.state.standing["search"]
    (file,) = [file for file in manifest.files if file.name == search["file"]]
    cuts = read_arrays(folder, file)["bounding.tree.cuts"]
    variables = search["pieces"][search["at"]]["variables"]
    return search["bounding"]["tree"]["closed"], cuts_over(cuts, range(len(variables)))


@pytest.mark.slow
def test_a_tree_goes_on_at_every_node(tmp_path):
    """What is closed stays closed, and what comes of it proves the result."""
    families = wishful(7, 7)
    scores, optimum = scores_of(families), optimum_of(families)
    whole = Watch()
    session(scores, tmp_path / "whole", whole, fixing=False)
    assert whole.nodes > 5
    for nodes in some(range(1, whole.nodes), 4):
        folder = tmp_path / str(nodes)
        stopped = session(scores, folder, Watch(nodes), fixing=False)
        assert stopped.status == "time_limit"
        assert stopped.certificate is None
        closed, cuts = tree_in(folder)
        assert len(closed) >= nodes
        result = session(scores, folder, Watch(), fixing=False)
        assert result.cost == pytest.approx(optimum, abs=1e-9)
        tree = steps_of(result)[-1]
        assert len(tree.nodes) > len(closed)
        assert [node.above for node in tree.nodes[: len(closed)]] == [node["above"] for node in closed]
        for node, before in zip(tree.nodes, closed, strict=False):
            assert [list(map(list, one)) for one in node.passes] == [[d["cuts"], d["weights"]] for d in before["duals"]]
        assert [[[f"v{i}" for i in cluster] for cluster in cut] for cut in cuts] == [
            list(map(list, cut)) for cut in tree.cuts[: len(cuts)]
        ]
        checked(result, scores)


@pytest.mark.slow
def test_a_tree_goes_on_node_by_node(tmp_path):
    families = wishful(7, 7)
    sessions = 0
    while (result := session(scores_of(families), tmp_path, Watch(1), fixing=False)).status != "optimal":
        sessions += 1
    assert sessions > 5
    assert result.cost == pytest.approx(optimum_of(families), abs=1e-9)
    checked(result, scores_of(families))


@pytest.mark.usefixtures("_no_probing", "fast_disk")
@pytest.mark.slow
@pytest.mark.parametrize("poor", [False, True])
def test_a_proof_of_several_steps_goes_on_wherever_it_is_stopped(tmp_path, poor, poor_incumbents, sizes):
    """Whenever it is asked whether to stop, in all of its steps; every checkpoint has the steps so far."""
    sizes(COMMIT_ALWAYS)
    if poor:
        poor_incumbents()
    families = cores(2, 3, 5, 5)
    scores, optimum = scores_of(families), optimum_of(families)
    whole = Watch()
    session(scores, tmp_path / "whole", whole)
    lengths = set()
    for asked in range(3, whole.asked, max(1, whole.asked // 4)):
        folder = tmp_path / str(asked)
        stopped = session(scores, folder, Watch(asked=asked))
        if stopped.status != "optimal":
            search = read_manifest(folder).state.standing["search"]
            lengths.add(len(search["steps"]) if search else 0)
        result = session(scores, folder, Watch())
        assert result.cost == pytest.approx(optimum, abs=1e-9)
        checked(result, scores)
    assert len(lengths) > 1


def test_steps_and_trees_are_read_as_they_were_written():
    """From what a solve has: each kind of step, over some of the variables."""
    kept = []
    for step in (
        RootPass((((0, 2),), ((0,), (1,), (0, 1))), (5, 1 << 60), (1.5, -2.0, 0.0)),
        Searched((1, 2), 3.25, (((1, 2),),), (7,)),
        Branched((0, 2), -1.0, (((0, 2),),), ()),
    ):
        document = json.loads(json.dumps(encode(step)))
        assert decode(Step, document) == step
        kept.append(document)
    assert len({frozenset(document) for document in kept}) == 3


def test_trees_are_read_as_they_were_written(calls):
    """At every node."""
    branched = calls("bounds.lp.branching", "branch")
    solve(scores_of(wishful(7, 7)), threads=1, fixing=False)
    (tree,) = (call.found.tree for call in branched)
    assert tree.fits(7)
    document, arrays = json.loads(json.dumps(encode(tree))), dict(arrays_of(tree))
    again = decode(Tree, document, arrays=arrays)
    assert again.fits(7)
    assert (encode(again), again.cuts.tolist()) == (document, tree.cuts.tolist())


@pytest.mark.slow
def test_random_problems_are_proved():
    """Ties by the hundred, both signs, with and without fixing, from good and from poor networks."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(3, 9))
        families = random_families(rng, n, 20)
        families = [[(p, cost - rng.choice([0.0, 9.0])) for p, cost in own] for own in families]
        with contextlib.ExitStack() as effects:
            effects.enter_context(searchable(int(rng.choice([2, 3, 64]))))
            if rng.random() < 0.5:
                effects.enter_context(poor_incumbents())
            result = solve(scores_of(families), threads=1, fixing=bool(rng.random() < 0.7))
        assert result.cost == pytest.approx(optimum_of(families), abs=1e-9)
        checked(result, scores_of(families))
