"""The formats that networks are exported in, by name: how their files end and what is in them; and how files of local
scores end.

Light: the command line imports this for the names.
"""

from os import PathLike
from pathlib import Path

from extbnsl.core.errors import InputError
from extbnsl.core.sentences import Mention

SUFFIXES = {
    "bif": ".bif",
    "xmlbif": ".bifxml",
    "xdsl": ".xdsl",
    "net": ".net",
    "dot": ".dot",
    "graphml": ".graphml",
    "json": ".json",
    "adjacency": "adjacency.csv",
    "csv": ".csv",
    "bnlearn": ".txt",
}
LISTED = """\
  .bif      BIF, for bnlearn, pgmpy, pyAgrum
  .bifxml   XMLBIF, for Weka, pgmpy, pyAgrum
  .xdsl     GeNIe
  .net      Hugin
  .dot      Graphviz; dashed where an arc may turn
  .graphml  networkx, igraph
  .json     as network.json
  adjacency.csv  a matrix of 0 and 1, for Benchpress
  .csv      a table of the arcs
  .txt      bnlearn's [A][B|A]
"""
FORMATS = tuple(SUFFIXES)
MADE_OF_PARAMETERS = ("bif", "xmlbif", "xdsl", "net")  # nothing without them
WITH_PARAMETERS = (*MADE_OF_PARAMETERS, "json")
WITH_STRENGTHS = ("graphml", "json", "csv")
WITH_CLASSES = ("dot",)  # can show the equivalence class instead of the network
LARGEST_SMOOTHING = 1e6
OF_SCORES = (".jkl", ".jaa", ".pss", ".scores")
OF_ARCS = (".csv", ".tsv", ".txt")  # tables of them


def is_score_file(path: str | PathLike[str]) -> bool:
    """Whether a file is named as local scores are: .jkl .jaa .pss .scores, with or without .gz."""
    return Path(path).name.lower().removesuffix(".gz").endswith(OF_SCORES)


def format_of(path: Path, name: str | None) -> str:
    """The format that is named, or else that of a file with such an ending; InputError if there is none."""
    if name is not None:
        if name not in FORMATS:
            raise InputError(f"format: {name!r} is not known; use one of {', '.join(FORMATS)}.")
        return name
    found = next((known for known, suffix in SUFFIXES.items() if path.name.lower().endswith(suffix)), None)
    if found is None:
        endings = ", ".join(SUFFIXES.values())
        raise InputError(
            f"{path} does not end as a format does: use one of {endings}, or give ", Mention("format"), "."
        )
    return found


def check_choices(kind: str, smoothing: float, cpdag: bool) -> None:
    """Raise InputError for what a format has no use for, or is out of range."""
    if (
        isinstance(smoothing, bool)
        or not isinstance(smoothing, (int, float))
        or not 0.0 <= smoothing <= LARGEST_SMOOTHING
    ):
        raise InputError(f"smoothing: {smoothing!r} is not a number from 0 to {LARGEST_SMOOTHING:,.0f}.")
    if smoothing > 0.0 and kind not in WITH_PARAMETERS:
        raise InputError(
            Mention("smoothing"),
            f" is for parameters, and {kind} has none; leave it out, or use {', '.join(WITH_PARAMETERS)}.",
        )
    if cpdag and kind not in WITH_CLASSES:
        raise InputError(Mention("cpdag"), f" draws the equivalence class, and {kind} has only networks; use dot.")
