"""Functions take few things: what belongs together travels as one value."""

import ast
from pathlib import Path

import pytest

import extbnsl

PACKAGE = Path(extbnsl.__file__).parent
MOST = 8


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_function_has_many_parameters(path):
    """But keywords that are made of declared options: those stand for themselves."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef):
            names = [own.arg for own in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
            assert len([name for name in names if name not in ("self", "cls")]) <= MOST, node.name
