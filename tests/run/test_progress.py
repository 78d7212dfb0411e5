"""Observers: what is said, how often, and that a failing stream costs nothing."""

import io
import json
import math
import threading

import pytest

from extbnsl.events import (
    Committed,
    IncumbentFound,
    LayerAdvanced,
    LayerEnded,
    StageAdvanced,
    StageEnded,
    StageStarted,
    Warned,
)
from extbnsl.run import progress


class Clock:
    """A clock that only the test moves."""

    def __init__(self):
        self.now = 100.0

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
    table(layer(12))
    table(layer(13, kept=7))
    assert lines[0] == "scores: counted 3.57M varsets, 14,613 parent sets kept (2.1 s)"
    assert " ".join(lines[1].split()) == "Layer Generated Kept Pruned RAM Disk LowerBnd UpperBnd Gap Time"
    assert len({len(line) for line in lines[1:]}) == 1
    share = f"{1 - 51.8e6 / math.comb(31, 12):.1%}"
    words = lines[2].split()
    assert words[:4] == ["12/31", "311.2M", "51.8M", share]
    assert words[4].endswith("iB")
    assert words[5:] == ["21.4GiB", "6589.441", "6602.578", "0.20%", "0:00:41"]
    assert lines[3].split()[:4] == ["13/31", "311.2M", "7", "100.0%"]
    assert len(lines) == 4


def test_the_header_comes_again_after_a_stage(clock):
    lines = []
    table = progress.Table(lines.append, clock)
    for event in (layer(1), StageStarted("bounds", ""), layer(2), StageEnded("search", 1.0, ""), layer(3)):
        table(event)
    assert lines.count(progress.HEADER) == 3
    assert "search: done (1.0 s)" in lines


def test_components_and_missing_bounds(clock):
    lines = []
    progress.Table(lines.append, clock)(layer(2, layers=4, component=3, components=5, kept=6, lower=-math.inf))
    words = lines[-1].split()
    assert words[0] == "3:2/4"
    assert words[3] == "0.0%"
    assert words[6::2] == ["-", "-"]


def test_marks_say_what_happened_since_the_line_before(clock):
    lines = []
    table = progress.Table(lines.append, clock)
    table(layer(1))
    clock.now += 10
    for event in (IncumbentFound(6600.0), layer(2), layer(3, spilled=1), Committed(0.1, 5), layer(4), layer(5)):
        table(event)
    for event in (Committed(0.1, 5), IncumbentFound(6599.0), layer(6, spilled=7), layer(7)):
        table(event)
    assert [line[:3] for line in lines[1:]] == ["   ", "  *", "S  ", " C ", "   ", "SC*", "   "]


def test_a_long_layer_says_its_share_every_five_seconds(clock):
    lines = []
    table = progress.Table(lines.append, clock)
    table(layer(12))
    for step in range(1, 13):
        clock.now += 1
        table(advance(13, step / 16))
    assert len(lines) == 4
    assert lines[2].startswith("search: layer 13/31, 31%, 131.2M generated, 20.1M kept (RAM ")
    assert lines[2].endswith(", disk 9.0GiB, 0:00:05)")
    table(advance(13, 0.99, component=2, components=3))
    clock.now += 5
    table.beat()
    assert lines[-1].startswith("search: layer 2:13/31, 99%")
    table(layer(13))
    assert lines.count(progress.HEADER) == 1


def test_times_go_on_from_earlier_sessions(clock):
    lines, records = [], []
    table = progress.Table(lines.append, clock, seconds_before=3600)
    log = progress.json_lines(records.append, clock, seconds_before=3600)
    clock.now += 2
    for observer in (table, log):
        observer(layer(1))
    assert lines[-1].endswith(" 1:00:02")
    assert json.loads(records[0])["elapsed"] == 3602


def test_advance_is_said_at_most_every_two_seconds(clock):
    lines = []
    table = progress.Table(lines.append, clock)
    table(StageStarted("scores", "counting"))
    for step in range(1, 100):
        clock.now += 0.125  # exact in binary
        table(StageAdvanced("scores", step * 10_000, 1_000_000, "varsets"))
    assert len(lines) == 6
    assert lines[0].startswith("scores: 160.0k of 1.00M varsets, 16% (RAM ")
    table(StageAdvanced("scores", 5, 0, "varsets"))
    clock.now += 2
    table(StageAdvanced("scores", 6, 0, "varsets"))
    assert lines[-1].startswith("scores: 6 varsets (RAM")


def test_incumbents_outside_the_layers_are_said_rarely(clock):
    lines = []
    table = progress.Table(lines.append, clock)
    for cost in range(1000, 900, -1):
        clock.now += 0.0625
        table(IncumbentFound(float(cost)))
    assert len(lines) == 3
    assert lines[0].startswith("a network of cost 969.000 found")


def test_silence_is_broken_after_five_seconds(clock):
    lines = []
    table = progress.Table(lines.append, clock)
    table(StageStarted("kernels", "compiling"))
    clock.now += 4.9
    table.beat()
    assert lines == []
    clock.now += 0.1
    table.beat()
    table.beat()
    assert len(lines) == 1
    assert lines[0].startswith("kernels: compiling (RAM ")
    table(layer(12))
    clock.now += 5
    table.beat()
    assert lines[-1].startswith("search: layer 13/31 (RAM ")


def test_beating_calls_all_until_the_block_ends(monkeypatch):
    monkeypatch.setattr(progress, "SILENCE_SECONDS", 0.0)
    spoken, other = threading.Event(), threading.Event()
    table = progress.Table(lambda line: spoken.set())
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

    write = progress.line_writer(Gone())
    write("first")
    write("third")
    assert lines == ["first\n", "second\n"]


def test_warnings_come_through_everywhere(clock):
    table, quiet = [], []
    observer = progress.combine(progress.Table(table.append, clock), progress.only_warnings(quiet.append))
    for event in (Warned("column a is constant"), StageEnded("scores", 1.0, "x"), layer(1)):
        observer(event)
    assert quiet == ["warning: column a is constant"]
    assert table[0] == quiet[0]


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


def test_a_failing_stream_is_dropped_and_the_others_go_on():
    class Full(io.StringIO):
        def write(self, text):
            raise OSError(28, "No space left on device")

    closed = io.StringIO()
    closed.close()
    good = io.StringIO()
    write = progress.line_writer(Full(), closed, good)
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
    assert progress.format_count(count) == text


def test_times_for_people():
    assert [progress.format_time(s) for s in (0.9, 41, 3600 * 51 + 62)] == ["0:00:00", "0:00:41", "51:01:02"]
