"""Named failures, each with the exit code that the command line ends with.

A message is one sentence for the person at the keyboard: it names the file, row, column or option and
says what to do about it.
"""


class ExtbnslError(Exception):
    """A failure that extbnsl foresaw; `exit_code` is what the command line returns for it."""

    exit_code = 40


class InputError(ExtbnslError):
    """Data, score files, options or arguments that cannot be used (exit code 30)."""

    exit_code = 30


class BudgetError(ExtbnslError):
    """Memory, disk or time ran out before there was an incumbent (exit code 20)."""

    exit_code = 20


class RunDirectoryError(ExtbnslError):
    """A run directory that is corrupt, locked, or belongs to another problem (exit code 31)."""

    exit_code = 31


class ProgramError(ExtbnslError):
    """A program of somebody else that failed, or gave what is no network (exit code 32)."""

    exit_code = 32


class VerificationError(ExtbnslError):
    """A network that is not what it is claimed to be: a fault of extbnsl itself (exit code 40)."""

    exit_code = 40
