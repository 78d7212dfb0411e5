"""What the stages of one solve share."""

from dataclasses import dataclass

from extbnsl.core.events import Observer
from extbnsl.files.shelf import Shelf
from extbnsl.files.store import Store
from extbnsl.machine.workers import Workers
from extbnsl.proof.methods import Methods
from extbnsl.proof.stages import Stages


@dataclass(frozen=True)
class Context:
    """What the stages of one solve share and none of them changes; memory in bytes, of which the shelf may hold some.

    What changes, the standing, goes with the commits to the functions that may change it.
    """

    workers: Workers
    stages: Stages
    memory: int
    methods: Methods
    store: Store
    shelf: Shelf

    @property
    def observer(self) -> Observer:
        """Whoever watches."""
        return self.stages.observer

    @property
    def memory_left(self) -> int:
        """Bytes that the shelf does not hold."""
        return self.memory - self.shelf.held
