"""Provably optimal Bayesian network structures from discrete data.

`learn` is the whole of it in one call, `k_best` ranks the k best networks and `best_first` gives them one by one,
`posterior` tells how likely arcs are over all networks, `order` finds the best network under an order of the variables,
and `approximate` a good one of many variables;
`BayesianNetworkLearner` does that in scikit-learn's manner. Nothing heavy is imported before they are called.
`cost` tells what a given network costs, and `compare` how two differ.
`describe` tells what the columns of data hold; `read_data`, `read_csv` and `read_scores` read files as the command line
does, `read_network` networks of other programs; `local_scores` takes scores from a dictionary.
"""

import importlib
from typing import Any

from extbnsl.core.version import __version__

_HOMES = {
    "BayesianNetworkLearner": ("extbnsl.python.estimator", "BayesianNetworkLearner"),
    "Result": ("extbnsl.results.result", "Result"),
    "local_scores": ("extbnsl.scores.local", "named_scores"),
    "read_csv": ("extbnsl.data.reading", "read_csv"),
    "read_data": ("extbnsl.data.reading", "read_data"),
    "read_network": ("extbnsl.formats.network_reader", "read_network"),
    "read_scores": ("extbnsl.formats.score_reader", "read_scores"),
    **{
        name: ("extbnsl.python.api", name)
        for name in ("approximate", "best_first", "compare", "cost", "describe", "k_best", "learn", "order")
    },
    "posterior": ("extbnsl.python.api", "posterior"),
}
__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, there = _HOMES[name]
    return getattr(importlib.import_module(module), there)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
