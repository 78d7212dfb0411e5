"""The runs of a campaign that are left are done, and on standard error people are told of them."""

import contextlib
import sys
import time
from collections.abc import Iterator, Sequence

from extbnsl.core.figures import fitted
from extbnsl.lab.campaign.one_run import Place, known
from extbnsl.lab.campaign.outcome import Record
from extbnsl.lab.campaign.plan import Run
from extbnsl.lab.campaign.rows import Progress, row_of
from extbnsl.lab.campaign.schedule import Hands, OnOver, do_all
from extbnsl.machine.workers import StopSignal
from extbnsl.run.progress import beating
from extbnsl.run.screen import Screen, is_screen


def do_left(
    runs: Sequence[Run],
    place: Place,
    hired: contextlib.AbstractContextManager[Hands],
    quiet: bool,
    stop: StopSignal,
) -> None:
    """Let hands do all runs that are not over, unless `stop` has a reason; `quiet`: without a word."""
    left = [run for run in runs if (record := known(run, place)) is None or not record.over]
    with hired as hands, _telling(len(runs), left, hands, quiet) as tell:
        do_all(left, hands, tell, stop)


@contextlib.contextmanager
def _telling(runs: int, left: Sequence[Run], hands: Hands, quiet: bool) -> Iterator[OnOver]:
    """What tells of each run that is over, on standard error, unless `quiet`; on a terminal, what goes on is shown in
    place."""
    if quiet:
        yield lambda run, record: None
        return
    progress, began = Progress(runs, left, hands.jobs), time.monotonic()
    screen = Screen(sys.stderr, is_screen(sys.stderr))

    def show() -> None:
        screen.show(progress.doing(time.monotonic() - began))

    def tell(run: Run, record: Record) -> None:
        if not record.over:
            return
        said = progress.over(row_of(0, run, record, hands.place), record.seconds)
        screen.write(fitted(f"extbnsl: {said}", sys.stderr))
        show()

    show()
    try:
        with beating(show):
            yield tell
    finally:
        screen.show("")
