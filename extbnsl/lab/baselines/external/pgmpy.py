"""pgmpy: hill climbing over networks, from data, by its BIC or AIC. It proves nothing."""

from extbnsl.lab.baselines.external.checking import score_of
from extbnsl.lab.baselines.external.package import installed, learn
from extbnsl.lab.baselines.external.task import Answer, Program, Task

SCORES = {"mdl": "bic-d", "aic": "aic-d"}


def locate() -> Program:
    """The package; InputError if it is not installed."""
    return installed("pgmpy", "pgmpy_script.py")


def solve(program: Program, task: Task) -> Answer:
    """Where its hill climbing ends."""
    assert task.dataset is not None, "the registry says that the package takes data"
    arities = [len(own) for own in task.dataset.states]
    return learn(program, task, "a local optimum", score=score_of(program, task, SCORES), arities=arities)
