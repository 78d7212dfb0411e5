"""The options of reading data. Light: the command line imports this for the words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Annotated, Any

from extbnsl.core.errors import InputError
from extbnsl.core.options import Option, Options

Texts = str | Sequence[str]  # "a,b" or ("a", "b")
MISSING_RULES = ("refuse", "drop", "state", "average", "em")
WITH_GAPS = ("average", "em")  # those of them that leave values missing
STATES, NUMBERS, MIXED = "states", "numbers", "states and numbers"  # kinds of data: what the columns hold
DETECTION_RULES = ("lowest", "half", "limit")
MOST_LAGS = 1000
MARKS = {"comma": ",", "point": ".", "apostrophe": "'", "space": " "}  # in numbers, by their names


def _decimal(given: object, name: str) -> str:
    """The mark before the decimals, which is given as it is or by its name."""
    mark = MARKS.get(str(given), str(given))
    if mark not in (",", "."):
        raise InputError(f"{name}: {given!r} stands before no decimals; give , or .")
    return mark


def _thousands(given: object, name: str) -> str:
    """The mark between thousands, which is given as it is or by its name."""
    mark = MARKS.get(str(given), str(given))
    if mark not in MARKS.values():
        raise InputError(f"{name}: {given!r} separates no thousands; give one of {', '.join(MARKS)}.")
    return mark


@dataclass(frozen=True)
class DataOptions(Options):
    """What is to be made of the columns of data. Those of several texts take a sequence, or one text with commas; in
    that, double quotes keep a comma in a name."""

    header: Annotated[
        bool | None,
        Option("the first row has names", off="the first row is a record", default="decided by looking"),
    ] = None
    delimiter: Annotated[
        str | None,
        Option(
            "the character between columns, or tab, comma, semicolon, pipe, space", "D", default="decided by looking"
        ),
    ] = None
    skip_lines: Annotated[
        str | None,
        Option(
            "lines of the file that are no rows: N for the first N, A-B for lines A to B, several with commas; 0 if "
            "all others are rows",
            "N,A-B,...",
            default="decided by looking",
            given=str | int,
        ),
    ] = None
    comment: Annotated[
        str | None, Option("lines that begin with this text are no rows", "TEXT", default="decided by looking")
    ] = None
    missing: Annotated[
        str,
        Option(
            "missing values: refuse the data, drop the record, make missing a state, cost each family over the "
            "records that lack none of its values, or complete them in rounds by the network that is found (of solve)",
            choices=MISSING_RULES,
        ),
    ] = "refuse"
    na: Annotated[
        Texts | None,
        Option(
            "further texts that stand for a missing value, or do so in the column that is named (on the command line "
            "--na=-,. if the first begins with -)",
            "[COLUMN=]MARKER,...",
            repeated=True,
        ),
    ] = None
    decimal: Annotated[
        str | None,
        Option(
            "the mark before the decimals of numbers, , or .; if it is a comma, marks between thousands are taken out "
            "too",
            "MARK",
            default="a point, or a comma where that is certain",
            parse=_decimal,
        ),
    ] = None
    thousands: Annotated[
        str | None,
        Option(
            "the mark between the thousands of numbers, which is taken out: comma, point, apostrophe or space",
            "MARK",
            default="none",
            parse=_thousands,
        ),
    ] = None
    unit: Annotated[
        Texts | None,
        Option(
            "units and currencies, such as mg, that are taken off numbers", "UNIT,...", default="none", repeated=True
        ),
    ] = None
    below_detection: Annotated[
        str | None,
        Option(
            "what a number written <X counts as: lower than all numbers (to be cut by quantile:k), half of X, or X; "
            "one written >X is higher than all numbers, or X",
            choices=DETECTION_RULES,
            default="a text",
        ),
    ] = None
    columns: Annotated[Texts | None, Option("use these columns alone", "COLUMN,...", repeated=True)] = None
    drop: Annotated[Texts | None, Option("leave these columns out", "COLUMN,...", repeated=True)] = None
    discrete: Annotated[
        Texts | None,
        Option("take these columns as they are, however many states they have", "COLUMN,...|all", repeated=True),
    ] = None
    discretise: Annotated[
        Texts | Mapping[str, str] | None,
        Option(
            "cut continuous columns, or the one that is named: mean, quantile:k, width:k, or paper (at the mean, and "
            "columns of more than four states too)",
            "[COLUMN=]RULE,...",
            aliases=("discretize",),
            repeated=True,
        ),
    ] = None
    states: Annotated[
        str | PathLike[str] | Mapping[str, Any] | None,
        Option(
            "states that columns have, whether they occur or not, in their order: a file in YAML or JSON (column: a "
            "list of states, or their number), or of a line of names and a line of numbers",
            "FILE",
            default="the states that occur",
            aliases=("arities",),
        ),
    ] = None
    resolution: Annotated[
        Texts | float | Mapping[str, float] | None,
        Option(
            "the measurement error of numbers, or of the column that is named: a standard deviation, in its units; no "
            "regression leaves less",
            "[COLUMN=]R,...",
            default="numbers are exact",
            repeated=True,
        ),
    ] = None
    records: Annotated[int | None, Option("use the first N records alone", "N", least=1, default="all")] = None
    weights: Annotated[
        str | None,
        Option(
            "this column says how many records each row stands for, and is no variable", "COLUMN", default="one each"
        ),
    ] = None
    imputation: Annotated[
        str | None,
        Option(
            "this column says which of several tables each row is of, in which the missing values of the same records "
            "were filled in, and is no variable: records count once, and resamples are the tables",
            "COLUMN",
            default="one table",
        ),
    ] = None
    targets: Annotated[
        str | None,
        Option(
            "this column names the variables that were set from outside in each record, with ; between several, and "
            "is no variable: a variable's parents are judged by the records in which it was not set",
            "COLUMN",
            default="none was set",
        ),
    ] = None
    time_column: Annotated[
        str | None,
        Option(
            "the records are a time series: this column says when each was taken, in numbers or dates, and is no "
            "variable; each variable gets columns of the steps before, which are parents alone",
            "COLUMN",
            default="records are independent",
        ),
    ] = None
    lags: Annotated[
        int | None,
        Option(
            "how many steps before a time have columns of their own, such as x[t-1]",
            "L",
            least=1,
            most=MOST_LAGS,
            default="1, with --time-column",
        ),
    ] = None
    unit_column: Annotated[
        str | None,
        Option(
            "this column says whose series a record is of, and is no variable",
            "COLUMN",
            default="all are of one series",
        ),
    ] = None
    instant: Annotated[
        bool | None,
        Option(
            "columns of the same time may be parents of each other",
            off="no arc joins columns of the same time",
            default="with --time-column",
        ),
    ] = None


OF_FILES = ("header", "delimiter", "skip_lines", "comment", "records")
