"""The files of the k best networks: what is in them, and that they are written in pieces."""

import csv
import io
import json
import os
import re
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from cases import from_array
from fakes import HOSTILE, arcs_of, document_of, fake_networks, fake_result
from hypothesis import given, settings
from hypothesis import strategies as st
from runs import stopped

from extbnsl.cli import main
from extbnsl.core.codec import json_text
from extbnsl.core.errors import InputError, VerificationError
from extbnsl.files import names
from extbnsl.files.atomic import pieces, write_atomically
from extbnsl.formats.network_reader import read_network
from extbnsl.kernels.varsets import pack
from extbnsl.networks.network import Network, cpdag
from extbnsl.results import ranked as listing
from extbnsl.results.networks import Between
from extbnsl.results.ranked import orders, other_files
from extbnsl.results.reading import read_result
from extbnsl.run.directory import foreign_files, remove_run

PLAIN = ("A", "B", "C", "D", "E")
NAMES = {"plain": PLAIN, "hostile": HOSTILE, "many": tuple(f"x{i}" for i in range(70)), "one": ("only",)}


@pytest.fixture(params=NAMES)
def variables(request):
    return NAMES[request.param]


def text_of(files, name):
    return b"".join(pieces(dict(files)[name])).decode()


def files_of(result):
    return {name: b"".join(pieces(content)) for name, content in result.files(result.document())}


@pytest.mark.parametrize("portion", [1, 50, 1 << 17])
def test_the_text_in_pieces_is_the_plain_json_of_all(variables, portion, sizes):
    sizes(FAMILIES=portion)
    networks = fake_networks(23, variables)
    result = fake_result(networks)
    head = result.document({"command": "extbnsl kbest"})
    written = text_of(result.files(head), "result.json")
    everything = head | {"networks": [document_of(one) for one in networks]}
    assert json.loads(written) == json.loads(json_text(everything))
    assert list(json.loads(written))[-1] == "networks"
    lines = written.split("\n")
    at = lines.index(' "networks": [')
    assert [json.loads(line.removesuffix(",")) for line in lines[at + 1 : at + 24]] == everything["networks"]
    assert lines[at + 24 :] == [" ]", "}", ""]


def parsed_model(model, variables):
    """The parents of each variable as they stand in a model string of names without marks."""
    terms = re.fullmatch(r"((?:\[[^\[\]]*\])+)", model)[1][1:-1].split("][")
    families = [term.partition("|") for term in terms]
    return {child: set(parents.split(":")) - {""} for child, _, parents in families}, [f[0] for f in families]


@pytest.mark.parametrize("of_all", [None, Between(0.125, 0.5)])
@pytest.mark.parametrize("variables", [NAMES["plain"], NAMES["many"], NAMES["one"]])
def test_the_table_of_networks(variables, of_all):
    networks = replace(fake_networks(40, variables), of_all=of_all)
    result = fake_result(networks)
    header, *rows = csv.reader(io.StringIO(text_of(result.files(result.document()), "networks.csv")))
    assert header == [
        *("rank", "cost", "share_of_found", "probability_at_least", "probability_at_most"),
        *("equivalence_class", "arcs", "model"),
    ]
    assert len(rows) == 40
    for row, one in zip(rows, networks, strict=True):
        assert [int(row[0]), float(row[1]), float(row[2])] == [one.rank, one.cost, one.share]
        assert row[3:5] == ["", ""] if of_all is None else [repr(one.share * 0.125), repr(one.share * 0.5)]
        assert one.probability == (None if of_all is None else Between(float(row[3]), float(row[4])))
        assert [int(row[5]), int(row[6])] == [one.equivalence_class, len(one.network.arcs())]
        parents, order = parsed_model(row[7], variables)
        assert parents == {child: set(own) for child, own in one.parents.items()}
        assert all(order.index(p) < order.index(child) for child, own in parents.items() for p in own)


def test_a_model_is_written_as_bnlearn_writes_it():
    """That of learning.test in bnlearn: variables by their distance from the roots, then by name."""
    parents = {"B": ["A"], "D": ["A", "C"], "E": ["B", "F"]}
    network = Network.from_names(("A", "B", "C", "D", "E", "F"), parents)
    networks = fake_networks(1, network.names)
    sets = tuple(pack(own, 6)[None, :] for own in network.parents)
    own = type(networks)(network.names, sets, np.zeros((1, 6), np.int32), *(getattr(networks, key) for key in FIGURES))
    (_, row) = b"".join(listing.networks_table(own, None)).decode().splitlines()
    assert row.endswith(",1,5,[A][C][F][B|A][D|A:C][E|B:F]")


FIGURES = ("costs", "ranks", "classes", "shares")


def test_hostile_names_in_tables():
    networks = fake_networks(5, HOSTILE)
    files = files_of(fake_result(networks))
    rows = list(csv.reader(io.StringIO(files["networks.csv"].decode(), newline="")))
    found = orders(networks.varsets(slice(None)))
    for row, one, order in zip(rows[1:], networks, found, strict=True):
        told = [(HOSTILE[x], ":".join(HOSTILE[p] for p in one.network.parents[x])) for x in order]
        model = "".join(f"[{child}|{own}]" if own else f"[{child}]" for child, own in told)
        assert row[7] == model.encode("utf-8", "backslashreplace").decode()
    arcs = list(csv.reader(io.StringIO(files["arcs.csv"].decode(), newline="")))
    spelled = {name.encode("utf-8", "backslashreplace").decode() for name in HOSTILE}
    assert {name for row in arcs[1:] for name in row[:2]} <= spelled


def test_the_table_of_arcs(variables):
    networks = fake_networks(30, variables)
    arcs, spelled = arcs_of(networks), [name.encode("utf-8", "backslashreplace").decode() for name in variables]
    networks = replace(networks, of_all=Between(0.125, 0.5))
    table = files_of(fake_result(networks))["arcs.csv"].decode()
    header, *rows = csv.reader(io.StringIO(table, newline=""))
    assert header == [
        *("from", "to", "share_of_found", "either_of_found"),
        *("found_of_all_at_least", "found_of_all_at_most"),
    ]
    told = [float(row[2]) for row in rows]
    assert told == sorted(told, reverse=True)
    assert min(told, default=1.0) > 0.0
    assert len(rows) == np.count_nonzero(arcs)
    for p, x, share, either, *of_all in rows:
        a, b = spelled.index(p), spelled.index(x)
        assert float(share) == pytest.approx(arcs[a, b])
        assert float(either) == pytest.approx(arcs[a, b] + arcs[b, a])
        assert float(either) <= 1.0
        assert of_all == ["0.125", "0.5"]


def test_arcs_in_both_directions_have_the_share_of_either():
    """And of what nobody knows, nothing."""
    table = listing.arcs_table(["a", "b"], np.array([[0.0, 0.25], [0.5, 0.0]]), None).decode()
    assert table.splitlines()[1:] == ["b,a,0.5,0.75,,", "a,b,0.25,0.75,,"]


@pytest.mark.slow
@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32), st.sampled_from([1, 3, 8, 64, 65, 130]))
def test_variables_stand_behind_their_parents(seed, n):
    networks = fake_networks(6, range(n), seed)
    found = orders(networks.varsets(slice(None)))
    for one, order in zip(networks, found.tolist(), strict=True):
        depth = {}
        for x in one.network.order():
            depth[x] = 1 + max((depth[p] for p in one.network.parents[x]), default=-1)
        assert order == sorted(range(n), key=lambda x, depth=depth: (depth[x], x))


def test_a_cycle_has_no_order():
    with pytest.raises(VerificationError, match="cycle"):
        orders(np.array([[[2], [1]]], np.uint64))


def test_the_head_counts_and_tells_what_all_share():
    networks = fake_networks(50, PLAIN)
    head = fake_result(networks, counted=123_456, share=0.25, written=3).document()
    assert head["within"] == 1.0
    assert head["count"] == {"networks": 123_456, "listed": 50, "share": 0.25, "of_all": None, "written": 3}
    likely = np.bincount(networks.classes, networks.shares)
    assert head["classes"]["listed"] == len(set(networks.classes.tolist()))
    assert likely[head["classes"]["heaviest"]] == head["classes"]["share"] == likely.max()
    shared = set.intersection(*(set(one.network.arcs()) for one in networks))
    assert {tuple(arc) for arc in head["shared_arcs"]} == {(PLAIN[p], PLAIN[x]) for p, x in shared}
    arcs = arcs_of(networks)
    told = {(PLAIN.index(p), PLAIN.index(x)): v for x, own in head["arc_shares"].items() for p, v in own.items()}
    assert list(head["arc_shares"]) == list(PLAIN)
    assert told == {(p, x): pytest.approx(arcs[p, x]) for p, x in np.argwhere(arcs).tolist()}
    first = [{"rank": one.rank, "cost": one.cost, "share": one.share} for one in networks[:10]]
    assert [{key: own[key] for key in ("rank", "cost", "share")} for own in head["top"]] == first
    assert [own["arcs"] for own in head["top"]] == [len(one.network.arcs()) for one in networks[:10]]


def test_arcs_that_all_share_are_not_told_from_rounded_shares():
    networks = fake_networks(2, ("a", "b"))
    sets = (np.zeros((1, 1), np.uint64), np.array([[1], [0]], np.uint64))
    figures = np.array([1.0, 60.0]), np.array([1, 2]), np.array([1, 2]), np.array([1.0, 1e-20])
    networks = type(networks)(("a", "b"), sets, np.array([[0, 0], [0, 1]], np.int32), *figures)
    head = fake_result(networks).document()
    assert head["arc_shares"] == {"a": {}, "b": {"a": 1.0}}
    assert head["shared_arcs"] == []


@pytest.mark.parametrize(
    ("within", "counted", "share"),
    [(1.0, None, 1.0), (1.0, 77, 0.5), (1.0, 20, 1.0), (np.inf, 20, 1.0), (None, None, 1.0)],
)
def test_how_many_there_are_is_told_where_it_is_known(within, counted, share):
    changes = {"within": within, "counted": counted, "share": share}
    head = json.loads(json_text(fake_result(fake_networks(20, PLAIN), **changes).document()))
    assert (head["count"]["networks"], head["count"]["share"]) == (counted, share)
    assert head["within"] == (within if within == 1.0 else None)


@pytest.mark.parametrize(("written", "places"), [(0, 1), (1, 1), (3, 3), (10, 6), (6, 6)])
def test_the_first_networks_have_files_and_the_best_the_last(written, places):
    networks = fake_networks(6, PLAIN)
    result = fake_result(networks, written=written)
    files = files_of(result)
    expected = {"result.json", "networks.csv", "arcs.csv", "network.json", "network.dot"}
    expected |= {f"network-{place}.{ending}" for place in range(2, places + 1) for ending in ("json", "dot")}
    assert set(files) == expected
    assert next(iter(files)) == "result.json"
    assert list(files)[-1] == "network.json"
    assert set(files) <= set(result.file_names)
    assert all(map(names.is_own, files))
    for place in range(1, places + 1):
        own, one = json.loads(files[names.of_network(place)[1]]), networks[place - 1]
        assert own["parents"] == one.parents
        assert own["cost"] == one.cost
        directed = {tuple(arc) for arc in own["cpdag"]["directed"]}
        assert directed == {(PLAIN[p], PLAIN[x]) for p, x in cpdag(one.network)[0]}


def test_with_data_each_of_the_first_networks_has_its_parameters(tmp_path):
    codes = np.random.default_rng(1).integers(0, 2, (50, 5))
    networks = fake_networks(4, PLAIN)
    fake_result(networks, dataset=from_array(codes, list(PLAIN)), written=3).save(tmp_path)
    for place in (1, 2, 3):
        assert (
            read_network(tmp_path / names.of_network(place)[0]).network.parents_by_name() == networks[place - 1].parents
        )
    assert not (tmp_path / "network-4.json").exists()


def test_saved_files_are_not_overwritten_unasked(tmp_path):
    result = fake_result(fake_networks(3, PLAIN))
    (tmp_path / "network-2.dot").write_text("mine")
    with pytest.raises(InputError, match=r"network-2\.dot exists already"):
        result.save(tmp_path)
    assert os.listdir(tmp_path) == ["network-2.dot"]
    result.save(tmp_path, overwrite=True)
    assert "digraph" in (tmp_path / "network-2.dot").read_text()


def test_all_files_can_be_made_again_from_the_result(tmp_path, variables):
    result = fake_result(fake_networks(12, variables), written=4)
    document = json.loads(json_text(result.document()))
    first = files_of(result)
    write_atomically(tmp_path / "result.json", first.pop("result.json"))
    assert read_result(tmp_path) == document
    again = {name: b"".join(pieces(content)) for name, content in other_files(tmp_path, document, None)}
    assert list(again) == list(first)
    assert again == first


def test_the_files_of_a_plain_result_can_be_made_again(tmp_path):
    document = {"variables": ["a", "b"], "parents": {"a": [], "b": ["a"]}, "cost": 2.5}
    again = dict(other_files(tmp_path, document, None))
    assert list(again) == ["network.dot", "network.json"]
    assert json.loads(again["network.json"])["arcs"] == [["a", "b"]]


@pytest.mark.slow
def test_a_hundred_thousand_networks_need_no_memory_for_their_text():
    networks = fake_networks(100_000, [f"variable {i}" for i in range(20)])
    result = fake_result(networks, np.zeros((20, 20)))
    document = result.document()
    tracemalloc.start()
    try:
        for name, content in result.files(document):
            largest = max(map(len, pieces(content)))
            assert largest < 20 << 20, name
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 34 << 20


def test_a_run_with_such_files_is_its_own(tmp_path, capsys):
    path = stopped(tmp_path / "r")
    fake_result(fake_networks(12, PLAIN)).save(path)
    assert main(["status", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["notes"] == []
    assert foreign_files(path) == []
    remove_run(path)
    assert os.listdir(path) == ["lock"]


def test_what_an_earlier_result_has_left_goes_when_it_is_replaced(tmp_path):
    fake_result(fake_networks(6, PLAIN)).save(tmp_path)
    (tmp_path / "network-7.txt").write_text("not ours")
    fewer = fake_result(fake_networks(6, PLAIN), written=2)
    with pytest.raises(InputError, match="overwrite=True"):
        fewer.save(tmp_path)
    assert (tmp_path / "network-6.dot").exists()
    fewer.save(tmp_path, overwrite=True)
    assert {path.name for path in tmp_path.iterdir()} == {*files_of(fewer), "network-7.txt"}
