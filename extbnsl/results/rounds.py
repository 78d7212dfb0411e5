"""What the rounds of EM came to, and how it is written."""

from dataclasses import dataclass
from typing import Any

from extbnsl.networks.network import Network


@dataclass(frozen=True)
class Round:
    """A network that EM went on with.

    number: 0 of the one that it began with, then that of the round.
    status: 'optimal' if no network costs less in expectation over the completions by the network before; of number 0
        'heuristic'.
    expected_cost: what it costs so, in nats; None of number 0.
    cost: what it costs by what is observed, with its own parameters, in nats.
    steps: how often its parameters were fitted to the completions by themselves.
    network: itself.
    """

    number: int
    status: str
    expected_cost: float | None
    cost: float
    steps: int
    network: Network


@dataclass(frozen=True)
class Rounds:
    """What the rounds of EM came to.

    Attributes
    ----------
    done : tuple of Round
        The networks that it went on with, each with `number`, `status`, `expected_cost`, `cost`, `steps` and
        `network`; the last one is that of the result.
    settled : bool
        Whether the last network is the best one of the data that it completes itself, so that there is nothing to go
        on with.
    excess : float or None
        By how much the last network costs more in expectation, by these data, than the best one, in nats: 0 but for
        rounding. None if that is not known, since the rounds were stopped.
    missing, values : int
        How many values are missing, of how many.
    weight : float
        What a row of the completed data counts for: a part of a record.
    """

    done: tuple[Round, ...]
    settled: bool
    excess: float | None
    missing: int
    values: int
    weight: float

    def __repr__(self) -> str:
        return f"<Rounds: {self.solved:,} solved, {'settled' if self.settled else 'not settled'}>"

    @property
    def solved(self) -> int:
        """How many rounds have a proof of their best network: if they have settled the last one found no other."""
        return len(self.done) - 1 + self.settled

    def document(self) -> dict[str, Any]:
        """The value of "em" in result.json."""
        return {
            "rounds": [
                {
                    "round": one.number,
                    "status": one.status,
                    "expected_cost": one.expected_cost,
                    "cost": one.cost,
                    "steps": one.steps,
                    "arcs": len(one.network.arcs()),
                }
                for one in self.done
            ],
            "solved": self.solved,
            "settled": self.settled,
            "excess": self.excess,
            "missing": self.missing,
            "values": self.values,
            "weight": self.weight,
        }
