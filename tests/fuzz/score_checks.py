"""The checks of score files: what is asked of them at random, and what must come of it."""

import contextlib
import functools
import itertools
import math
import tempfile
from pathlib import Path

import numpy as np
from asking import approximate_network, k_best_networks, networks_best_first, rank_by_bn_graph, solve, solve_by
from knowing import admitted, random_knowledge
from patching import BRANCHING_FIRST, SMALL_SEARCH, TOO_LARGE, everything_pays, poor_incumbents, searchable, sized
from survival import spilling

from extbnsl.core.claims import (
    DISK_LIMIT,
    HEURISTIC,
    INTERRUPTED,
    MEMORY_LIMIT,
    NOT_PROVED,
    OPTIMAL,
    TIME_LIMIT,
    Claim,
)
from extbnsl.core.compiling import so_far
from extbnsl.core.errors import BudgetError, InputError
from extbnsl.core.knowledge import Knowledge
from extbnsl.files.manifest import read_manifest
from extbnsl.files.names import MANIFEST
from extbnsl.kbest.scope import Scope
from extbnsl.kernels.varsets import WORD_BITS
from extbnsl.lab.baselines.methods import BASELINES, BN_GRAPH, BaselineMethods
from extbnsl.machine.budgets import Budgets, cpu_seconds
from extbnsl.machine.workers import never
from extbnsl.proof.methods import LOWER_BOUNDS, PARENT_GRAPHS, Methods
from extbnsl.solver.methods import SEARCHES, ApproximateMethods
from extbnsl.solver.place import Place
from fuzz import truth
from fuzz.made_scores import random_score_file, tied_score_file
from fuzz.rules import check_bounds, check_network, check_verified, hold, proof

MEMORY, DISK = 256 << 20, 256 << 20
SECONDS = 4.0  # of CPU, after which a solve is told to stop whose size nothing bounds
FEW = 6  # variables of which knowledge is looked at arc by arc
SEARCHABLE = 3  # variables of a piece under "branching"; larger ones are proved by linear programs alone
PRESSURES = {
    "poor": (poor_incumbents,),
    "thorough": (poor_incumbents, everything_pays),
    "small": (everything_pays, functools.partial(sized, SMALL_SEARCH)),
    "spilling": (spilling,),
    "branching first": (poor_incumbents, functools.partial(sized, BRANCHING_FIRST)),
    "too large": (poor_incumbents, functools.partial(sized, TOO_LARGE)),
    "branching": (functools.partial(searchable, SEARCHABLE),),
}


def some(rng, **choices):
    """Options with a chance of a half each, of the choices given."""
    return {name: pick(rng, values) for name, values in choices.items() if rng.random() < 0.5}


def pick(rng, values):
    return values[int(rng.integers(len(values)))]


def method_options(rng):
    """How to prove it, and what it may take."""
    found = some(
        rng,
        lower_bound=list(LOWER_BOUNDS),
        fixing=[False],
        ancestral=[False],
        path_extension=[False],
        parent_graph=list(PARENT_GRAPHS),
        polish=[True, False],
        seed=[1, 7, 2**32 - 1],
    )
    if rng.random() < 0.5:
        found["pressure"] = pick(rng, [*PRESSURES])
    if found.get("pressure") == "branching":  # which needs multipliers and linear programs
        found = {name: value for name, value in found.items() if name not in ("lower_bound", "polish")}
    return found


@contextlib.contextmanager
def pressed(pressure):
    """The package with constants under which a small problem meets what large ones do."""
    with contextlib.ExitStack() as effects:
        for effect in PRESSURES.get(pressure, ()):
            effects.enter_context(effect())
        yield


def methods_of(options):
    names = ("lower_bound", "fixing", "ancestral", "path_extension", "parent_graph", "polish", "seed")
    return Methods(**{name: options[name] for name in names if name in options})


def budgets_of(options, **more):
    names = ("memory", "disk", "threads", "time_limit")
    chosen = {name: options[name] for name in names if name in options}
    return Budgets(**({"memory": MEMORY, "disk": DISK, "threads": 1} | chosen | more))


def within(seconds):
    """A stop signal after so many CPU seconds of this process, but for compiling: how busy the machine is changes
    nothing."""

    def spent():
        return cpu_seconds() - so_far().cpu_seconds

    end = spent() + seconds  # what is being compiled now is counted as spent until it is done
    return lambda: TIME_LIMIT if so_far().since is None and spent() > end else None


def small_file(rng, largest=12):
    """A score file that the dynamic program solves."""
    n = int(rng.choice([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, largest]))
    most = int(rng.choice([2, 5, 12, 40])) if n < 12 else int(rng.choice([2, 5, 12]))
    return random_score_file(rng, n, most, rng.random() > 0.05)


def scores_or_refusal(file):
    """The scores; None if the program refuses the file, which it must exactly if no network can be."""
    try:
        scores = file.scores()
    except InputError as error:
        hold(not file.feasible(), "refused", str(error))
        hold("No choice of families is acyclic" in str(error), "wrong reason", str(error))
        return None
    hold(file.feasible(), "taken", "no network can be, and it was taken")
    return scores


# solve, against the dynamic program


def draw_solve(rng):
    file = small_file(rng, 16)
    options = method_options(rng)
    if rng.random() < 0.15:
        options["max_parents"] = int(rng.integers(0, 4))
    if rng.random() < 0.1:
        options["threads"] = 2
    if rng.random() < 0.15 and file.variables <= FEW:
        options["knowledge"] = random_knowledge(rng, file.names, options.get("max_parents")).document()
    return file, options


def check_solve(file, options, rng):
    scores = scores_or_refusal(file)
    if scores is None:
        return
    most, knowledge = options.get("max_parents"), Knowledge.from_document(options.get("knowledge", {}))
    if most is not None:
        file = file.kept(lambda _, varset: varset.bit_count() <= most)
    if knowledge:
        allowed = admitted(knowledge, file.names, most)
        file = file.kept(lambda x, varset: allowed[x, varset])
    try:
        with pressed(options.get("pressure")):
            result = solve(
                scores, Claim(max_parents=most, knowledge=knowledge), methods_of(options), budgets_of(options)
            )
    except InputError as error:
        hold(not file.feasible(), "refused", str(error))
        hold(str(error).endswith("."), "sentence", str(error))
        return
    check_solved(file, result, scores)
    hold(result.status == OPTIMAL, "status", result.status)


# very many families of the same cost


def draw_ties(rng):
    return tied_score_file(rng), method_options(rng) | some(rng, stop=[0.0, 0.2])


def check_ties(file, options, rng):
    """It is proved, or ends soon after it is told to stop."""
    stop = within(options["stop"]) if "stop" in options else never
    scores = file.scores()
    with pressed(options.get("pressure")):
        result = solve(scores, Claim(), methods_of(options), budgets_of(options), stop=stop)
    check_solved(file, result, scores)
    hold(result.status == OPTIMAL or "stop" in options, "status", result.status)


def check_solved(file, result, scores):
    """What must hold of the result for a file that the dynamic program solves."""
    costs = file.costs_of(result.network.parents)
    check_network(result, costs)
    check_bounds(result, costs, truth.least_cost(file.table()), file.cheapest())
    check_verified(result, scores)


# files of many variables, against one another


def draw_large(rng):
    n = int(rng.integers(17, 81))
    file = random_score_file(rng, n, int(rng.choice([2, 4, 8])))
    return file, some(
        rng, lower_bound=["clusters", "auto", "auto"], fixing=[False], polish=[True, False], threads=[1, 2]
    )


def check_large(file, options, rng):
    if not file.feasible():
        scores_or_refusal(file)
        return
    first = _solved(file, options)
    outcomes = [(first, 0.0, first.costs)]
    offsets = rng.integers(-1000, 1000, file.variables).astype(float).tolist()
    order = rng.permutation(file.variables).tolist()
    used = [sum(1 << p for p in own) for own in first.result.network.parents]
    losing = {(x, v) for x, own in enumerate(file.families) for v, _ in own if v != used[x] and rng.random() < 0.3}
    variants = [
        (file.permuted(order), 0.0),
        (file.with_costs(lambda x, cost: cost + offsets[x]), math.fsum(offsets)),
    ]
    if first.result.status == OPTIMAL:
        variants.append((file.kept(lambda x, varset: (x, varset) not in losing), 0.0))
    for changed, offset in variants:
        other = _solved(changed, options)
        outcomes.append((other, offset, other.costs))
    _check_together(outcomes)


class _Outcome:
    def __init__(self, file, result):
        self.file, self.result = file, result
        self.costs = file.costs_of(result.network.parents)


def _solved(file, options):
    """The result for a file, which is checked by itself."""
    scores = file.scores()
    with pressed(options.get("pressure")):
        result = solve(scores, Claim(), methods_of(options), budgets_of(options), stop=within(SECONDS))
    found = _Outcome(file, result)
    check_network(result, found.costs)
    check_verified(result, scores)
    searchable = file.variables <= WORD_BITS or options.get("polish") is not False
    over = (OPTIMAL, TIME_LIMIT) if searchable else (OPTIMAL, TIME_LIMIT, NOT_PROVED)  # nothing else goes on with it
    hold(result.status in over, "status", result.status)
    return found


def _check_together(outcomes):
    """Of files whose costs differ by offsets: no lower bound is above the cost of another, and proved costs agree."""
    for (one, offset, costs), (other, its_offset, its_costs) in itertools.permutations(outcomes, 2):
        slack = proof(costs) + proof(its_costs) + 1e-12 * (abs(offset) + abs(its_offset))
        lower, cost = one.result.lower_bound - offset, other.result.cost - its_offset
        hold(lower <= cost + slack, "bounds of the same", f"{lower!r} above {cost!r}")
        if one.result.status == other.result.status == OPTIMAL:
            own = one.result.cost - offset
            hold(abs(own - cost) <= slack, "costs of the same", f"{own!r} and {cost!r}")


# components


def draw_components(rng):
    n = int(rng.integers(1, 9))
    return random_score_file(rng, n, int(rng.choice([2, 5, 20]))), method_options(rng)


def check_components(file, options, rng):
    """Two files side by side cost as much as both; the second is the first, permuted."""
    if not file.feasible():
        return
    order = rng.permutation(file.variables).tolist()
    both = file.beside(file.permuted(order))
    result = _solved(both, options)
    least = truth.least_cost(file.table())
    check_bounds(result.result, result.costs, 2 * least, both.cheapest())
    hold(result.result.status == OPTIMAL, "status", result.result.status)


# budgets and threads


def draw_budgets(rng):
    file = small_file(rng, 12)
    options = method_options(rng) | {"memory": int(rng.choice([1 << 16, 1 << 20, 1 << 22, 16 << 20]))}
    options |= some(rng, disk=[0, 1000, 100_000], threads=[2, 3])
    return file, options


def check_budgets(file, options, rng):
    scores = scores_or_refusal(file)
    if scores is None:
        return
    with pressed(options.get("pressure")):
        try:
            result = solve(scores, Claim(), methods_of(options), budgets_of(options))
        except BudgetError as error:
            hold(str(error).endswith((".", ").")), "sentence", str(error))
            return
    check_solved(file, result, scores)
    hold(result.status in (OPTIMAL, MEMORY_LIMIT, DISK_LIMIT), "status", result.status)


# runs that are stopped and resumed


def draw_resume(rng):
    file = small_file(rng, 12)
    options = method_options(rng) | {"stops": rng.integers(0, 60, int(rng.integers(1, 4))).tolist()}
    if rng.random() < 0.6:
        options["pressure"] = "spilling"
    return file, options


def check_resume(file, options, rng):
    scores = scores_or_refusal(file)
    if scores is None:
        return
    least = truth.least_cost(file.table())

    def session(place, stop):
        return solve(scores, Claim(), methods_of(options), budgets_of(options), place, stop=stop)

    with pressed(options.get("pressure")):
        for result in sessions(session, options.get("stops", ())):
            costs = file.costs_of(result.network.parents)
            check_network(result, costs)
            check_bounds(result, costs, least, file.cheapest())
    check_verified(result, scores)


def sessions(session, stops):
    """The results of session(place, stop), each of which goes on where the one before was stopped: when its stop signal
    had been looked at so often, and at last never. Ends with the first that is proved."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        for polls in (*stops, math.inf):
            resume = read_manifest(Path(folder)) if (Path(folder) / MANIFEST).exists() else None
            seen = itertools.count()
            result = session(
                Place(Path(folder), resume=resume),
                lambda polls=polls, seen=seen: INTERRUPTED if next(seen) >= polls else None,
            )
            yield result
            if result.status == OPTIMAL:
                return
            hold(polls < math.inf and result.status == INTERRUPTED, "status", result.status)


# the k best


def draw_kbest(rng):
    n = int(rng.choice([1, 2, 3, 3, 4, 4, 5, 5, 6, 7]))
    file = random_score_file(rng, n, {6: 6, 7: 4}.get(n, int(rng.choice([2, 5, 12]))))
    options = some(
        rng,
        k=[1, 2, 3, 30, 300],
        within_factor=[1.0, 3.0, 20.0, 1e4],
        classes=[True],
        lower_bound=list(LOWER_BOUNDS),
        fixing=[False],
        parent_graph=list(PARENT_GRAPHS),
        polish=[True, False],
        pressure=["small", "thorough"],
    )
    if rng.random() < 0.15:
        options = {"k": int(rng.choice([1, 2, 10])), "method": BN_GRAPH}
    elif rng.random() < 0.2:
        options["one by one"] = int(rng.choice([1, 5, 40]))
    elif rng.random() < 0.2:
        options["stops"] = rng.integers(0, 40, int(rng.integers(1, 4))).tolist()
    return file, options


def check_kbest(file, options, rng):
    scores = scores_or_refusal(file)
    every = None if scores is None else truth.networks(file.table())
    if every is None:
        return
    if "one by one" in options:
        _check_one_by_one(file, scores, options, *every)
        return
    k = options.get("k", None if "within_factor" in options else 10)
    scope = Scope(k, options.get("within_factor"), options.get("classes", False))
    methods = methods_of(options | {"path_extension": False, "ancestral": False})

    def session(place, stop):
        if "method" in options:
            return rank_by_bn_graph(scores, scope, Claim(), BaselineMethods(BN_GRAPH), budgets_of(options))
        return k_best_networks(scores, scope, Claim(), methods, budgets_of(options), place, stop=stop)

    with pressed(options.get("pressure")):
        for result in sessions(session, options.get("stops", ())):
            costs = file.costs_of(result.network.parents)
            check_network(result, costs)
            check_bounds(result, costs, float(every[1][0]), file.cheapest())
    check_ranked(file, result, scope, *every)


def _check_one_by_one(file, scores, options, parents, costs):
    """The first networks of `best_first` are the cheapest."""
    methods = methods_of(options | {"path_extension": False, "ancestral": False})
    with (
        pressed(options.get("pressure")),
        contextlib.closing(networks_best_first(scores, Claim(), methods, budgets_of(options))) as networks,
    ):
        found = list(itertools.islice(networks, options["one by one"]))
    slack = rank_slack(costs)
    wanted = costs[: options["one by one"]]
    hold(len(found) == len(wanted), "how many", f"{len(found)}, not {len(wanted)}")
    hold(len({one.network.parents for one in found}) == len(found), "distinct", "one is given twice")
    for one, cost in zip(found, wanted.tolist(), strict=True):
        own = math.fsum(file.costs_of(one.network.parents))
        hold(abs(one.cost - own) <= slack, "cost said", f"{one.cost!r} of {own!r}")
        hold(abs(one.cost - cost) <= slack, "costs of the list", f"{one.cost!r}, not {cost!r}")


def rank_slack(costs):
    """How much the costs of ranked networks may be off, given those of all."""
    return 1e-7 * (1.0 + abs(float(costs[0]))) + 1e-12 * float(np.abs(costs).max())


def check_ranked(file, result, scope, parents, costs):
    """The list is that of all networks (parents, costs), or of the best of each class."""
    slack = rank_slack(costs)
    if scope.classes:
        _, first = np.unique(truth.classes(parents), return_index=True)
        parents, costs = parents[np.sort(first)], costs[np.sort(first)]
    found = np.array([one.cost for one in result.networks])
    if scope.slack is not None:
        surely = int((costs <= costs[0] + scope.slack - slack).sum())
        at_most = int((costs <= costs[0] + scope.slack + slack).sum())
    else:
        surely = at_most = len(costs)
    k = math.inf if scope.k is None else scope.k
    hold(min(k, surely) <= len(found) <= min(k, at_most), "how many", f"{len(found)}, not {surely} to {at_most}, {k=}")
    hold(bool((np.diff(found) >= 0).all()), "ranked", f"{found.tolist()}")
    hold(
        bool((abs(found - costs[: len(found)]) <= slack).all()),
        "costs of the list",
        f"{found.tolist()[:20]}, not {costs[: len(found)].tolist()[:20]}",
    )
    listed = {one.network.parents for one in result.networks}
    hold(len(listed) == len(found), "distinct", f"{len(found) - len(listed)} twice")
    for one in result.networks[:50]:
        own = file.costs_of(one.network.parents)
        hold(abs(math.fsum(own) - one.cost) <= slack, "cost said", f"{one.cost!r} of {math.fsum(own)!r}")
        one.network.order()
    if result.counted is not None and scope.slack is not None:
        hold(surely <= result.counted <= at_most, "counted", f"{result.counted}, not {surely} to {at_most}")


# approximate


def draw_approximate(rng):
    n = int(rng.choice([1, 2, 5, 8, 12, 14]))
    file = random_score_file(rng, n, int(rng.choice([2, 5, 12])))
    return file, some(rng, search=list(SEARCHES), seed=[3, 2**32 - 1], threads=[2])


def check_approximate(file, options, rng):
    scores = scores_or_refusal(file)
    if scores is None:
        return
    methods = ApproximateMethods(search=options.get("search", "memetic"), seed=options.get("seed", 0))
    result = approximate_network(scores, Claim(), methods, budgets_of(options, time_limit=0.3))
    check_solved(file, result, scores)
    hold(result.status == HEURISTIC, "status", result.status)


# published methods


def draw_baseline(rng):
    file = small_file(rng, 10)
    return file, {"method": pick(rng, list(BASELINES))} | some(rng, lower_bound=list(LOWER_BOUNDS))


def check_baseline(file, options, rng):
    scores = scores_or_refusal(file)
    if scores is None:
        return
    method = options.get("method", "dp")
    bound = options.get("lower_bound", "auto") if BASELINES[method].bounded else "auto"
    methods = BaselineMethods(method, bound)
    result = solve_by(scores, Claim(), methods, budgets_of(options), stop=within(SECONDS))
    check_solved(file, result, scores)
    hold(result.status in (OPTIMAL, TIME_LIMIT), "status", result.status)
