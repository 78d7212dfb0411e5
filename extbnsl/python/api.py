"""The public face: one call from data to a network with its proof.

The keywords of the functions are the options that dataclasses declare, see `extbnsl.core.options`. Nothing heavy is
imported before a function is called.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from extbnsl.core.keywords import keywords, without
from extbnsl.core.options import declared, made_of
from extbnsl.kbest.scope import Scope
from extbnsl.machine.budgets import Budgets
from extbnsl.parents.ordered.methods import OrderMethods
from extbnsl.proof.methods import Methods
from extbnsl.python.inputs import (
    QUESTION,
    TABLE,
    TELLING,
    claim_from,
    observer_from,
    problem_from,
    told_in_python,
)
from extbnsl.solver.methods import ApproximateMethods
from extbnsl.solver.place import Place
from extbnsl.solver.resamples import Resamples

if TYPE_CHECKING:
    from extbnsl.results.networks import CostedNetwork
    from extbnsl.results.ranked import KBestResult
    from extbnsl.results.result import Result


BUDGETS, PLACE = declared(Budgets), declared(Place)
SEED = {"seed": declared(Methods)["seed"]}


@keywords(QUESTION, BUDGETS, PLACE, declared(Methods), TABLE, TELLING)
def learn(data: Any, *, method: str = "bfbnb", bootstrap: int | None = None, **options: Any) -> "Result":
    """Find the network of least cost, and prove it or tell the gap that was reached.

    Parameters
    ----------
    data : data frame, ndarray, Dataset, Numbers, LocalScores or dict
        A data frame, a 2-D array of whole numbers (N, n), what `read_data`, `read_csv` or `read_scores` return, or
        local scores as a dict {child: {parents: cost}}, see `local_scores`.
    method : str, default "bfbnb"
        "bfbnb", or a published method to compare with, such as "astar". That has no use for `fixing`, `ancestral`,
        `path_extension`, `parent_graph` and `polish`.
    bootstrap : int, optional
        How many resamples of the data to solve after them, within the same time limit; None for none.
    {options}

    Returns
    -------
    Result
        The network with its bounds. Costs are in nats, and less is better. With `bootstrap`, its field `bootstrap`
        tells how sure each arc is.

    Raises
    ------
    InputError
        For what cannot be used.
    BudgetError
        If memory, disk or time ran out before there was a network.
    """
    from extbnsl.lab.baselines.methods import BaselineMethods, methods_named
    from extbnsl.lab.baselines.solving import solve_by
    from extbnsl.solver.bootstrap import bootstrap_network
    from extbnsl.solver.solve import solve

    with told_in_python():
        methods = methods_named(method, made_of(Methods, options))
        find: Callable[..., Result] = solve_by if isinstance(methods, BaselineMethods) else solve
        asked: tuple[Resamples, ...] = ()
        if bootstrap is not None:
            find, asked = bootstrap_network, (made_of(Resamples, {"bootstrap": bootstrap}),)
        return find(
            problem_from(data, options),
            *asked,
            claim_from(options),
            methods,
            made_of(Budgets, options),
            made_of(Place, options),
            observer=observer_from(options),
        )


@keywords(declared(OrderMethods), QUESTION, without(BUDGETS, "disk"), TABLE, TELLING)
def order(data: Any, order: Sequence[str], **options: Any) -> "Result":
    """Find the network of least cost among those that keep to an order of the variables.

    Parameters
    ----------
    data : data frame, ndarray, Dataset or Numbers
        As for `learn`, but no local scores.
    order : sequence of str
        The names of all variables, parents first.
    {options}

    Returns
    -------
    Result
        The network, with the status 'heuristic'. Its `order_optimal` is True if no network of this order costs less.
        Its `stats` have the `states` that were visited for each variable, and the variables at which K3 was `trapped`.

    Raises
    ------
    InputError
        For what cannot be used.
    BudgetError
        If the memory does not do.
    """
    from extbnsl.core.errors import InputError
    from extbnsl.data import Data
    from extbnsl.orders.given import places_of, positions
    from extbnsl.solver.ordered import order_network

    with told_in_python():
        dataset = problem_from(data, options)
        if not isinstance(dataset, Data):
            raise InputError("data: local scores cannot be ordered; give the data that they were computed from.")
        return order_network(
            dataset,
            positions(places_of(order), dataset.names, "order", dataset.source),
            claim_from(options),
            made_of(OrderMethods, options),
            made_of(Budgets, options),
            observer=observer_from(options),
        )


@keywords(declared(ApproximateMethods), QUESTION, without(BUDGETS, "disk", "time_limit"), TABLE, TELLING)
def approximate(data: Any, *, time: float | str = "1m", **options: Any) -> "Result":
    """Find a network of up to thousands of variables that is as good as `time` allows.

    Parameters
    ----------
    data : data frame, ndarray, Dataset, Numbers, LocalScores or dict
        As for `learn`.
    time : float or str, default "1m"
        Seconds, or text such as "10m". It ends earlier if the lower bound is reached.
    {options}

    Returns
    -------
    Result
        The network, with the status 'heuristic'. Its `lower_bound` holds for every network.

    Raises
    ------
    InputError
        For what cannot be used.
    BudgetError
        If the memory does not do.
    """
    from extbnsl.core.arguments import plain
    from extbnsl.machine.budgets import parse_duration
    from extbnsl.solver.approximate import approximate_network

    with told_in_python():
        return approximate_network(
            problem_from(data, options),
            claim_from(options),
            made_of(ApproximateMethods, options),
            made_of(Budgets, options, time_limit=parse_duration(plain(time), "time")),
            observer=observer_from(options),
        )


@keywords(without(declared(Scope), "k", "top"), QUESTION, BUDGETS, without(PLACE, "compress"), SEED, TABLE, TELLING)
def k_best(data: Any, k: int | None = None, **options: Any) -> "KBestResult":
    """Find the k best networks, or all whose weight comes near to that of the best.

    Parameters
    ----------
    data : data frame, ndarray, Dataset, Numbers, LocalScores or dict
        As for `learn`.
    k : int, optional
        How many networks; None for 10, or for up to 100,000 if there is a factor.
    {options}

    Returns
    -------
    KBestResult
        The result of the best network. Its `networks` are a sequence, best first, of networks with `rank`, `cost`,
        `share`, `equivalence_class`, `parents` and `network`; its `arcs` are the shares of arcs, an array (n, n),
        parent by child. A share is one of the weight of the networks that were found; `of_all` is what these have of
        all.

    Raises
    ------
    InputError
        For what cannot be used.
    BudgetError
        If memory, disk or time ran out before there was a network.
    """
    from extbnsl.solver.k_best import ALL, k_best_networks

    with told_in_python():
        wanted = 10 if k is None and options["within_factor"] is None else k
        return k_best_networks(
            problem_from(data, options),
            made_of(Scope, options | {"k": wanted}),
            claim_from(options),
            replace(ALL, seed=made_of(Methods, options).seed),
            made_of(Budgets, options),
            made_of(Place, options),
            observer=observer_from(options),
        )


@keywords(QUESTION, without(BUDGETS, "disk"), SEED, TABLE, TELLING)
def best_first(data: Any, **options: Any) -> Iterator["CostedNetwork"]:
    """Give all networks one by one, best first. Each is found when it is asked for, or a little before.

    Parameters
    ----------
    data : data frame, ndarray, Dataset, Numbers, LocalScores or dict
        As for `learn`.
    {options}

    Returns
    -------
    iterator of CostedNetwork
        The networks, each with `rank`, `cost` (nats), `parents` and `network`.

    Raises
    ------
    InputError
        At once, for what cannot be used.
    BudgetError
        When a network is asked for, and memory or time do not do for it.
    """
    from extbnsl.solver.k_best import ALL, networks_best_first

    with told_in_python():
        return networks_best_first(
            problem_from(data, options),
            claim_from(options),
            replace(ALL, seed=made_of(Methods, options).seed),
            made_of(Budgets, options),
            observer=observer_from(options),
        )
