"""Rows of a campaign that nobody has run."""

from extbnsl.core.claims import OPTIMAL
from extbnsl.lab.campaign.plan import NOTHING, Run
from extbnsl.lab.campaign.rows import Row

COUNTS = {"nodes_expanded": 5, "layers": [{"layer": 0, "disk": 0, "kept": 1}, {"layer": 1, "disk": 90, "kept": 7}]}


def row(number, data, method="m", status=OPTIMAL, *, message="", seed=NOTHING, stats=None, **document):
    """A row; without a cost it has no result."""
    names = {"data": data, "method": method, "variant": NOTHING, "budget": NOTHING, "seed": str(seed)}
    run = Run(f"run-{number}", names, ("solve", f"{data}.csv"), None, 60.0, None)
    if "cost" not in document:
        return Row(number, run, status, message, {})
    bounds = {"lower_bound": document["cost"], "upper_bound": document["cost"]}
    variables = {"variables": ["x", "y"], "parents": {"x": [], "y": ["x"]}, "provenance": {"records": 100}}
    own = {"seconds": 1.5, "cpu_seconds": 2.5, "peak_rss_bytes": 1 << 20, "peak_disk_bytes": 0, **COUNTS}
    return Row(number, run, status, message, {**bounds, **variables, "stats": own | (stats or {}), **document})
