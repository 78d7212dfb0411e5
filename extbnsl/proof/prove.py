"""Solving one component: the proof at the root, and the searches of the pieces that this leaves.

Multipliers bound the cost of every network, and fix families that no network cheaper than the incumbent has. What is
left may fall into pieces that can be solved one by one, as the components of the problem can: each below what the
others leave of the limit. A piece that has no network below its limit proves the incumbent; if all have one, together
they are a better network than it.
"""

from dataclasses import replace

from extbnsl.bounds.multipliers import Multipliers, Support
from extbnsl.core.events import IncumbentFound, Warned
from extbnsl.core.figures import in_full
from extbnsl.orders.local_search import LONG
from extbnsl.parents.components import Component
from extbnsl.proof.commits import Commits
from extbnsl.proof.context import Context
from extbnsl.proof.guide import Bounding, Guide, Guided
from extbnsl.proof.incumbents import Rounding, find_better_left, find_better_rounded
from extbnsl.proof.pieces import Part, Piece, PieceSearch, whole_component
from extbnsl.proof.solving import Solving, solve_pieces, with_answer
from extbnsl.proof.steps import Step


def prove(component: Component, k: int, context: Context, commits: Commits) -> Part:
    """Prove component k's incumbent optimal, or find the optimum; `standing.parts` follows the bounds meanwhile.

    Raises Stopped, with the standing ready to be committed.
    """
    standing, steps = commits.standing, _Proving(component, k, context, commits)
    search = standing.search
    if search is None or search.component != k:
        search = whole_component(component, k)
    if search.state is None:
        part = solve_pieces(search, steps)
    else:
        answer = steps.searched(search)
        search = with_answer(search, answer, steps.part)
        part = steps.part.by(search.steps) if answer is None else solve_pieces(search, steps)
    if part.upper_bound < standing.parts[k].upper_bound:
        standing.parts[k] = part
        context.observer(IncumbentFound(standing.upper_bound))
    standing.search = standing.latest = None
    return part


class _Proving(Solving):
    """The steps of a proof; the standing follows them, and is committed when that is due."""

    def bound(self, search: PieceSearch) -> tuple[PieceSearch, Guided]:
        """Find the bounds of a piece, from where they are."""
        piece = search.piece
        begun = search.bounding or Bounding(piece.left, piece.multipliers)
        steps, seen = search.steps, len(begun.passes)

        def steps_with(passes: tuple[Multipliers, ...]) -> tuple[Step, ...]:
            """The steps so far, with one over the whole component for each of the passes that is new."""
            nonlocal steps, seen
            for one in passes[seen:]:
                steps += (search.with_pieces(replace(piece, multipliers=one)).root_pass,)
            seen = len(passes)
            return steps

        def on_step(reached: Bounding) -> float:
            bounded = search.bounded(reached)
            self.raise_bound(bounded.lower_bound)
            known = steps_with(reached.passes)
            self.standing.search = replace(bounded, bounding=reached, steps=known, file=None, lists=())
            self.commits.commit_if_due()
            return self.standing.upper_bound - self.standing.lower_bound

        rounding = Rounding()

        def on_solution(reached: Bounding, support: Support) -> float | None:
            now = search.bounded(reached)
            return now.limit_below(self.part) if find_better_rounded(now, self, support, rounding) else None

        after, found = self.guided(search, begun, self.context, on_step, on_solution)
        after = replace(after, steps=steps_with(found.passes))
        if found.proved:
            return after, found
        limit = search.limit if found.pieces else after.limit_below(self.part)  # a better network may be known
        after = replace(after, limit=limit, bounding=found.rest, allowed_ns=found.allowed_ns)
        return replace(after, file=None, lists=()), found

    def prepare(self, search: PieceSearch) -> bool:
        """Look for a better network with much effort."""
        self.standing.search = search  # a resumed run is not to do it again
        with self.context.stages.stage("incumbent", "looking for a better one") as summary:
            better = find_better_left(search, self, LONG)
            summary.append(self.standing.bounds_told() if better else "no better one found")
        return super().prepare(search) or better

    def solve(self, search: PieceSearch, guide: Guide) -> Piece | None:
        """Search a piece, if it can be searched; otherwise there was nothing that goes on with it but linear programs,
        which the methods do without."""
        if guide.grouping is None:
            what = f"A part of {in_full(guide.left.size, 'variable')} is too large for a search"
            how = "solve it without --no-polish, by --lower-bound clusters or auto"
            self.context.observer(Warned(f"{what}, and without linear programs nothing else can prove it: {how}."))
            return replace(search.piece, given_up=True)
        return self.searched(
            replace(search, groups=guide.grouping.groups, multipliers=guide.multipliers, sets=guide.sets, file=None)
        )

    def searched(self, search: PieceSearch) -> Piece | None:
        """Search a piece from where its search is; what comes of it, as `solve`."""
        from extbnsl.proof.searching import search_piece

        answer = search_piece(search, self)
        if answer is not None:
            self.standing.search = with_answer(search, answer, self.part)
            self.commits.commit_if_due()
            if answer.is_open:
                self.commits.search_left()
        return answer
