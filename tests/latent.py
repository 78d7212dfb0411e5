"""Data of which some values are missing, for EM to complete."""

from dataclasses import replace

import numpy as np


def latent(data, seed, share=0.3):
    """The data, of which so many values are missing, but not all of a column, nor of a record."""
    rng, discrete = np.random.default_rng(seed), hasattr(data, "codes")
    values = data.codes if discrete else data.values
    lacking = rng.random(values.shape) < share
    lacking[rng.integers(len(values))] = False
    lacking[np.arange(len(values)), rng.integers(values.shape[1], size=len(values))] = False
    thinned = np.where(lacking, data.arities if discrete else np.nan, values).astype(values.dtype)
    return replace(data, **{"codes" if discrete else "values": thinned}, gaps=True, latent=True)
