"""Root fixing for the tests: multipliers from a few rounds, polished or not, and what they leave of the families."""

from extbnsl.bounds.ascent import find_multipliers
from extbnsl.bounds.fixing import fix_families
from extbnsl.bounds.lp.polish import EFFORT, LACKING, ROOT, Goal, Polished, polished
from extbnsl.bounds.multipliers import families_of

ROOM = 1 << 28


def rooted(scores, limit, workers, *, rounds=0, fixing=True, polish=False):
    """What root fixing leaves of local scores."""
    families = families_of(scores.parents, scores.costs)
    multipliers = find_multipliers(families, None, rounds, 0, workers)
    if polish:
        multipliers = best_at_root(families, multipliers, workers, limit=limit, rounds=max(1, rounds))
    return fix_families(scores.parents, scores.costs, multipliers, limit, fixing, 0, workers)


def best_at_root(families, start, workers, *, limit=float("inf"), rounds=1, room=ROOM):
    """The multipliers with the largest bound at the root."""
    return polished(families, Polished(start), Goal(limit, ROOT, room), EFFORT * rounds, workers).multipliers


def best_spread(families, start, workers, *, limit=float("inf"), rounds=1, room=ROOM):
    """The multipliers with the largest bound in the mean over nodes."""
    return polished(families, Polished(start), Goal(limit, LACKING, room), EFFORT * rounds, workers).multipliers


def count(fixed):
    """The families that are left."""
    return sum(costs.size for costs in fixed.costs)
