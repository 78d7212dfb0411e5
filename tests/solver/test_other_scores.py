"""Other scores than MDL, from the data to the verified result."""

import json

import naive
import numpy as np
import pytest
from cases import random_dataset, random_families, scores_of

import extbnsl
from extbnsl.cli import main
from extbnsl.core.claims import Claim
from extbnsl.core.errors import InputError
from extbnsl.scores.known import NAMES
from extbnsl.verify.rescoring import score_network


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("max_parents", [None, 1])
def test_aic_is_proved_optimal(seed, max_parents):
    dataset = random_dataset(np.random.default_rng(seed), 5, 60)
    result = extbnsl.learn(dataset, score="aic", max_parents=max_parents)
    assert result.optimal
    assert result.score == "aic"
    brute = naive.optimal_cost_brute(dataset.codes, dataset.arities, max_parents, "aic")
    assert result.cost == pytest.approx(brute, rel=1e-9, abs=1e-8)
    own = naive.network_cost(dataset.codes, dataset.arities, result.network.parents, "aic")
    assert score_network(dataset, result.network, Claim("aic")) == pytest.approx(own, rel=1e-12)


def test_the_command_line_says_the_score_and_verifies_it(tmp_path, capsys):
    rng = np.random.default_rng(3)
    column = rng.integers(0, 2, 60)
    rows = np.stack([column, column ^ (rng.random(60) < 0.2), rng.integers(0, 3, 60)], axis=1)
    data, run = tmp_path / "data.csv", tmp_path / "run"
    data.write_text("a,b,c\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows.tolist()))
    assert main(["solve", str(data), "--score", "aic", "--run-dir", str(run)]) == 0
    assert "nats (AIC, minimised)" in capsys.readouterr().out
    document = json.loads((run / "result.json").read_text())
    assert (document["score"], document["sign"], document["log_base"]) == ("aic", "minimised", "e")
    assert document["cost"] == pytest.approx(naive.optimal_cost(rows, [2, 2, 3], score="aic"), rel=1e-9)
    assert main(["verify", str(run), str(data)]) == 0
    forged = document | {"score": "mdl"}
    (run / "result.json").write_text(json.dumps(forged))
    assert main(["verify", str(run), str(data)]) == 31


def test_a_score_that_is_not_known_or_of_no_use_is_refused(capsys):
    dataset = random_dataset(np.random.default_rng(1), 3, 20)
    with pytest.raises(InputError, match=f"^score: 'bge' is not known; use one of {', '.join(NAMES)} "):
        extbnsl.learn(dataset, score="bge")
    assert extbnsl.learn(dataset, score="bic").score == "mdl"
    with pytest.raises(InputError, match=r"^score: 'aic' is for data, but local scores are given; leave it out\.$"):
        extbnsl.learn(scores_of(random_families(np.random.default_rng(1), 3)), score="aic")
    with pytest.raises(SystemExit):
        main(["solve", "x.csv", "--score", "bge"])
    assert "'bge' is not known; choose from" in capsys.readouterr().err
