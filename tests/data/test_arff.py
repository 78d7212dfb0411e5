"""ARFF files as they are found: against what other readers make of them, and what cannot be read is one sentence."""

import csv
import random

import pytest
from data_invariants import check_dataset
from hypothesis import given, settings
from hypothesis import strategies as st

import extbnsl
from extbnsl.core.errors import InputError

HEAD = "@relation r\n@attribute a {x,y}\n@attribute b numeric\n@data\n"


@pytest.fixture
def read(tmp_path):
    def reader(text, **options):
        path = tmp_path / "data.arff"
        path.write_bytes(text.encode())
        dataset = extbnsl.read_data(path, **options)
        check_dataset(dataset)
        return dataset

    return reader


@pytest.mark.parametrize(
    ("text", "names", "states", "records"),
    [
        (  # Weka's own style, and everything that it lets pass
            "% about\n@RELATION  my data set\n\n@ATTRIBUTE\tsize\tINTEGER [0,9] % so large\n"
            "@attribute 'a b'{x, 'y z' ,\"q\"} % no blank before the brace\n@Attribute r REAL [1.5, 2]\n"
            "@DATA % now\n1,x,1.5\n\n% no row\n2,'y z',2 % a row\n3 , q , ?\n",
            ("size", "a b", "r"),
            (("1", "2", "3"), ("x", "y z", "q"), ("1.5", "2", "missing")),
            [[0, 0, 0], [1, 1, 1], [2, 2, 2]],
        ),
        (  # blanks in place of commas, and no line end
            "@relation r\r\n@attribute a {x y z}\r\n@attribute 'b' {1 2}\r\n@data\r\nx 1\r\nz\t2",
            ("a", "b"),
            (("x", "y", "z"), ("1", "2")),
            [[0, 0], [2, 1]],
        ),
        (  # quotes of both kinds, within each other and escaped; per cent is no comment within a value
            "@relation r\n@attribute 'it\\'s' {50%,'a,b',\"it's\",'say \\'so\\''}\n@attribute s string\n@data\n"
            "50%,'x, y'\n'a,b',\"don't\"\n\"it's\",'%'\n'say \\'so\\'',it's\n",
            ("it's",),
            (("50%", "a,b", "it's", "say 'so'"),),
            [[0], [1], [2], [3]],
        ),
        (  # sparse rows: what is not there is 0, the first state, or for texts nothing
            "@relation r\n@attribute a {x,y}\n@attribute b numeric\n@attribute s string\n@data\n"
            "{0 y, 1 3, 2 'u, v'}\n{}\n{ 1 4 }\n",
            ("a", "b", "s"),
            (("x", "y"), ("0", "3", "4"), ("u, v", "missing")),
            [[1, 1, 0], [0, 0, 1], [0, 2, 1]],
        ),
        (  # a declared marker is a state; a question mark is none unless it is declared
            "@relation r\n@attribute a {NA,y}\n@attribute b {'?',u}\n@attribute c {u,v}\n@data\nNA,?,?\ny,u,\n",
            ("a", "b", "c"),
            (("NA", "y"), ("?", "u"), ("u", "v", "missing")),
            [[0, 0, 2], [1, 1, 2]],
        ),
        (  # states that do not occur, in their order, and one twice
            "@relation r\n@attribute a {low,medium,high,low}\n@data\nhigh\nlow\n",
            ("a",),
            (("low", "medium", "high"),),
            [[2], [0]],
        ),
    ],
)
def test_what_is_declared_and_what_is_there(read, text, names, states, records):
    dataset = read(text, missing="state", columns=names)
    assert (dataset.names, dataset.states, dataset.codes.tolist()) == (names, states, records)
    assert dataset.layout == "arff"


def test_texts_in_quotes_are_read(read):
    text = "@relation r\n@attribute s string\n@attribute a {x}\n@data\n'x, y',x\n\"don't\",x\nit's,x\n'%',x\n"
    assert read(text, columns="s").states == (("%", "don't", "it's", "x, y"),)


def test_weights_of_instances_count_and_are_told(read):
    dataset = read(HEAD + "x,1,{2}\ny,2\nx,1,{0}\n'x',3, { 1.0 }\n{0 y, 1 1}, {3}\n")
    assert dataset.codes.tolist() == [[0, 0]] * 2 + [[1, 1], [0, 2]] + [[1, 0]] * 3
    assert dataset.names == ("a", "b")
    assert "has weights of its instances: each stands for so many records" in dataset.warnings[0]
    assert read(HEAD + "x,1,{2.5}\n").total == 2.5
    with pytest.raises(InputError, match=r"--weights: .* has weights of its instances in braces: leave out the others"):
        read(HEAD + "x,1,{2}\n", weights="b")
    assert read(HEAD + "x,1\ny,2\n", weights="b").records == 3


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", r"cannot be read as ARFF \(it has no line @data\)"),
        ("@relation r\n@attribute a {x,y}\n", "it has no line @data"),
        ("a,b\n1,2\n", "line 1: 'a,b' stands where ARFF has @attribute with a name and a kind, or @data after these"),
        ("@relation r\n@data\n1\n", "line 2: '@data' stands where ARFF has @attribute"),
        ("@relation r\n@attribute a\n@data\n1\n", "line 2: '@attribute a' declares no column: give a name and {state"),
        ("@relation r\n@attribute a {x,y\n@data\nx\n", "line 2: '@attribute a {x,y' declares no column"),
        ("@relation r\n@attribute a relational\n", "'@attribute a relational' declares no column"),
        ("@relation r\n@attribute a {" + "'" * 60_000 + "\n@data\nx\n", "declares no column"),
        ("@relation r\n@attribute a {x}\n@attribute a {x}\n@data\nx,x\n", "the name 'a' occurs more than once"),
        (HEAD, "is empty: give a file with at least one row of data"),
        (HEAD + "x,1\nx\n", "line 6: 1 value where 2 attributes are declared: correct the line"),
        (HEAD + "x,1\n% c\nx,'1',2\n", "line 7: 3 values where 2 attributes are declared"),
        (HEAD + "{2 x}\n", "line 5: '2 x' is no number of an attribute, from 0, with its value"),
        (HEAD + "{0}\n", "line 5: '0' is no number of an attribute"),
        (
            HEAD + "x,1\nz,1\n",
            r"column 'a' has 'z' in row 2 of the data, which is none of its declared states \(x, y\)",
        ),
        (HEAD + "x,1\nx,?\nx,low\n", "column 'b' is declared numeric, and has 'low' in row 3 of the data"),
        ("@relation r\n@attribute a date 'yyyy'\n@attribute b {x}\n@data\n2020,x\n", "column 'a' has dates or times"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(read, text, sentence):
    with pytest.raises(InputError, match=sentence) as caught:
        read(text)
    assert len(str(caught.value).splitlines()) == 1


def test_only_columns_that_are_wanted_need_to_be_as_declared(read):
    text = "@relation r\n@attribute a date\n@attribute b {x}\n@attribute c {u,v}\n@data\n2020-01-01,y,u\n?,y,v\n"
    assert read(text, columns="c").codes.tolist() == [[0], [1]]
    assert read(text, drop=["a", "b"]).names == ("c",)


def test_a_long_file_has_all_its_rows(read):
    rows = ["x,1"] * 100_000 + ["'y',2"] + ["x,3"] * 5
    dataset = read(HEAD + "\n".join(rows))
    assert dataset.records == len(rows)
    assert dataset.codes[99_999:100_002].tolist() == [[0, 0], [1, 1], [0, 2]]


VALUES = (
    st.text(st.sampled_from("ab01 ,'\"%\\?éü-."), min_size=1, max_size=6)
    .map(str.strip)
    .filter(lambda text: text not in ("", "?"))
)


@st.composite
def files(draw):
    """What liac-arff writes: names, declared states or None for texts, and rows with None for missing values."""
    letters = st.text(st.sampled_from("ab é-."), min_size=1, max_size=6).map(lambda text: f"n{' '.join(text.split())}")
    names = draw(st.lists(letters, min_size=1, max_size=4, unique=True))  # it escapes nothing in names
    states = [draw(st.one_of(st.none(), st.lists(VALUES, min_size=1, max_size=4, unique=True))) for _ in names]
    # Not those of numbers, which are called as these are, nor what is taken off where all are percentages.
    texts = VALUES.filter(lambda text: "%" not in text and any(mark in 'abéü"?\\' for mark in text))
    cells = [texts if own is None else st.sampled_from(own) for own in states]
    rows = draw(st.lists(st.tuples(*(st.one_of(cell, st.none()) for cell in cells)), min_size=1, max_size=6))
    return names, states, rows


@settings(max_examples=200, deadline=None)
@given(files())
def test_what_another_program_writes_is_read_as_it_was(tmp_path_factory, case):
    arff = pytest.importorskip("arff", reason="liac-arff is not installed")
    names, states, rows = case
    attributes = [(name, own or "STRING") for name, own in zip(names, states, strict=True)]
    path = tmp_path_factory.mktemp("arff") / "data.arff"
    path.write_text(arff.dumps({"relation": "made", "attributes": attributes, "data": rows}), encoding="utf-8")
    dataset = extbnsl.read_data(path, missing="state", discrete="all")
    assert dataset.names == tuple(names)
    for j, own in enumerate(states):
        if own is not None:
            assert dataset.states[j][: len(own)] == tuple(own)
        for row, code in zip(rows, dataset.codes[:, j].tolist(), strict=True):
            assert (
                dataset.states[j][code].startswith("missing") if row[j] is None else dataset.states[j][code] == row[j]
            )


@pytest.fixture
def limited():
    """What scipy's reader sets for all of the process is as before when the test ends."""
    before = csv.field_size_limit()
    yield
    csv.field_size_limit(before)


@pytest.mark.parametrize("seed", range(5))
def test_numbers_are_those_of_scipy(tmp_path, limited, seed):
    from scipy.io import arff

    rng = random.Random(seed)
    rows = [f"{rng.choice('xyz')}, {rng.randint(-3, 3)} ,{rng.uniform(-1, 1):.3g}" for _ in range(50)]
    path = tmp_path / "data.arff"
    kinds = "@attribute k {z,x,y}\n@attribute i integer\n@attribute f real\n"
    path.write_text(f"@relation r\n{kinds}@data\n" + "\n".join(rows))
    expected, _ = arff.loadarff(path)
    dataset = extbnsl.read_data(path, discrete="all")
    for name, states, codes in zip(dataset.names, dataset.states, dataset.codes.T, strict=True):
        found = [states[code] for code in codes]
        given = [value.decode() if isinstance(value, bytes) else float(value) for value in expected[name].tolist()]
        assert [one if name == "k" else float(one) for one in found] == given
