"""An approximation that is killed, stopped or loses its files at any moment: it goes on from its last commit."""

import json
import math
import random
import shutil
from dataclasses import replace

import naive
import numpy as np
import pytest
from asking import approximate_network
from cases import dataset_of, random_dataset, random_families, random_numbers, scores_of
from disk import Killed
from patching import rounds_of_search, running_out, sized
from portions import some
from survival import SharedDisk, arrays, before

from extbnsl.core.claims import Claim
from extbnsl.core.errors import BudgetError, RunDirectoryError
from extbnsl.core.events import Committed, IncumbentFound, StageAdvanced, StageStarted, Warned
from extbnsl.data import Numbers
from extbnsl.files import manifest as manifests
from extbnsl.files.manifest import read_manifest
from extbnsl.files.names import MANIFEST
from extbnsl.machine.budgets import Budgets
from extbnsl.solver import approximate, approximation
from extbnsl.solver.approximation import reopened
from extbnsl.solver.gathered import CountingTime
from extbnsl.solver.methods import ApproximateMethods
from extbnsl.solver.place import Place
from extbnsl.verify.verdict import verify

LONG = 600.0
COMMITS = {"approximation.COMMIT_SECONDS": -1.0, "COMMIT_SHARE": math.inf}  # at every chance
EXPLORING, COUNTING = ApproximateMethods("independence"), ApproximateMethods("auto")


@pytest.fixture(autouse=True)
def _often(fast_disk, sizes):
    """A commit at every chance, rounds that find little, and no waiting for the disk."""
    sizes(COMMITS, COMMIT_PART=0.0)
    sizes({"population.NUMBER": 2})


@pytest.fixture(scope="module")
def dataset():
    return random_dataset(np.random.default_rng(12), 9, 150)


def session(folder, problem, time=LONG, methods=EXPLORING, **how):
    """Go on from the checkpoint in `folder`, or begin if there is none."""
    resume = read_manifest(folder) if (folder / MANIFEST).exists() else None
    budgets = Budgets(threads=1, time_limit=time, memory=1 << 30)
    if isinstance(problem, Numbers):
        how = {"claim": Claim("gaussian-bic"), **how}
    return approximate_network(problem, methods=methods, budgets=budgets, place=Place(folder, resume=resume), **how)


def state(folder):
    state = json.loads((folder / MANIFEST).read_text())["state"]
    return {**state, **state["spent"], **state["standing"]}


def committed(folder):
    """What the best network costs of which the checkpoint knows."""
    known = state(folder)["upper_bound"] if (folder / MANIFEST).exists() else None
    return math.inf if known is None else known


@pytest.fixture(scope="module", params=[EXPLORING, COUNTING], ids=lambda methods: methods.selection)
def methods(request):
    """Both ways of finding families."""
    return request.param


@pytest.fixture(scope="module")
def undisturbed(dataset, methods, tmp_path_factory):
    """The result, and how often it writes, of a run that nothing happens to, when all is compiled."""
    session(tmp_path_factory.mktemp("compiling"), dataset, methods=methods)
    disk = SharedDisk(tmp_path_factory.mktemp("undisturbed"))
    with sized(COMMITS), disk.watch():
        result = session(disk.root, dataset, methods=methods)
    assert_holds_what_it_may_go_on_from(disk.root)
    return result, disk.calls


def assert_holds_what_it_may_go_on_from(folder):
    """A run that is over has the files that its state names, and none if its network is proved to be a best one."""
    known = state(folder)
    assert known["phase"] == "done"
    assert arrays(folder) == {*known["children"]["explored"], *filter(None, [known["orders"]])}
    if known["upper_bound"] <= known["lower_bound"]:
        assert not arrays(folder)


def assert_ends_well(folder, dataset, methods, whole):
    """A session ends with a network that costs no more than the one in the checkpoint, and leaves nothing behind."""
    before = committed(folder)
    result = session(folder, dataset, methods=methods)
    assert result.status == "heuristic"
    assert result.cost <= before + 1e-9
    assert result.cost == pytest.approx(whole.cost, rel=1e-9)
    assert result.lower_bound == pytest.approx(whole.lower_bound, rel=1e-9)
    assert result.stats["explored_whole"] == whole.stats["explored_whole"]
    assert verify(result.document(), dataset).findings == ()
    assert_holds_what_it_may_go_on_from(folder)


@pytest.mark.slow
@pytest.mark.parametrize("after", [False, True])
def test_killed_at_any_call(dataset, methods, undisturbed, tmp_path, after):
    whole, calls = undisturbed
    for call in some(before(calls), 6):
        disk = SharedDisk(tmp_path / str(call))
        disk.root.mkdir()
        with pytest.raises(Killed), disk.crash_at(call, after):
            session(disk.root, dataset, methods=methods)
        assert_ends_well(disk.root, dataset, methods, whole)


@pytest.mark.slow
def test_power_lost_at_any_call(dataset, methods, undisturbed, tmp_path):
    whole, calls = undisturbed
    rng = random.Random(7)
    for call in some(before(calls, 2), 6):
        disk = SharedDisk(tmp_path / str(call))
        disk.root.mkdir()
        with pytest.raises(Killed), disk.crash_at(call):
            session(disk.root, dataset, methods=methods)
        disk.lose_power(rng)
        assert_ends_well(disk.root, dataset, methods, whole)


def kill_when(reached):
    """An observer that kills the process at the first commit after something is reached."""
    seen = []

    def observe(event):
        if reached(event):
            seen.append(event)
        if seen and isinstance(event, Committed):
            raise Killed

    return observe


def test_children_that_are_known_are_not_explored_again(dataset, tmp_path):
    some = lambda event: isinstance(event, StageAdvanced) and event.stage == "parents" and event.done == 4  # noqa: E731
    with pytest.raises(Killed):
        session(tmp_path, dataset, observer=kill_when(some))
    assert state(tmp_path)["phase"] == "parents"
    told = []
    session(tmp_path, dataset, observer=told.append)
    assert [event.done for event in told if isinstance(event, StageAdvanced)] == list(range(5, 10))


def test_counting_goes_on_from_where_it_was(dataset, tmp_path):
    deep = lambda event: isinstance(event, StageAdvanced) and event.level == 2  # noqa: E731
    told = []
    with pytest.raises(Killed):
        session(tmp_path, dataset, methods=COUNTING, observer=kill_when(deep))
    assert state(tmp_path)["phase"] == "parents"
    assert state(tmp_path)["counting"]["counters"]["complete_to"] >= 1
    result = session(tmp_path, dataset, methods=COUNTING, observer=told.append)
    assert min(event.level for event in told if isinstance(event, StageAdvanced) and event.level is not None) >= 2
    assert result.stats["explored_whole"] == dataset.variables


def test_where_counting_is_given_up_the_lists_grow(dataset, tmp_path, monkeypatch):
    """From what was counted, also in the next session."""
    monkeypatch.setattr(CountingTime, "over", lambda time: True)
    stopped(tmp_path, dataset, COUNTING)
    assert state(tmp_path)["counting"] is None
    told = []
    result = session(tmp_path, dataset, methods=COUNTING, observer=told.append)
    assert_holds_what_it_may_go_on_from(tmp_path)
    assert "scores" not in [event.stage for event in told if isinstance(event, StageStarted)]
    assert result.stats["explored_whole"] == 0
    best = naive.optimal_cost_dp(9, naive.best_scores(naive.all_local_scores(dataset.codes, dataset.arities)))
    assert result.cost == pytest.approx(best, rel=1e-9)
    assert result.lower_bound < best


def test_the_exploration_has_its_share_of_the_time_that_reading_left(dataset, calls):
    made = calls("solver.approximation", "Times")
    approximate_network(dataset, budgets=Budgets(time_limit=4.0, spent=3.0))
    times = made[0].found
    assert times.end - times.explored == pytest.approx(1.0 - approximation.EXPLORED)


def test_a_search_goes_on_from_its_orders_and_its_time(dataset, tmp_path, calls):
    searching = lambda event: isinstance(event, StageStarted) and event.stage == "incumbent"  # noqa: E731
    with pytest.raises(Killed):
        session(tmp_path, dataset, time=100.0, observer=kill_when(searching))
    before = state(tmp_path)
    assert (before["phase"], before["used"] + before["seconds_left"]) == ("orders", pytest.approx(100.0))
    assert 0 < before["used"] < 50
    searches, told = calls("orders.population", "search_lists"), []
    result = session(tmp_path, dataset, time=100.0 - before["used"], observer=told.append)
    seed = searches[0].given[2]
    assert seed.orders.shape == (8, 9)
    assert seed.best.cost == before["upper_bound"]
    assert not [event for event in told if isinstance(event, StageAdvanced)]
    assert state(tmp_path)["used"] + state(tmp_path)["seconds_left"] == pytest.approx(100.0)
    assert result.stats["seconds"] > before["seconds"]


def test_a_stop_commits_and_the_rest_of_the_time_is_used_later(dataset, methods, undisturbed, tmp_path, sizes):
    sizes(GRACE=0.3)
    told = []
    stop = lambda: "interrupted" if sum(isinstance(e, StageAdvanced) for e in told) >= 3 else None  # noqa: E731
    first = session(tmp_path, dataset, methods=methods, observer=told.append, stop=stop)
    assert first.status == "interrupted"
    assert verify(first.document(), dataset).findings == ()
    assert (state(tmp_path)["status"], state(tmp_path)["phase"]) == ("interrupted", "parents")
    assert committed(tmp_path) == pytest.approx(first.cost, rel=1e-9)
    assert arrays(tmp_path)
    assert_ends_well(tmp_path, dataset, methods, undisturbed[0])


@pytest.mark.slow
def test_numbers_that_are_killed_or_stopped_go_on_as_states_do(methods, tmp_path, sizes):
    numbers = random_numbers(np.random.default_rng(12), 6, 80)
    disk = SharedDisk(tmp_path / "whole")
    disk.root.mkdir()
    with disk.watch():
        whole = session(disk.root, numbers, methods=methods)
    assert disk.calls > 40
    for call in some(before(disk.calls), 4):
        killed = SharedDisk(tmp_path / str(call))
        killed.root.mkdir()
        with pytest.raises(Killed), killed.crash_at(call):
            session(killed.root, numbers, methods=methods)
        assert_ends_well(killed.root, numbers, methods, whole)
    sizes(GRACE=0.3)
    told, folder = [], tmp_path / "stopped"
    folder.mkdir()
    stop = lambda: "interrupted" if sum(isinstance(e, StageAdvanced) for e in told) >= 3 else None  # noqa: E731
    first = session(folder, numbers, methods=methods, observer=told.append, stop=stop)
    assert (first.status, state(folder)["phase"]) == ("interrupted", "parents")
    assert verify(first.document(), numbers).findings == ()
    assert_ends_well(folder, numbers, methods, whole)


def test_a_better_network_of_before_is_kept(dataset, tmp_path):
    """Whatever a later session finds: here it begins with random orders and has no time to improve them."""
    costs = []
    better = lambda event: isinstance(event, IncumbentFound) and len(costs.append(event.cost) or costs) > 1  # noqa: E731
    with pytest.raises(Killed):
        session(tmp_path, dataset, observer=kill_when(better))
    before = committed(tmp_path)
    assert before == costs[-1] < costs[0]
    rewritten(tmp_path, orders=None)
    told = []
    result = session(tmp_path, dataset, time=1e-9, observer=told.append)
    assert [event.cost for event in told if isinstance(event, IncumbentFound)] == [before]
    assert result.cost == pytest.approx(before, rel=1e-12)
    assert verify(result.document(), dataset).findings == ()


@pytest.mark.parametrize("call", range(1, 30, 4))
def test_local_scores_survive_too(tmp_path, call):
    scores = scores_of(random_families(np.random.default_rng(5), 7))
    (tmp_path / "whole").mkdir()
    (tmp_path / "killed").mkdir()
    whole = session(tmp_path / "whole", scores)
    disk = SharedDisk(tmp_path / "killed")
    with pytest.raises(Killed), disk.crash_at(call):
        session(disk.root, scores)
    again = session(disk.root, scores)
    assert (again.cost, again.lower_bound) == (whole.cost, whole.lower_bound)
    assert_holds_what_it_may_go_on_from(disk.root)


def go_on(folder, problem, **how):
    """A session that gives more time to a run that is over."""
    resume = reopened(read_manifest(folder))
    budgets = Budgets(threads=1, time_limit=LONG, memory=1 << 30)
    return approximate_network(problem, methods=EXPLORING, budgets=budgets, place=Place(folder, resume=resume), **how)


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """Data of some variables, and the folder and the result of a run on them that is over, with a random network."""
    folder = tmp_path_factory.mktemp("first")
    wide = dataset_of(np.random.default_rng(5).integers(0, 2, (200, 16)).cumsum(axis=1) // 2 % 2)
    with rounds_of_search(0):
        return wide, folder, session(folder, wide)


def test_a_run_that_is_over_goes_on_from_its_orders_for_more_time(first, tmp_path, rounds_of_search, calls):
    dataset, before, result = first
    folder = shutil.copytree(before, tmp_path / "r")
    rounds_of_search(3)
    searches = calls("orders.population", "search_lists")
    costs, told = [result.cost], []
    for _ in range(3):
        known = state(folder)
        again = go_on(folder, dataset, observer=told.append)
        assert (searches[-1].given[2].best.cost, again.status) == (known["upper_bound"], "heuristic")
        assert again.lower_bound >= result.lower_bound
        assert again.stats["seconds"] > known["seconds"]
        assert_holds_what_it_may_go_on_from(folder)
        costs.append(again.cost)
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < costs[0]
    assert not [event for event in told if isinstance(event, StageStarted) and event.stage == "parents"]
    assert verify(again.document(), dataset).findings == ()


def test_more_time_costs_nothing_when_it_is_killed(first, tmp_path, rounds_of_search):
    dataset, before, _ = first
    rounds_of_search(2)
    disk = SharedDisk(shutil.copytree(before, tmp_path / "whole"))
    with disk.watch():
        go_on(disk.root, dataset)
    for call in range(1, disk.calls + 1, 5):
        killed = SharedDisk(shutil.copytree(before, tmp_path / str(call)))
        with pytest.raises(Killed), killed.crash_at(call):
            go_on(killed.root, dataset)
        known = committed(killed.root)
        assert known <= committed(before)
        again = session(killed.root, dataset)
        assert again.cost <= known + 1e-9
        assert_holds_what_it_may_go_on_from(killed.root)


FULL = BudgetError("The disk is full.")


@pytest.mark.slow
def test_without_its_files_a_run_that_is_over_begins_anew_and_keeps_its_network(first, tmp_path):
    """They found no room on the disk."""
    dataset, told = first[0], []
    with rounds_of_search(1), running_out("files.store", "write_arrays", FULL):
        result = session(tmp_path, dataset)
    assert (state(tmp_path)["phase"], arrays(tmp_path)) == ("done", set())
    with rounds_of_search(0):
        again = go_on(tmp_path, dataset, observer=told.append)
    assert [event for event in told if isinstance(event, StageStarted) and event.stage == "parents"]
    assert again.cost == pytest.approx(result.cost, rel=1e-12)
    assert again.lower_bound >= result.lower_bound


def test_a_full_disk_costs_the_checkpoints_and_not_the_network(dataset, methods, undisturbed, tmp_path):
    told = []
    with running_out("files.store", "write_arrays", FULL):
        result = session(tmp_path, dataset, methods=methods, observer=told.append)
    assert result.cost == pytest.approx(undisturbed[0].cost, rel=1e-9)
    assert [event.message for event in told if isinstance(event, Warned)] == [
        "The disk is full. The run goes on, but writes no more checkpoints."
    ]
    assert state(tmp_path)["phase"] == "done"


def stopped(folder, dataset, methods=EXPLORING):
    """A run that was killed while it searched."""
    searching = lambda event: isinstance(event, StageStarted) and event.stage == "incumbent"  # noqa: E731
    with pytest.raises(Killed):
        session(folder, dataset, methods=methods, observer=kill_when(searching))


@pytest.mark.slow
def test_families_that_were_found_while_searching_are_there_again(tmp_path, monkeypatch):
    """Those of a child that grow again and again lie in the file that was written last, and earlier ones go."""
    wide = dataset_of(np.random.default_rng(5).integers(0, 2, (200, 70)).cumsum(axis=1) // 2 % 2)
    told, lists, names = [], [], []
    search = approximate.search_lists
    monkeypatch.setattr(
        approximate, "search_lists", lambda *given, **how: lists.append(given[0]) or search(*given, **how)
    )

    def kill(event):
        told.extend([event] if isinstance(event, Committed) and state(tmp_path)["phase"] == "orders" else [])
        names.append(state(tmp_path)["children"]["explored"] if told else [])
        if len(told) == 5:
            raise Killed

    options = {"methods": ApproximateMethods("sequential"), "time": 20.0}
    with pytest.raises(Killed):
        session(tmp_path, wide, observer=kill, **options)
    grown = [own.costs.tolist() for own in lists[0].families]
    assert len(lists[0].families[5].costs) > 1
    assert not set(names[-1]) >= {name for some in names for name in some}  # those that nobody needs are gone
    assert arrays(tmp_path) == {*names[-1], state(tmp_path)["orders"]}
    before = committed(tmp_path)
    monkeypatch.setattr(approximate, "search_lists", lambda *given, **how: lists.append(given[0]) or given[2].best)
    result = session(tmp_path, wide, **options)
    assert [own.costs.tolist() for own in lists[1].families] == grown
    assert result.cost == pytest.approx(before, rel=1e-12)


def test_another_problem_or_method_is_refused(dataset, tmp_path):
    stopped(tmp_path, dataset)
    with pytest.raises(RunDirectoryError, match="The data are not those"):
        session(tmp_path, random_dataset(np.random.default_rng(1), 9, 150))
    with pytest.raises(RunDirectoryError, match="max_parents = None, not 2"):
        session(tmp_path, dataset, claim=Claim(max_parents=2))
    with pytest.raises(RunDirectoryError, match="search = memetic, not obs"):
        session(tmp_path, dataset, methods=replace(EXPLORING, search="obs"))


@pytest.mark.parametrize("name", ["explored-", "orders-"])
def test_a_damaged_file_is_refused(dataset, tmp_path, name):
    stopped(tmp_path, dataset)
    file = min(path for path in tmp_path.iterdir() if path.name.startswith(name))
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    with pytest.raises(RunDirectoryError, match="is damaged"):
        session(tmp_path, dataset)


def rewritten(folder, **changes):
    """Another state in its place, with a checksum that holds."""
    document = json.loads((folder / MANIFEST).read_text())
    del document["checksum"]
    document["state"]["standing"] |= changes
    (folder / MANIFEST).write_bytes(manifests._sealed(document))


COUNTERS = dict.fromkeys(("complete_to", "varsets", "families", "parts", "group", "ahead", "filled"), 0)
COUNTERS |= {"singles": True, "paired": False, "pricing": None}
STORED = {"counters": COUNTERS, "families": [], "arrays": [], "lengths": {}}


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"children": {"floors": None, "explored": ["../secret.h5"]}}, "children.explored.0"),
        ({"children": {"floors": None, "explored": ["explored-99.h5"]}}, "children.explored.0"),
        ({"orders": "scores.h5"}, "orders"),
        ({"counting": STORED | {"families": ["../x.h5"]}}, "counting.families.0"),
        ({"counting": STORED | {"counters": COUNTERS | {"paired": 1}}}, "counting.counters.paired"),
        ({"counting": STORED | {"counters": {"complete_to": 1}}}, "counting.counters.singles"),
        ({"bounded": 1}, "bounded"),
        ({"used": "0"}, "used"),
        ({"used": -1.0}, "used"),
        ({"children": {"floors": [0.0, None], "explored": []}}, "children.floors.1"),
        ({"best": {"order": [0]}}, "best.parents"),
        ({"best": {"order": [0, 0], "parents": [[], []], "cost": 1.0}}, "best"),
        ({"best": {"order": [0, 1], "parents": [[1], []], "cost": 1.0}}, "best"),
        ({"best": {"order": [0, 1], "parents": [[], [2]], "cost": 1.0}}, "best"),
        ({"best": {"order": [0, 1], "parents": [[]], "cost": 1.0}}, "best"),
        ({"best": {"order": [0, 1 << 40], "parents": [[], []], "cost": 1.0}}, "best.order"),
        ({"counted": {"parent_sets": -1}}, "counted.parent_sets"),
        ({"search": None}, "search"),
    ],
)
def test_a_manifest_that_no_run_writes_is_refused_at_the_place(dataset, tmp_path, changes, place):
    stopped(tmp_path, dataset)
    rewritten(tmp_path, **changes)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(RunDirectoryError) as failure:
        session(tmp_path, dataset)
    assert f"(at 'state.standing.{place}')" in str(failure.value)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_network_of_other_variables_is_refused(dataset, tmp_path):
    stopped(tmp_path, dataset)
    rewritten(tmp_path, best={"order": [0, 1], "parents": [[], []], "cost": 1.0})
    with pytest.raises(
        RunDirectoryError, match=r"manifest\.json is not what a run of extbnsl writes \(at 'state\.standing\.best'\)"
    ):
        session(tmp_path, dataset)


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("explored", lambda arrays: arrays | {"parents": arrays["parents"] + np.int32(9)}),
        ("explored", lambda arrays: arrays | {"parents": arrays["parents"][:-1]}),
        ("explored", lambda arrays: arrays | {"parents": arrays["parents"] * 0 + arrays["children"][0]}),
        ("explored", lambda arrays: arrays | {"children": arrays["children"] - np.int32(9)}),
        ("explored", lambda arrays: arrays | {"ended": arrays["ended"] + np.int8(9)}),
        ("explored", lambda arrays: arrays | {"costs": arrays["costs"] * np.nan}),
        ("explored", lambda arrays: arrays | {"families": arrays["families"] + 1}),
        ("explored", lambda arrays: {name: array for name, array in arrays.items() if name != "sizes"}),
        ("explored", lambda arrays: arrays | {"costs": arrays["costs"].astype(np.float32)}),
        ("orders", lambda arrays: arrays | {"orders": arrays["orders"] * 0}),
        ("orders", lambda arrays: arrays | {"orders": arrays["orders"][:, :-1]}),
        ("orders", lambda arrays: arrays | {"states": arrays["states"][:0]}),
        ("orders", lambda arrays: {"orders": arrays["orders"]}),
    ],
)
def test_arrays_that_no_run_writes_are_refused_before_kernels_take_them(dataset, tmp_path, monkeypatch, kind, change):
    """The checksum of a forged file may well be right."""
    stopped(tmp_path, dataset)
    read = approximation.read_arrays

    def forged(folder, file):
        arrays = read(folder, file)
        return change(arrays) if file.name.startswith(kind) else arrays

    monkeypatch.setattr(approximation, "read_arrays", forged)
    with pytest.raises(RunDirectoryError, match=rf"{kind}-\d+\.h5 does not hold what a run of extbnsl writes"):
        session(tmp_path, dataset)
