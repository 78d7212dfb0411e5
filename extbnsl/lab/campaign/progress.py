"""How far a campaign is, for people: a line for each run that is over, with the time that is left."""

import math
from collections import defaultdict
from collections.abc import Sequence

from extbnsl.core.figures import format_cost, format_gap, format_time
from extbnsl.lab.campaign.plan import NOTHING, Run
from extbnsl.lab.campaign.rows import Row
from extbnsl.machine.budgets import format_size


class Progress:
    """What has been done of the runs, some at a time, and what that tells of those that are left."""

    def __init__(self, runs: int, left: Sequence[Run], jobs: int) -> None:
        self._left = {run.name: run for run in left}
        self._total = runs
        self._jobs = jobs
        self._seconds: dict[str, list[float]] = defaultdict(list)  # of runs that are over, by method

    def over(self, row: Row, seconds: float) -> str:
        """The line about a run that is over, after so many seconds."""
        self._left.pop(row.run.name, None)
        self._seconds[row.run.names["method"]].append(seconds)
        done = self._total - len(self._left)
        width = len(str(self._total))
        return f"{done:{width}}/{self._total}  {called(row.run)}: {outcome(row)}, {format_time(seconds)}{self._to_go()}"

    def doing(self, seconds: float) -> str:
        """What goes on after so many seconds, empty if nothing does: runs begin in their order, so many at a time."""
        left = list(self._left.values())
        running = "; ".join(called(run) for run in left[: self._jobs])
        over = f"{self._total - len(left)} of {self._total} runs are over"
        return f"campaign: {over}, now {running} ({format_time(seconds)})" if left else ""

    def _to_go(self) -> str:
        """How long the others take, if that is known: at the pace of their methods so far, and at most."""
        if not self._left:
            return ""
        told = [f"{len(self._left)} to go"]
        pace, most = self._pace(), self._most()
        if math.isfinite(pace):
            told.append(f"about {format_time(pace)} at the pace so far")
        if math.isfinite(most):
            told.append(f"at most {format_time(most)}")
        return f"; {', '.join(told)}"

    def _pace(self) -> float:
        """Seconds for the others if each takes as long as those of its method did; infinity if there was none."""
        total = 0.0
        for run in self._left.values():
            known = self._seconds.get(run.names["method"])
            total += sum(known) / len(known) if known else math.inf
        return total / self._jobs

    def _most(self) -> float:
        """Seconds for the others if each uses up its time limit, and the longest is the last to begin (Graham 1966);
        infinity if there is none."""
        limits = [math.inf if run.seconds is None else run.seconds for run in self._left.values()]
        return sum(limits) / self._jobs + max(limits) * (1.0 - 1.0 / self._jobs)


def called(run: Run) -> str:
    """A run for people, such as 'wdbc by DP, 1m 1GiB'."""
    names = run.names
    others = [names[axis] for axis in ("variant", "budget") if names[axis] != NOTHING]
    others += [f"seed {names['seed']}"] if names["seed"] != NOTHING else []
    return ", ".join([f"{names['data']} by {names['method']}", *others])


def outcome(row: Row) -> str:
    """What became of a run, for people."""
    if row.message:
        return f"{row.status.replace('_', ' ')}: {row.message.rstrip('.')}"
    told = [row.status.replace("_", " ")]
    cost, memory, gap = row.figure("cost"), row.figure("memory"), row.figure("gap")
    if isinstance(cost, float | int):
        told.append(f"cost {format_cost(float(cost), 6)}")
    if row.status not in ("optimal", "heuristic") and isinstance(gap, float | int):
        told.append(f"gap {format_gap(1.0 - float(gap), 1.0)}")
    if isinstance(memory, int):
        told.append(format_size(memory))
    return ", ".join(told)
