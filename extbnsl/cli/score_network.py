"""`extbnsl score-network`: how likely records are by a network that was learned from others, read as the run read its
own.
"""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from extbnsl.cli import options
from extbnsl.cli.options import read_problem
from extbnsl.cli.saying import say, say_sentence
from extbnsl.core.codec import Misfit, Within, decode_some
from extbnsl.core.data_options import DataOptions
from extbnsl.core.errors import ExtbnslError, InputError, RunDirectoryError
from extbnsl.core.figures import counted
from extbnsl.core.options import declared
from extbnsl.files.atomic import check_given, write_atomically
from extbnsl.files.manifest import read_manifest
from extbnsl.machine.budgets import Budgets
from extbnsl.results.reading import read_result
from extbnsl.scores.known import is_of_numbers

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def remembered_input(result: Path) -> str | None:
    """Where the run read its data, if the run directory is there."""
    folder = result if result.is_dir() else result.parent
    try:
        remembered = read_manifest(folder).state.run
    except ExtbnslError:
        return None
    return None if remembered is None else remembered.input


def data_options_of(document: Mapping[str, Any], result: Path) -> dict[str, Any]:
    """The data options of the run; RunDirectoryError if they are none that a run writes."""
    provenance = document.get("provenance")
    kept = provenance.get("data_options", {}) if isinstance(provenance, dict) else {}
    kinds = dict.fromkeys(declared(DataOptions), str) | {"header": bool, "records": Annotated[int, Within(1)]}
    try:
        return decode_some(kinds, DataOptions.renamed(kept) if isinstance(kept, dict) else kept)
    except Misfit:
        sentence = f"The 'data_options' of {result} are none of extbnsl's; give a solve's result."
        raise RunDirectoryError(sentence) from None


def score_told(document: Mapping[str, Any], result: Path) -> str:
    """The name of the score that a result was found by; InputError if it tells none."""
    score = document.get("score")
    if not isinstance(score, str):
        raise InputError(f"{result} does not tell the score of its network; give a solve's result.")
    return score


def training_problem(training: str | None, result: Path, document: Mapping[str, Any]) -> tuple[Any, str]:
    """The Dataset, Numbers or LocalScores that a result was made from, and its file: `training`, or where the run read
    it.

    Raises InputError if it is not there, or another.
    """
    file = training or remembered_input(result)
    if file is None:
        raise InputError(f"{result} does not say where its data were read: give them by --training.")
    if training is None and options.is_standard_input(file):
        raise InputError(f"{result} was made of standard input, which has ended: give its data by --training.")
    if training is None:
        check_given(file)
    score = score_told(document, result)
    problem, _ = read_problem(file, data_options_of(document, result), Budgets(), True, score)
    provenance = document.get("provenance")
    if not isinstance(provenance, dict) or problem.fingerprint != provenance.get("data_digest"):
        raise InputError(f"{file} has other data than the network was learned from: give these by --training.")
    return problem, file


EPILOG = """\
Fits the parameters of the network to the data that it was learned from, and
says how likely the records of DATA are by it: the mean log-likelihood of a
record, in nats; with -o that of each. Larger is better. Columns are read as the
run read them, and cut where it cut them.

example:
  extbnsl score-network wdbc.run held-out.csv -o likely.csv
"""
SMOOTHING = "1"  # unless another is given


def add(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    options.add_shared(parser, "result")
    parser.add_argument("data", metavar="DATA", help="records of the same variables, a file as for solve")
    options.add_shared(parser, "--training", "--smoothing")
    parser.set_defaults(smoothing=SMOOTHING)
    options.add_output(parser, "a CSV file for each record's log-likelihood")
    options.add_shared(parser, "--overwrite")
    parser.add_argument("--json", action="store_true", help="print JSON instead of sentences")


def run(given: argparse.Namespace) -> int:
    """Print how likely the records are; the exit code."""
    import numpy as np

    from extbnsl.data.text import source_name

    if given.output is not None:
        options.check_output(given.output, given.overwrite)
    each = _log_likelihoods(given, read_result(given.result))
    impossible = int(np.isneginf(each).sum())
    total = float(each.sum())
    if given.output is not None:
        lines = (f"{record},{value!r}\n" for record, value in enumerate(each.tolist(), start=1))
        write_atomically(given.output, "".join(("record,log_likelihood\n", *lines)).encode())
    if given.json:
        found = {"records": len(each), "smoothing": given.smoothing, "log_base": "e", "impossible": impossible}
        finite = {"log_likelihood": total, "per_record": total / len(each)} if not impossible else {}
        say(json.dumps(found | {"log_likelihood": None, "per_record": None} | finite, indent=1))
        return 0
    of = f"The {counted(len(each), 'record')} of {source_name(given.data)}"
    if impossible:
        say_sentence(
            f"{of} cannot all be: {counted(impossible, 'record')} have states together that the training data lack; "
            "give --smoothing above 0."
        )
    else:
        verb = "has" if len(each) == 1 else "have"
        say_sentence(f"{of} {verb} the log-likelihood {total:.6f}, {total / len(each):.6f} for each (nats).")
    if given.output is not None:
        say_sentence(f"That of each record is in {given.output}.")
    return 0


def _log_likelihoods(given: argparse.Namespace, document: Mapping[str, Any]) -> "NDArray[np.float64]":
    """The log-likelihood of each record of states; of numbers the log-density, in the units of the data."""
    from extbnsl.data import Dataset, Numbers
    from extbnsl.data.alike import advice_for_new_records, encoded_alike
    from extbnsl.networks.gaussian import log_densities, regressions
    from extbnsl.networks.network import Network
    from extbnsl.networks.parameters import log_likelihoods

    how, score = data_options_of(document, given.result), score_told(document, given.result)
    if is_of_numbers(score) and given.smoothing != float(SMOOTHING):
        raise InputError("--smoothing is for tables of states, and the network has regressions; leave it out.")
    kind = Numbers if is_of_numbers(score) else Dataset
    training, file = training_problem(given.training, given.result, document)
    _check_records(training, kind, file, "--training data")
    network = Network.from_names(training.names, document["parents"])
    if kind is Dataset:  # which is compared with the new records as they stand
        how |= {"discrete": "all", "discretise": None}
        raw = _records(file, how, kind, score)
    with advice_for_new_records():
        new = _records(given.data, _of_new(how, training.names), kind, score)
    if kind is Dataset:
        return log_likelihoods(network, training, encoded_alike(new, raw, training), given.smoothing)
    at = [new.names.index(name) for name in training.names]
    return log_densities(network, regressions(network, training), new.values[:, at])


def _of_new(how: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """The data options of the records that are judged: of all, by these columns."""
    columns = ",".join('"' + name.replace('"', '""') + '"' for name in names)
    return dict(how) | {"columns": columns, "drop": None, "records": None, "weights": None}


def _records(file: str, how: Mapping[str, Any], kind: type, score: str) -> Any:
    """The data of this kind in a file, read with these options and for this score."""
    problem, _ = read_problem(file, how, Budgets(), True, score)
    _check_records(problem, kind, file)
    return problem


def _check_records(problem: Any, kind: type, file: str, what: str = "data") -> None:
    """Raise InputError if a file has local scores in place of data of this kind."""
    if not isinstance(problem, kind):
        raise InputError(f"{file} holds local scores, which have no records: give {what}.")
