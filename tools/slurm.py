"""A real SLURM of one node, on this machine, as root: for trying what jobs do, and for tests.

    python tools/slurm.py

It prints a line that begins with `export`: with that, sbatch, squeue and scancel work in another shell. It needs the
programs of Debian's packages slurm-wlm and munge. All that it writes lies in a folder of its own, and is deleted at the
end, which Ctrl-C or SIGTERM brings.
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scancel", "sinfo", "squeue")
START_SECONDS, END_SECONDS = 60.0, 30.0
CONFIGURATION = """\
ClusterName=one
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={control_port}
SlurmdPort={node_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,batch_sched_delay=0
ReturnToService=2
KillWait=5
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
NodeName={host} NodeAddr=127.0.0.1 CPUs={processors} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:8
"""


def missing() -> str:
    """Why there can be no SLURM here, in words; empty if there can."""
    absent = [name for name in PROGRAMS if shutil.which(name) is None]
    if absent:
        return f"{', '.join(absent)}: not installed (apt-get install slurm-wlm munge)"
    return "" if os.geteuid() == 0 else "it takes root"


@contextlib.contextmanager
def running(folder: Path) -> Iterator[dict[str, str]]:
    """A SLURM whose files lie in this folder, with an idle node; what its commands need of the environment.

    At the end all jobs are cancelled and all processes have ended. Raises RuntimeError, with the end of its logs, if
    the node is not idle within START_SECONDS.
    """
    for name in ("state", "spool"):
        (folder / name).mkdir(parents=True)
    key = folder / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o600)
    file = folder / "slurm.conf"
    ports = dict(zip(("control_port", "node_port"), free_ports(2), strict=True))
    host, processors = socket.gethostname().partition(".")[0], os.cpu_count()
    file.write_text(CONFIGURATION.format(host=host, folder=folder, processors=processors, **ports))
    own = [f"--{name}={folder}/munge.{end}" for name, end in (("socket", "socket"), ("pid-file", "pid"))]
    own += [f"--{name}={folder}/munge.{end}" for name, end in (("log-file", "log"), ("seed-file", "seed"))]
    environment = {"SLURM_CONF": str(file)}
    with contextlib.ExitStack() as stack:
        for command in (
            ["munged", "--foreground", "--force", f"--key-file={key}", *own],
            ["slurmctld", "-D", "-f", file],
            ["slurmd", "-D", "-f", file],
        ):
            stack.enter_context(_daemon(command, folder))
        stack.callback(_cancel_all, environment)
        _await_node(environment, folder)
        yield environment


def asked(environment: dict[str, str], *command: str) -> str:
    """What a command of SLURM writes; CalledProcessError if it fails."""
    known = {**os.environ, **environment}
    return subprocess.run(command, env=known, capture_output=True, text=True, check=True).stdout


def free_ports(number: int) -> list[int]:
    """Ports that nobody listens at."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


@contextlib.contextmanager
def _daemon(command: list[str | Path], folder: Path) -> Iterator[None]:
    """A process that ends with the block; what it says goes into a file."""
    with contextlib.ExitStack() as stack:
        said = stack.enter_context((folder / f"{command[0]}.said").open("wb"))
        process = stack.enter_context(
            subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True)
        )
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()


def _await_node(environment: dict[str, str], folder: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        with contextlib.suppress(subprocess.CalledProcessError):
            if asked(environment, "sinfo", "--noheader", "--format=%T").strip() == "idle":
                return
        time.sleep(0.2)
    logs = [
        f"{file.name}: {line}"
        for file in folder.glob("*.*")
        if file.suffix in (".log", ".said")
        for line in file.read_text().splitlines()[-5:]
    ]
    raise RuntimeError("\n".join(["SLURM has no idle node.", *logs]))


def _cancel_all(environment: dict[str, str]) -> None:
    """End all jobs, which may take as long as they have after SIGTERM."""
    end = time.monotonic() + END_SECONDS
    with contextlib.suppress(subprocess.CalledProcessError):
        asked(environment, "scancel", "--user=root")
        while asked(environment, "squeue", "--noheader") and time.monotonic() < end:
            time.sleep(0.2)


def main() -> int:
    """Run a SLURM until a signal comes; the exit code."""
    if reason := missing():
        print(f"slurm.py: {reason}", file=sys.stderr)
        return 1
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit())
    with tempfile.TemporaryDirectory(prefix="slurm-") as folder, running(Path(folder)) as environment:
        for name, value in environment.items():
            print(f"export {name}={value}", flush=True)
        while True:
            signal.pause()


if __name__ == "__main__":
    sys.exit(main())
