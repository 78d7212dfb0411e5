"""Values that processes of one machine look at together: one writes a value into memory that has no name, its arrays as
they are, and the others map these. Nothing is sent, and nothing is left of it, whatever ends a process.

Only some systems have such memory, see `system.memory_file`.
"""

import errno
import mmap
import os
import pickle
import threading
import weakref
from typing import Any

from extbnsl.machine import system

ALIGNED = 64  # bytes: where an array begins


class Lent:
    """A copy of a value, for as long as this object lives in the process that made it. Other processes, which get the
    object pickled, ask for `value`, which is as it was; what they write to its arrays they alone see.

    size: of what was written, in bytes.

    Raises OSError if the system has no such memory, or no more of it.
    """

    def __init__(self, value: Any) -> None:
        arrays: list[pickle.PickleBuffer] = []
        head = memoryview(pickle.dumps(value, 5, buffer_callback=arrays.append))
        descriptor = system.memory_file("extbnsl")
        weakref.finalize(self, os.close, descriptor)
        self._spans, self.size = list[tuple[int, int, bool]](), 0
        for data in (head, *(array.raw() for array in arrays)):
            system.write_at(descriptor, data, self.size)
            self._spans.append((self.size, self.size + data.nbytes, data.readonly))
            self.size += -(-data.nbytes // ALIGNED) * ALIGNED
        self._path, self._file = system.path_of_open(descriptor), _identity(descriptor)
        self._held: mmap.mmap | None = None

    def hold(self) -> None:
        """Keep the memory here, though who made it may give it up. OSError if that has been done."""
        self._held = self._memory()

    @property
    def value(self) -> Any:
        """The value; its arrays are mapped, the same memory for all who have it in a process. OSError if it was given
        up."""
        whole = memoryview(self._memory())
        head, *arrays = (
            whole[begin:end].toreadonly() if readonly else whole[begin:end] for begin, end, readonly in self._spans
        )
        return pickle.loads(head, buffers=arrays)

    def _memory(self) -> mmap.mmap:
        with _lock:
            mapped = _mapped.get(self._file)
            if mapped is None:
                mapped = _mapped[self._file] = self._map()
        return mapped

    def _map(self) -> mmap.mmap:
        descriptor = os.open(self._path, os.O_RDONLY)
        try:
            if _identity(descriptor) != self._file:  # another file has its number by now
                raise OSError(errno.ESTALE, os.strerror(errno.ESTALE), self._path)
            return mmap.mmap(descriptor, 0, access=mmap.ACCESS_COPY)
        finally:
            os.close(descriptor)


def _identity(descriptor: int) -> tuple[int, int]:
    """What tells an open file from all others that there are."""
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino


_mapped: weakref.WeakValueDictionary[tuple[int, int], mmap.mmap] = weakref.WeakValueDictionary()
_lock = threading.Lock()
