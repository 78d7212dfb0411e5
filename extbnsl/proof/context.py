"""What the stages of one solve share, and the one statement of how exact a proof is."""

from dataclasses import dataclass

from extbnsl.events import Observer
from extbnsl.files.shelf import Shelf
from extbnsl.machine.workers import Workers
from extbnsl.proof.commits import Commits
from extbnsl.proof.methods import Methods
from extbnsl.proof.stages import Stages
from extbnsl.proof.standing import Standing


@dataclass(frozen=True)
class Context:
    """What the stages of one solve share; memory in bytes, of which the shelf may hold some."""

    workers: Workers
    stages: Stages
    observer: Observer
    memory: int
    seed: int
    methods: Methods
    commits: Commits
    shelf: Shelf

    @property
    def memory_left(self) -> int:
        """Bytes that the shelf does not hold."""
        return self.memory - self.shelf.held

    @property
    def standing(self) -> Standing:
        return self.commits.standing
