"""What the C library keeps of freed memory. Without GNU's library nothing here happens.

Left to itself it keeps freed arrays below 32 MB for later, and in a long search several hundred megabytes of such
remains pile up. Where it keeps none, each small array costs page faults: a tenth of the time of small solves.
"""

import contextlib
import ctypes

MAPPED = 2 << 20  # bytes from which on an array is given back as soon as it is freed
KEPT = 8 << 20  # bytes that are kept at the end of each thread's pool
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of malloc.h
ENVIRONMENT = {"MALLOC_MMAP_THRESHOLD_": str(MAPPED), "MALLOC_TRIM_THRESHOLD_": str(KEPT)}  # of a new process


def give_memory_back() -> None:
    """From now on let this process, which must be ours, give freed memory back as above."""
    with contextlib.suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        library.mallopt(M_MMAP_THRESHOLD, MAPPED)
        library.mallopt(M_TRIM_THRESHOLD, KEPT)


def trim_memory() -> None:
    """Give what is freed back to the system now: small remains between what is in use, of all threads' pools."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
