"""Clusters of Dask, by what users say of them. Light: the command line imports this for the words."""

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from distributed import Client


def hands_given(given: Any, name: str) -> Any:
    """What may be given for a cluster: a text, or a client; InputError for anything else."""
    return given


@contextlib.contextmanager
def cluster_client(text: str, threads: int) -> Iterator["Client"]:
    """A client of the cluster that a text names, until the end of the block."""
    from distributed import Client, LocalCluster

    if text.startswith("scheduler-file:"):
        with Client(scheduler_file=text.removeprefix("scheduler-file:"), timeout="10s") as client:
            yield client
        return
    n = int(text.removeprefix("local:"))
    with (
        LocalCluster(n_workers=n, threads_per_worker=max(1, threads // n), dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


def patience_with(text: str) -> float:
    """Seconds to wait for workers that are all gone."""
    return 60.0
