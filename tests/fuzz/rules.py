"""What must hold of every result, whatever was asked."""

import json
import math

from extbnsl.core.claims import OPTIMAL, STATUSES
from extbnsl.core.errors import VerificationError
from extbnsl.machine.workers import Workers, never
from extbnsl.verify.statement import verify_optimality
from extbnsl.verify.verdict import verify

PROOF = 1e-9  # nats, and of a cost, within which it is proved
ROUNDING = 1e-14  # of the largest costs, for each variable
LARGE = ("it has figures beyond",)  # why verify may give up


class Violated(AssertionError):
    """A rule, by its name, does not hold."""

    def __init__(self, rule, text):
        super().__init__(text)
        self.rule = rule


def hold(truth, rule, text=""):
    if not truth:
        raise Violated(rule, text)


def rounding(costs):
    """What sums of costs may be off by."""
    return ROUNDING * len(costs) * math.fsum(map(abs, costs)) + 1e-300


def proof(costs):
    """How much cheaper than a proved network another may be, given what its families cost."""
    return 1.01 * math.fsum(PROOF * abs(cost) + PROOF for cost in costs) + rounding(costs)


def check_network(result, costs, slack=0.0):
    """The network has no cycle, its order fits, and it costs what is said; costs: those of its families, which may be
    off by `slack`."""
    try:
        result.network.order()
    except VerificationError as error:
        raise Violated("cycle", str(error)) from None
    hold(sorted(result.order) == list(range(len(costs))), "order", f"{result.order}")
    place = {x: at for at, x in enumerate(result.order)}
    late = [(p, x) for p, x in result.network.arcs() if place[p] > place[x]]
    hold(not late, "order", f"{late} are against the order {result.order}")
    cost = math.fsum(costs)
    hold(abs(result.cost - cost) <= rounding(costs) + slack, "cost said", f"{result.cost!r} is said, {cost!r} is true")
    hold(result.status in STATUSES, "status", result.status)
    hold(result.upper_bound == result.cost, "upper bound", f"{result.upper_bound!r} of {result.cost!r}")
    hold(result.lower_bound <= result.cost, "bounds", f"{result.lower_bound!r} above {result.cost!r}")


def check_bounds(result, costs, least, cheapest, slack=0.0):
    """The bounds enclose the least cost, and are the same if the network is proved; costs: those of the families of the
    network, cheapest: the least of each child, which bounds begin with. All may be off by `slack`."""
    slack += rounding([*costs, *cheapest])
    hold(result.cost >= least - slack, "cost below the least", f"{result.cost!r} of {least!r}")
    hold(result.lower_bound <= least + slack, "lower bound", f"{result.lower_bound!r} above {least!r}")
    if result.status == OPTIMAL:
        hold(result.cost <= least + proof(costs) + slack, "not optimal", f"{result.cost!r} proved, {least!r} is there")
        apart = result.cost - result.lower_bound
        hold(apart <= proof(costs), "bounds apart", f"optimal with {result.lower_bound!r} and {result.cost!r}")


def check_verified(result, problem):
    """`verify` finds nothing wrong with the document, and proves it again if it is optimal."""
    document = json.loads(json.dumps(result.document()))
    verdict = verify(document, problem)
    hold(not verdict.findings, "verify", "; ".join(verdict.findings))
    if result.status != OPTIMAL or result.certificate is None:
        return
    with Workers(1, never) as workers:
        optimality = verify_optimality(document, problem, workers)
    hold(optimality is not None, "verify", "no certificate")
    hold(not optimality.findings, "verify optimality", "; ".join(optimality.findings))
    large = any(word in optimality.why for word in LARGE)
    hold(large or not optimality.unchecked, "verify unfinished", optimality.why)
