"""The open list of a best-first search: a heap of pairs of numbers that grows, for kernels."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.compiler import inlined

ENTRY_BYTES = 16
FIRST_ENTRIES = 1 << 12
CHILDREN = 4  # of an entry in the heap: half the levels of two, and they lie together


class PriorityQueue(NamedTuple):
    """The first size[0] rows are entries: key (m,) float64 and item (m,) uint64. The least key comes first, of equal
    ones the least item. No entry comes before the one at (i - 1) // CHILDREN."""

    key: NDArray[np.float64]
    item: NDArray[np.uint64]
    size: NDArray[np.int64]

    @property
    def capacity(self) -> int:
        """How many entries there is room for."""
        return self.key.size

    @property
    def bytes(self) -> int:
        """Memory that the arrays take."""
        return self.key.nbytes + self.item.nbytes

    def check(self) -> None:
        """Assert every invariant."""
        entries = list(zip(self.key.tolist(), self.item.tolist(), strict=True))[: int(self.size[0])]
        assert self.key.size == self.item.size, "a key for each item"
        for i in range(1, len(entries)):
            assert entries[(i - 1) // CHILDREN] <= entries[i], "in the order of a heap"


def new_queue(capacity: int = FIRST_ENTRIES) -> PriorityQueue:
    """A queue without entries, with room for so many."""
    return PriorityQueue(np.zeros(capacity), np.zeros(capacity, np.uint64), np.zeros(1, np.int64))


def grow_queue(queue: PriorityQueue, capacity: int) -> None:
    """Give the queue room for more entries, in place; no kernel and no view may have its arrays."""
    queue.key.resize(capacity, refcheck=False)
    queue.item.resize(capacity, refcheck=False)


@inlined
def push(key, item, queue):
    """Put an entry into a queue that has room for it."""
    keys, items = queue.key, queue.item
    at = queue.size[0]
    queue.size[0] = at + 1
    while at > 0:
        above = (at - 1) // CHILDREN
        if keys[above] < key or (keys[above] == key and items[above] <= item):
            break
        keys[at], items[at] = keys[above], items[above]
        at = above
    keys[at], items[at] = key, item


@inlined
def pop(queue):
    """Take the first entry out of a queue that has some: (key, item)."""
    keys, items = queue.key, queue.item
    first = keys[0], items[0]
    size = queue.size[0] - 1
    queue.size[0] = size
    key, item = keys[size], items[size]
    at = np.int64(0)
    while True:
        least = CHILDREN * at + 1
        if least >= size:
            break
        for below in range(least + 1, min(CHILDREN * at + CHILDREN + 1, size)):
            if keys[below] < keys[least] or (keys[below] == keys[least] and items[below] < items[least]):
                least = below
        if key < keys[least] or (key == keys[least] and item <= items[least]):
            break
        keys[at], items[at] = keys[least], items[least]
        at = least
    if size > 0:
        keys[at], items[at] = key, item
    return first
