"""The E step of data, by their kind."""

from typing import Any

from extbnsl.core.claims import Claim
from extbnsl.core.data_options import NUMBERS, STATES
from extbnsl.data import Data
from extbnsl.em.model import Expectation, check_em
from extbnsl.em.numbers import ExpectedNumbers
from extbnsl.em.states import ExpectedStates


def expectation_of(data: Data, claim: Claim, memory: int) -> Expectation:
    """What EM does with this data, within so many bytes; InputError if it is none for the claim, or a record can be
    completed in too many ways, BudgetError if the memory does not do."""
    check_em(data.kind, claim)
    made: Expectation = _BY_KIND[data.kind].of(data, memory)
    return made


_BY_KIND: dict[str, Any] = {STATES: ExpectedStates, NUMBERS: ExpectedNumbers}
