"""How far above the optimum the k best networks lie: guessed, and guessed again from those that were found.

All networks within a slack are found for certain. So the k best are known as soon as there are k of them; until then
the next guess follows from how their number grows.
"""

import math

import numpy as np
from numpy.typing import NDArray

FIRST = 0.5  # nats
MARGIN = 1.2  # of what is missing
LEAST_STEP, MOST_STEP = 1.1, 2.0  # by which a guess grows
FEWEST = 8  # networks from which a growth can be read


def next_slack(slack: float, above: NDArray[np.float64], wanted: int) -> float:
    """The next guess, when the networks within `slack` cost so much more than the optimum, nats in ascending order, and
    so many more than these are wanted.

    Their number grows about exponentially: by as much from here on as it did from half the slack to all of it.
    """
    half = int(np.searchsorted(above, slack / 2.0, side="right"))
    if above.size < FEWEST or half == 0 or above.size <= half:
        return MOST_STEP * slack
    growth = math.log(above.size / half) / (slack / 2.0)
    guess = slack + MARGIN * math.log(wanted / above.size) / growth
    return min(MOST_STEP * slack, max(LEAST_STEP * slack, guess))
