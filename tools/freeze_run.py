"""Write a small run that was stopped in its search, to be kept: later versions must be able to go on with it.

    python tools/freeze_run.py tests/frozen/run-1

Writes data.csv, in run/ what a resume needs, and in state.txt what the states of all kinds of runs are made of. To be
done once for each format version, by a program of that version; tests/run/test_frozen.py reads what came out. The run
is stopped in the middle of a layer; the table of its bound covers more variables than the search has low bits; its
incumbent is poor, so that the optimum is in later layers.
"""

import csv
import dataclasses
import sys
import typing
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import extbnsl.proof.incumbents
import extbnsl.search.layers
import extbnsl.search.runs
from extbnsl.core.codec import IN_FILE, UNKEPT, element_of
from extbnsl.core.events import Event, LayerEnded
from extbnsl.core.options import union_of
from extbnsl.core.version import __version__
from extbnsl.data.reading import read_csv
from extbnsl.files.manifest import Manifest, Remembered, read_manifest
from extbnsl.machine.budgets import Budgets
from extbnsl.orders.local_search import Incumbent, improve_order
from extbnsl.proof.methods import Methods
from extbnsl.proof.standing import Standing
from extbnsl.solver.approximation import Approximation
from extbnsl.solver.opening import Request
from extbnsl.solver.place import Place
from extbnsl.solver.ranking import Ranking
from extbnsl.solver.solve import solve

VARIABLES = 18
RECORDS = 60
SEED = 11
LAYERS = 2  # that are complete when the run is stopped, in the middle of the next one
DATA_OPTIONS = {"header": None, "delimiter": None, "missing": "refuse", "discretise": None, "states": None}


def main(arguments: Sequence[str]) -> int:
    """Exit code 0, or 1 if the run could not be stopped where it should."""
    folder = Path(*arguments)
    run = folder / "run"
    run.mkdir(parents=True)
    write_data(folder / "data.csv")
    (folder / "state.txt").write_text(state_text())
    extbnsl.proof.incumbents.search_orders = _as_they_stand
    extbnsl.search.layers.LEAST_SOURCES = 1  # many tasks
    extbnsl.search.runs.FENCE_NODES = 1
    stop = _StopInALayer()
    remember = Remembered(
        input="/nowhere/data.csv",
        data_options=DATA_OPTIONS,
        budgets={"memory": None, "disk": None, "threads": None, "compress": False},
        command="extbnsl solve data.csv --lower-bound static",
        version=__version__,
    )
    place, budgets = Place(run, remember=remember), Budgets(threads=1)
    asked = Request(read_csv(folder / "data.csv"), methods=Methods("static"), budgets=budgets, place=place)
    result = solve(asked, observer=stop.observe, stop=stop)
    position = read_manifest(run).state.standing["search"]["state"]["position"]
    print(f"{result.status} after {result.stats['nodes_kept']} nodes, at position {position} of a layer")
    return int(position == 0)


def state_text() -> str:
    """What manifests keep: a line for each field of each class, with its type."""
    classes: list[Any] = [Manifest, Standing, Ranking, Approximation]
    lines = []
    for kind in classes:  # which grows
        hints = typing.get_type_hints(kind, include_extras=True)
        # which field is first matters in tuples alone
        for name in getattr(kind, "_fields", None) or sorted(field.name for field in dataclasses.fields(kind)):
            if UNKEPT not in getattr(hints[name], "__metadata__", ()):
                lines.append(f"{kind.__name__}.{name}: {_spelled(hints[name], classes)}")
    return "\n".join(lines) + "\n"


def _spelled(hint: Any, classes: list[Any]) -> str:
    """A type in words; classes that it names are noted, if they are read field by field."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _spelled(parts[0], classes) + (" in a file" if IN_FILE in parts else "")
    if (element := element_of(hint)) is not None:
        return f"array of {element.__name__}"
    own = [_spelled(part, classes) for part in parts]
    if len(union_of(hint)) > 1:
        return " | ".join(own)
    if own:
        return f"{origin.__name__}[{', '.join(own)}]"
    by_field = dataclasses.is_dataclass(hint) or hasattr(hint, "_fields")
    if by_field and not hasattr(hint, "from_document") and hint not in classes:
        classes.append(hint)
    return {Ellipsis: "...", type(None): "None"}.get(hint) or hint.__name__


class _StopInALayer:
    """A stop signal that begins when some tasks of a layer are done."""

    def __init__(self) -> None:
        self._tasks = 0

    def observe(self, event: Event) -> None:
        if isinstance(event, LayerEnded) and event.layer == LAYERS:
            self._tasks = 5

    def __call__(self) -> str | None:
        self._tasks -= self._tasks > 1
        return "interrupted" if self._tasks == 1 else None


def write_data(path: Path) -> None:
    """A tree of binary variables in a shuffled order, each like its parent but for noise."""
    rng = np.random.default_rng(SEED)
    columns = [rng.integers(0, 2, RECORDS)]
    while len(columns) < VARIABLES:
        parent = columns[int(rng.integers(len(columns)))]
        columns.append(np.where(rng.random(RECORDS) < 0.25, 1 - parent, parent))
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([f"v{k}" for k in range(VARIABLES)])
        writer.writerows(np.stack([columns[k] for k in rng.permutation(VARIABLES)], axis=1).tolist())


def _as_they_stand(tables: Any, n: int, *_: Any) -> Incumbent:
    """In place of the local search: the variables in their order."""
    order, halt = np.arange(n), np.ones(1, np.uint8)
    return Incumbent(order, improve_order(order, np.ones(1, np.uint64), 0, halt, tables)[1])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
