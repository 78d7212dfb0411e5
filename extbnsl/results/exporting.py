"""A network of a run for other programs: what its files say of it, and the files that it is written to."""

from collections.abc import Mapping
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
from extbnsl.networks.gaussian import Regression
from extbnsl.networks.network import Network, cpdag
from extbnsl.results.reading import network_written

_Strength = TypedDict(
    "_Strength", {"from": str, "to": str, "cost_of_removal": float | None, "cost_of_reversal": float | None}
)


class _Regression(TypedDict):
    """The regression of a variable in network.json; coefficients by the names of the parents."""

    intercept: float
    coefficients: dict[str, float]
    variance: float


# What network.json says of a network, where it is not null; earlier versions have but some of it.
_TOLD = {
    "states": dict[str, list[str]],
    "counts": dict[str, list[Whole]],
    "regressions": dict[str, _Regression],
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
    states, counts, regressions, spreads = (
        [known[key][name] for name in names] if key in known else None for key in _BY_NAME
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
        slopes = ([own["coefficients"][names[p]] for p in network.parents[x]] for x, own in enumerate(regressions))
        fitted = [
            Regression(own["intercept"], np.array(each, np.float64), own["variance"])
            for own, each in zip(regressions, slopes, strict=True)
        ]
    return replace(
        bare,
        states=states,
        tables=tables,
        strengths=strengths,
        regressions=fitted,
        counts=states and counts,
        spreads=spreads,
        treated=known.get("treated"),
    )


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
