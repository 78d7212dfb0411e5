"""Scripts that complete command lines, in the shells that are installed."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest
from commands import fails, run

from extbnsl.cli.parser import COMMANDS

NAMES = set(COMMANDS)
IN_BASH = """
source ./script
read -ra COMP_WORDS <<< "$1"
[[ "$1" == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_shtab_extbnsl extbnsl "${COMP_WORDS[-1]}" "${COMP_WORDS[-2]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""
IN_FISH = "source ./script; complete -C $argv[1] | string replace -r '\\t.*' ''; true"
LINES = (
    ("extbnsl ", NAMES),
    ("extbnsl sc", {"score", "score-network"}),
    ("extbnsl --com", {"--completion"}),
    ("extbnsl --completion ", {"bash", "zsh", "fish"}),
    ("extbnsl solve --max", {"--max-parents", "--max-parents-of"}),
    ("extbnsl solve --score bd", {"bdeu", "bds"}),
    ("extbnsl solve one.csv --method gob", {"gobnilp"}),
    ("extbnsl solve on", {"one.csv", "one.run"}),
    ("extbnsl resume on", {"one.run"}),
    ("extbnsl solve one.csv --run-dir on", {"one.run"}),
)


@pytest.fixture
def folder():
    Path("one.csv").touch()
    Path("one.run").mkdir()


def script(capsys, shell):
    code, out, err = run(capsys, "--completion", shell)
    assert (code, err) == (0, "")
    Path("script").write_text(out)


def completed(*command):
    """What a shell prints, line by line."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return {line.rstrip("/") for line in done.stdout.splitlines()}


needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
needs_zsh = pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
needs_fish = pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")


@needs_bash
def test_bash_completes(capsys, folder):
    script(capsys, "bash")
    assert completed("bash", "-c", "source ./script; complete -p extbnsl") == {
        "complete -o bashdefault -F _shtab_extbnsl extbnsl"
    }
    for line, expected in LINES:
        found = completed("bash", "-c", IN_BASH, "bash", line)
        assert found == expected, line


@needs_fish
def test_fish_completes(capsys, folder):
    script(capsys, "fish")
    for line, expected in LINES:
        found = completed("fish", "--no-config", "-c", IN_FISH, line)
        assert found == expected, line


@needs_zsh
def test_zsh_takes_the_script(capsys, folder):
    script(capsys, "zsh")
    taken = 'autoload -U compinit; compinit -D; eval "$(<./script)"; print $_comps[extbnsl]'
    assert completed("zsh", "-f", "-c", taken) == {"_shtab_extbnsl"}


# How each shell is started, what it is told first, and a command that shows what it was given.
ARGUMENTS = "extbnsl() { printf 'GIVEN<%s>' \"$@\"; echo; }"
AT_A_TERMINAL = {
    "bash": (["--norc", "--noprofile", "-i"], ":", ARGUMENTS),
    "zsh": (["-f", "-i"], "autoload -U compinit; compinit -D", ARGUMENTS),
    "fish": (["--no-config", "-i"], ":", "function extbnsl; printf 'GIVEN<%s>' $argv; echo; end"),
}
TYPED = (  # and what the command is given
    ("solve pl", ["solve", "plain.csv"]),
    ("solve my\\ s", ["solve", "my set.csv"]),
    ("solve 'my s", ["solve", "my set.csv"]),
    ('solve "my s', ["solve", "my set.csv"]),
    ("solve a", ["solve", "a'b.csv"]),
    ("solve it", ["solve", "it$s.csv"]),
    ("resume our", ["resume", "our run"]),
    ("solve my\\ set.csv --run-dir our", ["solve", "my set.csv", "--run-dir", "our run"]),
    ("solve my\\ set.csv --knowledge a", ["solve", "my set.csv", "--knowledge", "a'b.csv"]),
    ("solve my\\ set.csv --forbidden a", ["solve", "my set.csv", "--forbidden", "a'b.csv"]),
    ("solve my\\ set.csv --method gob", ["solve", "my set.csv", "--method", "gobnilp"]),
)


@pytest.mark.parametrize("shell", [pytest.param("bash", marks=needs_bash), pytest.param("zsh", marks=needs_zsh),
                                   pytest.param("fish", marks=needs_fish)])  # fmt: skip
def test_a_key_completes_at_a_terminal(capsys, shell):
    """Whoever sources the script and types a part of a name with blanks or quotes in it gets the whole name."""
    script(capsys, shell)
    for name in ("plain.csv", "my set.csv", "a'b.csv", "it$s.csv"):
        Path(name).touch()
    Path("our run").mkdir()
    options, first, command = AT_A_TERMINAL[shell]
    environment = {**os.environ, "TERM": "dumb"}
    terminal = pexpect.spawn(shell, options, env=environment, encoding="utf-8", dimensions=(24, 200), timeout=30)
    for line in (first, "source ./script", command, "echo rea''dy"):
        terminal.sendline(line)
    terminal.expect("ready")
    for typed, given in TYPED:
        terminal.send(f"extbnsl {typed}\t")
        terminal.send("\r")
        terminal.expect(r"(GIVEN<[^>]*>)+\r?\n")
        assert [word.rstrip("/") for word in re.findall("GIVEN<(.*?)>", terminal.match.group())] == given, typed
    terminal.close(force=True)


def test_other_shells_are_refused(capsys, folder):
    assert "'tcsh' is not known; choose from bash, zsh, fish" in fails(capsys, "--completion", "tcsh")


def test_what_makes_the_script_is_loaded_for_nothing_else():
    code = "import sys; from extbnsl.cli.parser import command_parser; command_parser(); print('shtab' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"
