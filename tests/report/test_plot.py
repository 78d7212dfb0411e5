"""The drawing of a run's layers: what is read from its log, and that it is an image."""

import json
import os

import pytest
from fakes import fake_networks, fake_result
from matplotlib.figure import Figure
from runs import stopped

from extbnsl.cli import main
from extbnsl.core.errors import InputError
from extbnsl.report.run_charts import draw, draw_ranks, file_format
from extbnsl.run.log import read_layers

LAYER = {"event": "LayerEnded", "component": 1, "layer": 0, "generated": 0, "kept": 1, "memory": 5, "disk": 0}


def record(layer, component=1, **changes):
    return LAYER | {"layer": layer, "component": component, "rss_bytes": 300 << 20} | changes


def logged(path, *records):
    """A run directory with these lines in its log."""
    stopped(path)
    (path / "log.jsonl").write_text("\n".join(r if isinstance(r, str) else json.dumps(r) for r in records))
    return path


def test_the_layers_of_all_components_in_order_and_the_last_time_counts(tmp_path):
    path = logged(
        tmp_path / "r",
        {"event": "StageEnded", "stage": "scores"},
        record(0),
        record(1, kept=7),
        record(2, kept=8),
        '{"event": "LayerEnded", "layer": 2, "ke',
        "[" * 5000,
        "[]",
        "null",
        record(1, kept=70, disk=4),  # of the next session
        record(0, component=2),
        {"event": "LayerEnded", "layer": 9, "component": 1},
    )
    layers = read_layers(path)
    assert [(r["component"], r["layer"], r["kept"], r["disk"]) for r in layers] == [
        (1, 0, 1, 0),
        (1, 1, 70, 4),
        (1, 2, 8, 0),
        (2, 0, 1, 0),
    ]


def test_a_run_that_was_proved_before_any_search_says_so(tmp_path, capsys):
    path = logged(tmp_path / "r", {"event": "StageEnded"})
    (path / "result.json").write_text(json.dumps({"status": "optimal", "cost": 1.0}))
    assert main(["plot", str(path)]) == 30
    said = capsys.readouterr().err
    told = "was proved before any search: there are no layers to draw; --network draws the network."
    assert said == f"extbnsl: {path} {told}\n"


def test_a_log_without_layers_is_refused(tmp_path, capsys):
    path = logged(tmp_path / "r", {"event": "StageEnded"})
    assert read_layers(path) == []
    assert main(["plot", str(path)]) == 30
    log = path / "log.jsonl"
    assert capsys.readouterr().err == f"extbnsl: {log} has no finished layer in it; there is nothing to draw.\n"
    (path / "log.jsonl").unlink()
    with pytest.raises(InputError, match=r"log\.jsonl cannot be read"):
        read_layers(path)


@pytest.mark.parametrize(("kind", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_drawings_of_each_kind(kind, start):
    layers = [record(0), record(1, kept=9, generated=12, disk=1 << 30), record(0, component=2), record(1, component=2)]
    assert draw(layers, "not $mathematics_{", kind).startswith(start)


@pytest.fixture
def drawn(monkeypatch):
    """The figures that are made."""
    figures = []

    class Kept(Figure):
        def __init__(self, **settings):
            super().__init__(**settings)
            figures.append(self)

    monkeypatch.setattr("matplotlib.figure.Figure", Kept)
    return figures


def test_the_curves_are_those_of_the_log(drawn):
    layers = [record(0), record(1, kept=9, generated=12, disk=1 << 30), record(0, component=2)]
    draw(layers, "r", "png")
    nodes, sizes = drawn[0].axes
    assert [list(line.get_ydata()) for line in nodes.lines] == [[0, 12], [0], [1, 9], [1]]
    assert [list(line.get_xdata()) for line in nodes.lines] == [[0, 1], [2]] * 2
    assert [list(line.get_ydata()) for line in sizes.lines][-2:] == [[0, 1], [0]]
    assert [text.get_text() for text in sizes.get_legend().get_texts()][0::2] == ["memory", "disk"]
    assert [label.get_text() for label in sizes.get_xticklabels()] == ["1:0", "1:1", "2:0"]


def test_file_names_say_the_kind(tmp_path):
    assert file_format(tmp_path / "a.PDF") == "pdf"
    for name in ("a", "a.jpg", ".png"):
        with pytest.raises(InputError, match=r"^--output: cannot write .*; use \.png, \.svg or \.pdf\.$"):
            file_format(tmp_path / name)


@pytest.mark.slow
def test_the_command_replaces_its_own_drawing_but_no_other_file(tmp_path, capsys):
    path = logged(tmp_path / "r", record(0), record(1))
    for _ in range(2):
        assert main(["plot", str(path)]) == 0
    assert (path / "layers.png").read_bytes().startswith(b"\x89PNG")
    other = tmp_path / "mine.svg"
    other.write_text("mine")
    assert main(["plot", str(path), "-o", str(other)]) == 30
    assert other.read_text() == "mine"
    assert "--overwrite" in capsys.readouterr().err
    assert main(["plot", str(path), "-o", str(other), "--overwrite"]) == 0
    assert main(["plot", str(tmp_path)]) == 30
    assert main(["plot", str(path), "-o", str(tmp_path / "none" / "a.pdf")]) == 30
    assert sorted(os.listdir(tmp_path)) == ["mine.svg", "r"]


def test_without_matplotlib_it_says_what_to_install(tmp_path, capsys, uninstalled):
    path = logged(tmp_path / "r", record(0))
    uninstalled("matplotlib.figure")
    assert main(["plot", str(path)]) == 30
    assert capsys.readouterr().err == "extbnsl: plot needs matplotlib: pip install 'extbnsl[plot]'.\n"
    assert not (path / "layers.png").exists()


def test_the_curves_are_the_shares_and_their_sums(drawn):
    assert draw_ranks([0.5, 0.25, 0.25], "not $mathematics_{", "svg").startswith(b"<?xml")
    single, together = drawn[0].axes
    assert list(single.lines[0].get_xdata()) == list(together.lines[0].get_xdata()) == [1, 2, 3]
    assert list(single.lines[0].get_ydata()) == [0.5, 0.25, 0.25]
    assert list(together.lines[0].get_ydata()) == [0.5, 0.75, 1.0]
    assert single.lines[0].get_drawstyle() == "steps-mid"
    assert (single.get_xscale(), single.get_yscale()) == ("linear", "linear")


def test_of_many_networks_some_are_drawn_the_first_and_the_last_among_them(drawn):
    shares = [2.0**-i for i in range(1, 1000)] + [0.0] * 99_001
    assert draw_ranks(shares, "r", "png").startswith(b"\x89PNG")
    single, together = drawn[0].axes
    places, likely = (list(values) for values in single.lines[0].get_data())
    assert places[:20] == list(range(1, 21))
    assert places[-1] == 100_000
    assert len(places) <= 5000
    assert likely == [shares[i - 1] for i in places]
    assert list(together.lines[0].get_ydata())[-1] == pytest.approx(1.0)
    assert (single.get_xscale(), single.get_yscale()) == ("log", "log")


@pytest.mark.slow
def test_the_command_draws_the_ranks_of_a_run_that_has_them(tmp_path, capsys):
    path = logged(tmp_path / "r", record(0))
    fake_result(fake_networks(30, "abc")).save(path)
    for _ in range(2):
        assert main(["plot", str(path)]) == 0
        assert capsys.readouterr().out == f"The networks of {path} are drawn in {path / 'ranks.png'}.\n"
    assert (path / "ranks.png").read_bytes().startswith(b"\x89PNG")
    assert not (path / "layers.png").exists()
    lines = (path / "result.json").read_bytes().splitlines(keepends=True)
    (path / "result.json").write_bytes(b"".join(lines[:-5]))
    assert main(["plot", str(path)]) == 31
    assert "network 28 is missing or damaged" in capsys.readouterr().err
