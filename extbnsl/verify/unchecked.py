"""What a result claims and a check leaves as it is."""

from dataclasses import dataclass

# Of the network.
OPTIMALITY = "optimality"  # that none costs less
ORDER = "order"  # that none of its order does
BOUND = "bound"  # that every network costs as much as the lower bound
DATA = "data"  # that these are the data of the run
RESAMPLES = "resamples"  # what the networks of resamples say
# Of a list of networks.
MISSING = "missing"  # that no other network costs less than the last one
COUNT = "count"  # how many networks there are that cost as little
SHARES = "shares"  # shares of networks, classes and arcs in what is not all listed
OF_ALL = "of all"  # what the networks that were found have of the weight of all


@dataclass(frozen=True)
class Unchecked:
    """what: one of the above. why: for which reason, a stop reason or a clause; empty if nobody could. components: the
    variables, for OPTIMALITY of some; none if it is of all."""

    what: str
    why: str = ""
    components: tuple[tuple[str, ...], ...] = ()
