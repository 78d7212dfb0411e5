"""The check of a certificate."""

import numpy as np

from bench import inputs
from bench.work import Benchmark, Work, of_run
from extbnsl.core.claims import Claim
from extbnsl.core.knowledge import NOTHING
from extbnsl.machine.workers import Workers
from extbnsl.verify import (
    averaged_families,
    both_families,
    complete,
    data_families,
    order_search,
    passes,
    regression_bound,
    regression_families,
)
from extbnsl.verify.certificate import MOST_UNITS
from extbnsl.verify.data_families import families_of_data
from extbnsl.verify.demands import demands_of
from extbnsl.verify.families import ListedFamilies, untold
from extbnsl.verify.listed import Family, scored_family
from extbnsl.verify.regression_search import triangulate

NO_CUTS = passes.weighted(np.zeros((0, passes.CLUSTERS, 1), np.uint64), ())


def _searched(tiny: bool) -> None:
    """All families that matter, whatever they cost, by MDL; and by BDeu, of few parents."""
    dataset = inputs.dataset(8, 100) if tiny else inputs.dataset(16, 500)
    asked = dict.fromkeys(range(dataset.variables), MOST_UNITS)
    with Workers(1) as workers:
        for score, ess, most in (("mdl", None, None), ("bdeu", 1.0, 3)):
            demands = demands_of(dataset.names, most, NOTHING)
            claim, leads = Claim(score, ess=ess), np.zeros(dataset.variables)
            families_of_data(dataset, claim, demands, workers, leads).below(asked, NO_CUTS, untold)


def _searched_by_child(tiny: bool) -> None:
    """All large sets of a child that matter, of more variables than sets are counted of."""
    dataset = inputs.dataset(22, 40) if tiny else inputs.dataset(22, 200)
    demands = demands_of(dataset.names, None, NOTHING)
    with Workers(1) as workers:
        claim, leads = Claim("bdeu", ess=1.0), np.zeros(dataset.variables)
        families_of_data(dataset, claim, demands, workers, leads).below({0: MOST_UNITS}, NO_CUTS, untold)


def _searched_in_configurations(tiny: bool) -> None:
    """All families that matter of columns of both kinds."""
    data = inputs.mixed(6, 60) if tiny else inputs.mixed(14, 500)
    demands = demands_of(data.names, 3, NOTHING)
    with Workers(1) as workers:
        asked = dict.fromkeys(range(data.variables), MOST_UNITS)
        leads = np.zeros(data.variables)
        both_families.families_of_both(data, Claim("cg-bic"), demands, workers, leads).below(asked, NO_CUTS, untold)


def _searched_by_regressions(tiny: bool) -> None:
    """The same of columns of numbers."""
    numbers = inputs.numbers(8, 100) if tiny else inputs.numbers(20, 500)
    demands = demands_of(numbers.names, None, NOTHING)
    with Workers(1) as workers:
        claim, leads = Claim("gaussian-bic"), np.zeros(numbers.variables)
        source = regression_families.families_by_regressions(numbers, claim, demands, workers, leads)
        source.below(dict.fromkeys(range(0, numbers.variables, 4), MOST_UNITS), NO_CUTS, untold)


def _searched_by_averages(tiny: bool) -> None:
    """Families of states over records of their own."""
    dataset = inputs.with_gaps(8, 100) if tiny else inputs.with_gaps(20, 1000)
    demands = demands_of(dataset.names, 3, NOTHING)
    with Workers(1) as workers:
        given = Claim(), demands, workers, np.zeros(dataset.variables), dataset.records
        source = averaged_families.families_by_averages(dataset, *given)
        source.below(dict.fromkeys(range(0, dataset.variables, 4), MOST_UNITS), NO_CUTS, untold)


def _triangle(tiny: bool) -> Work:
    rows = np.random.default_rng(1).normal(size=(64, 32))
    return Work(triangulate, [(rows,)] * (2 if tiny else 100), 64 * (2 if tiny else 100))


def _reduced(tiny: bool) -> Work:
    n, size = (8, 20) if tiny else (60, 500)
    families = _made_families(n, size)
    cuts = np.zeros((50, passes.CLUSTERS, 1), np.uint64)
    cuts[:, 0, 0] = inputs.varsets(n, 50, 0.1)
    reduced, least = np.empty_like(families.costs), np.empty(n, np.int64)
    own = (families.children, families.first, families.varsets, families.costs)
    return Work(
        passes._reduce, [(*own, (cuts, np.arange(1, 51)), reduced, least, inputs.GO_ON)], 50 * families.costs.size
    )


def _marked(tiny: bool) -> Work:
    size = 20 if tiny else 2_000
    varsets = inputs.varsets(60, size, 0.1)[:, None]
    order = np.argsort(np.bitwise_count(varsets[:, 0]), kind="stable")
    needed = np.zeros(size, np.bool_)
    return Work(passes._mark_needed, [(varsets, np.arange(size), order, 0, needed, inputs.GO_ON)], size)


def _made_families(n: int, size: int) -> passes.Families:
    """So many families of each of n variables."""
    varsets = np.concatenate([inputs.varsets(n, size, 0.1) & ~np.uint64(1 << x) for x in range(n)])
    costs = np.random.default_rng(1).integers(0, 1 << 40, n * size)
    return passes.Families(np.arange(n), np.arange(n + 1) * size, varsets[:, None], costs)


def _ordered(tiny: bool) -> None:
    """A search of all orders, by the cheapest families alone."""
    n, size = (6, 10) if tiny else (16, 200)
    alone = np.zeros((1, 1), np.uint64), np.array([1 << 40])
    own = [
        (np.concatenate((varsets, alone[0])), np.concatenate((costs, alone[1])))
        for varsets, costs in _made_families(n, size).each
    ]
    families = passes.Families.joined(range(n), own)
    with Workers(1) as workers:
        order_search.least_cost(families, NO_CUTS, n << 40, workers, 1 << 30, lambda size, of, nodes: None)


def _walked(tiny: bool) -> None:
    """All networks of some variables."""
    scores = inputs.random_scores(6, 2 if tiny else 8)
    empty, top = ((),) * scores.variables, sum(float(own.max()) for own in scores.costs)

    def scored(child: int, parents: tuple[int, ...]) -> Family:
        return scored_family(scores, child, parents, scores.claim)

    source = ListedFamilies(scores, demands_of(scores.names, None, NOTHING))
    question = complete.Question(scores.names, source, scored)
    with Workers(1) as workers:
        for _ in complete.networks_below(question, top, empty, workers, 1 << 30):
            pass


BENCHMARKS = (
    of_run("verify.set_search.search_sets", data_families, "task", lambda a, _: 1, _searched),
    of_run("verify.child_search.search_child", data_families, "task", lambda a, _: 1, _searched_by_child),
    of_run(
        "verify.regression_search.search_regressions",
        regression_families,
        "child",
        lambda a, _: 1,
        _searched_by_regressions,
    ),
    of_run("verify.averaged_search.search_averages", averaged_families, "task", lambda a, _: 1, _searched_by_averages),
    of_run("verify.both_search.search_both", both_families, "task", lambda a, _: 1, _searched_in_configurations),
    Benchmark("verify.regression_search.triangulate", "row", _triangle),
    of_run("verify.regression_bound.rule_out", regression_families, "bound", lambda a, _: 1, _searched_by_regressions),
    of_run("verify.regression_bound._shares", regression_bound, "child", lambda a, _: 1, _searched_by_regressions),
    Benchmark("verify.passes._reduce", "family and cut", _reduced),
    Benchmark("verify.passes._mark_needed", "family", _marked),
    of_run("verify.order_nodes.expand", order_search, "node", lambda a, _: a[1].size, _ordered),
    of_run("verify.order_nodes.walk", complete, "network", lambda _, found: found[0], _walked),
)
