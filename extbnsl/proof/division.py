"""The pieces of a component: their limits and bounds, what fixing leaves of them, and the part that they make."""

import contextlib
import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from extbnsl.bounds.ascent import find_multipliers, multipliers_bytes
from extbnsl.bounds.multipliers import Multipliers, families_of, multipliers_of, no_multipliers, renamed
from extbnsl.core.claims import tolerance
from extbnsl.kernels.varsets import pack
from extbnsl.machine.workers import Stopped
from extbnsl.parents.components import Component
from extbnsl.proof.bounding import Bounding
from extbnsl.proof.context import Context
from extbnsl.proof.guide import Guide, Guided
from extbnsl.proof.pieces import Piece, PieceSearch
from extbnsl.proof.standing import Part
from extbnsl.proof.steps import Branched, Cut, RootPass, Searched, Step, cuts_over

GUIDING_ROUNDS = 8  # of improving multipliers that nothing but a repeated search needs


def whole_component(component: Component) -> tuple[Piece, ...]:
    """The component as one piece."""
    least = float(sum(costs[0] for costs in component.costs))
    return (Piece(tuple(range(component.size)), least, None, component),)


def next_piece(pieces: tuple[Piece, ...]) -> int | None:
    """The smallest piece that is neither solved nor given up."""
    left = [(len(p.variables), at) for at, p in enumerate(pieces) if p.order is None and not p.given_up]
    return min(left)[1] if left else None


def piece_limit(search: PieceSearch, part: Part) -> float:
    """Below what the piece that the search is at must cost in a network that is better than the part's; infinity if
    there is none.

    The others count with what multipliers show: that a certificate can say. Better by half of the tolerance: whoever
    adds up what settles the pieces has the other half for rounding.
    """
    if not math.isfinite(part.upper_bound):
        return math.inf
    others = math.fsum(
        piece.lower_bound if piece.order is not None else _own_multipliers(piece).root
        for number, piece in enumerate(search.pieces)
        if number != search.at
    )
    return part.upper_bound - tolerance(part.upper_bound) / 2.0 - others


def lower_bound(pieces: Iterable[Piece]) -> float:
    """What every network of interest costs at least."""
    return math.fsum(piece.lower_bound for piece in pieces)


def guided_pieces(search: PieceSearch, found: Guided) -> tuple[Piece, ...]:
    """The pieces with the one that the search is at replaced by its parts, or by what its guide has left of it."""
    whole, guide = search.piece, found.guide
    if found.pieces:
        return search.with_pieces(*(_part_of(whole, guide, part) for part in found.pieces))
    families = replace(whole.left, parents=guide.parents, costs=guide.costs)
    bound = max(whole.lower_bound, guide.root)
    piece = replace(whole, lower_bound=bound, families=families, multipliers=guide.best_multipliers)
    return search.with_pieces(piece)


def bounded_pieces(search: PieceSearch, reached: Bounding) -> tuple[Piece, ...]:
    """The pieces with what the bounds of the one that the search is at have come to."""
    bound = max(search.piece.lower_bound, reached.root)
    piece = replace(search.piece, lower_bound=bound, families=reached.left, multipliers=reached.multipliers)
    return search.with_pieces(piece)


def solved_piece(piece: Piece, order: Iterable[int], cost: float) -> Piece:
    """The piece with the order of its cheapest network, by positions in the piece, and what that costs, in nats."""
    return Piece(piece.variables, cost, tuple(piece.variables[i] for i in order))


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


def root_pass(pieces: tuple[Piece, ...]) -> RootPass:
    """The multipliers of the pieces that are not settled, over the variables of the component."""
    cuts: list[Cut] = []
    weights: list[int] = []
    least = [0.0] * sum(len(piece.variables) for piece in pieces)
    for piece in pieces:
        if is_settled(piece):
            continue
        if piece.order is not None:
            least[piece.variables[0]] = piece.lower_bound
            continue
        multipliers = _own_multipliers(piece)
        cuts += cuts_over(multipliers.cuts, piece.variables)
        weights += multipliers.weights.tolist()
        for variable, mu in zip(piece.variables, multipliers.least.tolist(), strict=True):
            least[variable] = mu
    return RootPass(tuple(cuts), tuple(weights), tuple(least))


def _own_multipliers(piece: Piece) -> Multipliers:
    """The multipliers that give the piece's lower bound; none, if there is only the cheapest family of each child."""
    if piece.multipliers is not None:
        return piece.multipliers
    return no_multipliers(families_of(piece.left.parents, piece.left.costs))


def is_settled(piece: Piece) -> bool:
    """Whether a search or branching has solved a piece; a single variable costs what its cheapest family does."""
    return piece.order is not None and len(piece.variables) > 1


def searched_step(search: PieceSearch, bound: float) -> Searched:
    """That the search of a piece has shown what it costs at least, in nats."""
    guiding, variables = search.multipliers or _own_multipliers(search.piece), search.piece.variables
    return Searched(variables, bound, cuts_over(guiding.cuts, variables), tuple(guiding.weights.tolist()))


def settled_steps(search: PieceSearch, step: Searched | Branched) -> tuple[Step, ...]:
    """The steps of a proof with one that settles the piece that the search is at, and what the others cost beside."""
    pieces = search.with_pieces(replace(search.piece, order=search.piece.variables))
    others = () if all(map(is_settled, pieces)) else (root_pass(pieces),)
    return (*(search.steps or (root_pass(search.pieces),)), step, *others)


def cheapest_pass(component: Component) -> RootPass:
    """That every child has its cheapest family at best."""
    return RootPass((), (), tuple(float(costs[0]) for costs in component.costs))


def guided_steps(component: Component, bound: float, context: Context) -> tuple[Step, ...]:
    """What guides a search that is to show again that no network has families of the component below `bound`, in nats:
    multipliers by an ascent, if memory and time have room for that."""
    if component.size == 1:
        return (cheapest_pass(component),)
    families = families_of(component.parents, component.costs)
    found = no_multipliers(families)
    if multipliers_bytes(component.costs, component.size, context.workers.threads) <= context.memory_left:
        with contextlib.suppress(Stopped):
            found = find_multipliers(families, None, GUIDING_ROUNDS, context.methods.seed, context.workers)
    piece = Piece(tuple(range(component.size)), bound, None, component, found)
    search = PieceSearch(0, (piece,), multipliers=found)
    return settled_steps(search, searched_step(search, bound))


def proved_part(part: Part, steps: tuple[Step, ...]) -> Part:
    """The part, of which no network is cheaper."""
    return replace(part, lower_bound=part.upper_bound - tolerance(part.upper_bound), proved=True, steps=steps)


def joined_part(pieces: tuple[Piece, ...], steps: tuple[Step, ...] = ()) -> Part:
    """The component's part when all pieces are solved: they come one after the other, each after its parents."""
    cost = lower_bound(pieces)
    order = tuple(v for piece in pieces for v in piece.order or ())
    return Part(order, cost, cost - tolerance(cost), proved=True, steps=steps)
