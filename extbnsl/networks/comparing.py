"""What two networks of the same variables have in common: arcs, and classes."""

from dataclasses import dataclass
from typing import Any

from extbnsl.networks.network import Network, cpdag

Named = tuple[str, str]  # the names of a parent and its child


@dataclass(frozen=True)
class Comparison:
    """How a network differs from another one, of the same variables.

    Attributes
    ----------
    both : tuple of (str, str)
        The arcs (parent, child) that both have.
    reversed : tuple of (str, str)
        Those of the first one that the other has turned.
    first_alone : tuple of (str, str)
        Those of the first one whose variables the other does not join.
    second_alone : tuple of (str, str)
        Those of the other one whose variables the first does not join.
    distance : int
        The structural Hamming distance of the graphs: how many pairs of variables are joined in another way.
    class_distance : int
        That of their equivalence classes: how many pairs are joined in one alone, or by an arc that has another
        direction, or none, in the other (Tsamardinos, Brown and Aliferis 2006, Machine Learning 65).
    """

    both: tuple[Named, ...]
    reversed: tuple[Named, ...]
    first_alone: tuple[Named, ...]
    second_alone: tuple[Named, ...]
    distance: int
    class_distance: int

    def document(self) -> dict[str, Any]:
        """All of it as JSON values."""
        return {key: list(map(list, own)) if isinstance(own, tuple) else own for key, own in vars(self).items()}


def compared(first: Network, second: Network) -> Comparison:
    """How two acyclic networks of the same variables, in the same order, differ. O(n + arcs) and as `cpdag`."""
    own, other = set(first.arcs()), set(second.arcs())
    turned = {arc[::-1] for arc in other}
    groups = (own & other, own & turned, own - other - turned, other - own - {arc[::-1] for arc in own})
    both, turned_round, first_alone, second_alone = (
        tuple((first.names[p], first.names[c]) for p, c in sorted(group)) for group in groups
    )
    distance = sum(map(len, groups[1:]))
    of_classes = _differing(_marks(first), _marks(second))
    return Comparison(both, turned_round, first_alone, second_alone, distance, of_classes)


def _marks(network: Network) -> dict[frozenset[int], tuple[int, int]]:
    """How the class of a network joins pairs: (parent, child), or (-1, -1) for an edge that may turn."""
    directed, undirected = cpdag(network)
    return {frozenset(arc): arc for arc in directed} | {frozenset(edge): (-1, -1) for edge in undirected}


def _differing(first: dict[frozenset[int], tuple[int, int]], second: dict[frozenset[int], tuple[int, int]]) -> int:
    return sum(first.get(pair) != second.get(pair) for pair in first.keys() | second.keys())
