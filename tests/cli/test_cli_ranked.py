"""What is printed of the k best networks: the table, on which arcs they agree, and the line for scripts."""

import argparse
import json
import math

import numpy as np
import pytest
from fakes import HOSTILE, fake_networks, fake_result
from runs import stopped

from extbnsl.cli.session import tell
from extbnsl.cli.summary import summary
from extbnsl.core.claims import TIME_LIMIT
from extbnsl.core.errors import RunDirectoryError
from extbnsl.core.figures import format_share
from extbnsl.networks.network import Network
from extbnsl.results.networks import RankedNetworks
from extbnsl.results.reading import read_result

NAMES = ("B", "D", "L")
DAGS = ({"B": ["D"], "D": ["L"]}, {"D": ["B"], "L": ["D"]}, {"B": ["D"], "L": ["D"]}, {"B": ["D", "L"], "L": ["D"]})


@pytest.fixture(autouse=True)
def there(here):
    pass


COSTS = (10.0, 10.0, 10.0, 10.0 + math.log(100.0))


def ranked(ranks=(1, 1, 1, 4), classes=(1, 1, 1, 2)):
    """The first networks of Figure 2 of Chen, Darwiche and Choi: a class of three, and a less probable one."""
    networks = [Network.from_names(NAMES, dag) for dag in DAGS]
    sets = tuple(np.array([[sum(1 << p for p in one.parents[x])] for one in networks], np.uint64) for x in range(3))
    rows = np.repeat(np.arange(4, dtype=np.int32)[:, None], 3, axis=1)
    weights = np.exp(COSTS[0] - np.array(COSTS))
    return RankedNetworks(
        NAMES, sets, rows, np.array(COSTS), np.array(ranks), np.array(classes), weights / weights.sum()
    )


def saved(tmp_path, networks, **changes):
    """A run directory with this result, and its document."""
    path = stopped(tmp_path / "r")
    fake_result(networks, **changes).save(path)
    return path, read_result(path)


def test_the_summary(tmp_path):
    path, document = saved(tmp_path, ranked(), within=math.log(1000.0), counted=4)
    lines = summary(document, path).splitlines()
    assert lines[:6] == [
        "  rank               cost     difference        share     class   arcs",
        "     1          10.000000       0.000000       0.3322         1      2",
        "     -          10.000000       0.000000       0.3322         1      2",
        "     -          10.000000       0.000000       0.3322         1      2",
        "     4          14.605170       4.605170       0.0033         2      3",
        "",
    ]
    told = "\n".join(lines)
    assert "networks     4 networks, all there are within 6.90776 nats of the best, a factor\n" in told
    assert "             of 1000\n" in told
    assert "classes      2 equivalence classes; the heaviest is class 1, with a share of\n             0.9967\n" in told
    assert "arcs         0 arcs in all of them\n             5 arcs in some; the least decided, with" in told
    first = next(line for line in lines if " -> " in line)
    assert first.split(", ")[0].strip() in {"D -> L 0.6678", "L -> D 0.3322", "B -> D 0.3322", "D -> B 0.6678"}
    assert "network-2.* to network-4.*" in told
    assert "bounds       9.999999 to 10.000000" in told


def test_shared_arcs_are_listed(tmp_path):
    networks = ranked()
    both = RankedNetworks(NAMES, networks.parents, networks.rows[2:], *figures(networks, 2))
    path, document = saved(tmp_path, both)
    told = summary(document, path)
    assert "arcs         2 arcs in all of them:\n             D -> B, D -> L\n             1 arc in some;" in told
    assert "\n             L -> B 0.0099\n" in told


def figures(networks, begin):
    weights = np.exp(networks.costs[begin] - networks.costs[begin:])
    ranks, classes = networks.ranks[begin:] - begin, networks.classes[begin:]
    return networks.costs[begin:], ranks, classes, weights / weights.sum()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"options": {"k": 4}}, "4 networks, the best\n"),
        (
            {"options": {"k": 4}, "counted": 71, "share": 0.75},
            "4 networks, the best of 71 within 1 nats of the best, a",
        ),
        ({"counted": 4, "within": math.inf}, "4 networks, all there are\n"),
        ({"counted": 4, "within": 800.0}, "4 networks, all there are within 800 nats of the best\n"),
        ({"options": {"k": 4}, "within": None, "status": TIME_LIMIT}, "4 networks; others may cost as little\n"),
        ({"options": {"k": 4}, "status": TIME_LIMIT}, "4 networks, the best within 1 nats of the best, a factor of"),
        ({"options": {"k": 4, "classes": True}}, "4 classes, the best\n"),
    ],
)
def test_how_many_networks_there_are(tmp_path, changes, sentence):
    path, document = saved(tmp_path, ranked(), **changes)
    assert f"\nnetworks     {sentence}" in summary(document, path)


def test_where_classes_are_listed_nothing_is_said_of_their_number(tmp_path):
    path, document = saved(tmp_path, ranked(classes=(1, 2, 3, 4)), options={"k": 4, "classes": True})
    assert "classes      " not in summary(document, path)


def test_the_line_for_scripts_counts_the_networks(tmp_path, capsys):
    path, document = saved(tmp_path, ranked())
    expected = f"optimal: cost 10.000000 nats, lower bound 9.999999, 2 arcs, 4 networks, in {path}\n"
    assert tell(document, path, argparse.Namespace(json=False, quiet=True)) == 0
    assert capsys.readouterr().out == expected


@pytest.mark.parametrize("names", [HOSTILE[:2] + HOSTILE[3:5], [f"variable {i}" for i in range(30)]])
def test_the_summary_fits_a_terminal_whatever_the_names(tmp_path, names):
    path, document = saved(tmp_path, fake_networks(40, names), within=0.5, counted=10**9, share=1e-7)
    lines = summary(document, path.relative_to(tmp_path)).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines.index("") == 11
    assert "with 1.00e-07 of their weight\n" in "\n".join(lines)


@pytest.mark.parametrize("key", ["top", "classes", "shared_arcs", "arc_shares", "within"])
def test_a_head_that_lacks_something_is_damaged(tmp_path, key):
    path, document = saved(tmp_path, ranked(), counted=4)
    with pytest.raises(RunDirectoryError, match="is damaged or no result"):
        summary({own: value for own, value in document.items() if own != key}, path)
    with pytest.raises(RunDirectoryError, match="is damaged or no result"):
        summary(document | {key: [3]}, path)


def test_shares_are_short():
    assert [format_share(p) for p in (1.0, 0.33141, 0.001, 3.3512e-5, 1.72e-114)] == [
        *("1.0000", "0.3314", "0.0010", "3.35e-05", "1.72e-114")
    ]


def test_the_document_is_json(tmp_path):
    path, document = saved(tmp_path, ranked())
    assert list(json.loads((path / "result.json").read_text()))[:-1] == list(document)
