"""`python -m bench.sumu_beside`: `posterior` beside sumu, which samples networks by MCMC. See README.md."""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

NOTHING = 1e9  # nats that a family costs which there is not
MISSING = 32  # the exit code, as of the command line
CANCELLED = 1e-8  # nats by which two sums differ of which the difference is made anew


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0, or MISSING if sumu is not installed."""
    parser = argparse.ArgumentParser(prog="python -m bench.sumu_beside", description="Beside sumu.")
    parser.add_argument("data", nargs="+", help="files of columns with states")
    parser.add_argument("--python", default=sys.executable, help="that has sumu (default: this one)")
    parser.add_argument("--ess", type=float, default=10.0, help="of BDeu (default: 10)")
    parser.add_argument("--max-parents", type=int, default=3, help="of both (default: 3)")
    parser.add_argument("--candidates", type=int, default=12, help="parents of a variable of which sumu takes all sets")
    parser.add_argument("--chains", type=int, default=8, help="of sumu, of which one counts (default: 8)")
    parser.add_argument("--iterations", type=int, default=100_000, help="of sumu, and half as many before")
    parser.add_argument("--seeds", type=int, nargs="*", default=[1, 2], help="of runs of sumu (default: 1 2)")
    given = parser.parse_args(arguments)
    if subprocess.run([given.python, "-c", "import sumu"], capture_output=True, check=False).returncode:
        print("sumu is not installed there: pip install sumu", file=sys.stderr)
        return MISSING
    for path in given.data:
        _beside(Path(path), given)
    return 0


def _beside(path: Path, given: argparse.Namespace) -> None:
    """Print how the probabilities of arcs differ, those of sumu's runs among themselves too, and what all took."""
    import extbnsl

    data = extbnsl.read_data(path)
    options = {"score": "bdeu", "ess": given.ess, "max_parents": given.max_parents, "threads": 1}
    before = time.process_time()
    found = extbnsl.posterior(data, prior="uniform", **options).posterior
    seconds = time.process_time() - before
    assert found is not None, "there is time"
    names, n = found.names, len(found.names)
    ours = np.array([[found.arc(p, x).probability if p != x else 0.0 for x in names] for p in names])
    print(f"{path.name}: extbnsl {seconds:.1f} CPU s")
    runs = list[NDArray[np.float64]]()
    with tempfile.TemporaryDirectory() as folder:
        codes = Path(folder) / "codes.npy"
        np.save(codes, np.asarray(data.codes, np.int32))
        for seed in given.seeds:
            asked = {
                **{"ess": given.ess, "K": min(given.candidates, n - 2), "mc3_chains": given.chains, "seed": seed},
                **{"d": given.max_parents},
                **{"burn_in": given.iterations // 2, "iterations": given.iterations},
            }
            call = [given.python, __file__, str(codes), json.dumps(asked)]
            told = json.loads(subprocess.run(call, stdout=subprocess.PIPE, check=True).stdout.splitlines()[-1])
            runs.append(np.array(told["arcs"]))
            print(f"sumu {told['seconds']:.1f} CPU s: arcs differ {_apart(runs[-1], ours)}", flush=True)
    for number, run in enumerate(runs[1:]):
        print(f"two runs of sumu differ {_apart(run, runs[number])}", flush=True)


def _apart(one: NDArray[np.float64], other: NDArray[np.float64]) -> str:
    """By how much probabilities of arcs differ."""
    apart = np.abs(one - other)[~np.eye(len(one), dtype=bool)]
    return f"by {apart.max():.4f} at most, {apart.mean():.5f} in the mean"


def sampled(codes: NDArray[np.int32], asked: dict[str, Any]) -> dict[str, Any]:
    """How often each arc is in sumu's networks, parent by child, and the CPU seconds.

    Two things are others than in sumu 0.1.2. All networks within the limit of parents are as likely before, as here; by
    itself it takes all sizes of a parent set as likely, and candidates without a limit. And what the parent sets inside
    U weigh that have a member in T, by which it judges partitions, is a difference of sums over subsets, or added up
    anew where that leaves nothing but rounding. Its own table of such sums has some that are too large by a hundred
    nats, and where no member of T is a candidate it takes the empty set.
    """
    sumu: Any = import_module("sumu")
    gadget: Any = import_module("sumu.gadget")
    rule = {"scoref": "bdeu", "max_id": -1, "cp_algo": "greedy-lite", "thinning": 10, "tolerance": 2.0**-32}

    class AsLikely(gadget.LocalScore):
        def precompute_prior(self) -> None:
            self._prior = np.where(np.arange(self.n) <= asked["d"], 0.0, NOTHING)

    class Restricted(gadget.CandidateRestrictedScore):
        def __init__(self, score_array: NDArray[np.float64], *rest: Any) -> None:
            self._array, self._known = score_array, dict[tuple[int, int, int], float]()
            self._varsets = np.arange(score_array.shape[1])

        def sum(self, v: int, within: int, members: int) -> float:
            if members == 0:
                return -np.inf
            key = v, within, members
            if key not in self._known:
                whole, rest = (self.get_tau_simple(v, own) for own in (within, within & ~members))
                if whole - rest > CANCELLED:
                    self._known[key] = whole + float(np.log1p(-np.exp(rest - whole)))
                else:
                    those = (self._varsets & ~within == 0) & (self._varsets & members != 0)
                    self._known[key] = float(np.logaddexp.reduce(self._array[v][those]))
            return self._known[key]

    class Scores(gadget.Score):
        def sum(self, v: int, within: set[int], members: set[int]) -> float:
            return float(super().sum(v, within, members)) if within else float(self.score_array[v][0])

    gadget.LocalScore, gadget.CandidateRestrictedScore, gadget.Score = AsLikely, Restricted, Scores
    np.random.seed(asked.pop("seed"))
    before = time.process_time()
    dags, _ = sumu.Gadget(data=sumu.Data(codes, discrete=True), **rule, **asked).sample()
    arcs = np.zeros((codes.shape[1],) * 2)
    for dag in dags:
        for family in dag:
            arcs[list(family[1]) if len(family) > 1 else [], family[0]] += 1.0 / len(dags)
    return {"arcs": arcs.tolist(), "seconds": time.process_time() - before}


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1].endswith(".npy"):
        print(json.dumps(sampled(np.load(sys.argv[1]), json.loads(sys.argv[2]))))
    else:
        sys.exit(main())
