"""Our local scores as a file for a program, with the numbers of the variables for names."""

from dataclasses import replace

from extbnsl.formats.score_writer import write_scores
from extbnsl.lab.baselines.external.task import Task
from extbnsl.scores.local import LocalScores


def scores_for(task: Task, name: str) -> LocalScores:
    """The local scores of a task, written to the file of this name in its folder, in the format of the name."""
    assert task.scores is not None, "the registry says that the program takes scores"
    write_scores(replace(task.scores, names=tuple(map(str, range(task.scores.variables)))), task.folder / name)
    return task.scores
