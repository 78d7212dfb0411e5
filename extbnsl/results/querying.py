"""What a network says of some variables, given values of others, by the names and states of its data; and what several
networks say together."""

import contextlib
import itertools
import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from extbnsl.core.arguments import plain
from extbnsl.core.errors import BudgetError, InputError
from extbnsl.core.knowledge import did_you_mean
from extbnsl.core.sentences import Mention
from extbnsl.data import Dataset
from extbnsl.data.alike import state_of
from extbnsl.data.column import clean_name
from extbnsl.networks.answer import Answer
from extbnsl.networks.inference import log_evidence
from extbnsl.networks.models import Fitting, Model, OfStates, Seen, averaged
from extbnsl.networks.network import Network, relevant

MOST_ROWS = 1 << 20  # of a joint table
MOST_TOGETHER = 60  # variables of a joint table, which numpy has axes for


def about(
    model: Model, variables: Iterable[str] | None, given: Mapping[str, Any], joint: bool = False
) -> dict[Any, Any]:
    """What a network says of some variables, by default all that are not given.

    Of each of states that is {variable: {state: probability}}; if it is `joint`, {(a state of each variable, in their
    order): probability}. Of continuous ones it is {variable: {"mean": m, "standard_deviation": s}}; if it is `joint`,
    with "covariance": {variable: c} for its covariance with each of them in place of the deviation; then all are of one
    kind. given: states, or numbers, of others, by name; a number that lies in an interval of a column that was cut has
    its state. Raises InputError for names and states that there are not, what is no number, a variance of 0, a joint
    table of too many rows, too many joint states of what is not given, and what is impossible together; BudgetError as
    `inference.marginals` does.
    """
    asked = _Question.of(model.network.names, model.states, variables, given, joint)
    answer = model.answer(asked.seen, asked.targets, joint)
    if isinstance(model, OfStates) and not (answer.is_finite and _rest_is_possible(model, asked.seen, asked.targets)):
        raise _impossible(model, asked.seen)
    if not answer.is_finite:
        raise asked.unanswered()
    return asked.told(answer)


def about_average(
    fit: Fitting,
    networks: Mapping[Network, int],
    variables: Iterable[str] | None,
    given: Mapping[str, Any],
    joint: bool = False,
    advance: Callable[[int], None] = lambda done: None,
) -> dict[Any, Any]:
    """The same by several networks of data, each as often as it counts: they are weighed by how likely each makes what
    is given, and means and deviations are those of the mixture. advance: hears how many networks have been asked."""
    asked = _Question.of(fit.data.names, fit.states, variables, given, joint)

    def models() -> Iterator[tuple[Model, int]]:
        for done, (network, count) in enumerate(networks.items()):
            advance(done)
            yield fit.model(network), count

    answer = averaged(models(), asked.seen, asked.targets, joint)
    if answer is None and isinstance(fit.data, Dataset):
        text = "By all of these networks what is given is impossible together: leave some of it out, or give "
        raise InputError(text, Mention("smoothing"), " above 0.")
    if answer is None or not answer.is_finite:
        raise asked.unanswered()
    return asked.told(answer)


@dataclass(frozen=True, eq=False)
class _Question:
    """What is asked of variables with these names and states: of the targets, given one record."""

    names: Sequence[str]
    states: Sequence[Sequence[str]]
    targets: list[int]
    seen: Seen
    joint: bool

    @staticmethod
    def of(
        names: Sequence[str],
        states: Sequence[Sequence[str]],
        variables: Iterable[str] | None,
        given: Mapping[str, Any],
        joint: bool,
    ) -> "_Question":
        """The question, if it can be asked: InputError as `about` raises it."""
        targets, told = _asked(names, variables, given)
        codes, values = np.zeros((1, len(names)), np.int64), np.zeros((1, len(names)))
        for place, value in told.items():
            if states[place]:
                codes[0, place] = _state(names[place], value, states[place])
            else:
                values[0, place] = _number(names[place], value)
        kinds = {bool(states[target]) for target in targets}
        if joint and len(kinds) > 1:
            raise InputError(
                "Some of these variables have states and others numbers: ask for those of one kind together."
            )
        if joint and kinds == {True}:
            _check_rows([states[target] for target in targets])
        return _Question(names, states, targets, Seen(codes, values, tuple(told)), joint)

    def told(self, answer: Answer) -> dict[Any, Any]:
        """An answer by names and labels, as `about` has it."""
        names, labels = self.names, [self.states[target] for target in self.targets]
        if answer.joint is not None:
            return dict(zip(itertools.product(*labels), answer.joint.ravel().tolist(), strict=True))
        numbers = [target for target in self.targets if not self.states[target]]
        at, found = {target: i for i, target in enumerate(numbers)}, dict[Any, Any]()
        for target, own in zip(self.targets, labels, strict=True):
            if own:
                found[names[target]] = dict(zip(own, answer.states[target][0].tolist(), strict=True))
                continue
            row, mean = answer.covariances[0, at[target]].tolist(), float(answer.means[0, at[target]])
            spread = (
                {"covariance": dict(zip((names[v] for v in numbers), row, strict=True))}
                if self.joint
                else {"standard_deviation": math.sqrt(max(0.0, row[at[target]]))}
            )
            found[names[target]] = {"mean": mean, **spread}
        return found

    def unanswered(self) -> InputError:
        """What to raise where no answer is finite."""
        if any(self.states):
            return InputError("By the network what is given is impossible together: leave some of it out.")
        return InputError("What is given is so far from the data that no answer is finite: give other numbers.")


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


def _rest_is_possible(model: OfStates, seen: Seen, targets: Sequence[int]) -> bool:
    """Whether the given values on which the targets do not depend can be; they cannot only where a table has a zero."""
    tables, observed = model.tables, seen.observed
    families = set(relevant(tables.network, (), observed)) - set(relevant(tables.network, targets, observed))
    if all(tables.of([child])[child].all() for child in families):
        return True
    return bool(np.isfinite(log_evidence(tables, seen.codes, observed, model.memory, apart_from=targets)[0]))


def _impossible(model: OfStates, seen: Seen) -> InputError:
    """What to raise of values that are impossible together: it names the first one that is, given those before it."""
    observed = seen.observed

    def excluded(count: int) -> bool:
        return bool(np.isneginf(model.log_densities(seen._replace(observed=observed[:count]))[0]))

    what, names = "what is given is impossible together", list[str]()
    with contextlib.suppress(BudgetError):
        at = bisect_left(range(1, len(observed)), True, key=excluded)
        place = observed[at]
        names = [model.network.names[place]]
        beside = " given what stands before it" if at else ""
        what = f"{names[0]!r} cannot be {model.states[place][seen.codes[0, place]]!r}{beside}"
    head = f"By the network {what}: leave it out, or give "
    return InputError(head, Mention("smoothing"), " above 0 where there are data.", names=names)
