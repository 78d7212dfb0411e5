"""The runs of a state go to files: those that are in memory alone are written, in pieces of the usual size."""

from dataclasses import replace

from extbnsl.files import names
from extbnsl.files.store import Store
from extbnsl.search.runs import Run, in_files_only, sliced, write_run
from extbnsl.search.state import SearchState


def stored(state: SearchState, store: Store, name: str, run_nodes: int) -> SearchState:
    """The state with every run in files, also those that stay in memory, and the closed layers in files only.

    name: of the search; a run in memory alone becomes runs of about `run_nodes` nodes. Raises BudgetError or InputError
    if a file cannot be written.
    """
    layer = replace(state.layer, runs=_written(state.layer.runs, state.layer.size, store, name, run_nodes))
    following = _written(state.following, state.layer.size + 1, store, name, run_nodes)
    return replace(with_closed_stored(state, store, name, run_nodes), layer=layer, following=following)


def with_closed_stored(state: SearchState, store: Store, name: str, run_nodes: int) -> SearchState:
    """The state with its closed layers in files only; otherwise as `stored`."""
    closed = (_written(runs, size, store, name, run_nodes) for size, runs in enumerate(state.closed))
    return replace(state, closed=tuple(tuple(in_files_only(run) for run in runs) for runs in closed))


def _written(runs: tuple[Run, ...], size: int, store: Store, name: str, run_nodes: int) -> tuple[Run, ...]:
    """The runs of layer `size` in files too.

    A run is written once and keeps its files: its first partition is name enough.
    """
    found: list[Run] = []
    for run in runs:
        for piece in [run] if run.files else sliced(run, run_nodes):
            stem = names.nodes(names.layer(name, size), piece.first)
            found.append(write_run(piece, stem, store.write, store.compress))
    return tuple(found)
