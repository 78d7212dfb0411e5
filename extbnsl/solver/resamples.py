"""How many resamples are asked for. Light: the command line imports this for the value."""

from dataclasses import dataclass
from typing import Annotated

from extbnsl.core.options import Option, Options

MOST_RESAMPLES = 10_000  # which tell a share to half a percent


@dataclass(frozen=True)
class Resamples(Options):
    """So many resamples of the data are solved after the data themselves."""

    bootstrap: Annotated[
        int,
        Option(
            "then solve R resamples of the data, 200 for instance, and tell how sure each arc is: bootstrap.csv",
            "R",
            least=1,
            most=MOST_RESAMPLES,
        ),
    ]
