"""The scores that can be computed from data, by name: the one line that a new one adds."""

from extbnsl.errors import InputError
from extbnsl.scores.aic import AIC
from extbnsl.scores.mdl import MDL
from extbnsl.scores.score import ParameterScore

SCORES = {score.name: score for score in (MDL, AIC)}
CHOICES = f"{', '.join(SCORES)} ({MDL.name} is minus {MDL.maximised})"  # for people


def score_named(name: str) -> ParameterScore:
    """The score of that name; InputError if there is none."""
    if not isinstance(name, str) or name not in SCORES:
        raise InputError(f"score: {name!r} is not known; use one of {CHOICES}, or give local scores.")
    return SCORES[name]
