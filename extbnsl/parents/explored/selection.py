"""Sequential, greedy and independence selection (Scanagatta, de Campos, Corani, Zaffalon 2015, Section 3).

All three score one parent set after the other, exactly, and close it. A closed set Π, of one parent or more, generates
the sets Π + Y that no other has generated before. They differ in which generated set comes next:

- sequential: the smallest; all single parents, then all pairs, and so on.
- greedy: those that the cheapest closed set generates, all of them; then those of the next cheapest.
- independence: the one of the least approximate cost. The misfit M(P) = N H(X | P) of P = Π + Y would be
  M(Π) + M(Y) - M(empty) if Π and Y told nothing about each other (the paper's BIC*); the penalty is known exactly.
  By Theorem 1 M(P) is that less N ii(Π; Y; X), with the interaction information ii = I(Π; Y | X) - I(Π; Y), and
  |ii| <= min(H(X), H(Π), H(Y)) (Corollary 1).

Before that, sets of up to `whole` parents can be scored, by size: the paper's selections have single ones alone. Where
this ends early, `select` gives all that is open the selection's own keys.

**The open list** need not hold what is generated. The sets that Π generates with candidates of one arity follow each
other by the gain of the candidate, whatever Π is: M(Π) - gain(Y) + penalty(Π) r_Y is never less for a smaller gain, nor
is it once rounded. So a *stream* for each Π and arity stands for them in the heap by its next set, and the sets come
out of the heap as they would if each were in it: by key, equals by the number of Π, then by the candidate's place,
which is the order within streams too. A set comes out once for each closed subset with one member less; that of the
subset that was closed first counts, which generated the set, and the others are dropped. The subsets' numbers tell, and
those never change, so this needs no list of what was generated. There are as many streams as closed sets at most, for
each arity. The other two selections have one stream for each Π.

**Pruning.** P is dominated, as all its supersets are, if its penalty alone is at least the cost of a subset, or the cap
of a member (see Candidates): the least of these that is known is its ceiling. Theorem 2 says so of a P whose penalty is
at least an upper bound of the cost of a subset Π1 + Π2, which is not closed itself: the approximate cost plus
N min(H(X), H(Π1), H(Π2)). The ceiling prunes whatever Theorem 2 does, since the approximate cost needs the costs of Π1
and Π2, which are subsets of P as well, and one of them is never above that bound: were H(X) the least, M(Π1) + M(Π2) -
M(empty) + N H(X) is M(Π1) + M(Π2); were it H(Π2), then N H(Π2) is at least M(empty) - M(Π2), and the bound at least
M(Π1); the penalty of Π1 + Π2 is at least that of either.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import borrowed, inlined, inner, njit
from extbnsl.parents.explored.closed import MISSING, NOBODY, find, insert, join, joined, place_hash
from extbnsl.parents.explored.misfit import misfit_at

SEQUENTIAL, GREEDY, INDEPENDENCE = 0, 1, 2
BEGUN = -np.inf  # the key of streams that go before all others


class Streams(NamedTuple):
    """A heap of streams, the least first: by key, then by number, then by place.

    keys float64: of the next set; numbers int32: the closed set that generates; places int32: the next candidate;
    used (1,) int64: how many streams there are.
    """

    keys: NDArray[np.float64]
    numbers: NDArray[np.int32]
    places: NDArray[np.int32]
    used: NDArray[np.int64]


class Rule(NamedTuple):
    """What is explored. selection: one of the three; whole: the size up to which all sets come first; parents: the
    largest size of a set; ends (m,) int32: the place behind the last one of a candidate's stream, first int64: the
    first place of each stream, and m."""

    selection: int
    whole: int
    parents: int
    child: int
    ends: NDArray[np.int32]
    first: NDArray[np.int64]


def new_streams(most: int) -> Streams:
    """An empty heap with room for so many."""
    return Streams(np.empty(most), np.empty(most, np.int32), np.empty(most, np.int32), np.zeros(1, np.int64))


@inlined
def _goes_before(key, number, place, at, streams):
    """Whether a stream goes before that at a place of the heap."""
    if key != streams.keys[at]:
        return key < streams.keys[at]
    if number != streams.numbers[at]:
        return number < streams.numbers[at]
    return place < streams.places[at]


@inlined
def _put(key, number, place, at, streams):
    streams.keys[at] = key
    streams.numbers[at] = number
    streams.places[at] = place


@inlined
def _push(key, number, place, streams):
    """Add a stream."""
    at = streams.used[0]
    streams.used[0] += 1
    while at > 0 and _goes_before(key, number, place, (at - 1) >> 1, streams):
        above = (at - 1) >> 1
        _put(streams.keys[above], streams.numbers[above], streams.places[above], at, streams)
        at = above
    _put(key, number, place, at, streams)


@inlined
def _sink(key, number, place, at, streams):
    """Put a stream in a place of the heap below which all is in order, or below that."""
    below, used = 2 * at + 1, streams.used[0]
    while below < used:
        if below + 1 < used and _goes_before(
            streams.keys[below + 1], streams.numbers[below + 1], streams.places[below + 1], below, streams
        ):
            below += 1
        if _goes_before(key, number, place, below, streams):
            break
        _put(streams.keys[below], streams.numbers[below], streams.places[below], at, streams)
        at, below = below, 2 * below + 1
    _put(key, number, place, at, streams)


@inlined
def approximate_cost(misfit, gain, penalty):
    """The cost of Π + Y as if Π and Y told nothing about each other: the misfit of Π, the gain of Y as the only parent,
    N I(X; Y), and the exact penalty of Π + Y."""
    return misfit - gain + penalty


@inlined
def _penalty(number, place, candidates, closed):
    """The penalty of a closed set with the candidate at a place."""
    return candidates.price * joined(closed.configurations[number], place, candidates)


@inlined
def _key(number, place, begun, candidates, closed, rule):
    """The key of the set that closed set `number` generates with the candidate at a place."""
    if rule.selection == SEQUENTIAL:
        return np.float64(closed.sizes[number])
    if closed.sizes[number] < rule.whole:
        return BEGUN
    if rule.selection == GREEDY:
        return BEGUN if begun else closed.costs[number]
    penalty = _penalty(number, place, candidates, closed)
    return approximate_cost(closed.misfits[number], candidates.gains[place], penalty)


@inlined
def _next_place(number, begin, end, candidates, closed):
    """The first place in [begin, end) of a candidate that a closed set lacks and with which it is not pruned; `end` if
    there is none."""
    size = np.int64(closed.sizes[number])
    for place in range(begin, end):
        penalty = _penalty(number, place, candidates, closed)
        if penalty >= closed.ceilings[number]:
            return end  # all of a stream from there on have so many configurations or more
        k = 0
        while k < size and closed.members[number, k] != place:
            k += 1
        if k == size and penalty < closed.ceilings[1 + place]:
            return place
    return end


@inner
def _open(number, candidates, closed, streams, rule):
    """Open the streams of a closed set that is not empty."""
    size = np.int64(closed.sizes[number])
    if size >= rule.parents:
        return
    after = 0
    if rule.selection == SEQUENTIAL or (rule.selection == INDEPENDENCE and size == 1):  # others generate the rest
        after = closed.members[number, size - 1] + 1
    for a in range(rule.first.size - 1):
        end = rule.first[a + 1]
        place = _next_place(number, max(after, rule.first[a]), end, candidates, closed)
        if place < end:
            _push(_key(number, place, False, candidates, closed, rule), number, place, streams)


@inlined
def _advance_first(candidates, closed, streams, rule):
    """Let the first stream stand for its next set, or end."""
    number, place = np.int64(streams.numbers[0]), np.int64(streams.places[0])
    end = np.int64(rule.ends[place])
    place = _next_place(number, place + 1, end, candidates, closed)
    if place < end:
        _sink(_key(number, place, True, candidates, closed, rule), number, place, 0, streams)
        return
    streams.used[0] -= 1
    last = streams.used[0]
    if last:
        _sink(streams.keys[last], streams.numbers[last], streams.places[last], 0, streams)


@njit
def begin(candidates, closed, streams, rule):
    """Close the empty set and each candidate alone, and open their streams. O(m arities log m)."""
    candidates, closed, streams, rule = borrowed((candidates, closed, streams, rule))
    members = np.empty(closed.members.shape[1], np.int32)
    insert(u64(0), members, 0, candidates.alone, candidates.price, 1.0, closed)
    for place in range(candidates.variables.size):
        members[0] = place
        configurations = joined(1.0, place, candidates)
        penalty = candidates.price * configurations
        number = insert(place_hash(place), members, 1, candidates.misfits[place], penalty, configurations, closed)
        closed.least[number] = min(closed.costs[number], closed.costs[0])
        closed.ceilings[number] = min(closed.least[number], candidates.caps[place])
    for number in range(1, closed.used[0]):
        _open(number, candidates, closed, streams, rule)


@njit
def select(candidates, closed, streams, rule):
    """Order the streams as a rule does that is another than the one they were opened by. O(streams)."""
    candidates, closed, streams, rule = borrowed((candidates, closed, streams, rule))
    for at in range(streams.used[0] - 1, -1, -1):
        number, place = np.int64(streams.numbers[at]), np.int64(streams.places[at])
        _sink(_key(number, place, False, candidates, closed, rule), number, place, at, streams)


@inlined
def _bounds(hash_, members, size, number, closed, rule):
    """The least ceiling, and the least cost that is known, of the closed subsets with one member less; and whether none
    but the closed set `number` has generated the set.

    Independence selection generates sets when it closes one, so the subset that was closed first did. Greedy selection
    scores the sets that it generates at once. Of sequential selection each set is in one stream.
    """
    ceiling, least = np.inf, np.inf
    for k in range(size):
        other = find(hash_ - place_hash(members[k]), members, size, k, closed)
        if other != MISSING:
            if rule.selection == INDEPENDENCE and other < number:
                return ceiling, least, False
            ceiling = min(ceiling, closed.ceilings[other])
            least = min(least, closed.least[other])
    new = rule.selection != GREEDY or find(hash_, members, size, NOBODY, closed) == MISSING
    return ceiling, least, new


@njit
def explore(sets, candidates, closed, streams, rule, data, splits, halt):
    """Score and close the next parent sets: so many, or until none is left, there is no more room or halt[0] is set.
    Returns how many it has scored. A set that its subsets prune is not scored."""
    sets, candidates, closed, streams, rule, data, splits, halt = borrowed(
        (sets, candidates, closed, streams, rule, data, splits, halt)
    )
    members = np.empty(closed.members.shape[1] + 1, np.int32)
    parents = np.empty(closed.members.shape[1] + 1 + candidates.base.size, np.int32)
    scored = 0
    while scored < sets and streams.used[0] and closed.used[0] < closed.costs.size and not halt[0]:
        number, place = np.int64(streams.numbers[0]), np.int64(streams.places[0])
        _advance_first(candidates, closed, streams, rule)
        size = np.int64(closed.sizes[number]) + 1
        join(closed.members[number], size - 1, place, members)
        hash_ = closed.hashes[number] + place_hash(place)
        ceiling, least, new = _bounds(hash_, members, size, number, closed, rule)
        ceiling = min(ceiling, closed.ceilings[1 + place])
        penalty = _penalty(number, place, candidates, closed)
        if not new or penalty >= ceiling:
            continue
        own = misfit_at(members, size, rule.child, candidates, data, splits, parents)
        configurations = joined(closed.configurations[number], place, candidates)
        made = insert(hash_, members, size, own, penalty, configurations, closed)
        closed.least[made] = min(least, closed.costs[made])
        closed.ceilings[made] = min(ceiling, closed.costs[made])
        scored += 1
        _open(made, candidates, closed, streams, rule)
    return scored
