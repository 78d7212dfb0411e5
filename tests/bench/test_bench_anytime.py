"""Networks beside known optima: the rows, and what counts as found."""

import pytest

from bench import anytime, measure


@pytest.fixture
def optima(tmp_path):
    path = tmp_path / "optima.csv"
    path.write_text("file,n,optimal_cost_nats\n" + "".join(f"set{k}.csv,2,100.0\n" for k in range(8)))
    return path


def runs(monkeypatch, costs):
    """Let the runs find networks of these costs; None fails."""
    asked, left = [], iter(costs)

    def run_once(word, path, options):
        asked.append((word, path.name, options))
        cost = next(left)
        document = None if cost is None else {"cost": cost, "lower_bound": 90.0, "variables": ["a", "b"]}
        return measure.Run(document, 1.0, 2.0, "no such file")

    monkeypatch.setattr(measure, "run_once", run_once)
    return asked


def test_most_are_to_be_optimal_and_all_near(optima, monkeypatch, capsys):
    asked = runs(monkeypatch, [100.0] * 7 + [100.00999])
    assert anytime.main(["--optima", str(optima), "--time", "3s"]) == 0
    assert asked[0] == ("approximate", "set0.csv", ["--time", "3s", "--threads", "2", "--seed", "0"])
    out = capsys.readouterr().out
    assert "optimal: 7 of 8; more than 0.01 % above the optimum: 0" in out
    assert "0.00999 %" in out


@pytest.mark.parametrize(
    ("costs", "said"),
    [
        ([100.0] * 7 + [100.011], "optimal: 7 of 8; more than 0.01 % above the optimum: 1"),
        ([100.0] * 6 + [100.001] * 2, "optimal: 6 of 8; more than 0.01 % above the optimum: 0"),
        ([100.0] * 7 + [None], "optimal: 7 of 8; more than 0.01 % above the optimum: 1"),
    ],
)
def test_what_is_not_enough(optima, monkeypatch, capsys, costs, said):
    runs(monkeypatch, costs)
    assert anytime.main(["--optima", str(optima)]) == 1
    assert said in capsys.readouterr().out


def test_names_choose(optima, monkeypatch):
    asked = runs(monkeypatch, [100.0, 100.0])
    assert anytime.main(["--optima", str(optima), "--names", "set3,set5"]) == 0
    assert [name for _, name, _ in asked] == ["set3.csv", "set5.csv"]
