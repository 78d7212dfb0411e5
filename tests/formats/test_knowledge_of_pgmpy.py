"""Knowledge as pgmpy has it: its own object if it is installed, and one with the same attributes."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from extbnsl.core.claims import Claim
from extbnsl.core.errors import InputError
from extbnsl.core.knowledge import Knowledge
from extbnsl.formats.knowledge_file import knowledge_given
from extbnsl.parents.constraints import constraints_of

NAMES = tuple("abcde")


class Expert:
    """What pgmpy's ExpertKnowledge holds, and which arcs its climb leaves out: those that are forbidden, those outside
    a search space that is not empty, and those from a later set of the temporal order to an earlier one."""

    def __init__(self, forbidden_edges=(), required_edges=(), temporal_order=None, search_space=()):
        self.forbidden_edges, self.required_edges = set(forbidden_edges), set(required_edges)
        self.search_space = set(search_space)
        self.temporal_order = [[]] if temporal_order is None else temporal_order
        self.temporal_ordering = {name: at for at, own in enumerate(self.temporal_order) for name in own}

    def limit_search_space(self, names):
        self.forbidden_edges |= set(itertools.permutations(names, 2)) - self.search_space

    def _orient_temporal_forbidden_edges(self, graph, only_edges):
        when = self.temporal_ordering
        self.forbidden_edges |= {(p, c) for p, c in itertools.permutations(when, 2) if when[p] > when[c]}


def experts():
    yield Expert
    try:
        from pgmpy.estimators import ExpertKnowledge
    except ImportError:
        return
    yield ExpertKnowledge


@pytest.mark.parametrize("kind", list(experts()))
def test_an_object_leaves_the_arcs_that_it_leaves_in_pgmpy(kind):
    every = list(itertools.permutations(NAMES, 2))
    for seed in range(60):
        rng = np.random.default_rng(seed)
        some = [[arc for arc in every if rng.random() < share] for share in (0.2, 0.5)]
        order = None
        if rng.random() < 0.5:
            cut = sorted(rng.integers(0, 6, 2).tolist())
            mixed = rng.permutation(NAMES).tolist()
            order = [mixed[: cut[0]], mixed[cut[0] : cut[1]], mixed[cut[1] :]]
        space = some[1] if rng.random() < 0.7 else None
        expert = kind(forbidden_edges=some[0], temporal_order=order, search_space=space or set())
        constraints = constraints_of(Claim(knowledge=knowledge_given(expert)), NAMES)
        if expert.search_space:
            expert.limit_search_space(NAMES)
        expert._orient_temporal_forbidden_edges(None, only_edges=False)
        left = {(NAMES[p], NAMES[c]) for p, c in np.argwhere(constraints.allowed)}
        assert left == set(every) - set(expert.forbidden_edges)


def test_a_search_space_is_directed():
    known = knowledge_given(SimpleNamespace(search_space=[("a", "b"), ("c", "b"), ("b", "c")]))
    assert known == Knowledge(forbidden=(("b", "a"),), allowed=(("a", "b"), ("c", "b"), ("b", "c")))


@pytest.mark.parametrize("made", [dict, SimpleNamespace])
def test_other_names_of_pgmpy_are_understood(made):
    known = made(fixed_edges=[("a", "b")], black_list={("c", "d")}, white_list=[("a", "b")], root_nodes=["a"])
    assert knowledge_given(known) == Knowledge(
        required=(("a", "b"),), forbidden=(("c", "d"), ("b", "a")), allowed=(("a", "b"),), roots=("a",)
    )
    nothing = made(required_edges=None, forbidden_edges=[], temporal_order=[[]], search_space=set())
    assert knowledge_given(nothing) == Knowledge()
    assert not constraints_of(Claim(knowledge=knowledge_given(made(white_list=[]))), NAMES).allowed.any()


@pytest.mark.parametrize("made", [dict, SimpleNamespace])
@pytest.mark.parametrize("more", [{"orientations": {("a", "b")}}, {"orientation_fn": len}, {"max_indegree": 2}])
def test_what_is_not_known_is_named_and_not_ignored(made, more):
    with pytest.raises(InputError, match=f"knowledge: {next(iter(more))!r} cannot be kept to here; of pgmpy's names"):
        knowledge_given(made(required_edges=[("a", "b")], **more))


def test_what_is_no_list_of_arcs_is_named():
    with pytest.raises(InputError, match="knowledge: required_edges is 'ab', which is no list"):
        knowledge_given(SimpleNamespace(required_edges="ab"))
    with pytest.raises(InputError, match=r"knowledge: required\.1: It should have at least 2 items"):
        knowledge_given(SimpleNamespace(required_edges=[("a",)]))


def test_names_of_pgmpy_are_no_patterns():
    names = ("x[1]", "x1", "x*")
    known = knowledge_given(SimpleNamespace(forbidden_edges=[("x[1]", "x1"), ("x*", "x1")], root_nodes=[np.str_("x*")]))
    assert known.over(names) == Knowledge(forbidden=(("x[1]", "x1"), ("x*", "x1")), roots=("x*",))
    with pytest.raises(InputError, match=r"forbidden: no variable fits 'x\[\*\]'"):
        known.over(("x[1]", "x1", "x2"))


def test_numbers_are_names():
    known = knowledge_given(SimpleNamespace(required_edges=[(1, np.int64(2))]))
    assert known == Knowledge(required=(("1", "2"),))
