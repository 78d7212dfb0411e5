"""Files of other programs, known by how they begin or by their name: refused with a sentence on how to convert them."""

import re
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from extbnsl.core.arguments import written_number
from extbnsl.core.errors import InputError

ZIP = b"PK\x03\x04"
PACKED = (b"BZh", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd")


class Format(NamedTuple):
    """A format: what a file of it is, how its name may end, how it begins, and what to do with it."""

    what: str
    suffixes: tuple[str, ...]
    beginnings: tuple[bytes, ...]
    advice: str


_WITH_PANDAS = "convert it, such as with pandas.{}(...).to_csv('data.csv', index=False) in Python"
_EXPORTED = "save it there as CSV in UTF-8, or " + _WITH_PANDAS.format("read_excel")
_FROM_PICKLE = "give the data frame in it to extbnsl.learn(pandas.read_pickle(...)) in Python"
_IN_R = "convert it with write.csv(..., 'data.csv', row.names = FALSE) in R"
_DATA = "give the data to learn a network from"
# Of formats that begin alike the first is meant, unless the name says another.
FORMATS = (
    Format("a zip archive", (".zip",), (ZIP,), "unpack it, or save it as CSV if it is a spreadsheet"),
    Format("an Excel workbook", (".xlsx", ".xlsm", ".xls"), (ZIP, b"\xd0\xcf\x11\xe0"), _EXPORTED),
    Format("an OpenDocument spreadsheet", (".ods",), (ZIP,), _EXPORTED),
    Format("a packed file", (".bz2", ".xz", ".zst"), PACKED, "unpack it (gzip can stay)"),
    Format("an R object", (".rds",), (b"X\n\0", b"A\n2\n", b"A\n3\n", *PACKED), "let its name end in .rds"),
    Format("an R workspace", (".rda", ".rdata"), (b"RDX", b"RDA", *PACKED), f"load it and {_IN_R}"),
    Format("a Parquet file", (".parquet", ".pq"), (b"PAR1",), "let its name end in .parquet"),
    Format("a Feather file", (".feather", ".arrow"), (b"ARROW1", b"FEA1"), _WITH_PANDAS.format("read_feather")),
    Format("an SPSS file", (".sav", ".zsav"), (b"$FL2", b"$FL3"), _WITH_PANDAS.format("read_spss")),
    Format("a Stata file", (".dta",), (b"<stata_dta>",), _WITH_PANDAS.format("read_stata")),
    Format("a SAS file", (".sas7bdat", ".xpt"), (b"HEADER RECORD",), _WITH_PANDAS.format("read_sas")),
    Format("an HDF5 file", (".h5", ".hdf5"), (b"\x89HDF",), _WITH_PANDAS.format("read_hdf")),
    Format("a Python pickle", (".pkl", ".pickle"), (b"\x80\2", b"\x80\3", b"\x80\4", b"\x80\5"), _FROM_PICKLE),
    Format("an array of numpy", (".npy",), (b"\x93NUMPY",), "give it to extbnsl.learn(numpy.load(...)) in Python"),
    Format("a PDF document", (".pdf",), (b"%PDF",), "save the table as CSV"),
    Format("a GeNIe network (XDSL)", (".xdsl",), (b"<smile",), _DATA),
    Format("a network in XML (XMLBIF)", (".xmlbif",), (b"<!DOCTYPE BIF", b"<BIF"), _DATA),
    Format("a pointer of Git LFS", (), (b"version https://git-lfs",), "get the file itself, by git lfs pull"),
    Format("a pointer of git-annex", (), (b"/annex/objects/",), "get the file itself, by git annex get"),
    Format(
        "XML or HTML", (), (b"<?xml", b"<!DOCTYPE", b"<!doctype", b"<html", b"<table"), "save the table in it as CSV"
    ),
)
LOOKED_AT = 1 << 16  # bytes of a table
LINES = 5
_XML_HEAD = re.compile(rb"\A\s*(?:<\?xml[^>]*>\s*|<!--.*?-->\s*)+", re.DOTALL)
# What the first lines that are not blank begin with, one blank between them.
TEXTS = {
    rb"(?:net|class \S+|(?:decision |utility |continuous )?node \S+) ?\{": "a network (Hugin)",
    rb"bnet \S+ ?\{": "a network (Netica)",
    rb"network .*\{": "a network (BIF)",
    rb"belief network ": "a network (DSC)",
    rb"(?:BAYES|MARKOV) \d+ ": "a network (UAI)",
    rb"(?:strict )?(?:di)?graph\b.*\{": "a graph (DOT or GML)",
    rb"graph \[": "a graph (DOT or GML)",
    rb"\[\w+(?:\|\w+(?::\w+)*)?\](?:\[\w+(?:\|\w+(?::\w+)*)?\])": "a network (a model string of bnlearn)",
    rb"structure\(list\(": "an object of R (dput)",
    rb"(?:CREATE TABLE|INSERT INTO) ": "statements (SQL)",
    rb"/knowledge\b": "knowledge (Tetrad)",
    rb"/covariance\b": "a covariance matrix (Tetrad)",
}
_JSON = re.compile(rb'\{ ?(?:"|\}|$)|\[ ?[\[{"]')


def check_text(path: str | PathLike[str], name: str, begins: bytes) -> None:
    """Raise InputError if a file that begins so, called `name` in sentences, is of another program and no text."""
    suffix = Path(path).suffix.lower()
    behind = _XML_HEAD.sub(b"", begins[:LOOKED_AT])
    alike = [known for known in FORMATS if begins.startswith(known.beginnings) or behind.startswith(known.beginnings)]
    if not alike and not _is_text(begins):
        alike = [known for known in FORMATS if suffix in known.suffixes]
    if alike:
        found = next((known for known in alike if suffix in known.suffixes), alike[0])
        raise InputError(f"{name} is {found.what}, which cannot be read: {found.advice}.")


def check_table(source: str, begins: bytes) -> None:
    """Raise InputError if a text that begins so holds no table, though it has lines."""
    lines = list[bytes]()
    for line in map(bytes.strip, begins[:LOOKED_AT].splitlines()):
        if line and not line.startswith((b"%", b"#", b"//")):
            lines.append(line)
        if len(lines) == LINES:
            break
    if not lines:
        return
    joined = b" ".join(b" ".join(lines)[:LOOKED_AT].split())
    if lines[0].lower().startswith(b"@relation"):
        raise InputError(f"{source} is an ARFF file: let its name end in .arff.")
    what = next((what for begins, what in TEXTS.items() if re.match(begins, joined)), None)
    if what or _are_covariances(lines):
        raise InputError(f"{source} holds {what or 'a covariance matrix (Tetrad)'}, not records: {_DATA}.")
    if _JSON.match(joined):
        raise InputError(f"{source} is JSON, which cannot be read: {_WITH_PANDAS.format('read_json')}.")
    if _are_scores(lines[:3]):
        raise InputError(
            f"{source} holds local scores, not records: put them into a file whose name ends in .jkl or .pss."
        )


def _are_scores(lines: Sequence[bytes]) -> bool:
    """Whether a file of local scores begins with these lines: `n`, `name count`, `score k parent...`, or META, VAR."""
    if lines[0].startswith(b"META ") or (lines[0].startswith(b"VAR ") and lines[-1].startswith((b"META ", b"-"))):
        return True
    words = list(map(bytes.split, lines))
    if len(words) < 3 or len(words[0]) != 1 or len(words[1]) != 2 or len(words[2]) < 2:
        return False
    counts = [written_number(word.decode(errors="replace")) for word in (words[0][0], words[1][1], words[2][1])]
    return None not in counts and counts[2] == len(words[2]) - 2


def _are_covariances(lines: Sequence[bytes]) -> bool:
    """Whether a covariance matrix begins with these lines: how many records, names, and one to two or three numbers."""
    words = list(map(bytes.split, lines))
    widths = list(map(len, words))
    is_triangle = len(widths) > 3 and widths[0] == 1 and widths[1] > 1 and widths[2:] == [1, 2, 3][: len(widths) - 2]
    return is_triangle and written_number(words[0][0].decode(errors="replace")) is not None


def _is_text(begins: bytes) -> bool:
    """Whether these bytes, which may end within a character, are UTF-8 text."""
    try:
        begins.decode()
    except UnicodeDecodeError as error:
        return error.start >= len(begins) - 3
    return b"\0" not in begins
