"""Provably optimal Bayesian network structures from discrete data.

`learn` is the whole of it in one call; nothing heavy is imported before it is called.
"""

from typing import TYPE_CHECKING, Any

from extbnsl.api import learn
from extbnsl.version import __version__

if TYPE_CHECKING:
    from extbnsl.results.result import Result

__all__ = ["Result", "__version__", "learn"]


def __getattr__(name: str) -> Any:
    if name == "Result":
        from extbnsl.results.result import Result

        return Result
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
