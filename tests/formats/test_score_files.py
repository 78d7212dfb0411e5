"""LocalScores and the files that hold them: canonical order, strict reading, exact round trips."""

import contextlib
import gzip
import math

import naive
import numpy as np
import pytest
from data_invariants import check_scores
from hypothesis import given, settings
from hypothesis import strategies as st

from extbnsl.core.claims import Claim
from extbnsl.core.errors import InputError
from extbnsl.formats import score_reader
from extbnsl.formats.kinds import is_score_file
from extbnsl.formats.score_reader import read_scores
from extbnsl.formats.score_writer import file_names, write_scores
from extbnsl.kernels.varsets import pack, unpack
from extbnsl.scores.local import LARGEST_COST, LocalScores, local_scores

JKL = """3
rain 2
-10.5 0
-8.25 1 wet grass
wet 1
-4e0 0
grass 2
-3.0 2 rain wet
-5.5 0
""".replace("wet grass", "wet")

PSS = """META pss_version = 0.1
# made by hand

VAR rain
META arity=2
-10.5
-8.25 wet

VAR wet
-4.0
VAR grass
-5.5
-3.0 wet rain
"""


def random_scores(seed, names=None, n=5):
    """Random families, a few of them tied, the empty one among them."""
    rng = np.random.default_rng(seed)
    names = names or [f"v{i}" for i in range(n)]
    families = []
    for child in range(len(names)):
        others = [i for i in range(len(names)) if i != child]
        chosen = {frozenset()}
        chosen |= {
            frozenset(rng.choice(others, int(rng.integers(0, min(3, len(others)) + 1)), False)) for _ in range(9)
        }
        varsets = np.stack([pack(map(int, parents), len(names)) for parents in chosen])
        costs = rng.normal(0, 100, len(chosen)).round(int(rng.integers(0, 16)))
        families.append((varsets, costs))
    return local_scores(names, families, "file")


def assert_same(left, right):
    assert (left.names, left.score, left.max_parents) == (right.names, right.score, right.max_parents)
    for ours, theirs in zip(left.parents + left.costs, right.parents + right.costs, strict=True):
        assert ours.dtype == theirs.dtype
        assert ours.tobytes() == theirs.tobytes()


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_canonical_order():
    sets = [(3,), (), (1, 2), (2,), (1,), (65,)]
    costs = np.array([2.0, 2.0, 2.0, 2.0, 1.0, 2.0])
    empty = (np.zeros((1, 2), np.uint64), np.zeros(1))
    families = [(np.stack([pack(s, 66) for s in sets]), costs), *[empty] * 65]
    scores = local_scores([str(i) for i in range(66)], families, "file")
    assert [unpack(row) for row in scores.parents[0]] == [(1,), (), (2,), (3,), (65,), (1, 2)]
    assert scores.costs[0].tolist() == [1, 2, 2, 2, 2, 2]
    assert scores.variables == 66
    assert scores.families == 71


def test_minus_zero_is_zero():
    scores = local_scores(["a"], [(np.zeros((1, 1), np.uint64), np.array([-0.0]))], "file")
    assert math.copysign(1, scores.costs[0][0]) == 1


def masks(*varsets):
    return np.array(varsets, dtype=np.uint64).reshape(-1, 1)


@pytest.mark.parametrize(
    ("names", "families", "max_parents", "message"),
    [
        ("ab", [(masks(1), [0.0]), (masks(0), [0.0])], None, "'a' is in a parent set of its own"),
        ("ab", [(masks(4), [0.0]), (masks(0), [0.0])], None, "'a' has a parent beyond the 2 variables"),
        (
            "ab",
            [(masks(2, 0, 2), [0.0, 1.0, 2.0]), (masks(0), [0.0])],
            None,
            "'a' has the same parent set twice",
        ),
        (
            "ab",
            [(masks(0), [math.nan]), (masks(0), [0.0])],
            None,
            "'a' has a family whose cost is not finite",
        ),
        ("ab", [(masks(0), [-1e151]), (masks(0), [0.0])], None, r"'a' has a family whose cost is beyond 1e\+150 nats"),
        ("ab", [(masks(0), [math.inf]), (masks(0), [0.0])], None, "not finite"),
        ("ab", [(masks(), []), (masks(0), [0.0])], None, "'a' has no parent set"),
        ("abc", [(masks(0, 6), [1.0, 0.0]), (masks(0), [0.0]), (masks(0), [0.0])], 1, "more than 1 parents"),
        ("ab", [(masks(2), [0.0]), (masks(1), [0.0])], None, "none of 'a', 'b' can come first"),
        ("aa", [(masks(0), [0.0]), (masks(0), [0.0])], None, "'a' occurs twice"),
        ("", [], None, "no variable"),
    ],
)
def test_families_that_no_network_can_have(names, families, max_parents, message):
    families = [(varsets, np.array(costs)) for varsets, costs in families]
    with pytest.raises(InputError, match=message):
        local_scores(list(names), families, "file", max_parents)


def test_a_child_may_lack_the_empty_parent_set():
    families = [(masks(2), np.array([1.0])), (masks(0), np.array([1.0]))]
    assert unpack(local_scores(["a", "b"], families, "file").parents[0][0]) == (1,)


def test_check_asserts_order_and_types():
    good = random_scores(0)
    for parents, costs in [
        ((good.parents[0][::-1].copy(), *good.parents[1:]), (good.costs[0][::-1].copy(), *good.costs[1:])),
        ((good.parents[0].astype(np.int64), *good.parents[1:]), good.costs),
        (good.parents, (good.costs[0].astype(np.float32), *good.costs[1:])),
        (good.parents[1:], good.costs[1:]),
    ]:
        with pytest.raises(AssertionError):
            check_scores(LocalScores(good.names, parents, costs, Claim("file")))
    check_scores(good)


def test_fingerprint_is_of_the_families():
    assert random_scores(1).fingerprint == random_scores(1).fingerprint
    assert random_scores(1).fingerprint != random_scores(2).fingerprint
    renamed = random_scores(1, names=["a", "b", "c", "d", "e"])
    assert renamed.fingerprint != random_scores(1).fingerprint


COMMENTED = (
    "# by BLIP, score: BIC\n#\n\n"
    + JKL.replace("wet 1\n", "  # of wet\nwet 1\n").replace("-4e0", "#-3 0\n-4e0")
    + "#\n"
)


@pytest.mark.parametrize("text", [JKL, PSS, JKL.replace("\n", " \r\n"), JKL + "\n\n", COMMENTED])
def test_read_by_hand(tmp_path, text):
    scores = read_scores(write(tmp_path / "a.jkl", text))
    assert scores.names == ("rain", "wet", "grass")
    assert [[unpack(row) for row in rows] for rows in scores.parents] == [[(1,), ()], [()], [(0, 1), ()]]
    assert [costs.tolist() for costs in scores.costs] == [[8.25, 10.5], [4.0], [3.0, 5.5]]
    assert (scores.score, scores.max_parents) == ("file", None)


def test_numbered_variables_are_put_in_their_order(tmp_path):
    text = "3\n2 1\n-1 0\n0 2\n-2 1 2\n-3 0\n1 1\n-4 0\n"
    scores = read_scores(write(tmp_path / "a.jaa", text))
    assert scores.names == ("0", "1", "2")
    assert [costs.tolist() for costs in scores.costs] == [[2.0, 3.0], [4.0], [1.0]]
    assert unpack(scores.parents[0][0]) == (2,)


@pytest.mark.parametrize("chunk", [1, 3, score_reader.CHUNK])
@pytest.mark.parametrize("name", ["s.jkl", "s.jkl.gz"])
@pytest.mark.parametrize("n", [1, 5, 64, 65, 130])
def test_round_trip_is_exact(tmp_path, sizes, chunk, name, n):
    sizes({"score_reader.CHUNK": chunk, "score_writer.CHUNK": chunk})
    scores = random_scores(n, n=n)
    write_scores(scores, tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(b"\x1f\x8b") == name.endswith(".gz")
    assert_same(read_scores(tmp_path / name), scores)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(-LARGEST_COST, LARGEST_COST), min_size=3, max_size=3))
def test_any_float_survives(tmp_path_factory, costs):
    path = tmp_path_factory.mktemp("scores") / "a.jkl"
    empty = masks(0)
    scores = local_scores("abc", [(empty, np.array([cost])) for cost in costs], "file")
    write_scores(scores, path)
    assert_same(read_scores(path), scores)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.text(min_size=1, max_size=5), min_size=2, max_size=4, unique=True))
def test_any_name_gives_a_readable_file(tmp_path_factory, names):
    path = tmp_path_factory.mktemp("scores") / "a.jkl"
    scores = random_scores(0, names=names)
    try:
        write_scores(scores, path)
    except UnicodeEncodeError:
        return
    back = read_scores(path)
    assert back.names == file_names(names)
    assert_same(local_scores(names, list(zip(back.parents, back.costs, strict=True)), "file"), scores)


@pytest.mark.parametrize(
    ("names", "written"),
    [
        (["a", "b-c", "É"], ("a", "b-c", "É")),
        (["0", "1"], ("0", "1")),
        (["0", "b"], ("0", "b")),
        (["1", "0"], ("X0", "X1")),
        (["1", "2"], ("X0", "X1")),
        (["a", "my name"], ("X0", "X1")),
        (["a", "1e5"], ("X0", "X1")),
        (["a", "nan"], ("X0", "X1")),
        (["a", "#b"], ("X0", "X1")),
    ],
)
def test_names_in_files(names, written):
    assert file_names(names) == written


def test_a_file_is_not_overwritten_unawares(tmp_path):
    write_scores(random_scores(0), tmp_path / "a.jkl")
    before = (tmp_path / "a.jkl").read_bytes()
    with pytest.raises(InputError, match=r"a\.jkl exists already"):
        write_scores(random_scores(1), tmp_path / "a.jkl")
    assert (tmp_path / "a.jkl").read_bytes() == before
    write_scores(random_scores(1), tmp_path / "a.jkl", overwrite=True)
    assert_same(read_scores(tmp_path / "a.jkl"), random_scores(1))
    assert [path.name for path in tmp_path.iterdir()] == ["a.jkl"]


BAD_JKL = [
    ("", r"is empty"),
    ("\n\n", r"is empty"),
    ("# nothing\n\n", r"is empty"),
    ("# BLIP\n\nthree\n", r"line 3: expected the number of variables, found 'three'"),
    ("# BLIP\n" + JKL.replace("-8.25", "best"), r"line 5: the score 'best' is not a number"),
    ("three\n", r"line 1: expected the number of variables, found 'three'"),
    ("0\n", r"line 1: expected the number of variables"),
    ("1" * 5000 + "\n", r"line 1: expected the number of variables"),
    (JKL.replace("3\nrain", "4\nrain"), r"line 9: the file ends where .* for variable 4 of 4"),
    (JKL.replace("3\nrain", "2\nrain"), r"line 7: the file goes on with 'grass 2' after the last family"),
    (JKL.replace("rain 2", "rain 1"), r"line 4: expected .*'name count', found '-8.25 1 wet'.*line 2 may"),
    (JKL.replace("rain 2", "rain 3"), r"line 5: 'wet 1' may announce .*count .* large \(variable 'rain' of line 2\)"),
    ("2\n0 3\n-1 0\n-2 1 1\n1 1\n-3 0\n", r"line 5: '1 1' may announce a .*count .* too large"),
    (JKL.replace("grass 2", "grass 1"), r"line 9: the file goes on with '-5.5 0'"),
    (JKL.replace("grass 2", "grass 5"), r"line 9: the file ends 3 families early for variable 'grass'"),
    (JKL.replace("grass 2", "grass 3"), r"line 9: the file ends 1 family early for variable 'grass'"),
    (JKL.replace("wet 1\n-4e0 0", "wet 0"), r"line 5: 'wet' is announced with no parent set"),
    (JKL.replace("-8.25 1 wet", "-8.25 1 fog"), r"line 4: the parent 'fog' is not a variable"),
    (JKL.replace("-8.25 1 wet", "-8.25 1 rain"), r"line 4: 'rain' is a parent of itself"),
    (JKL.replace("-8.25 1 wet", "-8.25 2 wet wet"), r"line 4: a parent occurs twice"),
    (JKL.replace("-8.25 1 wet", "-8.25 2 wet"), r"line 4: the number of parents .* '2', but it is 1"),
    (JKL.replace("-8.25 1 wet", "-8.25 0 wet"), r"line 4: the number of parents .* '0', but it is 1"),
    (JKL.replace("-8.25 1 wet", "-8.25 one wet"), r"line 4: the number of parents is given as 'one'"),
    (JKL.replace("-8.25 1 wet", "-8.25"), r"line 4: the number of parents is given as nothing"),
    (JKL.replace("-8.25 1 wet", ""), r"line 4: an empty line"),
    (JKL.replace("-8.25 1 wet", "-8.25 0"), r"line 4: the parent set of line 3 again"),
    (JKL.replace("-8.25", "best"), r"line 4: the score 'best' is not a number"),
    (JKL.replace("-8.25", "nan"), r"line 4: the score nan is not finite"),
    (JKL.replace("-8.25", "-inf"), r"line 4: the score -inf is not finite"),
    (JKL.replace("-8.25", "1e999"), r"line 4: the score 1e999 is not finite"),
    (JKL.replace("-8.25", "1e308"), r"line 4: the score '1e308' is beyond 1e\+150 nats \(variable 'rain' of line 2\)"),
    (JKL.replace("-8.25", "8_2"), r"line 4: the score '8_2' is not a number"),
    (JKL.replace("-8.25", "٣"), r"line 4: the score '٣' is not a number"),
    (JKL.replace("wet", "rain"), r"line 4: 'rain' is a parent of itself|line 5: variable 'rain' has been"),
    (JKL.replace("grass 2", "wet 2"), r"line 7: variable 'wet' has been announced in line 5"),
    (JKL + "and more\n", r"line 10: the file goes on with 'and more'"),
    (JKL.replace("-10.5 0", "-10.5 1 grass").replace("-5.5 0", "-5.5 1 rain").replace("-4e0 0", "-4 1 rain"),
     r"none of 'rain', 'wet', 'grass' can come first"),
    (PSS.replace("VAR rain\n", ""), r"line 5: expected 'VAR name' before '-10.5'"),
    (PSS.replace("VAR wet", "VAR my wet"), r"line 9: expected 'VAR name', found 'VAR my wet'"),
    (PSS.replace("-4.0\n", ""), r"line 9: variable 'wet' has no parent set"),
    (PSS.replace("-3.0 wet rain", "-3.0 wet fog"), r"line 13: the parent 'fog'"),
    (PSS.replace("-3.0 wet rain", "-3.0"), r"line 13: the parent set of line 12 again"),
    ("META x = 1\n", r"no line 'VAR name'"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), BAD_JKL)
def test_bad_files_are_refused_by_line(tmp_path, text, message):
    path = write(tmp_path / "bad.jkl", text)
    with pytest.raises(InputError, match=message) as caught:
        read_scores(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_unreadable_files_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"no\.jkl"):
        read_scores(tmp_path / "no.jkl")
    (tmp_path / "cut.jkl.gz").write_bytes(gzip.compress(JKL.encode())[:-9])
    with pytest.raises(InputError, match=r"cut\.jkl\.gz"):
        read_scores(tmp_path / "cut.jkl.gz")
    with pytest.raises(InputError, match="absent"):
        write_scores(random_scores(0), tmp_path / "absent" / "a.jkl")


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_a_damaged_file_is_refused_or_read_as_it_stands(tmp_path_factory, data):
    """Only InputError may come out, and if the file is read then no word of it was passed over."""
    text = data.draw(st.sampled_from([JKL, PSS]))
    at = data.draw(st.integers(0, len(text) - 1))
    piece = data.draw(st.sampled_from(["", " ", "\n", "0", "1", "-", "rain", " wet", "e", "_", "nan", "\t", "é"]))
    text = text[:at] + piece + text[at + data.draw(st.integers(0, 3)) :]
    path = write(tmp_path_factory.mktemp("scores") / "a.jkl", text)
    with contextlib.suppress(InputError):
        assert_read_to_the_last_word(read_scores(path), text)


@pytest.mark.parametrize("text", [JKL, PSS])
def test_a_whole_file_is_read_to_its_last_word(tmp_path, text):
    assert_read_to_the_last_word(read_scores(write(tmp_path / "a.jkl", text)), text)


def assert_read_to_the_last_word(scores, text):
    """Nothing that is written was passed over."""
    lines = [line.split() for line in text.splitlines() if line.split() and line.strip()[0] != "#"]
    written = [word for words in lines if words[0] != "META" for word in words]
    found = [i for rows in scores.parents for row in rows for i in unpack(row)]
    if "VAR" in written:
        assert len(written) == len(found) + scores.families + 2 * scores.variables
    else:
        assert len(written) == len(found) + 2 * scores.families + 2 * scores.variables + 1


@pytest.mark.parametrize("name", ["a.pss", "a.PSS.gz"])
def test_parent_set_scores_are_written_and_read_again(tmp_path, name, sizes):
    sizes({"score_writer.CHUNK": 3})
    scores = random_scores(3)
    write_scores(scores, tmp_path / name)
    assert_same(read_scores(tmp_path / name), scores)
    data = (tmp_path / name).read_bytes()
    lines = (gzip.decompress(data) if name.endswith(".gz") else data).decode().splitlines()
    assert lines[:2] == ["META pss_version = 0.1", "VAR v0"]


def test_suffixes():
    for name in ("a.jkl", "a.JKL", "a.jaa.gz", "x/b.pss", "b.scores", "b.scores.gz"):
        assert is_score_file(name)
    for name in ("a.csv", "a.gz", "jkl", "a.jkl.csv", "a.txt"):
        assert not is_score_file(name)


def test_scores_of_a_file_give_the_optimum_of_the_oracle(tmp_path):
    """Through a file and back, the dynamic program finds the same optimum as on the data."""
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 2, (30, 4))
    table = naive.all_local_scores(codes, [2] * 4)
    families = [
        (masks(*[v for v in range(16) if table[i, v] < math.inf]), table[i][table[i] < math.inf]) for i in range(4)
    ]
    write_scores(local_scores("abcd", families, "mdl"), tmp_path / "a.jkl")
    back = read_scores(tmp_path / "a.jkl")
    again = naive.cost_table(4, [zip(back.parents[i][:, 0].tolist(), back.costs[i], strict=True) for i in range(4)])
    assert (again == table).all()
    assert naive.optimal_cost_dp(4, naive.best_scores(again)) == naive.optimal_cost(codes, [2] * 4)
