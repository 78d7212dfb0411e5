"""Options in sentences that advise: so that they can be copied to the shell, and as `learn` names them.

In a sentence an option is followed by a value in single quotes, by one of RULE_WORDS, or by no value.
"""

import contextlib
import json
import re
import shlex
from collections.abc import Iterator

from extbnsl.core.errors import InputError
from extbnsl.data.column import NAMES_SHOWN

RULE_WORDS = r"(?:refuse|drop|state|mean|paper|(?:quantile|width):\w+)\b"  # values that need no quotes
_QUOTED = r"""'[^']*'(?:"'"'[^']*')*"""  # as `option` does it
_OPTION = re.compile(rf"--([a-z]+(?:-[a-z]+)*)(?:[ =]({_QUOTED}|{RULE_WORDS}))?")
_CHOICE = re.compile(r""",? (?:such as )?with (?:drop|columns)(?:="(?:[^"\\]|\\.)*"|(?=[.,]))""")


def option(name: str, *texts: str) -> str:
    """The option with these texts, such as names of columns, as it is typed in a shell: --drop 'age at entry'.

    Without them if they are none, or too many for a sentence.
    """
    if not 0 < len(texts) <= NAMES_SHOWN:
        return f"--{name}"
    value = ",".join(map(_field, texts)).replace("'", "'\"'\"'")
    return f"--{name}{'=' if value.startswith('-') else ' '}'{value}'"  # after a blank, argparse would take an option


def for_new_records(sentence: str) -> str:
    """What is wrong with records that come after the network, without options that say how to read its data."""
    what, of_row, advice = sentence.removeprefix("--columns: ").partition(" of the data")
    if advice.startswith(": "):
        return f"{what}{of_row}: leave such records out."
    reason, other_score, _ = advice.partition(": take another score")
    return f"{what}{of_row}{reason}" + (": leave such records out." if other_score else "")


@contextlib.contextmanager
def advice_for_new_records() -> Iterator[None]:
    """Let an InputError say what helps where the columns and the rules are given."""
    try:
        yield
    except InputError as error:
        raise InputError(for_new_records(str(error))) from error


def in_python(sentence: str) -> str:
    """The sentence with options as arguments of `learn`: drop="age at entry", or the bare name without a value."""
    return _OPTION.sub(_argument, sentence)


def without_choice(sentence: str) -> str:
    """The sentence of `in_python` without the arguments that choose columns, for what has none: 'leave it out with
    drop="a"' is 'leave it out'."""
    return _CHOICE.sub("", sentence)


def _field(text: str) -> str:
    """The text as it is among texts with commas between them; argparse drops a bare `--`."""
    quoted = "," in text or '"' in text or text == "--"
    return '"' + text.replace('"', '""') + '"' if quoted else text


def _argument(found: re.Match[str]) -> str:
    name = found[1].replace("-", "_")
    return name if found[2] is None else f"{name}={json.dumps(shlex.split(found[2])[0], ensure_ascii=False)}"
