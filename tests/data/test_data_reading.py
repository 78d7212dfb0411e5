"""Reading keeps its memory, hears the time limit, says how far it is, and reads or refuses any bytes."""

import gzip
import os
import threading
import time

import numpy as np
import pytest
from data_invariants import check_dataset
from hypothesis import given, settings
from hypothesis import strategies as st
from large import MEBIBYTE, most_memory_of, packed

from extbnsl.core.errors import BudgetError, InputError
from extbnsl.data import Reading
from extbnsl.data.reading import read_csv
from extbnsl.data.table import FEW_TEXTS, LONGEST_FIELD, MANY_RECORDS
from extbnsl.data.text import AMPLE, BLOCK, LONGEST_LINE
from extbnsl.machine.budgets import Deadline

PIECES = [
    "a",
    "b",
    "0",
    "1",
    " ",
    ",",
    ";",
    "\t",
    "\n",
    "\r\n",
    "\r",
    '"',
    "é",
    "NA",
    "\ufeff",
    "\0",
    "longer than a key",
    "#",
    "sep=;",
]


@pytest.mark.parametrize(
    ("parts", "error", "said"),
    [
        ([(b"0" * MEBIBYTE, 200)], InputError, "line 1: more than 4.0MiB without the end of a row"),
        ([(b" " * MEBIBYTE, 200)], InputError, "line 1: more than 4.0MiB without the end of a row"),
        ([(b"a,b\n", 1), (b"\n" * MEBIBYTE, 200)], InputError, "too many blank lines"),
        ([(b"\n" * MEBIBYTE, 200)], InputError, "too many blank lines"),
        ([(b'a,b\n0,"', 1), (b"x\n" * 1000, 100_000)], InputError, "line 65538: field larger than"),
        pytest.param(
            [(b'"a\n",' * 1000, 40_000)],
            InputError,
            "more than 4.0MiB without the end of a row",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            [(b"0," * MEBIBYTE, 1), (b"1\n", 1)],
            BudgetError,
            r"1,048,577 columns read so far take 1.0GiB",
            marks=pytest.mark.slow,
        ),
        ([(b"a,b\n", 1), (b"0,1\n" * 100_000, 2000)], BudgetError, r"rows of 2 columns read so far take 16\..MiB"),
    ],
)
def test_files_that_unpack_to_much_are_refused_early(tmp_path, parts, error, said):
    path, caught = packed(tmp_path, *parts), []

    def read():
        with pytest.raises(error, match=said) as failure:
            read_csv(path, reading=Reading(memory=16 * MEBIBYTE))
        caught.append(str(failure.value))

    assert most_memory_of(read) < 24 * LONGEST_LINE
    assert str(path) in caught[0]
    assert "\n" not in caught[0]


def test_distinct_texts_count(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("\n".join(f"text{i}" for i in range(100_000)))
    with pytest.raises(BudgetError, match="rows of 1 columns read so far take 16"):
        read_csv(path, reading=Reading(memory=16 * MEBIBYTE))
    with pytest.raises(InputError, match="looks like an identifier"):
        read_csv(path, reading=Reading(memory=64 * MEBIBYTE))


def test_what_fits_is_read_within_the_memory(tmp_path):
    """Two million fields: two bytes each in the data set, and half of that twice on the way."""
    path = packed(tmp_path, (b"a,b,c,d\n", 1), (b"0,1,1,0\n1,0,0,2\n" * 1000, 250))
    reading = Reading(memory=16 * MEBIBYTE)
    data = []
    assert most_memory_of(lambda: data.append(read_csv(path, reading=reading))) < 16 * MEBIBYTE
    assert (data[0].records, data[0].arities.tolist()) == (500_000, [2, 2, 2, 2])


def test_the_time_limit_is_heard_while_a_file_is_read(tmp_path):
    path = packed(tmp_path, (b"0,1\n" * BLOCK, 8))
    seen = []
    with pytest.raises(BudgetError, match=r"time limit passed while .*data\.csv\.gz was read: give a longer"):
        read_csv(path, reading=Reading(AMPLE - 1, Deadline.after(0.05), seen.append))
    assert 0 < len(seen) < 32


@pytest.mark.parametrize("written", [False, True])
def test_the_time_limit_is_heard_while_a_pipe_says_nothing(tmp_path, written):
    """A pipe that nobody has opened to write, and one with half a file."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = os.open(pipe, os.O_RDWR)
    if written:
        os.write(writer, b"a,b\n0,1\n")
    else:
        os.close(writer)
    began = time.monotonic()
    with pytest.raises(BudgetError, match=r"The time limit passed while .*pipe was read"):
        read_csv(pipe, reading=Reading(deadline=Deadline.after(0.5)))
    assert 0.4 < time.monotonic() - began < 10
    if written:
        os.close(writer)


def test_a_pipe_is_read_when_it_speaks(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def write():
        for text in ("a,b\n0,1", "\n1,0\n", "1,1\n"):
            time.sleep(0.3)
            if text.startswith("a"):
                files.append(open(pipe, "w"))  # noqa: SIM115 - it stays open
            files[0].write(text)
            files[0].flush()
        files[0].close()

    files = []
    thread = threading.Thread(target=write)
    thread.start()
    assert read_csv(pipe, reading=Reading(deadline=Deadline.after(60))).codes.tolist() == [[0, 1], [1, 0], [1, 1]]
    thread.join()


def test_the_observer_hears_how_far_it_is(tmp_path):
    path, seen = tmp_path / "data.csv", []
    path.write_bytes(b"0,1\n1,1\n" * (BLOCK // 4))
    read_csv(path, reading=Reading(memory=AMPLE - 1, observer=seen.append))
    assert [(event.stage, event.done, event.total) for event in seen] == [
        ("reading", (i + 1) * BLOCK, 2 * BLOCK) for i in range(2)
    ]


@pytest.mark.parametrize("quote", ["", '"'])
def test_long_fields_are_refused_by_column_and_row_unless_the_column_is_left_out(tmp_path, quote):
    path = tmp_path / "data.csv"
    long = quote + "x" * (LONGEST_FIELD + 1) + quote
    path.write_text(f"a,b,c\n0,1,x\n1,{long},y\n")
    sentence = r"column 'b' has a value of 4,097 bytes in row 2 of the data, but names and states have at most 4,096"
    with pytest.raises(InputError, match=sentence) as caught:
        read_csv(path)
    assert (caught.value.names, caught.value.row) == (("b",), 2)
    assert "leave the column out with --drop 'b', or give the right --delimiter." in str(caught.value)
    for options in ({"drop": "b"}, {"columns": "a,c"}):
        assert read_csv(path, **options).names == ("a", "c")
    with pytest.raises(InputError, match=sentence):
        read_csv(path, drop="a", weights="b")
    for value in ("", "1" * (LONGEST_FIELD + 1)):
        path.write_text(f"a,b,{'c' * LONGEST_FIELD}d\n0,1,{value}\n1,0,1\n")
        with pytest.raises(InputError, match=r"the name of column 'c{40}\.\.\.' has 4,097 bytes, but") as caught:
            read_csv(path, header=True)
        assert len(str(caught.value)) < 400
        assert read_csv(path, header=True, columns="a,b").names == ("a", "b")


def test_memory_counts_long_fields_as_they_are(tmp_path):
    """One of them among many short ones is not taken for many."""
    path = tmp_path / "data.csv"
    lines = [f"{i % 2},{'x' * 100_000 if i == 7 else i}" for i in range(2000)]
    path.write_text("a,b\n" + "\n".join(lines) + "\n")
    assert read_csv(path, drop="b", reading=Reading(memory=1 << 23)).records == 2000


def a_table(texts, rows=400, columns=3):
    """Random rows of these texts, as lines."""
    chosen = np.random.default_rng(len(texts)).choice(np.array(texts, dtype=object), (rows, columns))
    return [",".join(row) for row in chosen.tolist()]


@pytest.mark.parametrize(
    "texts",
    [
        ["0", "1"],
        ["", "a", " a ", "b"],
        ["é", "1234567", "12345678", "123456789"],
        [str(i) for i in range(FEW_TEXTS + 9)],
        ['"a,b"', '"a\nb"', "c"],
    ],
)
def test_blocks_and_ways_of_looking_up_do_not_matter(tmp_path, sizes, texts):
    path = tmp_path / "data.csv"
    lines = a_table(texts, rows=MANY_RECORDS * 6)
    path.write_text("\n".join(["a,b,c", *lines]))
    options = {"header": True, "missing": "state", "discretise": "paper"}
    whole = read_csv(path, **options)
    assert (whole.records, whole.variables) == (len(lines), 3)
    for block, many in ((7, 1), (100, 1), (5000, 10**9)):
        sizes({"text.BLOCK": block, "MANY_RECORDS": many})
        assert read_csv(path, **options, reading=Reading(memory=AMPLE - 1)).fingerprint == whole.fingerprint


def test_a_text_that_comes_late_gets_wider_codes(tmp_path):
    path = tmp_path / "data.csv"
    values = [*["0"] * 1000, *map(str, range(200)), *["0"] * 1000]
    path.write_text("a\n" + "\n".join(values))
    data = read_csv(path, discretise="width:64")
    assert data.records == len(values)
    assert np.bincount(data.codes[:, 0]).sum() == len(values)
    assert (np.diff(data.codes[1000:1200, 0].astype(int)) >= 0).all()


@settings(max_examples=50, deadline=None)
@given(
    st.one_of(st.binary(max_size=60), st.lists(st.sampled_from(PIECES), max_size=40).map(lambda p: "".join(p).encode()))
)
def test_any_bytes_are_read_or_refused(tmp_path_factory, data):
    check_any(tmp_path_factory, data, {})


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_a_damaged_table_is_read_or_refused(tmp_path_factory, data):
    text = data.draw(
        st.sampled_from(["a,b,c\n0,x,1\n1,y,0\n0,?,0\n", '"a" b\n"x y" 1\n"z" 0\n', "1;2,5\r\n2;3\r\n"])
    ).encode()
    if data.draw(st.booleans()):
        text = gzip.compress(text, mtime=0)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        piece = data.draw(st.one_of(st.sampled_from(PIECES).map(str.encode), st.binary(max_size=3)))
        text = text[:at] + piece + text[at + data.draw(st.integers(0, 3)) :]
    options = {
        "missing": data.draw(st.sampled_from(["refuse", "drop", "state"])),
        "header": data.draw(st.sampled_from([None, True, False])),
        "discretise": data.draw(st.sampled_from([None, "mean", "paper", "quantile:3", "mean,a=paper", "X1=width:2"])),
        "na": data.draw(st.sampled_from([None, "0", "x,y"])),
        "drop": data.draw(st.sampled_from([None, "a", "X0"])),
        "discrete": data.draw(st.sampled_from([None, "c", "all"])),
        "delimiter": data.draw(st.sampled_from([None, ",", " ", "é"])),
        "skip_lines": data.draw(st.sampled_from([None, 0, 1, "2-3"])),
        "comment": data.draw(st.sampled_from([None, "1", "x"])),
    }
    check_any(tmp_path_factory, text, options)


def check_any(tmp_path_factory, data, options):
    """Read a file of these bytes: what comes is a whole Dataset or a refusal in one sentence that names the file."""
    path = tmp_path_factory.mktemp("any") / "d.csv"
    path.write_bytes(data)
    try:
        check_dataset(read_csv(path, **options))
    except InputError as error:
        said = str(error)
    else:
        said = str(path)
    assert str(path) in said
    assert "\n" not in said
