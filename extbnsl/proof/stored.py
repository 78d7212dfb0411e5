"""How far a component has come, in files: what a manifest says of it, and the arrays that go with that."""

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from extbnsl.bounds.multipliers import Multipliers, families_of, multipliers_of
from extbnsl.files import names
from extbnsl.files.arrays import StoredFile, read_arrays
from extbnsl.files.lists import FamilyLists, Put, read_lists, write_lists
from extbnsl.files.store import Store
from extbnsl.parents.components import Component
from extbnsl.proof.bounding import Bounding
from extbnsl.proof.pieces import Piece, Search
from extbnsl.proof.steps import read_step, read_tree, step_document, tree_document
from extbnsl.search.state import read_state

GUIDING, SPREAD = "search", "spread"  # names of multipliers, beside the numbers of the pieces
CUTS = ("cuts", "spread_cuts")  # of linear programs
COUNTS = ("step", "rounds", "spent", "effort", "optimal", "probing", "before")  # of a bounding, as they are

Arrays = Mapping[str, NDArray[Any]]


def search_document(search: Search) -> dict[str, Any]:
    """What a manifest says of a search that has been written."""
    assert search.file is not None, "it has been written"
    return {
        "component": search.component,
        "pieces": [
            {name: getattr(piece, name) for name in ("variables", "lower_bound", "order", "given_up")}
            for piece in search.pieces
        ],
        "at": search.at,
        "limit": search.limit,
        "tried": search.tried,
        "steps": list(map(step_document, search.steps)),
        "bounding": search.bounding and _bounding_document(search.bounding),
        "groups": search.groups,
        "sets": search.sets,
        "state": search.state and search.state.document(),
        "file": search.file.name,
        "lists": [[file.name for file in files] for files in search.lists],
    }


def write_search(search: Search, version: int, store: Store) -> Search:
    """The search with what is left of the families, and the multipliers, in files of the store."""
    stem = (names.pieces if search.state is None else names.bounds)(search.name, version)
    arrays: dict[str, NDArray[Any]] = {}
    lists: list[tuple[StoredFile, ...]] = []
    for number, piece in enumerate(search.pieces):
        lists.append(())
        if piece.families is not None:
            lists[-1] = write_lists(store, names.piece(stem, number), piece.families.parents, piece.families.costs)
        _keep(piece.multipliers, str(number), arrays)
    _keep(search.multipliers, GUIDING, arrays)
    if search.bounding is not None:
        _keep(search.bounding.spread, SPREAD, arrays)
        arrays |= {name: cuts for name in CUTS if (cuts := getattr(search.bounding, name)) is not None}
    file = store.write(names.numbered(stem, 0), arrays)
    return replace(search, file=file, lists=tuple(lists))


def read_search(document: Mapping[str, Any], files: Mapping[str, StoredFile], folder: Path, put: Put) -> Search:
    """The search that a manifest keeps, families as `put` holds them; RunDirectoryError if a file is damaged."""
    arrays = read_arrays(folder, files[document["file"]])
    lists = tuple(tuple(files[name] for name in own) for own in document["lists"])
    families = [read_lists(folder, own, put) for own in lists]
    pieces = tuple(
        _read_piece(piece, families[number], number, arrays) for number, piece in enumerate(document["pieces"])
    )
    at = document["at"]
    return Search(
        component=document["component"],
        pieces=pieces,
        at=at,
        limit=document["limit"],
        tried=document["tried"],
        steps=tuple(map(read_step, document["steps"])),
        bounding=document["bounding"] and _read_bounding(document["bounding"], pieces[at], arrays),
        groups=tuple(tuple(group) for group in document["groups"]),
        multipliers=_kept(GUIDING, families[at], arrays),
        sets=None if document["sets"] is None else tuple(document["sets"]),
        state=document["state"] and read_state(document["state"], files, folder),
        file=files[document["file"]],
        lists=lists,
    )


def _read_piece(
    document: Mapping[str, Any],
    lists: tuple[FamilyLists, FamilyLists],
    number: int,
    arrays: Arrays,
) -> Piece:
    variables, order = tuple(document["variables"]), document["order"]
    if order is not None:
        return Piece(variables, document["lower_bound"], tuple(order))
    families, multipliers = Component(variables, *lists), _kept(str(number), lists, arrays)
    return Piece(variables, document["lower_bound"], None, families, multipliers, document["given_up"])


def _bounding_document(bounding: Bounding) -> dict[str, Any]:
    """What a manifest says of a bounding, beside the families and multipliers of its piece; infinity comes back as
    None."""
    counts = {name: getattr(bounding, name) for name in COUNTS}
    tree = bounding.tree and tree_document(bounding.tree)
    return {**counts, "gap": bounding.gap, "root": bounding.root, "tried": sorted(bounding.tried), "tree": tree}


def _read_bounding(document: Mapping[str, Any], piece: Piece, arrays: Arrays) -> Bounding:
    lists = piece.left.parents, piece.left.costs
    return Bounding(
        left=piece.left,
        multipliers=piece.multipliers,
        spread=_kept(SPREAD, lists, arrays),
        root=-math.inf if document["root"] is None else document["root"],
        gap=math.inf if document["gap"] is None else document["gap"],
        tried=frozenset(document["tried"]),
        cuts=arrays.get("cuts"),
        spread_cuts=arrays.get("spread_cuts"),
        tree=document["tree"] and read_tree(document["tree"], piece.left.size),
        **{name: document[name] for name in COUNTS},
    )


def _keep(multipliers: Multipliers | None, name: str, arrays: dict[str, NDArray[Any]]) -> None:
    """Put multipliers beside the arrays of a file, if there are any."""
    if multipliers is not None:
        arrays[f"cuts-{name}"], arrays[f"weights-{name}"] = multipliers.cuts, multipliers.weights


def _kept(name: str, lists: tuple[FamilyLists, FamilyLists], arrays: Arrays) -> Multipliers | None:
    """The multipliers of that name for these families, None if there are none."""
    if f"weights-{name}" not in arrays:
        return None
    return multipliers_of(families_of(*lists), arrays[f"cuts-{name}"], arrays[f"weights-{name}"])
