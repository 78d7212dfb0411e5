"""What networks are judged by, in the commands that do: data or local scores and a score, or those of a run."""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from extbnsl.cli import options
from extbnsl.core.claims import CHARGES, OPTIMAL, Claim
from extbnsl.core.errors import InputError, VerificationError
from extbnsl.core.figures import format_cost
from extbnsl.core.options import declared
from extbnsl.machine.budgets import Budgets
from extbnsl.results.facts import bound_told
from extbnsl.scores.known import CLAIM_OPTIONS, score_claimed
from extbnsl.scores.score import titled

if TYPE_CHECKING:
    from extbnsl.networks.families import NetworkCost
    from extbnsl.networks.network import Network

NETWORKS = """\
A network is a run directory, its result.json or network.json, a file of a
network (BIF, XMLBIF, XDSL, NET), a table of arcs (from,to in CSV), or a model
string such as '[a][b|a][c|a:b]', or a file of one."""
SAME = 5e-7  # nats, which nobody is shown


@dataclass(frozen=True, eq=False)
class Judge:
    """What networks are judged by.

    problem: a Dataset, Numbers, or LocalScores; claim: the score, and what a run allows.
    source: what sentences call the data.
    run: the run, with its document and its network; None if there is none.
    """

    problem: Any
    claim: Claim
    source: str
    run: str | None = None
    document: Mapping[str, Any] | None = None
    network: "Network | None" = None

    @property
    def score(self) -> str:
        """The score for people."""
        from extbnsl.scores.local import LocalScores

        if isinstance(self.problem, LocalScores):
            return "local scores"
        return titled(score_claimed(self.claim))

    def best(self) -> str:
        """What the network of the run is, for a sentence."""
        assert self.document is not None, "there is a run"
        if self.document["status"] == OPTIMAL:
            return f"the optimum, in {self.run}"
        bound = bound_told(self.document)
        return f"the best that {self.run} has found, which is not proved to be the best of all ({bound})"

    def beside(self, best: "NetworkCost") -> dict[str, Any]:
        """The run as JSON values, with what its network costs."""
        assert self.document is not None, "there is a run"
        keys = ("status", "lower_bound", "upper_bound")
        return {"run": self.run, **{key: self.document[key] for key in keys}, **best.document()}

    def barred(self, network: "Network") -> str | None:
        """Why the run would not allow a network, as a clause; None if it would."""
        from extbnsl.networks.network import cpdag

        most, limits = self.claim.max_parents, self.claim.knowledge.limits()
        for name, parents in zip(network.names, network.parents, strict=True):
            own = [limit for limit in (most, limits.get(name)) if limit is not None]
            if own and len(parents) > min(own):
                return f"{name!r} has {len(parents)} parents, and at most {min(own)} are allowed"
        try:
            cpdag(network, self.claim.knowledge)
        except VerificationError as error:
            return str(error)[0].lower() + str(error)[1:].removesuffix(".")
        return None


JUDGED_BY = {name: CLAIM_OPTIONS[name] for name in ("score", "ess", *CHARGES)}


def add_judge(parser: argparse.ArgumentParser, metavar: str, text: str, optional: bool = False) -> None:
    """The argument that says by what networks are judged, and the options that go with it."""
    parser.add_argument("data", metavar=metavar, help=text, nargs="?" if optional else None)
    options.add_options(parser, JUDGED_BY)
    parser.set_defaults(score=None, parent_cost=None)
    options.add_options(parser, declared(Budgets), "disk", "time_limit", "threads", "hands")
    options.add_data(parser)
    options.add_shared(parser, "--training")


def judge_of(given: argparse.Namespace) -> Judge:
    """What is given to judge by; InputError for options that a run has of its own."""
    from extbnsl.data.text import source_name
    from extbnsl.data.treatment import chosen

    path, own = Path(given.data), options.data_options(given)
    by = {name: getattr(given, name) for name in JUDGED_BY}
    if path.is_dir() or path.suffix.lower() == ".json":
        told = [f"--{name.replace('_', '-')}" for name in chosen(own | by)]
        if told:
            raise InputError(f"{given.data} is a run, which has its own {', '.join(told)}; leave that out.")
        return judge_in(path, given.training)
    if given.training is not None:
        raise InputError(f"--training is for runs, and {given.data} has its own records; leave it out.")
    claim = Claim(**{name: value for name, value in by.items() if value is not None})
    score_claimed(claim)
    claim.check()
    budgets = options.options_of(Budgets, given)
    problem, _ = options.read_problem(given.data, own, budgets, score=claim.score)
    return Judge(problem, claim, source_name(given.data))


def judge_in(path: Path, training: str | None = None) -> Judge:
    """The data, the score and the network of a run."""
    from extbnsl.cli.score_network import training_problem
    from extbnsl.results.exporting import described_in
    from extbnsl.results.reading import read_result

    document = read_result(path)
    known = described_in(path, document)
    problem, file = training_problem(training, path, document)
    return Judge(problem, Claim.of_result(document), file, str(path), document, known.network)


def figure(cost: float | None) -> str:
    """A cost for a table."""
    return "unknown" if cost is None else format_cost(cost, 6)


def difference(one: float | None, other: float | None) -> str:
    """How much more the one is, for a table."""
    return "unknown" if one is None or other is None else f"{one - other:+,.6f}"
