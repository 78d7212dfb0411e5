"""What is asked for by options: scores and knowledge, from the command line to the result and back."""

import json
from pathlib import Path

import pytest
from patching import sized, stopped_by

from extbnsl.cli import main

ASIA = Path(__file__).resolve().parents[2] / "examples" / "asia.csv"
KNOWN = ["--required", "smoke,lung", "--forbidden", "dysp,xray", "--forbidden", "asia,smoke", "--tier", "asia, smoke"]
KNOWN += ["--tier", "tub,lung,bronc", "--leaves", "xray", "--roots", "asia", "--max-parents-of", "dysp=2,either=2"]
DOCUMENT = {
    "required": [["smoke", "lung"]],
    "forbidden": [["dysp", "xray"], ["asia", "smoke"]],
    "tiers": [["asia", "smoke"], ["tub", "lung", "bronc"]],
    "roots": ["asia"],
    "leaves": ["xray"],
    "max_parents": {"dysp": 2, "either": 2},
}


def result():
    return json.loads(Path("asia.run/result.json").read_text())


def refused(capsys, *arguments):
    """What a command says that is refused, and leaves nothing."""
    try:
        code = main(list(map(str, arguments)))
    except SystemExit as ended:
        code = ended.code
    assert code == 30
    assert list(Path().glob("*.run")) == []
    return " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("command", [["solve"], ["kbest", "-k", "3"], ["approximate", "--time", "1"]])
@pytest.mark.parametrize("score", [["--score", "bdeu", "--ess", "5"], ["--score", "bic"]])
def test_a_claim_is_in_the_result_and_holds(capsys, command, score):
    assert main([command[0], str(ASIA), *command[1:], *score, *KNOWN]) == 0
    told = capsys.readouterr().out
    assert "knowledge    1 required arc, 2 forbidden arcs, 2 tiers, 1 root, 1 leaf, 2 limits" in told
    document = result()
    assert document["knowledge"] == DOCUMENT
    assert (document["score"], document["ess"]) == (("bdeu", 5.0) if "bdeu" in score else ("mdl", None))
    assert ("equivalent sample size 5" in told) == ("bdeu" in score)
    assert main(["verify", "asia.run", str(ASIA)]) == (11 if command[0] == "approximate" else 0)


def test_a_run_under_knowledge_goes_on_as_it_was_begun(capsys):
    with sized({"commits.COMMIT_SECONDS": -1.0}), stopped_by(lambda interrupts: "interrupted"):
        assert main(["solve", str(ASIA), *KNOWN]) == 10
    assert result()["knowledge"] == DOCUMENT
    capsys.readouterr()
    assert main(["resume", "asia.run"]) == 0
    assert (result()["knowledge"], result()["status"]) == (DOCUMENT, "optimal")
    assert main(["verify", "asia.run", str(ASIA)]) == 0


def test_double_quotes_keep_a_comma_in_a_name():
    rows = "".join(f"{a},{b},{a ^ b}\n" for a in (0, 1) for b in (0, 1)) * 10
    Path("asia.csv").write_text('"age, years","sex, at birth",dis\n' + rows)
    known = ["--required", '"age, years", dis', "--forbidden", '"sex, at birth","age, years"', "--leaves", "dis"]
    known += ["--allowed", '"age, years",dis', "--allowed", 'dis,"sex, at birth"', "--roots", '"sex, at birth"']
    known += ["--tier", '"age, years","sex, at birth"', "--tier", "dis", "--max-parents-of", '"age, years"=0,"dis"=2']
    assert main(["solve", "asia.csv", *known]) == 0
    assert result()["knowledge"] == {
        "required": [["age, years", "dis"]],
        "forbidden": [["sex, at birth", "age, years"]],
        "allowed": [["age, years", "dis"], ["dis", "sex, at birth"]],
        "tiers": [["age, years", "sex, at birth"], ["dis"]],
        "roots": ["sex, at birth"],
        "leaves": ["dis"],
        "max_parents": {"age, years": 0, "dis": 2},
    }


PATTERNS = ["--roots", "as*", "--tier", "asia,smoke", "--tier", "[!as]*", "--apart", "[!as]*", "--apart", "asia,smoke"]
PATTERNS += ["--forbidden", "smoke,b*", "--max-parents-of", "*=3,dysp=2", "--forbidden", "black.csv"]
BLACK_LIST = '"","from","to"\n"1","smoke","lu*"\n"2","asia","xray"\n'
LATER = ["tub", "lung", "bronc", "either", "xray", "dysp"]
EXPANDED = {
    "forbidden": [["smoke", "bronc"], ["smoke", "lung"], ["asia", "xray"]],
    "tiers": [["asia", "smoke"], LATER],
    "roots": ["asia"],
    "max_parents": dict.fromkeys(["asia", "tub", "smoke", "lung", "bronc", "either", "xray"], 3) | {"dysp": 2},
    "apart": [LATER, ["asia", "smoke"]],
}


def test_a_claim_has_names_in_place_of_patterns_whatever_goes_on_from_it(capsys):
    Path("black.csv").write_text(BLACK_LIST)
    with sized({"commits.COMMIT_SECONDS": -1.0}), stopped_by(lambda interrupts: "interrupted"):
        assert main(["solve", str(ASIA), *PATTERNS]) == 10
    assert "knowledge    3 forbidden arcs, 2 tiers, 1 root, 8 limits, 2 sets without arcs" in capsys.readouterr().out
    assert result()["knowledge"] == EXPANDED
    Path("black.csv").unlink()
    assert main(["resume", "asia.run"]) == 0
    document = result()
    assert (document["knowledge"], document["status"]) == (EXPANDED, "optimal")
    assert all({*own} <= {"asia", "smoke"} for own in document["parents"].values())
    assert not {"smoke"} & {*document["parents"]["lung"], *document["parents"]["bronc"]}
    Path("known.yaml").write_text(
        "apart: [['[!as]*'], [smoke, asia]]\nroots: [as*]\nmax_parents: {'*': 3, dysp: 2}\n"
        "forbidden: [[smoke, '[bl]*'], [asia, xray]]\ntiers: [[asia, smoke], ['[!as]*']]\n"
    )
    capsys.readouterr()
    assert main(["verify", "asia.run", str(ASIA), "--require", "knowledge=known.yaml"]) == 0
    assert "no arc joins two of all variables but asia, smoke; no arc joins two of asia, smoke" in " ".join(
        capsys.readouterr().out.split()
    )


def test_a_file_of_tetrad_is_knowledge():
    Path("tetrad.txt").write_text("/knowledge\naddtemporal\n0* asia smoke\n1 lung\n\nrequiredirect\nasia lung\n")
    assert main(["solve", str(ASIA), "--knowledge", "tetrad.txt", "--apart", "lung,xray"]) == 0
    assert result()["knowledge"] == {
        "required": [["asia", "lung"]],
        "tiers": [["asia", "smoke"], ["lung"]],
        "apart": [["lung", "xray"], ["asia", "smoke"]],
    }


def test_options_and_a_file_add_up():
    Path("known.yaml").write_text("forbidden: [[asia, smoke]]\ntiers: [[asia, smoke], [tub, lung, bronc]]\n")
    rest = [*KNOWN[:4], *KNOWN[10:]]
    assert main(["solve", str(ASIA), *rest, "--knowledge", "known.yaml"]) == 0
    assert result()["knowledge"] == DOCUMENT


@pytest.mark.parametrize("command", [["solve"], ["kbest"], ["approximate", "--time", "1"], ["estimate"]])
def test_what_cannot_be_is_refused_before_anything_is_written(capsys, command):
    Path("known.csv").write_text("tier,1,asia\n")
    for given, sentence in (
        (["--required", "asia,nope"], "required: there is no variable 'nope'; there are 'asia', 'tub'"),
        (["--roots", "asai"], "roots: there is no variable 'asai'; did you mean 'asia'?"),
        (["--required", "asia,tub", "--required", "tub,asia"], "The required arcs make a cycle"),
        (["--required", "asia,tub", "--forbidden", "asia,tub"], "is required, but it is forbidden"),
        (["--required", "asia,tub", "--max-parents", "0"], "'tub' has 1 required parents, but a limit of 0"),
        (["--tier", "asia", "--knowledge", "known.csv"], "There are two orders of tiers: give one."),
        (["--knowledge", "absent.yaml"], "absent.yaml cannot be read (No such file or directory)"),
        (["--required", "asia"], "'asia' is not a parent and a child with a comma between them"),
        (["--max-parents-of", "asia"], "'asia' is not a list of names, each with = and a whole number"),
        (["--tier", "asia,,tub"], "'asia,,tub' has an empty name"),
        (["--roots", " "], "' ' has an empty name"),
        (["--leaves", "q*"], "leaves: no variable fits 'q*'; there are 'asia', 'tub'"),
        (["--required", "[lt]u*,*u[bn]*"], "The required arcs make a cycle"),
        (["--required", "asia,lung", "--apart", "*"], "is required, but both are in a set without arcs"),
        (["--tier", "asia", "--tier", "a*"], "tiers: 'asia' is there twice"),
        (["--forbidden", "nowhere.csv"], "nowhere.csv cannot be read (No such file or directory)"),
        (["--allowed", "known.csv"], "known.csv:1: 3 fields, where an arc has a parent and a child: 'tier,1,asia'"),
        (["--required", '"asia,tub"'], "is not a parent and a child with a comma between them; names with commas"),
        (["--ess", "1"], "ess: the score 'mdl' has no equivalent sample size"),
        (
            ["--score", "bdeu", "--ess", "0"],
            "ess: 0.0 is no equivalent sample size; give a number from 1e-100 to 1e+06.",
        ),
        (
            ["--score", "bdeu", "--ess", "nan"],
            "ess: nan is no equivalent sample size; give a number from 1e-100 to 1e+06.",
        ),
    ):
        assert sentence in refused(capsys, command[0], ASIA, *command[1:], *given)


def test_an_order_against_the_knowledge_is_refused(capsys):
    Path("order.txt").write_text("\n".join(["lung", "asia", "tub", "smoke", "bronc", "either", "xray", "dysp"]))
    sentence = refused(capsys, "order", ASIA, "--order", "order.txt", "--required", "smoke,lung")
    assert "The order has 'lung' before 'smoke', its required parent: change one of them." in sentence
    sentence = refused(capsys, "order", ASIA, "--order", "order.txt", "--score", "bdeu", "--method", "suzuki")
    assert "method: 'suzuki' cannot be where the claim has the score 'bdeu'; use auto or enumeration." in sentence
