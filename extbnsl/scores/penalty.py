"""The penalty of a `ParameterScore` in kernels; nats. All else that they need to know of it is said here."""

from extbnsl.kernels.compiler import inlined
from extbnsl.scores.score import penalty_of

family_penalty = inlined(penalty_of)


@inlined
def grown(penalty: float, arity: float) -> float:
    """The penalty of a family with one parent more, of so many states."""
    return penalty * arity


@inlined
def shrunk(penalty: float, arity: float) -> float:
    """The penalty of a family without one of its parents, of so many states."""
    return penalty / arity


@inlined
def added(penalty: float, arity: float) -> float:
    """What one parent more, of so many states, adds to a penalty."""
    return penalty * (arity - 1)
