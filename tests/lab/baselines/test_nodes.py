"""The table of nodes against a dict, and the open list against a sorted list."""

import heapq

import numba
import numpy as np
import pytest

from extbnsl.lab.baselines.nodes import (
    FIRST_ENTRIES,
    FIRST_NODES,
    MOST_NODES,
    MOST_ROWS,
    SLOTS,
    Capacity,
    bytes_at,
    grow_nodes,
    has_room,
    insert,
    larger,
    look_up,
    make_room,
    new_node_table,
    new_queue,
    pop,
    push,
    wanted_capacity,
)


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


@pytest.mark.slow
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
        assert table.slots.size >= SLOTS * len(distinct)


def test_a_table_without_room_stays_as_it_is():
    varsets = np.arange(2 * FIRST_NODES, dtype=np.uint64)
    table = new_node_table(2)
    assert insert_new(varsets, 0, table) == FIRST_NODES
    table.check()
    assert numbers_of(varsets, table).tolist() == [*range(FIRST_NODES), *[-1] * FIRST_NODES]


def test_slots_grow_with_the_rows_by_twice_the_share():
    table = new_node_table(1)
    assert insert_new(np.arange(FIRST_NODES, dtype=np.uint64), 0, table) == FIRST_NODES
    for share in (0.5, 0.05, 0.0):
        rows, slots = wanted_capacity(table, 1, share)
        assert rows == FIRST_NODES + 1 + int(share * FIRST_NODES)
        assert SLOTS * rows <= slots <= max(SLOTS * rows + 1, (1 + 2 * share) * table.slots.size)
    grow_nodes(table, wanted_capacity(table, 1, 0.5))
    table.check()
    assert wanted_capacity(table, 1, 0.5) == Capacity(table.varsets.size, table.slots.size)


def test_larger():
    assert larger(100, 90, 10, 0.5) == 100
    assert larger(100, 91, 10, 0.5) == 160
    assert larger(1 << 30, 1 << 30, 10, 0.5) == (1 << 30) + 10 + MOST_ROWS


def test_a_table_has_no_more_nodes_than_numbers():
    table = new_node_table(1)
    slots = table.slots.size
    assert bytes_at(table, Capacity(MOST_NODES, slots)) < np.inf
    assert bytes_at(table, Capacity(MOST_NODES + 1, slots)) == np.inf


@numba.njit
def push_one(key, item, queue):
    push(key, item, queue)


@numba.njit
def pop_one(queue):
    return pop(queue)


@pytest.mark.slow
def test_queue_is_a_heap():
    rng = np.random.default_rng(1)
    table, queue, twin = new_node_table(1), new_queue(), []
    for step in range(40_000):
        if twin and rng.random() < 0.4:
            assert pop_one(queue) == heapq.heappop(twin)
        else:
            if queue.size[0] == queue.key.size:
                assert not make_room(table, 1, table.bytes + queue.bytes, queue)
                assert make_room(table, 1, table.bytes + 2 * queue.bytes, queue)
            entry = float(rng.integers(-50, 50)), int(rng.integers(0, 1 << 60))
            push_one(entry[0], np.uint64(entry[1]), queue)
            heapq.heappush(twin, entry)
        if step % 1000 == 0:
            queue.check()
    assert len(twin) > FIRST_ENTRIES
    assert [pop_one(queue) for _ in range(len(twin))] == sorted(twin)
