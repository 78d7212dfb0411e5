"""Provably optimal Bayesian network structures from discrete data.

`learn` is the whole of it in one call, `k_best` ranks the k best networks and `best_first` gives them one by one,
`order` finds the best network under an order of the variables, and `approximate` a good one of many variables;
`BayesianNetworkLearner` does that in scikit-learn's manner. Nothing heavy is imported before they are called.
`read_data`, `read_csv` and `read_scores` read files as the command line does; `local_scores` takes scores from a
dictionary.
"""

import importlib
from typing import TYPE_CHECKING, Any

from extbnsl.core.version import __version__
from extbnsl.python.api import approximate, best_first, k_best, learn, order

if TYPE_CHECKING:
    from extbnsl.data import read_csv, read_data
    from extbnsl.formats.score_reader import read_scores
    from extbnsl.python.estimator import BayesianNetworkLearner
    from extbnsl.results.result import Result
    from extbnsl.scores.local import named_scores as local_scores

__all__ = [
    "BayesianNetworkLearner",
    "Result",
    "__version__",
    "approximate",
    "best_first",
    "k_best",
    "learn",
    "local_scores",
    "order",
    "read_csv",
    "read_data",
    "read_scores",
]

_HOMES = {
    "BayesianNetworkLearner": ("extbnsl.python.estimator", "BayesianNetworkLearner"),
    "Result": ("extbnsl.results.result", "Result"),
    "local_scores": ("extbnsl.scores.local", "named_scores"),
    "read_csv": ("extbnsl.data", "read_csv"),
    "read_data": ("extbnsl.data", "read_data"),
    "read_scores": ("extbnsl.formats.score_reader", "read_scores"),
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, there = _HOMES[name]
    return getattr(importlib.import_module(module), there)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
