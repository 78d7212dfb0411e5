"""How networks of thousands of variables are looked for. Light: the command line imports this for the words."""

from dataclasses import asdict, dataclass
from typing import Annotated, Any

from extbnsl.core.arguments import check_whole
from extbnsl.core.codec import Whole
from extbnsl.core.errors import InputError

AUTO = "auto"  # counting where that comes to its end, or else independence
INDEPENDENCE = "independence"
SELECTIONS = (AUTO, INDEPENDENCE, "greedy", "sequential")
SEARCHES = ("obs", "asobs", "insertion", "windows", "regions", "memetic")


@dataclass(frozen=True)
class ApproximateMethods:
    """Which parent sets are scored first, what searches for an order (`extbnsl.orders.population`), and the seed."""

    selection: Annotated[str, SELECTIONS.__contains__] = AUTO
    search: Annotated[str, SEARCHES.__contains__] = "memetic"
    seed: Whole = 0

    def check(self) -> None:
        """Raise InputError for words that are not known, and for a seed that cannot be."""
        for name, word, known in (("selection", self.selection, SELECTIONS), ("search", self.search, SEARCHES)):
            if word not in known:
                raise InputError(f"{name}: {word!r} is not known; use one of {', '.join(known)}.")
        check_whole("seed", self.seed, 0, 2**32 - 1)

    def document(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return asdict(self)
