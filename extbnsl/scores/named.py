"""Local scores from a dictionary."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from extbnsl.errors import InputError
from extbnsl.kernels.varsets import pack
from extbnsl.scores.local import GIVEN, LocalScores, local_scores


def named_scores(costs: Mapping[str, Mapping[Any, float]]) -> LocalScores:
    """Make local scores from a dictionary.

    Parameters
    ----------
    costs : dict of dict of float
        What each parent set costs, to be minimised, as costs[child][parents]. The parents are a tuple, a frozenset or
        another collection of names, or one name. Every child is a key.

    Returns
    -------
    LocalScores
        The scores, for `learn` and its like.

    Raises
    ------
    InputError
        For names that are no key, a cost that is no number, and as `LocalScores.check` does.
    """
    names = tuple(costs)
    at = {name: i for i, name in enumerate(names)}
    families = []
    for child, own in costs.items():
        if not isinstance(child, str) or not isinstance(own, Mapping):
            raise InputError(f"costs: {child!r} is to be a name, and what it stands for a dict from parents to costs.")
        varsets = [pack(_positions(parents, child, at), len(names)) for parents in own]
        rows = np.array(varsets, np.uint64).reshape(len(own), pack((), len(names)).size)
        families.append((rows, _numbers(own.values(), child)))
    return local_scores(names, families, GIVEN)


def _positions(parents: Any, child: str, at: Mapping[str, int]) -> list[int]:
    """The positions of the parents of a family."""
    names = (parents,) if isinstance(parents, str) else tuple(parents) if isinstance(parents, Iterable) else (parents,)
    unknown = [name for name in names if name not in at]
    if unknown:
        raise InputError(f"costs: {unknown[0]!r}, a parent of {child!r}, is no variable: give it parent sets.")
    if len(set(names)) < len(names):
        raise InputError(f"costs: the parent set {parents!r} of {child!r} names a parent twice.")
    return [at[name] for name in names]


def _numbers(costs: Iterable[Any], child: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    try:
        return np.array([float(cost) for cost in costs], np.float64)
    except (TypeError, ValueError):
        raise InputError(f"costs: {child!r} has a cost that is no number.") from None
