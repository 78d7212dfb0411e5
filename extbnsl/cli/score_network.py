"""`extbnsl score-network`: how likely records are by a network that was learned from others, read as the run read its
own.
"""

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from extbnsl.cli import options
from extbnsl.cli.options import read_problem
from extbnsl.cli.saying import say, say_sentence
from extbnsl.core.claims import Claim
from extbnsl.core.codec import Misfit, Within, decode_some
from extbnsl.core.data_options import MIXED, NUMBERS, STATES, WITH_GAPS, DataOptions
from extbnsl.core.errors import InputError, RunDirectoryError
from extbnsl.core.figures import counted
from extbnsl.core.options import declared
from extbnsl.core.sentences import asking
from extbnsl.files.atomic import check_given, write_atomically
from extbnsl.machine.budgets import Budgets, default_memory
from extbnsl.results.reading import read_result
from extbnsl.scores.known import COLUMNS, kind_of, model_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from extbnsl.data.kinds import Kind


def data_options_of(document: Mapping[str, Any], result: Path) -> dict[str, Any]:
    """The data options of the run; RunDirectoryError if they are none that a run writes."""
    provenance = document.get("provenance")
    kept = provenance.get("data_options", {}) if isinstance(provenance, dict) else {}
    whole, kinds = Annotated[int, Within(1)], dict[str, Any](dict.fromkeys(declared(DataOptions), str))
    kinds |= {"header": bool, "instant": bool, "records": whole, "lags": whole}
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
    file = training or options.remembered_input(result)
    if file is None:
        raise InputError(f"{result} does not say where its data were read: give them by --training.")
    if training is None and options.is_standard_input(file):
        raise InputError(f"{result} was made of standard input, which has ended: give its data by --training.")
    if training is None:
        try:
            check_given(file)
        except InputError as error:
            raise InputError(f"{error} If the data of {result} are elsewhere, give them by --training.") from error
    score = score_told(document, result)
    problem, _ = read_problem(file, data_options_of(document, result), Budgets(), True, score)
    provenance = document.get("provenance")
    if not isinstance(provenance, dict) or problem.fingerprint != provenance.get("data_digest"):
        raise InputError(f"{file} has other data than the network was learned from: give these by --training.")
    if getattr(problem, "latent", False):
        from extbnsl.solver.em_rounds import completed_in

        folder = result if result.is_dir() else result.parent
        problem = completed_in(folder, problem, Claim.of_result(document), default_memory())
    return problem, file


EPILOG = """\
Fits the parameters of the network to the data that it was learned from, and
says how likely the records of DATA are by it: the mean log-likelihood of a
record, in nats; with -o that of each. Larger is better. Columns are read as the
run read them, and cut where it cut them. A record that lacks values is refused,
left out, or judged by what it has: the others are summed out. --average says
how likely a record is by all networks that `posterior --sample` drew: the mean.

example:
  extbnsl score-network wdbc.run held-out.csv --missing sum -o likely.csv
  extbnsl score-network survey.run held-out.csv --average
"""
SMOOTHING = "1"  # unless another is given
REFUSE, DROP, SUM = MISSING = ("refuse", "drop", "sum")


def add(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    options.add_shared(parser, "result")
    parser.add_argument("data", metavar="DATA", help="records of the same variables, a file as for solve")
    options.add_shared(parser, "--average", "--training", "--smoothing")
    parser.add_argument(
        "--missing",
        choices=MISSING,
        help="missing values: refuse DATA, drop the record, or sum over what they may be (default: as the run did)",
    )
    parser.set_defaults(smoothing=SMOOTHING)
    options.add_output(parser, "a CSV file for each record's log-likelihood")
    options.add_shared(parser, "--overwrite")
    parser.add_argument("--json", action="store_true", help="print JSON instead of sentences")


def run(given: argparse.Namespace) -> int:
    """Print how likely the records are; the exit code."""
    import numpy as np

    from extbnsl.data.text import source_name

    if given.output is not None:
        options.check_output(given, given.output, given.overwrite)
    document = read_result(given.result)
    judged = _judged(given, document)
    each = judged.each
    impossible = int(np.isneginf(each).sum())
    total = float(each.sum())
    if given.output is not None:
        lines = (f"{row + 1},{value!r}\n" for row, value in zip(judged.rows.tolist(), each.tolist(), strict=True))
        write_atomically(given.output, "".join(("record,log_likelihood\n", *lines)).encode())
    if given.json:
        found = {"records": len(each), "smoothing": given.smoothing, "log_base": "e", "impossible": impossible}
        found |= {"dropped": judged.dropped, "summed": judged.summed}
        found |= {"networks": document["posterior"]["sampled"]} if given.average else {}
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
    if judged.dropped:
        verb = "was" if judged.dropped == 1 else "were"
        say_sentence(f"{counted(judged.dropped, 'other record')} {verb} left out, because a value is missing.")
    if judged.summed:
        lacks = "lacks a value, which is" if judged.summed == 1 else "lack values, which are"
        say_sentence(f"{counted(judged.summed, 'of them', 'of them')} {lacks} summed out.")
    if given.output is not None:
        say_sentence(f"That of each record is in {given.output}.")
    return 0


class _Judged(NamedTuple):
    """How likely records are.

    rows: of the data, from 0, (N,) int64.
    each: the log-likelihood of what each has, (N,) float64; of numbers the log-density, in the units of the data.
    dropped: how many others were left out.
    summed: how many of these lack values.
    """

    rows: "NDArray[np.intp]"
    each: "NDArray[np.float64]"
    dropped: int
    summed: int


def _judged(given: argparse.Namespace, document: Mapping[str, Any]) -> _Judged:
    """How likely the records are; InputError if they, or the training data, cannot be used."""
    import numpy as np

    from extbnsl.data import KINDS, Numbers

    how, score = data_options_of(document, given.result), score_told(document, given.result)
    kind = KINDS[kind_of(score)]
    if kind.data is Numbers and given.smoothing != float(SMOOTHING):
        raise InputError("--smoothing is for tables of states, and the network has regressions; leave it out.")
    training, file = training_problem(given.training, given.result, document)
    _check_records(training, kind, file, "--training data")
    alike = _ALIKE[model_of(training.kind, score)](training, file, how)
    likely = _likely(given, document, training, score)
    rule = given.missing or how.get("missing", REFUSE)
    rule = SUM if rule in WITH_GAPS else rule
    if training.slices is not None:
        return _judged_in_time(given, alike, rule, training, likely)
    new, lacking = _new_records(given.data, _of_new(alike.how, training.names), rule, alike.filled, kind)
    lacks = np.asarray(lacking.any(axis=1))
    if rule == REFUSE and lacks.any():
        raise _lacking(new, lacking)
    rows = np.flatnonzero(~lacks) if rule == DROP else np.arange(new.records)
    if rows.size == 0:
        raise InputError(f"{new.source}: every record lacks a value: say --missing {SUM}, or give other records.")
    at = [new.names.index(name) for name in training.names]
    each = likely(*alike.records(new, rows, at), lacking[np.ix_(rows, at)])
    return _Judged(rows, each, new.records - rows.size, int(lacks[rows].sum()))


def _likely(
    given: argparse.Namespace, document: Mapping[str, Any], training: Any, score: str
) -> Callable[..., "NDArray[np.float64]"]:
    """What tells how likely records are, given their codes, their numbers and what they lack: by the network, or by
    those that were drawn."""
    from extbnsl.networks.models import fitting, likelihoods_observed
    from extbnsl.networks.network import Network
    from extbnsl.results.samples import counted_in

    known = fitting(training, score, given.smoothing)
    if not given.average:
        network = Network.from_names(training.names, document["parents"])
        return partial(likelihoods_observed, known, {network: 1})
    networks = counted_in(given.result, document, training.names)

    def likely(
        codes: "NDArray[np.uint16]", values: "NDArray[np.float64]", lacking: "NDArray[np.bool_]"
    ) -> "NDArray[np.float64]":
        with options.networks_told(len(networks)) as advance:
            return likelihoods_observed(known, networks, codes, values, lacking, advance)

    return likely


def _judged_in_time(
    given: argparse.Namespace,
    alike: "_Alike",
    rule: str,
    training: Any,
    likely: Callable[..., "NDArray[np.float64]"],
) -> _Judged:
    """How likely each time of another series is, given the times before it."""
    import numpy as np

    from extbnsl.data import KINDS

    if rule == SUM:
        raise InputError(f"--missing {SUM} is for records that are independent; say --missing {DROP}: a gap in time.")
    own, kind = _of_new(alike.how, training.names[: training.given.start]) | {"missing": rule}, KINDS[training.kind]
    new, _ = read_problem(given.data, own, Budgets(), True, make=kind.make)
    _check_records(new, kind, given.data)
    at = [new.names.index(name) for name in training.names]
    rows, lacking = np.arange(new.records), np.zeros((new.records, len(at)), np.bool_)
    return _Judged(rows, likely(*alike.records(new, rows, at), lacking), 0, 0)


class _Alike(NamedTuple):
    """How new records are read as those of the data were.

    how: the data options.
    filled: by the names of columns, a text in place of a missing value.
    records: the codes and the numbers of records (N, n), from what was read, the places of these records there, and
        those of the variables.
    """

    how: Mapping[str, Any]
    filled: Mapping[str, str]
    records: Callable[[Any, "NDArray[np.intp]", Sequence[int]], "tuple[NDArray[np.uint16], NDArray[np.float64]]"]


def _alike_in_states(training: Any, file: str, how: Mapping[str, Any]) -> _Alike:
    """The data are compared with the new records as they stand."""
    import numpy as np

    from extbnsl.data.alike import encoded_alike

    plain = dict(how) | {"discrete": "all", "discretise": None}
    raw, _ = read_problem(file, plain, Budgets(), True)
    filled = {name: own[0] for name, own in zip(raw.names, raw.states, strict=True)}

    def records(
        new: Any, rows: "NDArray[np.intp]", at: Sequence[int]
    ) -> "tuple[NDArray[np.uint16], NDArray[np.float64]]":
        return encoded_alike(new, raw, training, rows), np.empty((len(rows), 0))

    return _Alike(plain, filled, records)


def _alike_in_numbers(training: Any, file: str, how: Mapping[str, Any]) -> _Alike:
    import numpy as np

    def records(
        new: Any, rows: "NDArray[np.intp]", at: Sequence[int]
    ) -> "tuple[NDArray[np.uint16], NDArray[np.float64]]":
        return np.empty((len(rows), 0), np.uint16), new.values[rows][:, at]

    return _Alike(how, dict.fromkeys(training.names, "0"), records)


def _alike_in_both(training: Any, file: str, how: Mapping[str, Any]) -> _Alike:
    """States are compared with the new ones as they stand."""
    import numpy as np

    from extbnsl.data.alike import encoded_alike

    own, present = [bool(states) for states in training.states], training.given.start
    discrete = [name for name, has_states in zip(training.names[:present], own, strict=False) if has_states]
    plain = dict(how) | {"discrete": discrete, "discretise": None}
    raw, _ = read_problem(file, plain, Budgets(), True, "cg-bic")
    filled = {name: states[0] if states else "0" for name, states in zip(raw.names, raw.states, strict=True)}

    def records(
        new: Any, rows: "NDArray[np.intp]", at: Sequence[int]
    ) -> "tuple[NDArray[np.uint16], NDArray[np.float64]]":
        texts = [new.names[j] for j, has_states in zip(at, own, strict=True) if new.states[j] and not has_states]
        if texts:
            raise InputError(
                f"{new.source}: {', '.join(map(repr, texts))} have texts, and numbers in the network", names=texts
            )
        codes = np.zeros((len(rows), len(own)), np.uint16)
        if discrete:
            codes[:, own] = encoded_alike(new.discrete(), raw.discrete(), training.discrete(), rows)
        return codes, new.values[rows][:, at]

    return _Alike(plain, filled, records)


_ALIKE: dict[str, Callable[[Any, str, Mapping[str, Any]], _Alike]] = {
    STATES: _alike_in_states,
    NUMBERS: _alike_in_numbers,
    MIXED: _alike_in_both,
    COLUMNS: _alike_in_both,
}


def _of_new(how: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """The data options of the records that are judged: of all, by these columns."""
    columns = ",".join('"' + name.replace('"', '""') + '"' for name in names)
    without = dict.fromkeys(("drop", "records", "weights", "imputation", "targets"))
    return dict(how) | without | {"columns": columns}


def _new_records(
    file: str, how: Mapping[str, Any], rule: str, filled: Mapping[str, str], kind: "Kind"
) -> tuple[Any, "NDArray[np.bool_]"]:
    """The records of a file, read with these options, and which of their values are missing, (N, n) bool; these are
    filled with some text. None is missing where the rule of the run makes a state of it."""
    import numpy as np

    from extbnsl.data.alike import advice_for_new_records, filling

    gaps: dict[str, NDArray[np.bool_]] = {}
    make = kind.make
    with advice_for_new_records():
        if rule in MISSING:
            how, make = dict(how) | {"missing": REFUSE}, filling(make, filled, gaps)
        new, _ = read_problem(file, how, Budgets(), True, make=make)
    _check_records(new, kind, file)
    whole = np.zeros(new.records, np.bool_)
    return new, np.column_stack([gaps.get(name, whole) for name in new.names])


def _lacking(new: Any, lacking: "NDArray[np.bool_]") -> InputError:
    """The refusal of missing values."""
    from extbnsl.data.column import listed

    names = [name for name, own in zip(new.names, lacking.T, strict=True) if own.any()]
    row, values = int(lacking.any(axis=1).argmax()) + 1, int(lacking.sum())
    are, columns = "value is" if values == 1 else "values are", "column" if len(names) == 1 else "columns"
    return InputError(
        f"{new.source}: {values:,} {are} missing, in {columns} {listed(names)}, first in row {row} of the data",
        names=names,
        row=row,
        advice=("say ", asking("missing", DROP), " or ", asking("missing", SUM)),
    )


def _check_records(problem: Any, kind: "Kind", file: str, what: str = "data") -> None:
    """Raise InputError if a file has local scores in place of data of this kind."""
    if not isinstance(problem, kind.data):
        raise InputError(f"{file} holds local scores, which have no records: give {what}.")
