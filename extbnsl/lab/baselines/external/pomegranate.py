"""pomegranate: its 'exact' structure learning, dynamic programming from data by BIC in single precision.

Without a pseudocount a combination of states that never occurs makes the score of a family no number, and such families
win. One that is too small to matter avoids that.
"""

from extbnsl.lab.baselines.external.checking import score_of
from extbnsl.lab.baselines.external.package import installed, learn
from extbnsl.lab.baselines.external.task import Answer, Program, Task

PSEUDOCOUNT = 1e-9
SCORE = "mdl"  # the only one that it has


def locate() -> Program:
    """The package; InputError if it is not installed."""
    return installed("pomegranate", "pomegranate_script.py")


def solve(program: Program, task: Task) -> Answer:
    """The network that it takes for the best."""
    score_of(program, task, {SCORE: SCORE})
    asked = {"threads": task.context.workers.threads, "pseudocount": PSEUDOCOUNT}
    return learn(program, task, "optimal, in single precision", **asked)
