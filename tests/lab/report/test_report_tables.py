"""Tables: the figures of runs, marks of what became of them, published figures, and how each format spells them."""

import csv
import io
import shutil
import statistics
import subprocess

import pytest
from made_rows import row

from extbnsl.core.claims import DISK_LIMIT, INTERRUPTED, MEMORY_LIMIT, NOT_PROVED, OPTIMAL, TIME_LIMIT
from extbnsl.drawing.markup import Grid
from extbnsl.formats.spelling import csv_text
from extbnsl.lab.campaign.figures import FIGURES
from extbnsl.lab.campaign.rows import NO_NETWORK, NO_RESULT, WAITING, csv_of
from extbnsl.lab.campaign.spec import Column, Comparison, Table
from extbnsl.lab.report.tables import MARKS, MEANING, comparison_of, failures, formatted, overview, p_value, table_of
from extbnsl.lab.report.texts import html_table, in_latex, in_markdown, latex, markdown, plain

ODD = "a|b & c_d % $e$ #f {g} ~h ^i \\j <script>alert(1)</script> [k] *l* `m` \"n\" 'o'"


def column(**given):
    return Column.model_validate({"label": "c", **given})


def one(rows, **given):
    """The grid of a table of one column."""
    return table_of(Table.model_validate({"title": "t", "columns": [{"label": "c", **given}]}), rows)


@pytest.mark.parametrize(
    ("status", "mark", "meaning"),
    [
        (TIME_LIMIT, "OT", "out of time"),
        (MEMORY_LIMIT, "OM", "out of memory"),
        (DISK_LIMIT, "OD", "out of disk"),
        (NO_NETWORK, "O", "a budget ended before there was a network"),
        (NOT_PROVED, "open", "not proved, with budgets left"),
        (INTERRUPTED, "stopped", "stopped by a signal"),
        (WAITING, "...", "not run yet"),
        (NO_RESULT, "failed", "no result, for a reason that the list of failures has"),
    ],
)
def test_marks_say_what_became_of_a_run_and_are_explained(status, mark, meaning):
    grid = one([row(0, "a", status=status)])
    assert grid.rows == (("a", mark),)
    assert grid.note == f"{mark}: {meaning}."
    assert MARKS[status] == mark
    assert MEANING[mark] == meaning


def test_no_mark_is_explained_that_is_not_there():
    assert one([row(0, "OT", cost=3.0), row(1, "open", cost=3.0)]).note == ""


def test_effort_of_an_unfinished_run_is_no_figure_but_its_cost_is():
    rows = [row(0, "a", status=TIME_LIMIT, cost=12.3456)]
    assert one(rows, figure="seconds").rows == (("a", "OT"),)
    assert one(rows, figure="memory").rows == (("a", "OT"),)
    assert one(rows, figure="cost").rows == (("a", "12.346 OT"),)


def test_of_several_runs_some_unfinished():
    rows = [row(0, "a", seed=1, cost=1.0), row(1, "a", seed=2, status=TIME_LIMIT, cost=9.0), row(2, "a", seed=3)]
    assert one(rows[:2], figure="seconds").rows == (("a", "1.50 (1 of 2 OT)"),)


@pytest.mark.parametrize(
    ("statuses", "text"),
    [
        ([NO_RESULT] * 3, "3 of 3 failed"),
        ([NO_RESULT, TIME_LIMIT, NO_RESULT], "2 of 3 failed, 1 of 3 OT"),
        ([NO_RESULT, OPTIMAL, WAITING], "1.000 (1 of 3 failed, 1 of 3 ...)"),
    ],
)
def test_how_many_of_several_runs_failed_is_a_sentence(statuses, text):
    costs = [{"cost": 1.0} if status == OPTIMAL else {} for status in statuses]
    rows = [row(k, "a", seed=k, status=status, **costs[k]) for k, status in enumerate(statuses)]
    grid = one(rows, figure="cost")
    assert grid.rows == (("a", text),)
    used = {MARKS[status] for status in statuses if status in MARKS}
    assert {part.partition(": ")[0] for part in grid.note.split("; ")} == used


ALIKE = {
    "figures": (
        [{"each": "method"}, {"each": "method", "figure": "memory"}],
        ["m, seconds", "n, seconds", "m, memory", "n, memory"],
    ),
    "take": ([{"label": "s"}, {"label": "s", "take": "most"}], ["s, median", "s, most"]),
    "figures and take": (
        [{"label": "s"}, {"label": "s", "take": "most"}, {"label": "s", "figure": "cost"}],
        ["s, seconds, median", "s, seconds, most", "s, cost"],
    ),
    "where": ([{"label": "s", "where": {"method": name}} for name in "mn"], ["s, m", "s, n"]),
    "nothing": ([{"label": "s"}] * 3, ["s", "s (2)", "s (3)"]),
    "the first column": ([{"label": "data"}], ["data, seconds"]),
    "none alike": ([{"label": "s"}, {"label": "t"}, {"each": "method"}], ["s", "t", "m", "n"]),
}


@pytest.mark.parametrize("kind", ALIKE)
def test_columns_have_names_of_their_own(kind):
    columns, names = ALIKE[kind]
    rows = [row(0, "a", "m", cost=1.0), row(1, "a", "n", cost=2.0)]
    grid = table_of(Table.model_validate({"title": "t", "columns": columns}), rows)
    assert list(grid.head) == ["data", *names]
    assert grid.rows[0][0] == "a"


@pytest.mark.parametrize("take", ["median", "mean", "least", "most", "sum"])
@pytest.mark.parametrize("values", [[3, 4, 8], [5, 5], [2.5], [7, 7, 7, 1]])
def test_what_is_taken_of_several_runs(take, values):
    by_hand = {"median": statistics.median, "mean": statistics.fmean, "least": min, "most": max, "sum": sum}[take]
    rows = [row(k, "a", seed=k, cost=1.0, stats={"count": value}) for k, value in enumerate(values)]
    ((_, text),) = one(rows, figure="stats.count", take=take).rows
    assert float(text) == pytest.approx(by_hand(values), rel=1e-3)


def test_equal_whole_numbers_keep_their_digits():
    rows = [row(k, "a", seed=k, cost=1.0, stats={"count": 12345678}) for k in range(2)]
    assert one(rows, figure="stats.count").rows == (("a", "12,345,678"),)


def test_published_figures_stand_beside_ours():
    rows = [row(0, "a", cost=1.0), row(1, "b", cost=2.0), row(2, "c", cost=3.0)]
    published = {"a": 1234567, "b": "OM", "c": None}
    grid = one(rows, figure="cost", published=published)
    assert grid.head == ("data", "c", "c, published")
    assert grid.rows == (("a", "1.000", "1,234,567"), ("b", "2.000", "OM"), ("c", "3.000", ""))
    assert grid.note == "OM: out of memory."


def test_published_bytes_and_costs_are_written_as_ours():
    rows = [row(0, "a", cost=1.0, stats={"peak_disk_bytes": 1 << 20})]
    assert one(rows, figure="disk", published={"a": 2 << 30}).rows == (("a", "1.0MiB", "2.0GiB"),)
    assert one(rows, figure="cost", published={"a": 2.5}).rows == (("a", "1.000", "2.500"),)


def test_rows_and_conditions_of_another_axis():
    rows = [row(k, data, method, cost=k + 1.0) for k, (data, method) in enumerate([*zip("aabb", "mnmn", strict=True)])]
    table = {"title": "t", "rows": "method", "where": {"method": ["n", "m"]}}
    table["columns"] = [
        {"label": "A", "figure": "cost", "where": {"data": "a"}},
        {"label": "B", "figure": "cost", "where": {"data": ["b"]}},
    ]
    grid = table_of(Table.model_validate(table), sorted(rows, key=lambda row: -row.number))
    assert grid.rows == (("m", "1.000", "3.000"), ("n", "2.000", "4.000"))


def test_failures_and_all_runs():
    rows = [row(0, "a", cost=1.0), row(1, "b", status=NO_RESULT, message="It was killed by signal 9.")]
    assert failures(rows[:1]) is None
    assert failures(rows).rows == (("b", "m", "-", "-", "-", "It was killed by signal 9."),)
    assert overview(rows).rows[0][:3] == ("a", "optimal", "1.000")
    assert overview(rows).rows[1][:2] == ("b", "failed")


@pytest.mark.parametrize(
    ("value", "figure", "text"),
    [
        (1234567, "kept", "1,234,567"),
        (0.001234, "stats.share", "0.001234"),
        (3.456, "seconds", "3.46"),
        (45.67, "stats.search_seconds", "45.7"),
        (4567.8, "seconds", "4,568"),
        (3 << 30, "memory", "3.0GiB"),
        (0, "disk", "0B"),
        (0.01234, "gap", "1.23%"),
        (1234.56789, "cost", "1234.568"),
        (None, "cost", ""),
        ("2 / 15", "extra_missing", "2 / 15"),
    ],
)
def test_figures_for_people(value, figure, text):
    assert formatted(value, figure) == text


def test_seconds_are_without_those_of_compiling():
    stages = {"stages": {"kernels": {"seconds": 10.0, "cpu_seconds": 9.0}}}
    slow = row(0, "a", cost=1.0, stats={"seconds": 14.0, "cpu_seconds": 13.5} | stages)
    assert (slow.figure("seconds"), slow.figure("cpu_seconds")) == (4.0, 4.5)
    assert row(0, "a", cost=1.0).figure("seconds") == 1.5


@pytest.mark.parametrize("value", [float("nan"), float("inf"), True, [], {}, None, 10**400])
def test_what_is_no_figure(value):
    assert row(0, "a", cost=1.0, stats={"odd": value}).figure("stats.odd") is None


def test_states_of_the_first_variables():
    grid = one([row(0, "a", cost=1.0, order=["y", "x"], stats={"states": {"x": 3, "y": 4}})], figure="states", first=1)
    assert grid.rows == (("a", "4"),)


def test_results_csv_has_every_figure_of_every_run():
    rows = [row(0, ODD, cost=1.5), row(1, 'two\nlines "q"', status=NO_RESULT, message="a, b")]
    read = list(csv.DictReader(io.StringIO(csv_of(rows))))
    assert [one["data"] for one in read] == [ODD, 'two\nlines "q"']
    assert set(FIGURES) <= set(read[0])
    assert (read[0]["cost"], read[0]["arcs"], read[1]["cost"], read[1]["message"]) == ("1.5", "1", "", "a, b")


GRID = Grid(f"T {ODD}", ("data", f"head {ODD}"), ((ODD, "1"), ("[x]", "2"), ("two\nlines", "")), f"N {ODD}")


def test_markdown_keeps_its_cells_and_its_signs():
    lines = markdown(GRID).splitlines()
    assert len(lines) == 9
    for line in lines[2:7]:
        assert line.replace("\\|", "").count("|") == 3
    assert "<script>" not in markdown(GRID).replace("\\<", "")
    for sign in "|_*`[$<&~":
        assert in_markdown(f"a{sign}b") == f"a\\{sign}b"
    assert lines[6] == "| two lines |  |"


def test_latex_has_no_sign_with_a_meaning_and_no_row_that_begins_with_an_option():
    text = latex(GRID)
    assert r"a\textbar{}b \& c\_d \% \$e\$ \#f \{g\} \textasciitilde{}h \textasciicircum{}i \textbackslash{}j" in text
    assert r"\textless{}script\textgreater{}" in text
    assert "\n{[}x] & 2 \\\\\n" in text
    assert text.count(r"\\" + "\n") == 4
    assert in_latex("50% of A&B_1") == r"50\% of A\&B\_1"


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="there is no pdflatex")
def test_latex_compiles(tmp_path):
    page = rf"\documentclass{{article}}\usepackage{{booktabs}}\begin{{document}}{latex(GRID)}\end{{document}}"
    (tmp_path / "t.tex").write_text(page)
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    subprocess.run(command, cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)


def test_csv_gives_back_what_it_was_given():
    assert list(csv.reader(io.StringIO(csv_text(GRID.head, GRID.rows)))) == [list(GRID.head), *map(list, GRID.rows)]


def test_html_has_no_tags_of_others():
    text = html_table(GRID)
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert text.count("<td>") == 6


def test_plain_text_is_aligned():
    lines = plain(Grid("T", ("data", "n"), (("a", "5"), ("longer", "12,345")), "note")).splitlines()
    assert lines == ["T", "", "data         n", "a            5", "longer  12,345", "", "note"]


def test_a_grid_has_a_text_for_each_column():
    with pytest.raises(AssertionError):
        Grid("T", ("a", "b"), (("1",),))


def test_comparisons_count_differences_by_category():
    differences = [20.0, 8.0, 3.0, 0.0, -3.0, -8.0, -20.0, 10.0, 2.0]
    rows = [row(k, f"d{k}", "m", cost=100.0) for k in range(9)]
    rows += [row(9 + k, f"d{k}", "n", cost=100.0 + difference) for k, difference in enumerate(differences)]
    rows.append(row(18, "alone", "m", cost=1.0))
    grid = comparison_of(Comparison.model_validate({"title": "t", "pairs": [["m", "n"]]}), rows)
    assert [text for _, text in grid.rows[:-1]] == ["1", "2", "1", "2", "1", "1", "1"]
    assert float(grid.rows[-1][1]) == pytest.approx(p_value(4, 9), rel=0.01)


def test_the_sign_test_by_hand():
    assert p_value(3, 3) == 1 / 8
    assert p_value(0, 5) == 1.0
    assert p_value(2, 3) == 4 / 8
    assert p_value(0, 0) == 1.0
