"""Reading local scores keeps its memory, hears the time limit, and does not depend on how the file is cut up."""

import pytest
from large import MEBIBYTE, most_memory_of, packed

from extbnsl.core.errors import BudgetError, InputError
from extbnsl.data import Reading
from extbnsl.data.text import AMPLE
from extbnsl.formats.score_reader import read_scores
from extbnsl.machine.budgets import Deadline

GOOD = b"2\na 2\n-1.5 0\n-1 1 b\nb 1\n-2 0\n"
ROWS = b"".join(b"-%d 3 b c d\n" % i for i in range(50_000))


@pytest.mark.parametrize(
    ("parts", "error", "said"),
    [
        ([(b" " * MEBIBYTE, 200)], InputError, "line 1: more than 4.0MiB without the end of a row"),
        ([(b"\n" * MEBIBYTE, 200)], InputError, "too many blank lines, one after the other, from line 1 on"),
        ([(GOOD, 1), (b"\n" * MEBIBYTE, 200)], InputError, "too many blank lines"),
        ([(b"VAR a\n-1\n", 1), (b" \n" * MEBIBYTE, 200)], InputError, "too many blank lines"),
        ([(GOOD[:-5] + b"-2", 1), (b"9" * MEBIBYTE, 200)], InputError, "line 6: more than 4.0MiB"),
        (
            [(GOOD[:-5] + b"-2", 1), (b"9" * 9000 + b" 0\n", 1)],
            InputError,
            "line 6: the score '-299.*' is not a number",
        ),
        ([(b"2\na 1\n-1 1 " + b"b" * 9000 + b"\n", 1)], InputError, "line 3: the name 'bb.*' is too long"),
        ([(b"2\n" + b"a" * 9000 + b" 1\n-1 0\n", 1)], InputError, "line 2: the name 'aa.*' is too long"),
        pytest.param(
            [(b"5\na 99999999999\n", 1), (ROWS, 200)],
            BudgetError,
            r"parent sets of 1 variables read so far take 16\..MiB",
            marks=pytest.mark.slow,
        ),
        ([(b"5\na 1\n-1 3000000", 1), (b" b" * 100_000, 15)], InputError, "line 3: the number of parents is given as"),
        pytest.param(
            [(b"2\na 99999999999\n" + b"".join(b"0 1 b%d\n" % i for i in range(90_000)), 1)],
            BudgetError,
            "memory",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_score_files_that_unpack_to_much_are_refused_early(tmp_path, parts, error, said):
    path, caught = packed(tmp_path, *parts, name="data.jkl.gz"), []

    def read():
        with pytest.raises(error, match=said) as failure:
            read_scores(path, Reading(memory=16 * MEBIBYTE))
        caught.append(str(failure.value))

    assert most_memory_of(read) < 96 * MEBIBYTE
    assert str(path) in caught[0]
    assert "\n" not in caught[0]


def test_the_time_limit_is_heard_while_scores_are_read(tmp_path):
    path = packed(tmp_path, (b"5\na 99999999999\n", 1), (ROWS, 20), name="data.jkl.gz")
    with pytest.raises(BudgetError, match=r"time limit passed while .*data\.jkl\.gz was read"):
        read_scores(path, Reading(deadline=Deadline.after(0.1)))


def test_blocks_and_chunks_do_not_matter(tmp_path, sizes):
    lines = [f"{-i} {i % 2}{' v1' * (i % 2)}" for i in range(2)]
    text = "\n".join(
        ["40", *(line for v in range(40) for line in ([f"v{v} 1", "-3 0"] if v == 1 else [f"v{v} 2", *lines]))]
    )
    path = tmp_path / "a.jkl"
    path.write_text(text)
    whole = read_scores(path)
    assert whole.families == 79
    for block, chunk, characters in ((5, 1, 1), (64, 2, 10), (1000, 7, 30)):
        sizes({"text.BLOCK": block, "score_reader.CHUNK": chunk, "CHUNK_CHARACTERS": characters})
        assert read_scores(path, Reading(memory=AMPLE - 1)).fingerprint == whole.fingerprint
