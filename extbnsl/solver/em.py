"""Structural EM (Friedman 1997): a network completes what the data lack, and the best network of the completed data
takes its place, until it is that network itself.

Each M step is a solve, with its proof. Between two of them the parameters of the new network are fitted by further EM
steps, which cost little (Friedman's alternation): by a few, since a network whose parameters fit what it completes is
hard to leave, and to the end once it stays. What the observed values cost falls with every round, and the rounds end
where no network costs less in expectation: a local optimum. Another network to begin with may lead to another. One with
too many arcs, which EM takes out again, mostly leads to one that costs less than where it has to put arcs in.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from extbnsl.core.claims import HEURISTIC, MEMORY_LIMIT, NOT_PROVED, OPTIMAL, Claim, tolerance
from extbnsl.core.errors import BudgetError, InputError
from extbnsl.core.events import Event, Observer, Warned, ignore
from extbnsl.core.figures import counted, format_cost, format_size
from extbnsl.core.sentences import asking
from extbnsl.data import Data
from extbnsl.em.expectation import expectation_of
from extbnsl.em.model import Expectation, Model, never_checked, penalty_of, with_gaps
from extbnsl.files.shelf import Shelf
from extbnsl.machine.budgets import MINIMUM_MEMORY
from extbnsl.machine.workers import Stopped, StopSignal, never
from extbnsl.networks.arcs import costs_from
from extbnsl.networks.kinds import number_of_parameters
from extbnsl.networks.network import Network
from extbnsl.proof.commits import Commits
from extbnsl.proof.context import Context, Stages
from extbnsl.proof.standing import Standing
from extbnsl.results.outputs import warnings_of_outputs
from extbnsl.results.result import Result
from extbnsl.results.rounds import Round, Rounds
from extbnsl.solver.em_rounds import Taken, rounds_at
from extbnsl.solver.families import find_survivors
from extbnsl.solver.opening import Opened, Request, opened
from extbnsl.solver.outcome import network_of
from extbnsl.solver.solving import solved

MOST_ROUNDS = 100
FEW_STEPS, MOST_STEPS = 2, 200  # of the parameters of a new network, and of one that stays
SETTLED = 1e-4  # nats: the parameters are fitted when a step gains less
SOON = 1.0  # seconds after a stop, in which a first network may still be told
FIRST_PARENTS = 2  # of the network to begin with, unless the knowledge requires more


@dataclass(frozen=True)
class _Maximised:
    """The network of an M step: 'optimal', or why that is not proved, and what it costs in expectation, in nats."""

    status: str
    network: Network
    cost: float


def solve_by_em(asked: Request, *, observer: Observer = ignore, stop: StopSignal = never) -> Result:
    """A network of data with latent values that no network beats in expectation over its own completions.

    The status is 'heuristic' when the rounds have settled, otherwise why they ended; the network is that of the last
    round that was done. There is no bound on what other networks cost. The budgets bind for all rounds together. In a
    run directory each round is kept as soon as it is done, and a resume goes on behind the last one.

    Raises as `solve` does, and as `expectation_of`.
    """
    data = asked.problem
    assert isinstance(data, Data), "it has latent values"
    with opened(asked, Commits, asked.methods, observer=observer, stop=stop) as run:
        expected = expectation_of(data, asked.claim, run.context.memory_left)
        with rounds_at(asked.place, expected) as taken:
            run.commits.commit()
            rounds = _Rounds(run, expected, taken)
            status, excess = rounds.run()
            return _concluded(rounds, status, excess)


@dataclass(frozen=True)
class _Rounds:
    """The rounds of a run."""

    opened: Opened[Commits]
    expected: Expectation
    taken: Taken

    @property
    def context(self) -> Context:
        """What the stages of all rounds share."""
        return self.opened.context

    @property
    def claim(self) -> Claim:
        """What is asked of each M step."""
        return self.opened.asked.claim

    def run(self) -> tuple[str, float | None]:
        """Do the rounds that are not done yet. The status, and what `Rounds` calls excess."""
        commits, excess = self.opened.commits, None
        commits.standing.completing = True
        try:
            if not self.taken.done:
                self._begin()
            while excess is None and len(self.taken.done) <= MOST_ROUNDS:
                commits.commit_if_due()
                excess = self._told_round()
        except Stopped as stop:
            return stop.reason, None
        except (BudgetError, MemoryError) as error:
            if not self.taken.done:
                raise
            self.context.observer(Warned(str(error) or "There is no memory for a further round; give it more."))
            return MEMORY_LIMIT, None
        if excess is None:
            self.context.observer(Warned(f"EM has not settled in {MOST_ROUNDS} rounds; the last network is told."))
        return HEURISTIC, excess

    def _begin(self) -> None:
        """Find the network to begin with: the best one by node averages in which no variable has more parents than two,
        or than the knowledge requires. Stopped if there is no time for it; then the best so far is taken, if what it
        costs is known soon, and not kept: a resume begins again."""
        data, claim = self.expected.data, self.claim
        required = [sum(child == name for _, child in claim.knowledge.required) for name in data.names]
        most = max([FIRST_PARENTS, *required])
        few = replace(claim, max_parents=most if claim.max_parents is None else min(most, claim.max_parents))
        with self.context.stages.stage("em", "a network to begin with") as summary:
            found = self._solved(with_gaps(data), few)
            model = self.expected.begin(found.network)
            try:
                if found.status not in (OPTIMAL, NOT_PROVED):
                    raise Stopped(found.status)
                round = self._fitted(0, HEURISTIC, None, model)
            except Stopped:
                misfit = self.expected.step(model, self.soon)[0]
                cost = misfit + penalty_of(model.network, data, claim)
                self.taken.tell(Round(0, HEURISTIC, None, cost, 0, model.network), model)
                raise
            summary.append(f"to begin with, cost {format_cost(round[0].cost)}, {_arcs(found.network)}")
        self.taken.add(*round)

    def soon(self) -> None:
        """For what is done after a stop and of no use to a resume: BudgetError once it takes more than SOON."""
        if self.context.workers.left_of(SOON) == 0.0:
            raise BudgetError("EM was stopped before it had a first network; give it more time.")

    def _told_round(self) -> float | None:
        """`_round`, that tells of completed data which cannot be solved, such as a column that never varies any more,
        in which round they are."""
        try:
            return self._round()
        except InputError as error:
            number = len(self.taken.done)
            raise InputError(
                f"in round {number} of ",
                asking("missing", "em"),
                ", by the data as the network before completes them, ",
                error.what,
                names=error.names,
                advice=error.advice,
            ) from error

    def _round(self) -> float | None:
        """Do a round. If the network stays as it is, by how much it costs more in expectation than the best one, and
        nothing is added; None if there is a new one. Stopped if the M step is not proved, or there is no time left."""
        number, before, check = len(self.taken.done), self.taken.last, self.context.workers.check
        with self.context.stages.stage("em", f"round {number}") as summary:
            data = self.expected.completed(before, check)
            best = self._solved(data, self.claim)
            if best.status != OPTIMAL:
                summary.append(f"round {number}: the best network of the completed data is not proved")
                raise Stopped(best.status)
            costs = costs_from(data, self.claim)
            own = [costs(child, parents) for child, parents in enumerate(before.network.parents)]
            excess = math.inf if None in own else math.fsum(cost for cost in own if cost is not None) - best.cost
            stays = excess <= 2.0 * tolerance(best.cost)
            del data, costs
            model = before if stays else self.expected.step(before, check, best.network)[1]
            round = self._fitted(number, best.status, best.cost, model, MOST_STEPS if stays else FEW_STEPS)
            gain = self.taken.cost - round[0].cost
            if gain <= (SETTLED if stays else 0.0):  # of another network: by what rounding does to counts
                summary.append(f"round {number}: no network costs less in expectation, {format_cost(best.cost)}")
                return max(0.0, excess)
            told = f"cost {format_cost(round[0].cost)}, {format_cost(gain)} less; expected {format_cost(best.cost)}"
            summary.append(f"round {number}: {told}; {'the same network' if stays else _arcs(best.network)}")
        self.taken.add(*round)
        return None

    def _fitted(
        self, number: int, status: str, expected_cost: float | None, model: Model, most: int = FEW_STEPS
    ) -> tuple[Round, Model]:
        """The round of a model, and the model with the parameters that so many EM steps lead to, or fewer if they gain
        nothing. Stopped before that."""
        check, steps = self.context.workers.check, 0
        misfit, following = self.expected.step(model, check)
        while steps < most:
            now, further = self.expected.step(following, check)
            gained = misfit - now
            if gained < 0.0:  # by rounding
                break
            model, misfit, following, steps = following, now, further, steps + 1
            if gained < SETTLED:
                break
        cost = misfit + penalty_of(model.network, self.expected.data, self.claim)
        return Round(number, status, expected_cost, cost, steps, model.network), model

    def _solved(self, data: Data, claim: Claim) -> _Maximised:
        """The network of least cost, by an ordinary solve that nobody hears of but for its warnings. Stopped if there
        is no time, before there is a proof."""
        context, store = self.context, self.context.store
        left = context.memory_left - self.expected.size
        if left < MINIMUM_MEMORY:
            needed = format_size(context.memory - left + MINIMUM_MEMORY)
            raise BudgetError(f"A round of EM has its completed data beside it and needs {needed} of memory in all.")
        before, stages = store.files, Stages(_warnings_of(context.observer), {})
        quiet = replace(context, stages=stages, memory=left, shelf=Shelf(left // 2, store))
        commits = Commits(Standing(), quiet)
        try:
            solution, stopped = solved(find_survivors(data, claim, quiet, commits, one=True), quiet, commits)
        finally:
            store.keep_only(before)
        found = network_of(solution)
        return _Maximised(stopped or solution.status, found.network, found.cost)


def _concluded(rounds: _Rounds, status: str, excess: float | None) -> Result:
    """The result of the last round, and the last commit of the run."""
    run, data, expected = rounds.opened, rounds.expected.data, rounds.expected
    commits, asked = run.commits, run.asked
    if status != HEURISTIC:
        commits.last_commit(status)  # what it takes on disk is part of the result
    round, model = rounds.taken.done[-1]
    completed = expected.completed(model, never_checked if rounds.taken.kept else rounds.soon)
    of_outputs = warnings_of_outputs(round.network, completed)
    for message in of_outputs:
        run.context.observer(Warned(message))
    missing = int(sum(np.count_nonzero(~data.known(v)) for v in range(data.variables)))
    done = tuple(own for own, _ in rounds.taken.done)
    result = Result(
        status=status,
        network=round.network,
        cost=round.cost,
        lower_bound=-math.inf,
        upper_bound=round.cost,
        order=round.network.order(),
        claim=replace(asked.claim, ess=None),
        seed=run.context.methods.seed,
        stats={
            "parameters": number_of_parameters(round.network, data, asked.claim.score),
            "stages": commits.spent.stages,
            **commits.taken(),
        },
        options=asked.options(run.granted),
        warnings=(*data.warnings, *of_outputs),
        local_scores=None,
        digest=data.fingerprint,
        dataset=completed,
        rounds=Rounds(done, excess is not None, excess, missing, data.records * data.variables, completed.each),
    )
    if status == HEURISTIC:
        commits.finish(status)
    return result


def _warnings_of(observer: Observer) -> Observer:
    """An observer to which a solve tells its warnings alone: its networks are those of one round."""

    def observe(event: Event) -> None:
        if isinstance(event, Warned):
            observer(event)

    return observe


def _arcs(network: Network) -> str:
    return counted(len(network.arcs()), "arc")
