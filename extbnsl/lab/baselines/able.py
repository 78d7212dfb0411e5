"""What a method cannot do of what it is asked, as far as that is known before any data are read: a campaign is refused
as a whole by it, and a solve before it begins."""

from collections.abc import Callable, Iterator
from typing import Any

from extbnsl.core.claims import CHARGES, Claim
from extbnsl.core.errors import InputError
from extbnsl.data import Dataset
from extbnsl.kbest.scope import Scope
from extbnsl.lab.baselines.external import by_data, by_scores
from extbnsl.lab.baselines.external.task import Dialogue
from extbnsl.lab.baselines.methods import EXTERNAL, BaselineMethods
from extbnsl.parents.ordered.methods import OrderMethods
from extbnsl.scores.local import LocalScores
from extbnsl.solver.methods import Resamples

DIALOGUES: dict[str, Dialogue] = {**by_scores.DIALOGUES, **by_data.DIALOGUES}


def refusals(methods: Any, scope: Any, claim: Claim, kind: type, here: bool = True) -> Iterator[InputError]:
    """Why these methods cannot answer what is asked of a problem of this kind, each reason as an error; none if they
    can, unless the data forbid it. kind: LocalScores, or the class of the data. here: whether the program of a method
    must be on this machine."""
    if isinstance(scope, Resamples):
        from extbnsl.solver.bootstrap import check_resampled

        yield from _raised_by(check_resampled, kind, methods)
    if isinstance(methods, OrderMethods):
        yield from _raised_by(methods.for_claim, claim)
    elif isinstance(methods, BaselineMethods):
        if here and methods.method in EXTERNAL:
            yield from _raised_by(DIALOGUES[methods.method].locate)
        of_method = _of_ranking if isinstance(scope, Scope) else _of_program
        yield from of_method(methods.method, scope, claim, kind)


def _raised_by(check: Callable[..., object], *given: Any) -> Iterator[InputError]:
    """What a check says against this, if it does."""
    try:
        check(*given)
    except InputError as error:
        yield error


def _of_ranking(method: str, scope: Scope, claim: Claim, kind: type) -> Iterator[InputError]:
    """Of the k best networks by a published method."""
    from extbnsl.lab.parent_limits.limits import check_limited

    if scope.k is None or scope.within_factor is not None or scope.classes:
        yield InputError(f"method: {method!r} finds the k best networks alone; give k, and nothing else.")
    if kind is Dataset:
        yield from _raised_by(check_limited, claim)


def _of_program(method: str, scope: Any, claim: Claim, kind: type) -> Iterator[InputError]:
    """Of a network by somebody else's program that takes data; other methods can do everything."""
    if method not in EXTERNAL or (scores := DIALOGUES[method].scores) is None:
        return
    if kind is LocalScores:
        yield InputError(f"method: {method!r} learns from data, and local scores are given; take another.")
    elif kind is not Dataset:
        yield InputError(f"method: {method!r} learns from states, and numbers are given; take another.")
    elif claim.score not in scores:
        known = " or ".join(map(repr, scores))
        yield InputError(f"score: the method {method!r} has {known} alone, not {claim.score!r}.")
    for name in CHARGES:
        if getattr(claim, name) != getattr(Claim, name):
            yield InputError(f"{name}: the method {method!r} cannot be told it; take another.")
    if claim.knowledge:
        yield InputError(f"knowledge: the method {method!r} cannot be told it; take another.")
