"""What finds a network, how networks of thousands of variables are looked for, and how many resamples are asked for.
Light: the command line imports this for the words."""

from dataclasses import dataclass
from typing import Annotated

from extbnsl.core.options import Option, Options
from extbnsl.proof.methods import SEED

BFBNB = "bfbnb"  # that of `solve` itself: external-memory frontier breadth-first branch and bound
PUBLISHED = ("dp", "layered-dp", "astar", "dfbnb", "cycles", "ilp")  # to compare with, as are
PROGRAMS = ("gobnilp", "urlearning", "blip", "bene", "pgmpy", "pomegranate")  # of other people
METHODS = (BFBNB, *PUBLISHED, *PROGRAMS)

AUTO = "auto"  # counting where that comes to its end, or else independence
INDEPENDENCE = "independence"
SELECTIONS = (AUTO, INDEPENDENCE, "greedy", "sequential")
SEARCHES = ("obs", "asobs", "insertion", "windows", "regions", "memetic")


@dataclass(frozen=True)
class ApproximateMethods(Options):
    """Which parent sets are scored first, what searches for an order (`extbnsl.orders.population`), and the seed."""

    selection: Annotated[
        str,
        Option(
            "which parent sets are scored: all of few variables, or the more promising ones first, by an approximate "
            "score or greedily, or all in turn",
            choices=SELECTIONS,
        ),
    ] = AUTO
    search: Annotated[
        str,
        Option(
            "how orders are searched: obs, asobs, insertion, windows, regions or memetic",
            "NAME",
            choices=SEARCHES,
        ),
    ] = "memetic"
    seed: Annotated[int, SEED] = 0


MOST_RESAMPLES = 10_000  # which tell a share to half a percent


@dataclass(frozen=True)
class Resamples(Options):
    """So many resamples of the data are solved after the data themselves."""

    bootstrap: Annotated[
        int,
        Option(
            "then solve R resamples of the data, 200 for instance, and tell how sure each arc is: bootstrap.csv",
            "R",
            least=1,
            most=MOST_RESAMPLES,
        ),
    ]
