"""How the estimator fails: by errors that scikit-learn's tools know too."""

import contextlib
from collections.abc import Callable, Iterator
from functools import update_wrapper
from types import MethodType
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, cast

from extbnsl.core.errors import BudgetError, ExtbnslError, InputError

Asked = ParamSpec("Asked")
Answer = TypeVar("Answer")


class UnusableError(InputError, ValueError):
    """An InputError that scikit-learn's tools know too."""


class StatesOnlyError(UnusableError, AttributeError):
    """A network of numbers is asked for what only those of states have; it has no attribute of that name."""


class NoPosteriorError(UnusableError, AttributeError):
    """A learner without sums over all networks is asked for what they say; it has no attribute of that name."""


class NotYetFittedError(ExtbnslError, ValueError, AttributeError):
    """A network is asked for before there is one, where scikit-learn, which has a NotFittedError, is not installed."""


class of_states(Generic[Asked, Answer]):  # lower case, as decorators are
    """A method that networks of states alone have: where `_need_states` of the object raises, `hasattr` is False."""

    def __init__(self, method: Callable[Concatenate[Any, Asked], Answer]) -> None:
        self.method = method
        update_wrapper(cast(Any, self), method)

    def __get__(self, one: Any, owner: Any = None) -> Callable[Asked, Answer]:
        if one is None:
            return cast(Any, self.method)
        one._need_states(self.method.__name__)
        return MethodType(self.method, one)


def not_fitted(sentence: str) -> Exception:
    """The error that there is no network yet: that of scikit-learn if it is installed."""
    try:
        from sklearn.exceptions import NotFittedError
    except ImportError:
        return NotYetFittedError(sentence)
    return NotFittedError(sentence)


@contextlib.contextmanager
def told() -> Iterator[None]:
    """Let errors name arguments where they name options, and be errors of values too."""
    try:
        yield
    except InputError as error:
        sentence = error.sentence.in_python(choosing=False)
        raise UnusableError(sentence, names=error.names, value=error.value, row=error.row) from error
    except BudgetError as error:
        error.tell_in_python()
        raise
