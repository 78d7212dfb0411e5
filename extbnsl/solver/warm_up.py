"""Loading the compiled kernels before there is something to lose."""

from dataclasses import replace

import numpy as np

from extbnsl.bounds.lp.polish import load_polish
from extbnsl.claims import Claim
from extbnsl.data import Dataset, from_array
from extbnsl.events import Warned, ignore
from extbnsl.files.arrays import load_hdf5
from extbnsl.files.shelf import Shelf
from extbnsl.files.store import Store
from extbnsl.kernels.compiler import cache_warning
from extbnsl.machine.workers import Workers
from extbnsl.parents.components import components
from extbnsl.parents.exhaustive.state import Enumeration, start_enumeration
from extbnsl.parents.exhaustive.surviving import load_kernel_of_stops
from extbnsl.proof.commits import Commits
from extbnsl.proof.context import Context
from extbnsl.proof.effort import load_rare_kernels
from extbnsl.proof.methods import Methods
from extbnsl.proof.stages import Stages
from extbnsl.proof.standing import Standing
from extbnsl.solver.components import solve_components
from extbnsl.solver.families import find_survivors
from extbnsl.solver.place import temporary_store


def load_kernels(methods: Methods, stages: Stages, store: Store) -> None:
    """Run every kernel once on a toy problem, so that compiling is a stage of its own and not a silent pause.

    Other libraries are loaded as well: what is loaded only when memory is scarce may not load at all.
    """
    with stages.stage("kernels", "loading, or compiling (first run only)"):
        load_hdf5()
        load_rare_kernels()
        load_kernel_of_stops()
        if methods.polish:
            load_polish()
        toy = from_array(np.array([[0, 0, 1, 0], [1, 1, 0, 1], [0, 2, 1, 2], [1, 0, 1, 3]] * 3))
        by_child = start_enumeration(toy.variables)  # as when there is little memory
        pattern = Methods("pattern")  # which needs a search
        with Workers(1) as alone:
            for some, begun in ((pattern, None), (pattern, by_child), (Methods(), None)):
                _solve_quietly(toy, _quiet(alone, some, store), begun)
            if methods.parent_graph == "layered":
                with temporary_store() as own:  # the run's own may have a score cache
                    _solve_quietly(toy, _quiet(alone, replace(pattern, parent_graph="layered"), own), None)
    if warning := cache_warning():
        stages.observer(Warned(warning))


def _quiet(workers: Workers, methods: Methods, store: Store) -> Context:
    """To solve a toy with ample memory, without a trace."""
    return Context(workers, Stages(ignore, {}), 1 << 30, methods, store, Shelf(1 << 29, store))


def _solve_quietly(dataset: Dataset, context: Context, begun: Enumeration | None) -> None:
    """Solve without a trace but the compiled kernels, and the files of layered parent graphs in the store."""
    commits = Commits(Standing(begun), context.store)
    survivors = find_survivors(dataset, Claim(), context, commits)
    solve_components(survivors, components(survivors.scores, context.shelf.put), context, commits)
