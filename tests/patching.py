"""What tests change in the package or the system while they run, each by a context manager that says what is so then.

A name of the package is changed wherever it is used: one place, not one for each import. `conftest.py` has fixtures of
most, which end with the test."""

import ast
import contextlib
import functools
import importlib
import inspect
import itertools
import math
import os
import pkgutil
import signal
import sys
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import strategies as st

import extbnsl
from extbnsl.orders.local_search import Incumbent, improve_order


@functools.cache
def modules():
    """Every module of the package, imported."""
    found = pkgutil.walk_packages(extbnsl.__path__, "extbnsl.")
    return tuple(importlib.import_module(module.name) for module in found if not module.name.endswith("__main__"))


@functools.cache
def takes(module, name):
    """Whether a module has a name from another one: small numbers of the same name are the same object in both."""
    statements = ast.walk(ast.parse(inspect.getsource(module)))
    return any(isinstance(one, ast.ImportFrom) and name in {taken.name for taken in one.names} for one in statements)


def patch_everywhere(patch, home, name, value):
    """Let `name` of the module `home` of the package be `value` there and in every module that took it from there."""
    owner = importlib.import_module(f"extbnsl.{home}")
    original = getattr(owner, name)
    for module in modules():
        if module.__dict__.get(name) is original and (module is owner or takes(module, name)):
            patch.setattr(module, name, value)


@contextlib.contextmanager
def in_place_of(home, name, make):
    """The program while in place of a function of it stands what `make` makes of that function."""
    with pytest.MonkeyPatch.context() as patch:
        patch_everywhere(patch, home, name, make(getattr(importlib.import_module(f"extbnsl.{home}"), name)))
        yield


@contextlib.contextmanager
def called_by(module, name, make):
    """The program while one module of it calls, in place of a function, what `make` makes of that function."""
    with pytest.MonkeyPatch.context() as patch:
        owner = importlib.import_module(f"extbnsl.{module}")
        patch.setattr(owner, name, make(getattr(owner, name)))
        yield


# The home of each constant that tests change, so that a small problem meets what otherwise a large one does. A name
# that several modules have is called by module and name.
HOMES = {
    "ADVANCE_SECONDS": "run.progress",
    "ALL_LOOKED_AT": "solver.weighing",
    "BATCH": "bounds.lp.probing",
    "BESIDE_CLUSTERS": "bounds.groups",
    "BETWEEN_PASSES": "posteriors.weighted",
    "BLOCKS": "kbest.halves",
    "BLOCK_POSITIONS": "posteriors.orders",
    "BOUND_CUT": "posteriors.completions",
    "BRANCHING_SHARE": "proof.strategy",
    "CELLS_PER_TASK": "parents.exhaustive.problem",
    "CELL_SECONDS": "solver.approximate",
    "CHILD_NODES": "parents.priced.rounds",
    "CHUNK_CHARACTERS": "formats.score_reader",
    "CHUNK_NODES": "search.tasks",
    "CHUNK_TARGETS": "search.tasks",
    "COMMIT_PART": "solver.approximation",
    "COMMIT_SHARE": "proof.commits",
    "CONNECT_SECONDS": "machine.cluster",
    "EXCESS": "proof.guide",
    "EXCHANGED": "parents.explored.neighbours",
    "FAMILIES": "results.ranked",
    "FAMILIES_READ": "search.score_cache",
    "FAR_NODES": "search.layers",
    "FAR_STEPS": "kbest.halves",
    "FAR_VARIABLES": "orders.population",
    "FENCE_NODES": "search.runs",
    "FEWEST_NODES": "proof.incumbents",
    "FIRST_BRANCHING": "proof.strategy",
    "FIRST_NODES": "lab.baselines.nodes",
    "GRACE": "solver.approximate",
    "HOPELESS_NS": "proof.trials",
    "JOINED": "parents.exhaustive.by_child",
    "KNOWN_LAYERS": "proof.searching",
    "LARGEST_FILE": "formats.network_reader",
    "LARGEST_TABLES": "formats.tabled",
    "LEAST_GAP": "parents.priced.rounds",
    "LEAST_OPEN": "parents.priced.rounds",
    "LEAST_SOURCES": "search.layers",
    "LEAST_TASK_BYTES": "search.layers",
    "LESS": "lab.baselines.integer",
    "LONG": "orders.local_search",
    "LONG_NS": "proof.guide",
    "LOW_BITS": "search.problem",
    "MANY_FOUND": "parents.priced.rounds",
    "MANY_RECORDS": "data.table",
    "MANY_VARIABLES": "orders.population",
    "MERGED": "parents.exhaustive.by_level",
    "MOMENT": "orders.local_search",
    "MORE_SHARE": "proof.strategy",
    "MOST_AT_FIRST": "parents.priced.numbers",
    "MOST_ELEMENTS": "formats.network_xml",
    "MOST_ERROR": "posteriors.networks",
    "MOST_MEETINGS": "kbest.halves",
    "MOST_NAMED": "parents.exhaustive.surviving",
    "MOST_NETWORKS": "verify.complete",
    "MOST_OF_PART": "results.reading",
    "MOST_RANKS": "parents.exhaustive.regressed",
    "MOST_SEARCH_NS": "kbest.below",
    "MOST_SHARE": "search.layers",
    "MOST_SHORT": "parents.priced.rounds",
    "MOST_SWEPT": "parents.priced.sweeps",
    "MOST_WHOLE": "posteriors.scope",
    "NODES_AT_FIRST": "posteriors.layers",
    "NODES_EXPECTED": "parents.priced.shown",
    "NODES_TRIED": "parents.priced.shown",
    "NODE_NS": "proof.trials",
    "OF_A_CHILD": "parents.exhaustive.regressed",
    "PAGES_HELD": "files.shelf",
    "PARTS": "bounds.lp.branching",
    "PARTS_OF_CHILD": "parents.exhaustive.cells_by_child",
    "PART_EFFORT": "bounds.lp.branching",
    "PASSED": "parents.exhaustive.problem",
    "PIECE_BYTES": "files.arrays",
    "PLAIN_NATS": "posteriors.order_layout",
    "QUICK": "orders.local_search",
    "RETRY_SECONDS": "machine.cluster",
    "ROUGH": "cli.outlook",
    "SELDOM_PROVED": "cli.session",
    "SETS_TRIED": "parents.exhaustive.surviving",
    "SILENCE_SECONDS": "run.progress",
    "SLABS": "posteriors.orders",
    "SLAB_POSITIONS": "posteriors.orders",
    "SOON": "solver.em",
    "START_SECONDS": "machine.spreading",
    "STOP_SECONDS": "proof.commits",
    "SWEPT_ROOM": "parents.priced.sweeps",
    "TASKS_PER_THREAD": "search.layers",
    "TASK_EDGES": "posteriors.layers",
    "TASK_NODES": "posteriors.layers",
    "TASK_ROWS": "parents.exhaustive.by_child",
    "TOLD": "parents.exhaustive.by_level",
    "TRIPLES": "bounds.lp.program",
    "WIDTH_ABOVE": "posteriors.between",
    "WIDTH_BELOW": "posteriors.between",
    "WINDOW": "bounds.lp.polish",
    "WORDS_AT_LEAST": "scores.bit_columns",
    "WORK": "orders.fitted.search",
    "a_star.EDGES": "lab.baselines.a_star",
    "approximation.COMMIT_SECONDS": "solver.approximation",
    "below.CHUNK": "kbest.below",
    "below.MOST_NODES": "kbest.below",
    "below.STEPS": "kbest.below",
    "between.MOST_COUNTED": "posteriors.between",
    "bn_graph.PORTION": "lab.baselines.bn_graph",
    "branching.NODE_BYTES": "bounds.lp.branching",
    "by_level.CHUNK": "parents.exhaustive.by_level",
    "by_level.FEW": "parents.exhaustive.by_level",
    "cells_by_child.FEW": "parents.exhaustive.cells_by_child",
    "cells_by_child.MANY": "parents.exhaustive.cells_by_child",
    "collected.KNOWN": "parents.exhaustive.collected",
    "collected.ROOM": "parents.exhaustive.collected",
    "commits.COMMIT_SECONDS": "proof.commits",
    "complete.LARGEST": "verify.complete",
    "complete.MOST_STEPS": "verify.complete",
    "completions.TABLE": "lab.baselines.completions",
    "components.MOST_LISTED": "solver.components",
    "components.WIDEST": "solver.components",
    "conditional.CUT": "parents.exhaustive.conditional",
    "constants.MOST_FAMILIES": "kbest.constants",
    "cutting.SHARES": "parents.exhaustive.cutting",
    "cycles.BEGINNING": "lab.baselines.cycles",
    "cycles.STEPS": "lab.baselines.cycles",
    "data_families.COUNTED": "verify.data_families",
    "data_families.MANY": "verify.data_families",
    "data_families.MOST_PARTS": "verify.data_families",
    "data_families.PAIRS": "verify.data_families",
    "data_families.ROOM": "verify.data_families",
    "degenerate.CUT": "parents.exhaustive.degenerate",
    "depth_first.EDGES": "lab.baselines.depth_first",
    "dynamic.BLOCK_BITS": "lab.baselines.dynamic",
    "facts.MOST_DRAWN": "results.facts",
    "families.MOST_FAMILIES": "verify.families",
    "features.TOGETHER": "posteriors.features",
    "groups.WIDEST": "bounds.groups",
    "growing.SETS": "orders.growing",
    "guide.SHARE": "proof.guide",
    "halves.STEPS": "kbest.halves",
    "inference.AT_ONCE": "networks.inference",
    "inference.BYTES": "networks.inference",
    "integer.FEW": "lab.baselines.integer",
    "layered.CHUNK": "lab.baselines.layered",
    "layers.GROWTH": "posteriors.layers",
    "listing.COUNTED": "solver.listing",
    "models.HELD": "networks.models",
    "neighbours.TRIED": "parents.explored.neighbours",
    "networks.LARGE": "posteriors.networks",
    "networks.MOST_SECONDS": "posteriors.networks",
    "networks.MOST_VARIABLES": "posteriors.networks",
    "networks.PAIRS": "kbest.networks",
    "nodes.SHARES": "lab.baselines.nodes",
    "order_search.CHUNK": "verify.order_search",
    "order_search.FEWEST": "verify.order_search",
    "outputs.MOST_ENTRIES": "results.outputs",
    "parameters.MOST_ENTRIES": "networks.parameters",
    "polish.STALE": "bounds.lp.polish",
    "population.NUMBER": "orders.population",
    "program.COLUMNS": "bounds.lp.program",
    "program.FEWEST": "bounds.lp.program",
    "program.ROWS": "bounds.lp.program",
    "program.SLACK": "bounds.lp.program",
    "pruning.FEW": "parents.pruning",
    "reading.MOST_BYTES": "results.reading",
    "regression_bound.FEWEST": "verify.regression_bound",
    "regression_families.ROOM": "verify.regression_families",
    "resampling.DRAWN": "data.resampling",
    "rescoring.MOST_CELLS": "verify.rescoring",
    "rounds.FAR": "parents.priced.rounds",
    "rounds.FEW": "parents.priced.rounds",
    "rounds.MANY": "parents.priced.rounds",
    "scope.MOST_LISTED": "kbest.scope",
    "score_reader.CHUNK": "formats.score_reader",
    "score_writer.CHUNK": "formats.score_writer",
    "subtrees.EFFORT": "bounds.lp.subtrees",
    "summary.MOST_LISTED": "cli.summary",
    "sums.MOST_VARIABLES": "verify.sums",
    "text.BLOCK": "data.text",
    "trials.FEWEST_EDGES": "proof.trials",
    "varsets.ROWS": "kernels.varsets",
    "weighing.MOST_FAMILIES": "solver.weighing",
    "weighted.SWEEPS": "posteriors.weighted",
    "weighted.TASK": "posteriors.weighted",
    "weighted.TOGETHER": "posteriors.weighted",
    "workers.GRACE_SECONDS": "machine.workers",
}

SMALL_SEARCH = {
    "groups.WIDEST": 3,
    "BESIDE_CLUSTERS": 3,
    "LOW_BITS": 1,
    "FENCE_NODES": 2,
    "LEAST_SOURCES": 2,
    "LEAST_TASK_BYTES": 400,
}  # under which a search of a few variables has groups, blocks, fences and many tasks

SMALL_TASKS = {"TASK_ROWS": 1, "PARTS_OF_CHILD": 1000}  # of the search of a child
SMALL_CHUNKS = {"TASKS_PER_THREAD": 1000, "CHUNK_NODES": 2, "CHUNK_TARGETS": 3, "FENCE_NODES": 2}  # of a search
BRANCHING_FIRST = {
    "LONG_NS": 0,
    "BRANCHING_SHARE": 1e30,
    "MORE_SHARE": 1e30,
    "FIRST_BRANCHING": 1,
    "PART_EFFORT": 1,
}  # before a search, as long as it takes
HOPELESS = {"LONG_NS": 0, "guide.SHARE": 1e30, "HOPELESS_NS": -1.0, "PART_EFFORT": 1}  # as a trial shows
TOO_LARGE = {"LONG_NS": 0, "EXCESS": 0, "KNOWN_LAYERS": 1, "PART_EFFORT": 1}  # any search turns out to be
COMMIT_ALWAYS = {"commits.COMMIT_SECONDS": -1.0, "COMMIT_SHARE": math.inf}  # at every chance


def some_sizes(data):
    """Such sizes of a search as hypothesis draws."""
    return {
        "LOW_BITS": data.draw(st.integers(1, 4)),
        "LEAST_SOURCES": data.draw(st.sampled_from([1, 4, 50])),
        "LEAST_TASK_BYTES": data.draw(st.sampled_from([1, 500, 10_000])),
    }


@contextlib.contextmanager
def sized(given=(), /, **more):
    """The program while constants have other values, by their names in HOMES."""
    with pytest.MonkeyPatch.context() as patch:
        for called, value in (dict(given) | more).items():
            patch_everywhere(patch, HOMES[called], called.rpartition(".")[2], value)
        yield


@contextlib.contextmanager
def failing(call, number, when=lambda *given: True):
    """The system while it refuses a call, such as "os.fsync", with an error: any, or those of which `when` says so."""
    module, _, name = call.rpartition(".")
    real = getattr(pkgutil.resolve_name(module), name)

    def refuse(*given, **how):
        if when(*given):
            raise OSError(number, os.strerror(number))
        return real(*given, **how)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(call, refuse)
        yield


def as_they_stand(tables, n, workers, seed, effort, on_better, feasible=None):
    """In place of `search_orders`: the variables in their order, or in the one that is known to have a network."""
    order, halt = np.arange(n) if feasible is None else feasible.copy(), np.ones(1, np.uint8)
    return Incumbent(order, improve_order(order, np.ones(1, np.uint64), 0, halt, tables)[1])


@contextlib.contextmanager
def poor_incumbents(rounding=False):
    """The solver while its first network is that of the variables as they stand, and solutions of linear programs lead
    to none, unless `rounding`; gives a list that grows by each of these solutions."""
    solutions = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("extbnsl.proof.incumbents.search_orders", as_they_stand)
        if not rounding:
            patch.setattr("extbnsl.proof.prove.find_better_rounded", lambda *given: solutions.append(1) or False)
        yield solutions


def everything_pays():
    """The solver while every search counts as one for which everything is worth doing."""
    return sized({"LONG_NS": 0, "guide.SHARE": 1e30})


@contextlib.contextmanager
def searchable(largest):
    """The solver while pieces of more variables than `largest` cannot be searched, so that branching proves them."""
    with pytest.MonkeyPatch.context() as patch:
        for module in ("guide", "trials"):
            patch.setattr(f"extbnsl.proof.{module}.WORD_BITS", largest)
        yield


class Call(NamedTuple):
    """What a function was given by position, and what it returned."""

    given: tuple
    found: object


@contextlib.contextmanager
def recorded(home, name):
    """The calls of a function of the package, as they are made: what each was given, and what it returned."""
    calls = []

    def make(real):
        def record(*given, **how):
            found = real(*given, **how)
            calls.append(Call(given, found))
            return found

        return record

    with in_place_of(home, name, make):
        yield calls


@contextlib.contextmanager
def solving(answer, *told):
    """The commands while their solver tells some events and then answers with a result, with an error that it raises,
    or with what a function makes of what it is given."""

    def solve(*given, observer, **how):
        for event in told:
            observer(event)
        if isinstance(answer, BaseException):
            raise answer
        return answer(*given, observer=observer, **how) if callable(answer) else answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("extbnsl.solver.solve.solve", solve)
        yield


def too_large(module, bytes_of):
    """The program while what a module asks a function for the size of would take a petabyte."""
    return called_by(module, bytes_of, lambda real: lambda *given: 1 << 50)


@contextlib.contextmanager
def forbidden(denied=lambda place, mode: True):
    """The system while nobody may use places of which `denied` says so, in that mode of `os.access`: all of them, if
    nothing is given."""
    real = os.access
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "access", lambda place, mode: not denied(place, mode) and real(place, mode))
        yield


def running_out(module, name, error, at=1):
    """The program while a function that a module calls, from call number `at` on, raises what says that time, memory
    or disk has run out."""
    numbers = itertools.count(1)

    def make(real):
        def call(*given, **how):
            if next(numbers) >= at:
                raise error
            return real(*given, **how)

        return call

    return called_by(module, name, make)


def signalling(module, name, number=signal.SIGINT):
    """The program while it gets a signal whenever a module calls a function."""

    def make(real):
        def call(*given, **how):
            os.kill(os.getpid(), number)
            return real(*given, **how)

        return call

    return called_by(module, name, make)


@contextlib.contextmanager
def stopped_by(stop):
    """The commands while `stop` says whether a signal has asked them to end."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("extbnsl.machine.interrupts.Interrupts.stop", stop)
        yield


def rounds_of_search(number):
    """The search over orders while it takes so many rounds, whatever the time: without any, its network is a random
    one."""
    return in_place_of(
        "orders.population", "search_lists", lambda real: lambda *given, **how: real(*given, **how | {"rounds": number})
    )


def kept_on_disk():
    """The solver while it has no memory to keep what it counts in."""
    return in_place_of("files.shelf", "Shelf", lambda real: lambda memory, store: real(0, store))


@contextlib.contextmanager
def uninstalled(package):
    """Python while a package cannot be imported."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, package, None)
        yield


@contextlib.contextmanager
def fast_disk():
    """The system while nobody waits for the disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield
