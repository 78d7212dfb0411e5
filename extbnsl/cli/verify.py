"""`extbnsl verify`: check a result against its data."""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from extbnsl.claims import OPTIMAL, TIME_LIMIT
from extbnsl.cli import options
from extbnsl.cli.console import remark, say_sentence
from extbnsl.cli.ranked import is_ranked
from extbnsl.cli.reading import read_problem
from extbnsl.errors import RunDirectoryError
from extbnsl.figures import counted

if TYPE_CHECKING:
    from extbnsl.verify.optimality import Optimality

DOES_NOT_HOLD = 31
SECONDS = 600.0  # unless a time limit is given
MOST_NAMES = 10  # that a sentence lists
CERTIFICATE = "by certificate"  # of the ways in which verify proves
PROGRAM = "by a dynamic program of verify's own"
SAID = 1e-3  # nats: rounding that comes to more is told

EPILOG = """\
Recomputes the cost of the network from the data with code of its own, and
checks every claim of the result. If the result has a certificate of its
optimality, that is checked too, as far as the time limit allows; what a search
proved of up to 23 variables, a dynamic program proves again. Reads the data
with the options of the solve, as the result has them; those given here replace
them. Exit code 0 if everything holds that was checked, 31 if anything does not.

example:
  extbnsl verify wdbc.run wdbc.csv
"""


def add(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = options.add_command(commands, "verify", "check a result against its data", EPILOG, run)
    parser.add_argument("result", metavar="RESULT", type=Path, help="a run directory or its result.json")
    parser.add_argument("data", metavar="DATA", help="the CSV file, or the local scores, that it was learned from")
    options.add_time_limit(parser, "default: 10m; only the check of a certificate takes long")
    options.add_data(parser)


def run(given: argparse.Namespace) -> int:
    """Print what does not hold, or that all does; the exit code."""
    from extbnsl.data.text import source_name
    from extbnsl.events import StageStarted
    from extbnsl.kernels.compiler import cache_warning
    from extbnsl.machine.budgets import Budgets, Deadline, default_threads
    from extbnsl.machine.workers import Workers
    from extbnsl.results.reading import read_networks, read_result
    from extbnsl.run.screen import told_on
    from extbnsl.verify.optimality import verify_optimality
    from extbnsl.verify.ranked import verify_networks
    from extbnsl.verify.verdict import verify

    deadline = Deadline.after(SECONDS if given.time_limit is None else given.time_limit)
    document = read_result(given.result)
    problem, _ = read_problem(given.data, _data_options(given, document), Budgets(), score=str(document.get("score")))
    with told_on(sys.stderr) as tell:
        tell(StageStarted("verify", "scoring the network again"))
        verdict = verify(document, problem)
        findings, proof = verdict.findings, ""
        if verdict.ok and is_ranked(document):
            findings = verify_networks(document, read_networks(given.result), problem)
        if not findings:
            with Workers(default_threads(), lambda: TIME_LIMIT if deadline.passed() else None) as workers:
                optimality = verify_optimality(document, problem, workers, tell)
            findings, proof = (), _unproved(document)
            if optimality is not None:
                findings, proof = optimality.findings, _told(optimality)
            if is_ranked(document):
                proof = f"{proof} {_told_of_networks(document)}"
    if warning := cache_warning():
        remark(warning)
    for finding in findings:
        say_sentence(finding)
    if findings:
        say_sentence(f"{given.result} does not hold.")
        return DOES_NOT_HOLD
    say_sentence(
        f"{given.result} holds: the network has no cycle, keeps the limits and costs {verdict.cost:.6f} "
        f"nats, recomputed from {source_name(given.data)}. {proof}"
    )
    return 0


def _data_options(given: argparse.Namespace, document: Mapping[str, Any]) -> dict[str, Any]:
    """The data options that are given, and those of the result in place of those that are not."""
    from extbnsl.data.treatment import chosen
    from extbnsl.files.shapes import by_name, either, misfit, text, truth

    provenance = document.get("provenance")
    kept = provenance.get("data_options", {}) if isinstance(provenance, dict) else {}
    if misfit(kept, by_name(either(truth, text))) or not kept.keys() <= set(options.DATA_OPTIONS):
        raise RunDirectoryError(f"The 'data_options' of {given.result} are none of extbnsl's; give a solve's result.")
    asked = chosen(options.data_options(given))
    if used := [f"{name} {value}" for name, value in kept.items() if name not in asked]:
        remark(f"Reads the data as the solve did: {', '.join(used)}.")
    return kept | asked


def _unproved(document: dict[str, Any]) -> str:
    """A sentence about what was not checked of a result without a certificate."""
    if document["status"] == OPTIMAL:
        return "Optimality was not checked again (this result has no certificate)."
    of_order = " Nor was it that no network of its order costs less." if document.get("order_optimal") else ""
    return (
        f"Optimality is not claimed (status {document['status']}), and the lower bound {document['lower_bound']:.6f} "
        f"was not checked again.{of_order}"
    )


def _told(optimality: "Optimality") -> str:
    """One or more sentences about how much of the optimality is proved; nothing was found to be wrong."""
    from extbnsl.verify.repeat import MOST_VARIABLES

    most = optimality.max_parents
    among = "" if most is None else f" among networks of at most {counted(most, 'parent')} a variable"
    rounded = f", but for rounding, which may come to {optimality.rounding:.2g} nats"
    but = rounded if optimality.rounding > SAID else ""
    if optimality.complete and not (optimality.proved and optimality.repeated):
        return f"Optimality{among} proved {PROGRAM if optimality.repeated else CERTIFICATE}{but}."
    told = [
        f"Optimality of {_components(components)}{among} proved {by}{but}."
        for components, by in ((optimality.proved, CERTIFICATE), (optimality.repeated, PROGRAM))
        if components
    ]
    if optimality.searched:
        told.append(
            f"The optimality of {_components(optimality.searched)}{among} was proved by pattern "
            f"databases, search or branching; verify cannot repeat that for more than {MOST_VARIABLES} variables, only "
            "another solve can."
        )
    if optimality.unchecked:
        told.append(f"The optimality of {_components(optimality.unchecked)} was not checked: {_why(optimality)}.")
    return " ".join(told)


def _told_of_networks(document: dict[str, Any]) -> str:
    """A sentence about the networks of a ranked list, in which nothing was found to be wrong."""
    from extbnsl.verify.ranked import untold

    return "; ".join((_of_number(document["count"]["listed"]), *untold(document))) + "."


def _of_number(networks: int) -> str:
    """What holds of so many networks of a list."""
    if networks == 1:
        return "Its only network is acyclic and costs what it says"
    return f"Its {networks:,} networks are distinct, acyclic and cost what they say"


def _why(optimality: "Optimality") -> str:
    """Why a check was given up, and what to do about it."""
    if optimality.why == TIME_LIMIT:
        of_whom = f" before the parent sets of {_listed(optimality.unfinished)} were counted"
        return f"the time was over{of_whom if optimality.unfinished else ''}; give a longer --time-limit"
    return optimality.why


def _components(components: tuple[tuple[str, ...], ...]) -> str:
    """Components by their first variables."""
    one = len(components) == 1
    return f"the component{'' if one else 's'} with {_listed(tuple(names[0] for names in components))}"


def _listed(names: tuple[str, ...]) -> str:
    """A few of the names."""
    shown = ", ".join(repr(name) for name in names[:MOST_NAMES])
    return shown if len(names) <= MOST_NAMES else f"{shown} and {len(names) - MOST_NAMES} more"
