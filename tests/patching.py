"""Changing a name of the package for a test wherever it is used: one place, not one for each import."""

import functools
import importlib
import pkgutil

import numpy as np

import extbnsl
from extbnsl.orders.local_search import Incumbent, improve_order


@functools.cache
def modules():
    """Every module of the package, imported."""
    found = pkgutil.walk_packages(extbnsl.__path__, "extbnsl.")
    return tuple(importlib.import_module(module.name) for module in found if not module.name.endswith("__main__"))


def patch_everywhere(patch, home, name, value):
    """Let `name` of the module `home` of the package be `value` there and in every module that took it from there."""
    original = getattr(importlib.import_module(f"extbnsl.{home}"), name)
    for module in modules():
        if module.__dict__.get(name) is original:
            patch.setattr(module, name, value)


SMALL = {
    "BESIDE_CLUSTERS": "bounds.groups",
    "CHUNK_NODES": "search.tasks",
    "CHUNK_TARGETS": "search.tasks",
    "FAMILIES_READ": "search.score_cache",
    "FENCE_NODES": "search.runs",
    "LEAST_SOURCES": "search.layers",
    "LEAST_TASK_BYTES": "search.layers",
    "LOW_BITS": "search.problem",
    "TASKS_PER_THREAD": "search.layers",
    "WIDEST": "bounds.groups",
}  # the home of each constant that is small, so that a small problem meets what otherwise a large one does


def shrink(patch, **values):
    """Let these of the constants in SMALL have other values."""
    for name, value in values.items():
        patch_everywhere(patch, SMALL[name], name, value)


def as_they_stand(tables, n, workers, seed, effort, on_better, feasible=None):
    """In place of `search_orders`: the variables in their order, or in the one that is known to have a network."""
    order, halt = np.arange(n) if feasible is None else feasible.copy(), np.ones(1, np.uint8)
    return Incumbent(order, improve_order(order, np.ones(1, np.uint64), 0, halt, tables)[1])


def make_incumbents_poor(patch):
    """The first network is that of the variables as they stand, and linear programs lead to none."""
    patch.setattr("extbnsl.proof.incumbents.search_orders", as_they_stand)
    patch.setattr("extbnsl.proof.prove.find_better_rounded", lambda *given: False)


def make_thorough(patch):
    """Every search counts as one for which everything is worth doing."""
    patch_everywhere(patch, "proof.guide", "MANY_EDGES", 0)
    patch.setattr("extbnsl.proof.guide.SHARE", 1e30)


def make_unsearchable(patch, largest):
    """Pieces of more variables than `largest` cannot be searched, so that branching has to prove them."""
    patch.setattr("extbnsl.proof.bounding.WORD_BITS", largest)
    patch.setattr("extbnsl.proof.guide.WORD_BITS", largest)
