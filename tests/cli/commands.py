"""Running commands in the process of a test, and the data they work on."""

import os

import numpy as np

from extbnsl.cli import main

ROWS = 60


def a_table():
    """Four variables: b follows a, d follows b and c."""
    random = np.random.default_rng(7)
    a, c, noise = random.integers(0, 2, (3, ROWS))
    b = np.where(random.random(ROWS) < 0.9, a, 1 - a)
    return np.column_stack([a, b, c, (b + c + (noise & a & c)) % 3])


def run(capsys, *arguments):
    """Exit code, standard output and standard error of a command."""
    try:
        code = main([str(argument) for argument in arguments])
    except SystemExit as end:
        code = end.code
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def fails(capsys, *arguments, code=30):
    """The one sentence on standard error of a command that must fail and write nothing."""
    before = sorted(os.listdir())
    found, out, err = run(capsys, *arguments)
    assert found == code
    assert out == ""
    assert err.endswith("\n")
    assert err.count("\n") == 1
    assert sorted(os.listdir()) == before
    return err
