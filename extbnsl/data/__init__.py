"""Data: read, check, discretise, encode and fingerprint records of discrete variables.

A source (`file`, `other_files`, `given`) gives columns of distinct texts and codes; `encode.prepare` takes them through
`missing`, `dressed`, `treatment` and `states` to a `Dataset`; `encode.measured` makes `Numbers` of them, and
`description.described` tells what they hold.
"""

from extbnsl.data.dataset import Data, Dataset, Mixed, Numbers, distinct_rows
from extbnsl.data.encode import measured, prepare
from extbnsl.data.file import read_file
from extbnsl.data.kinds import KINDS
from extbnsl.data.text import Reading

__all__ = [
    "KINDS",
    "Data",
    "Dataset",
    "Mixed",
    "Numbers",
    "Reading",
    "distinct_rows",
    "measured",
    "prepare",
    "read_file",
]
