"""Pipes, folders, sockets and devices where commands expect a file: a sentence at once, and never a wait."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from commands import a_table, run
from portions import first

from extbnsl.cli import main
from extbnsl.data.file import OTHER_FILES
from extbnsl.files.names import BOOTSTRAP, EVENTS_LOG, LOCK, MANIFEST, RESULT, STATUS

SECONDS = 300  # a machine may compile meanwhile


class Waits(BaseException):
    """What nobody catches."""


def pipe(path):
    os.mkfifo(path)


def folder(path):
    os.mkdir(path)


def a_socket(path):
    here = os.getcwd()
    os.chdir(Path(path).parent)  # a name of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(Path(path).name)
    finally:
        os.chdir(here)


def link_to_a_device(path):
    os.symlink("/dev/zero", path)


KINDS = {"a pipe": pipe, "a folder": folder, "a socket": a_socket, "a link": link_to_a_device}


@pytest.fixture(autouse=True)
def _never_waiting(finished):
    """Whatever waits is interrupted."""

    def interrupt(number, frame):
        raise Waits(f"still waiting after {SECONDS} seconds")

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, SECONDS, 1)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The run directory of a solve with resamples, and one of a search for the best networks; the data beside them."""
    place = tmp_path_factory.mktemp("finished")
    with contextlib.chdir(place):
        lines = ["a,b,c,d", *(",".join(map(str, row)) for row in a_table())]
        Path("data.csv").write_text("\n".join(lines) + "\n")
        Path("arities.csv").write_text("a,b,c,d\n2,2,2,3\n")
        data = ["data.csv", "--arities", "arities.csv", "--quiet"]
        assert main(["solve", *data, "--bootstrap", "3", "--run-dir", "solve.run"]) == 0
        assert main(["kbest", *data, "-k", "3", "--run-dir", "kbest.run"]) == 0
    return place


@pytest.fixture
def runs(finished, tmp_path):
    """Copies of these, here."""
    with contextlib.chdir(shutil.copytree(finished, tmp_path / "copy")):
        yield


COMMANDS = [
    ["status"],
    ["report"],
    ["resume"],
    ["clean"],
    ["plot"],
    ["verify", "data.csv"],
    ["score-network", "data.csv"],
    ["export", "-o", "n.net"],
    ["query", "a", "--smoothing", "1"],
]


def ends(capsys, command, run_folder):
    """How a command ends over a run, and what it says; never as with a fault of the program."""
    code, out, err = run(capsys, command[0], run_folder, *command[1:])
    assert code in (0, 1, 10, 11, 30, 31), (command, run_folder, err)
    assert "Traceback" not in err
    return code, out + err


@pytest.mark.parametrize("of", first(1, ["solve.run", "kbest.run"]))
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_no_command_waits_for_what_is_in_the_place_of_a_file(runs, capsys, of, command):
    for path in sorted(Path(of).iterdir()):
        if path.is_file() and path.name != LOCK:
            kept = path.read_bytes()
            path.unlink()
            pipe(path)
            ends(capsys, command, of)
            path.unlink(missing_ok=True)
            path.write_bytes(kept)


REFUSED = [  # by whom, at once
    (RESULT, ["report", "verify", "score-network", "export", "query"]),
    (MANIFEST, ["resume"]),
    (EVENTS_LOG, ["report", "plot"]),
    (BOOTSTRAP[1], ["status"]),
    (STATUS, ["status"]),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "names_of_commands"), REFUSED, ids=[name for name, _ in REFUSED])
def test_what_is_no_file_is_named_in_a_sentence(runs, capsys, kind, name, names_of_commands):
    path = Path("solve.run", name)
    path.unlink()
    if name == MANIFEST:
        Path("solve.run", RESULT).unlink()  # the run has not ended
    KINDS[kind](path)
    for command in [command for command in COMMANDS if command[0] in names_of_commands]:
        code, said = ends(capsys, command, "solve.run")
        assert f"{path} is {kind}, and a run has a file there; move it away." in said
        assert code == (0 if command == ["status"] else 31)
        assert said.count("\n") > 1 if command == ["status"] else said.count("\n") == 1  # a note on it


@pytest.mark.parametrize("kind", ["a pipe", "a folder", "a socket", "a device"])
def test_a_result_that_is_named_itself_must_be_a_file(runs, capsys, kind):
    path = "/dev/zero" if kind == "a device" else "it"
    if kind != "a device":
        KINDS[kind](path)
    for command in (["verify", path, "data.csv"], ["score-network", path, "data.csv"], ["export", path, "-o", "n.net"]):
        code, _, err = run(capsys, *command)
        if kind == "a folder":  # is looked into
            assert code in (30, 31)
        else:
            assert (code, err) == (30, f"extbnsl: {path} is {kind}: give a file.\n")


OPTIONS = [
    ["solve", "data.csv", "--arities"],
    ["solve", "data.csv", "--knowledge"],
    ["order", "data.csv", "--order"],
    ["campaign"],
    *([command, "data.csv", "--arities"] for command in ("estimate", "kbest", "approximate")),
]


@pytest.mark.parametrize("suffix", ["", ".csv", ".bif", ".yaml"])
@pytest.mark.parametrize("kind", ["a pipe", "a folder", "a socket"])
@pytest.mark.parametrize("option", OPTIONS, ids=" ".join)
def test_option_files_must_be_files(runs, capsys, option, kind, suffix):
    KINDS[kind](f"it{suffix}")
    code, _, err = run(capsys, *option, f"it{suffix}")
    assert (code, err) == (30, f"extbnsl: it{suffix} is {kind}: give a file.\n")


@pytest.mark.parametrize("option", OPTIONS, ids=" ".join)
@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null"])
def test_option_files_must_not_be_devices(runs, capsys, option, device):
    code, _, err = run(capsys, *option, device)
    assert (code, err) == (30, f"extbnsl: {device} is a device: give a file.\n")


def test_files_that_a_result_names_must_be_files(runs, capsys):
    document = json.loads(Path("solve.run", RESULT).read_text())
    for arities, said in (
        ("it", "it is a pipe: give a file."),
        ("-", "- cannot be read"),
        ("n\0", "cannot be the name"),
    ):
        document["provenance"]["data_options"]["arities"] = arities
        Path("solve.run", RESULT).write_text(json.dumps(document))
        Path("it").unlink(missing_ok=True)
        pipe("it")
        for command in (["verify", "solve.run", "data.csv"], ["score-network", "solve.run", "data.csv"]):
            code, _, err = run(capsys, *command)
            assert code == 30
            assert said in err


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["score-network", "moved.csv"], "data.csv is a pipe: give a file."),
        (["export", "-o", "n.net", "--smoothing", "2"], "data.csv is a pipe: give a file."),
        (["resume"], "is not there any more, or no file; say where it is now with --data FILE."),
    ],
)
def test_data_that_a_run_names_must_be_a_file(here, capsys, command, said):
    assert main(["solve", "data.csv", "--run-dir", "own.run", "--quiet"]) == 0
    Path("data.csv").rename("moved.csv")
    pipe("data.csv")
    Path("own.run", "network.json").unlink()  # which is made again
    capsys.readouterr()
    code, told = ends(capsys, command, "own.run")
    assert (code, told.count("\n")) == (30, 1)
    assert said in told


@pytest.mark.parametrize("suffix", OTHER_FILES)
def test_tables_of_other_programs_must_be_files(runs, capsys, suffix):
    pipe(f"it{suffix}")
    code, _, err = run(capsys, "solve", f"it{suffix}")
    assert (code, err) == (30, f"extbnsl: it{suffix} is a pipe: give a file.\n")


@pytest.mark.slow
def test_data_come_through_pipes(runs, tmp_path):
    content = Path("data.csv").read_bytes()
    command = [sys.executable, "-m", "extbnsl", "solve", "--quiet", "--run-dir"]
    whole = {"check": True, "capture_output": True, "timeout": 100}
    told = subprocess.run([*command, "1.run", "-"], input=content, **whole).stdout
    pipe("data.pipe")
    writer = threading.Thread(target=lambda: Path("data.pipe").write_bytes(content))
    writer.start()
    named = subprocess.run([*command, "2.run", "data.pipe"], **whole).stdout
    writer.join()
    line = f"{' '.join(command)} 3.run <(cat data.csv)"
    substituted = subprocess.run(["bash", "-c", line], **whole).stdout
    assert told.replace(b"1.run", b"3.run") == substituted == named.replace(b"2.run", b"3.run")
