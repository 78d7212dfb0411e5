"""Data: read, check, discretise, encode and fingerprint records of discrete variables.

A source (`file`, `other_files`, `array`, `dataframe`) gives columns of distinct texts and codes; `encode.prepare`
takes them through `missing`, `treatment` and `discretise` to a `Dataset`; `numbers.measured` makes `Numbers` of them.
"""

from extbnsl.data.array import from_array, numbers_from_array
from extbnsl.data.dataframe import from_dataframe, numbers_from_dataframe
from extbnsl.data.dataset import Dataset, distinct_rows
from extbnsl.data.file import read_csv, read_data, read_numbers
from extbnsl.data.numbers import Numbers
from extbnsl.data.reading import Reading

__all__ = [
    "Data",
    "Dataset",
    "Numbers",
    "Reading",
    "distinct_rows",
    "from_array",
    "from_dataframe",
    "numbers_from_array",
    "numbers_from_dataframe",
    "read_csv",
    "read_data",
    "read_numbers",
]

Data = Dataset | Numbers  # records of discrete variables, or of continuous ones
