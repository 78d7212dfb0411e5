"""What a round of pricing shows of its children, as their searches begin and end, and when it gives them up."""

import math
from collections.abc import Sequence
from dataclasses import replace

from extbnsl.parents.exhaustive.children import ANY_NUMBER, Child
from extbnsl.parents.exhaustive.state import Enumeration
from extbnsl.parents.priced.prices import Prices, reduced_costs

NODES_TRIED = 4_000_000  # nodes that a full round makes before it is asked how many it will make
NODES_EXPECTED = 100_000_000  # nodes that it may make, as far as the children that it is through with tell


def with_open(prices: Prices, children: Sequence[Child], least: Sequence[float]) -> Prices:
    """The prices with what is shown of children whose search has not begun, if c' is at least so much of all families
    of interest of each. Families that are not of interest may cost as little as the gap says, which is less than those
    that are known if it is negative."""
    shown = prices.shown.copy()
    for child, own in zip(children, least, strict=True):
        x = child.index
        shown[x] = max(shown[x], min(own, prices.least[x] + prices.gaps[x]))
    return replace(prices, shown=shown)


def through_first(found: Enumeration) -> Enumeration:
    """`found` when the search of its first child is over."""
    x, prices = found.children[0].index, found.prices
    if prices is not None:
        shown = prices.shown.copy()
        known = reduced_costs(x, found.parents[x], found.costs[x], prices).min(initial=math.inf)
        shown[x] = min(known, prices.least[x] + prices.gaps[x])
        found = replace(found, prices=replace(prices, shown=shown))
    return without_first(found)


def without_first(found: Enumeration) -> Enumeration:
    """`found` when nothing more is asked of its first child in this round."""
    prices = found.prices
    if prices is not None and prices.stage.rough:
        prices = replace(prices, stage=replace(prices.stage, counted=found.varsets))
    return replace(found, children=found.children[1:], parts=0, pairs=None, prices=prices)


def is_given_up(found: Enumeration) -> bool:
    """Whether a full round is given up, as its gap lets through too many families; some searches were left then."""
    assert found.prices is not None, "a round has prices"
    return found.families - found.prices.stage.found > found.prices.stage.most or is_too_long(found, found.prices)


def is_dear(found: Enumeration) -> bool:
    """Whether a rough round gives up the child that is in work."""
    if found.prices is None or not found.children:
        return False
    stage = found.prices.stage
    return stage.rough and found.varsets - stage.counted > stage.effort


def is_too_long(found: Enumeration, prices: Prices) -> bool:
    """Whether a full round that may be given up will make too many nodes: mostly the first children take the least."""
    made, through = found.varsets - prices.stage.counted, prices.least.size - len(found.children)
    expected = made * prices.least.size / (through + 1)
    return prices.stage.most != ANY_NUMBER and made > NODES_TRIED and expected > NODES_EXPECTED
