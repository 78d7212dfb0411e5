"""How far a component has come, in files: the families of its pieces, and the arrays that go with them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from extbnsl.bounds.multipliers import Multipliers, families_of, multipliers_of
from extbnsl.core.codec import Readers, arrays_of, decode
from extbnsl.files import names
from extbnsl.files.arrays import StoredFile, read_arrays
from extbnsl.files.lists import FamilyLists, Put, read_lists, write_lists
from extbnsl.files.store import Store
from extbnsl.parents.components import Component
from extbnsl.proof.pieces import Piece, Search
from extbnsl.search.runs import Run, find_run

Lists = tuple[FamilyLists, FamilyLists]  # the parent sets and the costs of each child


def write_search(search: Search, version: int, store: Store) -> Search:
    """The search with what is left of the families, and the multipliers, in files of the store."""
    stem = (names.pieces if search.state is None else names.bounds)(search.name, version)
    lists = tuple(
        ()
        if piece.families is None
        else write_lists(store, names.piece(stem, number), piece.families.parents, piece.families.costs)
        for number, piece in enumerate(search.pieces)
    )
    return replace(search, file=store.write(names.numbered(stem, 0), dict(arrays_of(search))), lists=lists)


def read_search(document: Any, readers: Readers, folder: Path, put: Put) -> Search:
    """The search that a manifest keeps, families as `put` holds them; Misfit if it keeps none, RunDirectoryError if a
    file is damaged."""
    file = decode(StoredFile, document.get("file") if isinstance(document, dict) else None, readers)
    of_runs = {**readers, Run: lambda run: find_run(run, readers, folder)}
    search: Search = decode(Search, document, of_runs, read_arrays(folder, file))
    families = [read_lists(folder, own, put) for own in search.lists]
    pieces = tuple(map(_with_families, search.pieces, families))
    at, lists = pieces[search.at], families[search.at]
    bounding = search.bounding and replace(
        search.bounding,
        left=at.left,
        multipliers=at.multipliers,
        spread=_whole(search.bounding.spread, lists),
    )
    return replace(search, pieces=pieces, bounding=bounding, multipliers=_whole(search.multipliers, lists))


def _with_families(piece: Piece, lists: Lists) -> Piece:
    """The piece with what is left of its families, if it is not solved."""
    if piece.order is not None:
        return piece
    return replace(piece, families=Component(piece.variables, *lists), multipliers=_whole(piece.multipliers, lists))


def _whole(multipliers: Multipliers | None, lists: Lists) -> Multipliers | None:
    """The multipliers with what follows from the families."""
    return multipliers and multipliers_of(families_of(*lists), multipliers.cuts, multipliers.weights)
