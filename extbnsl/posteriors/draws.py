"""A step of orders that are drawn as often as they weigh: the kernel."""

import numpy as np

from extbnsl.kernels.compiler import borrowed, inlined, njit
from extbnsl.kernels.random import random_share
from extbnsl.posteriors.lattice import exponent_of, squeezed
from extbnsl.posteriors.wide import LOWEST, added, levelled, power_of

NEVER = np.inf  # a share of a sum that no part of it reaches


@inlined
def _sum_inside(families, x, before, share, whole):
    """What the families of x inside a varset weigh up to the first at which they weigh more than a share of the whole,
    and the number of that family; of all, if there is none."""
    total, scale, last = 0.0, np.int64(LOWEST), np.int64(-1)
    high, within = before >> families.low, before & (1 << families.low) - 1
    outside = ~(squeezed(within, x) if x < families.low else within)
    for group in range(families.groups[x], families.groups[x + 1]):
        if families.highs[group] & ~high == 0:
            for f in range(families.starts[group], families.starts[group + 1]):
                if families.places[f] & outside == 0:
                    number, exponent = levelled(families.weights[f], exponent_of(0, f, families.scales))
                    if number > 0.0:
                        total, scale = added(total, scale, number, exponent)
                        last = f
                        if total * power_of(scale - whole[1]) > share * whole[0]:
                            return (total, scale), last
    return (total, scale), last


@njit
def draw(families, before, following, states, chosen, halt):
    """Draw what comes next in each of some orders, and its family.

    before: the positions so far, int64 (s,). following: h of these with each other position, (s, n). states: random
    ones, uint64 (s,). chosen: int32 (s, 2): the position that comes next, and the number of its family.
    """
    families, following, states, chosen = borrowed((families, following, states, chosen))
    (numbers, exponents), n = following, families.groups.size - 1
    insides, inside_scales = np.empty(n), np.empty(n, np.int64)
    products, scales = np.empty(n), np.empty(n, np.int64)
    for k in range(before.size):
        if halt[0]:
            return
        most = np.int64(2 * LOWEST)
        for x in range(n):
            products[x] = 0.0
            if before[k] >> x & 1 == 0 and numbers[k, x] > 0.0:
                (insides[x], inside_scales[x]), _ = _sum_inside(families, x, before[k], NEVER, (1.0, np.int64(0)))
                products[x], scales[x] = levelled(
                    insides[x] * numbers[k, x], inside_scales[x] + np.int64(exponents[k, x])
                )
                if products[x] > 0.0:
                    most = max(most, scales[x])
        total = 0.0
        for x in range(n):
            products[x] *= power_of(scales[x] - most) if products[x] > 0.0 else 0.0
            total += products[x]
        limit, total, last = random_share(states[k : k + 1]) * total, 0.0, 0
        for x in range(n):
            if products[x] > 0.0:
                total, last = total + products[x], x
                if total > limit:
                    break
        share = random_share(states[k : k + 1])
        _, family = _sum_inside(families, last, before[k], share, (insides[last], inside_scales[last]))
        chosen[k, 0] = last
        chosen[k, 1] = family - families.starts[families.groups[last]]
