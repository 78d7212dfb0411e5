"""Parquet, ARFF and RDS files: what they declare is kept, and what is wrong with them is one sentence."""

import gzip
import re

import numpy as np
import pandas
import pytest

import extbnsl
from extbnsl.core.errors import BudgetError, InputError
from extbnsl.data import other_files
from extbnsl.data.file import OTHER_FILES
from extbnsl.data.text import Reading

FRAME = pandas.DataFrame(
    {
        "kind": pandas.Categorical(["x", "y", "x"], categories=["z", "y", "x"], ordered=True),
        "number": [3, 1, 3],
        "share": [0.5, 2.0, 0.5],
        "text": ["u", "w", "u"],
        "truth": [True, False, True],
    }
)
ARFF = """\
% a comment
@relation made
@attribute kind {z,y,x}
@attribute number integer
@attribute share real
@attribute text string
@attribute truth {False,True}
@data
x,3,0.5,u,True
y,1,2.0,w,False
x,3,0.5,u,True
"""
GZIP = gzip.compress(b"X\n", mtime=0)[:10] + b"\xff" * 20  # a header, and nonsense after it
STATES = (("z", "y", "x"), ("1", "3"), ("0.5", "2"), ("u", "w"), ("False", "True"))
CODES = [[2, 1, 0, 0, 1], [1, 0, 1, 1, 0], [2, 1, 0, 0, 1]]


def written(folder, kind, frame=FRAME):
    path = folder / f"data.{kind}"
    if kind in ("parquet", "pq"):
        frame.to_parquet(path)
    elif kind == "arff":
        path.write_text(ARFF)
    else:
        import rdata

        texts = {name: object for name in frame if frame[name].dtype in (object, "str")}
        rdata.write_rds(path, frame.astype(texts))
    return path


def test_each_kind_of_file_has_its_reader():
    assert set(OTHER_FILES) == {*other_files.FRAMES, ".arff"}


@pytest.mark.parametrize("kind", ["parquet", "pq", "arff", "rds"])
def test_a_file_has_what_it_declares(tmp_path, kind):
    dataset = extbnsl.read_data(written(tmp_path, kind), discrete="all")
    assert dataset.names == tuple(FRAME.columns)
    assert dataset.codes.tolist() == CODES
    assert [tuple(float(s) if s.replace(".", "").isdigit() else s for s in own) for own in dataset.states] == [
        tuple(float(s) if s.replace(".", "").isdigit() else s for s in own) for own in STATES
    ]
    assert dataset.layout == kind
    assert extbnsl.read_data(tmp_path / f"data.{kind}", columns="kind,text", records=1).records == 1


def test_a_frame_of_levels_is_the_same_in_memory_and_in_parquet(tmp_path):
    frame = FRAME.drop(columns="share")
    path = tmp_path / "data.parquet"
    frame.to_parquet(path)
    assert extbnsl.read_data(path).fingerprint == extbnsl.learn(frame).digest


@pytest.mark.parametrize("kind", ["parquet", "rds"])
def test_missing_values_are_missing(tmp_path, kind):
    frame = pandas.DataFrame({"a": pandas.Categorical(["x", None, "x"]), "b": [1.0, 2.0, np.nan], "c": ["u", "v", "w"]})
    path = written(tmp_path, kind, frame)
    if kind == "rds":  # the package writes 0 for a level that is missing; R writes the least integer
        content = gzip.decompress(path.read_bytes())
        codes = np.array([1, 0, 1], ">i4").tobytes()
        assert content.count(codes) == 1
        path.write_bytes(content.replace(codes, np.array([1, -(2**31), 1], ">i4").tobytes()))
    with pytest.raises(InputError, match="missing"):
        extbnsl.read_data(path)
    assert extbnsl.read_data(path, missing="drop").records == 1
    assert extbnsl.read_data(path, missing="state").states[0][-1] == "missing"


def test_numbers_are_called_the_same_beside_missing_values(tmp_path):
    path = tmp_path / "data.parquet"
    for values in ([1.0, 2.5, 1.0], [1.0, 2.5, None]):
        pandas.DataFrame({"a": values, "b": [0, 1, 0]}).to_parquet(path)
        assert extbnsl.read_data(path, missing="state").states[0][:2] == ("1", "2.5")
    path = tmp_path / "data.arff"
    for rows, fault in (("1\n2.5\n?", None), ("1e999\n?\n1", "declared numeric, and has '1e999' in row 1")):
        path.write_text(f"@relation r\n@attribute a numeric\n@data\n{rows}\n")
        if fault is None:
            assert extbnsl.read_data(path, missing="state").states[0][:2] == ("1", "2.5")
        else:
            with pytest.raises(InputError, match=fault):
                extbnsl.read_data(path, missing="state")


@pytest.mark.parametrize("kind", ["parquet", "arff", "rds"])
@pytest.mark.parametrize(
    "content", [b"", b"PAR1", b"@relation", b"\x1f\x8b\x08\x00", GZIP, b"X\n\0\0\0\3", b"\xff" * 100]
)
def test_a_damaged_file_is_refused(tmp_path, kind, content):
    path = tmp_path / f"data.{kind}"
    path.write_bytes(content)
    with pytest.raises(InputError) as error:
        extbnsl.read_data(path)
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize("kind", ["parquet", "rds"])
def test_a_cut_file_is_refused(tmp_path, kind):
    path = written(tmp_path, kind)
    whole = path.read_bytes()
    for share in (0.3, 0.6, 0.9):
        path.write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(InputError) as error:
            extbnsl.read_data(path, discrete="all")
        assert len(str(error.value).splitlines()) == 1


@pytest.mark.slow
def test_what_is_packed_does_not_fill_the_memory(tmp_path):
    path = tmp_path / "data.rds"
    path.write_bytes(gzip.compress(b"\0" * (1 << 28)))
    with pytest.raises(BudgetError, match="its content, unpacked, read so far take"):
        extbnsl.read_data(path, reading=Reading(memory=1 << 24))
    frame = pandas.DataFrame({"a": np.zeros(1 << 20, np.int64)})
    frame.to_parquet(tmp_path / "data.parquet")
    with pytest.raises(BudgetError, match="the 1,048,576 rows of 1 columns that it promises"):
        extbnsl.read_data(tmp_path / "data.parquet", reading=Reading(memory=1 << 22))


def test_what_a_small_file_unfolds_to_does_not_fill_the_memory(tmp_path):
    path = tmp_path / "data.arff"
    attributes = "".join(f"@attribute a{j} {{x,y}}\n" for j in range(100))
    path.write_text(f"@relation r\n{attributes}@data\n% no row\n" + "{}\n" * 10_000)
    with pytest.raises(BudgetError, match="rows of 100 columns read so far take"):
        extbnsl.read_data(path, reading=Reading(memory=1 << 21))
    path = tmp_path / "data.parquet"
    levels = pandas.Categorical.from_codes([0, 1], [letter * (1 << 24) for letter in "xy"])
    pandas.DataFrame({"a": levels}).to_parquet(path)
    with pytest.raises(BudgetError, match="the 2 rows of 1 columns that it promises"):
        extbnsl.read_data(path, reading=Reading(memory=1 << 24))


@pytest.mark.parametrize("kind", ["parquet", "arff", "rds"])
def test_a_value_that_is_too_long_is_refused(tmp_path, kind):
    texts = ["x" * 5000, "y", " y"]
    path = written(tmp_path, kind, pandas.DataFrame({"a": texts, "b": ["u", "v", "u"]}))
    if kind == "arff":
        rows = "".join(f"{text},u\n" for text in texts)
        path.write_text(f"@relation r\n@attribute a string\n@attribute b {{u, v}}\n@data\n{rows}")
    sentence = (
        r"column 'a' has a value of 5,000 bytes in row 1 of the data, .*: shorten it, or leave the column out with"
    )
    with pytest.raises(InputError, match=sentence) as caught:
        extbnsl.read_data(path)
    assert caught.value.names == ("a",)
    assert extbnsl.read_data(path, drop="a").names == ("b",)


def test_texts_of_a_parquet_file_lose_their_blanks(tmp_path):
    path = tmp_path / "data.parquet"
    pandas.DataFrame({"a": ["y ", "x", None, " y"], "b": list("uvuv")}).to_parquet(path)
    dataset = extbnsl.read_data(path, missing="state")
    assert dataset.states[0][:2] == ("x", "y")
    assert dataset.codes[:, 0].tolist() == [1, 0, 2, 1]


def test_a_number_without_end_is_no_whole_number(tmp_path):
    path = tmp_path / "data.arff"
    path.write_text("@relation r\n@attribute a integer\n@data\n1e999\n1\n")
    with pytest.raises(InputError, match="declared numeric, and has '1e999' in row 1 of the data: correct the value"):
        extbnsl.read_data(path)


def test_a_vector_of_r_that_is_only_promised_is_not_made(tmp_path):
    import rdata

    values = np.array([1e12, 1.0, 1.0])

    class State:
        value = values

    short = other_files._short(rdata, "data.rds", Reading(memory=1 << 24))
    with pytest.raises(BudgetError, match="a column of consecutive numbers"):
        short[b"compact_intseq"](State())


@pytest.mark.parametrize("kind", ["parquet", "arff", "rds"])
def test_options_of_texts_are_refused(tmp_path, kind):
    path = written(tmp_path, kind)
    for options, option in (({"delimiter": ","}, "--delimiter"), ({"header": False}, "--header or --no-header")):
        with pytest.raises(InputError, match=f"{option} is for texts"):
            extbnsl.read_data(path, **options)
    with pytest.raises(InputError, match="cannot be read"):
        extbnsl.read_data(tmp_path / f"absent.{kind}")


@pytest.mark.parametrize(("kind", "package"), [("parquet", "pyarrow.parquet"), ("rds", "rdata")])
def test_without_its_package_a_file_says_what_is_needed(tmp_path, uninstalled, kind, package):
    path, name = written(tmp_path, kind), package.partition(".")[0]
    uninstalled(package)
    with pytest.raises(InputError, match=re.escape(f"reading it needs {name}: pip install 'extbnsl[{kind}]'.")):
        extbnsl.read_data(path)


def test_an_r_object_that_is_no_data_frame(tmp_path):
    import rdata

    rdata.write_rds(tmp_path / "data.rds", [1, 2, 3])
    with pytest.raises(InputError, match="holds no data frame, but"):
        extbnsl.read_data(tmp_path / "data.rds")


def test_columns_that_cannot_be_variables(tmp_path):
    path = tmp_path / "data.parquet"
    pandas.DataFrame({"when": pandas.to_datetime(["2020-01-01"]), "a": ["x"]}).to_parquet(path)
    with pytest.raises(InputError, match=r"column 'when' has dates or times: make it a few states, or leave it"):
        extbnsl.read_data(path)
    assert extbnsl.read_data(path, drop="when").names == ("a",)
