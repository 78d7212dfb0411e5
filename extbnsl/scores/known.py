"""The scores that can be computed from data, by name: the one line that a new one adds."""

import importlib
from dataclasses import replace
from typing import TYPE_CHECKING

from extbnsl.core.arguments import check_number
from extbnsl.core.claims import Claim
from extbnsl.core.data_options import MIXED, NUMBERS, STATES
from extbnsl.core.errors import InputError
from extbnsl.core.options import Declared, Option, declared
from extbnsl.core.sentences import asking
from extbnsl.scores.score import DEFAULT_ESS, CellScore, Nats, ParameterScore, PenalisedScore, Titled

if TYPE_CHECKING:
    from extbnsl.data import Data

Known = ParameterScore | CellScore
# By each word for a score: the module that has it, which is loaded when it is asked for, its name there, and the kind
# of data that it is of.
SCORES = {
    "mdl": ("mdl", "MDL", STATES),
    "bic": ("mdl", "MDL", STATES),
    "aic": ("mdl", "AIC", STATES),
    "bdeu": ("dirichlet", "BDEU", STATES),
    "bds": ("dirichlet", "BDS", STATES),
    "k2": ("dirichlet", "K2", STATES),
    "fnml": ("qnml", "FNML", STATES),
    "qnml": ("qnml", "QNML", STATES),
    "gaussian-bic": ("gaussian", "GAUSSIAN_BIC", NUMBERS),
    "cg-bic": ("conditional", "CG_BIC", MIXED),
    "dg-bic": ("degenerate", "DG_BIC", MIXED),
}
# What networks are made of, where the score says that in place of the kind of data: of a state or a number a column.
COLUMNS = "Gaussian columns"
MODELS = {"dg-bic": COLUMNS}
WITH_ESS = ("bdeu", "bds")
WITH_PENALTY = ("mdl", "bic", "aic", "gaussian-bic", "cg-bic", "dg-bic")
OF_RECORDS = ("fnml", "qnml")  # by a regret of so many records, which weights that are not whole have none of
NAMES = tuple(SCORES)
CHOICES = f"{', '.join(NAMES)} (mdl and bic are the same: minus BIC)"  # for people
KIND_WORDS = {STATES: "columns of states", NUMBERS: "columns of numbers", MIXED: "columns of both kinds"}
SMALLEST_ESS, LARGEST_ESS = 1e-100, 1e6  # below, a state's share of the prior may be 0

SMALLEST_PENALTY, LARGEST_PENALTY = 1e-9, 1e9  # nats a parameter
LARGEST_GAMMA = 1e6


def named_of(kind: str) -> tuple[str, ...]:
    """The names of the scores that are of a kind of data."""
    return tuple(name for name, (_, _, own) in SCORES.items() if own == kind)


def _of_kinds() -> str:
    """Which scores are of other kinds of data than states, for people."""
    others = ((kind, named_of(kind)) for kind in KIND_WORDS if kind != STATES)
    each = (f"{' and '.join(own)} {'is' if len(own) == 1 else 'are'} for {KIND_WORDS[kind]}" for kind, own in others)
    return ", ".join(each)


ESS_RANGE = f"from {SMALLEST_ESS:g} to {LARGEST_ESS:g}"
CLAIM_OPTIONS: dict[str, Declared] = {
    "score": Declared(
        "score",
        str,
        False,
        Claim.score,
        Option(f"what data score families by, of {CHOICES}; {_of_kinds()}", "NAME", NAMES),
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

DESCRIBED = {  # of `describe`, which needs no score
    "score": Declared(
        "score",
        str,
        True,
        None,
        Option(
            f"say what a solve by this score takes each column for, states or numbers, and refuses; of {CHOICES}",
            "NAME",
            NAMES,
        ),
    )
}


def score_claimed(claim: Claim) -> Titled:
    """The score of a claim, of whichever data; InputError if there is no such score, or it does not take what is
    given: an equivalent sample size, a penalty, gamma."""
    score = score_named(claim.score, claim.ess)
    for name, least, most in (("penalty", SMALLEST_PENALTY, LARGEST_PENALTY), ("gamma", 0.0, LARGEST_GAMMA)):
        value = getattr(claim, name)
        if value is not None:
            if not isinstance(score, PenalisedScore):
                raise InputError(
                    f"{name}: the score {claim.score!r} has no penalty of parameters; leave it out, or use one of "
                    f"{', '.join(WITH_PENALTY)}."
                )
            check_number(name, value, least, most, name)
    if claim.penalty is None:
        return score
    assert isinstance(score, PenalisedScore), "others have been refused"
    return replace(score, parameter=Nats(claim.penalty), penalty=claim.penalty)


def parameter_price(claim: Claim, records: float) -> float:
    """What a free parameter costs, in nats, by a score of misfit and penalty, for so many records."""
    score = score_claimed(claim)
    assert isinstance(score, PenalisedScore), "whoever asks has looked at the kind of data"
    return score.parameter(records)


def score_named(name: str, ess: float | None = None) -> Titled:
    """The score of that name, with this equivalent sample size if it takes one, DEFAULT_ESS if none is given.

    InputError if there is no such score, it takes no equivalent sample size, or that cannot be.
    """
    if not isinstance(name, str) or name not in NAMES:
        raise InputError(f"score: {name!r} is not known; use one of {CHOICES}, or give local scores.")
    module, own, _ = SCORES[name]
    score: Titled = getattr(importlib.import_module(f"extbnsl.scores.{module}"), own)
    if ess is None:
        return score
    if score.ess is None:
        raise InputError(
            f"ess: the score {score.name!r} has no equivalent sample size; leave it out, or use bdeu or bds."
        )
    if type(ess) not in (int, float) or not SMALLEST_ESS <= ess <= LARGEST_ESS:
        raise InputError(f"ess: {ess!r} is no equivalent sample size; give a number {ESS_RANGE}.")
    return replace(score, ess=float(ess))


def check_data(data: "Data", claim: Claim) -> None:
    """As `check_kind`, and for weights that are not whole by a score whose regrets are of whole records."""
    check_kind(data.kind, claim)
    if data.weights is not None:
        check_parts(data.source, claim)


def check_parts(source: str, claim: Claim) -> None:
    """Raise InputError for a score whose regrets are of whole records, of which rows are only parts."""
    if claim.score in OF_RECORDS:
        raise InputError(
            f"{source} has weights that are not whole, or imputed tables, and {claim.score!r} counts whole "
            f"records: take one of {', '.join(name for name in NAMES if name not in OF_RECORDS)}."
        )


def check_averaged(claim: Claim) -> None:
    """Raise InputError for a score that cannot cost each family over the records that lack none of its values."""
    score = score_claimed(claim)
    if model_of(kind_of(score.name), score.name) == COLUMNS:
        raise InputError(
            asking("missing", "average"),
            f" is for tables and regressions, each of records of its own, and {score.name!r} goes by one covariance; "
            "take cg-bic, or treat missing values in another way.",
        )
    if kind_of(score.name) == STATES and not isinstance(score, ParameterScore):
        raise InputError(
            asking("missing", "average"),
            f" goes by a price of each parameter, and {score.name!r} has none; take mdl or aic, or treat missing "
            "values in another way.",
        )


def score_of(claim: Claim) -> Known:
    """The score of a claim about data of states; InputError for that of another kind of data."""
    check_kind(STATES, claim)
    score = score_claimed(claim)
    assert isinstance(score, Known), "it is of states"
    return score


def kind_of(score: str) -> str:
    """The kind of data that the score of this name is of; states for a name that no score has."""
    return next((kind for name, (_, _, kind) in SCORES.items() if name == score), STATES)


def model_of(kind: str, score: str) -> str:
    """What networks of data of a kind are made of by the score of this name: the kind, or another word; rooms have by
    it what costs, parameters and answers are."""
    return MODELS.get(score, kind)


def check_kind(kind: str, claim: Claim) -> None:
    """Raise InputError if there is no such score, it has no ess and one is given, or it is of another kind of data."""
    name = score_claimed(claim).name
    if (wanted := kind_of(name)) != kind:
        fit = "another score" if kind == STATES else " or ".join(named_of(kind))
        raise InputError(f"score: {name!r} is for {KIND_WORDS[wanted]}, and {kind} are given; take {fit}.")
