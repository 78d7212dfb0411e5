"""Lines of a text that are no rows: those that the user names, those before the names, and texts that are no table."""

import gzip

import pytest
from data_invariants import check_dataset
from hypothesis import given
from hypothesis import strategies as st

from extbnsl.core.errors import InputError
from extbnsl.data.beginning import FEW_ROWS
from extbnsl.data.reading import read_csv, read_data
from extbnsl.data.text import Lines

RECORDS = [(i % 2, i // 2 % 2, i % 3) for i in range(24)]


@pytest.fixture
def read(tmp_path):
    """Reads a text as a file."""

    def reader(text, name="d.csv", **options):
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        dataset = read_csv(tmp_path / name, **options)
        check_dataset(dataset)
        return dataset

    return reader


def refusal(read, text, **options):
    with pytest.raises(InputError) as caught:
        read(text, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def rows(delimiter=",", names="abc", records=RECORDS, end="\n"):
    """A table as a text."""
    return "".join(delimiter.join(map(str, row)) + end for row in ([names] if names else []) + list(records))


def is_whole(data, names=("a", "b", "c")):
    """Whether a data set is that of `rows`, without a word."""
    found = [tuple(int(data.states[j][code]) for j, code in enumerate(row)) for row in data.codes.tolist()]
    return (data.names, found, data.warnings) == (names, RECORDS, ())


# Lines that are named


@pytest.mark.parametrize(
    ("before", "options"),
    [
        ("A title\n", {"skip_lines": 1}),
        ("A title\n\n", {"skip_lines": "1"}),
        ("A title,of two\nby me\n\n", {"skip_lines": "3"}),
        ("* one\n * two\n", {"comment": "*"}),
        ("%% one, two, three\n", {"comment": "%%"}),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", " "])
def test_lines_before_the_names_can_be_left_out(read, before, options, end, delimiter):
    text = (before + rows(delimiter)).replace("\n", end).encode()
    assert is_whole(read(text, **options))
    assert is_whole(read(b"\xef\xbb\xbf" + text, **options))
    assert is_whole(read(gzip.compress(text), "d.csv.gz", **options))


def test_lines_anywhere_can_be_left_out(read):
    lines = rows().splitlines(keepends=True)
    text = "".join([lines[0], "m,kg,s\n", *lines[1:9], "# a note\n", "page,2\n", *lines[9:], "Total,24\n", "# end\n"])
    assert is_whole(read(text, skip_lines="2-2, 12-12,29-29", comment="#"))
    assert is_whole(read(text, skip_lines="29-40,2-2,11-12", comment="#"))


def test_a_line_within_quotes_is_no_comment(read):
    text = 'a,b\n"x\n# y",1\n# z,1\n"x\n# y",0\n'
    assert read(text, comment="#").states == (("x\n# y",), ("0", "1"))


def test_refusals_tell_the_line_of_the_file(read):
    lines = ["a title", "# one", "a,b", "# two", "0,1", "# three", "1", "0,0"]
    for text in ("\n".join(lines), "\n".join(lines).replace("1", '"1"')):
        said = refusal(read, text, skip_lines=1, comment="#")
        assert "line 7: 1 field where the first row has 2" in said
        assert "--skip-lines 1,7-7" in said
        assert read(text, skip_lines="1,7-7", comment="#").records == 2
    assert "line 7: 1 field" in refusal(read, "\n\n# one\n\na,b\n0,1\n1\n")


def test_a_comment_among_the_rows_is_told(read):
    for text in (rows() + "# end\n", rows().replace("\n", "\n# of the lab\n", 1)):
        assert "leave it out with --comment '#'" in refusal(read, text)
        assert is_whole(read(text, comment="#"))


@pytest.mark.parametrize("given", ["x", "3-1", "-2", "0-3", "1,,2", "", " ", -1, "1;2", True, "1-", "٣"])
def test_what_names_no_lines_is_refused(read, given):
    assert "--skip-lines:" in refusal(read, rows(), skip_lines=given)
    assert "names no lines: give N for the first N lines" in refusal(read, rows(), skip_lines=given)


def test_an_empty_comment_is_refused_and_so_is_a_text_without_rows(read):
    assert "--comment: is empty" in refusal(read, rows(), comment=" ")
    assert "has no line that is a row" in refusal(read, rows(), skip_lines=100)
    assert "has no line that is a row" in refusal(read, "# a\n", comment="#")


def test_lines_are_of_texts(tmp_path):
    (tmp_path / "d.arff").write_text("@relation r\n@attribute a {0,1}\n@data\n0\n1\n")
    for options in ({"skip_lines": 1}, {"comment": "#"}):
        with pytest.raises(InputError, match="is for texts"):
            read_data(tmp_path / "d.arff", **options)


@given(
    st.lists(st.sampled_from(["row", "", "# note", "  # note", '"', "x#"]), max_size=12),
    st.lists(st.tuples(st.integers(1, 12), st.integers(0, 3)), max_size=3),
    st.booleans(),
    st.integers(1, 4),
)
def test_the_lines_that_are_left_and_their_numbers(texts, ranges, comments, size):
    """Against the lines one by one, in blocks of so many lines."""
    given = ",".join(f"{start}-{start + more}" for start, more in ranges) or None
    lines = Lines("d", given, "#" if comments else None)
    left, quotes = [], 0
    for number, text in enumerate(texts, 1):
        named = any(start <= number <= start + more for start, more in ranges)
        if not named and not (comments and quotes % 2 == 0 and text.strip().startswith("#")):
            left.append((number, text))
            quotes += text.count('"')
    blocks = ["".join(f"{text}\n" for text in texts[i : i + size]).encode() for i in range(0, len(texts), size)]
    kept = list(lines.kept(blocks))
    assert b"".join(kept).decode() == "".join(f"{text}\n" for _, text in left)
    assert all(kept)
    assert [lines.in_file(k) for k in range(1, len(left) + 1)] == [number for number, _ in left]


# Lines before the names


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("before", "delimiter"),
    [
        ("sep=;\n", ";"),
        ('"sep=,"\n', ","),
        ("SEP=\\t\n", "\t"),
        ("sep=|\n\n", "|"),
        ("sep=^\n", "^"),
        ("# exported 2020\n# by lab\n", ","),
        ("# exported 2020, by lab\n\n", ","),
        ("\n# a; b\n#\n", ";"),
        ("// ~->[CASE-1]->~\n\n", "\t"),
        ("% made by hand\n", " "),
        ("#a title of several words\n", " "),
    ],
)
def test_lines_that_only_tell_of_the_rows_are_left_out(read, before, delimiter, end):
    text = (before + rows(delimiter)).replace("\n", end)
    assert is_whole(read(text))
    assert is_whole(read("\ufeff" + text))
    headless = read((before + rows(delimiter, names="")).replace("\n", end), header=False)
    assert is_whole(headless, ("X0", "X1", "X2"))


def test_a_delimiter_that_is_given_comes_before_one_that_the_text_has(read):
    assert read("sep=;\n" + rows(","), delimiter=",").names == ("a", "b", "c")


def test_names_may_begin_with_a_mark(read):
    assert is_whole(read(rows(names=["#a", "b", "c"])), ("#a", "b", "c"))
    assert is_whole(read("# note\n" + rows(names=["# a", "b", "c"])), ("# a", "b", "c"))
    assert is_whole(read(rows("\t", names=["#", "b", "c"])), ("#", "b", "c"))
    assert read("#a\n0\n1\n").names == ("#a",)


def test_names_that_numpy_writes_are_read(tmp_path):
    np = pytest.importorskip("numpy")
    np.savetxt(tmp_path / "d.txt", RECORDS, fmt="%d", header="a b c")
    assert is_whole(read_csv(tmp_path / "d.txt"))


def test_a_text_of_marks_alone_is_one_of_rows(read):
    data = read("#ff0000\n#00ff00\n#ff0000\n", header=False)
    assert (data.records, data.variables) == (3, 1)


@pytest.mark.parametrize(
    ("before", "delimiter", "skip"),
    [
        ("My data\n", ",", "1"),
        ("My data, of 2020\n\n", ",", "1"),
        ("My data\nby me\n\n", ";", "2"),
        ("My data,,\n", ",", "1"),
        ("My data;;\n;;\n", ";", "2"),
        ("group 1,,group 2\n", ",", "1"),
        ("My data set of 2020\n", " ", "1"),
        ("# note\nMy data\n", ",", "2-2"),
        ("24\n", " ", "1"),
    ],
)
def test_titles_are_told_with_what_leaves_them_out(read, before, delimiter, skip):
    text = before + rows(delimiter)
    said = refusal(read, text)
    assert f"with --skip-lines {skip}," in said
    assert f"({before.splitlines()[-1 if before[0] == '#' else 0][:2]!r}"[:-1] in said
    assert "R's" not in said
    assert is_whole(read(text, skip_lines=skip))


def test_a_title_as_wide_as_the_rows_is_told(read):
    (warning,) = read("My data set\n" + rows(" ")).warnings
    assert "Row 1 of the data ('a', 'b', 'c') looks like no record" in warning
    assert "what is before it with --skip-lines 1 if it has the names" in warning


@pytest.mark.parametrize("names", ["abc", ""])
@pytest.mark.parametrize("more", [1, 3])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_delimiters_at_the_ends_of_lines_make_no_columns(read, names, more, delimiter):
    data = read(rows(delimiter, names=names, end=delimiter * more + "\n"))
    assert is_whole(data, ("a", "b", "c") if names else ("X0", "X1", "X2"))


def test_names_that_lack_the_first_stay_above_a_row_of_units(read):
    text = ",a,b,c\nunit,m,kg,s\n" + "".join(f"{i},{','.join(map(str, row))}\n" for i, row in enumerate(RECORDS))
    assert "with --skip-lines 2-2" in read(text).warnings[0]
    assert is_whole(read(text, skip_lines="2-2", drop=""))


def test_a_delimiter_at_the_end_of_the_names_alone_makes_no_column(read):
    for end in ("\n", "\r\n", " \n"):
        for options in ({}, {"header": True}, {"delimiter": ","}):
            assert is_whole(read(f"a,b,c,{end}{rows(names='', end=end)}", **options))
    assert "line 1 ('a b c 4') has 4 fields" in refusal(read, "a,b,c,4\n" + rows(names=""))


def test_delimiters_at_both_ends_of_lines_make_no_columns(read):
    text = "".join(f"| {line} |\n" for line in rows(" | ").splitlines())
    assert is_whole(read(text))
    (warning,) = read(text.replace("\n", "\n|---|---|---|\n", 1)).warnings
    assert "('---', '---', '---') looks like no record" in warning


def test_names_may_lack_the_delimiter_at_the_ends_of_lines(read):
    assert is_whole(read("a,b,c\n" + rows(names="", end=",\n")))


def test_a_last_column_with_a_name_or_a_value_stays(read):
    with pytest.raises(InputError, match="leave out 'c', which has no value at all"):
        read("a,b,c\n0,1,\n1,0,\n")
    assert "column 3 has no name" in refusal(read, "a,b,\n0,1,5\n1,0,5\n")


# Names of rows


@pytest.mark.parametrize("delimiter", [" ", "\t", ",", ";"])
@pytest.mark.parametrize("quoted", [True, False])
@pytest.mark.parametrize("kind", ["numbers", "texts", "gaps"])
def test_tables_of_r_are_read(read, delimiter, quoted, kind):
    called = {"numbers": lambda i: i + 1, "texts": lambda i: f"John{i}", "gaps": lambda i: 3 * i * i + 2}[kind]
    mark = '"' if quoted else ""
    lines = [[f"{mark}{name}{mark}" for name in "abc"]]
    lines += [[f"{mark}{called(i)}{mark}", *row] for i, row in enumerate(RECORDS)]
    for options in ({}, {"header": True}, {"delimiter": delimiter}):
        data = read("".join(delimiter.join(map(str, line)) + "\n" for line in lines), **options)
        (warning,) = data.warnings
        verb = "names" if kind == "texts" else "numbers"
        assert f"The first column, which has no name, {verb} the records ('{called(0)}'," in warning
        assert "was left out" in warning
        assert (data.names, data.records, data.arities.tolist()) == (("a", "b", "c"), 24, [2, 2, 3])


def test_a_table_of_r_may_have_one_column(read):
    for text in ('"a"\n"1" 0\n"2" 1\n', "a\n1 0\n2 1\n3 1\n", '"a"\n"x y" 0\n"z" 1\n'):
        data = read(text)
        assert (data.names, data.variables) == (("a",), 1)
        assert "was left out" in data.warnings[0]
    assert FEW_ROWS == 3, "as the second text has"
    assert read("colour\ndark blue\nlight red\n").variables == 1


def test_names_of_rows_that_occur_twice_are_a_column(read):
    text = "a,b\nx,0,1\ny,1,1\nx,0,0\n"
    assert "column 1 has no name" in refusal(read, text)
    assert read(text, drop="").names == ("a", "b")
    assert "line 1 ('a b') has 2 fields, and those below have 3" in refusal(read, text, header=False)


@pytest.mark.parametrize(
    ("first", "names"),
    [("", "0,1,2"), ("", "a,b,c"), ("", "a,0,c"), ('""', "a,b,c"), ("Unnamed: 0", "a,b,c"), ("Unnamed: 0", "a,0,c")],
)
@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize("values", ["0,1,1", "x,y,x"])
def test_row_numbers_are_left_out_with_a_warning(read, first, start, names, values):
    text = f"{first},{names}\n" + "".join(f"{i},{values}\n" for i in range(start, start + 9))
    data = read(text)
    assert data.names == tuple(names.split(","))
    assert f"numbers the records ('{start}', '{start + 1}'," in data.warnings[0]
    assert read(text, columns=names).names == tuple(names.split(","))
    for drop in (first.strip('"'), [first.strip('"')]):
        assert "was left out" not in "".join(read(text, drop=drop).warnings)


def test_names_of_rows_are_left_out_with_a_warning(read):
    text = '"","a","b"\n' + "".join(f'"John {i}","{"xy"[i % 2]}","{"uvw"[i % 3]}"\n' for i in range(9))
    data = read(text)
    assert (data.names, data.records) == (("a", "b"), 9)
    assert "names the records ('John 0'," in data.warnings[0]


def test_several_columns_may_number_the_records(read):
    data = read(",Unnamed: 0,a\n" + "".join(f"{i},{i * 3},{i % 2}\n" for i in range(9)))
    assert (data.names, len(data.warnings)) == (("a",), 2)


def test_a_column_with_a_name_stays(read):
    for name in ("X", "id", "index"):
        data = read(f"{name},a\n" + "".join(f"{i},{i % 2}\n" for i in range(9)))
        assert (data.names, data.warnings) == ((name, "a"), ())
    for options in ({"columns": "Unnamed: 0,a"}, {"discrete": "Unnamed: 0"}, {"discretise": "Unnamed: 0=mean"}):
        text = "Unnamed: 0,a\n" + "".join(f"{i},{i % 2}\n" for i in range(9))
        assert read(text, **options).names == ("Unnamed: 0", "a")
    assert read("Unnamed: 0\n0\n1\n2\n").names == ("Unnamed: 0",), "it is all there is"


@pytest.mark.parametrize("values", ["0.5 1.5 2.5", "1 1 2", "x y x", "1 ? 3"])
def test_a_first_column_without_a_name_that_may_be_a_variable_is_refused(read, values):
    text = ",a\n" + "".join(f"{value},{i % 2}\n" for i, value in enumerate(values.split()))
    assert "column 1 has no name: name it, or leave it out with --drop ''" in refusal(read, text, header=True)
    assert read(text, header=True, drop="").names == ("a",)


def test_columns_without_a_name_can_be_named(read):
    text = "a,,b\n0,2,1\n1,2,0\n1,1,0\n"
    for drop in ("", ["", "a"], '"",a', 'a,""'):
        assert read(text, drop=drop).names == (("a", "b") if drop == "" else ("b",))
    assert "column 1 has no name" in refusal(read, text, drop="a,")
    assert read(text, weights="").records == 5
    assert "column 1 has no name" in refusal(read, text, columns="")


# Texts that are no table


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("10\nA\tB\tC\n1.0 x\n0.3\t1.0\n0.2\t0.1\t1.0\t7\n", "its first lines have 1, 3, 1, 2, 4 fields"),
        (
            "This is a text.\nIt goes on like this.\nAnd on.\nThen it ends there.\n",
            "its first lines have 4, 5, 2, 4 words",
        ),
        ("2020-01-01 12:00 INFO a\n2020-01-01 12:01 WARN b went wrong\n2020-01-01 12:02 c\n", "words"),
        ("name = foo\nsize = 12\ncolour = red\n", "a name and a value in each line"),
        ("[main]\nname=foo bar\nsize=12\ncolour=red\n", "a name and a value in each line"),
        ("name: foo\nsize: 12\ncolour: red\n", "a name and a value in each line"),
        ("a,b\n1,2,3\n4\n5,6,7,8\n9,1\n", "its first lines have 2, 3, 1, 4, 2 fields"),
    ],
)
def test_a_text_without_columns_is_no_table(read, text, why):
    said = refusal(read, text)
    assert "d.csv is no table" in said
    assert why in said
    assert "--delimiter" in said


@pytest.mark.parametrize(
    "text",
    [
        "colour\nred\ndark blue\nred\n",
        "marital status\n" + "never married\nmarried\ndivorced or so\n" * 4,
        "text\n" + "hello; world\nfoo\nbar\n" * 5,
        "at\n12:30\n12:45\n",
        "first name\nJohn\nMary Ann\nZoe\n",
        "v\n-1\n2.5\n3\n",
    ],
)
def test_a_single_column_is_read(read, text):
    data = read(text + "a\n")
    assert (data.variables, data.records, data.warnings) == (1, len(text.splitlines()), ())


def test_a_text_that_is_no_table_can_be_one_column(read):
    text = "This is a text.\nIt goes on like this.\nAnd on.\nThen it ends there.\n"
    assert "or --delimiter tab if each line is one value" in refusal(read, text)
    assert read(text, delimiter="tab").variables == 1
