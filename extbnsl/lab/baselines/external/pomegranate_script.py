"""The exact algorithm of pomegranate: pomegranate_script.py CODES ASKED FOUND, the names of files. Runs in a process of
its own."""

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np


def main(codes_path: str, asked_path: str, found_path: str) -> None:
    """Write the parents that it finds."""
    torch: Any = importlib.import_module("torch")
    networks: Any = importlib.import_module("pomegranate.bayesian_network")
    codes, asked = np.load(codes_path), json.loads(Path(asked_path).read_text())
    torch.set_num_threads(asked["threads"])
    limits = {"max_parents": asked["max_parents"], "pseudocount": asked["pseudocount"]}
    network = networks.BayesianNetwork(algorithm="exact", **limits)
    network.fit(torch.from_numpy(codes))
    parents = [[int(parent) for parent in own] for own in network.structure]
    Path(found_path).write_text(json.dumps({"parents": parents}))


if __name__ == "__main__":
    main(*sys.argv[1:])
