"""The command verify: what it finds, what it says, and with which options it reads the data."""

import json
import math
import os
import re
from pathlib import Path

import naive
import numpy as np
import pytest
from cases import from_array
from certified import by_clusters
from commands import a_table, fails, run
from flat import solve

from extbnsl.core.claims import Claim, tolerance
from extbnsl.data.reading import read_csv
from extbnsl.machine.workers import Stopped
from extbnsl.networks.network import Network
from extbnsl.verify.certificate import floor_units
from extbnsl.verify.document import FORMAT_VERSION
from extbnsl.verify.rescoring import family_costs
from extbnsl.verify.wording import SECTIONS

WDBC = Path(__file__).resolve().parents[2] / "examples" / "wdbc.csv"


def test_a_result_that_does_not_hold(capsys):
    run(capsys, "solve", "data.csv", "--quiet")
    document = json.loads(Path("data.run/result.json").read_text())
    Path("false.json").write_text(json.dumps(document | {"cost": document["cost"] - 1}))
    code, out, _ = run(capsys, "verify", "false.json", "data.csv")
    assert code == 31
    assert out.endswith("false.json does not hold.\n")
    assert "cost" in out
    assert "none" in fails(capsys, "verify", "none", "data.csv")
    Path("torn.json").write_text('{"cost": 1')
    assert "torn.json" in fails(capsys, "verify", "torn.json", "data.csv", code=31)


@pytest.fixture
def provable():
    """The document of a real result with a certificate by clusters alone, and its data in easy.csv."""
    np.savetxt("easy.csv", a_table()[:, :3], fmt="%d", delimiter=",", header="a,b,c", comments="")
    result = solve(from_array(a_table()[:, :3], ["a", "b", "c"]), threads=1)
    assert by_clusters(result)
    return json.loads(json.dumps(result.document()))


def verified(capsys, document, *arguments):
    """Exit code and standard output of `verify` on a document."""
    Path("r.json").write_text(json.dumps(document))
    code, out, _ = run(capsys, "verify", "r.json", "easy.csv", *arguments)
    return code, out


def sections(out):
    """What each section of an output says, a list of sentences, and the lines behind them."""
    found, last, rest = {}, None, []
    for line in out.splitlines():
        label = line[:12].strip()
        if label in SECTIONS or (not label and last is not None and line.startswith(" " * 13)):
            last = label or last
            found.setdefault(last, []).append(line[13:])
        else:
            rest.append(line)
    return found, rest


def parts(out):
    """The parts of the claim by their keys, behind the first sentence."""
    return dict(line.split(": ", 1) for line in sections(out)[0]["claim"][1:])


BUT = " (but for 1e-9 of the cost, 1e-9 nats)"


def test_the_layout(capsys, provable):
    code, out = verified(capsys, provable)
    cost, source = provable["cost"], "easy.csv"
    found, rest = sections(out)
    assert code == 0
    assert list(found) == list(SECTIONS)
    assert found["claim"][0] == "The best network over 3 variables."
    assert list(parts(out)) == [
        *("status", "cost", "network", "score", "ess", "penalty", "gamma", "parent-cost", "max-parents", "knowledge"),
        *("variables", "records", "weights"),
        *("data-options", "digest", "resamples", "prior", "within"),
    ]
    told = {"status": "optimal", "cost": f"{cost!r} nats, minimised", "score": "mdl", "records": "60", "variables": "3"}
    assert parts(out) | told == parts(out)
    assert found["recomputed"] == [
        f"the data: {source} has the digest of the run's",
        "the network: it has no cycle, its order has parents first, and it keeps limits and knowledge",
        f"the cost: {cost:.6f} nats, from {source}",
    ]
    assert found["proof"] == [f"no network costs less: by multipliers{BUT}"]
    assert found["not checked"] == ["nothing"]
    assert rest == ["r.json holds."]


def test_a_certificate_is_checked(capsys, provable, monkeypatch):
    document = provable
    component = max(document["certificate"]["components"], key=lambda c: len(c["variables"]))
    name = component["variables"][0]
    component["least"][name] += 1 << 36
    code, out = verified(capsys, document)
    assert code == 31
    assert f"the reduced cost of {name!r} is at least" in out
    assert out.endswith("r.json does not hold.\n")
    component |= searched_component(component["variables"], component["lower_bound"])
    code, out = verified(capsys, document)
    assert code == 0
    assert sections(out)[0]["proof"] == [f"no network costs less: by multipliers, a search, repeated{BUT}"]
    monkeypatch.setattr("extbnsl.verify.recount.WORD_BITS", 1)
    code, out = verified(capsys, document)
    found, rest = sections(out)
    assert code == 11
    assert found["proof"] == [f"no network costs less in the component with c: by multipliers{BUT}"]
    assert found["not checked"] == [
        f"that no network costs less in the component with {name}: a search of 2 variables is too large"
    ]
    assert rest == ["r.json holds as far as it was checked; what was not checked is only claimed."]


def searched(document):
    """A document in place of whose certificate a search is said to have proved all components as one."""
    bound = document["cost"] - tolerance(document["cost"])
    component = searched_component(document["variables"], bound)
    return document | {"certificate": {"units_per_nat": 1 << 36, "components": [component]}}


def searched_component(names, bound):
    """A component of a certificate that a search without any multipliers is said to have proved."""
    nothing = {"cuts": [], "multipliers": []}
    steps = [nothing, {"variables": list(names), "lower_bound": bound, **nothing}]
    return {"variables": list(names), "lower_bound": bound, "least": dict.fromkeys(names, 0), "steps": steps}


def test_a_proof_by_search_is_repeated(capsys, provable):
    code, out = verified(capsys, searched(provable))
    assert code == 0
    assert sections(out)[0]["proof"] == [f"no network costs less: by multipliers, a search, repeated{BUT}"]


def test_a_forged_proof_by_search_is_found(capsys, provable):
    table = a_table()[:, :3]
    cost = naive.network_cost(table, table.max(axis=0) + 1, [()] * 3)
    forged = provable | {"parents": {name: [] for name in provable["variables"]}, "order": provable["variables"]}
    forged |= {"cost": cost, "upper_bound": cost, "lower_bound": cost - tolerance(cost)}
    code, out = verified(capsys, searched(forged))
    assert code == 31
    found, rest = sections(out)
    assert list(found) == ["claim"]
    told = re.fullmatch(
        "The certificate says that the families of 'a' and 2 others cost at least (\\S+), but an order of them has "
        "families that cost (\\S+)\\.",
        rest[0],
    )
    assert told is not None, out
    assert rest[1:] == ["r.json does not hold."]
    assert float(told[1]) == pytest.approx(cost)
    assert float(told[2]) == pytest.approx(provable["cost"])


def test_time_that_is_over_when_all_is_counted(capsys, provable, running_out):
    running_out("verify.recount", "least_cost", Stopped("time_limit"))
    code, out = verified(capsys, searched(provable))
    assert code == 11
    assert sections(out)[0]["proof"] == ["nothing"]
    assert sections(out)[0]["not checked"] == [
        "that no network costs less: the time was over; give a longer --time-limit"
    ]


def test_a_check_that_takes_long_says_how_far_it_is(capsys, sizes, provable):
    sizes(ADVANCE_SECONDS=0.0)
    Path("r.json").write_text(json.dumps(provable))
    code, _, err = run(capsys, "verify", "r.json", "easy.csv")
    assert code == 0
    assert "verify: counting parent sets again: 3 of 3 variables, 100% (memory " in err


def test_a_certificate_that_is_damaged(capsys, provable):
    document = provable
    document["certificate"]["components"][0]["lower_bound"] = "much"
    Path("r.json").write_text(json.dumps(document))
    assert "'lower_bound'" in fails(capsys, "verify", "r.json", "easy.csv", code=31)


def test_a_certificate_without_time_is_not_checked(capsys, provable):
    code, out = verified(capsys, provable, "--time-limit", "0.000001")
    assert code == 11
    assert sections(out)[0]["proof"] == ["nothing"]
    assert "that no network costs less: the time was over; give a longer --time-limit" in out


def test_a_list_without_time_is_not_checked(capsys, provable):
    """What is left of the time after the proof is for the list, and its end is heard there."""
    run(capsys, "kbest", "easy.csv", "-k", "9", "--run-dir", "k", "--quiet")
    code, out, _ = run(capsys, "verify", "k", "easy.csv", "--time-limit", "0.000001")
    assert code == 11
    assert "that the networks of the list are as it says" in out
    document = json.loads(Path("k/result.json").read_text())
    del document["count"]
    Path("k/result.json").write_text(json.dumps(document))
    assert "no 'count'" in fails(capsys, "verify", "k", "easy.csv", code=30)


def test_a_result_without_a_certificate_says_so(capsys, provable):
    code, out = verified(capsys, provable | {"certificate": None})
    assert code == 11
    assert sections(out)[0]["not checked"] == ["that no network costs less: this result has no certificate"]


def test_what_is_proved_of_few_parents_says_so(capsys, provable):
    result = solve(from_array(a_table()[:, :3], ["a", "b", "c"]), threads=1, max_parents=1)
    code, out = verified(capsys, result.document())
    assert code == 0
    assert sections(out)[0]["claim"][0] == "The best network in which no variable has more than 1 parent."
    assert parts(out)["max-parents"] == "1"
    assert sections(out)[0]["proof"] == [f"no network under this limit of parents costs less: by multipliers{BUT}"]


def test_a_lower_bound_without_a_proof_is_only_claimed(capsys, provable):
    stopped = provable | {"status": "time_limit", "certificate": None}
    code, out = verified(capsys, stopped)
    found, _ = sections(out)
    assert code == 11
    assert found["claim"][0] == "A network over 3 variables, not claimed to be the best: the time was over."
    assert parts(out)["lower-bound"] == f"{provable['lower_bound']!r} nats"
    assert (found["proof"], found["not checked"]) == (["nothing"], ["the lower bound"])
    code, out = verified(capsys, stopped | {"lower_bound": 1.5})
    assert code == 0
    assert "the lower bound: no network costs less, since no variable does, even if all others explain it" in out


def test_other_data_than_those_of_the_run_may_be_meant_without_a_digest(capsys, provable):
    code, out = verified(capsys, provable | {"provenance": provable["provenance"] | {"data_digest": None}})
    assert code == 11
    assert parts(out)["digest"] == "none"
    assert sections(out)[0]["not checked"] == ["that these are the data of the run, since the result has no digest"]
    code, out = verified(capsys, provable | {"provenance": provable["provenance"] | {"records": 59}})
    assert code == 31
    assert "The result is about 59 records, but easy.csv has 60 records.\n" in out


def test_no_value_begins_a_line_of_its_own(capsys, provable):
    """Whoever forges a data option cannot forge what verify says."""
    spoof = "NA\nnot checked  nothing\nr.json holds."
    forged = provable["provenance"] | {"data_options": {"na": spoof}}
    code, out = verified(capsys, provable | {"provenance": forged, "certificate": None})
    assert code == 11
    assert parts(out)["data-options"] == "na NA\\nnot checked  nothing\\nr.json holds."


def test_the_data_are_read_with_the_options_of_the_solve(capsys, provable):
    Path("gaps.csv").write_text("a;b\n0;1\n?;1\n1;0\n0;1\n1;0\n")
    code, _, _ = run(capsys, "solve", "gaps.csv", "--missing", "drop", "--delimiter", ";", "--run-dir", "r")
    assert code == 0
    code, out, err = run(capsys, "verify", "r", "gaps.csv")
    assert code == 0, out
    assert "Reads the data as the solve did: delimiter ;, missing drop.\n" in err
    code, out, err = run(capsys, "verify", "r", "gaps.csv", "--missing", "state")
    assert (code, "about other data" in out) == (31, True)
    assert "as the solve did: delimiter ;.\n" in err


@pytest.mark.parametrize(
    "options",
    [
        *([], "drop", None, {"missing": 3}, {"missing": None}, {"frib": "x"}, {"reading": "x"}),
        *({"records": "3"}, {"records": 0}, {"records": True}, {"header": 1}, {"weights": 2}),
    ],
)
def test_data_options_that_no_solve_writes_are_refused(capsys, provable, options):
    forged = provable["provenance"] | {"data_options": options}
    Path("r.json").write_text(json.dumps(provable | {"provenance": forged}))
    assert "'data_options' of r.json" in fails(capsys, "verify", "r.json", "easy.csv", code=31)


def test_numbers_whose_rounding_is_coarse(capsys):
    """Two columns that nearly determine a third: what is proved is so but for what rounding may come to."""
    values = np.random.default_rng(6).normal(size=(2000, 4))
    values[:, 2] = values[:, 0] - values[:, 1] + 3e-5 * values[:, 2]
    np.savetxt("numbers.csv", values, fmt="%.17g", delimiter=",", header="a,b,c,d", comments="")
    run(capsys, "solve", "numbers.csv", "--score", "gaussian-bic", "--max-parents", "1", "--quiet")
    code, out, _ = run(capsys, "verify", "numbers.run", "numbers.csv")
    told = re.search(r"1e-9 nats and rounding, which may come to 0\.0(\d+) nats\)", out)
    assert code == 0
    assert told is not None, out


SERIES = "t,u,a\n" + "".join(f"{t},{t % 4 // 2},{t * t % 3 % 2}\n" for t in range(30))
DATA = {
    "header": ("0,1,0\n1,1,0\n1,0,1\n0,1,1\n" * 5, ["--no-header"]),
    "delimiter": ("a;b;c\n" + "0;1;0\n1;1;0\n1;0,5;1\n0;1;1\n" * 5, ["--delimiter", ";"]),
    "skip_lines": ("a title\na,b,c\nm,kg,s\n" + "0,1,0\n1,1,0\n1,0,1\n" * 5, ["--skip-lines", "1,3-3"]),
    "comment": ("a,b,c\n" + "0,1,0\n* x\n1,1,0\n1,0,1\n" * 5, ["--comment", "*"]),
    "missing": ("a,b,c\n" + "0,1,?\n1,1,0\n1,0,1\n0,1,1\n" * 5, ["--missing", "drop"]),
    "na": ("a,b,c\n" + "0,1,x\n1,1,y\n1,0,1\n0,1,1\n" * 5, ["--missing", "state", "--na", "x,y"]),
    "decimal": ("a;b\n" + "".join(f"{i},5;{i % 2}\n" for i in range(9)), ["--decimal", ","]),
    "thousands": ("a;b\n" + "".join(f"{i},000;{i % 2}\n" for i in range(1, 9)), ["--thousands", ","]),
    "unit": ("a,b\n" + "".join(f"{i} mg,{i % 2}\n" for i in range(9)), ["--unit", "mg"]),
    "below_detection": ("a,b\n<1,0\n" + "".join(f"{i},{i % 2}\n" for i in range(1, 9)), ["--below-detection", "half"]),
    "columns": ("a,b,c\n" + "0,1,0\n1,1,0\n1,0,1\n0,1,1\n" * 5, ["--columns", "a,c"]),
    "drop": ('"a,x",b,c\n' + "0,1,0\n1,1,0\n1,0,1\n0,1,1\n" * 5, ["--drop", '"a,x"']),
    "discrete": ("a,b\n" + "".join(f"{i},{i % 2}\n" for i in range(40)), ["--discrete", "a"]),
    "discretise": ("a,b\n" + "".join(f"{i / 7},{i % 2}\n" for i in range(40)), ["--discretise", "a=quantile:3"]),
    "states": ("a,b\n" + "0,1\n1,0\n1,1\n" * 5, ["--states", "arities.txt"]),
    "records": ("a,b,c\n" + "0,1,0\n1,1,0\n1,0,1\n0,1,1\n" * 5, ["--records", "7"]),
    "weights": ("a,b,w\n" + "0,1,3\n1,1,0\n1,0,2\n0,0,9\n", ["--weights", "w"]),
    "resolution": (
        "a,b\n" + "".join(f"{i / 7},{i % 5}\n" for i in range(40)),
        ["--resolution", "0.1", "--score", "gaussian-bic"],
    ),
    "imputation": ("a,b,t\n" + "0,1,1\n1,1,2\n1,0,1\n0,0,2\n" * 5, ["--imputation", "t"]),
    "targets": ("a,b,t\n" + "0,1,\n1,1,a\n1,0,b\n0,0,\n" * 5, ["--targets", "t"]),
    "time_column": (SERIES, ["--time-column", "t"]),
    "lags": (SERIES, ["--time-column", "t", "--lags", "2"]),
    "unit_column": (SERIES, ["--time-column", "t", "--unit-column", "u"]),
    "instant": (SERIES, ["--time-column", "t", "--no-instant"]),
}


@pytest.mark.parametrize("option", DATA)
def test_a_solve_with_any_data_option_is_verified(capsys, option, tmp_path):
    content, given = DATA[option]
    Path("own.csv").write_text(content)
    Path("arities.txt").write_text("a,b\n3,2\n")
    code, _, err = run(capsys, "solve", "own.csv", *given, "--run-dir", "r", "--quiet")
    assert code == 0, err
    code, out, err = run(capsys, "verify", "r", "own.csv")
    assert code == 0, out + err
    assert option in parts(out)["data-options"]
    told = json.loads(Path("r/result.json").read_text())["provenance"]["data_options"]
    code, out, _ = run(capsys, "verify", "r", "own.csv", "--require", "data-options=none")
    assert code == 31
    value = ", ".join(f"{key} {str(own).lower() if own is False else own}" for key, own in told.items())
    assert f"data-options: none was demanded, but the result says {value}." in out
    key = option.replace("_", "-")
    assert f"{key}: none was demanded" in run(capsys, "verify", "r", "own.csv", "--require", f"{key}=none")[1]


def test_every_data_option_is_among_these():
    from extbnsl.core.data_options import DataOptions
    from extbnsl.core.options import declared
    from extbnsl.verify.question import KEYS

    assert set(DATA) == set(declared(DataOptions))
    assert {name.replace("_", "-") for name in declared(DataOptions)} <= set(KEYS)


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["kbest", "-k", "3"], 0),
        (["order", "--order", "order.txt"], 0),
        (["approximate", "--time", "1"], None),
        (["solve", "--bootstrap", "3"], 11),
    ],
)
@pytest.mark.parametrize("option", [["--records", "40"], ["--weights", "d"], ["--arities", "arities.txt"]])
def test_what_other_commands_find_in_some_of_the_data_is_verified(capsys, command, code, option):
    Path("arities.txt").write_text("a\n5\n")
    Path("order.txt").write_text("a\nb\nc\n" + "d\n" * (option[0] != "--weights"))
    done, _, err = run(capsys, command[0], "data.csv", *command[1:], *option, "--run-dir", "r", "--quiet")
    assert done == 0, err
    os.mkdir("elsewhere")
    os.chdir("elsewhere")
    found, out, err = run(capsys, "verify", "../r", "../data.csv")
    assert found in ((0, 11) if code is None else (code,)), out + err


def test_an_order_is_checked(capsys):
    Path("order.txt").write_text("c\na\nb\nd\n")
    run(capsys, "order", "data.csv", "--order", "order.txt", "--run-dir", "r", "--quiet")
    code, out, _ = run(capsys, "verify", "r", "data.csv")
    found, _ = sections(out)
    assert code == 0
    assert found["claim"][0] == "The best network of its order over 4 variables."
    assert parts(out)["order"].startswith("c, a, b, d (digest ")
    assert found["proof"] == [
        f"no network of its order costs less: all parents that come before were looked at again{BUT}"
    ]
    assert found["not checked"] == ["nothing"]
    assert "the lower bound: no network costs less" in out
    code, out, _ = run(capsys, "verify", "r", "data.csv", "--time-limit", "0.000001")
    assert code == 11
    assert "that no network of its order costs less: the time was over; give a longer --time-limit\n" in out


def test_a_forged_order_is_found(capsys):
    Path("order.txt").write_text("c\na\nb\nd\n")
    run(capsys, "order", "data.csv", "--order", "order.txt", "--run-dir", "r", "--quiet")
    document = json.loads(Path("r/result.json").read_text())
    table = a_table()
    cost = naive.network_cost(table, table.max(axis=0) + 1, [()] * 4)
    forged = document | {"parents": {name: [] for name in "abcd"}, "cost": cost, "upper_bound": cost}
    Path("r.json").write_text(json.dumps(forged))
    code, out, _ = run(capsys, "verify", "r.json", "data.csv")
    assert code == 31
    told = re.findall("Under the order of the result '(.)' could have parents that cost (\\S+) nats less", out)
    assert sum(float(less) for _, less in told) == pytest.approx(cost - document["cost"])


def test_the_tables_of_a_list_say_what_its_result_says(capsys):
    run(capsys, "kbest", "data.csv", "-k", "4", "--run-dir", "r", "--quiet")
    code, out, _ = run(capsys, "verify", "r", "data.csv")
    assert code == 0, out
    for name in ("networks.csv", "arcs.csv"):
        table = Path("r", name).read_text().splitlines()
        forgeries = [
            ([table[0], table[1].replace("0.", "1.", 1), *table[2:]], "Row 1 of"),
            (table[:-1], f"Row {len(table) - 1} of"),
            ([*table, table[-1]], "more rows than"),
            ([table[0].replace("share_of_found", "probability"), *table[1:]], "another head"),
        ]
        for lines, said in forgeries:
            Path("r", name).write_text("\n".join(lines) + "\n")
            code, out, _ = run(capsys, "verify", "r", "data.csv")
            assert (code, said in out) == (31, True), out
        Path("r", name).unlink()
        assert run(capsys, "verify", "r", "data.csv")[0] == 0


def test_tables_of_names_that_a_spreadsheet_would_run(capsys):
    Path("odd.csv").write_text("=a,+b,c\n" + "0,1,0\n1,1,0\n0,0,1\n1,1,1\n" * 9)
    run(capsys, "kbest", "odd.csv", "-k", "9", "--run-dir", "r", "--quiet")
    assert "'=a,'+b," in Path("r", "arcs.csv").read_text()
    code, out, _ = run(capsys, "verify", "r", "odd.csv")
    assert code == 0, out


@pytest.mark.slow
def test_the_empty_network_of_wdbc_reads_as_just_that(capsys):
    """Of networks without arcs it is the best, and whoever says that of all networks is not believed."""
    dataset = read_csv(WDBC)
    names = list(dataset.names)
    costs = family_costs(dataset, Network(dataset.names, ((),) * len(names)), Claim())
    components = [by_hand(name, cost) for name, cost in zip(names, costs, strict=True)]
    empty = {
        **{"format_version": FORMAT_VERSION, "status": "optimal", "score": "mdl", "sign": "minimised", "log_base": "e"},
        **{"cost": math.fsum(costs), "upper_bound": math.fsum(costs), "max_parents": None, "order": names},
        **{"variables": names, "parents": {name: [] for name in names}},
        "lower_bound": math.fsum(component["lower_bound"] for component in components),
        "certificate": {"units_per_nat": 1 << 36, "components": components},
        "provenance": {"data_digest": dataset.fingerprint, "records": 569},
    }

    def told(**changes):
        Path("r.json").write_text(json.dumps(empty | changes))
        code, out, _ = run(capsys, "verify", "r.json", WDBC)
        return code, out, sections(out)[0]["claim"][0]

    limits = dict.fromkeys(names, 0)
    for changes, under in [
        ({"knowledge": {"roots": names}}, "this knowledge"),
        ({"knowledge": {"max_parents": limits}}, "this knowledge"),
        ({"max_parents": 0}, "this limit of parents"),
    ]:
        code, out, claim = told(**changes)
        assert (code, claim) == (0, "The best network in which all 31 variables have no parents.")
        assert sections(out)[0]["proof"] == [f"no network under {under} costs less: by multipliers{BUT}"]
    code, _, _ = told(knowledge={"roots": names[:-1]})
    assert code == 31


def by_hand(name, cost):
    """A component of a certificate that says that the family of a variable cannot cost less."""
    return {
        **{"variables": [name], "lower_bound": cost - tolerance(cost), "least": {name: floor_units(cost)}},
        "steps": [{"cuts": [], "multipliers": []}],
    }
