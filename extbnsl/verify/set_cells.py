"""Kernels over the cells of a parent set, for `set_search`: dividing them by one more parent, what their records add up
to, and records that no further parent can tell apart.

Cells are rows of the data one after the other, each cell up to its end. Costs in nats.
"""

import math

import numpy as np

from extbnsl.kernels.bits import u64
from extbnsl.kernels.compiler import inner

ODD = u64(0x9E3779B97F4A7C15)  # mixes the words of a key; where keys are equal the words are compared


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


@inner
def find_alike(node, bits, mask, keys, members, ends):
    """The rows of each cell of a node that agree in the bits of a mask, two or more, and no more than there is room for
    in a cell: into members, up to each of ends; how many groups there are.

    node: rows, ends of cells, their number. keys: scratch, for up to 64 rows of a cell. The last of ends (2, d): the
    cell.
    """
    rows, cell_ends, cells = node
    groups, filled, start = 0, u64(0), u64(0)
    for cell in range(cells):
        stop = u64(cell_ends[cell])
        size = np.int64(stop - start)
        if size > keys.size:
            start = stop
            continue
        for i in range(size):
            key = u64(0)
            for w in range(mask.size):
                key = key * ODD + (bits[rows[start + u64(i)], w] & mask[w])
            keys[i] = key
        grouped = u64(0)
        for i in range(size):
            if grouped >> u64(i) & u64(1):
                continue
            begin, row = filled, rows[start + u64(i)]
            for j in range(i + 1, size):
                if keys[j] != keys[i]:
                    continue
                other = rows[start + u64(j)]
                differ = u64(0)
                for w in range(mask.size):
                    differ |= (bits[row, w] ^ bits[other, w]) & mask[w]
                if differ == 0:
                    if filled == begin:
                        members[filled] = row
                        filled += u64(1)
                    members[filled] = other
                    filled += u64(1)
                    grouped |= u64(1) << u64(j)
            if filled > begin:
                ends[0, groups], ends[1, groups] = filled, cell
                groups += 1
        start = stop
    return groups


@inner
def dearest(alike, tables, prior, log_arity, child, counts, enough):
    """By how much more than ln r for each state that occurs some cells cost at least, of whose rows nobody tells those
    of a group apart: the sum over cells of the most that one group costs, see `data_families`; or some of it, if that
    is enough.

    alike: how many groups there are, members and ends, as of `find_alike`. tables: what m records add by the prior, the
    largest of a parents' state, and by a state of the child's; child: its state by row, weights. counts: of records by
    these, scratch.
    """
    groups, members, ends = alike
    own, joint = tables
    codes, weights = child
    total, most, start = 0.0, 0.0, np.int64(0)
    for group in range(groups):
        if group > 0 and ends[1, group] != ends[1, group - 1]:
            total += most
            most = 0.0
            if total >= enough:
                break
        stop = ends[0, group]
        records, states = 0, 0
        for i in range(start, stop):
            row = members[i]
            records += weights[row]
            states += counts[codes[row]] == 0
            counts[codes[row]] += weights[row]
        start = stop
        if states > 1 and states - 1 >= prior * (1.0 + math.log(records)):
            cost = own[records] - states * log_arity
            for s in range(counts.size):
                cost -= joint[counts[s]]
            most = max(most, cost)
        for s in range(counts.size):
            counts[s] = 0
    return total + most
