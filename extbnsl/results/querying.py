"""What a network says of some variables, given values of others, by the names and states of its data."""

import contextlib
import itertools
import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.arguments import plain
from extbnsl.core.errors import BudgetError, InputError
from extbnsl.core.knowledge import did_you_mean
from extbnsl.core.sentences import Mention
from extbnsl.data import Data, Dataset, Mixed, Numbers
from extbnsl.data.alike import state_of
from extbnsl.data.column import clean_name
from extbnsl.networks import conditional, degenerate, inference
from extbnsl.networks.conditional import Conditionals, conditionals
from extbnsl.networks.degenerate import Columns, columns
from extbnsl.networks.gaussian import Regression, conditioned, regressions
from extbnsl.networks.inference import Tables, log_evidence, marginals
from extbnsl.networks.network import Network, relevant
from extbnsl.scores.known import COLUMNS, model_of

MOST_ROWS = 1 << 20  # of a joint table
MOST_TOGETHER = 60  # variables of a joint table, which numpy has axes for


def about(
    network: Network,
    data: Data,
    variables: Iterable[str] | None,
    given: Mapping[str, Any],
    joint: bool,
    smoothing: float,
    memory: int | None,
    score: str,
) -> dict[Any, Any]:
    """What a network of data says of these variables, as `about_states` or what else is of its kind; smoothing: of
    tables; score: that it was learned by."""
    if isinstance(data, Dataset):
        tables = Tables.fitted(network, data, smoothing)
        return about_states(tables, data.states, variables, given, joint, memory)
    if model_of(data.kind, score) == COLUMNS:
        assert isinstance(data, Mixed), "it is of these"
        return about_both(columns(network, data), variables, given, joint)
    if isinstance(data, Mixed):
        return about_both(conditionals(network, data, smoothing), variables, given, joint)
    assert isinstance(data, Numbers), "there are no others"
    return about_numbers(network, regressions(network, data), variables, given, joint)


def about_states(
    tables: Tables,
    states: Sequence[Sequence[str]],
    variables: Iterable[str] | None,
    given: Mapping[str, Any],
    joint: bool = False,
    memory: int | None = None,
) -> dict[Any, Any]:
    """The posterior of each of these variables of states, by default all that are not given.

    That is {variable: {state: probability}}; if it is `joint`, {(a state of each variable, in their order):
    probability}. states: of each variable of the network. given: a state of others, by name; a number that lies in an
    interval of a column that was cut has its state. Raises InputError for names and states that there are not, a joint
    table of too many rows, and values that are impossible together; BudgetError as `marginals` does.
    """
    names = tables.network.names
    targets, known = _asked(names, variables, given)
    codes = np.zeros((1, len(names)), np.int64)
    for place, value in known.items():
        codes[0, place] = _state(names[place], value, states[place])
    observed, labels = tuple(known), [states[target] for target in targets]
    if joint:
        _check_rows(labels)
        found: tuple[NDArray[np.float64], ...] = (inference.joint(tables, targets, codes, observed, memory),)
    else:
        found = marginals(tables, targets, codes, observed, memory)
    if any(np.isnan(each).any() for each in found) or not _rest_is_possible(tables, targets, codes, observed, memory):
        raise _impossible(tables, states, codes, observed, memory)
    if joint:
        rows = itertools.product(*labels)
        return dict(zip(rows, found[0].ravel().tolist(), strict=True))
    each = (dict(zip(own, one[0].tolist(), strict=True)) for own, one in zip(labels, found, strict=True))
    return dict(zip((names[target] for target in targets), each, strict=True))


def about_numbers(
    network: Network,
    fitted: Sequence[Regression],
    variables: Iterable[str] | None,
    given: Mapping[str, Any],
    joint: bool = False,
) -> dict[str, dict[str, Any]]:
    """The mean and the standard deviation of each of these continuous variables, by default all that are not given.

    That is {variable: {"mean": m, "standard_deviation": s}}; if it is `joint`, with "covariance": {variable: c} for its
    covariance with each of them in place of the deviation. given: numbers, by name. Raises InputError for names that
    there are not, what is no number, a variance of 0, and numbers for which no answer is finite.
    """
    names = network.names
    targets, known = _asked(names, variables, given)
    values = np.zeros((1, len(names)))
    for place, value in known.items():
        values[0, place] = _number(names[place], value)
    means, covariance = conditioned(network, fitted, values, targets, known)
    if not (np.isfinite(means).all() and np.isfinite(covariance).all()):
        raise InputError("What is given is so far from the data that no answer is finite: give other numbers.")
    asked = [names[target] for target in targets]
    each = dict(zip(asked, means[0].tolist(), strict=True))
    if joint:
        rows = (dict(zip(asked, row, strict=True)) for row in covariance.tolist())
        return {name: {"mean": each[name], "covariance": row} for name, row in zip(asked, rows, strict=True)}
    deviations = np.sqrt(covariance.diagonal()).tolist()
    return {name: {"mean": each[name], "standard_deviation": own} for name, own in zip(asked, deviations, strict=True)}


def about_both(
    known: Conditionals | Columns, variables: Iterable[str] | None, given: Mapping[str, Any], joint: bool = False
) -> dict[Any, Any]:
    """What a network of states and numbers says of each of these variables, by default all that are not given: as
    `about_states` of those of states, and as `about_numbers` of the others; if it is `joint`, they are of one kind.

    Raises InputError as these do, and for too many joint states of what is not given.
    """
    names = known.network.names
    targets, told = _asked(names, variables, given)
    codes, values = np.zeros((1, len(names)), np.int64), np.zeros((1, len(names)))
    for place, value in told.items():
        if known.states[place]:
            codes[0, place] = _state(names[place], value, known.states[place])
        else:
            values[0, place] = _number(names[place], value)
    kinds = {bool(known.states[target]) for target in targets}
    if joint and len(kinds) > 1:
        raise InputError("Some of these variables have states and others numbers: ask for those of one kind together.")
    if joint and kinds == {True}:
        if isinstance(known, Columns):
            raise InputError("By dg-bic states have no joint table: ask for one variable at a time.")
        return _joint_states(known, codes, values, targets, tuple(told))
    if isinstance(known, Columns):
        found = degenerate.conditioned(known, codes, values, targets, tuple(told))
    else:
        found = conditional.conditioned(known, codes, values, targets, tuple(told))
    if not all(np.isfinite(own).all() for own in (*found.states.values(), found.means, found.covariances)):
        raise InputError("By the network what is given is impossible together: leave some of it out.")
    numbers = [target for target in targets if not known.states[target]]
    at, answer = {target: i for i, target in enumerate(numbers)}, dict[Any, Any]()
    for target in targets:
        if known.states[target]:
            answer[names[target]] = dict(zip(known.states[target], found.states[target][0].tolist(), strict=True))
            continue
        row, mean = found.covariances[0, at[target]].tolist(), float(found.means[0, at[target]])
        spread = (
            {"covariance": dict(zip((names[v] for v in numbers), row, strict=True))}
            if joint
            else {"standard_deviation": math.sqrt(max(0.0, row[at[target]]))}
        )
        answer[names[target]] = {"mean": mean, **spread}
    return answer


def _joint_states(
    known: Conditionals,
    codes: NDArray[np.int64],
    values: NDArray[np.float64],
    targets: Sequence[int],
    observed: tuple[int, ...],
) -> dict[Any, Any]:
    """The joint table of some variables of states, (a state of each, in their order): probability."""
    labels = [known.states[target] for target in targets]
    _check_rows(labels)
    found = conditional.joint(known, codes, values, targets, observed)
    if not np.isfinite(found).all():
        raise InputError("By the network what is given is impossible together: leave some of it out.")
    return dict(zip(itertools.product(*labels), found.ravel().tolist(), strict=True))


def _asked(
    names: Sequence[str], variables: Iterable[str] | None, given: Mapping[str, Any]
) -> tuple[list[int], dict[int, Any]]:
    """The places of the variables that are asked for, and the values by the places of those that are given."""
    if isinstance(variables, str):
        raise InputError(f"variables: {variables!r} is a text; give a list of names.")
    known = {place_of(names, name): value for name, value in given.items()}
    if len(known) < len(given):
        raise InputError("A variable is given twice: leave one out.")
    if variables is None:
        targets = [place for place in range(len(names)) if place not in known]
    else:
        targets = list(dict.fromkeys(place_of(names, name) for name in variables))
    if both := [names[target] for target in targets if target in known]:
        raise InputError(f"{both[0]!r} is given, and asked for: leave one out.", names=both)
    if not targets:
        raise InputError("No variable is left to ask for: give fewer of them.")
    return targets, known


def place_of(names: Sequence[str], name: Any) -> int:
    """The place of the variable of this name; InputError if there is none."""
    text = clean_name(str(name))
    if text not in names:
        raise InputError(f"There is no variable {str(name)!r}{did_you_mean(text, names)}", names=[str(name)])
    return names.index(text)


def _state(name: str, value: Any, states: Sequence[str]) -> int:
    """The place of the state that has this value."""
    text = str(plain(value)).strip()
    place = state_of(text, states)
    if place < 0:
        raise InputError(f"{name!r} has no state {text!r}{did_you_mean(text, states)}", names=[name], value=text)
    return place


def _number(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not np.isfinite(number):
        raise InputError(f"{name!r} is a number, and {str(value)!r} is none; give one.", names=[name], value=value)
    return number


def _check_rows(labels: Sequence[Sequence[str]]) -> None:
    """Raise InputError for a joint table that nobody can use."""
    rows = math.prod(map(len, labels))
    if rows > MOST_ROWS or len(labels) > MOST_TOGETHER:
        raise InputError(
            f"The joint table of these {len(labels)} variables has {rows:,} rows; ask for fewer variables together: at "
            f"most {MOST_TOGETHER}, with {MOST_ROWS:,} rows."
        )


def _rest_is_possible(
    tables: Tables, targets: Sequence[int], codes: NDArray[np.int64], observed: tuple[int, ...], memory: int | None
) -> bool:
    """Whether the given values on which the targets do not depend can be; they cannot only where a table has a zero."""
    families = set(relevant(tables.network, (), observed)) - set(relevant(tables.network, targets, observed))
    if all(tables.of([child])[child].all() for child in families):
        return True
    return bool(np.isfinite(log_evidence(tables, codes, observed, memory, apart_from=targets)[0]))


def _impossible(
    tables: Tables,
    states: Sequence[Sequence[str]],
    codes: NDArray[np.int64],
    observed: tuple[int, ...],
    memory: int | None,
) -> InputError:
    """What to raise of values that are impossible together: it names the first one that is, given those before it."""

    def excluded(count: int) -> bool:
        return bool(np.isneginf(log_evidence(tables, codes, observed[:count], memory)[0]))

    what, names = "what is given is impossible together", list[str]()
    with contextlib.suppress(BudgetError):
        at = bisect_left(range(1, len(observed)), True, key=excluded)
        place = observed[at]
        names = [tables.network.names[place]]
        beside = " given what stands before it" if at else ""
        what = f"{names[0]!r} cannot be {states[place][codes[0, place]]!r}{beside}"
    head = f"By the network {what}: leave it out, or give "
    return InputError(head, Mention("smoothing"), " above 0 where there are data.", names=names)
