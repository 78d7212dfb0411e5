"""Columns of tables that other programs write: Parquet, ARFF and R's RDS files.

Each needs a package of its own, which is an extra. What a file declares of states is kept: the values of a nominal
attribute, the levels of a factor, and the categories of an ordered dictionary are all the states of the column, in
their order, whether they occur or not.
"""

import bz2
import gzip
import importlib
import lzma
import warnings
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from extbnsl.core.arguments import imported
from extbnsl.core.data_options import DataOptions
from extbnsl.core.errors import BudgetError, InputError
from extbnsl.core.sentences import Mention
from extbnsl.data.column import (
    Column,
    check_lengths,
    check_names,
    clean_name,
    column_of_levels,
    column_of_numbers,
    column_of_texts,
)
from extbnsl.data.encode import Made, Make
from extbnsl.data.given import column_of_series
from extbnsl.data.table import LONGEST_FIELD
from extbnsl.data.text import Reading, source_name
from extbnsl.data.treatment import treatment
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
    for told_as, given in of_texts:
        if given is not None:
            raise InputError(*told_as, f" is for texts, and {source} names its columns itself; leave it out.")
    made: Made = make(_columns(Path(path), source, reading), source, wanted, reading)
    return replace(made, layout=Path(path).suffix[1:].lower())


def _columns(file: Path, source: str, reading: Reading) -> list[Column]:
    """The columns of such a file; InputError if it cannot be used or its package is missing, BudgetError if it
    certainly takes more than the memory of `reading`."""
    check_given(file)
    try:
        columns = READERS[file.suffix.lower()](file, source, reading)
    except MemoryError as error:
        raise BudgetError(f"{source} needs more memory than there is: leave out what is not needed.") from error
    check_names([column.name for column in columns], source)
    for column in columns:
        _check_length(column.name, max((len(value.encode()) for value in column.values), default=0), source)
    check_lengths(columns, source)
    return columns


def _broken(source: str, what: str, error: Exception) -> InputError:
    said = (str(error) or type(error).__name__).splitlines()[0][:200]
    return InputError(f"{source} cannot be read as {what} ({said}): write it again, or save it as CSV.")


def _parquet(path: Path, source: str, reading: Reading) -> list[Column]:
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
            table, columns = file.read(columns=names, use_threads=False), []
            for name in names:
                reading.check_time(source)
                columns.append(_of_arrow(clean_name(name), table.column(name), source, name in texts))
            return columns
    except (OSError, ValueError, NotImplementedError, TypeError, KeyError) as error:
        if isinstance(error, InputError):
            raise
        raise _broken(source, "Parquet", error) from error


def _of_arrow(name: str, chunks: Any, source: str, is_text: bool) -> Column:
    """The column of a column of pyarrow; is_text: the levels are texts that occur, and none is declared."""
    kind = str(chunks.type)
    if kind.startswith("dictionary"):
        array = chunks.unify_dictionaries().combine_chunks()
        array = array.chunk(0) if hasattr(array, "num_chunks") else array
        _check_lengths(name, array.dictionary, source)
        levels, codes = array.dictionary.to_pylist(), array.indices.to_pylist()
        if is_text:
            texts = [level.strip() for level in levels]
            return column_of_texts(name, [None if code is None else texts[code] for code in codes])
        numbers = np.fromiter((-1 if code is None else code for code in codes), np.int64)
        return replace(column_of_levels(name, levels, numbers, source, "states"), levels=chunks.type.ordered)
    if kind.startswith(("list", "large_list", "struct", "map", "timestamp", "date", "time", "duration", "binary")):
        raise InputError(f"{source}: column '{name}' has values of the type {kind}: remove it or make it a few states.")
    return _of_values(name, chunks.to_pylist(), source)


def _check_lengths(name: str, levels: Any, source: str) -> None:
    """Raise InputError for a level of pyarrow that is longer than a state may be, before it becomes a text."""
    if str(levels.type) in TEXTS:
        compute = importlib.import_module("pyarrow.compute")
        _check_length(name, compute.max(compute.binary_length(levels)).as_py() or 0, source)


def _check_length(name: str, length: int, source: str) -> None:
    if length > LONGEST_FIELD:
        raise InputError(
            f"{source}: column '{name}' has a value of {length:,} bytes, but states have at most {LONGEST_FIELD:,}: "
            "shorten it, or leave the column out."
        )


def _arff(path: Path, source: str, reading: Reading) -> list[Column]:
    arff = imported("arff", f"{source}: reading it", "extbnsl[arff]")
    try:
        text = _unpacked(path, source, reading).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{source} is no text in UTF-8: save it again.") from error
    lines = [line.strip().lower() for line in text.splitlines()]
    attributes = sum(line.startswith("@attribute") for line in lines)
    data = lines.index("@data") + 1 if "@data" in lines else len(lines)
    rows = sum(bool(line) and not line.startswith("%") for line in lines[data:])
    del lines
    so_far = f"its {rows:,} rows of {attributes:,} attributes, of which none were"  # sparse ones are short
    reading.check_memory(source, FIELD_BYTES * rows * attributes, so_far)
    try:
        found = arff.loads(text)
    except (arff.ArffException, ValueError, KeyError, IndexError, RecursionError, OverflowError) as error:
        raise _broken(source, "ARFF", error) from error
    rows, columns = found["data"], []
    for j, (name, kind) in enumerate(found["attributes"]):
        values = [row[j] for row in rows]
        if isinstance(kind, list):
            place = {level: code for code, level in enumerate(kind)}
            codes = np.fromiter((-1 if value is None else place[value] for value in values), np.int64)
            columns.append(column_of_levels(clean_name(name), kind, codes, source, "states"))
        else:
            columns.append(_of_values(clean_name(name), values, source))
    return columns


def _rds(path: Path, source: str, reading: Reading) -> list[Column]:
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
    return [column_of_series(clean_name(str(name)), frame[name], source, declared=True) for name in frame.columns]


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


def _of_values(name: str, values: Sequence[Any], source: str) -> Column:
    """The column of numbers, truth values or texts, None where there is none."""
    given = [value for value in values if value is not None]
    if not given or any(type(value) not in (int, float) for value in given):
        return column_of_texts(name, [None if value is None else str(value).strip() for value in values])
    column = column_of_numbers(name, np.array(given), source)
    codes = np.full(len(values), -1, column.codes.dtype)
    codes[[value is not None for value in values]] = column.codes
    return replace(column, codes=codes)


READERS: Mapping[str, Callable[[Path, str, Reading], list[Column]]] = {
    ".parquet": _parquet,
    ".pq": _parquet,
    ".arff": _arff,
    ".rds": _rds,
}
