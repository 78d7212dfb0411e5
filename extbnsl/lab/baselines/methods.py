"""The published methods that solve the same problem as `extbnsl.solver.solve`, to compare with it, by name: ours, and
other people's programs; and the function that answers a question by such a method, or by one of the solver's own.
Light: the command line imports this for the words."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, NamedTuple

from extbnsl.core.errors import InputError
from extbnsl.core.options import Option, Options
from extbnsl.kbest.scope import Scope
from extbnsl.parents.ordered.methods import SUZUKI, OrderMethods
from extbnsl.posteriors.scope import PosteriorScope
from extbnsl.proof.methods import LOWER_BOUND, SEED, Methods
from extbnsl.solver.methods import BFBNB, ApproximateMethods, Resamples

WORD_BITS = 64  # of a varset that is one number


class Baseline(NamedTuple):
    """The module whose `find` does it, whether it uses a bound of what is missing, and how many variables it takes at
    most, if there is a limit."""

    module: str
    bounded: bool = False
    most: int | None = WORD_BITS


class External(NamedTuple):
    """Of somebody else's program: whether it takes our local scores (others take the data), and how many variables it
    takes at most, if there is a limit. `solving` knows how to talk with it."""

    takes_scores: bool
    most: int | None = None


BASELINES = {
    "dp": Baseline("extbnsl.lab.baselines.dynamic"),
    "layered-dp": Baseline("extbnsl.lab.baselines.layered"),
    "astar": Baseline("extbnsl.lab.baselines.a_star", bounded=True),
    "dfbnb": Baseline("extbnsl.lab.baselines.depth_first", bounded=True),
    "cycles": Baseline("extbnsl.lab.baselines.cycles", most=None),
    "ilp": Baseline("extbnsl.lab.baselines.integer", most=None),
}
EXTERNAL = {
    "gobnilp": External(True),
    "urlearning": External(True, 255),
    "blip": External(True),
    "bene": External(False, 31),
    "pgmpy": External(False),
    "pomegranate": External(False),
}
BN_GRAPH = "bn-graph"  # of the k best networks
RANKING_METHODS = (BFBNB, BN_GRAPH)
SWAPS = ("obs", "asobs")  # searches over the orders of thousands of variables, of `ApproximateMethods`


@dataclass(frozen=True)
class BaselineMethods(Options):
    """Which baseline, its bound where it has one ('static', 'pattern', 'clusters' or 'auto', as for `solve`), and the
    seed of randomised steps."""

    method: Annotated[str, Option("which method", choices=(*BASELINES, *EXTERNAL, BN_GRAPH))]
    lower_bound: Annotated[str, LOWER_BOUND] = "auto"
    seed: Annotated[int, SEED] = 0


def methods_named(method: str, methods: Methods, plain: Methods = Methods()) -> Methods | BaselineMethods:
    """How the method of this name goes about it, given what was asked for, where `plain` is what nobody asked for;
    InputError for what it has no use for."""
    if method == BFBNB:
        return methods
    baseline = BaselineMethods(method, methods.lower_bound, methods.seed)
    baseline.check()
    plain = replace(plain, seed=methods.seed)
    if method in BASELINES and BASELINES[method].bounded:
        plain = replace(plain, lower_bound=methods.lower_bound)
    for field in fields(methods):
        if getattr(methods, field.name) != getattr(plain, field.name):
            raise InputError(f"{field.name}: the method {method!r} has no use for it; leave it out.")
    return baseline


def finder(methods: Options, scope: Any = None) -> Callable[..., Any]:
    """The function that answers what is asked by these methods and of this scope, which it takes, if there is one,
    between the problem and the claim: how many networks or resamples, or an order of the variables."""
    compared = isinstance(methods, BaselineMethods)
    if isinstance(scope, Resamples):
        home, name = "solver.bootstrap", "bootstrap_network"
    elif isinstance(scope, PosteriorScope):
        home, name = "solver.posterior", "posterior_over_all"
    elif isinstance(scope, Scope):
        home, name = ("lab.baselines.ranking", "rank_by_bn_graph") if compared else ("solver.k_best", "k_best_networks")
    elif isinstance(methods, OrderMethods):
        compared = methods.method == SUZUKI
        home, name = ("lab.baselines.suzuki", "order_by_suzuki") if compared else ("solver.ordered", "order_network")
    elif isinstance(methods, ApproximateMethods):
        home, name = "solver.approximate", "approximate_network"
        if methods.search in SWAPS:
            home, name = "lab.baselines.swaps", "approximate_by_swaps"
    else:
        home, name = ("lab.baselines.solving", "solve_by") if compared else ("solver.solve", "solve")
    return getattr(importlib.import_module(f"extbnsl.{home}"), name)
