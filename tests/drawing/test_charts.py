"""Charts of lines: where the lines are, what the axes say, and what cannot be drawn."""

import math
import xml.etree.ElementTree as ElementTree

import pytest

from extbnsl.drawing.charts import BOTTOM, HEIGHT, LEFT, MOST_POINTS, RIGHT, TOP, WIDTH, Axis, Line, line_chart

ALONG, UP = Axis("x"), Axis("y")


def chart(*lines, along=ALONG, up=UP):
    return ElementTree.fromstring(line_chart("a <chart>", lines, along, up))


def points(drawn):
    """The points of each line, without the samples of the legend."""
    lines = [line.get("points") for line in drawn.iter("polyline")]
    lines = lines[: len(lines) // 2]
    return [[tuple(map(float, point.split(","))) for point in line.split()] for line in lines]


def texts(drawn):
    return ["".join(text.itertext()) for text in drawn.iter("text")]


def test_a_line_goes_from_corner_to_corner():
    (line,) = points(chart(Line("l", ((0.0, 0.0), (5.0, 1.0), (10.0, 4.0)))))
    left, right, top, bottom = LEFT, WIDTH - RIGHT, TOP, HEIGHT - BOTTOM
    assert line[0] == (left, bottom)
    assert line[1] == ((left + right) / 2, round(bottom - (bottom - top) / 4, 1))
    assert line[2] == (right, top)


def test_steps_hold_until_the_next():
    (line,) = points(chart(Line("l", ((0.0, 0.0), (10.0, 4.0)), steps=True)))
    assert line[1] == (line[2][0], line[0][1])


def test_a_logarithmic_axis_leaves_out_what_is_not_positive():
    drawn = chart(Line("l", ((0.0, 0.0), (1.0, 10.0), (2.0, 1000.0))), up=Axis("y", logarithmic=True))
    (line,) = points(drawn)
    assert len(line) == 2
    assert {"10", "100", "1,000"} <= set(texts(drawn))


@pytest.mark.parametrize("high", [1e-7, 0.3, 1.0, 7.0, 2229.7, 1e9])
def test_marks_are_told_apart(high):
    drawn = chart(Line("l", ((0.0, high), (1.0, high * 1.01))))
    marks = ["".join(text.itertext()) for text in drawn.iter("text") if text.get("dy")]
    assert len(set(marks)) == len(marks) >= 3


def test_long_lines_are_thinned_and_keep_their_end():
    line = Line("l", tuple((float(i), math.sin(i / 1000)) for i in range(100_000)))
    (drawn,) = points(chart(line))
    assert len(drawn) <= MOST_POINTS + 1
    assert drawn[-1][0] == WIDTH - RIGHT


@pytest.mark.parametrize("lines", [[], [Line("l", ())], [Line("l", ((1.0, 2.0),))]])
def test_what_has_no_two_points_is_not_drawn(lines):
    assert line_chart("t", lines, Axis("x"), Axis("y")) == ""


def test_a_flat_line_is_drawn_in_the_middle():
    (line,) = points(chart(Line("l", ((0.0, 3.0), (1.0, 3.0)))))
    assert line[0][1] == (TOP + HEIGHT - BOTTOM) / 2


def test_names_are_text():
    assert "<b>&" in texts(chart(Line("<b>&", ((0.0, 3.0), (1.0, 4.0)))))
