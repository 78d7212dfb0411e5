"""Kernels over the lattice of varsets, level by level: which varsets to count, which families can still win.

Level s holds all varsets P of s variables in numeric order, addressed by colexicographic rank. `alive[rank]` is the
varset of the children X for which (X, P) or a superset of P may be the cheapest choice. T is the table of sums of
m ln m (scores/counting.py), so N H(X | P) = T(P) - T(P + X). Costs in nats.

A family that a rule drops is never cheaper than one of its subsets, and no superset is either; so no rule changes
BestScore(X | U) for any U.
"""

import numpy as np

from extbnsl.kernels import lowest, njit, u64
from extbnsl.scores.counting import unrank


@njit
def successor(varset):
    """The next larger varset of the same size (zero stays zero)."""
    if varset == 0:
        return varset
    low = varset & (~varset + u64(1))
    ripple = varset + low
    return ripple | (((varset ^ ripple) >> u64(2)) >> lowest(low))


@njit
def _rank_sums(varset, binomials, members, same, up, down):
    """Members of a varset and prefix sums that give the rank of any varset one insertion or removal away.

    same[j], up[j], down[j]: sums over i < j of C(p_i, i + 1), C(p_i, i + 2), C(p_i, i). Returns the size.
    """
    s = 0
    while varset:
        v = lowest(varset)
        varset &= varset - u64(1)
        members[s] = v
        same[s + 1] = same[s] + binomials[v, s + 1]
        up[s + 1] = up[s] + binomials[v, s + 2]
        down[s + 1] = down[s] + binomials[v, s]
        s += 1
    return s


@njit
def mark_needed(lo, hi, size, alive, extended, binomials, needed):
    """needed[i] = 1 where the varset of `size` members and rank lo + i must be counted, else 0; alive: level size - 1.

    That is where it is P + X with X alive at P, and, if families are `extended`, where it may be the parent set of some
    child: one that is alive at each of its subsets with one member less.
    """
    members = np.zeros(65, np.int64)
    same, up, down = np.zeros(66, np.int64), np.zeros(66, np.int64), np.zeros(66, np.int64)
    varset = unrank(lo, size, binomials)
    for i in range(hi - lo):
        s = _rank_sums(varset, binomials, members, same, up, down)
        common = ~varset if extended else u64(0)
        wanted = u64(0)
        for j in range(s):
            children = alive[same[j] + down[s] - down[j + 1]]
            common &= children
            wanted |= (children >> u64(members[j])) & u64(1)
        needed[i] = wanted != 0 or common != 0
        varset = successor(varset)


@njit
def _swap_rank(j, k, x, s, binomials, same, up, down):
    """Rank of the varset without its k-th member and with x, which would be inserted before its j-th."""
    if k >= j:
        return same[j] + binomials[x, j + 1] + up[k] - up[j] + same[s] - same[k + 1]
    return same[k] + down[j] - down[k + 1] + binomials[x, j] + same[s] - same[j]


@njit
def judge_families(lo, hi, size, alive, joint, half_log, arities, binomials, extend, found):
    """Cost the alive families (X, P), P of ranks lo..hi at level `size`.

    joint = (T of level size - 1, of size, of size + 1). A family cheaper than each of its subsets with one parent less
    is written to found = (varset, child, cost) arrays; extend[rank(P) - lo] gets the children for which a superset of
    P may still win: those with N H(X | P) > penalty(X | P) (r_Y - 1) for the least arity r_Y outside (de Campos et al.
    2018, the bound of the gain by H(X | P)). Returns how many were found.
    """
    below, here, above = joint
    varsets, owners, costs = found
    members = np.zeros(65, np.int64)
    same, up, down = np.zeros(66, np.int64), np.zeros(66, np.int64), np.zeros(66, np.int64)
    without = np.zeros(65, np.float64)
    n = arities.size
    varset = unrank(lo, size, binomials)
    written = 0
    for i in range(lo, hi):
        left = alive[i]
        extend[i - lo] = 0
        if left:
            s = _rank_sums(varset, binomials, members, same, up, down)
            states = 1.0
            for k in range(s):
                states *= arities[members[k]]
                without[k] = below[same[k] + down[s] - down[k + 1]]
            j = 0
            while left:
                x = np.int64(lowest(left))
                bit = u64(1) << u64(x)
                left ^= bit
                while j < s and members[j] < x:
                    j += 1
                entropy = here[i] - above[same[j] + binomials[x, j + 1] + up[s] - up[j]]
                penalty = half_log * (arities[x] - 1) * states
                cost = entropy + penalty
                k = 0
                while k < s:
                    subset = here[_swap_rank(j, k, x, s, binomials, same, up, down)]
                    if without[k] - subset + penalty / arities[members[k]] <= cost:
                        break
                    k += 1
                if k == s:
                    varsets[written], owners[written], costs[written] = varset, x, cost
                    written += 1
                least = lowest(~(varset | bit))  # arities ascend with the variable
                if least < n and entropy > penalty * (arities[least] - 1):
                    extend[i - lo] |= bit
        varset = successor(varset)
    return written


@njit
def _children_below(bound, arities):
    """The variables with r - 1 < bound; arities ascend."""
    n = arities.size
    if arities[n - 1] - 1 < bound:
        return ~u64(0)
    v = 0
    while arities[v] - 1 < bound:
        v += 1
    return (u64(1) << u64(v)) - u64(1)


@njit
def next_alive(lo, hi, size, extend, here, above, half_log, arities, limits, binomials, alive):
    """alive[rank - lo] of the varsets Q of `size` members, ranks lo..hi, as far as entropies tell.

    X is alive at Q if Q is within its limit, if X is extended at every Q - Y, and if neither bound of its gain by Y,
    H(X | Q - Y) and H(Y | Q - Y), is at most what Y adds to the penalty (de Campos et al. 2018). extend and here (T)
    belong to level size - 1, above (T) to level size.
    """
    members = np.zeros(65, np.int64)
    same, up, down = np.zeros(66, np.int64), np.zeros(66, np.int64), np.zeros(66, np.int64)
    gain = np.zeros(65, np.float64)  # what the k-th member must gain, per (r_X - 1)
    mixed = arities[-1] > arities[0]
    within = u64(0)
    for x in range(arities.size):
        within |= u64(size <= limits[x]) << u64(x)
    varset = unrank(lo, size, binomials)
    for i in range(lo, hi):
        s = _rank_sums(varset, binomials, members, same, up, down)
        left = within & ~varset
        for k in range(s):
            left &= extend[same[k] + down[s] - down[k + 1]]
        if left:
            states = _joint_states(varset, arities)
            k = 0
            while left and k < s:
                r = arities[members[k]]
                gain[k] = half_log * states / r * (r - 1)
                entropy = here[same[k] + down[s] - down[k + 1]] - above[i]
                left &= _children_below(entropy / gain[k], arities)
                k += 1
        rest = left if mixed else u64(0)  # among equal arities judge_families has seen H(X | Q - Y)
        j = 0
        while rest:
            x = np.int64(lowest(rest))
            bit = u64(1) << u64(x)
            rest ^= bit
            while j < s and members[j] < x:
                j += 1
            for k in range(s):
                entropy = (
                    here[same[k] + down[s] - down[k + 1]] - above[_swap_rank(j, k, x, s, binomials, same, up, down)]
                )
                if entropy <= gain[k] * (arities[x] - 1):
                    left ^= bit
                    break
        alive[i - lo] = left
        varset = successor(varset)


@njit
def _joint_states(varset, arities):
    """The product of the arities of a varset's members."""
    states = 1.0
    while varset:
        states *= arities[lowest(varset)]
        varset &= varset - u64(1)
    return states


@njit
def drop_hopeless(lo, hi, size, children, floors, half_log, arities, binomials, tables, alive):
    """Clear each X of `children` from alive[rank - lo] of Q, ranks lo..hi, where its penalty alone is too much.

    floors[X] is a lower bound of N H(X | anything); if floors[X] + penalty(X | Q) is at least BestScore(X | Q), no
    superset of Q can win. `tables` (byte tables of these children) hold all families of smaller parent sets. Child by
    child, so that a child's tables stay in cache; neighbouring varsets differ in their low byte alone most of the time,
    so the AND over the other bytes is kept.
    """
    costs, first, bits, start, width, byte, block_first = tables[:7]
    kept = np.empty(max(1, width.max()), np.uint64)
    for c in range(children.size):
        x = children[c]
        bit = u64(1) << u64(x)
        w = width[c]
        base = first[c]
        blocks = block_first[c + 1] - block_first[c]
        low_block = blocks > 0 and byte[block_first[c]] == 0
        high = ~u64(0)
        ready = 0
        varset = unrank(lo, size, binomials)
        for i in range(hi - lo):
            if alive[i] & bit:
                bound = floors[x] + half_log * (arities[x] - 1) * _joint_states(varset, arities)
                if varset >> u64(8) != high:
                    high = varset >> u64(8)
                    ready = 0
                row = start[c] + np.int64(varset & u64(255))
                for word in range(w):
                    if costs[base + (word << 6)] > bound:
                        break
                    if word == ready:
                        kept[word] = _inside_high_bytes(c, varset, word, low_block, tables)
                        ready += 1
                    left = kept[word] & bits[row + word * (blocks << 8)] if low_block else kept[word]
                    if left:
                        if costs[base + (word << 6) + np.int64(lowest(left))] <= bound:
                            alive[i] ^= bit
                        break
            varset = successor(varset)


@njit
def _inside_high_bytes(c, varset, word, low_block, tables):
    """One word of a child's bitset of parent sets with no member outside `varset`, its low byte left out of account."""
    bits, start, byte, block_first = tables[2], tables[3], tables[5], tables[6]
    blocks = block_first[c + 1] - block_first[c]
    left = ~u64(0)
    for b in range(1 if low_block else 0, blocks):
        value = np.int64((varset >> u64(byte[block_first[c] + b] << 3)) & u64(255))
        left &= bits[start[c] + ((word * blocks + b) << 8) + value]
    return left
