"""Columns of tables that other programs write: Parquet, ARFF and R's RDS files.

Parquet and RDS need a package each, which is an extra. What a file declares of states is kept: the values of a nominal
attribute, the levels of a factor, and the categories of a dictionary are all the states of the column, in their order,
whether they occur or not.
"""

import bz2
import gzip
import lzma
import warnings
import zlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from extbnsl.core.arguments import imported
from extbnsl.core.data_options import DataOptions
from extbnsl.core.errors import BudgetError, InputError
from extbnsl.core.sentences import Mention
from extbnsl.data.column import Column, check_names, clean_name
from extbnsl.data.encode import Made, Make
from extbnsl.data.given import given
from extbnsl.data.table import refuse_long
from extbnsl.data.text import Reading, source_name
from extbnsl.data.treatment import Treatment, treatment
from extbnsl.files.atomic import check_given

FIELD_BYTES = 16  # of a value while a file is read, at least
TEXTS = ("string", "large_string")  # types of pyarrow
NO_FRAMES = {"dict": "a list", "ndarray": "a vector", "NoneType": "NULL"}  # what R calls what Python has of it

PIECE = 1 << 22  # bytes unpacked at a time
PACKED: Mapping[bytes, Callable[..., Any]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}


def read_other_file(make: Make[Made], path: str | PathLike[str], options: DataOptions, reading: Reading) -> Made:
    """What `make` makes of the columns of such a file, as `file.read_file` says."""
    wanted, source = treatment(options), source_name(path)
    header_options = (Mention("header"), " or ", Mention("no-header"))
    of_texts = (
        ((Mention("delimiter"),), options.delimiter),
        (header_options, options.header),
        ((Mention("skip-lines"),), options.skip_lines),
        ((Mention("comment"),), options.comment),
    )
    for told_as, value in of_texts:
        if value is not None:
            raise InputError(*told_as, f" is for texts, and {source} names its columns itself; leave it out.")
    columns, now_wanted = _columns(Path(path), source, wanted, reading)
    refuse_long(filter(now_wanted.takes, columns), source)
    made: Made = make(columns, source, now_wanted, reading)
    own: tuple[str, ...] = (
        () if now_wanted is wanted else (f"{source} has weights of its instances: each stands for so many records.",)
    )
    return replace(made, layout=Path(path).suffix[1:].lower(), warnings=(*own, *made.warnings))


def _columns(file: Path, source: str, wanted: Treatment, reading: Reading) -> tuple[list[Column], Treatment]:
    """The columns of such a file, and how they are wanted; InputError if it cannot be used or its package is missing,
    BudgetError if it certainly takes more than the memory of `reading`."""
    check_given(file)
    suffix = file.suffix.lower()
    try:
        if suffix == ".arff":
            from extbnsl.data.arff import read_arff

            columns, wanted = read_arff(file, source, wanted, reading)
        else:
            columns = FRAMES[suffix](file, source, wanted, reading)
    except MemoryError as error:
        raise BudgetError(f"{source} needs more memory than there is: leave out what is not needed.") from error
    check_names([column.name for column in columns], source)
    return columns, wanted


def _broken(source: str, what: str, error: Exception) -> InputError:
    said = (str(error) or type(error).__name__).splitlines()[0][:200]
    return InputError(f"{source} cannot be read as {what} ({said}): write it again, or save it as CSV.")


def _parquet(path: Path, source: str, wanted: Treatment, reading: Reading) -> list[Column]:
    parquet = imported("pyarrow.parquet", f"{source}: reading it", "extbnsl[parquet]")
    try:
        # A text that many rows share is read once: a small file may promise it a billion times.
        texts = {field.name for field in parquet.read_schema(path) if str(field.type) in TEXTS}
        with parquet.ParquetFile(path, read_dictionary=sorted(texts)) as file:
            meta = file.metadata
            so_far = f"the {meta.num_rows:,} rows of {meta.num_columns:,} columns that it promises, of which none were"
            unpacked = sum(meta.row_group(group).total_byte_size for group in range(meta.num_row_groups))
            needed = max(FIELD_BYTES * meta.num_rows * meta.num_columns, unpacked)
            reading.check_memory(source, needed, so_far)
            names = [name for name in file.schema_arrow.names if not name.startswith("__index_level_")]
            check_names([clean_name(name) for name in names], source)
            frame = given(file.read(columns=names, use_threads=False))
        columns = frame.read(wanted, source, reading)
        pairs = zip(names, columns, strict=True)
        return [_of_texts(column) if name in texts else column for name, column in pairs]
    except (OSError, ValueError, NotImplementedError, TypeError, KeyError) as error:
        if isinstance(error, InputError):
            raise
        raise _broken(source, "Parquet", error) from error


def _of_texts(column: Column) -> Column:
    """The column of texts that occur, of which none is declared, from their dictionary."""
    return replace(column, values=tuple(map(str.strip, column.values)), levels=False)


def _rds(path: Path, source: str, wanted: Treatment, reading: Reading) -> list[Column]:
    rdata = imported("rdata", f"{source}: reading it", "extbnsl[rds]")
    content = _unpacked(path, source, reading)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parsed = rdata.parser.parse_data(content, altrep_constructor_dict=_short(rdata, source, reading))
            frame = rdata.conversion.convert(parsed)
    except (InputError, BudgetError, MemoryError):
        raise
    except Exception as error:  # what a damaged file makes of the package's parser may be anything
        raise _broken(source, "an R object", error) from error
    if not hasattr(frame, "columns"):
        held = NO_FRAMES.get(type(frame).__name__, "another object")
        raise InputError(f"{source} holds no data frame, but {held}: write a data frame with saveRDS in R.")
    return given(frame).read(wanted, source, reading)


def _short(rdata: Any, source: str, reading: Reading) -> dict[bytes, Callable[[Any], Any]]:
    """What makes the vectors that R writes as a beginning and a length; BudgetError for one that is too long."""

    def checked(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def made(state: Any) -> Any:
            values = getattr(state, "value", None)
            if isinstance(values, np.ndarray) and values.size == 3:
                reading.check_memory(source, int(8 * float(values[0])), "a column of consecutive numbers,")
            return make(state)

        return made

    known = rdata.parser.DEFAULT_ALTREP_MAP
    return {name: checked(make) if b"seq" in name else make for name, make in known.items()}


def _unpacked(path: Path, source: str, reading: Reading) -> bytes:
    """The content of a file, unpacked if it is packed; BudgetError if that is more than the memory."""
    with path.open("rb") as file:
        start = file.read(8)
    opened: Callable[..., Any] = next((unpack for begins, unpack in PACKED.items() if start.startswith(begins)), open)
    parts, size = [], 0
    try:
        with opened(path, "rb") as file:
            while part := file.read(PIECE):
                parts.append(part)
                size += len(part)
                reading.check_memory(source, 2 * size, "its content, unpacked,")
                reading.check_time(source)
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        raise _broken(source, "a packed file", error) from error
    return b"".join(parts)


FRAMES: Mapping[str, Callable[[Path, str, Treatment, Reading], list[Column]]] = {
    ".parquet": _parquet,
    ".pq": _parquet,
    ".rds": _rds,
}
