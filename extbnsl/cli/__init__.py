"""The command line: arguments, what is said while a command runs, and exit codes; one module per command.

Only the standard library is imported here; a command imports what it needs when it runs, so that help and
usage errors are instant.
"""

import shlex
import sys
import traceback
from collections.abc import Sequence

from extbnsl.cli.parser import command_parser
from extbnsl.cli.saying import OUT_OF_MEMORY, fail, fault
from extbnsl.core.errors import BudgetError, ExtbnslError, VerificationError
from extbnsl.machine.interrupts import KILLED, NOTHING_WRITTEN


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; `arguments` default to those of the process. Returns the exit code."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    if arguments[:1] in ([], ["help"]):
        arguments = [*arguments[1:], "--help"]
    try:
        options = command_parser().parse_args(arguments)
        options.shell_line = shlex.join(["extbnsl", *arguments])
        if options.compiles:
            from extbnsl.machine.budgets import check_address_space

            check_address_space()
        return int(options.command(options))
    except VerificationError as error:
        return fail(f"{error} This is a fault of extbnsl: please report it.", error.exit_code)
    except ExtbnslError as error:
        return fail(str(error), error.exit_code)
    except KeyboardInterrupt as error:
        return fail(str(error) or NOTHING_WRITTEN, KILLED)
    except MemoryError:
        return fail(OUT_OF_MEMORY, BudgetError.exit_code)
    except Exception as error:
        traceback.print_exc()
        return fail(f"{fault(error)} Please report it with the lines above.", ExtbnslError.exit_code)
