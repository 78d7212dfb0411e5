"""Write extbnsl/__init__.pyi: the signatures of what the package exports, for editors and type checkers, which do not
run the program and so do not see the keywords that follow from declared options.

    python tools/make_stub.py
"""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import extbnsl

STUB = Path(extbnsl.__file__).with_suffix(".pyi")
HEAD = '''"""What the package exports. tools/make_stub.py writes this from the declared options: change those."""

import collections.abc
import os
import typing
from typing import Any
'''
LEARNER = "BayesianNetworkLearner"
OWN = re.compile(r"\bextbnsl\.[\w.]*\.(?=[A-Z])")  # where a class is at home
MENTIONED = {
    "data": "Dataset, Reading",
    "networks.families": "NetworkCost",
    "results.networks": "CostedNetwork",
    "results.ranked": "KBestResult",
}


def stub() -> str:
    """The text of the stub."""
    return "".join(_parts())


def _parts() -> Iterator[str]:
    functions = [
        one for name in sorted(extbnsl.__all__) if inspect.isfunction(one := getattr(extbnsl, name)) and _is_made(one)
    ]
    yield HEAD + "\n"
    lines = [f"from extbnsl.{module} import {names}" for module, names in MENTIONED.items()]
    lines.append("from extbnsl.core.version import __version__")
    homes: dict[str, list[str]] = {}
    made = {one.__name__ for one in functions}
    for name, (module, there) in extbnsl._HOMES.items():
        if name in made:
            continue
        own = "_Learner" if name == LEARNER else name
        homes.setdefault(module, []).append(there if own == there else f"{there} as {own}")
    lines += [f"from {module} import {', '.join(names)}" for module, names in homes.items()]
    yield "\n".join(sorted(lines, key=lambda line: line.split()[1])) + "\n\n"
    yield "__all__ = [\n" + "".join(f'    "{name}",\n' for name in sorted(extbnsl.__all__)) + "]\n\n"
    for one in functions:
        yield f"def {one.__name__}(\n{_parameters(one)}) -> {_returned(one)}: ...\n"
    own = getattr(extbnsl, LEARNER).__init__
    yield f"\nclass {LEARNER}(_Learner):\n    def __init__(\n{_parameters(own, '    ')}    ) -> None: ...\n"


def _is_made(function: object) -> bool:
    return hasattr(function, "__signature__")


def _parameters(function: object, margin: str = "") -> str:
    """The parameters, one a line."""
    lines, named = [], False
    for one in inspect.signature(function).parameters.values():  # type: ignore[arg-type]
        if one.kind is inspect.Parameter.KEYWORD_ONLY and not named:
            named = True
            lines.append("*")
        lines.append(OWN.sub("", str(one).replace("'", '"')))
    return "".join(f"{margin}    {line},\n" for line in lines)


def _returned(function: object) -> str:
    found = inspect.signature(function).return_annotation  # type: ignore[arg-type]
    return found.__name__ if isinstance(found, type) else str(found).replace("'", "")


if __name__ == "__main__":
    STUB.write_text(stub())
