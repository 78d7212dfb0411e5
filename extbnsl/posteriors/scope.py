"""What is asked of a posterior. Light: the command line imports this for the words."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Annotated, Any

from extbnsl.core.errors import InputError
from extbnsl.core.options import Option, Options

UNIFORM, ORDER = PRIORS = ("uniform", "order")
MOST_SAMPLES = 1_000_000
MOST_WHOLE = 30  # variables of which all sets are gone through by orders: some minutes


def _features(given: Any, name: str) -> str:
    """The features in a file, or in a dict of Python, as one line of JSON; see `posteriors.features`."""
    from extbnsl.posteriors.features import features_given

    return features_given(given, name)


@dataclass(frozen=True)
class PosteriorScope(Options):
    """Which prior networks have, how exact probabilities are to be, how many networks are drawn, and what else is asked
    of these."""

    prior: Annotated[
        str,
        Option(
            "uniform: every network is as likely before the data; order: every order of the variables, so that a "
            "network counts as often as there are orders that it keeps to",
            choices=PRIORS,
        ),
    ] = UNIFORM
    within: Annotated[
        float,
        Option(
            "how wide the proved interval of a probability may be, from 0 (all there is is summed) to below 1",
            "EPS",
        ),
    ] = 1e-3
    sample: Annotated[
        int, Option("draw S networks from the posterior, exactly: samples.jsonl", "S", most=MOST_SAMPLES)
    ] = 0
    features: Annotated[
        str | None,
        Option(
            "what share of the networks that are drawn has some features, such as arcs together, paths and Markov "
            "blankets: a file of YAML that names them",
            "FILE",
            parse=_features,
            given=str | PathLike[str] | Mapping[str, Any],
        ),
    ] = None

    def check(self) -> None:
        """Raise InputError for values that cannot be."""
        super().check()
        if not 0.0 <= self.within < 1.0 or not math.isfinite(self.within):
            raise InputError(f"within: {self.within} is no width of an interval; give 0 or more, and less than 1.")
        if self.features is not None and self.sample == 0:
            raise InputError("features: they are read off networks that are drawn; say with sample how many.")
