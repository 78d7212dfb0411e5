"""The public face: one call from data to a network with its proof.

Nothing heavy is imported before it is called.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from extbnsl.results.shown import show_by

if TYPE_CHECKING:
    from extbnsl.data import Dataset
    from extbnsl.data.treatment import Options, Texts
    from extbnsl.events import Observer
    from extbnsl.machine.budgets import Budgets
    from extbnsl.results.networks import CostedNetwork
    from extbnsl.results.ranked import KBestResult
    from extbnsl.results.result import Result
    from extbnsl.scores.local import LocalScores


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
    """The network of least cost for `data`, with the proof or the gap that was reached.

    `data`: a data frame, a 2-D array of integers (N, n), what `read_csv` or `read_scores` return, or local scores as a
    dict {child: {parents: cost}}. `score`: "mdl" or "aic", for data.
    `method`: "bfbnb", or a published one to compare with (`extbnsl.baselines.methods`), which has no use for `fixing`,
    `ancestral`, `path_extension`, `parent_graph` and `polish`.
    `memory` and `disk`: bytes or text such as "8GiB"; `time_limit`: seconds or text such as "1h30m"; None is the
    default of the command line. What exceeds the memory goes to files below `scratch_dir`, or else where temporary
    files go, and is gone at the end; `compress` makes some of them smaller. `names` are for arrays; `missing`,
    `na`, `columns`, `drop`, `discrete`, `discretise` and `weights` for frames and arrays, see
    `extbnsl.data.treatment.Options`.
    `bootstrap`: so many resamples of the data are solved after them, within the same time limit; `result.bootstrap` has
    `arcs`, how sure each arc is, and `consensus()`, see `extbnsl.results.bootstrap`.
    `progress`: True for lines on standard error, or an observer of `extbnsl.events`. Costs are in nats, minimised.
    Raises InputError for what cannot be used, BudgetError if memory, disk or time ran out before there was a network.
    """
    from extbnsl.arguments import path_of, plain
    from extbnsl.baselines.methods import BaselineMethods, methods_named
    from extbnsl.baselines.solving import solve_by
    from extbnsl.claims import Claim
    from extbnsl.formats.expert_knowledge import knowledge_given
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
    with _told_in_python():
        scratch = None if scratch_dir is None else path_of("scratch_dir", scratch_dir)
        methods = methods_named(method, Methods(*map(plain, how)))
        find: Callable[..., Result] = solve_by if isinstance(methods, BaselineMethods) else solve
        asked: tuple[Resamples, ...] = ()
        if bootstrap is not None:
            find, asked = bootstrap_network, (Resamples(plain(bootstrap)),)
        return find(
            _problem(data, names, options),
            *asked,
            Claim(score, plain(max_parents), plain(ess), knowledge_given(knowledge)),
            methods,
            _budgets(memory, threads, time_limit, disk),
            Place(scratch=scratch, compress=plain(compress)),
            observer=_observer(progress),
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
    """The network of least cost among those that keep to an order of the variables; greedy with the method "k3".

    `order`: the names of all variables, parents first. `method`: "dfbnb-k3" (Tian 2000), "suzuki",
    "k3", "enumeration" or "auto", and `bound`:
    "auto", "own" or "fixed", see `extbnsl.parents.ordered.methods`. The other arguments are as for `learn`; but local
    scores are no data. The status of the result is 'heuristic', and its `order_optimal` is True if no network of this
    order costs less; its `stats` have the `states` that were visited for each variable, and the variables at which K3
    was `trapped`. Raises InputError for what cannot be used, BudgetError if the memory does not do.
    """
    from extbnsl.arguments import plain
    from extbnsl.claims import Claim
    from extbnsl.data import Dataset
    from extbnsl.errors import InputError
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
    with _told_in_python():
        dataset = _problem(data, names, treated)
        if not isinstance(dataset, Dataset):
            raise InputError("data: local scores cannot be ordered; give the data that they were computed from.")
        return order_network(
            dataset,
            positions(places_of(order), dataset.names, "order", dataset.source),
            Claim(score, plain(max_parents), plain(ess), knowledge_given(knowledge)),
            OrderMethods(method, bound),
            _budgets(memory, threads, time_limit),
            observer=_observer(progress),
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
    """A network of up to thousands of variables that is as good as `time` allows: seconds or text such as "10m".

    `selection`: which parent sets are scored first, and `search`: how orders are searched, see
    `extbnsl.solver.methods`. The other arguments are as for `learn`. The status of the result is 'heuristic', and its
    `lower_bound` holds for every network. Raises InputError for what cannot be used, BudgetError if the memory does not
    do.
    """
    from extbnsl.arguments import plain
    from extbnsl.claims import Claim
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
    with _told_in_python():
        return approximate_network(
            _problem(data, names, treated),
            Claim(score, plain(max_parents), plain(ess), knowledge_given(knowledge)),
            ApproximateMethods(selection, search, plain(seed)),
            replace(_budgets(memory, threads), time_limit=parse_duration(time, "time")),
            observer=_observer(progress),
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
    """The k best networks (10, unless there is a factor), or all whose probability is at least that of the best over
    `within_factor`, or the k best of these; with `classes`, equivalence classes, each by one of its networks.

    The other arguments are as for `learn`. The result is that of the best network; its `networks` are a sequence, best
    first, of what has `cost`, `rank`, `probability`, `equivalence_class`, `parents` and `network`, and `arcs` has the
    probability of each arc, parent by child. Raises InputError for what cannot be used, BudgetError if memory, disk or
    time ran out before there was a network.
    """
    from extbnsl.arguments import path_of, plain
    from extbnsl.claims import Claim
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
    with _told_in_python():
        scratch = None if scratch_dir is None else path_of("scratch_dir", scratch_dir)
        return k_best_networks(
            _problem(data, names, treated),
            Scope(plain(10 if k is None and within_factor is None else k), plain(within_factor), plain(classes)),
            Claim(score, plain(max_parents), plain(ess), knowledge_given(knowledge)),
            replace(ALL, seed=plain(seed)),
            _budgets(memory, threads, time_limit, disk),
            Place(scratch=scratch),
            observer=_observer(progress),
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
    """All networks, best first, each found when it is asked for, or a little before: what has `cost`, `rank`, `parents`
    and `network`.

    The arguments are as for `learn`. Raises InputError for what cannot be used, at once; and BudgetError, when a
    network is asked for, if memory or time do not do for it.
    """
    from extbnsl.arguments import plain
    from extbnsl.claims import Claim
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
    with _told_in_python():
        return networks_best_first(
            _problem(data, names, treated),
            Claim(score, plain(max_parents), plain(ess), knowledge_given(knowledge)),
            replace(ALL, seed=plain(seed)),
            _budgets(memory, threads, time_limit),
            observer=_observer(progress),
        )


def _in_notebook(result: "Result") -> str:
    from extbnsl.notebook import result_html

    return result_html(result)


show_by(_in_notebook)


@contextlib.contextmanager
def _told_in_python() -> Iterator[None]:
    """Let errors name arguments where they name options."""
    from extbnsl.data.advice import in_python
    from extbnsl.errors import ExtbnslError

    try:
        yield
    except ExtbnslError as error:
        error.args = (in_python(str(error)),)
        raise


def _budgets(
    memory: int | str | None, threads: Any, time_limit: float | str | None = None, disk: int | str | None = None
) -> "Budgets":
    from extbnsl.arguments import plain
    from extbnsl.machine.budgets import MINIMUM_MEMORY, Budgets, parse_duration, parse_size

    return Budgets(
        memory=None if memory is None else parse_size(memory, "memory", MINIMUM_MEMORY),
        disk=None if disk is None else parse_size(disk, "disk", least=0),
        threads=plain(threads),
        time_limit=None if time_limit is None else parse_duration(time_limit),
    )


def _problem(data: Any, names: "list[str] | tuple[str, ...] | None", options: "Options") -> "Dataset | LocalScores":
    """`data` as a problem to solve; options that its kind has no use for are an InputError."""
    from extbnsl.data import Dataset, from_array, from_dataframe
    from extbnsl.data.advice import in_python
    from extbnsl.data.treatment import chosen
    from extbnsl.errors import InputError
    from extbnsl.scores.local import LocalScores
    from extbnsl.scores.named import named_scores

    if isinstance(data, dict):
        data = named_scores(data)
    ready = isinstance(data, (Dataset, LocalScores))
    if names is not None and (ready or hasattr(data, "columns")):
        raise InputError(f"names: a {type(data).__name__} has names of its own; leave them out.")
    if ready and (useless := ", ".join(chosen(options))):
        raise InputError(f"{useless}: a {type(data).__name__} is ready to use; leave them out.")
    if isinstance(data, (Dataset, LocalScores)):
        return data
    if isinstance(data, (str, bytes, PathLike)):
        raise InputError(f"data: {data!r} is no data; read a file with extbnsl.read_csv first.")
    if hasattr(data, "to_frame"):
        raise InputError("data: a series is a single column; give a data frame (series.to_frame()).")
    dataset = from_dataframe(data, **options) if hasattr(data, "columns") else from_array(data, names, **options)
    return replace(dataset, warnings=tuple(map(in_python, dataset.warnings)))


def _observer(progress: Any) -> "Observer":
    """What `progress` asks for: lines on standard error, nothing, or the observer that it is."""
    import sys

    from extbnsl.errors import InputError
    from extbnsl.events import ignore
    from extbnsl.run.progress import Table, line_writer

    if progress is True:
        return Table(line_writer(sys.stderr))
    if progress is False:
        return ignore
    if callable(progress):
        observer: Observer = progress
        return observer
    raise InputError(f"progress: {progress!r} is neither True, False nor a function that takes an event.")
