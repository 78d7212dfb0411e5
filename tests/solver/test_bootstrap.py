"""Resamples of a data set: against brute force, on any threads, and after a kill or a stop at any of them."""

import errno
import json
import math
import os
from dataclasses import replace

import naive
import numpy as np
import pytest
from asking import bootstrap_network
from cases import EVERY_SCORE, claim_by, dataset_of, random_dataset
from classes import members, shared
from disk import Killed, killed_at_line
from knowing import admitted, random_knowledge

import extbnsl
import extbnsl.proof.commits
import extbnsl.solver.components
from extbnsl.core.claims import INTERRUPTED, MEMORY_LIMIT, OPTIMAL, TIME_LIMIT, Claim
from extbnsl.core.errors import BudgetError, InputError, RunDirectoryError
from extbnsl.core.events import StageAdvanced, Warned
from extbnsl.data.resampling import Resampling, resampling_of
from extbnsl.files.journal import Journal
from extbnsl.files.manifest import Manifest, RunState, read_manifest
from extbnsl.files.names import ARC_FREQUENCIES, MANIFEST, RESAMPLES, RESULT
from extbnsl.machine.budgets import Budgets
from extbnsl.networks.network import Network
from extbnsl.proof.methods import Methods
from extbnsl.results.bootstrap import Resample
from extbnsl.solver import bootstrap
from extbnsl.solver.bootstrap import taken_at
from extbnsl.solver.methods import Resamples
from extbnsl.solver.place import Place


def bootstrapped(dataset, resamples=5, claim=Claim(), seed=0, threads=1, **how):
    """The result with so many resamples."""
    budgets = Budgets(threads=threads, memory=1 << 30)
    return bootstrap_network(dataset, Resamples(resamples), claim, Methods(seed=seed), budgets, **how)


def session(folder, dataset, resamples=5, **how):
    """Go on from the checkpoint in `folder`, or begin if there is none."""
    resume = read_manifest(folder) if (folder / MANIFEST).exists() else None
    return bootstrapped(dataset, resamples, place=Place(folder, resume=resume), **how)


def told(result):
    """What must be the same however often the run was interrupted."""
    return result.status, result.network.parents, result.cost, result.lower_bound, result.bootstrap


def optima(codes, arities, score, allowed):
    """The networks of least cost among those of allowed families, as parent bitmasks, and that cost."""
    n = len(arities)
    costs = np.full((n, 2**n), math.inf)
    for child, varset in np.argwhere(allowed).tolist():
        costs[child, varset] = naive.family_cost(score, codes, arities, child, naive.members(varset))
    totals = {graph: sum(costs[x, own] for x, own in enumerate(graph)) for graph in naive.all_dags(n)}
    least = min(totals.values())
    return [graph for graph, total in totals.items() if total <= least + 1e-6], least


def noisy_dataset(rng, n, records):
    """Columns that follow the one before them, more or less: ties are unlikely."""
    columns = [rng.integers(0, 2, records)]
    for _ in range(n - 1):
        columns.append(np.where(rng.random(records) < rng.uniform(0.6, 0.9), columns[-1], rng.integers(0, 3, records)))
    return dataset_of(np.stack(columns, axis=1)[:, rng.permutation(n)])


def shares(of_class, n):
    """joined, compelled and reversible (3, n, n) of a class."""
    directed, undirected = of_class
    found = np.zeros((3, n, n))
    for arc in directed:
        found[0][arc] = found[0][arc[::-1]] = found[1][arc] = 1
    for arc in undirected:
        for either in (arc, arc[::-1]):
            found[0][either] = found[2][either] = 1
    return found


@pytest.mark.parametrize("score", EVERY_SCORE)
def test_each_resample_has_a_best_network_and_the_shares_are_theirs(score):
    rng, exact = np.random.default_rng(len(score)), 0
    for seed in range(4):
        n = 2 + seed % 3
        dataset = random_dataset(rng, n, 40) if seed < 2 else noisy_dataset(rng, n, 60)
        knowledge = random_knowledge(rng, dataset.names) if seed % 2 else Claim().knowledge
        found = bootstrapped(dataset, 4, claim_by(score, knowledge=knowledge), seed).bootstrap
        allowed, least_shares, most_shares = admitted(knowledge, dataset.names, None), 0, 0
        assert [one.number for one in found.done] == [1, 2, 3, 4]
        for one in found.done:
            codes = resampling_of(dataset).drawn(seed, one.number).codes
            best, least = optima(codes, dataset.arities, score, allowed)
            own = tuple(sum(1 << p for p in parents) for parents in one.network.parents)
            assert one.status == OPTIMAL
            assert own in best
            assert one.lower_bound <= one.cost == pytest.approx(least, abs=1e-6)
            of_best = np.array([shares(shared(members(graph, knowledge, dataset.names)), n) for graph in best])
            least_shares, most_shares = least_shares + of_best.min(axis=0) / 4, most_shares + of_best.max(axis=0) / 4
        told = np.zeros((3, n, n))
        for one in found.arcs:
            arc = dataset.names.index(one.parent), dataset.names.index(one.child)
            told[:, *arc] = one.strength, one.compelled, one.reversible
            assert one.direction == pytest.approx((one.compelled + one.reversible / 2) / one.strength)
        assert (least_shares - 1e-9 <= told).all()
        assert (told <= most_shares + 1e-9).all()
        exact += (least_shares == most_shares).all() and told.any()
    assert exact > 0, "some data have one best class in each resample"


@pytest.mark.parametrize("seed", range(4))
def test_knowledge_and_limits_hold_in_every_resample_and_in_the_consensus(seed):
    rng = np.random.default_rng(seed)
    dataset = random_dataset(rng, 6, 80)
    knowledge = random_knowledge(rng, dataset.names, most=1)
    found = bootstrapped(dataset, 6, Claim(max_parents=1, knowledge=knowledge)).bootstrap
    for one in found.done:
        allowed = admitted(knowledge, dataset.names, 1)
        assert all(allowed[x, sum(1 << p for p in own)] for x, own in enumerate(one.network.parents))
    agreed = found.consensus()
    agreed.order()
    arcs = {(dataset.names[p], dataset.names[x]) for p, x in agreed.arcs()}
    assert set(knowledge.required) <= arcs
    ruled_out = knowledge.ruling_out()
    assert all(ruled_out(*arc) is None for arc in arcs)


@pytest.fixture(scope="module")
def dataset():
    """Eight variables in two components."""
    rng = np.random.default_rng(4)
    return dataset_of(np.hstack([noisy_dataset(rng, n, 120).codes for n in (5, 3)]))


@pytest.fixture(scope="module")
def expected(dataset):
    return bootstrapped(dataset)


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_change_nothing(dataset, expected, threads):
    assert told(bootstrapped(dataset, threads=threads)) == told(expected)


def test_fewer_resamples_are_the_first_ones_and_another_seed_has_others(dataset, expected):
    assert bootstrapped(dataset, 3).bootstrap.done == expected.bootstrap.done[:3]
    assert bootstrapped(dataset, seed=1).bootstrap.done != expected.bootstrap.done


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("line", [1, 3, 5])
def test_a_run_that_is_killed_goes_on_behind_its_last_line(tmp_path, monkeypatch, dataset, expected, line, after):
    with killed_at_line(line, after), pytest.raises(Killed):
        session(tmp_path, dataset)
    append, taken = Journal.append, []
    with monkeypatch.context() as patch:
        patch.setattr(Journal, "append", lambda journal, text: (taken.append(text), append(journal, text)))
        result = session(tmp_path, dataset)
    assert len(taken) == 5 - line + (not after)
    assert told(result) == told(expected)
    assert result.stats["seconds"] > 0
    lines = (tmp_path / RESAMPLES).read_text().splitlines()
    assert [json.loads(one)["resample"] for one in lines] == [1, 2, 3, 4, 5]
    assert read_manifest(tmp_path).state.phase == "done"
    assert not list(tmp_path.rglob("*.h5"))


def test_nothing_is_proved_twice_after_a_stop(tmp_path, sizes, dataset, expected):
    ended = session(tmp_path, dataset, stop=stop_after(2))
    assert read_manifest(tmp_path).state.phase == "bootstrap"
    events = []
    sizes({"commits.COMMIT_SECONDS": -1.0})
    result = session(tmp_path, dataset, observer=events.append)
    assert ended.bootstrap.done == expected.bootstrap.done[:2]
    assert told(result) == told(expected)
    advanced = [one.done for one in events if isinstance(one, StageAdvanced) and one.stage == "bootstrap"]
    assert advanced == [2, 3, 4]
    assert not [one for one in events if isinstance(one, StageAdvanced) and one.stage == "scores"]


def stop_after(resamples, reason=TIME_LIMIT):
    """A signal that comes in the middle of the resample behind so many."""
    drawn, real = [], Resampling.drawn

    def drawing(own, *how):
        drawn.append(how)
        return real(own, *how)

    def stop():
        if len(drawn) <= resamples:
            return None
        Resampling.drawn = real
        return reason

    Resampling.drawn = drawing
    return stop


@pytest.mark.parametrize("reason", [TIME_LIMIT, INTERRUPTED])
@pytest.mark.parametrize("resamples", [0, 2, 4])
def test_a_stop_leaves_what_is_done(dataset, expected, resamples, reason):
    result = bootstrapped(dataset, stop=stop_after(resamples, reason))
    assert (result.status, result.network) == (reason, expected.network)
    assert (result.cost, result.lower_bound) == (expected.cost, expected.lower_bound)
    assert result.bootstrap.done == expected.bootstrap.done[:resamples]
    document = result.document()["bootstrap"]
    assert (document["resamples"], document["done"], document["proved"]) == (5, resamples, resamples)
    assert bool(document["arcs"]) == (resamples > 0)


@pytest.mark.parametrize("seed", range(3))
def test_however_often_a_run_is_stopped_it_says_the_same_in_the_end(tmp_path, dataset, expected, seed):
    rng, ends = np.random.default_rng(seed), []
    while not ends or ends[-1] != OPTIMAL:
        left = iter(range(int(rng.integers(1, 200 + 40 * len(ends)))))
        result = session(tmp_path, dataset, stop=lambda left=left: None if next(left, None) is not None else TIME_LIMIT)
        ends.append(result.status)
        assert result.bootstrap.done == expected.bootstrap.done[: len(result.bootstrap.done)]
    assert told(result) == told(expected)
    assert len(ends) > 2


NOTHING = RunState("bootstrap", "0" * 64, Claim(), {}, {}, None)


def test_a_bound_that_nobody_knows_is_kept(tmp_path):
    network = Network(("a",), ((),))
    for bound in (-math.inf, 1.5):
        with taken_at(Place(tmp_path), ("a",), 1) as taken:
            taken.add(Resample(1, MEMORY_LIMIT, 2.0, bound, network))
        with taken_at(Place(tmp_path, resume=Manifest(NOTHING, (), None)), ("a",), 1) as again:
            assert again.done == taken.done


def test_without_a_proof_of_the_data_no_resample_is_begun(dataset):
    result = bootstrapped(dataset, stop=lambda: TIME_LIMIT)
    assert (result.status, result.bootstrap.done) == (TIME_LIMIT, ())


def test_resamples_that_are_not_proved_are_counted(monkeypatch, dataset):
    components, drawn, real = extbnsl.solver.components, [], Resampling.drawn

    def unproved(survivors, found, context, **how):
        parts = find_parts(survivors, found, context, **how)
        return [replace(p, proved=p.proved and c.size == 1) for p, c in zip(parts, found, strict=True)]

    def short_of_memory(*given):
        if len(drawn) == 3:
            raise MemoryError
        return prove(*given)

    find_parts, prove = components.find_parts, components.prove
    monkeypatch.setattr(components, "find_parts", unproved)
    monkeypatch.setattr(components, "prove", short_of_memory)
    monkeypatch.setattr(Resampling, "drawn", lambda own, *how: (drawn.append(how), real(own, *how))[1])
    result = bootstrapped(dataset)
    assert result.status == OPTIMAL
    assert [one.status for one in result.bootstrap.done] == [OPTIMAL] * 2 + [MEMORY_LIMIT] + [OPTIMAL] * 2
    assert result.document()["bootstrap"]["proved"] == 4


@pytest.mark.parametrize("line", [b'{"resample": 2}', b"nonsense", b'{"resample": 1e999}', b"\xff\xfe", b""])
def test_a_damaged_line_is_told(tmp_path, dataset, line):
    session(tmp_path, dataset, stop=stop_after(3))
    lines = (tmp_path / RESAMPLES).read_bytes().split(b"\n")
    lines[1] = line
    (tmp_path / RESAMPLES).write_bytes(b"\n".join(lines))
    with pytest.raises(RunDirectoryError, match=r"bootstrap.jsonl is damaged in line 2; cut that line"):
        session(tmp_path, dataset)


def test_lines_of_other_variables_or_with_a_cycle_are_damage(tmp_path, dataset):
    session(tmp_path, dataset, stop=stop_after(1))
    before = json.loads((tmp_path / RESAMPLES).read_text())
    for parents in ({"x": []}, {"v0": ["v1"], "v1": ["v0"]}):
        (tmp_path / RESAMPLES).write_text(json.dumps(before | {"parents": parents}) + "\n")
        with pytest.raises(RunDirectoryError, match="line 1"):
            session(tmp_path, dataset)


def test_a_journal_that_is_gone_is_made_again(tmp_path, dataset, expected):
    session(tmp_path, dataset, stop=stop_after(2))
    (tmp_path / RESAMPLES).unlink()
    assert told(session(tmp_path, dataset)) == told(expected)


def test_another_number_of_resamples_is_another_run(tmp_path, dataset):
    session(tmp_path, dataset, stop=stop_after(1))
    with pytest.raises(RunDirectoryError, match="bootstrap = 5, not 6"):
        session(tmp_path, dataset, 6)


def test_a_full_disk_ends_the_run_and_a_resume_goes_on(tmp_path, monkeypatch, dataset, expected):
    real, lines = os.pwrite, []

    def full(descriptor, data, at):
        lines.append(data)
        if len(lines) > 2:
            real(descriptor, data[:7], at)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(descriptor, data, at)

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        result = session(tmp_path, dataset)
    assert (result.status, len(result.bootstrap.done)) == ("disk_limit", 2)
    assert (tmp_path / RESAMPLES).read_text().count("\n") == 2
    assert told(session(tmp_path, dataset)) == told(expected)


def test_without_disk_all_is_done_in_one_go(tmp_path, dataset, expected):
    warned = []
    budgets = Budgets(threads=1, memory=1 << 30, disk=0)
    result = bootstrap_network(dataset, Resamples(5), budgets=budgets, place=Place(tmp_path), observer=warned.append)
    assert told(result) == told(expected)
    assert not [one for one in warned if isinstance(one, Warned)]


@pytest.mark.slow
def test_where_memory_has_no_room_for_a_copy_of_the_data_their_network_is_there(tmp_path, dataset):
    large, told = dataset_of(np.repeat(dataset.codes, 10_000, axis=0)), []
    how = {"claim": Claim(max_parents=1), "observer": told.append}
    small = Budgets(threads=1, memory=24 << 20)
    result = bootstrap_network(large, Resamples(1), budgets=small, place=Place(tmp_path), **how)
    assert (result.status, result.bootstrap.done) == (MEMORY_LIMIT, ())
    (warning,) = (one.message for one in told if isinstance(one, Warned))
    assert warning.startswith("A resample is a copy of the data and needs ")
    assert session(tmp_path, large, 1, claim=how["claim"]).status == OPTIMAL


@pytest.mark.parametrize("error", [BudgetError("The disk takes no more."), MemoryError()])
def test_what_is_too_small_for_a_resample_does_not_cost_the_network(monkeypatch, dataset, expected, error):
    real = bootstrap.find_survivors

    def fails(data, *how, **more):
        if data is not dataset:
            raise error
        return real(data, *how, **more)

    told = []
    monkeypatch.setattr(bootstrap, "find_survivors", fails)
    result = bootstrapped(dataset, observer=told.append)
    assert result.network == expected.network
    assert result.status == ("memory_limit" if isinstance(error, MemoryError) else "disk_limit")
    assert [one.message for one in told if isinstance(one, Warned)] == [
        str(error) or "There is no memory for a resample; give it more."
    ]


@pytest.mark.parametrize(
    "codes",
    [[[0], [1], [1]], [[0, 0]] * 4, [[0, 1]], [[0, 1, 0], [0, 0, 1], [0, 1, 1], [0, 0, 0]] * 9],
    ids=["one variable", "nothing varies", "one record", "a constant column"],
)
def test_odd_data(codes):
    found = bootstrapped(dataset_of(codes), 1)
    assert found.status == OPTIMAL
    assert found.bootstrap.proved == 1
    assert found.bootstrap.consensus().names == found.network.names
    assert isinstance(found.document()["bootstrap"]["arcs"], list)


def test_weights_are_records(tmp_path):
    rows = ["a,b,c,often", "0,0,1,9", "0,1,0,4", "1,1,1,8", "1,0,0,3"]
    (tmp_path / "w.csv").write_text("\n".join(rows) + "\n")
    each = [row.rsplit(",", 1) for row in rows[1:]]
    (tmp_path / "r.csv").write_text("\n".join(["a,b,c", *(line for line, n in each for _ in range(int(n)))]) + "\n")
    weighted = extbnsl.learn(extbnsl.read_csv(tmp_path / "w.csv", weights="often"), bootstrap=6)
    repeated = extbnsl.learn(extbnsl.read_csv(tmp_path / "r.csv"), bootstrap=6)
    assert weighted.bootstrap == repeated.bootstrap
    assert weighted.bootstrap.arcs


@pytest.mark.parametrize("number", [0, -1, 10_001, 2.5, True, "7"])
def test_what_is_no_number_of_resamples_is_refused(dataset, number):
    with pytest.raises(InputError, match=r"^bootstrap: .* is not a whole number from 1 to 10000"):
        extbnsl.learn(dataset, bootstrap=number)


def test_what_has_no_resamples_is_refused(dataset):
    with pytest.raises(InputError, match=r"^bootstrap: local scores have no records"):
        extbnsl.learn({"a": {(): 1.0}, "b": {(): 2.0, ("a",): 1.0}}, bootstrap=2)
    with pytest.raises(InputError, match=r"^bootstrap: the published methods solve no resamples"):
        extbnsl.learn(dataset, bootstrap=2, method="astar")


def test_python_has_a_table_of_arcs(tmp_path, dataset, expected):
    import pandas as pd

    result = extbnsl.learn(dataset, bootstrap=np.int64(5), threads=1)
    assert result.bootstrap == expected.bootstrap
    assert repr(result.bootstrap) == "<Bootstrap of 5 of 5 resamples, 5 proved>"
    frame = pd.DataFrame(result.bootstrap.arcs)
    assert list(frame.columns[:4]) == ["parent", "child", "strength", "direction"]
    assert frame.strength.is_monotonic_decreasing
    result.save(tmp_path)
    table = pd.read_csv(tmp_path / ARC_FREQUENCIES)
    assert table.rename(columns={"from": "parent", "to": "child"}).equals(frame)
    document = json.loads((tmp_path / RESULT).read_text())["bootstrap"]
    assert document["arcs"] == table.to_dict("records")
    extbnsl.learn(dataset).save(tmp_path, overwrite=True)
    assert not (tmp_path / ARC_FREQUENCIES).exists()
    with pytest.raises(InputError, match="threshold: 0 is no share"):
        result.bootstrap.consensus(0)
