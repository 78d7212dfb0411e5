"""`verify --require`: what is demanded of a claim, and how it is said when it is not met."""

import json
from pathlib import Path

import pytest
from commands import fails, run

from extbnsl.cli.demands import CHOICES, KINDS, demanded
from extbnsl.verify.question import DATA_PARTS, KEYS


@pytest.fixture
def bdeu(capsys):
    """A run of the first 50 records, by BDeu, with a limit and with knowledge."""
    how = ["--score", "bdeu", "--ess", "2.5", "--max-parents", "2", "--forbidden", "a,b", "--records", "50"]
    code, _, err = run(capsys, "solve", "data.csv", *how, "--run-dir", "r", "--quiet")
    assert code == 0, err
    Path("same.yaml").write_text("forbidden: [[a, b]]\n")
    Path("other.yaml").write_text("forbidden: [[b, a]]\n")


def required(capsys, *texts):
    """Exit code of verify, and the sentences between the claim and the end."""
    code, out, err = run(capsys, "verify", "r", "data.csv", *(part for text in texts for part in ("--require", text)))
    assert out, err
    return code, [line for line in out.splitlines() if "was demanded" in line]


@pytest.mark.parametrize(
    "text",
    [
        "score=bdeu,ess=2.5,knowledge=same.yaml,max-parents=2,records=50,weights=none,missing=refuse,status=optimal",
        "ess=2.50",
        "ess=25e-1, variables=4",
        "max_parents=2",
        "order-optimal=false,classes=false,k=none,resamples=none,within-factor=none",
        "order-optimal=none,header=none,drop=none",
    ],
)
def test_demands_that_are_met(capsys, bdeu, text):
    assert required(capsys, text) == (0, [])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("score=mdl", "score: mdl was demanded, but the result says bdeu."),
        ("score=bic", "score: bic was demanded, but the result says bdeu."),
        ("ess=1", "ess: 1.0 was demanded, but the result says 2.5."),
        ("ess=none", "ess: none was demanded, but the result says 2.5."),
        ("max-parents=none", "max-parents: none was demanded, but the result says 2."),
        ("max-parents=0", "max-parents: 0 was demanded, but the result says 2."),
        ("records=60", "records: 60 was demanded, but the result says 50."),
        ("weights=w", "weights: w was demanded, but the result says none."),
        ("data-options=none", "data-options: none was demanded, but the result says records 50."),
        ("digest=none", "digest: none was demanded, but the result says "),
        ("variables=3", "variables: 3 was demanded, but the result says 4."),
        ("resamples=5", "resamples: 5 was demanded, but the result says none."),
        ("classes=true", "classes: true was demanded, but the result says none."),
        ("header=false", "header: false was demanded, but the result says none."),
        ("status=heuristic", "status: heuristic was demanded, but the result says optimal."),
        ("knowledge=none", "knowledge: none was demanded, but the result says 1 forbidden arc (digest "),
        ("knowledge=other.yaml", "knowledge: 1 forbidden arc (digest "),
        ('"drop=a,b"', "drop: a,b was demanded, but the result says none."),
    ],
)
def test_demands_that_are_not_met(capsys, bdeu, text, sentence):
    code, told = required(capsys, text)
    assert code == 31
    assert len(told) == 1
    assert told[0].startswith(sentence)


def test_each_demand_has_a_sentence(capsys, bdeu):
    code, told = required(capsys, "score=k2,records=1", "max-parents=1")
    assert code == 31
    assert [sentence.partition(":")[0] for sentence in told] == ["score", "records", "max-parents"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("scor=mdl", "'scor' is not known; did you mean score?\n"),
        ("frib=1", "'frib' is not known; there are status, order-optimal, score, "),
        ("score=bdue", "score: 'bdue' is not known; did you mean bdeu?"),
        ("status=optmal", "status: 'optmal' is not known; did you mean optimal?"),
        ("missing=keep", "missing: 'keep' is not known; there are refuse, drop, state, average, em."),
        ("ess=much", "ess: 'much' is not a number above 0 or none."),
        ("ess=nan", "ess: 'nan' is not a number above 0 or none."),
        ("ess=0", "ess: '0' is not a number above 0 or none."),
        ("records=1.5", "records: '1.5' is not a whole number of at least 0 or none."),
        ("max-parents=-1", "max-parents: '-1' is not a whole number of at least 0 or none."),
        ("classes=maybe", "classes: 'maybe' is not true, false or none."),
        ("data-options=records", "data-options: 'records' is not a mapping in a file or none."),
        ("score=mdl,ess", "'ess' is no KEY=VALUE; a value with commas stands in double quotes with it."),
        ("score=mdl,score=k2", "score is demanded twice, and not the same; give it once."),
        ("knowledge=nowhere.yaml", "nowhere.yaml cannot be read (No such file or directory)"),
        ("nowhere.yaml", "nowhere.yaml cannot be read (No such file or directory)"),
        ("list.yaml", "list.yaml is no mapping of keys such as score and records to values."),
        ("bad.yaml", "ess: True is not a number above 0 or none."),
        ("knows.yaml", "knowledge: frib: There is no such key"),
    ],
)
def test_what_cannot_be_demanded_is_refused(capsys, text, said):
    Path("list.yaml").write_text("- score\n")
    Path("bad.yaml").write_text("ess: true\n")
    Path("knows.yaml").write_text("knowledge: {frib: 1}\n")
    assert said in fails(capsys, "verify", "r", "data.csv", "--require", text)


def test_a_file_says_what_is_demanded(capsys, bdeu):
    Path("question.yaml").write_text(
        "score: bdeu\ness: 2.5\nmax_parents: 2\nweights: none\nknowledge: {forbidden: [[a, b]]}\nrecords: 50\n"
        "data-options: {records: 50, missing: refuse}\nk:\n"
    )
    assert required(capsys, "question.yaml") == (0, [])
    Path("deep").mkdir()
    Path("deep/question.yaml").write_text("knowledge: known.yaml\n")
    Path("deep/known.yaml").write_text("forbidden: [[a, b]]\n")
    assert required(capsys, "deep/question.yaml") == (0, [])
    Path("question.json").write_text('{"score": "bdeu", "ess": 3}')
    assert required(capsys, "question.json") == (31, ["ess: 3.0 was demanded, but the result says 2.5."])


def test_another_result_may_be_of_the_same_question(capsys, bdeu):
    run(capsys, "kbest", "data.csv", "-k", "2", "--run-dir", "k", "--quiet")
    assert required(capsys, "r") == (0, [])
    assert required(capsys, "r/result.json") == (0, [])
    code, told = required(capsys, "k")
    assert code == 31
    assert [one.partition(":")[0] for one in told] == [
        *("score", "ess", "max-parents", "knowledge", "records", "digest", "k", "data-options")
    ]
    document = json.loads(Path("r/result.json").read_text())
    Path("stopped.json").write_text(json.dumps(document | {"status": "time_limit", "cost": 1.0}))
    assert required(capsys, "stopped.json") == (0, [])


def test_the_order_in_which_knowledge_is_told_does_not_matter(capsys):
    arcs = ["--forbidden", "a,b", "--forbidden", "c,d", "--allowed", "a,c", "--allowed", "d,b"]
    run(capsys, "solve", "data.csv", *arcs, "--max-parents-of", "a=1", "--run-dir", "r", "--quiet")
    Path("known.yaml").write_text(
        "allowed: [[b, d], [c, a]]\nforbidden: [[c, d], [a, b], [a, b]]\nmax_parents: {a: 1}\n"
    )
    assert required(capsys, "knowledge=known.yaml") == (0, [])


def test_every_key_can_be_demanded():
    """Of each some value is read, or refused in a sentence of its own."""
    assert {*CHOICES, *KINDS} <= set(KEYS)
    for key in KEYS:
        assert demanded([f"{key}=none"]) == {key: None}
    texts = set(KEYS) - {*CHOICES, *KINDS, "knowledge"}
    assert {*DATA_PARTS, "weights", "digest"} - {"header", "missing", "lags", "instant"} == texts
    assert all(demanded([f"{key}=x"]) == {key: "x"} for key in texts)
