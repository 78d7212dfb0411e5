"""A column of weights is the same as rows that are repeated."""

import numpy as np
import pandas
import pytest
from cases import from_array, from_dataframe
from hypothesis import given, settings
from hypothesis import strategies as st

import extbnsl
from extbnsl.core.errors import BudgetError, InputError

TEXT = "a,w,b\nx,2,1\ny,0,2\nx,1,3\n"


def csv_of(folder, text=TEXT):
    path = folder / "data.csv"
    path.write_text(text)
    return path


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32), st.sampled_from(["refuse", "drop", "state"]))
def test_weights_are_repeated_records(seed, missing):
    rng = np.random.default_rng(seed)
    frame = pandas.DataFrame(rng.integers(0, 3, (20, 3)), columns=list("abc")).astype(object)
    if missing != "refuse":
        frame = frame.mask(rng.random(frame.shape) < 0.05)
    times = rng.integers(0, 4, 20)
    times[0] += 1
    repeated = from_dataframe(frame.loc[np.repeat(np.arange(20), times)].reset_index(drop=True), missing=missing)
    weighted = from_dataframe(frame.assign(w=times), weights="w", missing=missing)
    assert weighted.fingerprint == repeated.fingerprint


def test_a_file_has_a_column_of_weights(tmp_path):
    dataset = extbnsl.read_csv(csv_of(tmp_path), weights="w", arities=None)
    assert dataset.names == ("a", "b")
    assert dataset.states == (("x",), ("1", "3"))
    assert dataset.codes.tolist() == [[0, 0], [0, 0], [0, 1]]
    assert extbnsl.read_csv(csv_of(tmp_path), weights=" w ", records=1).records == 2
    assert extbnsl.learn(pandas.read_csv(csv_of(tmp_path)), weights="w").digest == dataset.fingerprint


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "a,w\nx,0.25\ny,0.5\n",
            r"--weights: all weights in column 'w' of .*data.csv sum to 0.75: scale them to sum to",
        ),
        ("a,w\nx,nan\n", r"record 1 of .*data.csv has (no|the) weight"),
        ("a,w\nx,1.0\ny,-2\n", r"record 2 of .*data.csv has the weight '-2' in column 'w', which is negative"),
        ("a,w\nx,many\n", r"record 1 of .*data.csv has the weight 'many' in column 'w', which is no number"),
        ("a,w\nx,1_0\n", r"record 1 of .*data.csv has the weight '1_0' in column 'w', which is no number"),
        ("a,w\nx,1\ny,\n", r"record 2 of .*data.csv has no weight in column 'w': give a number of at least 0"),
        ("a,w\nx,1e2\ny,1e30\n", r"record 2 of .*data.csv has the weight '1e30' in column 'w', which is too large"),
        ("a,w\nx,inf\n", r"record 1 of .*data.csv has the weight 'inf' in column 'w', which is too large"),
        ("a,w\nx,0\ny,0\n", r"all weights in column 'w' of .*data.csv are 0: give a record"),
        ("a,v\nx,0\n", r"--weights: .*data.csv has no column 'w'; its columns are 'a' and 'v'"),
        ("a,w\nx,3000000000\ny,3000000000\n", r"stands for 6,000,000,000 records: divide the weights so that they sum"),
    ],
)
def test_weights_that_cannot_be_are_refused(tmp_path, text, sentence):
    with pytest.raises(InputError, match=sentence):
        extbnsl.read_csv(csv_of(tmp_path, text), weights="w", header=True)


@pytest.mark.parametrize("missing", ["refuse", "drop", "state", "average"])
def test_a_record_without_a_weight_is_refused_whatever_the_data_are_in(tmp_path, missing):
    text = "a,b,w\nx,1,1\n,1,1\ny,2,\ny,1,1\n" if missing == "drop" else "a,b,w\nx,1,1\nx,1,1\ny,2,\ny,1,1\n"
    frame = pandas.read_csv(csv_of(tmp_path, text))
    for read in (from_dataframe, lambda own, **options: extbnsl.read_csv(csv_of(tmp_path, text), **options)):
        with pytest.raises(InputError, match=r"record 3 of .* has no weight in column 'w': give a number"):
            read(frame, weights="w", missing=missing)
    told = extbnsl.describe(frame, weights="w", missing=missing)
    assert told[2]["refused"], told
    assert "no weight in column 'w'" in told[2]["odd"][0]
    with pytest.raises(InputError, match=r"record 1 of .* has no weight"):
        from_dataframe(frame.assign(w=np.nan), weights="w", missing=missing)


@pytest.mark.parametrize(
    ("own", "options"),
    [
        (["1,5", "2,5", "3,5"], {}),  # semicolons leave the comma one meaning
        (["1,500", "2,500", "3,500"], {"decimal": ","}),
        (["1.500,0", "2.500,0", "3.500,0"], {"decimal": ",", "thousands": "."}),
        (["1,5 t", "2,5 t", "3,5 t"], {"decimal": ",", "unit": "t"}),
        (["1.500", "2.500", "3.500"], {"thousands": "."}),
    ],
)
def test_weights_are_written_as_variables_may_be(tmp_path, own, options):
    path = csv_of(tmp_path, "a;w\n" + "".join(f"{x};{w}\n" for x, w in zip("xyx", own, strict=True)))
    wanted = 1000.0 if "1.5" in own[0] else 1.0
    assert extbnsl.read_csv(path, weights="w", **options).total == 7.5 * wanted
    assert extbnsl.describe(path, weights="w", **options)[0]["refused"] is False


def test_a_gap_among_weights_with_decimal_commas_is_what_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"record 2 of .* has no weight in column 'w'"):
        extbnsl.read_csv(csv_of(tmp_path, "a;w\nx;1,5\ny;NA\nx;2,5\n"), weights="w", decimal=",")


def test_weights_that_are_not_whole_are_counted_in_their_largest_common_part(tmp_path):
    dataset = extbnsl.read_csv(csv_of(tmp_path, "a,w\nx,1.5\ny,0\nz,2.25\n"), weights="w")
    assert (dataset.records, dataset.each, dataset.total, dataset.observed) == (5, 0.75, 3.75, 2)
    assert dataset.weights.ends.tolist() == [2, 5]
    assert not dataset.warnings or "round" not in " ".join(dataset.warnings)
    whole = extbnsl.read_csv(csv_of(tmp_path, "a,w\nx,2\nz,3\n"), weights="w")
    assert whole.weights is None
    assert whole.fingerprint != dataset.fingerprint
    halves = extbnsl.read_csv(csv_of(tmp_path, "a,w\nx,2.5\nz,2.5\n"), weights="w")
    assert 0.5 <= halves.each < 1.0  # no part is more than a record
    assert halves.total == 5.0


def test_weights_of_many_digits_are_rounded_and_that_is_told():
    rng = np.random.default_rng(1)
    weights = rng.random(200) + 0.01
    dataset = from_dataframe(pandas.DataFrame({"a": rng.integers(0, 2, 200), "w": weights}), weights="w")
    assert any("rounded to multiples of" in told for told in dataset.warnings)
    assert dataset.total == pytest.approx(weights.sum(), rel=1e-4)
    counted = np.diff(dataset.weights.ends, prepend=0) * dataset.each
    np.testing.assert_allclose(counted, weights, atol=dataset.each / 2 * 1.0001)
    assert dataset.records <= (1 << 20) + 200


@pytest.mark.parametrize(
    "options", [{"drop": "w"}, {"columns": "a,w"}, {"discrete": "w"}, {"na": "w=1"}, {"discretise": "w=mean"}]
)
@pytest.mark.parametrize("name", ["weights", "targets", "imputation"])
def test_a_column_that_is_no_variable_is_not_told_to_be_missing(tmp_path, name, options):
    path, (option,) = csv_of(tmp_path), options
    told = rf"--{option}: column 'w' of .*data.csv is no variable, since --{name} names it; leave it out of one"
    with pytest.raises(InputError, match=told):
        extbnsl.read_csv(path, **{name: "w"}, **options)
    with pytest.raises(InputError, match="is no variable, since"):
        extbnsl.describe(path, **{name: "w"}, **options)


def test_weights_alone_are_no_data(tmp_path):
    with pytest.raises(InputError, match="has no column but 'X0': give at least one variable"):
        from_array([[1], [2]], weights="X0")
    with pytest.raises(InputError, match="weights: 3 is no name of a column"):
        from_array([[1], [2]], weights=3)


def test_more_records_than_memory_has_room_for_are_refused(tmp_path):
    from extbnsl.data.text import Reading

    with pytest.raises(BudgetError, match="the 2,000,000,001 records that its weights stand for, read so far take"):
        extbnsl.read_csv(csv_of(tmp_path, "a,w\nx,2000000000\ny,1\n"), weights="w", reading=Reading(memory=1 << 30))
