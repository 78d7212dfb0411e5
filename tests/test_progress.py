"""Observers: what is said, how often, and that a failing stream costs nothing."""

import io
import json
import math
import threading

import pytest

from extbnsl import progress
from extbnsl.events import IncumbentFound, LayerEnded, StageAdvanced, StageEnded, StageStarted, Warned


class Clock:
    """A clock that only the test moves."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def layer(number, *, layers=31, component=1, components=1, kept=51_800_000, lower=6589.441):
    return LayerEnded(number, layers, component, components, 311_200_000, kept, lower, 6602.578)


def test_layers_have_one_header_and_aligned_columns(clock):
    lines = []
    table = progress.Table(lines.append, clock)
    table(StageEnded("scores", 2.14, "counted 3.57M varsets, 14,613 parent sets kept"))
    clock.now += 41
    table(layer(12))
    table(layer(13, kept=7))
    assert lines[0] == "scores: counted 3.57M varsets, 14,613 parent sets kept (2.1 s)"
    assert " ".join(lines[1].split()) == "Layer Generated Kept Pruned RAM LowerBnd UpperBnd Gap Time"
    assert len({len(line) for line in lines[1:]}) == 1
    share = f"{1 - 51.8e6 / math.comb(31, 12):.1%}"
    words = lines[2].split()
    assert words[:4] == ["12/31", "311.2M", "51.8M", share]
    assert words[4].endswith("iB")
    assert words[5:] == ["6589.441", "6602.578", "0.20%", "0:00:41"]
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
    assert words[5::2] == ["-", "-"]


def test_a_new_incumbent_marks_the_next_layer_only(clock):
    lines = []
    table = progress.Table(lines.append, clock)
    table(layer(1))
    clock.now += 10
    table(IncumbentFound(6600.0))
    table(layer(2))
    table(layer(3))
    assert [line[0] for line in lines[1:]] == [" ", "*", " "]


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


def test_beating_calls_until_the_block_ends(monkeypatch):
    monkeypatch.setattr(progress, "SILENCE_SECONDS", 0.0)
    spoken = threading.Event()
    table = progress.Table(lambda line: spoken.set())
    before = threading.active_count()
    with progress.beating(table, every=0.001):
        assert spoken.wait(5)
    assert threading.active_count() == before


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
    assert record["rss_bytes"] > 2**20


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
