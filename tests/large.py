"""Small files that unpack to large ones, and what reading them takes."""

import gzip
import tracemalloc

MEBIBYTE = 1 << 20


def packed(folder, *parts, name="data.csv.gz"):
    """A gzip file of these parts, each (bytes, times); its members are packed once, so that it is made at once."""
    path = folder / name
    with open(path, "wb") as file:
        for text, times in parts:
            member = gzip.compress(text, 1, mtime=0)
            for _ in range(times):
                file.write(member)
    return path


def most_memory_of(call):
    """The most bytes that Python and numpy held while `call` ran."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
