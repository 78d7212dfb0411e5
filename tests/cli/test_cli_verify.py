"""The command verify: what it finds, what it says, and with which options it reads the data."""

import json
import re
from pathlib import Path

import naive
import numpy as np
import pytest
from commands import a_table, fails, run
from flat import solve

from extbnsl.claims import tolerance
from extbnsl.data import from_array
from extbnsl.machine.workers import Stopped


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
    assert {component.proof for component in result.certificate.components} == {"clusters"}
    return json.loads(json.dumps(result.document()))


def verified(capsys, document, *arguments):
    """Exit code and standard output of `verify` on a document, on one line."""
    Path("r.json").write_text(json.dumps(document))
    code, out, _ = run(capsys, "verify", "r.json", "easy.csv", *arguments)
    return code, out


def test_a_certificate_is_checked(capsys, provable, monkeypatch):
    document = provable
    code, out = verified(capsys, document)
    assert (code, out.count("\n")) == (0, 1)
    assert out.endswith("Optimality proved by certificate.\n")
    component = max(document["certificate"]["components"], key=lambda c: len(c["variables"]))
    name = component["variables"][0]
    component["least"][name] += 1 << 36
    code, out = verified(capsys, document)
    assert code == 31
    assert f"the reduced cost of {name!r} is at least" in out
    assert out.endswith("r.json does not hold.\n")
    component |= {"proof": "search", "passes": [], "least": {}}
    code, out = verified(capsys, document)
    assert code == 0
    assert f" Optimality of the component with {name!r} proved by a dynamic program of verify's own.\n" in out
    assert "Optimality of the component with 'c' proved by certificate. " in out
    monkeypatch.setattr("extbnsl.verify.optimality.MOST_VARIABLES", 1)
    code, out = verified(capsys, document)
    assert code == 0
    assert out.endswith(
        f" The optimality of the component with {name!r} was proved by pattern databases, search or branching; verify "
        "cannot repeat that for more than 23 variables, only another solve can.\n"
    )


def searched(document):
    """A document in place of whose certificate a search is said to have proved all components as one."""
    bound = document["cost"] - tolerance(document["cost"])
    component = {"variables": document["variables"], "lower_bound": bound, "proof": "search", "passes": [], "least": {}}
    return document | {"certificate": {"units_per_nat": 1 << 36, "components": [component]}}


def test_a_proof_by_search_is_repeated(capsys, provable):
    code, out = verified(capsys, searched(provable))
    assert code == 0
    assert out.endswith(" Optimality proved by a dynamic program of verify's own.\n")


def test_a_forged_proof_by_search_is_found(capsys, provable):
    table = a_table()[:, :3]
    cost = naive.network_cost(table, table.max(axis=0) + 1, [()] * 3)
    forged = provable | {"parents": {name: [] for name in provable["variables"]}, "order": provable["variables"]}
    forged |= {"cost": cost, "upper_bound": cost, "lower_bound": cost - tolerance(cost)}
    code, out = verified(capsys, searched(forged))
    assert code == 31
    told = re.fullmatch(
        "The certificate says that the families of the component of 'a' cost at least (\\S+), but a dynamic program "
        "finds an order in which they cost (\\S+)\\.\nr.json does not hold\\.\n",
        out,
    )
    assert told is not None, out
    assert float(told[1]) == pytest.approx(cost)
    assert float(told[2]) == pytest.approx(provable["cost"])


def test_time_that_is_over_when_all_is_counted(capsys, provable, monkeypatch):
    def give_up(*given):
        raise Stopped("time_limit")

    monkeypatch.setattr("extbnsl.verify.repeat._least_excess", give_up)
    code, out = verified(capsys, searched(provable))
    assert code == 0
    assert out.endswith(
        " The optimality of the component with 'a' was not checked: the time was over; give a longer --time-limit.\n"
    )


def test_a_check_that_takes_long_says_how_far_it_is(capsys, monkeypatch, provable):
    from extbnsl.run import progress

    monkeypatch.setattr(progress, "ADVANCE_SECONDS", 0.0)
    Path("r.json").write_text(json.dumps(provable))
    code, out, err = run(capsys, "verify", "r.json", "easy.csv")
    assert (code, out.count("\n")) == (0, 1)
    proved = [c["variables"] for c in provable["certificate"]["components"] if c["proof"] == "clusters"]
    total = sum(map(len, proved))
    assert f"verify: checking the certificate: {total} of {total} variables, 100% (memory " in err


def test_a_certificate_that_is_damaged(capsys, provable):
    document = provable
    document["certificate"]["components"][0]["lower_bound"] = "much"
    Path("r.json").write_text(json.dumps(document))
    assert "'lower_bound'" in fails(capsys, "verify", "r.json", "easy.csv", code=31)


def test_a_certificate_without_time_is_not_checked(capsys, provable):
    code, out = verified(capsys, provable, "--time-limit", "0.000001")
    assert code == 0
    assert "was not checked: the time was over before the parent sets of" in out
    assert "give a longer --time-limit" in out
    assert "proved by certificate" not in out


def test_a_result_without_a_certificate_says_so(capsys, provable):
    code, out = verified(capsys, provable | {"certificate": None})
    assert code == 0
    assert out.endswith("Optimality was not checked again (this result has no certificate).\n")


def test_what_is_proved_of_few_parents_says_so(capsys, provable):
    result = solve(from_array(a_table()[:, :3], ["a", "b", "c"]), threads=1, max_parents=1)
    code, out = verified(capsys, result.document())
    assert code == 0
    assert out.endswith("Optimality among networks of at most 1 parent a variable proved by certificate.\n")


def test_the_bound_of_a_result_that_is_not_proved_is_not_checked_again(capsys, provable):
    code, out = verified(capsys, provable | {"status": "time_limit", "lower_bound": 1.5})
    assert code == 0
    assert out.endswith(
        "Optimality is not claimed (status time_limit), and the lower bound 1.500000 was not checked again.\n"
    )


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
    "options", [[], "drop", None, {"missing": 3}, {"missing": None}, {"frib": "x"}, {"reading": "x"}]
)
def test_data_options_that_no_solve_writes_are_refused(capsys, provable, options):
    Path("r.json").write_text(json.dumps(provable | {"provenance": provable["provenance"] | {"data_options": options}}))
    assert "'data_options' of r.json" in fails(capsys, "verify", "r.json", "easy.csv", code=31)


def test_numbers_whose_rounding_is_coarse(capsys):
    """Two columns that nearly determine a third: what is proved is so but for what rounding may come to."""
    values = np.random.default_rng(6).normal(size=(2000, 4))
    values[:, 2] = values[:, 0] - values[:, 1] + 3e-5 * values[:, 2]
    np.savetxt("numbers.csv", values, fmt="%.17g", delimiter=",", header="a,b,c,d", comments="")
    run(capsys, "solve", "numbers.csv", "--score", "gaussian-bic", "--max-parents", "1", "--quiet")
    code, out, _ = run(capsys, "verify", "numbers.run", "numbers.csv")
    told = re.search(r" proved by certificate, but for rounding, which may come to 0\.0(\d+) nats\.", out)
    assert code == 0
    assert told is not None, out
