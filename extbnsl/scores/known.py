"""The scores that can be computed from data, by name: the one line that a new one adds."""

from collections.abc import Callable
from typing import Any

from extbnsl.core.claims import ALIASES, Claim
from extbnsl.core.errors import InputError
from extbnsl.core.options import Declared, Option, declared
from extbnsl.scores.dirichlet import K2, BDeu, BDs
from extbnsl.scores.gaussian import GAUSSIAN_BIC, GaussianBIC
from extbnsl.scores.mdl import AIC, MDL
from extbnsl.scores.qnml import FNML, QNML
from extbnsl.scores.score import CellScore, ParameterScore

Known = ParameterScore | CellScore
_ALL: tuple[Any, ...] = (MDL, AIC, BDeu, BDs, K2, FNML, QNML, GAUSSIAN_BIC)
_NAMED: dict[str, Any] = {score.name: score for score in _ALL}
SCORES: dict[str, Known | GaussianBIC] = {name: score for name, score in _NAMED.items() if not isinstance(score, type)}
WITH_ESS: dict[str, Callable[[float], Known]] = {
    name: score for name, score in _NAMED.items() if isinstance(score, type)
}
NAMES: tuple[str, ...] = tuple(
    word for score in _ALL for word in (score.name, *(alias for alias, name in ALIASES.items() if name == score.name))
)
CHOICES = f"{', '.join(NAMES)} ({MDL.name} and bic are the same: minus {MDL.maximised})"  # for people
DEFAULT_ESS = 1.0
SMALLEST_ESS, LARGEST_ESS = 1e-100, 1e6  # below, a state's share of the prior may be 0

ESS_RANGE = f"from {SMALLEST_ESS:g} to {LARGEST_ESS:g}"
CLAIM_OPTIONS: dict[str, Declared] = {
    "score": Declared(
        "score",
        str,
        False,
        Claim.score,
        Option(
            f"what data score families by, of {', '.join(NAMES)}; the last is for columns of numbers", "NAME", NAMES
        ),
    ),
    "ess": Declared(
        "ess",
        float,
        True,
        None,
        Option(
            f"equivalent sample size of the prior of {' and '.join(WITH_ESS)}, {ESS_RANGE}",
            "S",
            default=f"{DEFAULT_ESS:g}",
        ),
    ),
    **declared(Claim),
}


def score_named(name: str, ess: float | None = None) -> Known | GaussianBIC:
    """The score of that name, with this equivalent sample size if it takes one, DEFAULT_ESS if none is given.

    InputError if there is no such score, it takes no equivalent sample size, or that cannot be.
    """
    if not isinstance(name, str) or name not in NAMES:
        raise InputError(f"score: {name!r} is not known; use one of {CHOICES}, or give local scores.")
    name = ALIASES.get(name, name)
    if name in SCORES:
        if ess is not None:
            raise InputError(
                f"ess: the score {name!r} has no equivalent sample size; leave it out, or use bdeu or bds."
            )
        return SCORES[name]
    if ess is None:
        return WITH_ESS[name](DEFAULT_ESS)
    if type(ess) not in (int, float) or not SMALLEST_ESS <= ess <= LARGEST_ESS:
        raise InputError(f"ess: {ess!r} is no equivalent sample size; give a number {ESS_RANGE}.")
    return WITH_ESS[name](float(ess))


def score_of(claim: Claim) -> Known:
    """The score of a claim about discrete data; InputError for that of continuous data."""
    score = score_named(claim.score, claim.ess)
    if isinstance(score, GaussianBIC):
        raise InputError(f"score: {score.name!r} is for columns of numbers, and states are given; take another score.")
    return score


def is_of_numbers(score: str) -> bool:
    """Whether the score of that name is of continuous data."""
    return score == GAUSSIAN_BIC.name
