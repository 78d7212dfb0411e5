"""What the stages of a solve share, for a test of one of them."""

import contextlib
from pathlib import Path

from cases import shelf_of

from extbnsl.core.events import ignore
from extbnsl.files.store import Store
from extbnsl.machine.workers import Workers, never
from extbnsl.proof.context import Context, Stages
from extbnsl.proof.methods import Methods


@contextlib.contextmanager
def context_of(lower_bound="auto", memory=1 << 30, stop=never, observer=ignore):
    """A context with one thread, so much memory and no disk."""
    with Workers(1, stop) as workers:
        methods = Methods(lower_bound=lower_bound)
        yield Context(workers, Stages(observer, {}), memory, methods, Store(Path(), 0), shelf_of(1 << 28))
