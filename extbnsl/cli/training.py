"""The data that a run was made from, read again as the run read them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from extbnsl.cli import options
from extbnsl.cli.reading import read_problem
from extbnsl.errors import InputError, RunDirectoryError


def remembered_input(result: Path) -> str | None:
    """Where the run read its data, if the run directory is there."""
    from extbnsl.errors import ExtbnslError
    from extbnsl.files.manifest import read_manifest

    folder = result if result.is_dir() else result.parent
    try:
        remembered = read_manifest(folder).state["run"]
    except (ExtbnslError, KeyError, TypeError):
        return None
    return None if remembered is None else str(remembered["input"])


def data_options_of(document: Mapping[str, Any], result: Path) -> dict[str, Any]:
    """The data options of the run; RunDirectoryError if they are none that a run writes."""
    from extbnsl.files.shapes import misfit, some_of, text, truth, whole

    provenance = document.get("provenance")
    kept = provenance.get("data_options", {}) if isinstance(provenance, dict) else {}
    shapes = dict.fromkeys(options.DATA_OPTIONS, text) | {"header": truth, "records": whole(least=1)}
    if misfit(kept, some_of(shapes)):
        raise RunDirectoryError(f"The 'data_options' of {result} are none of extbnsl's; give a solve's result.")
    return dict(kept)


def score_told(document: Mapping[str, Any], result: Path) -> str:
    """The name of the score that a result was found by; InputError if it tells none."""
    score = document.get("score")
    if not isinstance(score, str):
        raise InputError(f"{result} does not tell the score of its network; give a solve's result.")
    return score


def training_problem(training: str | None, result: Path, document: Mapping[str, Any]) -> tuple[Any, str]:
    """The Dataset, Numbers or LocalScores that a result was made from, and its file: `training`, or where the run read
    it.

    Raises InputError if it is not there, or another.
    """
    from extbnsl.files.regular import check_given
    from extbnsl.machine.budgets import Budgets

    file = training or remembered_input(result)
    if file is None:
        raise InputError(f"{result} does not say where its data were read: give them by --training.")
    if training is None:
        check_given(file)
    score = score_told(document, result)
    problem, _ = read_problem(file, data_options_of(document, result), Budgets(), True, score)
    provenance = document.get("provenance")
    if not isinstance(provenance, dict) or problem.fingerprint != provenance.get("data_digest"):
        raise InputError(f"{file} has other data than the network was learned from: give these by --training.")
    return problem, file
