"""The pieces of a component: their limits and bounds, what fixing leaves of them, and the part that they make."""

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from extbnsl.bounds.multipliers import Multipliers, families_of, multipliers_of, no_multipliers, renamed
from extbnsl.claims import tolerance
from extbnsl.kernels.varsets import pack, unpack
from extbnsl.parents.components import Component
from extbnsl.proof.bounding import Bounding
from extbnsl.proof.guide import Guide, Guided, Solved
from extbnsl.proof.pieces import Cut, Piece, RootPass
from extbnsl.proof.standing import Part, Standing


def whole_component(component: Component) -> tuple[Piece, ...]:
    """The component as one piece."""
    least = float(sum(costs[0] for costs in component.costs))
    return (Piece(tuple(range(component.size)), least, None, component),)


def next_piece(pieces: tuple[Piece, ...]) -> int | None:
    """The smallest piece that is neither solved nor given up."""
    left = [(len(p.variables), at) for at, p in enumerate(pieces) if p.order is None and not p.given_up]
    return min(left)[1] if left else None


def piece_limit(pieces: tuple[Piece, ...], at: int, part: Part) -> float:
    """Below what a piece must cost in a network that is better than the part's; infinity if there is none."""
    if not math.isfinite(part.upper_bound):
        return math.inf
    others = math.fsum(piece.lower_bound for number, piece in enumerate(pieces) if number != at)
    return part.upper_bound - tolerance(part.upper_bound) - others


def lower_bound(pieces: Iterable[Piece]) -> float:
    """What every network of interest costs at least."""
    return math.fsum(piece.lower_bound for piece in pieces)


def guided_pieces(pieces: tuple[Piece, ...], at: int, found: Guided) -> tuple[Piece, ...]:
    """The pieces with one replaced by its parts, or by what its guide has left of it."""
    whole, guide = pieces[at], found.guide
    if found.pieces:
        parts = [_part_of(whole, guide, part) for part in found.pieces]
    else:
        families = replace(whole.left, parents=guide.parents, costs=guide.costs)
        bound = max(whole.lower_bound, guide.root)
        parts = [replace(whole, lower_bound=bound, families=families, multipliers=guide.best_multipliers)]
    return (*pieces[:at], *parts, *pieces[at + 1 :])


def bounded_pieces(pieces: tuple[Piece, ...], at: int, reached: Bounding) -> tuple[Piece, ...]:
    """The pieces with what the bounds of one have come to."""
    piece = pieces[at]
    bound = max(piece.lower_bound, reached.root)
    piece = replace(piece, lower_bound=bound, families=reached.left, multipliers=reached.multipliers)
    return (*pieces[:at], piece, *pieces[at + 1 :])


def solved_piece(piece: Piece, solved: Solved) -> Piece:
    """The piece with the network that it was solved by."""
    assert solved.order is not None, "it has a network below its limit"
    return Piece(piece.variables, solved.cost, tuple(piece.variables[i] for i in solved.order))


def _part_of(whole: Piece, guide: Guide, part: Component) -> Piece:
    """A part of a piece, with those of its cuts that lie in the part."""
    assert guide.best_multipliers is not None, "only what multipliers fix takes a piece apart"
    cuts, weights = guide.best_multipliers.cuts, guide.best_multipliers.weights
    inside = ~(cuts & ~pack(part.variables, len(whole.variables))).any(axis=(1, 2))
    position = np.full(len(whole.variables), -1, np.int64)
    position[list(part.variables)] = np.arange(part.size)
    own = renamed(cuts[inside], position, part.size)
    multipliers = multipliers_of(families_of(part.parents, part.costs), own, weights[inside])
    variables = tuple(whole.variables[i] for i in part.variables)
    if part.size == 1:
        return Piece(variables, float(part.costs[0][0]), variables)
    return Piece(variables, multipliers.root, None, replace(part, variables=variables), multipliers)


def raise_bound(k: int, lower_bound: float, standing: Standing) -> None:
    """Let the standing know that every network of interest over component k costs at least `lower_bound`, in nats.

    That may be more than the incumbent costs, if nothing is left that is cheaper.
    """
    part = standing.parts[k]
    standing.parts[k] = replace(part, lower_bound=max(part.lower_bound, min(lower_bound, part.upper_bound)))


def root_pass(pieces: tuple[Piece, ...], at: int, multipliers: Multipliers) -> RootPass:
    """One piece's multipliers with those of the others, over the variables of the component."""
    cuts: list[Cut] = []
    weights: list[int] = []
    least = [0.0] * sum(len(piece.variables) for piece in pieces)
    for number, piece in enumerate(pieces):
        if piece.order is not None:  # a single variable
            least[piece.variables[0]] = piece.lower_bound
            continue
        own = multipliers if number == at else _own_multipliers(piece)
        cuts += [_over_component(cut, piece.variables) for cut in own.cuts]
        weights += own.weights.tolist()
        for variable, mu in zip(piece.variables, own.least.tolist(), strict=True):
            least[variable] = mu
    return RootPass(tuple(cuts), tuple(weights), tuple(least))


def _over_component(cut: NDArray[np.uint64], variables: tuple[int, ...]) -> Cut:
    """A cut (3, words) over a piece of these variables of the component."""
    return tuple(tuple(variables[i] for i in unpack(cluster)) for cluster in cut if cluster.any())


def _own_multipliers(piece: Piece) -> Multipliers:
    """The multipliers that give the piece's lower bound; none, if there is only the cheapest family of each child."""
    if piece.multipliers is not None:
        return piece.multipliers
    return no_multipliers(families_of(piece.left.parents, piece.left.costs))


def proved_part(part: Part, pieces: tuple[Piece, ...], passes: Iterable[RootPass]) -> Part:
    """The part, of which no network is cheaper."""
    limit = part.upper_bound - tolerance(part.upper_bound)
    return replace(part, lower_bound=limit, proved=True, passes=() if any_searched(pieces) else tuple(passes))


def any_searched(pieces: tuple[Piece, ...]) -> bool:
    """Whether a piece was solved by a search; single variables are solved as they are."""
    return any(len(piece.order or ()) > 1 for piece in pieces)


def joined_part(pieces: tuple[Piece, ...]) -> Part:
    """The component's part when all pieces are solved: they come one after the other, each after its parents."""
    cost = lower_bound(pieces)
    order = tuple(v for piece in pieces for v in piece.order or ())
    return Part(order, cost, cost - tolerance(cost), proved=True)
