"""The table of nodes against a dict, and the open list against a sorted list."""

import heapq

import numba
import numpy as np

from extbnsl.lab.baselines.node_table import (
    FIRST_NODES,
    FULLEST,
    Capacity,
    bytes_at,
    grow_nodes,
    has_room,
    insert,
    larger,
    look_up,
    new_node_table,
    wanted_capacity,
)
from extbnsl.lab.baselines.priority_queue import FIRST_ENTRIES, grow_queue, new_queue, pop, push


@numba.njit
def insert_new(varsets, begin, table):
    """Insert the varsets from this one on that are not there, as long as there is room; the number of the next."""
    for i in range(begin, varsets.size):
        if look_up(varsets[i], table) < 0:
            if not has_room(1, table):
                return i
            table.costs[insert(varsets[i], table), 0] = varsets[i]
    return varsets.size


@numba.njit
def numbers_of(varsets, table):
    numbers = np.empty(varsets.size, np.int64)
    for i in range(varsets.size):
        numbers[i] = look_up(varsets[i], table)
    return numbers


def filled(varsets, columns=1):
    """A table of these varsets, that grows as it must."""
    table, done = new_node_table(columns), 0
    while done < varsets.size:
        done = insert_new(varsets, done, table)
        if done < varsets.size:
            capacity = wanted_capacity(table, 1, 0.2)
            told = bytes_at(table, capacity)
            grow_nodes(table, capacity)
            assert table.bytes == told
    return table


def test_table_is_a_dict():
    rng = np.random.default_rng(0)
    for most, count in ((50, 300), (1 << 20, 400_000), (1 << 63, 60_000)):  # nearly all subsets, then some
        varsets = rng.integers(0, most, count).astype(np.uint64)
        table = filled(varsets)
        table.check()
        distinct = list(dict.fromkeys(varsets.tolist()))
        assert table.varsets[: table.nodes].tolist() == distinct
        np.testing.assert_array_equal(numbers_of(np.array(distinct, np.uint64), table), np.arange(len(distinct)))
        np.testing.assert_array_equal(table.costs[: table.nodes, 0], table.varsets[: table.nodes])
        others = rng.integers(0, 1 << 63, 1000).astype(np.uint64)
        others = others[~np.isin(others, varsets)]
        assert (numbers_of(others, table) == -1).all()
        assert table.used[1] >= len(distinct) / FULLEST


def test_a_table_without_room_stays_as_it_is():
    varsets = np.arange(2 * FIRST_NODES, dtype=np.uint64)
    table = new_node_table(2)
    assert insert_new(varsets, 0, table) == FIRST_NODES
    table.check()
    assert numbers_of(varsets, table).tolist() == [*range(FIRST_NODES), *[-1] * FIRST_NODES]


def test_a_full_page_takes_no_more():
    table = new_node_table(1)
    grow_nodes(table, Capacity(2 * FULLEST, 1))
    assert insert_new(np.arange(2 * FULLEST, dtype=np.uint64), 0, table) == FULLEST
    table.check()
    assert wanted_capacity(table, 1, 0.5) == Capacity(2 * FULLEST, 2)


def test_larger():
    assert larger(100, 90, 10, 0.5, 1000) == 100
    assert larger(100, 91, 10, 0.5, 1000) == 160
    assert larger(100, 91, 10, 0.5, 20) == 130


def test_an_index_has_no_more_pages_than_its_directory():
    table = new_node_table(1)
    assert bytes_at(table, Capacity(FIRST_NODES, 1 << 16)) < np.inf
    assert bytes_at(table, Capacity(FIRST_NODES, 1 + (1 << 16))) == np.inf


@numba.njit
def push_one(key, item, queue):
    push(key, item, queue)


@numba.njit
def pop_one(queue):
    return pop(queue)


def test_queue_is_a_heap():
    rng = np.random.default_rng(1)
    queue, twin = new_queue(), []
    for step in range(40_000):
        if twin and rng.random() < 0.4:
            assert pop_one(queue) == heapq.heappop(twin)
        else:
            if queue.size[0] == queue.capacity:
                grow_queue(queue, queue.capacity + 100)
            entry = float(rng.integers(-50, 50)), int(rng.integers(0, 1 << 60))
            push_one(entry[0], np.uint64(entry[1]), queue)
            heapq.heappush(twin, entry)
        if step % 1000 == 0:
            queue.check()
    assert len(twin) > FIRST_ENTRIES
    assert [pop_one(queue) for _ in range(len(twin))] == sorted(twin)
