"""What the networks of resamples say together, and how it is written."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from extbnsl.core.arguments import check_share
from extbnsl.core.claims import OPTIMAL
from extbnsl.core.knowledge import NOTHING, Knowledge
from extbnsl.networks.arc_frequencies import ArcFrequency, Counts, arc_frequencies, consensus, count_arcs
from extbnsl.networks.network import Network

THRESHOLD = 0.5  # of the networks that join a pair of the consensus
HEADER = ("from", "to", "strength", "direction", "arc", "compelled", "reversible")


@dataclass(frozen=True)
class Resample:
    """The network of a resample, counted from 1: 'optimal', or why that was not proved, and bounds in nats, of the
    resample's own score."""

    number: int
    status: str
    cost: float
    lower_bound: float
    network: Network


@dataclass(frozen=True)
class Bootstrap:
    """What the networks of resamples say together: those of the first so many of `resamples` that were asked for.

    Attributes
    ----------
    names : tuple of str
        The names of the variables.
    resamples : int
        How many were asked for.
    done : tuple of Resample
        The resamples that were solved, in their order, each with `number`, `status`, `cost`, `lower_bound` and
        `network`.
    knowledge : Knowledge
        Which networks are allowed, and so are members of their classes; a consensus has the required arcs first.
    targets : tuple of tuple of str
        The sets of variables that were set from outside in some record, which tell classes apart.
    """

    names: tuple[str, ...]
    resamples: int
    done: tuple[Resample, ...]
    knowledge: Knowledge = field(default=NOTHING, repr=False)
    targets: tuple[tuple[str, ...], ...] = field(default=(), repr=False)

    def __repr__(self) -> str:
        return f"<Bootstrap of {len(self.done):,} of {self.resamples:,} resamples, {self.proved:,} proved>"

    @property
    def proved(self) -> int:
        """How many of the networks are proved optimal for their resample."""
        return sum(one.status == OPTIMAL for one in self.done)

    @cached_property
    def arcs(self) -> tuple[ArcFrequency, ...]:
        """How sure each arc is that any of the networks has in either direction, the strongest pair first; pandas makes
        a data frame of it."""
        return arc_frequencies(self._counts, self.names)

    def consensus(self, threshold: float = THRESHOLD) -> Network:
        """The network of the pairs that at least this share of the networks join.

        It has no cycle: pairs are taken with the strongest first, and an arc that would close one is left out, see
        `extbnsl.networks.arc_frequencies.consensus`.

        Parameters
        ----------
        threshold : float, default 0.5
            A share, from 0 to 1.

        Returns
        -------
        Network
            The consensus of the networks.

        Raises
        ------
        InputError
            For what is no share.
        """
        check_share("threshold", threshold)
        parents: list[list[int]] = [[] for _ in self.names]
        required = [(self.names.index(parent), self.names.index(child)) for parent, child in self.knowledge.required]
        for parent, child in consensus(self._counts, threshold, required):
            parents[child].append(parent)
        return Network(self.names, tuple(map(tuple, parents)))

    def document(self) -> dict[str, Any]:
        """The value of "bootstrap" in result.json."""
        agreed = self.consensus().arcs()
        return {
            "resamples": self.resamples,
            "done": len(self.done),
            "proved": self.proved,
            "arcs": [dict(zip(HEADER, vars(one).values(), strict=True)) for one in self.arcs],
            "consensus": {
                "threshold": THRESHOLD,
                "arcs": [[self.names[p], self.names[x]] for p, x in agreed],
                "left_out": sum(one.strength >= THRESHOLD for one in self.arcs) // 2 - len(agreed),
            },
        }

    @cached_property
    def _counts(self) -> Counts:
        return count_arcs((one.network for one in self.done), len(self.names), self.knowledge, self.targets)
