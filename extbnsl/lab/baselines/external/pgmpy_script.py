"""Hill climbing by pgmpy: pgmpy_script.py CODES ASKED FOUND, the names of files. Runs in a process of its own."""

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np


def main(codes_path: str, asked_path: str, found_path: str) -> None:
    """Write the parents that it finds."""
    pandas: Any = importlib.import_module("pandas")
    estimators: Any = importlib.import_module("pgmpy.estimators")
    codes, asked = np.load(codes_path), json.loads(Path(asked_path).read_text())
    frame = pandas.DataFrame(dict(enumerate(codes.T))).astype("category")
    states = {i: list(range(arity)) for i, arity in enumerate(asked["arities"])}
    network = estimators.HillClimbSearch(frame, state_names=states).estimate(
        scoring_method=asked["score"], max_indegree=asked["max_parents"], show_progress=False
    )
    parents: list[list[int]] = [[] for _ in asked["arities"]]
    for parent, child in network.edges():
        parents[int(child)].append(int(parent))
    Path(found_path).write_text(json.dumps({"parents": parents}))


if __name__ == "__main__":
    main(*sys.argv[1:])
