"""What the commands' arguments have in common: kinds of values, budgets, methods, options of the data; and reading the
input of a command within its budgets.
"""

import argparse
import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from extbnsl.core.arguments import texts_of
from extbnsl.core.claims import Claim
from extbnsl.core.data_options import STATES, DataOptions
from extbnsl.core.errors import ExtbnslError, InputError
from extbnsl.core.events import StageAdvanced, StageStarted
from extbnsl.core.knowledge import Knowledge
from extbnsl.core.options import Declared, declared
from extbnsl.core.sentences import Mention
from extbnsl.core.version import __version__
from extbnsl.files.manifest import Remembered, read_manifest
from extbnsl.files.names import MANIFEST, RESULT
from extbnsl.formats.kinds import LARGEST_SMOOTHING, OF_ARCS, is_score_file
from extbnsl.machine.budgets import Budgets, Deadline, default_memory
from extbnsl.run.progress import told_on
from extbnsl.scores.known import CLAIM_OPTIONS, kind_of, score_claimed


def read_problem(
    path: str, given: Mapping[str, Any], budgets: Budgets, quiet: bool = False, score: str = "mdl", make: Any = None
) -> tuple[Any, Budgets]:
    """The LocalScores in the file `path`, as its name says, or the data, with these options: what `make` makes of their
    columns; without that the kind that the score is of.

    Also returns the budgets, with the seconds that it took as spent. Says on standard error how far it is, if it takes
    some seconds and unless `quiet`. Raises InputError for what cannot be used, BudgetError if the budgets do not do.
    """
    from extbnsl.data import KINDS, read_file
    from extbnsl.data.text import STAGE, Reading, source_name

    began = time.monotonic()
    memory, deadline = budgets.memory or default_memory(), Deadline.after(budgets.time_limit)
    with told_on(sys.stderr, quiet) as tell:
        tell(StageStarted(STAGE, source_name(path)))
        reading = Reading(memory, deadline, tell)
        if is_score_file(path):
            from extbnsl.data.treatment import chosen
            from extbnsl.formats.score_reader import read_scores

            for name in chosen(given):
                option = "--header or --no-header" if name == "header" else f"--{name}"
                raise InputError(f"{option} is for data, but {path} holds local scores; leave it out.")
            problem: Any = read_scores(path, reading)
        else:
            kind = kind_of(score)
            try:
                problem = read_file(make or KINDS[kind].make, path, DataOptions(**DataOptions.renamed(given)), reading)
            except InputError as error:
                if make or kind != STATES:
                    raise
                raise _with_all_advice(error, path, given, budgets) from error
    return problem, replace(budgets, spent=time.monotonic() - began)


@contextlib.contextmanager
def networks_told(networks: int) -> Iterator[Callable[[int], None]]:
    """What hears how many of so many networks are done, and says so on standard error if it takes some seconds."""
    with told_on(sys.stderr) as tell:
        tell(StageStarted("networks", "average"))
        yield lambda done: tell(StageAdvanced("networks", done, networks, "networks"))


def _with_all_advice(error: InputError, path: str, given: Mapping[str, Any], budgets: Budgets) -> InputError:
    """The refusal of data; with all options by which they can be used, if it takes several."""
    advised = advice_on(path, given, budgets)
    if len(advised) < 2:
        return error
    together = (". All of it together: ", *(part for one in advised for part in (one, " ")))[:-1]
    own = {"option": error.option, "names": error.names, "value": error.value, "row": error.row}
    return InputError(*error.what.parts, **own, advice=(*error.advice, *together))


def advice_on(path: str, given: Mapping[str, Any], budgets: Budgets, kind: str | None = None) -> tuple[Mention, ...]:
    """What `together` finds in some seconds; nothing of standard input, which cannot be read again."""
    from extbnsl.data.text import Reading
    from extbnsl.data.together import together

    if is_standard_input(path):
        return ()
    reading = Reading(budgets.memory or default_memory(), Deadline.after(PATIENCE))
    return together(path, DataOptions(**DataOptions.renamed(given)), reading, kind)


def is_standard_input(path: str) -> bool:
    """Whether an input is standard input, which has no path and cannot be read twice."""
    from extbnsl.data.text import STANDARD_INPUT

    return path == STANDARD_INPUT


def absolute(path: str) -> str:
    """The path of an input as another folder finds it."""
    return path if is_standard_input(path) else os.path.abspath(path)


def _smoothing(text: str) -> float:
    try:
        size = float(text)
    except ValueError:
        size = -1.0
    if not 0.0 <= size <= LARGEST_SMOOTHING:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to {LARGEST_SMOOTHING:.0f}")
    return size


# The arguments that several commands have, as `add_argument` takes them.
SHARED: dict[str, dict[str, Any]] = {
    "data": {
        "metavar": "INPUT",
        "help": "a CSV file (or .csv.gz), - for standard input, or local scores (.jkl .jaa .scores .pss)",
    },
    "run": {"metavar": "RUN", "type": Path, "help": "a run directory"},
    "result": {"metavar": "RUN", "type": Path, "help": "a run directory or its result.json"},
    "--run-dir": {"metavar": "DIR", "type": Path, "help": "where to write (default: INPUT's name with .run, here)"},
    "--overwrite": {"action": "store_true", "help": "replace FILE if it exists"},
    "--training": {
        "metavar": "FILE",
        "help": "the data that the network was learned from (default: where the run read them)",
    },
    "--smoothing": {
        "metavar": "S",
        "type": _smoothing,
        "default": "0",
        "help": "equivalent sample size of the prior of the parameters, 0 for the largest likelihood "
        "(default: %(default)s)",
    },
    "--average": {
        "action": "store_true",
        "help": "average over the networks that the run has drawn (posterior --sample), each with its own parameters",
    },
    "--quiet": {"action": "store_true", "help": "say nothing but warnings and one final line"},
    "--json": {"action": "store_true", "help": "print result.json instead of the summary"},
    "--print": {"action": "store_true", "help": "list the parents of all variables (otherwise of up to 20)"},
}
PATIENCE = 10.0  # seconds to find what options data need
GO_ON = "go on with the run in the run directory if it was begun, by the same question: for job scripts and cron"
REPLACE_RUN = "replace the run in an existing run directory"
AS_JSON = "print a JSON object instead of lines"
T = TypeVar("T")
INPUTS = ("data", "training", "result", "states", "knowledge", "arc_costs")  # the arguments that name files to read
AS_BEFORE = ("memory", "disk", "threads")  # for `resume`, unless others are given


def add_shared(parser: argparse.ArgumentParser, *names: str) -> None:
    """Arguments of SHARED."""
    for name in names:
        parser.add_argument(name, **SHARED[name])


def add_run_dir(parser: argparse.ArgumentParser, replaced: str = REPLACE_RUN) -> None:
    """Where a run is written, and what becomes of one that is there; replaced: what --overwrite does."""
    add_shared(parser, "--run-dir")
    parser.add_argument("--resume", action="store_true", help=GO_ON)
    parser.add_argument("--overwrite", action="store_true", help=replaced)


def add_output(parser: argparse.ArgumentParser, text: str, required: bool = False) -> None:
    """The file that a command writes, as the text says."""
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, required=required, help=text)


def add_claim(parser: argparse.ArgumentParser) -> None:
    """The options that decide the answer, and those that say which networks there are to choose from."""
    add_options(parser, CLAIM_OPTIONS)
    known = parser.add_argument_group("knowledge (double quotes keep a comma in a name; gene_* is all that fit)")
    known.add_argument(
        "--knowledge",
        metavar="FILE",
        type=Path,
        help="a file with any of what follows: YAML or CSV with required, forbidden, allowed, tiers, roots, leaves, "
        "max_parents, apart, costs; or Tetrad's, or GOBNILP's constraints",
    )
    for name, text in (
        ("required", "an arc that the network must have, or a table of such (.csv, .tsv, .txt); may be repeated"),
        ("forbidden", "an arc that it must not have; may be repeated"),
        ("allowed", "a pair that an arc may join, either way; if there are any, no others; may be repeated"),
    ):
        known.add_argument(f"--{name}", metavar="PARENT,CHILD|FILE", type=_arc, action="append", help=text)
    known.add_argument(
        "--tier",
        metavar="NAME,...",
        type=_names,
        action="append",
        help="variables of one time; repeated, the earliest first: none has a parent of a later tier",
    )
    known.add_argument("--roots", metavar="NAME,...", type=_names, help="variables without parents")
    known.add_argument("--leaves", metavar="NAME,...", type=_names, help="variables without children")
    known.add_argument(
        "--max-parents-of", metavar="NAME=K,...", type=_limits, help="at most K parents for each of these variables"
    )
    known.add_argument(
        "--apart",
        metavar="NAME,...",
        type=_names,
        action="append",
        help="variables no two of which an arc joins, such as those of a tier; may be repeated",
    )
    known.add_argument(
        "--arc-costs",
        metavar="FILE",
        type=Path,
        help="a table of what some arcs cost besides: parent, child, nats (such as the log odds against the arc; below "
        "0 for an arc that is rather there)",
    )


def add_options(
    parser: argparse._ActionsContainer, options: Mapping[str, Declared], *left_out: str, **defaults: str
) -> None:
    """An option of the command line for each that is declared, but for some; `defaults` are in words, where this
    command has others."""
    for name, one in options.items():
        if name not in left_out:
            unsaid = one.default is None or one.default is False
            usual = one.option.default or ("" if unsaid else str(one.default))
            _add_option(parser, one, defaults.get(name, usual))


def _add_option(parser: argparse._ActionsContainer, one: Declared, default: str) -> None:
    option, flags = one.option, [one.flag, *map("--{}".format, one.option.aliases)]
    negated = [flag.replace("--", "--no-", 1) for flag in flags]
    usage = f"{option.usage} (default: {default})" if default else option.usage
    settings: dict[str, Any] = {"help": usage, "default": one.default, "dest": one.name}
    off = settings | {"action": "store_false", "help": option.off}
    added = [(flags, settings)]
    if one.kind is bool and one.optional and option.off:
        parser = parser.add_mutually_exclusive_group()
        settings["action"] = "store_true"
        added = [(negated, off), (flags, settings)]
    elif one.kind is bool and one.optional:
        settings["action"] = argparse.BooleanOptionalAction
    elif one.kind is bool and one.default:
        added = [(negated, off)]
    elif one.kind is bool:
        settings["action"] = "store_true"
    else:
        settings |= {"metavar": option.metavar or None, "choices": option.choices or None, "type": _reader(one)}
        settings |= {"action": "append"} if option.repeated else {}
    for names, said in added:
        made: Any = parser.add_argument(*names, **said)
        made.declared = one  # for whoever writes pages


def _reader(one: Declared) -> Callable[[str], Any] | None:
    """The function that makes a value of an option of the text that is given."""
    if one.option.parse is not None:
        parse, flag = one.option.parse, one.flag
        return lambda text: parse(text, flag)
    if one.kind is int:
        return partial(whole, least=one.option.least, most=one.option.most)
    return number if one.kind is float else None


def options_of(kind: type[T], given: argparse.Namespace, **others: Any) -> T:
    """What was given of the options of a dataclass; of those that the command does not have, the others."""
    known = vars(given)
    return kind(**{name: known[name] for name in declared(kind) if name in known} | others)


def claim_of(given: argparse.Namespace) -> Claim:
    """What was given of the options that decide the answer, and what the file of knowledge says; InputError if that
    contradicts itself."""
    own = Knowledge(
        required=_arcs(given.required, "required"),
        forbidden=_arcs(given.forbidden, "forbidden"),
        allowed=_arcs(given.allowed, "allowed"),
        tiers=tuple(given.tier or ()),
        roots=given.roots or (),
        leaves=given.leaves or (),
        max_parents=given.max_parents_of or (),
        apart=tuple(given.apart or ()),
        costs=() if given.arc_costs is None else _costs(given.arc_costs),
    )
    if given.knowledge is not None:
        from extbnsl.formats.knowledge_file import read_knowledge

        own = own.joined(read_knowledge(given.knowledge))
    claim = options_of(Claim, given, score=given.score, ess=given.ess, knowledge=own)
    score_claimed(claim)
    claim.check()
    return claim


def _costs(path: Path) -> tuple[tuple[str, str, float], ...]:
    """What a table says that arcs cost."""
    from extbnsl.formats.knowledge_lines import read_costs

    return read_costs(path)


def _arcs(given: Sequence[tuple[str, str] | Path] | None, option: str) -> tuple[tuple[str, str], ...]:
    """The arcs that are given to an option, those of files among them."""
    found: list[tuple[str, str]] = []
    for one in given or ():
        if isinstance(one, Path):
            from extbnsl.formats.knowledge_lines import read_arcs

            found += read_arcs(one, option)
        else:
            found.append(one)
    return tuple(found)


def add_data(parser: argparse.ArgumentParser) -> None:
    """The options of CSV files."""
    add_options(parser.add_argument_group("data options (for CSV files)"), declared(DataOptions))


def data_options(options: argparse.Namespace) -> dict[str, Any]:
    """What was given of the options that `add_data` adds, as JSON scalars: of options that were repeated, one text with
    commas."""
    given = {}
    for name in declared(DataOptions):
        value = getattr(options, name)
        given[name] = ",".join(value) if isinstance(value, list) else value
    return given


def remembered(given: argparse.Namespace) -> Remembered:
    """What `resume` needs to read the input again, to have the same budgets and to draw the network."""
    data, plot = data_options(given), getattr(given, "plot", None)
    if data["states"] is not None:
        data["states"] = os.path.abspath(data["states"])
    return Remembered(
        input=absolute(given.data),
        data_options=data,
        budgets={name: getattr(given, name, None) for name in AS_BEFORE}
        | {"compress": getattr(given, "compress", None) or None},
        command=given.shell_line,
        version=__version__,
        plot=None if plot is None else os.path.abspath(plot),
    )


def remembered_input(result: Path) -> str | None:
    """Where the run read its data, if the run directory is there."""
    folder = result if result.is_dir() else result.parent
    try:
        remembered = read_manifest(folder).state.run
    except ExtbnslError:
        return None
    return None if remembered is None else remembered.input


def check_output(given: argparse.Namespace, output: Path, overwrite: bool, option: str = "--output") -> None:
    """Say before any work that the output file, which this option names, could not be written, or is an input, which
    nothing replaces."""
    if os.path.exists(output) and not overwrite:
        raise InputError(f"{output} exists already; give --overwrite to replace it, or another {option}.")
    if any(_is_same(output, path) for path in _inputs(given)):
        raise InputError(
            f"{output} is an input of this command, or of its run, and stays as it is: give another {option}."
        )
    if not os.path.isdir(output.parent):
        raise InputError(f"{output} cannot be written: there is no folder {str(output.parent)!r}; create it first.")
    if not os.access(output.parent, os.W_OK | os.X_OK):
        raise InputError(f"{output} cannot be written: no permission to write in {output.parent}.")


def _inputs(given: argparse.Namespace) -> Iterator[str | Path]:
    """The files that a command reads, and the result, the manifest and the data of the run that it is about."""
    known = vars(given)
    yield from (known[name] for name in INPUTS if known.get(name) is not None)
    for name in ("required", "forbidden", "allowed"):
        yield from (one for one in known.get(name) or () if isinstance(one, Path))
    about = known.get("run") or known.get("result")
    if about is None:
        return
    yield from (Path(about, name) for name in (RESULT, MANIFEST))  # no file, if that is none of a run
    remembered = remembered_input(about)
    if remembered is not None:
        yield remembered


def _is_same(output: Path, path: str | Path) -> bool:
    """Whether both are there and one file, by whatever names."""
    try:
        return os.path.samefile(output, path)
    except OSError:
        return False


def whole(text: str, least: int = 0, most: int | None = None) -> int:
    """A whole number of this range; argparse says so of anything else."""
    if text.isascii() and text.isdigit() and least <= int(text) and (most is None or int(text) <= most):
        return int(text)
    reach = f"of at least {least}" if most is None else f"from {least} to {most}"
    raise argparse.ArgumentTypeError(f"{text!r} is not a whole number {reach}")


def number(text: str) -> float:
    """A number; argparse says so of anything else."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None


def _names(text: str) -> tuple[str, ...]:
    names = texts_of(text)
    if not names or not all(names):
        raise argparse.ArgumentTypeError(f"{text!r} has an empty name; separate names by single commas")
    return names


def _arc(text: str) -> tuple[str, str] | Path:
    """An arc, or the file of a table of arcs."""
    names = _names(text)
    if len(names) == 1 and Path(text).suffix.lower() in OF_ARCS:
        return Path(text)
    if len(names) != 2:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a parent and a child with a comma between them; names with commas stand in double "
            f"quotes, and the name of a table of arcs ends in {', '.join(OF_ARCS)}"
        )
    return names[0], names[1]


def _limits(text: str) -> tuple[tuple[str, int], ...]:
    pairs = [part.rpartition("=") for part in _names(text)]
    if not all(name and number.isascii() and number.isdigit() for name, _, number in pairs):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of names, each with = and a whole number")
    return tuple((name, int(number)) for name, _, number in pairs)
