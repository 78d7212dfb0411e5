"""A network of a run for other programs: what its files say of it, and the files that it is written to."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict, get_type_hints

import numpy as np

from extbnsl.core.claims import Claim
from extbnsl.core.codec import Misfit, Whole, decode
from extbnsl.core.errors import InputError, RunDirectoryError, VerificationError
from extbnsl.data.dataset import Spread
from extbnsl.files.atomic import encoded, write_atomically
from extbnsl.files.names import DOCUMENT
from extbnsl.formats.described import Described
from extbnsl.formats.export import Written, names_text
from extbnsl.formats.spelling import names_file
from extbnsl.networks.arcs import ArcStrength
from extbnsl.networks.conditional import Conditionals, Family
from extbnsl.networks.degenerate import Block, Columns
from extbnsl.networks.gaussian import Regression
from extbnsl.networks.network import Network, cpdag, with_targets
from extbnsl.results.reading import network_written

_Strength = TypedDict(
    "_Strength", {"from": str, "to": str, "cost_of_removal": float | None, "cost_of_reversal": float | None}
)


class _Regression(TypedDict):
    """The regression of a variable in network.json; coefficients by the names of the parents."""

    intercept: float
    coefficients: dict[str, float]
    variance: float


class _InConfiguration(_Regression):
    """The same where its parents of states have these, as so many records do."""

    states: list[str]
    records: Whole


class _Conditional(TypedDict, total=False):
    """The parameters of a variable in a network of states and numbers."""

    given: list[str]
    table: list[Any]
    regressions: list[_InConfiguration]
    elsewhere: _Regression


# What network.json says of a network, where it is not null; earlier versions have but some of it.
_TOLD = {
    "states": dict[str, list[str]],
    "counts": dict[str, list[Whole]],
    "regressions": dict[str, _Regression],
    "conditionals": dict[str, dict[str, Any]],
    "columns": dict[str, dict[str, Any]],
    "spreads": dict[str, Spread],
    "treated": dict[str, str],
    "arc_strengths": list[_Strength],
}
_BY_NAME = ("states", "counts", "regressions", "spreads")


class _Solved(TypedDict):
    """What result.json says of the network; the cost in nats."""

    variables: list[str]
    parents: dict[str, list[str]]
    cost: float
    targets: list[list[str]] | None


def described_in(path: Path, document: Mapping[str, Any]) -> Described:
    """What a result and network.json beside it say of the network: its parameters and strengths, if it has them;
    nothing if network.json is not there, or that of a result before.

    path: the file or its run directory, whose document that is. RunDirectoryError if there is no network, or one of the
    files is damaged.
    """
    try:
        found: _Solved = decode(_Solved, {key: document.get(key) for key in get_type_hints(_Solved)})
        knowledge = Claim.of_result(document).knowledge
    except Misfit:
        raise RunDirectoryError(f"{path} is damaged or no result of a solve.") from None
    if not found["variables"]:
        raise RunDirectoryError(f"{path} is damaged or no result of a solve.")
    folder = path if path.is_dir() else path.parent
    try:
        network = Network.from_names(found["variables"], found["parents"])
        knowledge = with_targets(network, knowledge, found["targets"] or [])
        cpdag(network, knowledge)  # which finds out whether it is acyclic and allowed
    except (InputError, VerificationError) as error:
        raise RunDirectoryError(f"{path} is damaged: {error}") from error
    bare = Described(network, float(found["cost"]), knowledge=knowledge)
    told = network_written(folder, document)
    try:
        return bare if told is None else _described(bare, told)
    except (KeyError, TypeError, ValueError) as error:
        raise RunDirectoryError(f"{folder / DOCUMENT} is damaged: solve again, or restore it.") from error


def _described(bare: Described, told: Mapping[str, Any]) -> Described:
    """The network with what this document of it says besides; ValueError and the like if it says what cannot be."""
    network, names = bare.network, bare.network.names
    known = {key: decode(kind, told[key]) for key, kind in _TOLD.items() if told.get(key) is not None}
    of_both = "conditionals" in known or "columns" in known
    lacking: dict[str, Any] = {"states": (), "counts": (), "spreads": None} if of_both else {}
    states, counts, regressions, spreads = (
        [_of(name, known[key], key, lacking) for name in names] if key in known else None for key in _BY_NAME
    )
    tables = fitted = strengths = None
    if told["states"] is not None and told["tables"] is not None:
        tables = [np.array(told["tables"][name], np.float64) for name in names]
        sizes = [tuple(len(known["states"][names[v]]) for v in (*own, x)) for x, own in enumerate(network.parents)]
        if [table.shape for table in tables] != sizes:
            raise ValueError
    if "arc_strengths" in known:
        strengths = tuple(ArcStrength(*each.values()) for each in known["arc_strengths"])
        if [(each.parent, each.child) for each in strengths] != [(names[p], names[x]) for p, x in network.arcs()]:
            raise ValueError
    if states is not None and counts is not None and list(map(len, counts)) != list(map(len, states)):
        raise ValueError
    if regressions is not None:
        fitted = [_regression(own, [names[p] for p in network.parents[x]]) for x, own in enumerate(regressions)]
    return replace(
        bare,
        states=states,
        tables=tables,
        strengths=strengths,
        regressions=fitted,
        counts=states and counts,
        spreads=spreads,
        treated=known.get("treated"),
        conditionals=_conditionals(network, states, known["conditionals"]) if "conditionals" in known else None,
        columns=_columns(network, states, known["columns"]) if "columns" in known else None,
    )


def _of(name: str, told: Mapping[str, Any], key: str, lacking: Mapping[str, Any]) -> Any:
    """What is told of a variable; KeyError if nothing is, where something must be."""
    return told.get(name, lacking[key]) if key in lacking else told[name]


def _regression(own: _Regression, parents: Sequence[str]) -> Regression:
    slopes = [own["coefficients"][name] for name in parents]
    return Regression(own["intercept"], np.array(slopes, np.float64), own["variance"])


def _conditionals(
    network: Network, states: Sequence[Sequence[str]] | None, told: Mapping[str, Mapping[str, Any]]
) -> Conditionals:
    """The parameters of a network of states and numbers; ValueError and the like if they cannot be."""
    if states is None:
        raise ValueError
    labels = tuple(map(tuple, states))
    families = (_family(network, x, labels, told[name]) for x, name in enumerate(network.names))
    return Conditionals(network, labels, tuple(families))


def _family(network: Network, child: int, states: tuple[tuple[str, ...], ...], told: Mapping[str, Any]) -> Family:
    own = {key: decode(kind, told[key]) for key, kind in get_type_hints(_Conditional).items() if key in told}
    discrete = tuple(p for p in network.parents[child] if states[p])
    numbers = tuple(p for p in network.parents[child] if not states[p])
    shape = tuple(len(states[p]) for p in discrete)
    if own["given"] != [network.names[p] for p in discrete] or bool(states[child]) != ("table" in own):
        raise ValueError
    if "table" in own:
        table = np.array(own["table"], np.float64)
        if numbers or table.shape != (*shape, len(states[child])):
            raise ValueError
        return Family(table, discrete, numbers, shape)
    names = [network.names[p] for p in numbers]
    elsewhere = _regression(own["elsewhere"], names) if "elsewhere" in own else None
    found = [elsewhere] * math.prod(shape)
    records = [0] * math.prod(shape)
    for one in own["regressions"]:
        at = [states[p].index(state) for p, state in zip(discrete, one["states"], strict=True)]
        place = int(np.ravel_multi_index(at, shape)) if at else 0
        found[place], records[place] = _regression(one, names), one["records"]
    whole = [one for one in found if one is not None]
    if len(whole) < len(found):
        raise ValueError
    return Family(None, discrete, numbers, shape, tuple(whole), tuple(records))


class _Block(TypedDict, total=False):
    """The regression of the columns of a variable."""

    first: str
    states: list[str]
    intercepts: list[float]
    coefficients: list[list[float]]
    covariance: list[list[float]]


def _columns(
    network: Network, states: Sequence[Sequence[str]] | None, told: Mapping[str, Mapping[str, Any]]
) -> Columns:
    """The parameters of a network of blocks; ValueError and the like if they cannot be."""
    if states is None:
        raise ValueError
    labels = tuple(map(tuple, states))
    found = []
    for name, own_labels in zip(network.names, labels, strict=True):
        own = {key: decode(kind, told[name][key]) for key, kind in get_type_hints(_Block).items() if key in told[name]}
        codes = tuple(own_labels.index(state) for state in own["states"])
        first = own_labels.index(own["first"]) if own_labels else -1
        x = len(codes) if own_labels else 1
        slopes = np.array(own["coefficients"], np.float64).reshape(x, -1) if x else np.zeros((0, 0))
        covariance = np.array(own["covariance"], np.float64).reshape(x, x)
        found.append(Block(codes, first, np.array(own["intercepts"], np.float64).reshape(x), slopes, covariance))
    known = Columns(network, labels, tuple(found))
    for child, block in enumerate(found):
        p = len(known.places(network.parents[child]))
        if block.coefficients.shape[1] != p and len(block.intercepts):
            raise ValueError
    bare = (
        replace(own, coefficients=np.zeros((0, len(known.places(network.parents[child])))))
        if not len(own.intercepts)
        else own
        for child, own in enumerate(found)
    )
    return replace(known, blocks=tuple(bare))


def check_free(path: Path, overwrite: bool, how: str) -> None:
    """Raise InputError if a file is there already, unless it may be replaced; `how` says what allows that."""
    if path.exists() and not overwrite:
        raise InputError(f"{path} exists already; give {how} to replace it.")


def write_export(path: Path, made: Written, overwrite: bool, how: str) -> None:
    """Write an exported file, and beside it what it spells in another way, if there is any; one that an earlier export
    has left goes. Raises as `check_free` and `write_atomically`."""
    beside = names_file(path)
    check_free(beside, overwrite or not made.spelled, how)
    if made.spelled:
        write_atomically(beside, names_text(made.spelled).encode())
    elif overwrite:
        beside.unlink(missing_ok=True)
    write_atomically(path, encoded(made.text))
