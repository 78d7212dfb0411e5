"""The nodes of a search in memory, and its open list: a hash table of varsets and a heap, which grow, for kernels.

Nodes are numbered as they come. What is known of them lies in arrays by these numbers; a table of slots leads from a
varset to its number.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.compiler import borrowed, inlined, njit
from extbnsl.kernels.hashing import mixed, slot_of

FIRST_NODES = 1 << 12
MOST_NODES = (1 << 32) - 1  # which the slots can have numbers for
SLOTS = 1.5  # for each node that there is room for
SHARES = (0.5, 0.2, 0.05)  # by which arrays grow, and slots by twice as much, the first for which there is room
MOST_ROWS = 1 << 21  # by which they grow at a time: some hundredths of a second
ENTRY_BYTES = 16  # of the queue
FIRST_ENTRIES = 1 << 12
CHILDREN = 4  # of an entry in the heap: half the levels of two, and they lie together


class NodeTable(NamedTuple):
    """The first used[0] rows are nodes, of as many as there is room for: varsets (m,) uint64 and costs (m, columns)
    float64, in nats. slots (s,) uint32: their table, s >= SLOTS m, see `extbnsl.kernels.hashing`."""

    varsets: NDArray[np.uint64]
    costs: NDArray[np.float64]
    slots: NDArray[np.uint32]
    used: NDArray[np.int64]

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return int(self.used[0])

    @property
    def bytes(self) -> int:
        """Memory that the arrays take."""
        return sum(array.nbytes for array in self)

    def check(self) -> None:
        """Assert every invariant: distinct varsets, each with one slot."""
        nodes = self.nodes
        assert nodes <= self.varsets.size == self.costs.shape[0], "nodes have room"
        assert np.unique(self.varsets[:nodes]).size == nodes, "distinct varsets"
        assert np.sort(self.slots[self.slots != 0]).tolist() == list(range(1, nodes + 1)), "one slot for each"
        assert SLOTS * self.varsets.size <= self.slots.size, "a slot is free"


class PriorityQueue(NamedTuple):
    """The first size[0] rows are entries: key (m,) float64 and item (m,) uint64. The least key comes first, of equal
    ones the least item. No entry comes before the one at (i - 1) // CHILDREN."""

    key: NDArray[np.float64]
    item: NDArray[np.uint64]
    size: NDArray[np.int64]

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


class Capacity(NamedTuple):
    """Rows of nodes, and slots."""

    rows: int
    slots: int


def new_node_table(columns: int) -> NodeTable:
    """A table without nodes, with room for some, and so many costs of each."""
    return NodeTable(
        varsets=np.zeros(FIRST_NODES, np.uint64),
        costs=np.zeros((FIRST_NODES, columns)),
        slots=np.zeros(math.ceil(SLOTS * FIRST_NODES), np.uint32),
        used=np.zeros(1, np.int64),
    )


def larger(held: int, taken: int, more: int, share: float) -> int:
    """How many rows an array gets in which so many are taken: what it has if there is room for some more, or by a share
    more, but not by more than MOST_ROWS."""
    return held if taken + more <= held else held + more + min(int(share * held), MOST_ROWS)


def wanted_capacity(table: NodeTable, more: int, share: float) -> Capacity:
    """What has room for so many more nodes."""
    rows, slots = larger(table.varsets.size, table.nodes, more, share), table.slots.size
    needed = math.ceil(SLOTS * rows)
    return Capacity(rows, slots if needed <= slots else max(needed, int((1.0 + 2.0 * share) * slots)))


def bytes_at(table: NodeTable, capacity: Capacity) -> float:
    """Memory of the table with another capacity, infinity if that is for more nodes than there are numbers."""
    if capacity.rows > MOST_NODES:
        return math.inf
    row = 8 * (1 + table.costs.shape[1])
    more = capacity.rows - table.varsets.size, capacity.slots - table.slots.size
    return table.bytes + row * more[0] + table.slots.itemsize * more[1]


def make_room(table: NodeTable, more: int, room: float, queue: PriorityQueue | None = None) -> bool:
    """Let the table, and a queue, have room for so many more nodes and entries, in place, if so many bytes do for both;
    whether they have. No kernel and no view may have their arrays."""
    for share in SHARES:
        capacity = wanted_capacity(table, more, share)
        entries = 0 if queue is None else larger(queue.key.size, int(queue.size[0]), more, share)
        if bytes_at(table, capacity) + ENTRY_BYTES * entries <= room:
            grow_nodes(table, capacity)
            if queue is not None:
                queue.key.resize(entries, refcheck=False)
                queue.item.resize(entries, refcheck=False)
            return True
    return False


def grow_nodes(table: NodeTable, capacity: Capacity) -> None:
    """Give the table another capacity, in place; no kernel and no view may have its arrays. More slots take some tens
    of ns for each node."""
    rows, slots = capacity
    table.varsets.resize(rows, refcheck=False)
    table.costs.resize((rows, table.costs.shape[1]), refcheck=False)
    if slots > table.slots.size:
        table.slots.resize(slots, refcheck=False)
        _fill_slots(table)


@njit
def _fill_slots(table):
    """Give each node a slot, whatever the slots have."""
    table = borrowed(table)
    table.slots[:] = 0
    for number in range(table.used[0]):
        varset = table.varsets[number]
        table.slots[slot_of(varset, mixed(varset), table.varsets, table.slots)] = number + 1


@inlined
def has_room(more, table):
    """Whether there is room for so many more nodes."""
    return table.used[0] + more <= table.varsets.size


@inlined
def look_up(varset, table):
    """The number of a node, -1 if it is not there."""
    return np.int64(table.slots[slot_of(varset, mixed(varset), table.varsets, table.slots)]) - 1


@inlined
def insert(varset, table):
    """The number of a node that is not there yet, in a table with room for it; its costs are yet to be set."""
    number = table.used[0]
    table.slots[slot_of(varset, mixed(varset), table.varsets, table.slots)] = number + 1
    table.used[0] = number + 1
    table.varsets[number] = varset
    return number


def new_queue(capacity: int = FIRST_ENTRIES) -> PriorityQueue:
    """A queue without entries, with room for so many."""
    return PriorityQueue(np.zeros(capacity), np.zeros(capacity, np.uint64), np.zeros(1, np.int64))


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
