"""The bounds of a run over time, as its log has them."""

import json

from extbnsl.run.log import Moment, read_bounds


def logged(path, *records):
    lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
    (path / "log.jsonl").write_text("\n".join(lines))
    return read_bounds(path)


def found(elapsed, cost, lower=None):
    return {"event": "IncumbentFound", "elapsed": elapsed, "cost": cost, "lower_bound": lower}


def layer(elapsed, lower, upper):
    return {"event": "LayerEnded", "elapsed": elapsed, "lower_bound": lower, "upper_bound": upper}


def test_only_what_is_better_than_before_counts(tmp_path):
    moments = logged(
        tmp_path,
        {"event": "Begun", "elapsed": 0.0},
        found(1.0, 10.0),
        found(2.0, 11.0),
        layer(3.0, 4.0, 10.0),
        layer(4.0, 3.0, 10.0),
        layer(5.0, 6.0, 9.0),
    )
    assert moments == (Moment(1.0, None, 10.0), Moment(3.0, 4.0, 10.0), Moment(5.0, 6.0, 9.0))


def test_what_is_torn_or_no_number_is_passed_over_and_time_does_not_go_back(tmp_path):
    moments = logged(
        tmp_path,
        '{"event": "IncumbentFound", "elap',
        "[" * 5000,
        "null",
        "[]",
        {"event": ["LayerEnded"], "elapsed": 1.0},
        found(None, 5.0),
        found("1", 5.0),
        layer(1.0, None, "x"),
        layer(1.0, float("nan"), float("inf")),
        found(2.0, 7.0, 1.0),
        found(1.0, 6.0),
    )
    assert moments == (Moment(2.0, 1.0, 7.0), Moment(2.0, 1.0, 6.0))


def test_without_a_log_nothing_is_known(tmp_path):
    assert read_bounds(tmp_path) == ()
