"""Learning by a Python package: package_script.py PACKAGE CODES ASKED FOUND, the last three the names of files.

pgmpy climbs hills, pomegranate has an exact algorithm. Runs in a process of its own.
"""

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np


def main(package: str, codes_path: str, asked_path: str, found_path: str) -> None:
    """Write the parents that it finds."""
    codes, asked = np.load(codes_path), json.loads(Path(asked_path).read_text())
    Path(found_path).write_text(json.dumps({"parents": PACKAGES[package](codes, asked)}))


def _pgmpy(codes: Any, asked: Any) -> list[list[int]]:
    """Where its hill climbing ends."""
    pandas: Any = importlib.import_module("pandas")
    estimators: Any = importlib.import_module("pgmpy.estimators")
    frame = pandas.DataFrame(dict(enumerate(codes.T))).astype("category")
    states = {i: list(range(arity)) for i, arity in enumerate(asked["arities"])}
    network = estimators.HillClimbSearch(frame, state_names=states).estimate(
        scoring_method=asked["score"], max_indegree=asked["max_parents"], show_progress=False
    )
    parents: list[list[int]] = [[] for _ in asked["arities"]]
    for parent, child in network.edges():
        parents[int(child)].append(int(parent))
    return parents


def _pomegranate(codes: Any, asked: Any) -> list[list[int]]:
    """The network that it takes for the best."""
    torch: Any = importlib.import_module("torch")
    networks: Any = importlib.import_module("pomegranate.bayesian_network")
    torch.set_num_threads(asked["threads"])
    limits = {"max_parents": asked["max_parents"], "pseudocount": asked["pseudocount"]}
    network = networks.BayesianNetwork(algorithm="exact", **limits)
    network.fit(torch.from_numpy(codes))
    return [[int(parent) for parent in own] for own in network.structure]


PACKAGES = {"pgmpy": _pgmpy, "pomegranate": _pomegranate}

if __name__ == "__main__":
    main(*sys.argv[1:])
