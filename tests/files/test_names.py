"""Names: what is minted is parsed, and nothing else is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extbnsl.files import names

COUNT = st.integers(0, 10**6)
LAYER = st.builds(names.layer, st.builds(names.search, COUNT, COUNT), st.integers(0, 200))
NODES = st.builds(names.nodes, LAYER, st.integers(0, 2**64 - 1))
PARTS = st.one_of(NODES, st.builds(names.part, NODES, COUNT))
SEARCHES = st.builds(names.search, COUNT, COUNT)
PIECES = st.one_of(st.builds(names.bounds, SEARCHES, COUNT), st.builds(names.pieces, SEARCHES, COUNT))
STEMS = st.one_of(
    st.just(names.SCORES),
    SEARCHES.map(names.families),
    PIECES,
    st.builds(names.piece, PIECES, COUNT),
)
COUNTING = st.builds(names.counting, st.sampled_from(["00-families", "07-joint", "123-places"]), COUNT, COUNT)
ARRAYS = st.one_of(
    PARTS.map(names.varsets_file),
    PARTS.map(names.costs_file),
    st.builds(names.numbered, STEMS, COUNT),
    COUNTING,
    st.builds(names.explored, COUNT),
    st.builds(names.orders, COUNT),
    st.builds(names.counting, st.just("03-alive"), COUNT, COUNT, COUNT),
)


@given(ARRAYS)
def test_every_name_of_arrays_that_is_minted_is_parsed(name):
    assert names.is_arrays(name)
    assert names.is_own(name)
    assert not names.is_temporary(name)


@given(ARRAYS, st.sampled_from(["../", "/", "x", " ", ".", "layers/", "runs/"]), st.sampled_from(["\n", "~", "/", "x"]))
def test_a_name_with_anything_before_or_behind_it_is_not_parsed(name, before, behind):
    assert not names.is_own(before + name)
    assert not names.is_own(name + behind)


WHOLE = [
    *names.OUTPUTS,
    *names.TABLES,
    *names.BOOTSTRAP,
    names.MANIFEST,
    names.STATUS,
    names.DRAWING,
    names.RANKS_DRAWING,
    names.NETWORK_DRAWING,
    names.PAGE,
]
FURTHER = st.integers(2, 10**6).flatmap(lambda place: st.sampled_from(names.of_network(place)))


@given(st.one_of(st.sampled_from(WHOLE), FURTHER), st.integers(1, 2**22))
def test_a_temporary_name_is_parsed(name, process):
    temporary = names.temporary(name, process)
    assert names.is_own(name)
    assert names.is_temporary(temporary)
    assert names.is_own(temporary)
    assert not names.is_arrays(temporary)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "",
            "mine.h5",
            "scores.h5.bak",
            "network-1.json",
            "network-02.dot",
            "network-2.png",
            "network-2.json.bak",
            ".network-1.bif.7.tmp",
            "scores-.h5",
            "scores-x.h5",
            "Scores.h5",
            "layers",
            "layers/9.h5",
            "runs/1.h5",
        ),
        *(
            "bounds.h5",
            "bounds-3.h5",
            "bounds-1-1.h5",
            "bounds-1-2-3-4-5-6.h5",
            "families-1-1-1-1.h5",
            "layers/scores.h5",
            "scores-１.h5",
            "runs/1.h5",
        ),
        *(
            "layers/c1-1-02-000000000000.h5/x",
            "layers/../scores.h5",
            "layers/c1-1-02-00000000000g.h5",
            "runs/counting.h5",
        ),
        *(
            "runs/counting.h5",
            ".x.1.tmp",
            ".scores.h5.1.tmp",
            ".result.json..tmp",
            ".result.json.1.tmp.bak",
            "lock",
            "notes.txt",
        ),
    ],
)
def test_names_that_no_run_mints_are_not_parsed(name):
    assert not names.is_own(name)
