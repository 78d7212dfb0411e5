"""The public face: one call from data to a network with its proof.

Nothing heavy is imported before it is called.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from extbnsl.python.inputs import budgets_from, observer_from, problem_from, told_in_python
from extbnsl.results.shown import show_by

if TYPE_CHECKING:
    from extbnsl.core.events import Observer
    from extbnsl.data.treatment import Options, Texts
    from extbnsl.results.networks import CostedNetwork
    from extbnsl.results.ranked import KBestResult
    from extbnsl.results.result import Result


def learn(
    data: Any,
    *,
    method: str = "bfbnb",
    score: str = "mdl",
    ess: float | None = None,
    max_parents: int | None = None,
    knowledge: Any = None,
    bootstrap: int | None = None,
    memory: int | str | None = None,
    disk: int | str | None = None,
    scratch_dir: str | PathLike[str] | None = None,
    compress: bool = False,
    threads: int | None = None,
    time_limit: float | str | None = None,
    seed: int = 0,
    missing: str = "refuse",
    na: "Texts" = None,
    columns: "Texts" = None,
    drop: "Texts" = None,
    discrete: "Texts" = None,
    discretise: "Texts" = None,
    weights: str | None = None,
    names: "list[str] | tuple[str, ...] | None" = None,
    lower_bound: str = "auto",
    fixing: bool = True,
    ancestral: bool = True,
    path_extension: bool = True,
    parent_graph: str = "sparse",
    polish: bool | None = None,
    progress: "bool | Observer" = False,
) -> "Result":
    """Find the network of least cost, and prove it or tell the gap that was reached.

    Parameters
    ----------
    data : data frame, ndarray, Dataset, Numbers, LocalScores or dict
        A data frame, a 2-D array of whole numbers (N, n), what `read_data`, `read_csv` or `read_scores` return, or
        local scores as a dict {child: {parents: cost}}, see `local_scores`.
    method : str, default "bfbnb"
        "bfbnb", or a published method to compare with, such as "astar". That has no use for `fixing`, `ancestral`,
        `path_extension`, `parent_graph` and `polish`.
    score : str, default "mdl"
        "mdl" (the same as "bic"), "aic", "bdeu", "bds", "k2", "fnml" or "qnml"; by "gaussian-bic" the columns are
        numbers. Local scores have their own.
    ess : float, optional
        The equivalent sample size of "bdeu" and "bds"; None is 1.
    max_parents : int, optional
        The most parents of any variable; None for no limit. 'optimal' is then about such networks only.
    knowledge : dict, str, path-like, Knowledge or object, optional
        A dict of lists such as {"required": [["a", "b"]]}, the path of a file, a `Knowledge`, or an object such as
        pgmpy's `ExpertKnowledge`.
    bootstrap : int, optional
        How many resamples of the data to solve after them, within the same time limit; None for none.
    memory : int or str, optional
        Bytes, or text such as "8GiB". What does not fit goes to files. None: three quarters of what is free.
    disk : int or str, optional
        The same for working files. None: nine tenths of what is free.
    scratch_dir : str or path-like, optional
        The folder for working files, which are gone at the end; None: where temporary files go.
    compress : bool, default False
        Make some of the working files smaller; needs hdf5plugin.
    threads : int, optional
        How many threads; None for the processors that the process may use.
    time_limit : float or str, optional
        Seconds, or text such as "1h30m"; None for no limit. Compiling does not count.
    seed : int, default 0
        The seed of the randomised steps, below 2^32.
    missing : {"refuse", "drop", "state"}, default "refuse"
        For frames and arrays, as all down to `weights`: refuse missing values, drop the record, or make them a state.
    na : str or sequence of str, optional
        Further texts that stand for a missing value: a sequence, or one text with commas; so the next four.
    columns : str or sequence of str, optional
        The columns to use; None for all.
    drop : str or sequence of str, optional
        The columns to leave out.
    discrete : str or sequence of str, optional
        The columns to take as they are, however many states they have; or "all".
    discretise : str or sequence of str, optional
        "mean", "quantile:k", "width:k" or "paper" for continuous columns, and COLUMN=RULE for one column.
    weights : str, optional
        The column that says how many records each row stands for.
    names : list or tuple of str, optional
        The names of the columns of an array.
    lower_bound : {"auto", "pattern", "clusters", "static"}, default "auto"
        Pattern databases, multipliers, or by "auto" the maximum of both; "static" is best parents alone, the weakest.
    fixing : bool, default True
        Drop the parent sets that no better network can have.
    ancestral : bool, default True
        Leave out successors of a node that are not needed.
    path_extension : bool, default True
        Use optimal path extension.
    parent_graph : {"sparse", "layered"}, default "sparse"
        How the best parents inside a set are found: from sorted parent sets, or from a table for each layer.
    polish : bool, optional
        Improve the multipliers by linear programs; None: where a long search is expected.
    progress : bool or callable, default False
        True for lines on standard error, or a function that takes an event, see `extbnsl.core.events`.

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
    from extbnsl.core.arguments import path_of, plain
    from extbnsl.core.claims import Claim
    from extbnsl.formats.expert_knowledge import knowledge_given
    from extbnsl.lab.baselines.methods import BaselineMethods, methods_named
    from extbnsl.lab.baselines.solving import solve_by
    from extbnsl.proof.methods import Methods
    from extbnsl.solver.bootstrap import bootstrap_network
    from extbnsl.solver.place import Place
    from extbnsl.solver.resamples import Resamples
    from extbnsl.solver.solve import solve

    options: Options = {
        "missing": missing,
        "na": na,
        "columns": columns,
        "drop": drop,
        "discrete": discrete,
        "discretise": discretise,
        "weights": weights,
    }
    how = (lower_bound, fixing, ancestral, path_extension, parent_graph, polish, seed)
    with told_in_python():
        scratch = None if scratch_dir is None else path_of("scratch_dir", scratch_dir)
        methods = methods_named(method, Methods(*map(plain, how)))
        find: Callable[..., Result] = solve_by if isinstance(methods, BaselineMethods) else solve
        asked: tuple[Resamples, ...] = ()
        if bootstrap is not None:
            find, asked = bootstrap_network, (Resamples(plain(bootstrap)),)
        return find(
            problem_from(data, names, options, score),
            *asked,
            Claim(score, plain(max_parents), plain(ess), knowledge_given(knowledge)),
            methods,
            budgets_from(memory, threads, time_limit, disk),
            Place(scratch=scratch, compress=plain(compress)),
            observer=observer_from(progress),
        )


def order(
    data: Any,
    order: "Sequence[str]",
    *,
    method: str = "auto",
    bound: str = "auto",
    score: str = "mdl",
    ess: float | None = None,
    max_parents: int | None = None,
    knowledge: Any = None,
    memory: int | str | None = None,
    threads: int | None = None,
    time_limit: float | str | None = None,
    names: "list[str] | tuple[str, ...] | None" = None,
    missing: str = "refuse",
    na: "Texts" = None,
    columns: "Texts" = None,
    drop: "Texts" = None,
    discrete: "Texts" = None,
    discretise: "Texts" = None,
    weights: str | None = None,
    progress: "bool | Observer" = False,
) -> "Result":
    """Find the network of least cost among those that keep to an order of the variables.

    Parameters
    ----------
    data : data frame, ndarray, Dataset or Numbers
        As for `learn`, but no local scores.
    order : sequence of str
        The names of all variables, parents first.
    method : {"auto", "dfbnb-k3", "suzuki", "enumeration", "k3"}, default "auto"
        "dfbnb-k3" (Tian 2000) or "suzuki" for the scores "mdl" and "aic", "enumeration" for every score and all
        knowledge, "k3" for a greedy search, or "auto".
    bound : {"auto", "own", "fixed"}, default "auto"
        What "dfbnb-k3" prunes by.

    Returns
    -------
    Result
        The network, with the status 'heuristic'. Its `order_optimal` is True if no network of this order costs less.
        Its `stats` have the `states` that were visited for each variable, and the variables at which K3 was `trapped`.

    Other Parameters
    ----------------
    score, ess, max_parents, knowledge : as for `learn`
        What a network costs, and which networks there are to choose from.
    memory, threads, time_limit : as for `learn`
        How much of the machine it may use, and for how long.
    names, missing, na, columns, drop, discrete, discretise, weights : as for `learn`
        What to make of frames and arrays.
    progress : as for `learn`
        What is told while it works.

    Raises
    ------
    InputError
        For what cannot be used.
    BudgetError
        If the memory does not do.
    """
    from extbnsl.core.arguments import plain
    from extbnsl.core.claims import Claim
    from extbnsl.core.errors import InputError
    from extbnsl.data import Data
    from extbnsl.formats.expert_knowledge import knowledge_given
    from extbnsl.orders.given import places_of, positions
    from extbnsl.parents.ordered.methods import OrderMethods
    from extbnsl.solver.ordered import order_network

    treated: Options = {
        "missing": missing,
        "na": na,
        "columns": columns,
        "drop": drop,
        "discrete": discrete,
        "discretise": discretise,
        "weights": weights,
    }
    with told_in_python():
        dataset = problem_from(data, names, treated, score)
        if not isinstance(dataset, Data):
            raise InputError("data: local scores cannot be ordered; give the data that they were computed from.")
        return order_network(
            dataset,
            positions(places_of(order), dataset.names, "order", dataset.source),
            Claim(score, plain(max_parents), plain(ess), knowledge_given(knowledge)),
            OrderMethods(method, bound),
            budgets_from(memory, threads, time_limit),
            observer=observer_from(progress),
        )


def approximate(
    data: Any,
    *,
    time: float | str = "1m",
    selection: str = "auto",
    search: str = "memetic",
    seed: int = 0,
    score: str = "mdl",
    ess: float | None = None,
    max_parents: int | None = None,
    knowledge: Any = None,
    memory: int | str | None = None,
    threads: int | None = None,
    names: "list[str] | tuple[str, ...] | None" = None,
    missing: str = "refuse",
    na: "Texts" = None,
    columns: "Texts" = None,
    drop: "Texts" = None,
    discrete: "Texts" = None,
    discretise: "Texts" = None,
    weights: str | None = None,
    progress: "bool | Observer" = False,
) -> "Result":
    """Find a network of up to thousands of variables that is as good as `time` allows.

    Parameters
    ----------
    data : data frame, ndarray, Dataset, Numbers, LocalScores or dict
        As for `learn`.
    time : float or str, default "1m"
        Seconds, or text such as "10m". It ends earlier if the lower bound is reached.
    selection : {"auto", "independence", "greedy", "sequential"}, default "auto"
        Which parent sets are scored first.
    search : {"memetic", "regions", "windows", "insertion", "asobs", "obs"}, default "memetic"
        How orders are searched.
    seed : int, default 0
        The seed of the randomised steps, below 2^32.

    Returns
    -------
    Result
        The network, with the status 'heuristic'. Its `lower_bound` holds for every network.

    Other Parameters
    ----------------
    score, ess, max_parents, knowledge : as for `learn`
        What a network costs, and which networks there are to choose from.
    memory, threads : as for `learn`
        How much of the machine it may use.
    names, missing, na, columns, drop, discrete, discretise, weights : as for `learn`
        What to make of frames and arrays.
    progress : as for `learn`
        What is told while it works.

    Raises
    ------
    InputError
        For what cannot be used.
    BudgetError
        If the memory does not do.
    """
    from extbnsl.core.arguments import plain
    from extbnsl.core.claims import Claim
    from extbnsl.formats.expert_knowledge import knowledge_given
    from extbnsl.machine.budgets import parse_duration
    from extbnsl.solver.approximate import approximate_network
    from extbnsl.solver.methods import ApproximateMethods

    treated: Options = {
        "missing": missing,
        "na": na,
        "columns": columns,
        "drop": drop,
        "discrete": discrete,
        "discretise": discretise,
        "weights": weights,
    }
    with told_in_python():
        return approximate_network(
            problem_from(data, names, treated, score),
            Claim(score, plain(max_parents), plain(ess), knowledge_given(knowledge)),
            ApproximateMethods(selection, search, plain(seed)),
            replace(budgets_from(memory, threads), time_limit=parse_duration(time, "time")),
            observer=observer_from(progress),
        )


def k_best(
    data: Any,
    k: int | None = None,
    *,
    within_factor: float | None = None,
    classes: bool = False,
    score: str = "mdl",
    ess: float | None = None,
    max_parents: int | None = None,
    knowledge: Any = None,
    memory: int | str | None = None,
    disk: int | str | None = None,
    scratch_dir: str | PathLike[str] | None = None,
    threads: int | None = None,
    time_limit: float | str | None = None,
    seed: int = 0,
    names: "list[str] | tuple[str, ...] | None" = None,
    missing: str = "refuse",
    na: "Texts" = None,
    columns: "Texts" = None,
    drop: "Texts" = None,
    discrete: "Texts" = None,
    discretise: "Texts" = None,
    weights: str | None = None,
    progress: "bool | Observer" = False,
) -> "KBestResult":
    """Find the k best networks, or all whose weight comes near to that of the best.

    Parameters
    ----------
    data : data frame, ndarray, Dataset, Numbers, LocalScores or dict
        As for `learn`.
    k : int, optional
        How many networks; None for 10, or for up to 100,000 if there is a factor.
    within_factor : float, optional
        Only networks whose weight, exp(-cost), is at least that of the best, divided by this.
    classes : bool, default False
        Find equivalence classes instead, each by the best of its networks.

    Returns
    -------
    KBestResult
        The result of the best network. Its `networks` are a sequence, best first, of networks with `rank`, `cost`,
        `share`, `equivalence_class`, `parents` and `network`; its `arcs` are the shares of arcs, an array (n, n),
        parent by child. A share is one of the weight of the networks that were found; `of_all` is what these have of
        all.

    Other Parameters
    ----------------
    score, ess, max_parents, knowledge : as for `learn`
        What a network costs, and which networks there are to choose from.
    memory, disk, scratch_dir, threads, time_limit : as for `learn`
        How much of the machine it may use, and for how long.
    seed : as for `learn`
        The seed of the randomised steps.
    names, missing, na, columns, drop, discrete, discretise, weights : as for `learn`
        What to make of frames and arrays.
    progress : as for `learn`
        What is told while it works.

    Raises
    ------
    InputError
        For what cannot be used.
    BudgetError
        If memory, disk or time ran out before there was a network.
    """
    from extbnsl.core.arguments import path_of, plain
    from extbnsl.core.claims import Claim
    from extbnsl.formats.expert_knowledge import knowledge_given
    from extbnsl.kbest.scope import Scope
    from extbnsl.solver.k_best import ALL, k_best_networks
    from extbnsl.solver.place import Place

    treated: Options = {
        "missing": missing,
        "na": na,
        "columns": columns,
        "drop": drop,
        "discrete": discrete,
        "discretise": discretise,
        "weights": weights,
    }
    with told_in_python():
        scratch = None if scratch_dir is None else path_of("scratch_dir", scratch_dir)
        return k_best_networks(
            problem_from(data, names, treated, score),
            Scope(plain(10 if k is None and within_factor is None else k), plain(within_factor), plain(classes)),
            Claim(score, plain(max_parents), plain(ess), knowledge_given(knowledge)),
            replace(ALL, seed=plain(seed)),
            budgets_from(memory, threads, time_limit, disk),
            Place(scratch=scratch),
            observer=observer_from(progress),
        )


def best_first(
    data: Any,
    *,
    score: str = "mdl",
    ess: float | None = None,
    max_parents: int | None = None,
    knowledge: Any = None,
    memory: int | str | None = None,
    threads: int | None = None,
    time_limit: float | str | None = None,
    seed: int = 0,
    names: "list[str] | tuple[str, ...] | None" = None,
    missing: str = "refuse",
    na: "Texts" = None,
    columns: "Texts" = None,
    drop: "Texts" = None,
    discrete: "Texts" = None,
    discretise: "Texts" = None,
    weights: str | None = None,
    progress: "bool | Observer" = False,
) -> Iterator["CostedNetwork"]:
    """Give all networks one by one, best first. Each is found when it is asked for, or a little before.

    Parameters
    ----------
    data : data frame, ndarray, Dataset, Numbers, LocalScores or dict
        As for `learn`.

    Returns
    -------
    iterator of CostedNetwork
        The networks, each with `rank`, `cost` (nats), `parents` and `network`.

    Other Parameters
    ----------------
    score, ess, max_parents, knowledge : as for `learn`
        What a network costs, and which networks there are to choose from.
    memory, threads, time_limit : as for `learn`
        How much of the machine it may use, and for how long.
    seed : as for `learn`
        The seed of the randomised steps.
    names, missing, na, columns, drop, discrete, discretise, weights : as for `learn`
        What to make of frames and arrays.
    progress : as for `learn`
        What is told while it works.

    Raises
    ------
    InputError
        At once, for what cannot be used.
    BudgetError
        When a network is asked for, and memory or time do not do for it.
    """
    from extbnsl.core.arguments import plain
    from extbnsl.core.claims import Claim
    from extbnsl.formats.expert_knowledge import knowledge_given
    from extbnsl.solver.k_best import ALL, networks_best_first

    treated: Options = {
        "missing": missing,
        "na": na,
        "columns": columns,
        "drop": drop,
        "discrete": discrete,
        "discretise": discretise,
        "weights": weights,
    }
    with told_in_python():
        return networks_best_first(
            problem_from(data, names, treated, score),
            Claim(score, plain(max_parents), plain(ess), knowledge_given(knowledge)),
            replace(ALL, seed=plain(seed)),
            budgets_from(memory, threads, time_limit),
            observer=observer_from(progress),
        )


def _in_notebook(result: "Result") -> str:
    from extbnsl.python.notebook import result_html

    return result_html(result)


show_by(_in_notebook)
