"""What is told while a campaign runs: how far it is, and how long the rest takes, as far as that is known."""

import heapq
import itertools

import pytest

from extbnsl.core.claims import OPTIMAL, TIME_LIMIT
from extbnsl.lab.campaign.plan import NOTHING, Run
from extbnsl.lab.campaign.rows import NO_NETWORK, NO_RESULT, Progress, Row, called, outcome

FOUND = {"cost": 12.5, "lower_bound": 10.0, "upper_bound": 12.5, "stats": {"peak_rss_bytes": 3 << 30}}


def a_run(number, method="m", seconds=60.0, **names):
    own = {"data": f"d{number}", "method": method, "variant": NOTHING, "budget": NOTHING, "seed": NOTHING}
    return Run(str(number), own | names, ("solve",), seconds, 60.0, None)


def over(progress, run, seconds):
    return progress.over(Row(0, run, OPTIMAL, "", FOUND), seconds)


def test_the_pace_is_that_of_the_method_and_is_told_when_it_is_known():
    runs = [*(a_run(k, "slow") for k in range(3)), *(a_run(k, "fast") for k in range(3, 6))]
    progress = Progress(6, runs, 1)
    assert "at the pace" not in over(progress, runs[0], 40.0)
    line = over(progress, runs[3], 10.0)
    assert line.startswith("2/6  d3 by fast: optimal, cost 12.500000, 3.0GiB, 0:00:10; 4 to go, ")
    assert line.endswith("about 0:01:40 at the pace so far, at most 0:04:00")  # twice 40 and twice 10


def test_the_runs_that_go_on_are_the_first_of_those_that_are_left():
    runs = [a_run(k) for k in range(4)]
    progress = Progress(5, runs, 2)
    assert progress.doing(3.0) == "campaign: 1 of 5 runs are over, now d0 by m; d1 by m (0:00:03)"
    over(progress, runs[1], 1.0)
    assert progress.doing(64.0) == "campaign: 2 of 5 runs are over, now d0 by m; d2 by m (0:01:04)"
    for run in (runs[0], runs[2], runs[3]):
        over(progress, run, 1.0)
    assert progress.doing(70.0) == ""


def test_of_a_campaign_that_goes_on_only_the_new_runs_tell_the_pace():
    runs = [a_run(k) for k in range(4)]
    line = over(Progress(10, runs, 2), runs[0], 30.0)
    assert line.startswith(" 7/10  ")
    assert "3 to go, about 0:00:45 at the pace so far" in line


def test_without_time_limits_nothing_is_said_of_the_most():
    runs = [a_run(0), a_run(1, seconds=None)]
    assert "at most" not in over(Progress(2, runs, 1), runs[0], 1.0)


def test_the_last_run_has_nothing_to_go():
    assert "to go" not in over(Progress(1, [a_run(0)], 1), a_run(0), 1.0)


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_the_most_is_no_less_than_any_order_takes(jobs):
    limits = [10.0, 10.0, 20.0, 50.0, 70.0]
    runs = [a_run(k, seconds=limit) for k, limit in enumerate(limits)]
    told = Progress(5, runs, jobs)._most()
    worst = max(schedule(order, jobs) for order in itertools.permutations(limits))
    assert worst <= told <= 1.5 * worst + 1e-9
    assert (told == pytest.approx(sum(limits))) == (jobs == 1)


def schedule(limits, jobs):
    """When all are over that are begun in this order, each by whoever is free first."""
    free = [0.0] * jobs
    for limit in limits:
        heapq.heappush(free, heapq.heappop(free) + limit)
    return max(free)


def test_what_a_run_is_called():
    assert called(a_run(1)) == "d1 by m"
    assert called(a_run(1, variant="v", budget="1m", seed="0")) == "d1 by m, v, 1m, seed 0"


def test_what_became_of_a_run():
    assert outcome(Row(0, a_run(0), OPTIMAL, "", FOUND)) == "optimal, cost 12.500000, 3.0GiB"
    assert outcome(Row(0, a_run(0), TIME_LIMIT, "", FOUND)) == "time limit, cost 12.500000, gap 20.00%, 3.0GiB"
    assert outcome(Row(0, a_run(0), NO_RESULT, "It died.", {})) == "failed: It died"
    assert outcome(Row(0, a_run(0), NO_NETWORK, "Out of memory.", {})) == "no network: Out of memory"
