"""Campaigns of pretended runs: the process of a run does, in no time, what its data file says in Python.

The file knows `arguments` and `folder`, and `done`, which leaves the run directory of a real run, with changes to its
result.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
DRIVER = """
import sys
from extbnsl.lab.campaign.one_run import Place
Place.__init__.__defaults__ = ({program!r},)
from extbnsl.cli import main
sys.exit(main({arguments!r}))
"""
HANG = "signal.signal(signal.SIGTERM, signal.SIG_IGN); open(folder + '.began', 'w').close(); time.sleep(1000)"


def program(template):
    """The program that campaigns are to run instead of the real one; `template` is a real run directory."""
    return (sys.executable, "-P", str(Path(__file__).resolve()), str(template))


def command(template, *arguments):
    """The command line of a process that runs `extbnsl campaign` with pretended runs."""
    code = DRIVER.format(program=program(template), arguments=["campaign", *map(str, arguments)])
    return [sys.executable, "-c", code]


def wait_for(is_true, seconds=20.0):
    """Wait until something is true; fail if that takes too long."""
    end = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < end, "it has not become true"
        time.sleep(0.02)


def write_yaml(folder, data, **more):
    """The file of a campaign over data files that hold these texts by their names."""
    for name, text in data.items():
        (folder / name).write_text(text)
    document = {"title": "Pretended", "data": [{"file": name} for name in data], **more}
    (folder / "c.yaml").write_text(json.dumps(document))
    return folder / "c.yaml"


def _pretend(template, arguments):
    if arguments[0] == "resume":
        folder, source = arguments[1], Path(arguments[1], "resume.py")
    else:
        folder, source = arguments[arguments.index("--run-dir") + 1], Path(arguments[1])

    def done(text=None, /, **changes):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(template, folder)
        result = Path(folder, "result.json")
        if "status" in changes:
            status = Path(folder, "status.json")
            status.write_text(json.dumps(json.loads(status.read_text()) | {"ended": changes["status"]}))
        result.write_text(text if text is not None else json.dumps(json.loads(result.read_text()) | changes))

    known = {"arguments": arguments, "folder": folder, "done": done, "json": json, "os": os, "Path": Path}
    known |= {"signal": signal, "subprocess": subprocess, "sys": sys, "time": time}
    exec(source.read_text(), known)


if __name__ == "__main__":
    _pretend(sys.argv[1], sys.argv[2:])
