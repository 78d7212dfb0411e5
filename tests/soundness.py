"""What must hold of the values that the search for families works on; AssertionError says what does not."""

import numpy as np

from extbnsl.kernels.varsets import WORD_BITS, words


def check_problem(problem):
    """Of a CountingProblem."""
    n = problem.table.arities.size
    assert problem.limits.shape == problem.floors.shape == (n,), "a limit and a floor for each variable"
    assert (np.diff(problem.table.arities) >= 0).all(), "arities ascend"
    assert (problem.table.arities >= 2).all(), "no variable is constant"
    assert (problem.limits >= -1).all(), "limits are sizes, or there is no child"
    assert problem.allowed.shape == problem.required.shape == (n, n), "a word on each pair"
    assert not (problem.required & ~problem.allowed).any(), "what must be may be"
    within = problem.required.sum(axis=0) <= problem.limits
    assert within[problem.limits >= 0].all(), "what must be is within the limit"
    assert problem.parameter >= 0.0, "penalties do not fall"
    assert problem.slack >= 0.0, "a slack is not negative"


def check_enumeration(found):
    """Of an Enumeration; O(what it holds)."""
    assert len(found.parents) == len(found.costs), "a list for each child"
    for varsets, costs in zip(found.parents, found.costs, strict=True):
        assert varsets.shape == (costs.size, words(len(found.costs))), "a cost for each parent set"
        assert (np.diff(costs) >= 0).all(), "families are in score order"
    if found.level is not None:
        assert not found.children, "there is one way to go on"
        assert found.level.size == found.complete_to + 1, "the level to be judged follows those that are"
        _check_level(found.level)
    for child in (*found.children, *found.ahead):
        _check_child(child)
    assert found.parts == 0 or found.pairs is not None or found.level is not None, "pairs are of parts that are over"
    assert found.paired or found.level is not None or not (found.parts or found.ahead), "a size begins with its pairs"


def _check_level(level):
    for counts in (level.below, level.here):
        present = np.bitwise_count(counts.places[:, 0])
        assert (counts.places[:, 1] == np.cumsum(present) - present).all(), "places add up"
        assert counts.joint.shape[0] == present.sum(), "T or figures of each varset that is present"
    assert level.alive.shape[0] == level.here.joint.shape[0], "children of each varset that is counted"
    if level.extend is not None:
        assert level.places is not None, "families are judged when all is counted"
        assert level.joint is not None, "families are judged when all is counted"
        assert level.joint.rows == level.joint.length, "families are judged when all is counted"
        whole = level.extend.rows == level.extend.length
        assert level.following is None or whole, "the next level follows a whole one"


def _check_child(child):
    m = child.variables.size
    assert (np.diff(child.variables) > 0).all(), "variables ascend"
    assert child.index not in child.variables, "no variable is its own parent"
    assert child.pairs.shape == (m, m), "a pair of any two variables"
    assert (child.pairs == child.pairs.T).all(), "pairs have no order"


def check_columns(data):
    """Of the Columns of an exploration."""
    n, records = data.codes.shape
    assert data.arities.shape == data.entropies.shape == (n,), "an arity and an entropy for each variable"
    assert (np.diff(data.first) == data.arities).all(), "a column for each state"
    assert data.bits.shape == (data.first[-1], -(-records // WORD_BITS)), "a bit for each record"
    assert (np.bitwise_count(data.bits).sum(axis=1) == data.counts).all(), "a bit is a record"
    assert (np.add.reduceat(data.counts, data.first[:-1]) == records).all(), "each record is in one state"
    assert data.mlogm.size == records + 1, "m ln m for every count"


def check_list(own):
    """Of a FamilyList."""
    assert own.starts.shape == (own.costs.size + 1,), "each family has a beginning, and the last one an end"
    assert own.starts[0] == 0, "the first family begins at the first parent"
    assert own.starts[-1] == own.parents.size, "every parent is of a family"
    assert (np.diff(own.starts) >= 0).all(), "families follow each other"
    assert (np.diff(own.costs) >= 0).all(), "costs ascend"
    assert all(np.all(np.diff(own.members(i)) > 0) for i in range(own.families)), "parents ascend"


def check_table(table):
    """Of the ChildTable of a search under an order."""
    m, d = table.states.shape
    assert table.arities.shape == (m,), "a number of states for each candidate"
    assert table.child.shape == table.weights.shape == (d,), "a state of the child and a weight for each row"
    assert (table.states < table.arities[:, None]).all(), "states are below the arity"
    assert (table.child < table.child_arity).all(), "states of the child are below its arity"
    assert (table.weights > 0).all(), "no row is without records"
    assert table.mlogm.size == int(table.weights.sum()) + 1, "m ln m for every count"
    assert table.parameter >= 0.0, "penalties do not fall"
