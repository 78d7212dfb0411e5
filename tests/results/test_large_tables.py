"""Networks whose tables are too large: the files go without them, and every other figure is there."""

import json
from pathlib import Path

import numpy as np
import pytest
from cases import from_array
from patching import sized

from extbnsl.cli import main
from extbnsl.core.errors import InputError
from extbnsl.networks.kinds import number_of_parameters
from extbnsl.networks.network import Network
from extbnsl.networks.parameters import entries_of_tables, fit
from extbnsl.results import outputs

ASIA = Path(__file__).parents[2] / "examples" / "asia.csv"
# 30 parents of 4 states each: 4^31 numbers, which no machine has room for
WIDE = from_array(np.random.default_rng(1).integers(0, 4, (50, 31)), [f"v{i}" for i in range(31)])
DENSE = Network(WIDE.names, (*((),) * 30, tuple(range(30))))


def test_entries_and_parameters_are_counted_as_whole_numbers():
    assert entries_of_tables(DENSE, WIDE) == [4] * 30 + [4**31]
    assert number_of_parameters(DENSE, WIDE, "mdl") == 30 * 3 + 3 * 4**30


def test_tables_that_no_memory_holds_are_refused_in_a_sentence():
    with pytest.raises(InputError, match=r"have 4,611,686,018,427,388,024 numbers, most of them that of 'v30'"):
        fit(DENSE, WIDE)


def test_the_files_go_without_them():
    (warning,) = outputs.warnings_of_outputs(DENSE, WIDE)
    assert warning.startswith("The tables of the network have 4,611,686,018,427,388,024 numbers")
    assert "'v30' with 30 parents" in warning
    assert outputs.warnings_of_outputs(Network(WIDE.names, ((),) * 31), WIDE) == ()


@pytest.mark.usefixtures("here")
def test_a_run_without_tables(capsys):
    """All commands take it; what needs tables fits them, if they are not too many for that too."""
    with sized({"outputs.MOST_ENTRIES": 20}):
        assert main(["solve", str(ASIA), "--threads", "1", "--run-dir", "r"]) == 0
    shown = capsys.readouterr()
    assert "network.bif is not written" in " ".join(shown.err.split())
    assert "result.json, network.json, network.dot" in shown.out
    assert {path.name for path in Path("r").glob("network*")} == {"network.json", "network.dot"}
    document = json.loads(Path("r/network.json").read_text())
    assert document["tables"] is None
    assert document["states"]["asia"] == ["no", "yes"]
    assert len(document["arc_strengths"]) == 7
    for command in (["verify", "r", str(ASIA)], ["report", "r"], ["score-network", "r", str(ASIA)], ["status", "r"]):
        assert main(command) == 0
    assert main(["export", "r", "-o", "r.bif"]) == 0
    assert Path("r.bif").read_text().count("probability") == 8
    capsys.readouterr()
    with sized({"parameters.MOST_ENTRIES": 20}):
        assert main(["export", "r", "-o", "other.bif"]) == 30
    assert "The tables of this network have" in capsys.readouterr().err
    assert not Path("other.bif").exists()
    assert main(["solve", str(ASIA), "--threads", "1", "--run-dir", "r", "--overwrite"]) == 0
    assert Path("r/network.bif").exists()
