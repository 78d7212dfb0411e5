"""Long arrays in several files: joined again they are the same, wherever the shelf has room for them."""

import numpy as np
import pytest

from extbnsl.core.errors import BudgetError, RunDirectoryError
from extbnsl.files import arrays as arrays_module
from extbnsl.files import shelf as lists
from extbnsl.files.shelf import Shelf
from extbnsl.files.store import Store

ARRAYS = {
    "none": np.zeros((0, 3), np.uint64),
    "long": np.arange(50, dtype=np.float64),
    "wide": np.arange(24, dtype=np.uint8).reshape(8, 3),
    "last": np.arange(5),
}
LENGTHS = {name: len(array) for name, array in ARRAYS.items()} | {"last": 9}  # of which five rows are known


def written(folder):
    pieces = [{name: piece} for name, array in ARRAYS.items() for piece in lists.array_pieces(array)]
    return [arrays_module.write_arrays(folder, f"stem-{k}.h5", piece) for k, piece in enumerate(pieces)]


@pytest.mark.parametrize("memory", [0, 60, 1 << 20])
@pytest.mark.parametrize("room", [1, 24, 100, 1 << 20])
def test_arrays_of_any_size_in_pieces(tmp_path, sizes, room, memory):
    sizes(PIECE_BYTES=room)
    files = written(tmp_path)
    assert (len(files) == len(ARRAYS)) == (room == 1 << 20)
    shelf = Shelf(memory, Store(tmp_path, 1 << 20))
    again = lists.read_pieces(tmp_path, files, LENGTHS, shelf)
    assert set(again) == set(ARRAYS)
    for name, array in ARRAYS.items():
        column, rows = again[name]
        assert column.array().shape == (LENGTHS[name], *array.shape[1:])
        assert column.array().dtype == array.dtype
        assert rows == len(array)
        assert np.array_equal(column.array()[:rows], array)
    assert shelf.held <= memory
    assert shelf.held + shelf.on_disk == sum(column.array().nbytes for column, _ in again.values())
    (tmp_path / files[-1].name).write_bytes(b"")
    with pytest.raises(RunDirectoryError, match="damaged"):
        lists.read_pieces(tmp_path, files, LENGTHS, shelf)


def test_without_room_for_them(tmp_path):
    files = written(tmp_path)
    with pytest.raises(BudgetError):
        lists.read_pieces(tmp_path, files, LENGTHS, Shelf(60, Store(tmp_path, 100)))
