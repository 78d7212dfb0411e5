"""A component that is being solved: what all steps share and tell, and what becomes of the pieces that it has."""

from dataclasses import dataclass, replace

from extbnsl.bounds.lp.tree import Tree
from extbnsl.core.claims import NOT_PROVED, tolerance
from extbnsl.core.events import IncumbentFound
from extbnsl.core.figures import counted, in_full
from extbnsl.orders.local_search import Incumbent
from extbnsl.parents.components import Component
from extbnsl.proof.bounding import OnSolution, OnStep, find_guide
from extbnsl.proof.commits import Commits
from extbnsl.proof.context import Context
from extbnsl.proof.guide import LONG_NS, Bounding, Guide, Guided, may_polish
from extbnsl.proof.pieces import Part, Piece, PieceSearch
from extbnsl.proof.standing import Standing


@dataclass
class Solving:
    """Component number k of the problem, with what the stages share, and the commits whose standing follows. What
    happens to its pieces: `prove` and the estimate go through them alike."""

    component: Component
    k: int
    context: Context
    commits: Commits

    def bound(self, search: PieceSearch) -> tuple[PieceSearch, Guided]:
        """Find the bounds of the piece that the search is at, below its limit."""
        raise NotImplementedError

    def prepare(self, search: PieceSearch) -> bool:
        """Get ready for what is dear; whether the bounds of the piece may be better for that."""
        return may_polish(self.context.methods)

    def solve(self, search: PieceSearch, guide: Guide) -> Piece | None:
        """The piece that the search is at, solved or given up, or open, if its search is too large; None if nothing is
        below its limit."""
        raise NotImplementedError

    @property
    def standing(self) -> Standing:
        """What is known of all components."""
        return self.commits.standing

    @property
    def part(self) -> Part:
        """How far the component is solved."""
        return self.standing.parts[self.k]

    def raise_bound(self, lower_bound: float) -> None:
        """Let the standing know that every network of interest costs at least `lower_bound` over the component, in
        nats. That may be more than the incumbent costs, if nothing is left that is cheaper."""
        bound = max(self.part.lower_bound, min(lower_bound, self.part.upper_bound))
        self.standing.parts[self.k] = replace(self.part, lower_bound=bound)

    def take(self, found: Incumbent) -> bool:
        """Whether an order of the component is better than the best known; the standing has it then."""
        if found.cost >= self.part.upper_bound - tolerance(self.part.upper_bound):
            return False
        self.standing.parts[self.k] = replace(self.part, order=tuple(found.order.tolist()), upper_bound=found.cost)
        self.context.observer(IncumbentFound(self.standing.upper_bound))
        return True

    def whose(self, search: PieceSearch) -> str:
        """Whose figures those of a piece are, such as 'component 2 of 3, 7 variables'."""
        components, pieces = len(self.standing.parts), len(search.pieces)
        size = counted(len(search.piece.variables), "variable")
        if pieces > 1:
            size = f"piece {search.at + 1} of {pieces}, {size}"
        return size if components == 1 else f"component {self.k + 1} of {components}, {size}"

    def guided(
        self, search: PieceSearch, begun: Bounding, context: Context, on_step: OnStep, on_solution: OnSolution
    ) -> tuple[PieceSearch, Guided]:
        """What guides the search of a piece, found as `find_guide` does and told as a stage; the standing follows."""
        whose = self.whose(search)
        with self.context.stages.stage("bounds", whose) as summary:
            summary.append(whose)
            found = find_guide(begun, search.limit, context, on_step, on_solution, search.tried)
            search = search if found.proved else search.guided(found)
            self.raise_bound(search.lower_bound)
            if found.tree is not None:
                summary.append("solved by branching")
            elif found.proves(search.limit):
                summary.append("proved before any search")
            else:
                left = f"{in_full(sum(map(len, found.guide.left.costs)), 'parent set')} left"
                if found.pieces:
                    largest = max(len(piece.variables) for piece in search.pieces)
                    left = f"in {in_full(len(search.pieces), 'piece')} of up to {in_full(largest, 'variable')}"
                summary += [left, self.standing.bounds_told()]
        return search, found


def solve_pieces(search: PieceSearch, steps: Solving) -> Part:
    """The component's part when the pieces have been solved, the smallest first, or one of them has proved it.

    If some were given up, it is not proved, with the bounds that all pieces have.
    """
    while left := [(len(p.variables), at) for at, p in enumerate(search.pieces) if p.is_open]:
        search = replace(search, at=min(left)[1])
        search, found = steps.bound(replace(search, limit=search.limit_below(steps.part)))
        if found.proved:
            return steps.part.by(search.steps)
        if found.pieces:
            continue
        if found.search_ns >= LONG_NS and not search.tried:
            search = replace(search, tried=True)
            if steps.prepare(search):  # the bounds are to have the best limit
                continue
        if found.proves(search.limit):
            answer = None
        elif found.tree is not None:
            assert found.tree.order is not None, "it has a network below its limit"
            answer = search.solved(found.tree.order, found.tree.cost)
        else:
            answer = steps.solve(search, found.guide)
        if found.tree is None:
            search = replace(search, multipliers=found.guide.multipliers)
        search = with_answer(search, answer, steps.part, found.tree)
        if answer is None:
            return steps.part.by(search.steps)
    if any(piece.given_up for piece in search.pieces):
        return replace(steps.part, stopped=NOT_PROVED)
    return search.joined


def with_answer(search: PieceSearch, answer: Piece | None, part: Part, tree: Tree | None = None) -> PieceSearch:
    """The search with what has come of the piece that it is at, and with the step of the proof that shows it: by a tree
    of branching, or else by a search.

    answer: None if no network below the limit is left to it, in view of what the part of the component is now.
    """
    if answer is not None and answer.is_open:
        return search.with_pieces(answer).by_programs
    if answer is not None and answer.given_up:
        steps = search.steps
    else:
        steps = search.settled(search.limit_below(part) if answer is None else answer.lower_bound, tree)
    after = search if answer is None else search.with_pieces(answer)
    return PieceSearch(search.component, after.pieces, steps=steps)
