"""Which columns are discrete variables as they stand, which are cut, and which are refused by name."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.errors import InputError
from extbnsl.core.sentences import Sentence, asking, dropped, option
from extbnsl.data.column import Column, has_fractions, listed, mean, recoded, weights
from extbnsl.data.treatment import LARGEST_ARITY, OTHER_FORMS, PLAIN_STATES, Rule, Treatment

# The published networks have variables of at most 100 states; texts of more than this are seldom states.
MAX_STATES = 256
# From here on a column is warned of: each state of it has few records.
MANY_STATES = 33
# Whole numbers of more values than this, with gaps, are taken for a measurement such as an age.
MANY_WHOLE = 20
# Numbers that are not whole are taken for a measurement from here on: half points of a scale stay states.
MAX_FRACTIONAL_STATES = PLAIN_STATES
# Rules without a name cut numbers of more states than this; names and numbers of records are refused from there on.
FEW_STATES = 64
# "columns continuous or with more than four states were cut at the mean": the literature's preparation.
PAPER_STATES = 4
# Below this, that every record has a value of its own says nothing.
IDENTIFIER_RECORDS = 20
NEARLY = 0.9  # the share of records with a value of their own from which on a column tells records apart


def settle_states(
    columns: Sequence[Column], wanted: Treatment, source: str
) -> tuple[tuple[Column, ...], tuple[str, ...]]:
    """Cut the columns that rules are for, refuse what cannot be a discrete variable, warn of what may be none: the
    columns, whose values are their states, and the warnings.

    The columns are `ordered`. Levels, and columns that --discrete names, stay as they are, and columns with a rule of
    their own are cut by that. Of the others a column is refused (InputError) if it is continuous (numbers that are not
    all whole, more than MAX_FRACTIONAL_STATES of them), has more than MAX_STATES states, or tells records apart with
    more than FEW_STATES; the rules mean, quantile and width cut just these, and numbers of more than FEW_STATES states;
    paper cuts every column of more than PAPER_STATES states, by the index of the state if they are no numbers.
    """
    kept = {column.name for column in columns if column.levels or wanted.is_discrete(column.name)}
    free = [column for column in columns if column.name not in kept]
    for column in columns:
        if len(column.values) > LARGEST_ARITY and column.name in kept:
            raise InputError(
                f"{source}: column '{column.name}' has {len(column.values):,} states, and no column can have more than "
                f"{LARGEST_ARITY:,}",
                names=[column.name],
                advice=("leave it out", dropped([column.name])),
            )
    rule_of = {column.name: wanted.rules.get(column.name) or _plain(wanted.rules.get(None), column) for column in free}
    _refuse([column for column in free if rule_of[column.name] is None and unfit(column)], source)
    texts = [column for column in free if rule_of[column.name] and column.numbers is None and column.values]
    for column in texts:
        _check_numbers(column, rule_of[column.name], source)
    settled = [_cut(column, rule_of.get(column.name)) for column in columns]
    uncut = [column for column in free if rule_of[column.name] is None and not _is_identifier(column)]
    warnings = (*_identifiers(free), *_by_index(texts), *_of_many_states(uncut), *_idle(columns, settled, wanted))
    return tuple(settled), warnings


def unfit(column: Column) -> str | None:
    """Why the column cannot be a discrete variable as it stands, for a sentence; None if it can."""
    distinct = len(column.values)
    if distinct > MAX_FRACTIONAL_STATES and has_fractions(column):
        return f"continuous, {distinct} different numbers"
    if distinct > FEW_STATES and _is_identifier(column):
        return f"{distinct} states, looks like an identifier: remove it"
    if distinct > FEW_STATES and distinct >= NEARLY * np.count_nonzero(column.codes >= 0):
        like = "an identifier" if column.numbers is None else "a measurement"
        return f"{distinct} states in {len(column.codes)} records, looks like {like}"
    return f"{distinct} states" if distinct > MAX_STATES else None


def _plain(rule: Rule | None, column: Column) -> Rule | None:
    """The rule, if it is for a column that is not named."""
    if rule is None:
        return None
    if rule.method == "paper":
        return rule if len(column.values) > PAPER_STATES else None
    many_numbers = column.numbers is not None and len(column.values) > FEW_STATES
    return rule if many_numbers or unfit(column) else None


def _cut(column: Column, rule: Rule | None) -> Column:
    return column if rule is None or len(column.values) < 2 else cut(column, rule)


def _check_numbers(column: Column, rule: Rule | None, source: str) -> None:
    """Raise InputError if a rule is for numbers; the states of the column are none."""
    if rule is not None and rule.method != "paper":
        raise InputError(
            f"{source}: column '{column.name}' ({unfit(column) or f'{len(column.values)} states'}) cannot be cut by ",
            asking("discretise", rule),
            " for want of numbers",
            names=[column.name],
            advice=(
                *("leave it out", dropped([column.name]), ", take it as it is with ", option("discrete", column.name)),
                *(", or use ", asking("discretise", "paper")),
            ),
        )


def _refuse(faulty: Sequence[Column], source: str) -> None:
    """Raise InputError naming the columns and what is wrong with each, if there are any."""
    if not faulty:
        return
    named = ", ".join(f"'{column.name}' ({unfit(column)})" for column in faulty[:3])
    more = f" and {len(faulty) - 3} more" if len(faulty) > 3 else ""
    nouns, them, as_is = ("column", "it", "it is") if len(faulty) == 1 else ("columns", "them", "they are")
    numbers = any(column.numbers is not None for column in faulty)
    names = [column.name for column in faulty]
    cutting = (f"cut {them} with ", asking("discretise", "mean"), f" (or {OTHER_FORMS}), ") if numbers else ()
    raise InputError(
        f"{source}: {nouns} {named}{more} cannot be used as {as_is}",
        names=names,
        advice=(
            *(f"leave {them} out", dropped(names), ", ", *cutting, f"or take {them} as {as_is} with "),
            option("discrete", *names),
        ),
    )


def _identifiers(columns: Sequence[Column]) -> tuple[str, ...]:
    """A warning for each column that only numbers or names the records."""
    return tuple(
        Sentence(
            f"Column '{column.name}' looks like an identifier (each of the {len(column.values)} records has a "
            "value of its own): leave it out",
            dropped([column.name]),
            ", since it tells nothing about other variables.",
        )
        for column in columns
        if _is_identifier(column)
    )


def _by_index(texts: Sequence[Column]) -> tuple[str, ...]:
    """A warning for each column of texts that was cut."""
    return tuple(
        f"Column '{column.name}' has {len(column.values)} states that are no numbers: it was cut at the mean "
        "index of its sorted states."
        for column in texts
    )


def _of_many_states(columns: Sequence[Column]) -> tuple[str, ...]:
    """Warnings of whole numbers that look measured, and of other columns of many states."""
    measured = [column for column in columns if _looks_measured(column)]
    names = [column.name for column in measured]
    others = [c.name for c in columns if len(c.values) >= MANY_STATES and c.name not in names]
    warnings: list[str] = []
    if names:
        each = ", ".join(f"'{column.name}' ({len(column.values)} different numbers)" for column in measured[:3])
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        warnings.append(
            Sentence(
                f"Column{'s' if len(names) > 1 else ''} {each}{more} may be measured, but every number was taken as a "
                "state: cut with ",
                *(option("discretise", f"{names[0]}=quantile:4"), ", or say ", option("discrete", names[0])),
                " to keep them.",
            )
        )
    if others:
        warnings.append(
            Sentence(
                f"Column{'s' if len(others) > 1 else ''} {listed(others)} {'have' if len(others) > 1 else 'has'} more "
                f"than {MANY_STATES - 1} states, each with few records, which makes arcs to and from them costly: "
                "merge states, or say ",
                option("discrete", others[0]),
                " if that is meant.",
            )
        )
    return tuple(warnings)


def _idle(before: Sequence[Column], after: Sequence[Column], wanted: Treatment) -> tuple[str, ...]:
    """A warning for each rule that made no column simpler."""
    plain, named = wanted.rules.get(None), {name: rule for name, rule in wanted.rules.items() if name is not None}
    changed = {old.name for old, new in zip(before, after, strict=True) if old is not new}
    simpler = {old.name for old, new in zip(before, after, strict=True) if len(new.values) < len(old.values)}
    idle = [
        Sentence(
            option("discretise", f"{name}={rule}"),
            f" cut nothing: column '{name}' has no more values than that has intervals.",
        )
        for name, rule in named.items()
        if name in {column.name for column in before if not column.levels} and name not in simpler
    ]
    if plain is not None and changed <= set(named):
        idle.append(
            Sentence(
                asking("discretise", plain),
                " cut nothing, because no column needs it: name the columns to cut, as ",
                option("discretise", f"COLUMN={plain}"),
                ".",
            )
        )
    return tuple(idle)


def _looks_measured(column: Column) -> bool:
    """Whether the states are many whole numbers and, unless they are very many, not just the codes 0, 1, 2, ..."""
    numbers = column.numbers
    if numbers is None or len(numbers) <= MANY_WHOLE or has_fractions(column):
        return False
    are_codes = numbers[0] in (0, 1) and numbers[-1] - numbers[0] == len(numbers) - 1
    return len(numbers) >= MANY_STATES or not are_codes


def _is_identifier(column: Column) -> bool:
    """Whether each of more than IDENTIFIER_RECORDS records has a value of its own, whole or a text."""
    records = len(column.codes)
    return records > IDENTIFIER_RECORDS and len(column.values) == records and not has_fractions(column)


def cut(column: Column, rule: Rule) -> Column:
    """The column with intervals for states, in their order; those without a record are left out.

    mean and paper: "<=m" and ">m". quantile: edges at the smallest values that at least i/k of the records
    do not exceed, fewer where they coincide, and below the largest value. width: k intervals of equal
    width. Intervals are open to the left and closed to the right. A paper column of texts is cut by
    index, and called "first..last".
    """
    if column.numbers is None:
        lower = int(mean(column, np.arange(len(column.values), dtype=np.float64))) + 1
        labels = [_span(column.values[:lower]), _span(column.values[lower:])]
        return _regroup(column, (np.arange(len(column.values)) >= lower).astype(np.intp), labels)
    edges = _edges(column, column.numbers, rule)
    texts = _edge_texts(edges)
    middle = [f"({low},{high}]" for low, high in pairwise(texts)]
    group = np.searchsorted(edges, column.numbers, side="left")
    return _regroup(column, group, [f"<={texts[0]}", *middle, f">{texts[-1]}"])


def _edges(column: Column, numbers: NDArray[np.float64], rule: Rule) -> NDArray[np.float64]:
    """The cuts between intervals, ascending and distinct, at least one."""
    if rule.method in ("mean", "paper"):
        return np.array([mean(column, numbers)])
    steps = range(1, rule.parts)
    if rule.method == "width":
        low, high = float(numbers[0]), float(numbers[-1])
        return np.unique([low + (high - low) * i / rule.parts for i in steps])
    reached = np.cumsum(weights(column))
    at = np.searchsorted(reached * rule.parts, [i * int(reached[-1]) for i in steps], side="left")
    # An edge at the largest value would leave nothing above it: cut below that value instead.
    return np.unique(numbers[np.minimum(at, len(numbers) - 2)])


def _regroup(column: Column, group: NDArray[np.intp], labels: Sequence[str]) -> Column:
    """The column with value i replaced by `labels[group[i]]`; labels that do not occur are left out."""
    used, dense = np.unique(group, return_inverse=True)
    return recoded(column, dense, [labels[i] for i in used.tolist()])


def _edge_texts(edges: NDArray[np.float64]) -> list[str]:
    """The edges to six digits, or as many more as tell them apart; whole numbers in full."""
    for digits in range(6, 17):
        texts = [str(int(e)) if e.is_integer() and abs(e) < 1e15 else f"{e:.{digits}g}" for e in edges.tolist()]
        if len(set(texts)) == len(texts):
            return texts
    return [repr(e) for e in edges.tolist()]


def _span(labels: Sequence[str]) -> str:
    """The name of a run of states: "first..last", or the state itself if alone."""
    return labels[0] if len(labels) == 1 else f"{labels[0]}..{labels[-1]}"
