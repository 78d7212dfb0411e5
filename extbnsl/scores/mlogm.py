"""The table of m ln m, of which entropies of counts are sums."""

import numpy as np
from numpy.typing import NDArray


def mlogm_table(records: int) -> NDArray[np.float64]:
    """m ln m for m = 0 to `records`, in nats."""
    counts = np.arange(records + 1, dtype=np.float64)
    counts[1:] *= np.log(counts[1:])
    return counts
