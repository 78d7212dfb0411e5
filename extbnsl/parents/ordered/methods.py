"""How parents are chosen under an order. Light: the command line imports this for the words."""

from dataclasses import dataclass, replace
from typing import Annotated

from extbnsl.core.claims import Claim
from extbnsl.core.errors import InputError
from extbnsl.core.options import Option, Options
from extbnsl.scores.known import score_claimed
from extbnsl.scores.score import ParameterScore

DFBNB, SUZUKI, K3, ENUMERATION = SEARCHES = ("dfbnb-k3", "suzuki", "k3", "enumeration")
AUTO, OWN, FIXED = BOUNDS = ("auto", "own", "fixed")
METHODS = (AUTO, *SEARCHES)
SMALL_SAMPLE = 250  # records up to which the fixed bound may save time (Tian 2000, section 5), and never loses much


@dataclass(frozen=True)
class OrderMethods(Options):
    """How parents are chosen under an order; the cost is the same with every method but "k3", which is greedy.

    method: "auto" is "dfbnb-k3" where it can be, for scores of misfit and a price for each parameter without required
    arcs; or else "enumeration": of the families that can win under the order, each variable takes the best. bound: what
    "dfbnb-k3" bounds the misfit of a state's descendants by: "own", N H(X | T, W) of each state (Tian 2000, eq. 12);
    "fixed", N H(X | all predecessors) (eq. 15); "auto", by the number of records, as the paper suggests.
    """

    method: Annotated[
        str,
        Option(
            "Tian's branch and bound, Suzuki's, the greedy K3, or, for every score and all knowledge, the enumeration "
            "of all that can win; auto is the first or the last of these",
            choices=METHODS,
        ),
    ] = AUTO
    bound: Annotated[
        str,
        Option(
            "what dfbnb-k3 prunes by: a bound of each state's own, or one fixed bound, which is worse and cheaper; "
            "the network is the same with each",
            choices=BOUNDS,
        ),
    ] = AUTO

    def for_claim(self, claim: Claim, alike: bool = True) -> "OrderMethods":
        """The same with the method that "auto" is for a claim; InputError if the method cannot be. alike: whether all
        families are costed over the same records."""
        priced = isinstance(score_claimed(claim), ParameterScore)
        simple = priced and not claim.knowledge.required and not claim.charges and alike
        if self.method == AUTO:
            return replace(self, method=DFBNB if simple else ENUMERATION)
        if self.method != ENUMERATION and not simple:
            wants = "required arcs" if claim.knowledge.required else "costs of arcs"
            why = f"claim has {wants}" if priced else f"claim has the score {claim.score!r}"
            why = why if alike else "families are costed over records of their own"
            raise InputError(f"method: {self.method!r} cannot be where the {why}; use {AUTO} or {ENUMERATION}.")
        return self

    @property
    def exact(self) -> bool:
        """Whether no other parents among the predecessors cost less."""
        return self.method != K3

    def has_own_bounds(self, records: int) -> bool:
        """Whether each state gets a bound of its own, for data of so many records."""
        return self.method == DFBNB and (records > SMALL_SAMPLE if self.bound == AUTO else self.bound == OWN)
