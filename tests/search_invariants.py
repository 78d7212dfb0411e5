"""What must hold of the bounds and of the states of a search; and the bounds of one varset, by their formulas."""

import itertools

import numpy as np

from extbnsl.bounds.multipliers import MEMBERS, UNIT, requirements
from extbnsl.kernels.varsets import WORD_BITS, pack, words
from extbnsl.search.ancestral import ALL_SUCCESSORS, VARIABLES


def check_families(families):
    """Assert every invariant: each row of one child, no child its own parent or one that is not there."""
    assert families.first[0] == 0, "the first child's families come first"
    assert families.first[-1] == families.costs.size == families.parents.shape[1], "every family is some child's"
    assert (np.diff(families.first) >= 0).all(), "children in order"
    assert not np.isnan(families.costs).any(), "costs are numbers"
    n = families.first.size - 1
    assert families.parents.shape[0] == words(n), "as many words as the variables need"
    varsets, everyone = np.ascontiguousarray(families.parents.T), pack(range(n), n)
    assert not (varsets & ~everyone).any(), "parents are variables"
    for x, (lo, hi) in enumerate(itertools.pairwise(families.first.tolist())):
        assert not (varsets[lo:hi] & pack((x,), n)).any(), "no child is its own parent"


def check_multipliers(multipliers, families):
    """Assert every invariant: multipliers of these families, of cuts as `cuts` says, that leave no cost below 0."""
    shape = multipliers.weights.size, MEMBERS, families.parents.shape[0]
    assert multipliers.cuts.shape == shape, "one weight for each cut"
    assert (multipliers.weights > 0).all(), "multipliers are above zero"
    members = np.any(multipliers.cuts, axis=2)
    assert members[:, 0].all(), "every cut has a cluster"
    assert (members[:, :-1] >= members[:, 1:]).all(), "clusters without members come last"
    assert multipliers.least.size == families.first.size - 1, "one least cost for each child"
    assert multipliers.reduced.size == families.costs.size, "one reduced cost for each family"
    for lo, hi in itertools.pairwise(families.first.tolist()):
        assert lo == hi or multipliers.reduced[lo:hi].min() == 0.0, "above the least of the child"


def cluster_value(multipliers, varset):
    """h1 of one varset under multipliers."""
    waiting = 0
    for cut, weight in zip(multipliers.cuts, multipliers.weights.tolist(), strict=True):
        masks = [sum(int(word) << WORD_BITS * w for w, word in enumerate(row)) for row in cut]
        waiting += (sum(bool(mask) and not mask & varset for mask in masks) + 1) // 2 * weight
    return waiting * UNIT + sum(float(mu) for x, mu in enumerate(multipliers.least) if not varset >> x & 1)


def check_clusters(bound):
    """Assert every invariant: distinct unions that weigh something, which make up the cuts."""
    assert bound.masks.size == bound.weights.size == np.unique(bound.masks).size, "one weight for each union"
    assert (bound.masks != 0).all(), "unions have members"
    assert (bound.weights != 0).all(), "they weigh something"
    assert bound.waiting.shape == (8, 256), "a row for each byte"
    assert (bound.waiting[:, 255] == 0.0).all(), "who is there waits for nothing"
    assert bound.cuts.shape == (bound.multipliers.size, MEMBERS, 1), "one multiplier for each cut"
    assert int(bound.weights.sum()) == int(bound.multipliers @ requirements(bound.cuts)), "the same bound at the root"


def check_groups(bound):
    """Assert every invariant: groups that cover the variables, and tables one after the other."""
    assert bound.start.size == bound.shift.size == bound.width.size, "one of each for every group"
    assert bound.shift.tolist() == [0, *np.cumsum(bound.width)[:-1].tolist()], "groups of neighbouring bits"
    ends = np.cumsum(1 << bound.width)
    assert bound.start.tolist() == [0, *ends[:-1].tolist()], "tables in order"
    assert bound.tables.size == ends[-1], "an entry for each subset of a group"
    assert (bound.tables[ends - 1] == 0.0).all(), "nothing is missing from a whole group"


def group_value(bound, varset):
    """h of one varset by groups."""
    total = 0.0
    for start, shift, width in zip(bound.start.tolist(), bound.shift.tolist(), bound.width.tolist(), strict=True):
        total += float(bound.tables[start + (varset >> shift & (1 << width) - 1)])
    return total


def check_grouping(grouping):
    """Assert every invariant: groups without common members, ascending, a table of all their subsets for each."""
    assert len(grouping.groups) == len(grouping.tables), "a table for each group"
    members = [v for group in grouping.groups for v in group]
    assert sorted(members) == list(range(len(members))), "each variable is in one group"
    for group, table in zip(grouping.groups, grouping.tables, strict=True):
        assert group == tuple(sorted(group)), "ascending"
        assert table.size == 1 << len(group), "an entry for each subset"
        assert table[-1] == 0.0, "nothing is missing from the whole group"


def check_ancestry(own):
    """Assert every invariant: single variables, sets in ascending size, then everything; families by child."""
    assert own.allowed.size == 256, "a set for each number"
    assert (np.bitwise_count(own.allowed[:VARIABLES]) == 1).all(), "single variables come first"
    assert (np.diff(np.bitwise_count(own.allowed[VARIABLES:]).astype(np.int64)) >= 0).all(), "in ascending size"
    assert own.allowed[ALL_SUCCESSORS] == ~np.uint64(0), "the last stands for all variables"
    assert own.parents.size == own.reduced.size, "one reduced cost for each family"
    assert own.first.size == 0 or own.first[-1] == own.parents.size, "every family is some child's"
    assert (own.reduced >= 0.0).all(), "above the least of the child"


def check_nodes(nodes, low_bits, size):
    """Assert every invariant: columns of one length, sorted, duplicate-free, varsets of `size` variables."""
    assert nodes.starts.size == nodes.highs.size + 1, "one start per partition and the end"
    assert nodes.starts[0] == 0, "the first partition starts at 0"
    columns = nodes.lows, nodes.leaf, nodes.g, nodes.successors
    assert {column.size for column in columns} == {nodes.starts[-1]}, "column lengths"
    assert nodes.best.shape[0] == nodes.lows.size, "a row per node"
    assert (np.diff(nodes.starts) > 0).all(), "no partition is empty"
    varsets = nodes.varsets(low_bits)
    assert (varsets[1:] > varsets[:-1]).all(), "sorted without duplicates"
    assert (np.bitwise_count(varsets) == size).all(), "every node has `size` variables"
    assert np.isfinite(nodes.g).all(), "finite costs"


def check_run(run):
    """Assert every invariant: a run of some nodes, in memory or in files, with fences up to its end."""
    assert run.size >= run.partitions > 0, "every partition has a node"
    assert run.first <= run.last, "partitions in order"
    assert run.nodes is not None or run.varsets is not None, "it is in memory or in files"
    assert run.costs is None or run.varsets is not None, "costs go first"
    if run.fence_highs.size:
        assert (np.diff(run.fence_highs.astype(np.int64)) > 0).all(), "fences ascend"
        assert (np.diff(run.fence_nodes) > 0).all(), "and so do the nodes below them"
        assert (run.fence_highs[0], run.fence_highs[-1]) == (run.first, run.last + 1), "from end to end"
        assert (run.fence_nodes[-1], run.fence_partitions[-1]) == (run.size, run.partitions), "all of them"


def check_state(state, variables):
    """Assert every invariant: layers in order, their runs sorted and apart, counters that fit them."""
    size = state.layer.size
    assert 0 <= size <= variables, "a layer of the search"
    assert len(state.closed) == size, "every layer before is closed"
    for runs in (*state.closed, state.layer.runs, state.following):
        for run in runs:
            check_run(run)
        assert all(a.last < b.first for a, b in itertools.pairwise(runs)), "runs follow each other"
    assert len({has_costs(run) for runs in state.closed for run in runs}) <= 1, "all closed layers alike"
    assert all(run.last < state.position for run in state.following), "what follows lies below the position"
    nodes = [sum(run.size for run in runs) for runs in (*state.closed, state.layer.runs)]
    assert state.kept == sum(nodes), "kept: all complete layers"
    assert state.expanded == sum(nodes[:-1]), "expanded: the closed layers"
    assert state.peak == max(nodes), "peak: the largest complete layer"
    assert state.edges_in + state.edges_out <= state.generated, "edges in all"
    assert nodes[-1] <= max(1, state.edges_in), "a node has an edge that leads to it"
    assert state.following_nodes <= state.edges_out, "a node has an edge that leads to it"
    assert (state.least_f == np.inf) == (nodes[-1] == 0), "f is finite where there are nodes"
    assert not state.to_commit or all(run.files for run in state.runs), "what is committed is in files"


def has_costs(run):
    """Whether the costs of a run's nodes are there."""
    return run.costs is not None if run.nodes is None else run.nodes.g.size > 0
