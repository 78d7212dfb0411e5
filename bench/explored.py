"""`python -m bench.explored`: Tables 2 to 4 of Scanagatta et al. 2015 in kind, on data of thousands of variables. See
README.md."""

import argparse
import itertools
import math
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bench.published import PUBLISHED
from bench.table import aligned
from extbnsl.compiling import so_far
from extbnsl.data import Dataset, read_csv
from extbnsl.machine.workers import Workers
from extbnsl.orders.acyclic import settle
from extbnsl.orders.growing import lists_of_families
from extbnsl.orders.line import cost_along
from extbnsl.orders.parent_lists import ParentLists
from extbnsl.orders.population import METHODS, search_lists
from extbnsl.orders.sampling import random_order
from extbnsl.orders.swaps import climb_by_swaps
from extbnsl.parents.explored.explore import Effort, exploration, explored_families
from extbnsl.solver.gathered import FIRST

INDEPENDENCE, GREEDY, SEQUENTIAL = "independence", "greedy", "sequential"
SMALL_FIRST = "small first"  # independence selection after a share FIRST of the time for small sets
SHORT = {INDEPENDENCE: "IS", SMALL_FIRST: "IS+", GREEDY: "GS", SEQUENTIAL: "SQ"}
MEMORY = 2 << 30
LEAST_SECONDS = 1.0  # of a search
SAME_ORDERS = 2  # from which both OBS and ASOBS begin, for each list of parent sets
# Of a difference of BIC, from the first bound that it exceeds; the last has none
CATEGORIES = (
    ("Very positive (K > 10)", 10.0),
    ("Strongly positive (6 < K < 10)", 6.0),
    ("Positive (2 < K < 6)", 2.0),
    ("Neutral (-2 < K < 2)", -2.0),
    ("Negative (-6 < K < -2)", -6.0),
    ("Strongly negative (-10 < K < -6)", -10.0),
    ("Very negative (K < -10)", -math.inf),
)
SUPPORTING = 3  # of them, the first ones, count for a method in the sign test

Costs = Mapping[tuple[str, str], float]  # of a network in nats, by selection and search


@dataclass(frozen=True)
class Options:
    """exploring, searching: seconds for each variable, of each of the threads; all variables of a data set are explored
    `most` seconds at most, and a search has LEAST_SECONDS at least. searches: their names. max_parents: of a child."""

    exploring: float
    most: float
    searching: float
    searches: Sequence[str]
    max_parents: int
    threads: int


@dataclass(frozen=True)
class Case:
    """Some of the records of a data set, and the seed of what is random with them."""

    name: str
    dataset: Dataset
    seed: int


@dataclass(frozen=True)
class Outcome:
    """What the searches find in the lists of each selection, how often ASOBS was not worse than OBS from the same
    order, of how many times, and the processor seconds of each selection and of all searches."""

    costs: Costs
    kept: int
    tried: int
    exploring: Mapping[str, float]
    searching: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 1 if acyclic selection was worse than OBS from the same order."""
    given = _parser().parse_args(arguments)
    searches, times = given.searches.split(","), (given.exploring, given.most, given.searching)
    options = Options(*times, searches, given.max_parents, given.threads)
    keys = [(selection, search) for selection in SHORT for search in options.searches]
    print("BIC of", ", ".join(f"{SHORT[selection]}-{search}" for selection, search in keys), flush=True)
    outcomes = []
    for case in cases(given.data, given.names.split(","), given.splits, given.seed):
        outcome = compare(case, options)
        outcomes.append(outcome)
        figures = "  ".join(f"{-outcome.costs[key]:.1f}" for key in keys)
        print(f"{case.name}, {case.dataset.variables} x {case.dataset.records}: {figures}", flush=True)
    for text in tables([outcome.costs for outcome in outcomes], options.searches):
        print(f"\n{text}")
    exploring = {SHORT[own]: sum(one.exploring[own] for one in outcomes) for own in SHORT}
    each = ", ".join(f"{name} {seconds:.0f}" for name, seconds in exploring.items())
    print(f"\nprocessor seconds: {each}, searching {sum(one.searching for one in outcomes):.0f}")
    kept, tried = sum(outcome.kept for outcome in outcomes), sum(outcome.tried for outcome in outcomes)
    print(f"ASOBS is not worse than OBS from the same order: {kept} of {tried}")
    return int(kept < tried)


def _parser() -> argparse.ArgumentParser:
    text = "Tables 2 to 4 of Scanagatta et al. 2015 in kind."
    parser = argparse.ArgumentParser(prog="python -m bench.explored", description=text)
    parser.add_argument("--data", metavar="DIR", type=Path, default=os.environ.get("EXTBNSL_DATA"))
    parser.add_argument("--names", metavar="LIST", default=",".join(PUBLISHED))
    parser.add_argument("--exploring", metavar="S", type=float, default=1.0, help="seconds a variable and thread")
    parser.add_argument("--most", metavar="S", type=float, default=40.0, help="seconds that all variables are explored")
    parser.add_argument("--searching", metavar="S", type=float, default=0.004, help="seconds a variable and thread")
    parser.add_argument("--searches", metavar="LIST", default="obs,asobs,insertion", help=f"of {', '.join(METHODS)}")
    parser.add_argument("--max-parents", metavar="K", type=int, default=6)
    parser.add_argument("--splits", metavar="K", type=int, default=1, help="random parts of the records of each")
    parser.add_argument("--seed", metavar="S", type=int, default=0)
    parser.add_argument("--threads", metavar="T", type=int, default=2)
    return parser


def cases(folder: Path, names: Sequence[str], splits: int, seed: int) -> Iterator[Case]:
    """Random parts of the records of each data set, as large as each other but for one record: rows of the table of
    published figures, or CSV files with a header."""
    for name in names:
        large = folder / "large" / f"{name}.data.gz"
        dataset = read_csv(large, header=False) if large.exists() else read_csv(Path(name))
        shuffled = np.random.default_rng(seed).permutation(dataset.records)
        for k in range(splits):
            codes = np.ascontiguousarray(dataset.codes[np.sort(shuffled[k::splits])])
            yield Case(Path(name).stem if splits == 1 else f"{name} {k + 1}", replace(dataset, codes=codes), seed + k)


def compare(case: Case, options: Options) -> Outcome:
    """Each search in the lists of each selection, all with the same time."""
    costs: dict[tuple[str, str], float] = {}
    exploring: dict[str, float] = {}
    kept, begun = 0, processor_seconds()
    for selection in SHORT:
        before = processor_seconds()
        lists = explored(case.dataset, selection, options)
        exploring[selection] = processor_seconds() - before
        for search in options.searches:
            costs[selection, search] = searched(lists, search, case.seed, options)
        kept += sum(is_kept(lists, seed) for seed in range(case.seed, case.seed + SAME_ORDERS))
    searching = processor_seconds() - begun - sum(exploring.values())
    return Outcome(costs, kept, SAME_ORDERS * len(exploring), exploring, searching)


def exploring_seconds(dataset: Dataset, options: Options) -> float:
    """How long each variable is explored."""
    return min(options.exploring, options.most * options.threads / dataset.variables)


def explored(dataset: Dataset, selection: str, options: Options) -> ParentLists:
    """The parent sets that a selection finds in its time."""
    rule, first = (INDEPENDENCE, FIRST) if selection == SMALL_FIRST else (selection, 0.0)
    problem = exploration(dataset, rule, "mdl", options.max_parents, first)
    with Workers(options.threads) as workers:
        found = explored_families(problem, Effort(seconds=exploring_seconds(dataset, options)), workers, MEMORY)
    return lists_of_families(own.families for own in found)


def searched(lists: ParentLists, search: str, seed: int, options: Options) -> float:
    """The cost that a search reaches in its time: processor seconds, so that other work does not count."""
    end = processor_seconds() + options.threads * max(LEAST_SECONDS, options.searching * lists.variables)
    with Workers(options.threads, lambda: "time" if processor_seconds() >= end else None) as workers:
        return search_lists(lists, workers, seed, lambda cost: None, method=search).cost


def processor_seconds() -> float:
    """Those of this process, without those of compiling kernels."""
    return time.process_time() - so_far().cpu_seconds


def is_kept(lists: ParentLists, seed: int) -> bool:
    """Whether acyclic selection costs no more than the order to which OBS climbs from a random one."""
    halt = np.zeros(1, np.uint8)
    order = random_order(np.array([seed + 1], np.uint64), lists)
    climb_by_swaps(order, halt, lists)
    climbed = cost_along(order, lists)
    return bool(settle(order, halt, lists) <= climbed + lists.tiny)


def tables(costs: Sequence[Costs], searches: Sequence[str]) -> Iterator[str]:
    """Independence selection against the others for each search, without and with small sets first, and each search
    against the one named before it for each selection: how many differences of BIC are in each category, and the
    p-value of the sign test."""
    for own in (INDEPENDENCE, SMALL_FIRST):
        yield counted(
            {
                f"{search.upper()}: {SHORT[own]} vs {SHORT[other]}": [
                    one[other, search] - one[own, search] for one in costs
                ]
                for search in searches
                for other in (GREEDY, SEQUENTIAL)
            }
        )
    for before, search in itertools.pairwise(searches):
        yield counted(
            {
                f"{SHORT[selection]}: {search.upper()} vs {before.upper()}": [
                    one[selection, before] - one[selection, search] for one in costs
                ]
                for selection in SHORT
            }
        )


def counted(columns: Mapping[str, Sequence[float]]) -> str:
    """A table of how many differences of BIC each column has in each category, with the p-value of each column."""
    found = {head: [category(one) for one in own] for head, own in columns.items()}
    rows = [[name, *(str(own.count(k)) for own in found.values())] for k, (name, _) in enumerate(CATEGORIES)]
    values = [p_value(sum(k < SUPPORTING for k in own), len(own)) for own in found.values()]
    return aligned([["difference of BIC (K)", *columns], *rows, ["p-value", *(f"{value:.2g}" for value in values)]])


def category(difference: float) -> int:
    """The number of the category of a difference of BIC; on a bound, the lower one."""
    return next(k for k, (_, bound) in enumerate(CATEGORIES) if difference > bound)


def p_value(supporting: int, cases: int) -> float:
    """Of the one-sided sign test: how likely so many or more of the cases are if each is as likely as not."""
    return math.fsum(math.comb(cases, k) for k in range(supporting, cases + 1)) / 2.0**cases


if __name__ == "__main__":
    sys.exit(main())
