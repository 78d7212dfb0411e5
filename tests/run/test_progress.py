"""Observers: what is said, how often, and that a failing stream costs nothing."""

import dataclasses
import io
import json
import math
import threading

import pytest

from extbnsl.core import figures
from extbnsl.core.events import (
    Committed,
    IncumbentFound,
    LayerAdvanced,
    LayerEnded,
    StageAdvanced,
    StageEnded,
    StageStarted,
    Warned,
)
from extbnsl.run import progress, rows, screen


class Clock:
    """A clock that only the test moves."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def layer(number, *, layers=31, component=1, components=1, kept=51_800_000, spilled=0, lower=6589.441):
    return LayerEnded(
        number,
        layers,
        component,
        components,
        expanded=9_000_000,
        generated=311_200_000,
        kept=kept,
        spilled=spilled,
        memory=8 << 30,
        disk=int(21.4 * 2**30),
        lower_bound=lower,
        upper_bound=6602.578,
    )


def advance(number, done, *, component=1, components=1):
    return LayerAdvanced(number, 31, component, components, done, 131_200_000, 20_100_000, 8 << 30, 9 << 30)


def test_layers_have_one_header_and_aligned_columns(clock):
    lines = []
    table = progress.Table(lines.append, clock)
    table(StageEnded("scores", 2.14, "counted 3.57M varsets, 14,613 parent sets kept"))
    clock.now += 41
    clock.now += 1
    table(layer(12))
    clock.now += 1
    table(layer(13, kept=7))
    assert lines[0] == "scores: counted 3.57M varsets, 14,613 parent sets kept (2.1 s)"
    assert tuple(lines[1:3]) == rows.LEGEND
    assert " ".join(lines[3].split()) == "Layer Edges Nodes Memory Disk Best bound Best network Gap Time"
    assert {len(line) for line in lines[3:]} == {79}
    words = lines[4].split()
    assert words[:3] == ["12/31", "311.2M", "51.8M"]
    assert words[3].endswith("iB")
    assert words[4:] == ["21.4GiB", "6589.441", "6602.578", "0.20%", "0:00:42"]
    assert lines[5].split()[:3] == ["13/31", "311.2M", "7"]
    assert len(lines) == 6


def test_the_header_comes_again_after_a_stage(clock):
    lines = []
    table = progress.Table(lines.append, clock)
    for event in (layer(1), StageStarted("bounds", ""), layer(2), StageEnded("search", 1.0, ""), layer(3)):
        table(event)
    assert lines.count(rows.HEADER) == 3
    assert lines.count(rows.LEGEND[0]) == 1
    assert "search: done (1.0 s)" in lines


def test_components_and_missing_bounds(clock):
    lines = []
    progress.Table(lines.append, clock)(layer(2, layers=4, component=3, components=5, kept=6, lower=-math.inf))
    words = lines[-1].split()
    assert words[0] == "2/4"
    assert words[5::2] == ["-", "-"]
    assert words[6] == "6602.578"


def test_rows_are_at_most_one_a_second_but_for_the_first_and_the_last(clock):
    lines = []
    table = progress.Table(lines.append, clock)
    for number in range(32):
        table(layer(number))
        clock.now += 0.125  # exact in binary
    table(Committed(0.1, 5))
    assert [line.split()[0] for line in lines[3:]] == ["0/31", "8/31", "16/31", "24/31"]
    table(StageEnded("search", 4.0, "31 layers"))
    assert [line.split()[0] for line in lines[7:]] == ["31/31", "search:"]
    table(layer(0))
    clock.now += 0.5
    table(layer(1, spilled=3))
    table(layer(2))
    table.beat()
    assert lines[-1].split()[0] == "0/31"
    clock.now += 0.5
    table.beat()
    assert lines[-1].split()[:2] == ["S", "2/31"]  # what happened in the row that was left out counts


def test_no_line_of_the_table_is_wider_than_a_terminal(clock):
    lines = []
    table = progress.Table(lines.append, clock)
    table(StageEnded("bounds", 1.0, "component 2 of 3, 7 variables; " * 4))
    for size in (1.0, 123456.7891, 12345678.75, 1.2345678901234e11, -1.5e9):
        clock.now += 2
        table(dataclasses.replace(layer(31), lower_bound=size, upper_bound=size, disk=1023 << 20))
    assert max(map(len, "\n".join(lines).splitlines())) <= 80
    rows = [line.split() for line in lines if line.split()[0] == "31/31"]
    assert [row[5] for row in rows] == ["1.000", "123456.789", "12345678.8", "1.235e+11", "-1.5e+09"]


def test_the_part_that_is_done_tells_when_it_will_end(clock):
    lines = []
    table = progress.Table(lines.append, clock)
    for done in (10, 20, 30, 40):
        table(StageAdvanced("incumbent", done, 100, "orders"))
        clock.now += 4
    assert lines[0].startswith("network: 20 of 100 orders, 20% (memory ")
    assert lines[-1].startswith("network: 40 of 100 orders, 40%, 0:00:24 left (memory ")
    for done in (10, 50):
        table(StageAdvanced("scores", done, 100, "", detail="parent sets of size 6 of at most 7"))
        clock.now += 8
    assert lines[-1].startswith("scores: parent sets of size 6 of at most 7: 50%, 0:00:10 left (memory ")


def test_children_are_parts_of_one_work(clock):
    """What is left of it does not begin anew with each child."""
    lines = []
    table = progress.Table(lines.append, clock)
    for child, done in ((1, 0), (1, 500), (2, 1000), (3, 2000)):
        table(StageAdvanced("scores", done, 10_000, "", detail=f"child {child} of 10"))
        clock.now += 10
    assert lines[-1].startswith("scores: child 3 of 10: 20%, 0:02:00 left (memory ")


def test_what_is_left_of_a_whole_goes_on_from_one_part_to_the_next(clock):
    """Counting said the share of each size of parent sets: 11 % for a minute, then done."""
    lines = []
    table = progress.Table(lines.append, clock)
    table(StageStarted("scores", "30 variables"))
    for second, size, done, whole in ((1, 7, 0, 0.0), (11, 7, 900, 0.1), (31, 8, 0, 0.3), (51, 8, 110, 0.5)):
        clock.now = second
        detail = f"parent sets of size {size} of at most 9"
        table(StageAdvanced("scores", done, 1000, "", detail=detail, whole=whole))
    assert lines[-1].startswith("scores: parent sets of size 8 of at most 9: 50% of all, 0:00:50 left (memory")


def test_a_stage_with_an_end_says_what_is_left_until_then_and_the_gap(clock, monkeypatch):
    lines = []
    monkeypatch.setattr(progress.compiling, "clock", lambda: clock.now)
    table = progress.Table(lines.append, clock)
    table(StageStarted("incumbent", "searching orders of 20 variables", 60.0))
    clock.now += 6.0
    table(IncumbentFound(1000.0, 900.0))
    assert lines[-1].startswith("network: best so far 1000.000, gap 10.00%, 0:00:54 left (memory ")
    clock.now += 24.0
    table(StageAdvanced("incumbent", 1, 100, "orders"))  # whatever its pace
    assert ", 0:00:30 left (memory " in " ".join(lines[-1].split())
    table(StageEnded("incumbent", 30.0, "done"))
    table(StageStarted("verify", "scoring the network again"))
    clock.now += 6.0
    table.beat()
    assert lines[-1].startswith("verify: scoring the network again (memory ")


def test_a_screen_shows_in_place_what_a_file_gets_as_lines(clock, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "40")
    lines, stream = [], io.StringIO()
    shown = screen.Screen(stream, in_place=True)
    table = progress.Table(shown.write, clock, show=shown.show)
    for observer in (table, progress.Table(lines.append, clock)):
        observer(StageStarted("scores", "31 variables"))
        clock.now += 6
        observer.beat()
        observer(StageEnded("scores", 6.0, "all done"))
    assert lines[0].startswith("scores: 31 variables (memory ")
    written = stream.getvalue().split(screen.ERASE)
    assert written[1] == "scores: 31 variables (0:00:06)"
    assert written[2:] == [f"{lines[-1]}\n"]
    shown.write("warning: a is constant")
    assert stream.getvalue().endswith("warning: a is constant\n")
    monkeypatch.delenv("NO_COLOR")
    screen.Screen(stream, in_place=True).write("warning: a is constant")
    assert stream.getvalue().endswith("\x1b[33mwarning: a is constant\x1b[0m\n")


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (82, "scores: size 3 of at most 6: 85%, 0:00:02 left (memory 288.9MiB, disk 3B, 0:00:12)"),
        (70, "scores: size 3 of at most 6: 85%, 0:00:02 left (disk 3B, 0:00:12)"),
        (60, "scores: size 3 of at most 6: 85%, 0:00:02 left (0:00:12)"),
        (50, "scores: size 3 of at most 6: 85%, 0:00:02 left"),
        (45, "scores: size 3 of at most 6: 85%"),
        (30, "scores: size 3 of at most 6"),
        (33, "scores: size 3 of at most 6: 85%"),
        (5, "score"),
        (0, ""),
    ],
)
def test_what_is_shown_in_place_loses_whole_words(width, shown):
    text = "scores: size 3 of at most 6: 85%, 0:00:02 left (memory 288.9MiB, disk 3B, 0:00:12)"
    assert screen.fitting(text, width) == shown


def test_a_narrower_terminal_folds_what_was_shown_and_all_of_it_goes(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    stream = io.StringIO()
    shown = screen.Screen(stream, in_place=True)
    for columns, text in ((80, "word " * 12), (25, "next"), (25, "")):
        monkeypatch.setenv("COLUMNS", str(columns))
        shown.show(text.strip())
    assert stream.getvalue() == (
        f"{screen.ERASE}{('word ' * 12).strip()}" + "\r\x1b[2A\x1b[Jnext" + screen.ERASE  # three rows of 25
    )


def test_a_status_is_green_or_yellow():
    assert screen.coloured("optimal", "optimal") == "\x1b[32moptimal\x1b[0m"
    assert screen.coloured("time limit", "time_limit") == "\x1b[33mtime limit\x1b[0m"
    assert screen.coloured("heuristic", "heuristic") == "heuristic"


def test_what_is_no_terminal_is_no_screen(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setenv("TERM", "xterm")
    assert screen.is_screen(Terminal())
    assert not screen.is_screen(io.StringIO())
    assert not screen.is_screen(None)
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert screen.is_coloured(Terminal())
    assert not screen.is_coloured(io.StringIO())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not screen.is_coloured(Terminal())
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert not screen.is_coloured(Terminal())
    assert not screen.is_screen(Terminal())


def test_marks_say_what_happened_since_the_line_before(clock):
    lines = []
    table = progress.Table(lines.append, clock)
    table(layer(1))
    clock.now += 10
    for event in (IncumbentFound(6600.0), layer(2), layer(3, spilled=1), Committed(0.1, 5), layer(4), layer(5)):
        table(event)
        clock.now += 1
    for event in (Committed(0.1, 5), IncumbentFound(6599.0), layer(6, spilled=7), layer(7)):
        table(event)
        clock.now += 1
    assert [line[:3] for line in lines[3:]] == ["   ", "  *", "S  ", " C ", "   ", "SC*", "   "]


def test_a_long_layer_says_its_share_every_five_seconds(clock):
    lines = []
    table = progress.Table(lines.append, clock)
    table(layer(12))
    for step in range(1, 13):
        clock.now += 1
        table(advance(13, step / 16))
    told = " ".join(" ".join(lines[4:]).split())
    assert told.startswith("search: layer 13 of 31, 31%, 131.2M edges, 20.1M nodes so far (memory ")
    assert ", disk 9.0GiB, 0:00:05) search: layer 13 of 31, 62%, 131.2M edges, 20.1M nodes so far, 0:00:0" in told
    table(advance(13, 0.99, component=2, components=3))
    clock.now += 5
    table.beat()
    assert any(line.startswith("search: component 2 of 3, layer 13 of 31, 99%") for line in lines)
    table(layer(13))
    assert lines.count(rows.HEADER) == 1


def test_times_go_on_from_earlier_sessions(clock):
    lines, records = [], []
    clock.now = 3600
    table, log = progress.Table(lines.append, clock), progress.json_lines(records.append, clock)
    clock.now += 2
    for observer in (table, log):
        observer(layer(1))
    assert lines[-1].endswith(" 1:00:02")
    assert json.loads(records[0])["elapsed"] == 3602


def test_the_clock_of_a_run_goes_on_from_earlier_sessions(monkeypatch):
    monkeypatch.setattr(progress.time, "monotonic", lambda: 5.0)
    clock = progress.run_clock(3600)
    monkeypatch.setattr(progress.time, "monotonic", lambda: 7.0)
    assert clock() == 3602


def test_advance_is_said_at_most_every_two_seconds(clock):
    lines = []
    table = progress.Table(lines.append, clock)
    table(StageStarted("scores", "counting"))
    for step in range(1, 100):
        clock.now += 0.125  # exact in binary
        table(StageAdvanced("scores", step * 10_000, 1_000_000, "varsets"))
    assert len(lines) == 6
    assert lines[0].startswith("scores: 160.0k of 1.00M varsets, 16% (memory ")
    clock.now += 2
    table(StageAdvanced("scores", 6, 0, "varsets"))
    assert lines[-1].startswith("scores: 6 varsets (memory")


def test_incumbents_outside_the_layers_are_said_rarely(clock):
    lines = []
    table = progress.Table(lines.append, clock)
    for cost in range(1000, 900, -1):
        clock.now += 0.0625
        table(IncumbentFound(float(cost)))
    assert len(lines) == 3
    assert lines[0].startswith("network: best so far 969.000")


def test_silence_is_broken_after_five_seconds(clock):
    lines = []
    table = progress.Table(lines.append, clock)
    table(StageStarted("search", "of 3 variables"))
    clock.now += 4.9
    table.beat()
    assert lines == []
    clock.now += 0.1
    table.beat()
    table.beat()
    assert len(lines) == 1
    assert lines[0].startswith("search: of 3 variables (memory ")
    table(layer(12))
    clock.now += 5
    table.beat()
    assert lines[-1].startswith("search: layer 13 of 31 (memory ")


def test_what_stays_the_same_is_said_ever_more_rarely(clock):
    said = []
    table = progress.Table(lambda line: said.append(clock.now), clock)
    table(StageStarted("search", "of 3 variables"))
    for _ in range(700):
        clock.now += 1
        table.beat()
    assert said == [5, 15, 35, 75, 155, 315, 635]


def test_beating_calls_all_until_the_block_ends(sizes):
    sizes(SILENCE_SECONDS=0.0)
    spoken, other = threading.Event(), threading.Event()
    table = progress.Table(lambda line: spoken.set(), progress.run_clock())
    before = threading.active_count()
    with progress.beating(table.beat, other.set, every=0.001):
        assert spoken.wait(5)
        assert other.wait(5)
    assert threading.active_count() == before


def test_a_stream_that_fails_in_two_threads_at_once_is_given_up_once():
    lines = []

    class Gone:
        def write(self, line):
            lines.append(line)
            if len(lines) == 1:
                write("second")  # as if another thread wrote meanwhile
            raise BrokenPipeError

    write = screen.Screen(Gone(), in_place=False).write
    write("first")
    write("third")
    assert lines == ["first\n", "second\n"]


def test_warnings_come_through_everywhere(clock):
    lines, stream = [], io.StringIO()
    table = progress.Table(lines.append, clock)
    with progress.told_on(stream, quiet=True) as quiet:
        for event in (Warned("column a is constant"), StageEnded("scores", 1.0, "x"), layer(1)):
            for observer in (table, quiet):
                observer(event)
        assert stream.getvalue() == "warning: column a is constant\n"
        assert lines[0] == "warning: column a is constant"
        for observer in (table, quiet):
            observer(Warned(f"{'a long name ' * 10}is constant"))
    long = stream.getvalue().split("\n", 1)[1].rstrip("\n")
    assert max(len(line) for line in long.splitlines()) <= 80
    assert long in lines


def test_json_lines_are_strict_json(clock):
    lines = []
    observer = progress.json_lines(lines.append, clock)
    clock.now += 1.5
    observer(layer(12, lower=-math.inf))
    record = json.loads(lines[0])
    assert record["event"] == "LayerEnded"
    assert record["elapsed"] == 1.5
    assert record["kept"] == 51_800_000
    assert record["lower_bound"] is None
    assert record["peak_rss_bytes"] >= record["rss_bytes"] > 2**20
    assert record["expanded"] == 9_000_000
    assert (record["spilled"], record["memory"], record["disk"]) == (0, 8 << 30, int(21.4 * 2**30))


def test_the_log_has_every_checkpoint_and_few_of_the_advances(clock):
    lines = []
    observer = progress.json_lines(lines.append, clock)
    for step in range(16):
        observer(StageAdvanced("scores", step, 16, "varsets"))
        observer(advance(13, step / 16))
        observer(Committed(0.25, 1000))
        clock.now += 0.25
    logged = [json.loads(line)["event"] for line in lines]
    assert logged.count("Committed") == 16
    assert logged.count("StageAdvanced") + logged.count("LayerAdvanced") == 2


def test_a_failing_stream_costs_nothing():
    class Full(io.StringIO):
        def write(self, text):
            raise OSError(28, "No space left on device")

    closed = io.StringIO()
    closed.close()
    good = io.StringIO()
    for stream in (Full(), closed, good):
        write = screen.Screen(stream, in_place=False).write
        write("one")
        write("two")
    assert good.getvalue() == "one\ntwo\n"


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0"),
        (14613, "14,613"),
        (99_999, "99,999"),
        (100_000, "100.0k"),
        (999_960, "1.00M"),
        (3_570_000, "3.57M"),
        (311_200_000, "311.2M"),
        (23_000_000_000, "23.0G"),
        (5e12, "5.00T"),
        (5e15, "5000.0T"),
    ],
)
def test_counts_for_people(count, text):
    assert figures.format_count(count) == text


def test_one_has_a_singular_and_nothing_is_minus_zero():
    assert [figures.counted(count, "node") for count in (0, 1, 2)] == ["0 nodes", "1 node", "2 nodes"]
    assert figures.format_cost(-1e-9) == "0.000"


def test_times_for_people():
    assert [figures.format_time(s) for s in (0.9, 41, 3600 * 51 + 62)] == ["0:00:00", "0:00:41", "51:01:02"]
