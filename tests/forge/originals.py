"""True results of every kind, over four variables, as the commands write them into the folder that one is in."""

import contextlib
import io
import json
from dataclasses import dataclass, field
from pathlib import Path

import naive
import numpy as np

from extbnsl.cli import main
from extbnsl.core.data_options import DataOptions
from extbnsl.data import Dataset, Reading, measured, read_file
from extbnsl.data.reading import read_csv
from extbnsl.formats.score_reader import read_scores

ROWS = 60
NAMES = ("a", "b", "c", "d")
# What a command is asked for, by the kind of result.
ASKED = {
    "plain": ["solve", "own.csv", "--drop", "w"],
    "limited": ["solve", "own.csv", "--drop", "w", "--max-parents", "1"],
    "bdeu": ["solve", "own.csv", "--drop", "w", "--score", "bdeu", "--ess", "2.5"],
    "fnml": ["solve", "own.csv", "--drop", "w", "--score", "fnml"],
    "knowledge": ["solve", "own.csv", "--drop", "w", "--forbidden", "a,b", "--forbidden", "b,a", "--leaves", "c"],
    "weights": ["solve", "own.csv", "--weights", "w"],
    "records": ["solve", "own.csv", "--drop", "w", "--records", "30"],
    "numbers": ["solve", "numbers.csv", "--score", "gaussian-bic"],
    "scores": ["solve", "own.jkl"],
    "resamples": ["solve", "own.csv", "--drop", "w", "--bootstrap", "3"],
    "order": ["order", "own.csv", "--drop", "w", "--order", "order.txt"],
    "approximate": ["approximate", "own.csv", "--drop", "w", "--time", "1"],
    "k best": ["kbest", "own.csv", "--drop", "w", "-k", "7"],
    "k best of scores": ["kbest", "own.jkl", "-k", "12"],
    "within": ["kbest", "own.csv", "--drop", "w", "--within-factor", "20", "--max-parents", "2"],
    "counted": ["kbest", "own.csv", "--drop", "w", "--within-factor", "50", "-k", "5"],
    "classes": ["kbest", "own.csv", "--drop", "w", "-k", "4", "--classes"],
}


@dataclass(frozen=True, eq=False)
class Original:
    """A true result: kind, its document with its networks, and the tables of these; the file of its data, and what a
    family costs, (n, 2^n), by the score and its parameter."""

    kind: str
    document: dict
    tables: dict
    data: str
    records: int | None
    claim: str
    costs: dict = field(default_factory=dict)

    @property
    def problem(self):
        """The data, or the local scores, as verify reads them."""
        if self.data == "own.jkl":
            return read_scores(self.data)
        if self.kind == "numbers":
            return read_file(measured, self.data, DataOptions(), Reading())
        return read_csv(self.data, **self.document["provenance"]["data_options"])

    def costs_by(self, score, ess):
        """What each family costs by a score; by the oracle."""
        if (score, ess) not in self.costs:
            self.costs[score, ess] = self._costs_by(score, ess)
        return self.costs[score, ess]

    def _costs_by(self, score, ess):
        if self.data == "own.jkl":
            return listed_costs()
        if self.kind == "numbers":
            return naive.all_gaussian_costs(self.problem.values)
        return naive.all_local_scores(*table_of(self.problem), score=score if ess is None else f"{score}:{ess!r}")


def table_of(dataset: Dataset):
    return dataset.codes, dataset.arities


def make_originals():
    """One of each kind; beside their data, others.csv has other records of the same shape."""
    for name, seed in (("own.csv", 7), ("others.csv", 8)):
        np.savetxt(name, _table(seed), fmt="%d", delimiter=",", header="a,b,c,d,w", comments="")
    values = np.random.default_rng(3).normal(size=(ROWS, 4))
    values[:, 1:] += values[:, :3] * [0.8, 0.3, 0.0]
    np.savetxt("numbers.csv", values, fmt="%.17g", delimiter=",", header="a,b,c,d", comments="")
    Path("order.txt").write_text("c\na\nb\nd\n")
    Path("own.jkl").write_text("\n".join(_score_lines(listed_costs())) + "\n")
    return [_original(kind, asked) for kind, asked in ASKED.items()]


def listed_costs():
    """The costs in own.jkl: of at most two parents."""
    return naive.all_local_scores(*table_of(read_csv("own.csv", drop="w")), max_parents=2)


def _score_lines(costs):
    """A file of local scores in the format of Jaakkola and others, maximised."""
    yield str(len(costs))
    for name, own in zip(NAMES, costs, strict=True):
        listed = np.flatnonzero(np.isfinite(own)).tolist()
        yield f"{name} {len(listed)}"
        for varset in listed:
            parents = [NAMES[p] for p in naive.members(varset)]
            yield " ".join([repr(-float(own[varset])), str(len(parents)), *parents])


def _table(seed):
    """b follows a, d follows b and c; w counts records."""
    random = np.random.default_rng(seed)
    a, c, noise = random.integers(0, 2, (3, ROWS))
    b = np.where(random.random(ROWS) < 0.8, a, 1 - a)
    return np.column_stack([a, b, c, (b + c + (noise & a & c)) % 3, random.integers(0, 3, ROWS)])


def _original(kind, asked):
    folder = Path(f"{kind.replace(' ', '-')}.run")
    quietly(*asked, "--run-dir", str(folder), "--threads", "1", "--quiet")
    document = json.loads((folder / "result.json").read_text())
    document["stats"] = {}
    tables = {name: (folder / name).read_text() for name in ("networks.csv", "arcs.csv") if (folder / name).exists()}
    Path("r.json").write_text(json.dumps(document))
    code, out = verified("r.json", asked[1])
    assert code in (0, 11), out
    claim = out.partition("\nrecomputed")[0]
    return Original(kind, document, tables, asked[1], document["provenance"]["records"], claim)


def verified(result, data):
    """Exit code and output of verify."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        code = main(["verify", result, data])
    return code, out.getvalue()


def quietly(*arguments):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as err:
        code = main(list(arguments))
    assert code == 0, err.getvalue()
