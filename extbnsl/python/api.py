"""The public face: one call from data to a network with its proof.

The keywords of the functions are the options that dataclasses declare, see `extbnsl.core.options`. Nothing heavy is
imported before a function is called.
"""

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from extbnsl.core.arguments import plain
from extbnsl.core.claims import CHARGES, Claim
from extbnsl.core.data_options import OF_FILES, DataOptions
from extbnsl.core.errors import ExtbnslError, InputError
from extbnsl.core.events import Observer, ignore
from extbnsl.core.keywords import keywords, without
from extbnsl.core.options import Declared, Option, Options, declared, made_of
from extbnsl.core.sentences import Sentence
from extbnsl.kbest.scope import ALL, Scope
from extbnsl.lab.baselines.methods import finder, methods_named
from extbnsl.machine.budgets import Budgets, parse_duration
from extbnsl.parents.ordered.methods import OrderMethods
from extbnsl.posteriors.scope import PosteriorScope
from extbnsl.proof.methods import Methods
from extbnsl.scores.known import CLAIM_OPTIONS, DESCRIBED, kind_of, score_named
from extbnsl.solver.methods import ApproximateMethods, Resamples
from extbnsl.solver.place import Place

if TYPE_CHECKING:
    from extbnsl.data import Data
    from extbnsl.networks.comparing import Comparison
    from extbnsl.networks.families import NetworkCost
    from extbnsl.parents.by_function import ScoreFunction
    from extbnsl.results.networks import CostedNetwork
    from extbnsl.results.ranked import KBestResult
    from extbnsl.results.result import Result
    from extbnsl.scores.local import LocalScores

KNOWLEDGE = Option(
    'which networks there are to choose from: a dict of lists such as {"required": [["a", "b"]]}, the path of a file, '
    "a Knowledge, or an object such as pgmpy's ExpertKnowledge"
)
NAMES = Option("the names of the columns of an array", given=Sequence[str])
PROGRESS = Option(
    "True for lines on standard error, or a function that takes an event, see extbnsl.core.events",
    given=bool | Callable[[Any], None],
)
SCORE = CLAIM_OPTIONS["score"]
SCORED = Option(
    f"{SCORE.option.usage}; or a function that takes the name of a child and a tuple of those of its parents, and "
    "returns what the family costs in nats: it is asked for every parent set of at most `max_parents`",
    given=str | Callable[[str, tuple[str, ...]], float],
)
QUESTION = CLAIM_OPTIONS | {
    "score": replace(SCORE, option=SCORED),
    "knowledge": Declared("knowledge", object, True, None, KNOWLEDGE),
}
TABLE = {"names": Declared("names", list, True, None, NAMES)} | without(declared(DataOptions), *OF_FILES)
TELLING = {"progress": Declared("progress", bool, False, False, PROGRESS)}
BUDGETS, PLACE = declared(Budgets), declared(Place)
SEED = {"seed": declared(Methods)["seed"]}


@keywords(QUESTION, BUDGETS, PLACE, declared(Methods), TABLE, TELLING)
def learn(data: Any, *, method: str = "bfbnb", bootstrap: int | None = None, **options: Any) -> "Result":
    """Find the network of least cost, and prove it or tell the gap that was reached.

    Parameters
    ----------
    data : data frame, ndarray, dict, list, Dataset, Numbers or LocalScores
        A data frame of pandas, polars, pyarrow, DuckDB or another package, a 2-D array of numbers or texts (N, n), a
        dict of columns, a list of dicts, one for each record, what `read_data`, `read_csv` or `read_scores` return, or
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
    with _told_in_python():
        methods = methods_named(method, made_of(Methods, options))
        scope = None if bootstrap is None else made_of(Resamples, {"bootstrap": bootstrap})
        return _found(_problem_from(data, options), options, methods, scope)


@keywords(declared(OrderMethods), QUESTION, without(BUDGETS, "disk"), TABLE, TELLING)
def order(data: Any, order: Sequence[str], **options: Any) -> "Result":
    """Find the network of least cost among those that keep to an order of the variables.

    Parameters
    ----------
    data : data frame, ndarray, dict, list, Dataset or Numbers
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
    from extbnsl.data import Data
    from extbnsl.orders.given import places_of, positions
    from extbnsl.solver.opening import Request

    with _told_in_python():
        dataset = _problem_from(data, options)
        if not isinstance(dataset, Data):
            raise InputError("data: local scores cannot be ordered; give the data that they were computed from.")
        places = positions(places_of(order), dataset.names, "order", dataset.source, dataset.given)
        methods = made_of(OrderMethods, options)
        asked = Request(dataset, _claim_from(options), methods, made_of(Budgets, options))
        return finder(methods)(asked, places, observer=_observer_from(options))


@keywords(declared(ApproximateMethods), QUESTION, without(BUDGETS, "disk", "time_limit"), TABLE, TELLING)
def approximate(data: Any, *, time: float | str = "1m", **options: Any) -> "Result":
    """Find a network of up to thousands of variables that is as good as `time` allows.

    Parameters
    ----------
    data : data frame, ndarray, dict, list, Dataset, Numbers or LocalScores
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
    with _told_in_python():
        timed = options | {"time_limit": parse_duration(plain(time), "time")}
        return _found(_problem_from(data, options), timed, made_of(ApproximateMethods, options))


@keywords(without(declared(Scope), "k", "top"), QUESTION, BUDGETS, without(PLACE, "compress"), SEED, TABLE, TELLING)
def k_best(data: Any, k: int | None = None, **options: Any) -> "KBestResult":
    """Find the k best networks, or all whose weight comes near to that of the best.

    Parameters
    ----------
    data : data frame, ndarray, dict, list, Dataset, Numbers or LocalScores
        As for `learn`.
    k : int, optional
        How many networks; None for 10, or for up to 100,000 if there is a factor.
    {options}

    Returns
    -------
    KBestResult
        The result of the best network. Its `networks` are a sequence, best first, of networks with `rank`, `cost`,
        `share`, `probability`, `equivalence_class`, `parents` and `network`; its `arcs` are the shares of arcs, an
        array (n, n), parent by child. A share is one of the weight of the networks that were found; `of_all` says
        between which values lies what these have of all, as `probability` does of each.

    Raises
    ------
    InputError
        For what cannot be used.
    BudgetError
        If memory, disk or time ran out before there was a network.
    """
    with _told_in_python():
        wanted = 10 if k is None and options["within_factor"] is None else k
        methods = replace(ALL, seed=made_of(Methods, options).seed)
        return _found(_problem_from(data, options), options, methods, made_of(Scope, options | {"k": wanted}))


@keywords(declared(PosteriorScope), QUESTION, BUDGETS, without(PLACE, "compress"), SEED, TABLE, TELLING)
def posterior(data: Any, **options: Any) -> "Result":
    """Tell how likely arcs, families and networks are, over all networks there are.

    Parameters
    ----------
    data : data frame, ndarray, dict, list, Dataset, Numbers or LocalScores
        As for `learn`.
    {options}

    Returns
    -------
    Result
        The result of the best network. Its field `posterior` has `arc(parent, child)` and `adjacency(one, other)`, each
        with a `probability` and the values that it lies between, `arcs`, an array (n, n) of probabilities, parent by
        child, the `log_weight` of all networks, and the `networks` and `features` of a sample. It is None if the time
        did not do.

    Raises
    ------
    InputError
        For what cannot be used.
    BudgetError
        If memory, disk or time ran out before there was a network.
    """
    with _told_in_python():
        methods = Methods(seed=made_of(Methods, options).seed)
        return _found(_problem_from(data, options), options, methods, made_of(PosteriorScope, options))


@keywords(QUESTION, without(BUDGETS, "disk", "hands"), SEED, TABLE, TELLING)
def best_first(data: Any, **options: Any) -> Iterator["CostedNetwork"]:
    """Give all networks one by one, best first. Each is found when it is asked for, or a little before.

    Parameters
    ----------
    data : data frame, ndarray, dict, list, Dataset, Numbers or LocalScores
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
    from extbnsl.solver.k_best import networks_best_first
    from extbnsl.solver.opening import Request

    with _told_in_python():
        problem, claim = _problem_from(data, options), _claim_from(options)
        methods = replace(ALL, seed=made_of(Methods, options).seed)
        asked = Request(problem, claim, methods, made_of(Budgets, options))
        return networks_best_first(asked, observer=_observer_from(options))


@keywords({"names": TABLE["names"]}, DESCRIBED, declared(DataOptions))
def describe(data: Any, **options: Any) -> list[dict[str, Any]]:
    """Tell what the columns of data hold and what is odd about them, also of data that `learn` refuses.

    Parameters
    ----------
    data : data frame, ndarray, str or path-like
        A data frame or an array as for `learn`, or the path of a file as for `read_data`.
    {options}

    Returns
    -------
    list of dict
        A row of plain values for each column: `name`, `kind` ("states", "numbers", "date", "identifier", "text",
        "constant", "empty", "weights", "imputation" or "targets"), how many `distinct` values it has, the first
        `states` with how many records have each, the `smallest` and the `largest` number, how many values are
        `missing`, how texts were `read`, the rule by which it is `cut`, what is `odd`, in sentences, whether it is
        `refused`, and what the score takes it for (`taken`: "states", "numbers", or "" if no score is named, or it is
        no variable).

    Raises
    ------
    InputError
        For what has no columns, and for options that name what is not there.
    BudgetError
        If the memory does not do.
    """
    from extbnsl.data import Reading, read_file
    from extbnsl.data.description import described
    from extbnsl.data.given import given
    from extbnsl.em.model import check_described

    with _told_in_python():
        treated, names = made_of(DataOptions, options), options["names"]
        kind = None if options["score"] is None else kind_of(score_named(options["score"]).name)
        make = partial(described, kind=kind)
        if isinstance(data, str | PathLike):
            found = read_file(make, data, treated, Reading())
        else:
            found = given(data, names).made(make, treated)
        if kind is not None:
            check_described(found, Claim(score_named(options["score"]).name), treated.missing)
        rows = [column._asdict() for column in found.columns]
        for row, column in zip(rows, found.columns, strict=True):
            row["odd"] = [sentence.in_python() for sentence in column.odd]
        return rows


@keywords({name: QUESTION[name] for name in ("score", "ess", *CHARGES)}, TABLE)
def cost(network: Any, data: Any, **options: Any) -> "NetworkCost":
    """Tell what a given network costs.

    Parameters
    ----------
    network : Result, Network, dict, list, str, path-like or object with nodes and edges
        A result, {child: parents}, pairs (parent, child), a model string such as "[a][b|a]", the path of a run or of a
        file of a network, or a graph of networkx or pgmpy.
    data : data frame, ndarray, dict, list, Dataset, Numbers or LocalScores
        As for `learn`.
    {options}

    Returns
    -------
    NetworkCost
        Its `cost` in nats, less being better, how many free `parameters` it has, and both for each of its `families`.

    Raises
    ------
    InputError
        For what cannot be used, cycles, and other variables than the data have.
    """
    from extbnsl.networks.families import network_cost
    from extbnsl.results.structures import structure_given
    from extbnsl.scores.known import score_claimed

    with _told_in_python():
        problem = _problem_from(data, options)
        structure = structure_given(network)
        claim = made_of(Claim, options, score=options["score"], ess=plain(options["ess"]))
        score_claimed(claim)
        claim.check()
        return network_cost(structure.over(tuple(problem.names), "the data"), problem, claim)


def compare(first: Any, second: Any) -> "Comparison":
    """Tell how two networks of the same variables differ.

    Parameters
    ----------
    first, second : Result, Network, dict, list, str, path-like or object with nodes and edges
        As for `cost`.

    Returns
    -------
    Comparison
        The arcs that `both` have, those that are `reversed`, those of the `first_alone` and of the `second_alone`, the
        structural Hamming `distance`, and the `class_distance`, that of the equivalence classes.

    Raises
    ------
    InputError
        For what is no network, cycles, and networks of other variables.
    """
    from extbnsl.networks.comparing import compared
    from extbnsl.results.structures import structure_given, together

    with _told_in_python():
        return compared(*together(structure_given(first), structure_given(second)))


def _found(problem: "Data | LocalScores", options: Mapping[str, Any], methods: Options, scope: Any = None) -> Any:
    """The answer to a question that is asked of this problem by these methods."""
    from extbnsl.solver.opening import Request

    budgets, place = made_of(Budgets, options), made_of(Place, options)
    asked = Request(problem, _claim_from(options), methods, budgets, place, scope)
    found = finder(methods, scope)(asked, observer=_observer_from(options))
    return replace(found, warnings=_in_python(found.warnings))


@contextlib.contextmanager
def _told_in_python() -> Iterator[None]:
    """Let errors name arguments where they name options."""
    try:
        yield
    except ExtbnslError as error:
        error.tell_in_python()
        raise


def _claim_from(options: Mapping[str, Any]) -> Claim:
    """The claim that a caller asks for."""
    ess, known = plain(options["ess"]), {}
    score = Claim.score if callable(options["score"]) else options["score"]
    if options["knowledge"] is not None:
        from extbnsl.formats.knowledge_file import knowledge_given

        known["knowledge"] = knowledge_given(options["knowledge"])
    return made_of(Claim, options, score=score, ess=ess, **known)


def _problem_from(data: Any, options: Mapping[str, Any]) -> "Data | LocalScores":
    """`data` as a problem to solve, of the kind that the score is of; InputError for options that its kind has no
    use for."""
    from extbnsl.data import KINDS, Data
    from extbnsl.data.given import given
    from extbnsl.data.treatment import chosen
    from extbnsl.scores.local import LocalScores, named_scores

    names, score = options["names"], options["score"]
    treated = made_of(DataOptions, options)
    if callable(score):
        return _scored_by(score, data, options)
    if isinstance(data, dict) and any(isinstance(own, Mapping) for own in data.values()):
        data = named_scores(data)
    if not isinstance(data, Data | LocalScores):
        made = given(data, names).made(KINDS[kind_of(str(score))].make, treated)
        return replace(made, warnings=_in_python(made.warnings))
    if names is not None:
        raise InputError(f"names: a {type(data).__name__} has names of its own; leave them out.")
    if useless := ", ".join(chosen(treated.document())):
        raise InputError(f"{useless}: a {type(data).__name__} is ready to use; leave them out.")
    return data


def _scored_by(function: "ScoreFunction", data: Any, options: Mapping[str, Any]) -> "LocalScores":
    """Local scores by a function, for the columns of data, which are not looked at; or for the names in a list."""
    from extbnsl.data import Data
    from extbnsl.data.given import given
    from extbnsl.data.treatment import chosen
    from extbnsl.parents.by_function import scores_by

    if useless := ", ".join(chosen(made_of(DataOptions, options).document())):
        raise InputError(f"{useless}: the score is a function, which has the data itself; leave them out.")
    if isinstance(data, Data):
        names = data.names
    elif isinstance(data, list | tuple) and data and all(isinstance(name, str) for name in data):
        names = tuple(data)
    else:
        names = given(data, options["names"]).names
    claim = _claim_from(options)
    claim = replace(claim, knowledge=claim.knowledge.over(names))
    claim.check()
    deadline = made_of(Budgets, options).granted(Path()).deadline()
    return scores_by(function, names, claim, deadline, _observer_from(options))


def _in_python(warnings: Sequence[str]) -> tuple[str, ...]:
    """Warnings that name arguments where they name options."""
    return tuple(Sentence(warning).in_python() for warning in warnings)


def _observer_from(options: Mapping[str, Any]) -> Observer:
    """What `progress` asks for: lines on standard error, nothing, or the observer that it is."""
    from extbnsl.run.progress import Table, run_clock
    from extbnsl.run.screen import Screen

    progress = options["progress"]
    if progress is True:
        return Table(Screen(sys.stderr, in_place=False).write, run_clock())
    if progress is False:
        return ignore
    if callable(progress):
        return progress
    raise InputError(f"progress: {progress!r} is neither True, False nor a function that takes an event.")
