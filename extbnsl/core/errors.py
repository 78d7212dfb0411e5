"""Named failures, each with the exit code that the command line ends with.

A message is one sentence for the person at the keyboard: it names the file, row, column or option and
says what to do about it.
"""

from collections.abc import Sequence
from typing import Any

from extbnsl.core.sentences import Mention, Sentence


class ExtbnslError(Exception):
    """A failure that extbnsl foresaw; `exit_code` is what the command line returns for it.

    Parameters
    ----------
    *what : str or Mention
        The parts of what is wrong, which is all of the sentence unless there is advice.
    option : str
        The option that is wrong, which then heads the sentence.
    names : sequence of str
        The columns or variables that it is about.
    value : object
        What cannot be used.
    row : int, optional
        The row of the data that it is about, from 1.
    advice : sequence of str or Mention
        The parts of what to do about it, without the point that ends the sentence.

    Attributes
    ----------
    sentence : Sentence
        All of it, as the command line words it; `sentence.in_python()` names arguments of `learn` for options.
    what : Sentence
        What is wrong, without the option before it and the advice behind it.
    """

    exit_code = 40

    def __init__(
        self,
        *what: str | Mention,
        option: str = "",
        names: Sequence[str] = (),
        value: Any = None,
        row: int | None = None,
        advice: Sequence[str | Mention] = (),
    ) -> None:
        self.what, self.advice = Sentence(*what), tuple(advice)
        self.option, self.names, self.value, self.row = option, tuple(names), value, row
        head = (Mention(option), ": ") if option else ()
        self.sentence = Sentence(*head, self.what, *((": ", *advice, ".") if advice else ()))
        super().__init__(self.sentence)

    def tell_in_python(self) -> None:
        """Let it name arguments where it names options."""
        self.args = (self.sentence.in_python(),)


def _sentence_alone(error: ExtbnslError) -> list[str]:
    """What IPython and notebooks show of an error (`_render_traceback_` of an exception): its sentence says all, and
    the lines of the program that found it help nobody."""
    return [f"{type(error).__name__}: {error}"]


class InputError(ExtbnslError):
    """Data, score files, options or arguments that cannot be used (exit code 30)."""

    exit_code = 30
    _render_traceback_ = _sentence_alone


class BudgetError(ExtbnslError):
    """Memory, disk or time ran out before there was an incumbent (exit code 20)."""

    exit_code = 20
    _render_traceback_ = _sentence_alone


class RunDirectoryError(ExtbnslError):
    """A run directory that is corrupt, locked, or belongs to another problem (exit code 31)."""

    exit_code = 31
    _render_traceback_ = _sentence_alone


class ProgramError(ExtbnslError):
    """A program of somebody else that failed, or gave what is no network (exit code 32)."""

    exit_code = 32
    _render_traceback_ = _sentence_alone


class VerificationError(ExtbnslError):
    """A network that is not what it is claimed to be: a fault of extbnsl itself (exit code 40)."""

    exit_code = 40
