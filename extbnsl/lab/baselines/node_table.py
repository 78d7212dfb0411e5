"""The nodes of a search in memory: a hash table of varsets that grows, for kernels.

Nodes are numbered as they come. What is known of them lies in arrays by these numbers; an index leads from a varset to
its number. It grows by pages (extendible hashing, Fagin et al. 1979): the first bits of a hash lead to a page, by way
of a directory, the last bits to the place in it where open addressing begins, and a page that is too full is split into
two. So no step takes long, however large the table is. A place has some of the other bits too, so that hardly any other
varset is looked at in vain.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import inlined, njit

PAGE_BITS, DIRECTORY_BITS = 16, 16  # a page has 2^PAGE_BITS places, the directory 2^DIRECTORY_BITS entries
PLACES, ENTRIES = 1 << PAGE_BITS, 1 << DIRECTORY_BITS
NUMBER_BITS = u64(40)  # of a place; the others are of the hash
FULLEST = PLACES * 3 // 4  # places that are taken of a page before it is split
FIRST_NODES = 1 << 12
SHARES = (0.5, 0.2, 0.05)  # by which arrays grow, the first for which there is room
MOST_ROWS, MOST_PAGES = 1 << 21, 1 << 7  # by which they grow at a time: some hundredths of a second
OTHER = -2  # instead of the number of a node


class NodeTable(NamedTuple):
    """The first used[0] rows are nodes: varsets (m,) uint64 and costs (m, columns) float64, in nats.

    The index: the first used[1] rows of places (pages, PLACES) uint64 are pages: the number of a node plus 1, below
    some bits of its hash, or 0. taken (pages,) int64: how many places of a page are taken. directory (ENTRIES,) int32:
    the page for the first bits of a hash; on how many of these a page depends is its depth (pages,) int64. used[2]: an
    entry of a page that is to be split, or -1.
    """

    varsets: NDArray[np.uint64]
    costs: NDArray[np.float64]
    places: NDArray[np.uint64]
    taken: NDArray[np.int64]
    depth: NDArray[np.int64]
    directory: NDArray[np.int32]
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
        """Assert every invariant: distinct varsets, each with one place in the index, and a directory of the pages."""
        nodes, pages, _ = self.used.tolist()
        assert nodes <= self.varsets.size == self.costs.shape[0], "nodes have room"
        assert np.unique(self.varsets[:nodes]).size == nodes, "distinct varsets"
        numbers = self.places[self.places != 0] & np.uint64((1 << int(NUMBER_BITS)) - 1)
        assert np.sort(numbers).tolist() == list(range(1, nodes + 1)), "one place for each"
        assert (self.places != 0).sum(axis=1).tolist() == self.taken.tolist(), "places are counted"
        assert (self.taken < PLACES).all(), "a place is free"
        listed, entries = np.unique(self.directory, return_counts=True)
        assert listed.tolist() == list(range(pages)), "each page is in the directory"
        assert entries.tolist() == (ENTRIES >> self.depth[:pages]).tolist(), "as often as its depth tells"


class Capacity(NamedTuple):
    """Rows of nodes, and pages of the index."""

    rows: int
    pages: int


def new_node_table(columns: int) -> NodeTable:
    """A table without nodes, with room for some, and so many costs of each."""
    return NodeTable(
        varsets=np.zeros(FIRST_NODES, np.uint64),
        costs=np.zeros((FIRST_NODES, columns)),
        places=np.zeros((1, PLACES), np.uint64),
        taken=np.zeros(1, np.int64),
        depth=np.zeros(1, np.int64),
        directory=np.zeros(ENTRIES, np.int32),
        used=np.array([0, 1, -1], np.int64),
    )


def larger(held: int, taken: int, more: int, share: float, most: int) -> int:
    """How many rows an array gets in which so many are taken: what it has if there is room for some more, or by a share
    more, but not by more than `most`."""
    return held if taken + more <= held else held + more + min(int(share * held), most)


def wanted_capacity(table: NodeTable, more: int, share: float) -> Capacity:
    """What has room for so many more nodes."""
    return Capacity(
        larger(table.varsets.size, table.nodes, more, share, MOST_ROWS),
        larger(table.taken.size, int(table.used[1]), int(table.used[2] >= 0), share, MOST_PAGES),
    )


def bytes_at(table: NodeTable, capacity: Capacity) -> float:
    """Memory of the table with another capacity, infinity if the directory has not as many entries as it has pages."""
    if capacity.pages > ENTRIES:
        return math.inf
    row, page = 8 * (1 + table.costs.shape[1]), 8 * (PLACES + 2)
    return table.bytes + row * (capacity.rows - table.varsets.size) + page * (capacity.pages - table.taken.size)


def grow_nodes(table: NodeTable, capacity: Capacity) -> None:
    """Give the table another capacity, in place, with which a page that is to be split is; no kernel and no view may
    have its arrays."""
    rows, pages = capacity
    table.varsets.resize(rows, refcheck=False)
    table.costs.resize((rows, table.costs.shape[1]), refcheck=False)
    table.places.resize((pages, PLACES), refcheck=False)
    table.taken.resize(pages, refcheck=False)
    table.depth.resize(pages, refcheck=False)
    if table.used[2] >= 0:
        _split(table)


@inlined
def has_room(more, table):
    """Whether there is room for so many more nodes, far fewer than a page has places."""
    return table.used[0] + more <= table.varsets.size and table.used[2] < 0


@inlined
def _hash(varset):
    """The bits of a varset, mixed: neighbouring varsets are far apart (the finaliser of MurmurHash3)."""
    mixed = (varset ^ (varset >> u64(33))) * u64(0xFF51AFD7ED558CCD)
    mixed = (mixed ^ (mixed >> u64(33))) * u64(0xC4CEB9FE1A85EC53)
    return mixed ^ (mixed >> u64(33))


@inlined
def _tag(hashed):
    """The bits of a hash that its place has, at the upper end: those above the last ones, which lead to it."""
    return hashed >> u64(PAGE_BITS) << NUMBER_BITS


@inlined
def look_up(varset, table):
    """The number of a node, -1 if it is not there."""
    hashed = _hash(varset)
    page = table.directory[hashed >> u64(64 - DIRECTORY_BITS)]
    at = hashed & u64(PLACES - 1)
    number = _number_at(page, at, varset, _tag(hashed), table)
    while number == OTHER:
        at = (at + u64(1)) & u64(PLACES - 1)
        number = _number_at(page, at, varset, _tag(hashed), table)
    return number


@inlined
def _number_at(page, at, varset, tag, table):
    """The number of a node if it has this place, -1 if nobody has it, OTHER if another node has.

    A varset is read in any case: where a branch decides whether an array is needed, the compiler counts references.
    """
    place = table.places[page, at]
    alike = place != 0 and place >> NUMBER_BITS == tag >> NUMBER_BITS
    number = np.int64(place & ((u64(1) << NUMBER_BITS) - u64(1))) - 1 if alike else np.int64(0)
    same = table.varsets[number] == varset
    return np.int64(-1) if place == 0 else (number if alike and same else OTHER)


@inlined
def insert(varset, table):
    """The number of a node that is not there yet, in a table with room for it; its costs are yet to be set."""
    number = table.used[0]
    hashed = _hash(varset)
    entry = hashed >> u64(64 - DIRECTORY_BITS)
    page = table.directory[entry]
    table.used[0] = number + 1
    table.varsets[number] = varset
    _enter(page, hashed, number, table)
    if table.taken[page] >= FULLEST:
        table.used[2] = np.int64(entry)
    return number


@inlined
def _enter(page, hashed, number, table):
    """Give a node, which has none, a place in this page."""
    at = hashed & u64(PLACES - 1)
    while table.places[page, at]:
        at = (at + u64(1)) & u64(PLACES - 1)
    table.places[page, at] = _tag(hashed) | u64(number + 1)
    table.taken[page] += 1


@njit
def _split(table):
    """Split the page that is to be split into two, by the next bit of the hash: some milliseconds."""
    page, other = table.directory[table.used[2]], table.used[1]
    depth = table.depth[page] + 1
    table.depth[page] = table.depth[other] = depth
    some = ENTRIES >> depth  # entries of each of the two
    begin = table.used[2] // (2 * some) * (2 * some)
    table.directory[begin + some : begin + 2 * some] = other
    before = table.places[page].copy()
    table.places[page] = 0
    table.taken[page] = 0
    for place in before:
        if place:
            number = np.int64(place & ((u64(1) << NUMBER_BITS) - u64(1))) - 1
            hashed = _hash(table.varsets[number])
            _enter(table.directory[hashed >> u64(64 - DIRECTORY_BITS)], hashed, number, table)
    table.used[1], table.used[2] = other + 1, -1
