"""What else may be asked of networks: arcs that are there together, directed paths, members of Markov blankets. It is
read off networks that are drawn.

A file of YAML or JSON names each feature, and says what a network has that has it; all of it must hold:

    smoking matters:
      paths: [[smoke, lung], [smoke, bronc]]
      no_arcs: [[lung, smoke]]
      blankets: [[dysp, bronc]]
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.arguments import path_of
from extbnsl.core.errors import InputError
from extbnsl.files.yaml_file import FileError, read_yaml, spelled, told

Matrix = NDArray[np.bool_]  # (S, n, n): of S networks, what holds of the first variable and the second
Features = Mapping[str, Mapping[str, Sequence[tuple[str, str]]]]  # by name, the pairs of each of CONDITIONS
NO = "no_"  # before a condition that must not hold
TOGETHER = 1 << 22  # pairs of variables of networks that are looked at together


def _arcs(arcs: Matrix) -> Matrix:
    return arcs


def _adjacent(arcs: Matrix) -> Matrix:
    return arcs | arcs.swapaxes(1, 2)


def _paths(arcs: Matrix) -> Matrix:
    """Whether a directed path leads from the first to the second: by squaring."""
    reached, steps = arcs, 1
    while steps < arcs.shape[1]:
        reached = reached | (reached.astype(np.float32) @ reached.astype(np.float32) > 0)
        steps *= 2
    return reached


def _blankets(arcs: Matrix) -> Matrix:
    """Whether the second is in the Markov blanket of the first: a parent, a child, or another parent of a child."""
    own = arcs.astype(np.float32)
    return _adjacent(arcs) | (own @ own.swapaxes(1, 2) > 0)


CONDITIONS: dict[str, Callable[[Matrix], Matrix]] = {
    "arcs": _arcs,
    "adjacent": _adjacent,
    "paths": _paths,
    "blankets": _blankets,
}


def features_given(given: Any, name: str) -> str:
    """The features in a file, or in a dict, as one line of JSON; InputError if it cannot be read, or is none."""
    if isinstance(given, Mapping):
        for key, sentence in _wrong(given):
            raise InputError(f"{name}: {spelled(key)}: {sentence}" if key else f"{name}: {sentence}")
        return json.dumps(given, ensure_ascii=False)
    path = path_of(given, name)
    located = read_yaml(path)
    problems = [
        (problem.line or located.line(problem.key), problem.key, problem.sentence) for problem in located.problems
    ]
    problems += [(located.line(key), key, sentence) for key, sentence in _wrong(located.value)]
    if problems:
        raise FileError([told(path, *problem) for problem in problems])
    return json.dumps(located.value, ensure_ascii=False)


def features_of(text: str, names: Sequence[str]) -> Features:
    """The features in a text of `features_given`; InputError for a name of a variable that there is not."""
    found: Features = json.loads(text)
    for name, conditions in found.items():
        for pair in (pair for pairs in conditions.values() for pair in pairs):
            for own in pair:
                if own not in names:
                    raise InputError(f"features: {name!r} names {own!r}, and there is no such variable.")
    return found


def _wrong(value: Any) -> list[tuple[tuple[str | int, ...], str]]:
    """What is wrong with a document of features: keys and sentences."""
    if not isinstance(value, Mapping) or not value:
        return [((), "give each feature a name, with what a network has that has it.")]
    known = ", ".join([*CONDITIONS, *map(f"{NO}{{}}".format, CONDITIONS)])
    problems: list[tuple[tuple[str | int, ...], str]] = []
    for name, conditions in value.items():
        if not isinstance(conditions, Mapping) or not conditions:
            problems.append(((name,), f"say what a network has: {known}."))
            continue
        for condition, pairs in conditions.items():
            key = (name, condition)
            if str(condition).removeprefix(NO) not in CONDITIONS:
                problems.append((key, f"there is no such condition; use {known}."))
            elif not isinstance(pairs, list | tuple) or not pairs or not all(map(_is_pair, pairs)):
                problems.append((key, "give a list of pairs of variables, such as [[a, b], [b, c]]."))
    return problems


def _is_pair(value: Any) -> bool:
    """Whether it is a pair of different names."""
    pair = isinstance(value, list | tuple) and len(value) == 2 and all(isinstance(own, str) for own in value)
    return pair and value[0] != value[1]


def standard_error(share: Any, squares: Any, effective: float) -> Any:
    """Of shares of draws that count differently: squares, the sum of the squares of what those count that have it, of 1
    in all; effective: as many equal draws tell as much. It is that of one draw more or less where all have it, or none:
    that is not known for sure either."""
    spread = squares * (1.0 - 2.0 * share) + share**2 / effective
    return np.sqrt(np.maximum(0.0, spread) + effective**-2)


def shares_of(
    features: Features,
    names: Sequence[str],
    varsets: Callable[[slice], NDArray[np.uint64]],
    weights: NDArray[np.float64],
) -> dict[str, tuple[float, float]]:
    """Of networks that count so much (S,) the share that has each feature, with its standard error.

    varsets: gives the parents of each child of some networks, (m, n, words). O(S n^3 / 64) where paths are asked for.
    """
    n, samples, found = len(names), weights.size, {name: np.zeros(2) for name in features}
    step = max(1, TOGETHER // (n * n))
    for begin in range(0, samples, step):
        some = slice(begin, min(samples, begin + step))
        parents = varsets(some)
        bits = np.unpackbits(parents.astype("<u8").view(np.uint8), axis=2, count=n, bitorder="little")
        arcs = bits.astype(np.bool_).swapaxes(1, 2)
        wanted = {condition.removeprefix(NO) for own in features.values() for condition in own}
        holds = {condition: CONDITIONS[condition](arcs) for condition in wanted}
        for name, conditions in features.items():
            own = weights[some][_having(conditions, holds, names, arcs.shape[0])]
            found[name] += own.sum(), (own**2).sum()
    total, squares = weights.sum(), (weights**2).sum()
    effective = float(total**2 / squares)
    told = {name: (float(own[0] / total), float(own[1] / total**2)) for name, own in found.items()}
    return {name: (share, float(standard_error(share, own, effective))) for name, (share, own) in told.items()}


def _having(
    conditions: Mapping[str, Sequence[tuple[str, str]]], holds: Mapping[str, Matrix], names: Sequence[str], many: int
) -> NDArray[np.bool_]:
    """Which of so many networks have all that is asked for: (m,)."""
    place = {name: x for x, name in enumerate(names)}
    having = np.ones(many, np.bool_)
    for condition, pairs in conditions.items():
        own = holds[condition.removeprefix(NO)]
        for one, other in pairs:
            having &= own[:, place[one], place[other]] != condition.startswith(NO)
    return having
