"""The benchmark's pure functions: the suite, the rows, the tables, the ratios."""

import csv
import io
import json
from pathlib import Path

import matplotlib
import pytest

from bench import growing, measure, reference, spilling, suite, table
from bench.__main__ import main

DOCUMENT = {
    "status": "optimal",
    "cost": 100.0,
    "lower_bound": 99.9,
    "variables": ["a", "b", "c"],
    "stats": {
        "peak_disk_bytes": 2**21,
        "varsets_counted": 7,
        "parent_sets": 5,
        "nodes_expanded": 4,
        "nodes_generated": 20_000,
        "nodes_kept": 3,
        "peak_layer": 2,
        "peak_rss_bytes": 2**28,
        "stages": {
            "scores": {"seconds": 2.0, "cpu_seconds": 4.0},
            "search": {"seconds": 0.25, "cpu_seconds": 0.5},
        },
    },
}


def row(name="d.csv", **changed):
    run = measure.Run(DOCUMENT, wall_seconds=3.0, cpu_seconds=6.0, message="a warning")
    return measure.measured(name, run, 100.0, True, 0.5) | changed


FAILED = measure.measured("f.csv", measure.Run(None, 1.0, 0.5, "extbnsl: no."), None, None, 0.5)


def test_a_row_has_what_was_measured():
    found = row()
    assert found["ns_per_generated"] == pytest.approx(25_000)
    assert found["cpu_per_reference"] == 12
    assert (found["scores_cpu_seconds"], found["scores_wall_seconds"]) == (4.0, 2.0)
    assert found["bounds_cpu_seconds"] == 0
    assert (found["variables"], found["status"], found["message"]) == (3, "optimal", "")
    assert measure.ns_per_generated(1.0, 9_999) is None


def test_a_failed_solve_is_a_row_all_the_same():
    assert (FAILED["status"], FAILED["message"]) == ("failed", "extbnsl: no.")
    for text in (table.seconds_table([row(), FAILED]), table.counts_table([row(), FAILED])):
        lines = text.splitlines()
        assert len(lines) == 3
        assert len(lines[2].split("  ")) > 3
        assert lines[2].startswith("f.csv")
    assert "failed" in table.seconds_table([FAILED])


def test_tables_are_aligned_and_tell_a_wrong_optimum():
    lines = table.seconds_table([row(), row("much longer.csv", matches=False), row(matches=None)]).splitlines()
    assert [line.split()[-1] for line in lines[1:]] == ["12.0"] * 3
    assert len({len(line) for line in lines}) == 1
    assert "  NO  " in lines[2]
    assert "  yes  " in lines[1]
    assert "256 MiB" in table.counts_table([row()])


def test_csv_has_every_key_and_reads_back():
    read = list(csv.DictReader(io.StringIO(table.csv_text([FAILED, row()]))))
    assert read[0]["nodes_kept"] == ""
    assert read[1]["nodes_kept"] == "3"
    assert float(read[1]["search_cpu_seconds"]) == 0.5


def test_ratios_leave_out_what_is_too_small_or_missing():
    found = table.ratios(row(cpu_seconds=3.0, nodes_generated=5_000), row(bounds_cpu_seconds=1.0))
    assert found["cpu_seconds"] == 0.5
    assert found["nodes_generated"] == 0.25
    assert "bounds_cpu_seconds" not in found
    assert "nodes_generated" not in table.ratios(FAILED, row())


def test_a_comparison_ends_with_geometric_means():
    lines = table.comparison([row(cpu_seconds=12.0), row("e.csv", cpu_seconds=48.0), row("x")], [row(), row("e.csv")])
    cells = [line.split() for line in lines.splitlines()]
    assert [line[0] for line in cells] == ["new", "d.csv", "e.csv", "geometric"]
    assert (cells[1][1], cells[2][1], cells[3][2]) == ("2.00", "8.00", "4.00")
    assert table.geometric_mean([]) is None


def test_the_suite_is_what_is_known_small_and_there(tmp_path):
    (tmp_path / "uci").mkdir()
    for name in ("small", "large"):
        (tmp_path / "uci" / f"{name}.csv").touch()
    optima_file = tmp_path / "optima.csv"
    optima_file.write_text(
        "file,n,N,optimal_cost_nats,source\nuci/small.csv,31,9,10.5,dp\nuci/gone.csv,5,9,1,dp\nuci/large.csv,32,9,2,dp\n"
    )
    optima = suite.read_optima(optima_file)
    assert suite.suite_paths(optima, tmp_path) == [tmp_path / "uci" / "small.csv"]
    assert suite.known_cost(tmp_path / "uci" / "small.csv", optima) == 10.5
    assert suite.known_cost(tmp_path / "other" / "small.csv", optima) is None
    assert suite.matches(10.5 * (1 + 9e-7), 10.5)
    assert not suite.matches(10.5 * (1 + 2e-6), 10.5)


def test_the_reference_is_the_same_work_every_time():
    assert reference.steps(3) == reference.steps(3) != reference.steps(4)
    assert 0 < reference.steps(1000) < 2**64


def test_the_command_saves_what_it_measured(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("bench.measure.solve", lambda path, options: measure.Run(DOCUMENT, 3.0, 6.0, ""))
    monkeypatch.setattr("bench.__main__.reference_seconds", lambda: 0.5)
    optima = tmp_path / "optima.csv"
    optima.write_text("file,n,N,optimal_cost_nats,source\nd.csv,3,9,100,dp\ne.csv,3,9,90,dp\n")
    arguments = [str(tmp_path / "d.csv"), "--optima", str(optima), "--out", str(tmp_path / "one")]
    assert main(arguments) == 0
    saved = json.loads((tmp_path / "one.json").read_text())
    assert saved["options"] == ["--threads", "1"]
    assert [r["matches"] for r in saved["rows"]] == [True]
    assert (tmp_path / "one.csv").read_text().count("\n") == 2
    assert main([*arguments, "--compare", str(tmp_path / "one.json")]) == 0
    assert "geometric mean" in capsys.readouterr().out
    assert main([str(tmp_path / "e.csv"), "--optima", str(optima)]) == 1
    with pytest.raises(SystemExit):
        main(["--suite", "uci31"])


def test_growing_searches_are_measured_and_held_against_their_budgets(tmp_path, monkeypatch, capsys):
    seen = []

    def solve(path, options):
        seen.append((path.read_text() if path.suffix == ".csv" else "", options))
        return measure.Run(DOCUMENT, 3.0, 6.0, "")

    monkeypatch.setattr("bench.measure.solve", solve)
    monkeypatch.setattr(growing, "COUNTING_BYTES", 0)
    data = tmp_path / "data.csv"
    data.write_text("a,b,c\n0,1,0\n1,0,1\n")
    out, drawing = tmp_path / "grown", tmp_path / "grown.svg"
    monkeypatch.setitem(matplotlib.rcParams, "svg.fonttype", "none")  # text stays text
    arguments = [str(data), "--static", "2-3", "--pattern", "3", "--budgets", "1GiB,all", "--out", str(out)]
    assert growing.main([*arguments, "--plot", str(drawing)]) == 1
    assert "2 MiB of files, 0 MiB promised" in capsys.readouterr().err
    assert len(seen) == 6
    text, options = seen[0]
    assert text.split() == ["a,b", "0,1", "1,0"]
    assert options == ["--threads", "1", "--memory", "1GiB", "--lower-bound", "static", "--no-path-extension"]
    assert seen[5][1] == ["--threads", "1"]
    rows = list(csv.DictReader(io.StringIO(out.with_suffix(".csv").read_text())))
    assert [(row["columns"], row["method"], row["budget"]) for row in rows][::3] == [
        ("2", "static", "1GiB"), ("3", "static", "all"),
    ]  # fmt: skip
    assert float(rows[0]["search_cpu_seconds"]) == 0.5
    assert out.with_suffix(".md").read_text().count("\n") == 8
    legend = drawing.read_text()
    assert all(f">{label}<" in legend for label in ("straight growth", "1GiB, static", "all, pattern"))


def test_what_grows_beyond_its_promise_is_a_fault():
    point = growing.Point(3, "static", "16MiB")
    row = growing.measured(point, measure.Run(DOCUMENT, 3.0, 6.0, ""))
    fine = row | {"disk_bytes": 0, "rss_bytes": 366_000_000}
    assert growing.faults(fine) == []
    assert growing.faults(fine | {"rss_bytes": 367_000_000}) == ["350 MiB of memory, 350 MiB promised"]
    assert growing.faults(fine | {"status": "time_limit"}) == ["not finished: time_limit "]
    failed = growing.measured(point, measure.Run(None, 1.0, 1.0, "extbnsl: no."))
    assert growing.faults(failed) == ["not finished: failed extbnsl: no."]
    assert growing.markdown([failed, row]).count("\n") == 3


def test_the_parts_of_a_spilling_search_are_counted(tmp_path):
    wdbc = Path(__file__).parents[2] / "examples" / "wdbc.csv"
    data = tmp_path / "some.csv"
    data.write_text("\n".join(",".join(line.split(",")[:18]) for line in wdbc.read_text().splitlines()))
    gather = spilling.tasks._gather
    problem = spilling.prepared(data, static=True)
    ample = spilling.searched(problem, 1 << 30)
    little = spilling.searched(problem, spilling.fixed_memory(problem, 1))
    assert spilling.tasks._gather is gather
    assert ample.kept == little.kept > 10_000
    assert ample.pulled == 0
    assert ample.merged_per_second is None
    assert little.pulled > little.kept / 2
    assert little.gathering > 0
    assert little.writing > 0
