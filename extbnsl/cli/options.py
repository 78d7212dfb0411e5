"""What the commands' arguments have in common: kinds of values, budgets, methods, options of the data; and reading the
input of a command within its budgets.
"""

import argparse
import difflib
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from extbnsl.cli.head import fitted
from extbnsl.core.claims import Claim
from extbnsl.core.errors import InputError
from extbnsl.core.knowledge import Knowledge
from extbnsl.core.options import Declared, Options, declared
from extbnsl.core.version import __version__
from extbnsl.files.run_state import Remembered
from extbnsl.machine.budgets import (
    MAXIMUM_THREADS,
    MINIMUM_MEMORY,
    Budgets,
    Deadline,
    default_memory,
    format_size,
    parse_duration,
    parse_size,
)
from extbnsl.scores.known import CHOICES, DEFAULT_ESS, ESS_RANGE, LARGEST_ESS, NAMES, SMALLEST_ESS, score_named


def read_problem(
    path: str, given: Mapping[str, Any], budgets: Budgets, quiet: bool = False, score: str = "mdl"
) -> tuple[Any, Budgets]:
    """The LocalScores in the file `path`, as its name says, or the data, with these options: a Dataset, or Numbers if
    the score is of these.

    Also returns the budgets, with the seconds that it took as spent. Says on standard error how far it is, if it takes
    some seconds and unless `quiet`. Raises InputError for what cannot be used, BudgetError if the budgets do not do.
    """
    from extbnsl.core.events import StageStarted
    from extbnsl.data.reading import STAGE, Reading
    from extbnsl.data.text import source_name
    from extbnsl.run.progress import told_on

    began = time.monotonic()
    memory, deadline = budgets.memory or default_memory(), Deadline.after(budgets.time_limit)
    if quiet:
        problem = _read(path, given, Reading(memory, deadline), score)
    else:
        with told_on(sys.stderr) as tell:
            tell(StageStarted(STAGE, source_name(path)))
            problem = _read(path, given, Reading(memory, deadline, tell), score)
    return problem, replace(budgets, spent=time.monotonic() - began)


def is_standard_input(path: str) -> bool:
    """Whether an input is standard input, which has no path and cannot be read twice."""
    from extbnsl.data.text import STANDARD_INPUT

    return path == STANDARD_INPUT


def absolute(path: str) -> str:
    """The path of an input as another folder finds it."""
    return path if is_standard_input(path) else os.path.abspath(path)


def _read(path: str, given: Mapping[str, Any], reading: Any, score: str) -> Any:
    from extbnsl.data.treatment import chosen
    from extbnsl.formats.score_reader import is_score_file, read_scores

    if not is_score_file(path):
        from extbnsl.data import read_data, read_numbers
        from extbnsl.scores.known import is_of_numbers

        return (read_numbers if is_of_numbers(score) else read_data)(path, **given, reading=reading)
    for name in chosen(given):
        option = "--header or --no-header" if name == "header" else f"--{name}"
        raise InputError(f"{option} is for data, but {path} holds local scores; leave it out.")
    return read_scores(path, reading)


DATA_OPTIONS = (
    *("header", "delimiter", "missing", "na", "columns", "drop"),
    *("discrete", "discretise", "arities", "records", "weights"),
)
T = TypeVar("T")
CLOSE = 0.75  # how alike a word and the one that may have been meant are, at least: not bic and aic


class Parser(argparse.ArgumentParser):
    """A parser whose usage errors are one sentence and end with the exit code of bad input."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings, allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse does, but what nobody knows is an error of the command that it was given to."""
        found, unknown = self.parse_known_args(args, namespace)
        if unknown:
            parser = getattr(found, "parser", self)
            hint = did_you_mean(unknown[0].split("=")[0], parser._option_string_actions)
            parser.error(f"unrecognised: {' '.join(unknown)}{hint}")
        return found

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            raise argparse.ArgumentError(action, _unknown(str(value), action.choices, ", ".join(action.choices)))

    def error(self, message: str) -> NoReturn:
        sentence = f"{self.prog}: {message}; '{self.prog} --help' shows what can be given."
        self.exit(InputError.exit_code, f"{fitted(sentence, sys.stderr)}\n")


def add_command(
    commands: Any, name: str, text: str, epilog: str, command: Callable[[argparse.Namespace], int]
) -> argparse.ArgumentParser:
    """The parser, among `commands`, of the command `name` that does `text`; it needs the compiler unless `compiles` is
    set to false."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=text, description=f"{text[0].upper()}{text[1:]}.", epilog=epilog
    )
    parser.set_defaults(command=command, compiles=True, parser=parser)
    return parser


def add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", type=Path, help="a run directory")


def add_claim(parser: argparse.ArgumentParser) -> None:
    """The options that decide the answer."""
    parser.add_argument(
        "--score",
        choices=NAMES,
        type=_score,
        metavar="NAME",
        default=Claim().score,
        help=f"what data score families by, of {', '.join(NAMES)}; the last is for columns of numbers (default: "
        "%(default)s)",
    )
    parser.add_argument(
        "--ess",
        metavar="S",
        type=_ess,
        help=f"equivalent sample size of the prior of bdeu and bds (default: {DEFAULT_ESS:g})",
    )
    parser.add_argument(
        "--max-parents", metavar="K", type=whole, help="at most K parents for a variable (default: no limit)"
    )
    add_knowledge(parser)


def add_knowledge(parser: argparse.ArgumentParser) -> None:
    """The options that say which networks there are to choose from."""
    known = parser.add_argument_group("knowledge (names with commas, or much of it: in a file)")
    known.add_argument(
        "--knowledge",
        metavar="FILE",
        type=Path,
        help="a YAML or CSV file with any of what follows: required, forbidden, allowed, tiers, roots, leaves, "
        "max_parents",
    )
    for name, text in (
        ("required", "an arc that the network must have; may be repeated"),
        ("forbidden", "an arc that it must not have; may be repeated"),
        ("allowed", "a pair that an arc may join, either way; if there are any, no others; may be repeated"),
    ):
        known.add_argument(f"--{name}", metavar="PARENT,CHILD", type=_arc, action="append", help=text)
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


def add_budgets(parser: argparse.ArgumentParser, threads: str, memory: str, disk: str | None = None) -> None:
    """Options for threads, memory and, for runs, disk; the texts say what their defaults are."""
    parser.add_argument(
        "--threads",
        metavar="T",
        type=within(1, MAXIMUM_THREADS),
        help=f"threads (default: {threads})",
    )
    parser.add_argument(
        "--memory",
        metavar="SIZE",
        type=_memory,
        help=f"memory budget: bytes or 512MiB, 8GiB, 40GB, at least {format_size(MINIMUM_MEMORY)} (default: {memory}); "
        "it counts the solver's own structures, the interpreter and its libraries (150 to 250 MB) come on top",
    )
    if disk is not None:
        parser.add_argument(
            "--disk",
            metavar="SIZE",
            type=lambda text: parse_size(text, "--disk", least=0),
            help=f"what the working files may take together, 0 for none (default: {disk})",
        )


def add_scratch(parser: argparse.ArgumentParser, default: str) -> None:
    parser.add_argument(
        "--scratch-dir",
        metavar="DIR",
        type=Path,
        help=f"an existing folder, on a large or fast disk, for the working files (default: {default})",
    )


def add_compress(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--compress",
        action="store_true",
        default=None,
        help="compress the files that stay until the end, for a fifth less disk (needs hdf5plugin: "
        "pip install 'extbnsl[compress]')",
    )


def add_time_limit(parser: argparse.ArgumentParser, default: str) -> None:
    parser.add_argument(
        "--time-limit",
        metavar="T",
        type=lambda text: parse_duration(text, "--time-limit"),
        help=f"stop after T: 90 (seconds), 45m, 1h30m, 2d ({default})",
    )


def add_options(parser: argparse.ArgumentParser, kind: type[Options], *left_out: str, **defaults: str) -> None:
    """An option for each field of a dataclass of options, but for some; `defaults` are in words, where the value does
    not say them."""
    for name, one in declared(kind).items():
        if name not in left_out:
            _add_option(parser, one, defaults.get(name, str(one.default)))


def _add_option(parser: argparse.ArgumentParser, one: Declared, default: str) -> None:
    option, flag = one.option, f"--{one.name.replace('_', '-')}"
    settings: dict[str, Any] = {"help": option.usage.replace("{default}", default), "default": one.default}
    if one.kind is bool and one.optional:
        settings["action"] = argparse.BooleanOptionalAction
    elif one.kind is bool:
        settings |= {"action": "store_false" if one.default else "store_true", "dest": one.name}
        flag = flag.replace("--", "--no-", 1) if one.default else flag
    else:
        settings |= {"metavar": option.metavar or None, "choices": option.choices or None, "type": _reader(one)}
    parser.add_argument(flag if len(one.name) > 1 else f"-{one.name}", **settings)


def _reader(one: Declared) -> Callable[[str], Any] | None:
    """What makes a value of an option of the text that is given."""
    if one.option.parse is not None:
        parse, flag = one.option.parse, f"--{one.name.replace('_', '-')}"
        return lambda text: parse(text, flag)
    if one.kind is int:
        return within(one.option.least, one.option.most)
    return number if one.kind is float else None


def options_of(kind: type[T], given: argparse.Namespace, **others: Any) -> T:
    """What was given of the options of a dataclass; of those that the command does not have, the others."""
    known = vars(given)
    return kind(**{name: known[name] for name in declared(kind) if name in known} | others)


def claim_of(given: argparse.Namespace) -> Claim:
    """What was given of the options that decide the answer; InputError if that contradicts itself."""
    score_named(given.score, given.ess)
    return Claim(given.score, given.max_parents, given.ess, _knowledge(given))


def _knowledge(given: argparse.Namespace) -> Knowledge:
    """What was given of the options of knowledge, and what the file says."""
    arcs = {name: tuple(getattr(given, name) or ()) for name in ("required", "forbidden", "allowed")}
    own = Knowledge(
        **arcs,
        tiers=tuple(given.tier or ()),
        roots=given.roots or (),
        leaves=given.leaves or (),
        max_parents=given.max_parents_of or (),
    )
    if given.knowledge is not None:
        from extbnsl.formats.knowledge_file import read_knowledge

        own = own.joined(read_knowledge(given.knowledge))
    own.check()
    return own


def budgets_of(given: argparse.Namespace, before: Mapping[str, Any] | None = None) -> Budgets:
    """What was given of the budgets, or else, but for the time, what the session before was given."""
    names = ("memory", "disk", "threads")
    asked: dict[str, Any] = {name: getattr(given, name, None) for name in names}
    kept = {} if before is None else {name: before.get(name) for name in names if asked[name] is None}
    return Budgets(**(asked | kept), time_limit=getattr(given, "time_limit", None))


def add_output(parser: argparse.ArgumentParser, json: bool = False) -> None:
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings and one final line")
    if json:
        parser.add_argument("--json", action="store_true", help="print result.json instead of the summary")
        parser.add_argument(
            "--print", action="store_true", help="list the parents of all variables (otherwise of up to 20)"
        )


def add_data(parser: argparse.ArgumentParser) -> None:
    """The options of CSV files."""
    data = parser.add_argument_group("data options (for CSV files)")
    header = data.add_mutually_exclusive_group()
    header.add_argument(
        "--header",
        action="store_true",
        default=None,
        help="the first row has names (default: decided by looking)",
    )
    header.add_argument("--no-header", action="store_false", dest="header", help="the first row is a record")
    data.add_argument("--delimiter", metavar="D", help="the character between columns (default: decided by looking)")
    data.add_argument(
        "--missing",
        choices=["refuse", "drop", "state"],
        default="refuse",
        help="missing values: refuse the data (default), drop the record, or make missing a state",
    )
    data.add_argument(
        "--na",
        metavar="MARKER,...",
        action="append",
        help="further texts that stand for a missing value (write --na=-,. if the first begins with -)",
    )
    data.add_argument("--columns", metavar="COLUMN,...", action="append", help="use these columns alone")
    data.add_argument("--drop", metavar="COLUMN,...", action="append", help="leave these columns out")
    data.add_argument(
        "--discrete",
        metavar="COLUMN,...|all",
        action="append",
        help="take these columns as they are, however many states they have",
    )
    data.add_argument(
        "--discretise",
        "--discretize",
        metavar="[COLUMN=]RULE,...",
        action="append",
        help="cut continuous columns, or the one that is named: mean, quantile:k, width:k, or paper (at the mean, and "
        "columns of more than four states too)",
    )
    data.add_argument("--arities", metavar="FILE", help="declared numbers of states (default: the states that occur)")
    data.add_argument("--records", metavar="N", type=within(1), help="use the first N records alone (default: all)")
    data.add_argument(
        "--weights",
        metavar="COLUMN",
        help="this column says how many records each row stands for, and is no variable (default: one each)",
    )


def data_options(options: argparse.Namespace) -> dict[str, Any]:
    """What was given of the options that `add_data` adds, by the names that `read_csv` has for them, as JSON scalars:
    of options that were repeated, one text with commas."""
    given = {key: getattr(options, key) for key in DATA_OPTIONS}
    return {key: ",".join(value) if isinstance(value, list) else value for key, value in given.items()}


def remembered(given: argparse.Namespace) -> Remembered:
    """What `resume` needs to read the input again, to have the same budgets and to draw the network."""
    data, plot = data_options(given), getattr(given, "plot", None)
    if data["arities"] is not None:
        data["arities"] = os.path.abspath(data["arities"])
    return Remembered(
        input=absolute(given.data),
        data_options=data,
        budgets={name: getattr(given, name, None) for name in ("memory", "disk", "threads", "compress")},
        command=given.shell_line,
        version=__version__,
        plot=None if plot is None else os.path.abspath(plot),
    )


def input_of(given: argparse.Namespace) -> Remembered:
    """The input of a command and the data options that were given, as a run remembers them."""
    return Remembered(given.data, data_options(given))


def check_output(output: Path, overwrite: bool, option: str = "--output") -> None:
    """Say before any work that the output file, which this option names, could not be written."""
    if os.path.exists(output) and not overwrite:
        raise InputError(f"{output} exists already; give --overwrite to replace it, or another {option}.")
    if not os.path.isdir(output.parent):
        raise InputError(f"{output} cannot be written: there is no folder {str(output.parent)!r}; create it first.")
    if not os.access(output.parent, os.W_OK | os.X_OK):
        raise InputError(f"{output} cannot be written: no permission to write in {output.parent}.")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A question about the known word that is closest to one that is not; empty if none is close."""
    close = difflib.get_close_matches(word.lower(), list(known), 1, CLOSE)
    return f"; did you mean {close[0]}?" if close else ""


def whole(text: str, least: int = 0, most: int | None = None) -> int:
    """A whole number of this range; argparse says so of anything else."""
    if text.isascii() and text.isdigit() and least <= int(text) and (most is None or int(text) <= most):
        return int(text)
    reach = f"of at least {least}" if most is None else f"from {least} to {most}"
    raise argparse.ArgumentTypeError(f"{text!r} is not a whole number {reach}")


def within(least: int, most: int | None = None) -> Callable[[str], int]:
    """What reads a whole number of this range."""
    return lambda text: whole(text, least, most)


def number(text: str) -> float:
    """A number; argparse says so of anything else."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        raise argparse.ArgumentTypeError(f"{text!r} has an empty name; separate names by single commas")
    return names


def _arc(text: str) -> tuple[str, str]:
    names = _names(text)
    if len(names) != 2:
        raise argparse.ArgumentTypeError(f"{text!r} is not a parent and a child with a comma between them")
    return names[0], names[1]


def _limits(text: str) -> tuple[tuple[str, int], ...]:
    pairs = [part.rpartition("=") for part in _names(text)]
    if not all(name and number.isascii() and number.isdigit() for name, _, number in pairs):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of names, each with = and a whole number")
    return tuple((name, int(number)) for name, _, number in pairs)


def _score(text: str) -> str:
    if text not in NAMES:
        raise argparse.ArgumentTypeError(_unknown(text, NAMES, CHOICES))
    return text


def _ess(text: str) -> float:
    try:
        size = float(text)
    except ValueError:
        size = 0.0
    if not SMALLEST_ESS <= size <= LARGEST_ESS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number {ESS_RANGE}")
    return size


def _unknown(word: str, known: Iterable[str], listed: str) -> str:
    """What to say of a word that is none of those that are known."""
    return f"{word!r} is not known{did_you_mean(word, known) or f'; choose from {listed}'}"


def _memory(text: str) -> int:
    return parse_size(text, "--memory", MINIMUM_MEMORY)
