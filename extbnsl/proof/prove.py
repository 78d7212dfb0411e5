"""Solving one component: its incumbent, the proof at the root, and the searches of the pieces that this leaves.

Multipliers bound the cost of every network, and fix families that no network cheaper than the incumbent has. What is
left may fall into pieces that can be solved one by one, as the components of the problem can: each below what the
others leave of the limit. A piece that has no network below its limit proves the incumbent; if all have one, together
they are a better network than it.
"""

from collections.abc import Callable
from dataclasses import replace

from extbnsl.bounds.lp.polish import load_polish
from extbnsl.claims import NOT_PROVED
from extbnsl.events import IncumbentFound, Warned
from extbnsl.orders.local_search import LONG
from extbnsl.parents.components import Component
from extbnsl.proof.commits import Commits, commit_if_due
from extbnsl.proof.context import Context
from extbnsl.proof.division import (
    any_searched,
    guided_pieces,
    joined_part,
    lower_bound,
    next_piece,
    piece_limit,
    proved_part,
    raise_bound,
    root_pass,
    whole_component,
)
from extbnsl.proof.effort import MANY_EDGES, find_guide, may_polish
from extbnsl.proof.guide import Guide, Guided
from extbnsl.proof.incumbents import find_better
from extbnsl.proof.pieces import Piece, RootPass, Search
from extbnsl.proof.searching import piece_sizes, searched_piece
from extbnsl.proof.standing import Part, Standing


def prove(component: Component, k: int, context: Context, commits: Commits) -> Part:
    """Prove component k's incumbent optimal, or find the optimum; `standing.parts` follows the bounds meanwhile.

    Raises Stopped, with the standing ready to be committed.
    """
    standing = commits.standing
    begun = standing.search if standing.search and standing.search.component == k else None
    if begun is None:
        part = _solved(whole_component(component), component, k, context, commits)
    elif begun.state is None:
        part = _solved(begun.pieces, component, k, context, commits)
    else:
        part = _after(begun, component, k, context, commits)
    standing.search = standing.latest = None
    return part


def _solved(pieces: tuple[Piece, ...], component: Component, k: int, context: Context, commits: Commits) -> Part:
    """The component's part when the pieces have been solved one by one, or one of them has proved it."""
    standing = commits.standing
    passes: list[RootPass] = []
    tried = False
    while (at := next_piece(pieces)) is not None:
        limit = piece_limit(pieces, at, standing.parts[k])
        with context.stages.stage("bounds", piece_sizes(pieces, at, k)) as summary:
            found = find_guide(
                pieces[at].left, pieces[at].multipliers, limit, context, _bound_raiser(pieces, at, k, standing), tried
            )
            if not any_searched(pieces):
                passes += [root_pass(pieces, at, one) for one in found.passes]
            if found.proved:
                summary.append("proved at the root")
                return proved_part(standing.parts[k], pieces, passes)
            pieces = guided_pieces(pieces, at, found)
            raise_bound(k, lower_bound(pieces), standing)
            summary.append(_told(pieces, found, standing.parts[k]))
        if found.pieces:
            continue
        if found.edges >= MANY_EDGES and not tried:
            tried = True
            with context.stages.stage("incumbent", piece_sizes(pieces, at, k)):
                better = find_better(component, k, context.methods.seed + 1, LONG, context, standing)
            ready = _ready_to_polish(context)
            if better or ready:  # polishing waits for the best limit
                continue
        guide = found.guide
        if guide.grouping is None:
            return replace(standing.parts[k], stopped=NOT_PROVED)
        search = Search(k, pieces, at, limit, guide.grouping.groups, guide.multipliers, guide.sets)
        return _after(search, component, k, context, commits)
    part = joined_part(pieces)
    standing.parts[k] = part
    context.observer(IncumbentFound(standing.upper_bound))
    return part


def _bound_raiser(pieces: tuple[Piece, ...], at: int, k: int, standing: Standing) -> Callable[[Guide], None]:
    """What lets the standing know how far each better guide of a piece has brought the bound."""
    return lambda guide: raise_bound(k, lower_bound(guided_pieces(pieces, at, Guided(guide))), standing)


def _ready_to_polish(context: Context) -> bool:
    """Whether multipliers can be polished, their kernels loaded; a hint that there is more to install, if not."""
    if not may_polish(context.methods):
        if context.methods.clusters and context.methods.polish is None:
            context.observer(
                Warned("The search may be long. Linear programming may save it: pip install 'extbnsl[lp]'.")
            )
        return False
    if context.methods.polish is None:
        with context.stages.stage("kernels", "loading linear programming"):
            load_polish()
    return True


def _after(search: Search, component: Component, k: int, context: Context, commits: Commits) -> Part:
    """The component's part after a search, and those of the pieces that it leaves."""
    answer = searched_piece(search, component, context, commits)
    if answer is None:
        return proved_part(commits.standing.parts[k], search.pieces, ())
    pieces = (*search.pieces[: search.at], answer, *search.pieces[search.at + 1 :])
    commits.standing.search = Search(k, pieces)
    commit_if_due(commits)
    return _solved(pieces, component, k, context, commits)


def _told(pieces: tuple[Piece, ...], found: Guided, part: Part) -> str:
    """What a piece's guide, or its falling apart, has brought."""
    if found.pieces:
        return f"in {len(pieces)} pieces of up to {max(len(piece.variables) for piece in pieces)} variables"
    families = f"{sum(costs.size for costs in found.guide.costs):,} parent sets left"
    return f"lower bound {part.lower_bound:.6f}, gap {part.upper_bound - part.lower_bound:.6f}, {families}"
