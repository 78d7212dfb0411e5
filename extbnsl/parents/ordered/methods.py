"""How parents are chosen under an order. Light: the command line imports this for the words."""

from dataclasses import asdict, dataclass
from typing import Any

from extbnsl.errors import InputError

DFBNB, SUZUKI, K3 = METHODS = ("dfbnb-k3", "suzuki", "k3")
AUTO, OWN, FIXED = BOUNDS = ("auto", "own", "fixed")
SMALL_SAMPLE = 250  # records up to which the fixed bound may save time (Tian 2000, section 5), and never loses much


@dataclass(frozen=True)
class OrderMethods:
    """How parents are chosen under an order; the cost is the same with every method but "k3", which is greedy.

    bound: what "dfbnb-k3" bounds the misfit of a state's descendants by: "own", N H(X | T, W) of each state (Tian 2000,
    eq. 12); "fixed", N H(X | all predecessors) (eq. 15); "auto", by the number of records, as
    the paper suggests.
    """

    method: str = DFBNB
    bound: str = AUTO

    def check(self) -> None:
        """Raise InputError for words that are not known."""
        for name, word, known in (("method", self.method, METHODS), ("bound", self.bound, BOUNDS)):
            if word not in known:
                raise InputError(f"{name}: {word!r} is not known; use one of {', '.join(known)}.")

    @property
    def exact(self) -> bool:
        """Whether no other parents among the predecessors cost less."""
        return self.method != K3

    def has_own_bounds(self, records: int) -> bool:
        """Whether each state gets a bound of its own, for data of so many records."""
        return self.method == DFBNB and (records > SMALL_SAMPLE if self.bound == AUTO else self.bound == OWN)

    def document(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return asdict(self)
