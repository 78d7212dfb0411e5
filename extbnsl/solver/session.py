"""What the steps of one process of an approximation share."""

from collections.abc import Callable
from dataclasses import dataclass

from extbnsl.claims import TIME_LIMIT, Claim
from extbnsl.events import IncumbentFound
from extbnsl.files.shelf import Shelf
from extbnsl.machine.budgets import Deadline, Granted
from extbnsl.machine.workers import StopSignal, Workers
from extbnsl.proof.stages import Stages
from extbnsl.solver.approximation import ApproximateCommits, Approximation
from extbnsl.solver.methods import ApproximateMethods


@dataclass(frozen=True)
class Session:
    """What the steps of one process share. shelf: for what is counted. stop: the caller's signal, beside which each
    step has its own deadline."""

    claim: Claim
    methods: ApproximateMethods
    granted: Granted
    stages: Stages
    commits: ApproximateCommits
    shelf: Shelf
    stop: StopSignal

    @property
    def standing(self) -> Approximation:
        """What is known so far."""
        return self.commits.standing

    def tell(self, cost: float) -> None:
        """Tell the observer what a network costs, if it is better than the best of the standing."""
        best = self.standing.best
        if best is None or cost < best.cost:
            self.stages.observer(IncumbentFound(cost, self.standing.lower_bound))

    def workers(self, end: float, over: Callable[[], bool] = lambda: False) -> Workers:
        """Threads until the caller's signal, or the moment `end` of `compiling.clock`, or until it is `over`."""
        deadline = Deadline(end)
        return Workers(
            self.granted.threads, lambda: self.stop() or (TIME_LIMIT if deadline.passed() or over() else None)
        )
