"""A component that is being solved: what all steps share, and how the standing and the observer learn of them."""

from dataclasses import replace

from extbnsl.core.claims import tolerance
from extbnsl.core.events import IncumbentFound, LayerAdvanced, LayerEnded
from extbnsl.core.figures import counted
from extbnsl.orders.local_search import Incumbent
from extbnsl.parents.components import Component
from extbnsl.proof.commits import Commits
from extbnsl.proof.context import Context
from extbnsl.proof.pieces import Part, PieceSearch
from extbnsl.proof.standing import Standing
from extbnsl.search.problem import SearchProblem
from extbnsl.search.state import SearchState


class Solving:
    """Component number k of the problem, with what the stages share, and the commits whose standing follows."""

    def __init__(self, component: Component, k: int, context: Context, commits: Commits) -> None:
        self.component, self.k, self.context, self.commits = component, k, context, commits

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

    def layer_told(self, state: SearchState, problem: SearchProblem, ended: bool) -> LayerEnded | LayerAdvanced:
        """What the observer is told of a search: at the end of a layer, or within the next one."""
        shared = {
            "layers": problem.variables,
            "component": self.k + 1,
            "components": len(self.standing.parts),
            "memory": state.memory + problem.bytes,
            "disk": self.commits.store.used,
        }
        if not ended:
            done, kept = state.position / (1 << problem.high_bits), state.following_nodes
            return LayerAdvanced(layer=state.layer.size + 1, done=done, generated=state.edges_out, kept=kept, **shared)
        return LayerEnded(
            layer=state.layer.size,
            expanded=0 if state.layer.size == 0 else sum(run.size for run in state.closed[-1]),
            generated=state.edges_in,
            kept=state.layer.nodes,
            spilled=state.spilled,
            lower_bound=self.standing.lower_bound,
            upper_bound=self.standing.upper_bound,
            **shared,
        )
