"""Kernels over the cells of a parent set, for `set_search`: dividing them by one more parent, and what their records
add up to.

Cells are rows of the data one after the other, each cell up to its end. Costs in nats.
"""

import numpy as np

from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import inner


@inner
def divide(node, some, added, lanes, scratch, next_node, parts):
    """Divide some cells of a node by a variable, after so many parts of the cells before: how many parts have more than
    one record by now, and how many of these cells' have one.

    node: rows, ends of cells, lanes and records of each; some: from which cell to which; added: states of the variable
    by row, and the last of them. Of that a cell has what the others leave. scratch: for rows, for lanes, and which
    lanes are to be summed, that with the records among them. next_node: lanes, their counters and records of the parts
    with more than one record, to be written.
    """
    rows, ends, cell_lanes, cell_records = node
    codes, last = added
    picked, rest, used = scratch
    next_lanes, counters, next_records = next_node
    start, parts, ones = u64(ends[some[0] - 1]) if some[0] > 0 else u64(0), u64(parts), 0
    for cell in range(some[0], some[1]):
        stop, left = u64(ends[cell]), cell_records[cell]
        for w in used:
            rest[w] = cell_lanes[cell, w]
        for s in range(last):
            count = u64(0)
            for i in range(start, stop):
                picked[count] = rows[i]
                count += u64(codes[rows[i]] == s)
            for w in used:
                total = u64(0)
                for i in range(count):
                    total += lanes[w, picked[i]]
                next_lanes[parts, w] = total
                rest[w] -= total
            records = np.int64(counters[parts, 0])
            left -= records
            if records > 1:
                next_records[parts] = records
                parts += u64(1)
            else:
                ones += records
        if left > 1:
            next_records[parts] = left
            for w in used:
                next_lanes[parts, w] = rest[w]
            parts += u64(1)
        else:
            ones += left
        start = stop
    return np.int64(parts), ones


@inner
def sum_of(parts, table):
    """What the records of some parts add by a table; parts: counters and records of all, and from which to which."""
    _, records, some = parts
    total = 0.0
    for part in range(some[0], some[1]):
        total += table[records[part]]
    return total


@inner
def sum_of_both(parts, own_counters, table):
    """What the records of some parts, as of `sum_of`, add by a table, divided by a variable with counters from one to
    another; and how many of its states occur in them."""
    counters, records, some = parts
    begin, end = own_counters
    total, occurs = 0.0, 0
    if end == begin + 1:
        for part in range(some[0], some[1]):
            m = np.int64(counters[part, begin])
            rest = records[part] - m
            total += table[m] + table[rest]
            occurs += np.int64(m > 0) + np.int64(rest > 0)
        return total, occurs
    for part in range(some[0], some[1]):
        rest, own = records[part], 0.0
        for q in range(begin, end):
            m = np.int64(counters[part, q])
            own += table[m]
            rest -= m
            occurs += m > 0
        total += own + table[rest]
        occurs += rest > 0
    return total, occurs


@inner
def keep_parts(node, added, weights, plain, scratch, kept_node):
    """Make the parts of a node's cells, that `divide` has counted, the cells of the next node: the number of those
    that are kept, and the most records of one.

    plain: whether a part of one row adds nothing, and so is not kept. scratch: records, place of each part of a cell.
    kept_node: rows, ends, lanes and records of the cells, and which lanes are used; the lanes have all parts, and the
    others are to be written.
    """
    rows, ends, cells, _, _ = node
    codes, last = added
    records, place = scratch
    kept_rows, kept_ends, lanes, kept_records, used = kept_node
    start, filled, kept, part, largest = u64(0), 0, u64(0), u64(0), 1
    for cell in range(cells):
        stop = u64(ends[cell])
        for s in range(last + 1):
            place[s], records[s] = 0, 0
        for i in range(start, stop):
            s = codes[rows[i]]
            place[s] += 1
            records[s] += weights[rows[i]]
        for s in range(last + 1):
            size = place[s]
            place[s] = -1
            if records[s] <= 1:
                continue
            if size > 1 or not plain:
                place[s] = filled
                filled += size
                for w in used:
                    lanes[kept, w] = lanes[part, w]
                kept_ends[kept], kept_records[kept] = filled, records[s]
                largest = max(largest, records[s])
                kept += u64(1)
            part += u64(1)
        for i in range(start, stop):
            s = codes[rows[i]]
            if place[s] >= 0:
                kept_rows[place[s]] = rows[i]
                place[s] += 1
        start = stop
    return np.int64(kept), largest
