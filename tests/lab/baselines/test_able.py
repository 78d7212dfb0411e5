"""What is known of a method before data are read: what it is said to be able to do it does, and the rest it refuses."""

import numpy as np
import pytest

from extbnsl.cli import main
from extbnsl.cli.campaign import _unable
from extbnsl.core.data_options import NUMBERS
from extbnsl.scores.known import NAMES, kind_of
from extbnsl.solver.methods import PUBLISHED

ASKED = {
    **{name: ("solve", f"--method={name}") for name in PUBLISHED},
    "bn-graph": ("kbest", "--method=bn-graph", "-k", "3"),
    **{name: ("order", f"--method={name}", "--order=order.txt") for name in ("k3", "suzuki", "enumeration")},
    "posterior": ("posterior", "--prior=order", "--sample=2"),
    **{name: ("approximate", f"--search={name}", "--time=30") for name in ("obs", "asobs")},
}


@pytest.fixture
def problems(here):
    """A file of states, one of numbers and one of local scores, of the variables a, b and c, and an order of them."""
    random = np.random.default_rng(1)
    numbers = random.normal(size=(80, 3)) @ np.array([[1, 2, 0], [0, 1, 2], [0, 0, 1]])
    (here / "numbers.csv").write_text("a,b,c\n" + "".join("{},{},{}\n".format(*row) for row in numbers))
    states = ["{},{},{}\n".format(*row) for row in (numbers > 0).astype(int)]
    (here / "states.csv").write_text("a,b,c\n" + "".join(states))
    (here / "order.txt").write_text("a\nb\nc\n")
    assert main(["score", "states.csv", "-o", "scores.jkl", "--quiet"]) == 0
    return here


@pytest.mark.parametrize("known", [(), ("--required=a,b",)], ids=["nothing", "an arc"])
@pytest.mark.parametrize("method", ASKED)
def test_what_is_not_refused_is_done(method, known, problems, capsys):
    command, *how = ASKED[method]
    cases = [("scores.jkl", ())]
    cases += [("numbers.csv" if kind_of(name) == NUMBERS else "states.csv", (f"--score={name}",)) for name in NAMES]
    outcomes = set()
    for number, (file, score) in enumerate(cases):
        arguments = [command, file, *how, *score, *known]
        refused = _unable(problems, True, arguments)
        code = main([*arguments, "--quiet", f"--run-dir={number}.run", "--threads=1"])
        said = capsys.readouterr().err
        assert code in (30, 0)
        assert (code == 30) == bool(refused), (arguments, said)
        assert not refused or refused[0] in said
        outcomes.add(code)
    assert 0 in outcomes or known
