"""Local scores written to files of other programs, exactly.

The formats are those that `score_reader` describes. Scores are minus the costs in nats: to the base e, larger is
better.
"""

import gzip
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.errors import InputError
from extbnsl.files.atomic import write_atomically
from extbnsl.formats.spelling import is_number
from extbnsl.kernels.varsets import sizes
from extbnsl.scores.local import LocalScores

CHUNK = 1 << 13  # families written at a time


def write_scores(scores: LocalScores, path: str | PathLike[str], *, overwrite: bool = False) -> None:
    """Write local scores, best family first: in URLearning's format if the name ends in .pss, else in GOBNILP's;
    compressed if it ends in .gz.

    Scores have the digits that give back the same float64. Names are kept if every one is a single word and none can be
    taken for a number (a name that is its own index can be) or a comment; else all become X0, X1, ... Raises InputError
    if the file is there already, unless `overwrite`.
    """
    if Path(path).exists() and not overwrite:
        raise InputError(f"{path} exists already: choose another name or allow overwriting.")
    name = Path(path).name.lower()
    data = "".join(line + "\n" for line in _lines(scores, name.removesuffix(".gz").endswith(".pss"))).encode()
    if name.endswith(".gz"):
        data = gzip.compress(data, mtime=0)
    write_atomically(path, data)


def file_names(names: Sequence[str]) -> tuple[str, ...]:
    """The names that `write_scores` gives the variables."""
    if all(name == str(i) or _is_plain_word(name) for i, name in enumerate(names)):
        return tuple(names)
    return tuple(f"X{i}" for i in range(len(names)))


def _is_plain_word(name: str) -> bool:
    """Whether `name` is a single word that is no number and does not begin as a comment does."""
    return name.split() == [name] and not name.startswith("#") and "\0" not in name and not is_number(name)


def _lines(scores: LocalScores, pss: bool) -> Iterator[str]:
    """The lines of a file of parent set scores, or of a Jaakkola file, which counts variables, families and parents."""
    names = file_names(scores.names)
    yield "META pss_version = 0.1" if pss else str(len(names))
    for name, varsets, costs in zip(names, scores.parents, scores.costs, strict=True):
        yield f"VAR {name}" if pss else f"{name} {len(costs)}"
        for score, parents in _families(names, varsets, costs):
            yield " ".join([score, *([] if pss else [str(len(parents))]), *parents])


def _families(
    names: tuple[str, ...], varsets: NDArray[np.uint64], costs: NDArray[np.float64]
) -> Iterator[tuple[str, list[str]]]:
    """The score and the parents of each family of a child."""
    for start in range(0, len(costs), CHUNK):
        some = varsets[start : start + CHUNK]
        bits = np.unpackbits(some.astype("<u8").view(np.uint8), axis=1, bitorder="little")
        parents = [names[i] for i in np.nonzero(bits)[1].tolist()]
        end = 0
        for score, size in zip((0.0 - costs[start : start + CHUNK]).tolist(), sizes(some).tolist(), strict=True):
            first, end = end, end + size
            yield repr(score), parents[first:end]
