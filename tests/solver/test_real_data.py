"""Real data: the published optima, and those of an independent dynamic program."""

import pytest
from flat import solve
from real import EXAMPLES, assert_proved, optima

import extbnsl
from extbnsl.core.events import StageEnded
from extbnsl.data.reading import read_csv

# the rows of optima.csv that take a second or two at most
QUICK = (
    "sampled/asia_1000.csv",
    "sampled/boerlage92_1000.csv",
    "sampled/car_diagnosis_1000.csv",
    "sampled/child_1000.csv",
    "sampled/sachs_1000.csv",
    "uci/adult.csv",
    "uci/hepatitis.csv",
    "uci/horseColic.csv",
    "uci/houseVotes.csv",
    "uci/imports.csv",
    "uci/iris.csv",
    "uci/meta.csv",
    "uci/segment.csv",
    "uci/spect.csv",
    "uci/statlog.csv",
    "uci/tic-tac-toe.csv",
    "uci/wine.csv",
    "uci/zoo.csv",
)


@pytest.mark.parametrize("file", QUICK)
def test_reference_optimum(file, shared_data):
    row = optima(shared_data)[file]
    dataset = read_csv(shared_data / file)
    assert (dataset.variables, dataset.records) == (int(row["n"]), int(row["N"]))
    assert_proved(solve(dataset), float(row["optimal_cost_nats"]))


@pytest.mark.parametrize("file", ["uci/iris.csv", "uci/zoo.csv"])
def test_learn_from_a_data_frame(file, shared_data):
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(shared_data / file)
    result = extbnsl.learn(frame, threads=1)
    assert_proved(result, float(optima(shared_data)[file]["optimal_cost_nats"]))
    assert result.dataset.source == "<dataframe>"
    assert result.network.names == tuple(str(c) for c in frame.columns)


@pytest.mark.parametrize(("file", "optimum"), [("asia.csv", 2229.695122), ("wine.csv", 1280.074832)])
@pytest.mark.parametrize("lower_bound", ["pattern", "static"])
def test_example(file, optimum, lower_bound):
    result = solve(read_csv(EXAMPLES / file), lower_bound=lower_bound)
    assert_proved(result, optimum)


def test_the_log_says_that_groups_alone_proved_a_component():
    events = []
    assert solve(read_csv(EXAMPLES / "asia.csv"), observer=events.append).stats["nodes_generated"] == 0
    ended = [event for event in events if isinstance(event, StageEnded)]
    assert [event.summary for event in ended if event.stage == "bounds"] == [
        "component 2 of 2, 7 variables; proved before any search"
    ]
    assert "search" not in [event.stage for event in ended]


@pytest.mark.slow
def test_wdbc_whose_groups_need_a_partition():
    """The one longer test: 31 variables, more than a single pattern database holds."""
    result = solve(read_csv(EXAMPLES / "wdbc.csv"))
    assert_proved(result, 6602.118072)
    assert result.stats["components"] == [31]
