"""The scores that can be computed from data, by name: the one line that a new one adds."""

import importlib
from dataclasses import replace
from typing import TYPE_CHECKING

from extbnsl.core.arguments import check_number
from extbnsl.core.claims import Claim
from extbnsl.core.errors import InputError
from extbnsl.core.options import Declared, Option, declared
from extbnsl.scores.score import DEFAULT_ESS, CellScore, Nats, ParameterScore

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
WITH_PENALTY = ("mdl", "bic", "aic", OF_NUMBERS)
NAMES = tuple(SCORES)
CHOICES = f"{', '.join(NAMES)} (mdl and bic are the same: minus BIC)"  # for people
SMALLEST_ESS, LARGEST_ESS = 1e-100, 1e6  # below, a state's share of the prior may be 0

SMALLEST_PENALTY, LARGEST_PENALTY = 1e-9, 1e9  # nats a parameter
LARGEST_GAMMA = 1e6

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


def score_claimed(claim: Claim) -> "Known | GaussianBIC":
    """The score of a claim, of whichever data; InputError if there is no such score, or it does not take what is
    given: an equivalent sample size, a penalty, gamma."""
    for name, least, most in (("penalty", SMALLEST_PENALTY, LARGEST_PENALTY), ("gamma", 0.0, LARGEST_GAMMA)):
        value = getattr(claim, name)
        if value is not None:
            if claim.score in NAMES and claim.score not in WITH_PENALTY:
                raise InputError(
                    f"{name}: the score {claim.score!r} has no penalty of parameters; leave it out, or use one of "
                    f"{', '.join(WITH_PENALTY)}."
                )
            check_number(name, value, least, most, "penalty" if name == "penalty" else "gamma")
    score = score_named(claim.score, claim.ess)
    if claim.penalty is None or isinstance(score, CellScore):
        return score
    return replace(score, parameter=Nats(claim.penalty), penalty=claim.penalty)


def parameter_price(claim: Claim, records: int) -> float:
    """What a free parameter costs, in nats, by a score of misfit and penalty."""
    score = score_claimed(claim)
    assert not isinstance(score, CellScore), "whoever asks has looked at the kind of data"
    return score.parameter(records)


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
    score = score_claimed(claim)
    if not isinstance(score, Known):
        raise InputError(f"score: {score.name!r} is for columns of numbers, and states are given; take another score.")
    return score


def is_of_numbers(score: str) -> bool:
    """Whether the score of that name is of continuous data."""
    return score == OF_NUMBERS
