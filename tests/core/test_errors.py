"""What notebooks show of errors: of those that users can mend a sentence, of faults of the program the whole."""

import pytest

import extbnsl
from extbnsl.core.errors import (
    BudgetError,
    ExtbnslError,
    InputError,
    ProgramError,
    RunDirectoryError,
    VerificationError,
)


@pytest.mark.parametrize("kind", [InputError, BudgetError, RunDirectoryError, ProgramError])
def test_a_notebook_shows_the_sentence_alone(kind):
    """IPython asks an exception for `_render_traceback_`, and shows these lines."""
    assert kind("The sky is down: wait.")._render_traceback_() == [f"{kind.__name__}: The sky is down: wait."]


@pytest.mark.parametrize("kind", [ExtbnslError, VerificationError])
def test_a_fault_of_the_program_keeps_its_traceback(kind):
    assert not hasattr(kind("It is wrong."), "_render_traceback_")


def test_a_real_notebook_shows_no_line_of_the_program(capsys):
    shell = pytest.importorskip("IPython.core.interactiveshell", reason="IPython is not installed").InteractiveShell()
    shell.user_ns["extbnsl"] = extbnsl
    shell.run_cell("extbnsl.learn('file.csv')")
    shown = capsys.readouterr()
    assert (shown.out + shown.err).strip().splitlines() == [
        "InputError: data: 'file.csv' is a file name; read the file first, with extbnsl.read_data."
    ]
