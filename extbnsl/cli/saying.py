"""What a command says on standard output and standard error. Light: every command line needs it, wrong ones too."""

import contextlib
import errno
import os
import stat
import sys
from collections.abc import Iterable
from pathlib import Path

from extbnsl.core.figures import fitted

OUT_OF_MEMORY = "Out of memory; give a smaller --memory or --max-parents, or use a larger machine."


def say(text: str) -> None:
    """Print to standard output, as `say_all`, and end the line."""
    say_all((f"{text}\n",))


def say_all(texts: Iterable[str]) -> None:
    """Print texts to standard output; if nobody reads it any more, or the terminal is gone, that is no failure."""
    try:
        coding = sys.stdout.encoding or "utf-8"
        for text in texts:
            sys.stdout.write(text.encode(coding, "backslashreplace").decode(coding))  # file names need not be Unicode
        sys.stdout.flush()
    except OSError as error:
        from extbnsl.files.atomic import write_failure

        output = sys.stdout.fileno()
        gone = error.errno == errno.EPIPE or (error.errno == errno.EIO and stat.S_ISCHR(os.fstat(output).st_mode))
        os.dup2(os.open(os.devnull, os.O_WRONLY), output)  # nothing is left to fail at exit
        if not gone:
            raise write_failure(Path("standard output"), error) from error


def say_sentence(sentence: str) -> None:
    """Print a sentence, or a few, to standard output, as `fitted` to that."""
    say(fitted(sentence, sys.stdout))


def remark(sentence: str) -> None:
    """Print a sentence to standard error, as far as that can be written and as `fitted` to that."""
    with contextlib.suppress(OSError):
        print(fitted(f"extbnsl: {sentence}", sys.stderr), file=sys.stderr, flush=True)


def fail(sentence: str, code: int) -> int:
    """Say why a command fails, and return its exit code."""
    remark(sentence)
    return code


def fault(error: Exception) -> str:
    """The sentence for an error that is a fault of extbnsl itself."""
    return f"Internal error: {type(error).__name__}: {' '.join(str(error).split()) or 'no message'}."
