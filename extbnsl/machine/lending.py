"""Arrays that processes of one machine look at together: one writes an array into memory that has no name, the others
map it. Nothing is sent, and nothing is left of it, whatever ends a process.

Only some systems have such memory, see `system.memory_file`.
"""

import errno
import mmap
import os
import threading
import weakref

import numpy as np
from numpy.typing import NDArray

from extbnsl.machine import system


class Lent:
    """A copy of an array, for as long as this object lives in the process that made it. Other processes, which get the
    object pickled, ask for `array`, which is as it was; what they write to it they alone see.

    Raises OSError if the system has no such memory, or no more of it.
    """

    def __init__(self, array: NDArray) -> None:
        self._by_columns = array.flags.f_contiguous and not array.flags.c_contiguous
        self._shape, self._dtype, self._writable = array.shape, array.dtype, array.flags.writeable
        descriptor = system.memory_file("extbnsl")
        weakref.finalize(self, os.close, descriptor)
        rows = np.ascontiguousarray(array.T if self._by_columns else array)
        system.write_at(descriptor, rows.reshape(-1).view(np.uint8).data, 0)
        self._path, self._file = system.path_of_open(descriptor), _identity(descriptor)

    @property
    def array(self) -> NDArray:
        """The array, mapped; the same one for all who have it in a process. OSError if it was given up."""
        with _lock:
            array = _mapped.get(self._file)
            if array is None:
                array = _mapped[self._file] = self._map()
        return array

    def _map(self) -> NDArray:
        descriptor = os.open(self._path, os.O_RDONLY)
        try:
            if _identity(descriptor) != self._file:  # another file has its number by now
                raise OSError(errno.ESTALE, os.strerror(errno.ESTALE), self._path)
            mapped = mmap.mmap(descriptor, 0, access=mmap.ACCESS_COPY if self._writable else mmap.ACCESS_READ)
        finally:
            os.close(descriptor)
        return np.frombuffer(mapped, self._dtype).reshape(self._shape, order="F" if self._by_columns else "C")


def _identity(descriptor: int) -> tuple[int, int]:
    """What tells an open file from all others that there are."""
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino


_mapped: weakref.WeakValueDictionary[tuple[int, int], NDArray] = weakref.WeakValueDictionary()
_lock = threading.Lock()
