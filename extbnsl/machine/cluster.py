"""Clusters of Dask, by what users say of them: processes of this machine, a scheduler that is there, or jobs in the
queue of a site, as its own configuration of Dask makes them.

Importing this loads nothing of Dask's.
"""

import contextlib
import json
import logging
import math
import shlex
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from extbnsl.core.arguments import imported, written_number
from extbnsl.core.errors import InputError
from extbnsl.machine.system import ENVIRONMENT

if TYPE_CHECKING:
    from distributed import Client

OPTION = "--cluster"
EXTRA = "extbnsl[cluster]"
LOCAL, FILE = "local", "scheduler-file"
QUEUES = {  # by our words, which are also those of a site's configuration, the classes of dask_jobqueue
    "slurm": "SLURMCluster",
    "pbs": "PBSCluster",
    "lsf": "LSFCluster",
    "htcondor": "HTCondorCluster",
    "sge": "SGECluster",
    "oar": "OARCluster",
}
KINDS = (
    "so many processes of this machine, local:N; those of a Dask scheduler, tcp://HOST:8786, tls://HOST:8786 or "
    f"scheduler-file:PATH; or at most N jobs of a queue, {', '.join(f'{name}:N' for name in QUEUES)}"
)
MOST = 4096  # processes or jobs
CONNECT_SECONDS = 10.0
PATIENCE_SECONDS = 60.0  # with workers that are all gone
QUEUE_PATIENCE_SECONDS = 86400.0  # jobs may wait that long
RETRY_SECONDS = 30.0  # after which a job is submitted again that the queue did not take
SCALING = {  # of jobs, where the site says nothing else: one for each task that waits; an idle one goes after a minute
    "distributed": {"adaptive": {"target-duration": "10ms", "wait-count": 60}}
}
LOCAL_SETTINGS = {  # of processes of this machine
    "distributed.nanny.pre-spawn-environ": ENVIRONMENT,
    # Dask looks at itself 10 to 50 times a second, which nobody sees: a tenth of a core.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.worker.memory.monitor-interval": "500ms",
}
SPEAKING = "distributed", "tornado", "asyncio", "dask_jobqueue"  # loggers


@dataclass(frozen=True)
class Cluster:
    """What a text says of a cluster.

    kind: LOCAL, FILE, one of QUEUES, or empty for an address. where: the address, or the path of the file. number: of
    processes or, at most, of jobs.
    """

    kind: str
    where: str = ""
    number: int = 0


def named(text: str, option: str = OPTION) -> Cluster:
    """The cluster that a text means; InputError, which names the option, if it means none."""
    kind, _, rest = text.partition(":")
    if kind in (LOCAL, *QUEUES):
        number = written_number(rest) or 0
        if not 1 <= number <= MOST:
            raise InputError(f"{option}: {text!r} has no number of workers: write {kind}:N, with N from 1 to {MOST:,}.")
        return Cluster(kind, number=number)
    if kind == FILE and rest:
        return Cluster(FILE, where=rest)
    host, _, port = rest.removeprefix("//").rpartition(":")
    if kind in ("tcp", "tls") and rest.startswith("//") and host and 0 < (written_number(port) or 0) < 1 << 16:
        return Cluster("", where=text)
    raise InputError(f"{option}: {text!r} names no cluster; give {KINDS}.")


def hands_given(given: Any, name: str) -> Any:
    """What callers give for a cluster: a text, a client of dask.distributed, or `Hands`; InputError for anything
    else."""
    if isinstance(given, str):
        named(given, name)
    if isinstance(given, str) or hasattr(given, "slots"):
        return given
    distributed = sys.modules.get("distributed")  # whoever has a client has loaded it
    if distributed is None or not isinstance(given, distributed.Client):
        raise InputError(f"{name}: {given!r} is no client of dask.distributed; give one, or in words {KINDS}.")
    return given


def is_local(text: str) -> bool:
    """Whether a text means processes of this machine."""
    return named(text).kind == LOCAL


def patience_with(text: str) -> float:
    """How many seconds all workers of a cluster may be gone before nobody waits for others."""
    return QUEUE_PATIENCE_SECONDS if named(text).kind in QUEUES else PATIENCE_SECONDS


@contextlib.contextmanager
def cluster_client(text: str, threads: int) -> Iterator["Client"]:
    """A client of the cluster that a text means; what is begun for it ends with the block.

    `local:N` shares `threads` among its processes, each of which has at least one. A queue has one job at least, which
    was submitted, but may not have begun; there are more while there is more to do. Of what Dask says, as of lost
    workers, nothing comes to the terminal.

    Raises InputError if there is no such cluster, or what it takes is not installed.
    """
    asked = named(text)
    imported("distributed", OPTION, EXTRA)
    opening = _queue if asked.kind in QUEUES else _local if asked.kind == LOCAL else _there
    with _quiet(), opening(asked, threads) as client:
        yield client


@contextlib.contextmanager
def _local(asked: Cluster, threads: int) -> Iterator["Client"]:
    """Processes of this machine."""
    import dask
    from distributed import Client, LocalCluster

    with _scratch(), dask.config.set(LOCAL_SETTINGS), contextlib.ExitStack() as stack:
        script = "; in a script of Python, work begins under if __name__ == '__main__'"
        with _refused(f"{OPTION} local:{asked.number}: the processes cannot be started{script}"):
            cluster = LocalCluster(
                n_workers=asked.number,
                threads_per_worker=max(1, threads // asked.number),
                dashboard_address=None,
                scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},  # it serves pages all the same
                silence_logs=logging.CRITICAL,
            )
            stack.enter_context(cluster)
            # what is large need not go by the scheduler, which would read it and write it once more
            client = stack.enter_context(Client(cluster, set_as_default=False, direct_to_workers=True))
        yield client


@contextlib.contextmanager
def _there(asked: Cluster, threads: int) -> Iterator["Client"]:
    """The cluster of a scheduler that somebody else has begun, at an address or by its file."""
    import asyncio  # which takes a while

    from distributed import Client

    address = _address_in(asked.where) if asked.kind == FILE else asked.where
    told = f", of which {asked.where} tells" if asked.kind == FILE else ""
    with contextlib.ExitStack() as stack:
        with _refused(f"{OPTION}: there is no scheduler at {address}{told}"):
            with ThreadPoolExecutor(1) as aside:  # the caller may have a loop of its own
                aside.submit(asyncio.run, asyncio.wait_for(_answered(address), CONNECT_SECONDS)).result()
            client = stack.enter_context(Client(address, timeout=CONNECT_SECONDS, set_as_default=False))
        yield client


async def _answered(address: str) -> None:
    """Hear whether a scheduler answers; a client would wait for ever for one that takes calls, but says nothing."""
    from distributed import Security
    from distributed.comm import connect

    comm = await connect(address, timeout=CONNECT_SECONDS / 2, **Security().get_connection_args("client"))
    await comm.close()


def _address_in(path: str) -> str:
    """The address of a scheduler, from the file that it wrote; InputError if there is none."""
    try:
        told = json.loads(Path(path).read_text())
    except OSError as error:
        raise InputError(f"{OPTION}: {path} cannot be read ({error.strerror}); is the scheduler running?") from error
    except ValueError as error:
        raise InputError(f"{OPTION}: {path} is not the file of a Dask scheduler: it holds no JSON.") from error
    address = told.get("address") if isinstance(told, dict) else None
    if not isinstance(address, str):
        raise InputError(f"{OPTION}: {path} is not the file of a Dask scheduler: it has no address.")
    return address


@contextlib.contextmanager
def _queue(asked: Cluster, threads: int) -> Iterator["Client"]:
    """Jobs in the queue of a site, which come and go with the work; none is left behind."""
    from distributed import Client

    jobqueue = imported("dask_jobqueue", f"{OPTION} {asked.kind}:{asked.number}", EXTRA)
    kind = getattr(jobqueue, QUEUES[asked.kind])
    options = _site_options(asked.kind, kind.job_cls.submit_command)
    with _scratch(), contextlib.ExitStack() as stack:
        with _refused(f"{OPTION} {asked.kind}:{asked.number}: the queue takes no job of a worker"):
            cluster = stack.enter_context(kind(job_cls=_job(kind.job_cls), **options))
            cluster.worker_spec.update(cluster.new_worker_spec())
            cluster.sync(_submitted, cluster)
        cluster.adapt(Adaptive=_again(), minimum_jobs=1, maximum_jobs=asked.number)
        yield stack.enter_context(Client(cluster, set_as_default=False))


def _site_options(kind: str, command: str) -> dict[str, Any]:
    """What a queue is made with beside the site's own configuration of Dask: what that leaves open, as we need it.

    Raises InputError if the program that submits jobs is missing, or the configuration lacks what jobs need.
    """
    import dask

    program = shlex.split(command)[0]
    if shutil.which(program) is None:
        raise InputError(f"{OPTION} {kind}:N submits jobs by {program}, which is not installed here.")
    settings = dask.config.get(f"jobqueue.{kind}")
    needed = ("cores", "memory", "disk") if "disk" in settings else ("cores", "memory")
    missing = [name for name in needed if settings[name] is None]
    if missing:
        raise InputError(
            f"{OPTION} {kind}:N takes the jobs as the site's configuration of Dask has them, but that says no "
            f"{' and no '.join(missing)}: write {' and '.join(f'jobqueue.{kind}.{name}' for name in missing)} into "
            f"{dask.config.PATH}/jobqueue.yaml."
        )
    dask.config.update_defaults(SCALING)
    dashboard = {"dashboard_address": ":0", **(settings["scheduler-options"] or {})}  # a free port
    own = settings["job-script-prologue"] or settings.get("env-extra") or ()  # as it was called before
    prologue = [*own, *(f"export {name}={value}" for name, value in ENVIRONMENT.items())]
    return {
        "processes": settings["processes"] or 1,
        "scheduler_options": dashboard,
        "job_script_prologue": prologue,
    }


@contextlib.contextmanager
def _scratch() -> Iterator[None]:
    """A folder for what Dask writes on this machine, which ends with the block."""
    import dask

    top = dask.config.get("temporary-directory", None)
    with (
        tempfile.TemporaryDirectory(prefix="extbnsl-workers-", dir=top, ignore_cleanup_errors=True) as folder,
        dask.config.set({"temporary-directory": folder}),
    ):
        yield


async def _submitted(cluster: Any) -> None:
    """Wait until all jobs that there are to be were submitted; raises what went wrong."""
    await cluster


def _job(kind: Any) -> type:
    """Jobs of a kind, of which those that the queue did not take can be told."""
    from distributed.core import Status

    class Job(kind):
        async def start(self) -> None:
            self.status = Status.failed
            await super().start()  # which says if it is running

    return Job


def _again() -> type:
    """How the number of jobs follows the work: as Dask does it, and a job that the queue did not take is submitted
    again."""
    from distributed.core import Status
    from distributed.deploy.adaptive import Adaptive

    class Again(Adaptive):
        cluster: Any
        retried = -math.inf

        async def target(self) -> int:
            failed = [name for name, job in self.cluster.workers.items() if job.status is Status.failed]
            if failed and time.monotonic() - self.retried >= RETRY_SECONDS:
                self.retried = time.monotonic()
                await self.cluster.scale_down(failed)
            return await super().target()

    return Again


@contextlib.contextmanager
def _refused(sentence: str) -> Iterator[None]:
    """Let what goes wrong be an InputError that says so, and why."""
    try:
        yield
    except (OSError, RuntimeError, ValueError, TypeError, ImportError) as error:
        _, found, why = str(error).rpartition("stderr:")  # of a program that submits jobs, what it said
        why = " ".join((why if found else str(error)).split()) or "it does not answer"
        raise InputError(f"{sentence} ({why}).") from error


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Nothing of Dask's on the terminal; what somebody has its loggers write elsewhere goes there."""
    with warnings.catch_warnings(), contextlib.ExitStack() as stack:
        warnings.filterwarnings("ignore", module="distributed|dask")
        for logger in map(logging.getLogger, SPEAKING):
            for handler in logger.handlers[:]:
                if getattr(handler, "stream", None) in (sys.stdout, sys.stderr):
                    stack.callback(logger.addHandler, handler)
                    logger.removeHandler(handler)
            silent = logging.NullHandler()  # without any handler, Python would write to standard error
            stack.callback(logger.removeHandler, silent)
            logger.addHandler(silent)
        yield
