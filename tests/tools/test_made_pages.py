"""What tools write from the declared options is what the program has."""

import pytest
from tooling import tool


@pytest.mark.parametrize(
    ("name", "made", "file", "part"),
    [
        ("make_stub", "stub", "STUB", 'missing: str = "refuse",'),
        ("make_option_tables", "page", "PAGE", "| `--seed S` | `0` |"),
    ],
)
def test_what_is_written_is_what_is_declared(name, made, file, part):
    """Otherwise run the tool again."""
    module = tool(name)
    text = getattr(module, made)()
    assert part in text
    assert getattr(module, file).read_text() == text
