"""The step of a certificate that is a tree of branching; see `certificate`."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from extbnsl.verify.steps import Cut, Wholes


class Answer(NamedTuple):
    """Whether a variable, the child, has another one as a parent."""

    child: str
    parent: str
    has: bool

    def document(self) -> list[Any]:
        """As a JSON value."""
        return list(self)


class NodePass(NamedTuple):
    """A pass of a tree."""

    cuts: tuple[int, ...]  # by places in the cuts of the tree
    multipliers: Wholes


@dataclass(frozen=True)
class TreeNode:
    """A node of branching."""

    above: int  # the place of the one above it, -1 for the first
    answer: Answer | None  # what is answered there, None for the first
    passes: tuple[NodePass, ...]


@dataclass(frozen=True)
class Branching:
    """Some variables, whose families cost at least so much, as a tree shows."""

    variables: tuple[str, ...]
    lower_bound: float  # in nats
    cuts: tuple[Cut, ...]  # of all its passes
    nodes: tuple[TreeNode, ...]  # each after the one above it
