"""The networks that were drawn from a posterior, each once, with how often it was drawn: from memory or a run."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypedDict

import numpy as np

from extbnsl.core.codec import Misfit, Within, decode, json_value
from extbnsl.core.errors import ExtbnslError, InputError, RunDirectoryError
from extbnsl.core.sentences import Mention
from extbnsl.files.atomic import lines_of
from extbnsl.files.names import SAMPLES
from extbnsl.networks.network import Network
from extbnsl.results.networks import network_of
from extbnsl.results.posterior import Samples
from extbnsl.results.reading import MOST_BYTES, MOST_OF_PART


class _Sample(TypedDict):
    """A line of samples.jsonl; the cost in nats."""

    sample: Annotated[int, Within(1)]
    cost: float
    parents: dict[str, list[str]]


def no_samples(which: str) -> InputError:
    """What to raise where no networks were drawn."""
    what = f"{which} has no networks to average, drawn from a posterior; draw some, by posterior with "
    return InputError(what, Mention("sample"), " of 1000 or so.")


def counted_networks(names: tuple[str, ...], samples: Samples) -> dict[Network, int]:
    """The different networks among those that were drawn, with their numbers, in the order in which they came."""
    rows, first, counts = np.unique(samples.rows, axis=0, return_index=True, return_counts=True)
    order = np.argsort(first)
    return {network_of(names, samples.parents, rows[i]): int(counts[i]) for i in order.tolist()}


def counted_in(path: Path, document: Mapping[str, Any], names: Sequence[str]) -> dict[Network, int]:
    """The same of a run over these variables, from samples.jsonl beside its result, whose document that is.

    Raises InputError if none were drawn or the file is not there, RunDirectoryError if it is damaged.
    """
    folder, told = path if path.is_dir() else path.parent, document.get("posterior")
    asked = told.get("sampled") if isinstance(told, dict) else None
    if not isinstance(asked, int) or asked < 1:
        raise no_samples(str(path))
    file, found, at = folder / SAMPLES, Counter[Network](), 0
    try:
        for at, line in enumerate(lines_of(file, MOST_BYTES, MOST_OF_PART), start=1):
            found[_network(file, at, line, tuple(names))] += 1
    except FileNotFoundError:
        raise InputError(
            f"{file} is not there, with the networks that were drawn: put it back, or draw them again."
        ) from None
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}.") from error
    if at != asked:
        raise RunDirectoryError(
            f"{file} has {at:,} networks, and {asked:,} were drawn: it is damaged, or of another run."
        )
    return dict(found)


def _network(file: Path, at: int, line: bytes, names: tuple[str, ...]) -> Network:
    """The network in line `at`; RunDirectoryError if that is not what a run writes."""
    try:
        told: _Sample = decode(_Sample, json_value(line))
        if told["sample"] != at:
            raise Misfit("sample")
        network = Network.from_names(names, told["parents"])
        network.order()
    except (ValueError, RecursionError, ExtbnslError) as error:
        raise RunDirectoryError(f"{file}: line {at:,} is no network that a run draws; it is damaged.") from error
    return network
