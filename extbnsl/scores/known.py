"""The scores that can be computed from data, by name: the one line that a new one adds."""

import importlib
from dataclasses import replace
from typing import TYPE_CHECKING

from extbnsl.core.claims import Claim
from extbnsl.core.errors import InputError
from extbnsl.core.options import Declared, Option, declared
from extbnsl.scores.score import DEFAULT_ESS, CellScore, ParameterScore

if TYPE_CHECKING:
    from extbnsl.scores.gaussian import GaussianBIC

Known = ParameterScore | CellScore
OF_NUMBERS = "gaussian-bic"
# By each word for a score: the module that has it, which is loaded when it is asked for, and its name there.
SCORES = {
    "mdl": ("mdl", "MDL"),
    "bic": ("mdl", "MDL"),
    "aic": ("mdl", "AIC"),
    "bdeu": ("dirichlet", "BDEU"),
    "bds": ("dirichlet", "BDS"),
    "k2": ("dirichlet", "K2"),
    "fnml": ("qnml", "FNML"),
    "qnml": ("qnml", "QNML"),
    OF_NUMBERS: ("gaussian", "GAUSSIAN_BIC"),
}
WITH_ESS = ("bdeu", "bds")
NAMES = tuple(SCORES)
CHOICES = f"{', '.join(NAMES)} (mdl and bic are the same: minus BIC)"  # for people
SMALLEST_ESS, LARGEST_ESS = 1e-100, 1e6  # below, a state's share of the prior may be 0

ESS_RANGE = f"from {SMALLEST_ESS:g} to {LARGEST_ESS:g}"
CLAIM_OPTIONS: dict[str, Declared] = {
    "score": Declared(
        "score",
        str,
        False,
        Claim.score,
        Option(f"what data score families by, of {CHOICES}; {OF_NUMBERS} is for columns of numbers", "NAME", NAMES),
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


def score_named(name: str, ess: float | None = None) -> "Known | GaussianBIC":
    """The score of that name, with this equivalent sample size if it takes one, DEFAULT_ESS if none is given.

    InputError if there is no such score, it takes no equivalent sample size, or that cannot be.
    """
    if not isinstance(name, str) or name not in NAMES:
        raise InputError(f"score: {name!r} is not known; use one of {CHOICES}, or give local scores.")
    module, own = SCORES[name]
    score: Known | GaussianBIC = getattr(importlib.import_module(f"extbnsl.scores.{module}"), own)
    if ess is None:
        return score
    if score.ess is None:
        raise InputError(
            f"ess: the score {score.name!r} has no equivalent sample size; leave it out, or use bdeu or bds."
        )
    if type(ess) not in (int, float) or not SMALLEST_ESS <= ess <= LARGEST_ESS:
        raise InputError(f"ess: {ess!r} is no equivalent sample size; give a number {ESS_RANGE}.")
    return replace(score, ess=float(ess))


def score_of(claim: Claim) -> Known:
    """The score of a claim about discrete data; InputError for that of continuous data."""
    score = score_named(claim.score, claim.ess)
    if not isinstance(score, Known):
        raise InputError(f"score: {score.name!r} is for columns of numbers, and states are given; take another score.")
    return score


def is_of_numbers(score: str) -> bool:
    """Whether the score of that name is of continuous data."""
    return score == OF_NUMBERS
