"""How many resamples are asked for. Light: the command line imports this for the value."""

from dataclasses import asdict, dataclass
from typing import Annotated, Any

from extbnsl.core.arguments import check_whole
from extbnsl.core.codec import Within

MOST_RESAMPLES = 10_000  # which tell a share to half a percent


@dataclass(frozen=True)
class Resamples:
    """So many resamples of the data are solved after the data themselves."""

    bootstrap: Annotated[int, Within(1, MOST_RESAMPLES)]

    def check(self) -> None:
        """Raise InputError for a value that cannot be."""
        check_whole("bootstrap", self.bootstrap, 1, MOST_RESAMPLES)

    def document(self) -> dict[str, Any]:
        """The field as a JSON value."""
        return asdict(self)
