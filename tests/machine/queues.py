"""A queue of jobs that is none: programs by the names of those of SLURM, PBS or LSF, which run a job at once, here."""

import os
import signal

from processes import is_alive

SUBMIT = """#!/bin/sh
number=0
until mkdir "{folder}/submitted/$number" 2> /dev/null; do number=$((number + 1)); done
job="{folder}/submitted/$number/script"
cat "${{1:-/dev/stdin}}" > "$job"
case " {refused} " in *" $number "*) echo "error: the controller is away" >&2; exit 1 ;; esac
JOB=$number setsid sh "$job" > /dev/null 2>&1 &
echo $! > "{folder}/jobs/$number"
echo "Submitted batch job $number"
"""
CANCEL = """#!/bin/sh
kill -s TERM -- "-$(cat "{folder}/jobs/$1")"
"""
PROGRAMS = {"slurm": ("sbatch", "scancel"), "pbs": ("qsub", "qdel"), "lsf": ("bsub", "bkill")}


class FakeQueue:
    """Such a queue, whose programs lie in `bin` of a folder; `refused` are the numbers of the submissions that fail.

    Jobs have their number, from 0, as JOB in their environment.
    """

    def __init__(self, folder, kind="slurm", refused=()):
        self.folder = folder
        for name in ("bin", "jobs", "submitted"):
            (folder / name).mkdir()
        for program, text in zip(PROGRAMS[kind], (SUBMIT, CANCEL), strict=True):
            path = folder / "bin" / program
            path.write_text(text.format(folder=folder, refused=" ".join(map(str, refused))))
            path.chmod(0o755)

    @property
    def submitted(self):
        """The scripts that were submitted."""
        return [path.read_text() for path in (self.folder / "submitted").glob("*/script")]

    def jobs(self):
        """The numbers of the jobs that run."""
        return {int(path.name) for path in (self.folder / "jobs").iterdir() if is_alive(self._group(path.name))}

    def kill(self, number):
        """End a job as a queue does with one that is preempted."""
        os.killpg(self._group(number), signal.SIGKILL)

    def _group(self, number):
        return int((self.folder / "jobs" / str(number)).read_text())
