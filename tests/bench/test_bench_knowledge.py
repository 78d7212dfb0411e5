"""`python -m bench.knowledge`: kinds of knowledge that a solve takes, the least of the repeats, and what is slower."""

from pathlib import Path

import pytest

import extbnsl
from bench import knowledge

ASIA = Path(__file__).parents[2] / "examples" / "asia.csv"
DOCUMENT = {
    "variables": list("abcdefgh"),
    "order": list("hgfedcba"),
    "parents": {"a": ["b", "c"], "b": ["c"], **{name: [] for name in "cdefgh"}},
}


def options(kind):
    return [word for word in knowledge.kinds_of(DOCUMENT)[kind] if not word.startswith("--")]


def test_arcs_are_taken_from_the_network_or_go_with_its_order():
    assert list(knowledge.kinds_of(DOCUMENT)) == list(knowledge.KINDS)
    assert set(options("two forbidden")) < {"b,a", "c,a", "c,b"}
    assert set(options("three of the best")) == {"b,a", "c,a", "c,b"}
    assert options("three into one child") == ["h,a", "g,a", "f,a"]
    for kind, arcs in (("one required", 1), ("three into three", 3), ("five into five", 5)):
        pairs = [arc.split(",") for arc in options(kind)]
        assert len({child for _, child in pairs}) == arcs
        assert all(parent > child and parent not in DOCUMENT["parents"][child] for parent, child in pairs)


def test_the_first_round_does_not_count_and_the_least_does(monkeypatch, tmp_path):
    spent = iter([9.0, 9.0, 3.0, 5.0, 2.0, 6.0])
    monkeypatch.setattr(knowledge, "_cost", lambda begin, folder: knowledge.Cost(next(spent), {}, {}))
    costs = knowledge.measured(["solve"], {"none": (), "tiers": ("--tier", "a")}, 2, tmp_path)
    assert {kind: cost.cpu_seconds for kind, cost in costs.items()} == {"none": 2.0, "tiers": 5.0}


@pytest.mark.parametrize(("dear", "code"), [(1.09, 0), (1.11, 1)])
def test_it_fails_where_knowledge_makes_a_solve_slower(monkeypatch, capsys, dear, code):
    counts = dict.fromkeys(knowledge.FIGURES, 1000)
    costs = dict.fromkeys(knowledge.KINDS, knowledge.Cost(1.0, {"scores": 0.5}, counts))
    costs["five into five"] = knowledge.Cost(dear, {"scores": 0.5}, counts)
    monkeypatch.setattr(knowledge, "_solved", lambda *_: DOCUMENT)
    monkeypatch.setattr(knowledge, "measured", lambda *_: costs)
    assert knowledge.main(["data.csv", "--stages"]) == code
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == (
        "data, none: 1.00 (scores 0.50); varsets_counted 1,000, parent_sets 1,000, nodes_expanded 1,000"
    )
    assert lines[-1].split() == ["data", *["1.00"] * (len(knowledge.KINDS) - 1), str(dear)]


@pytest.mark.slow
def test_a_solve_is_measured(tmp_path):
    begin = ["solve", str(ASIA), "--threads", "1"]
    document = knowledge._solved(begin, tmp_path)
    cost = knowledge._cost([*begin, *knowledge.kinds_of(document)["five into five"]], tmp_path)
    assert cost.cpu_seconds > sum(cost.stages.values()) > 0
    assert cost.counts["parent_sets"] > 0
    with pytest.raises(SystemExit, match="exit code 30"):
        knowledge._cost([*begin, "--required", "asia,nothing"], tmp_path)


def test_a_solve_takes_every_kind():
    data = extbnsl.read_csv(ASIA)
    document = extbnsl.learn(data).document()
    arcs = [arc.split(",") for arc in knowledge.kinds_of(document)["five into five"][1::2]]
    parents = extbnsl.learn(data, knowledge={"required": arcs}).parents
    assert len(arcs) == 5
    assert all(parent in parents[child] for parent, child in arcs)
