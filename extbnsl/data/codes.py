"""The codes of a column while it is read: each distinct text once, and for each record which of them it has."""

from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.data.column import Column, narrowest

KEY_BYTES = 8  # a text of so many bytes fits a 64-bit key
MANY_RECORDS = 64  # from here on keys pay: array operations take longer to begin than texts to be looked up
FEW_TEXTS = 256  # up to here all keys are looked up at once
TEXT_BYTES = 200  # about what a distinct text takes besides its characters: two objects, an entry, its number
_MASKS = np.array([(1 << 8 * length) - 1 for length in range(KEY_BYTES + 1)], dtype=np.uint64)


class Fields(NamedTuple):
    """The fields of one column in some records: field i is text[starts[i] : starts[i] + lengths[i]], in UTF-8.

    starts, lengths: (records,) int64; longest: no field has more bytes. `text` goes on for KEY_BYTES or more after the
    last field.
    """

    text: bytes
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    longest: int

    def texts(self) -> list[bytes]:
        """The fields as they are."""
        ends = self.starts + self.lengths
        return [self.text[start:end] for start, end in zip(self.starts.tolist(), ends.tolist(), strict=True)]

    def keys(self) -> NDArray[np.uint64]:
        """Fields of at most KEY_BYTES bytes as numbers, (records,): the first byte lowest, zeros after the last.

        Different fields have different keys, since no text has a byte that is zero.
        """
        at_each_byte = np.ndarray((len(self.text) - KEY_BYTES + 1,), "<u8", self.text, strides=(1,))
        keys: NDArray[np.uint64] = at_each_byte[self.starts] & _MASKS[self.lengths]
        return keys


class ColumnCodes:
    """The codes of a column, in the narrowest dtype that does, and its texts, both as they come."""

    def __init__(self) -> None:
        self._code_of: defaultdict[bytes, int] = defaultdict()
        self._code_of.default_factory = self._code_of.__len__
        self._codes = bytearray()  # which grows in place
        self._dtype = narrowest(1)
        self._text_bytes = 0
        self._keys = np.zeros(0, dtype=np.uint64)  # those that were seen, sorted
        self._code_of_key = np.zeros(0, dtype=np.int32)

    @property
    def nbytes(self) -> int:
        """About the bytes that it takes."""
        return len(self._codes) + self._text_bytes

    def extend(self, fields: Fields) -> None:
        """Add the fields of further records, at least one; amortised O(records log texts)."""
        texts = len(self._code_of)
        few_and_short = texts <= FEW_TEXTS and fields.longest <= KEY_BYTES
        if few_and_short and len(fields.starts) >= MANY_RECORDS:
            codes = self._looked_up(fields.keys())
        else:
            found = map(self._code_of.__getitem__, fields.texts())
            codes = np.fromiter(found, dtype=np.int32, count=len(fields.starts))
        new = len(self._code_of) - texts
        if new:
            self._text_bytes += new * (TEXT_BYTES + fields.longest)
            self._widen(narrowest(len(self._code_of)))
        self._codes += codes.astype(self._dtype).data

    def column(self) -> Column:
        """The column, without a name; the texts are stripped of white space."""
        values = tuple(text.decode().strip() for text in self._code_of)
        return Column("", values, self._as_array())

    def _looked_up(self, keys: NDArray[np.uint64]) -> NDArray[np.int32]:
        """The codes of fields with these keys."""
        at = self._places(keys)
        if not self._keys.size or (self._keys[at] != keys).any():
            self._keys = np.union1d(self._keys, keys)
            texts = (key.to_bytes(KEY_BYTES, "little").rstrip(b"\0") for key in self._keys.tolist())
            self._code_of_key = np.array([self._code_of[text] for text in texts], dtype=np.int32)
            at = self._places(keys)
        return self._code_of_key[at]

    def _places(self, keys: NDArray[np.uint64]) -> NDArray[np.intp]:
        """Where each key is among those that were seen, if it is."""
        return np.minimum(np.searchsorted(self._keys, keys), max(0, self._keys.size - 1))

    def _widen(self, dtype: np.dtype[Any]) -> None:
        """Let the codes have this dtype from now on."""
        if dtype != self._dtype:
            self._codes = bytearray(self._as_array().astype(dtype).data)
            self._dtype = dtype

    def _as_array(self) -> NDArray[Any]:
        return np.frombuffer(self._codes, dtype=self._dtype)
