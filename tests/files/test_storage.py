"""Writes that are whole or not at all, the files of a run, and a sentence for every way to fail."""

import errno
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
from disk import Disk
from patching import called_by, failing

from extbnsl.core.codec import json_text
from extbnsl.core.errors import BudgetError, InputError, RunDirectoryError
from extbnsl.files import arrays as arrays_module
from extbnsl.files import atomic as atomic_module
from extbnsl.files.arrays import StoredFile
from extbnsl.files.store import Store


def test_write_then_replace(tmp_path):
    path = tmp_path / "out.json"
    atomic_module.write_atomically(path, b"one")
    atomic_module.write_atomically(str(path), b"two")
    assert path.read_bytes() == b"two"
    assert os.listdir(tmp_path) == ["out.json"]


def test_the_umask_decides_who_may_read(tmp_path):
    previous = os.umask(0o022)
    try:
        atomic_module.write_atomically(tmp_path / "out", b"")
    finally:
        os.umask(previous)
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o644


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(InputError, match=r"no.folder.*create it"):
        atomic_module.write_atomically(tmp_path / "no folder" / "out", b"")


def test_a_file_in_place_of_the_folder(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="there is no folder"):
        atomic_module.write_atomically(tmp_path / "file" / "out", b"")


def test_a_folder_or_device_is_not_replaced(tmp_path):
    for path in (tmp_path, "/dev/null"):
        with pytest.raises(InputError, match="not a regular file"):
            atomic_module.write_atomically(path, b"")


@pytest.mark.parametrize("call", ["open", "fsync", "replace"])
@pytest.mark.parametrize(
    ("number", "failure", "words"),
    [
        (errno.ENOSPC, BudgetError, "full"),
        (errno.EDQUOT, BudgetError, "full"),
        (errno.EACCES, InputError, "no permission"),
        (errno.EROFS, InputError, "no permission"),
        (errno.EIO, InputError, "Input/output error"),
    ],
)
def test_a_failing_call_keeps_the_old_file_and_leaves_nothing(tmp_path, call, number, failure, words):
    path = tmp_path / "out"
    path.write_bytes(b"old")
    with failing(f"os.{call}", number), pytest.raises(failure, match=words) as caught:
        atomic_module.write_atomically(path, b"new")
    assert str(path) in str(caught.value)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["out"]


def test_folders_that_cannot_be_synchronised_are_fine(tmp_path, failing):
    failing("os.fsync", errno.EINVAL, lambda descriptor: stat.S_ISDIR(os.fstat(descriptor).st_mode))
    atomic_module.write_atomically(tmp_path / "out", b"data")
    assert (tmp_path / "out").read_bytes() == b"data"


def test_checksum_is_sha256():
    assert atomic_module.checksum(b"abc").startswith("ba7816bf8f01cfea414140de5dae2223")


def test_json_is_strict_and_takes_numpy():
    value = {
        "a": np.float64(0.1),
        2: (np.int64(3), float("inf")),
        "n": np.array([1.0, np.nan]),
        "é": [True, None],
    }
    text = json_text(value)
    assert json.loads(text) == {"a": 0.1, "2": [3, None], "n": [1.0, None], "é": [True, None]}
    assert "é" in text
    assert "Infinity" not in text


ARRAYS = {
    "varset": np.arange(200_000, dtype=np.uint64),
    "words": np.ones((70_000, 3), dtype=np.uint64),
    "leaf": np.zeros(1, dtype=np.uint8),
    "cost": np.array([0.1, -0.0, np.inf, np.nan]),
    "none": np.empty((0, 3), dtype=np.uint64),
}


def test_arrays_come_back_to_the_bit(tmp_path):
    file = arrays_module.write_arrays(tmp_path, "layers/0.h5", ARRAYS)
    assert (tmp_path / "layers" / "0.h5").stat().st_size == file.bytes
    read = arrays_module.read_arrays(tmp_path, file)
    assert read.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert (read[name].dtype, read[name].shape, read[name].tobytes()) == (array.dtype, array.shape, array.tobytes())


def test_the_same_arrays_make_the_same_file(tmp_path):
    first, second = (arrays_module.write_arrays(tmp_path, name, ARRAYS) for name in ("a.h5", "b.h5"))
    assert first.checksum == second.checksum == atomic_module.checksum((tmp_path / "a.h5").read_bytes())


def test_arrays_are_read_in_slices(tmp_path):
    file = arrays_module.write_arrays(tmp_path, "a.h5", ARRAYS)
    with arrays_module.open_arrays(tmp_path, file) as arrays:
        assert arrays["varset"][65_530:65_540].tolist() == list(range(65_530, 65_540))
        for rows in (slice(3, 5), slice(16_380, 16_390), slice(0, 0), slice(9, 2), slice(20, None)):
            for name, array in ARRAYS.items():
                np.testing.assert_array_equal(arrays[name][rows], array[rows])


def damaged(path, old, new):
    """Replace a part of the content, in place."""
    data = path.read_bytes()
    with open(path, "r+b") as file:
        file.seek(data.index(old))
        file.write(new)


@pytest.fixture
def long_file(tmp_path):
    return arrays_module.write_arrays(tmp_path, "a.h5", {"varset": np.arange(200_000, dtype=np.uint64)})


def test_a_slice_that_is_damaged_is_noticed_when_it_is_read(tmp_path, long_file):
    def read():
        with arrays_module.open_arrays(tmp_path, long_file) as arrays:
            assert arrays["varset"][:1].tolist() == [0]
            damaged(tmp_path / "a.h5", np.uint64(100_000).tobytes(), np.uint64(100_001).tobytes())
            arrays["varset"][100_000:100_001]

    with pytest.raises(RunDirectoryError, match="damaged"):
        read()


def test_damage_that_no_checksum_of_a_chunk_shows_is_noticed(tmp_path, long_file):
    """Of zeros HDF5's own checksum is zero as well."""
    data = bytearray((tmp_path / "a.h5").read_bytes())
    data[len(data) // 2 :] = bytes(len(data) - len(data) // 2)
    (tmp_path / "a.h5").write_bytes(data)
    with h5py.File(tmp_path / "a.h5") as file:
        assert not file["varset"][-10:].any()
    with pytest.raises(RunDirectoryError, match="damaged"), arrays_module.open_arrays(tmp_path, long_file):
        raise AssertionError("it is not opened")


def test_a_file_that_another_one_has_replaced_is_noticed(tmp_path, long_file):
    other = arrays_module.write_arrays(tmp_path, "b.h5", {"costs": np.zeros(3)})
    with pytest.raises(RunDirectoryError, match="damaged"), arrays_module.open_arrays(tmp_path, long_file):
        os.replace(tmp_path / "b.h5", tmp_path / "a.h5")
    with pytest.raises(RunDirectoryError, match="damaged"), arrays_module.open_arrays(tmp_path, long_file) as arrays:
        arrays["varset"]
    with pytest.raises(RunDirectoryError, match="cannot be read"), arrays_module.open_arrays(tmp_path, other):
        pass


def test_a_file_that_is_only_touched_is_read_once_more_and_no_oftener(tmp_path, long_file, calls):
    os.utime(tmp_path / "a.h5")
    checked = calls("files.arrays", "check_file")
    for _ in range(3):
        with arrays_module.open_arrays(tmp_path, long_file) as arrays:
            assert arrays["varset"][:2].tolist() == [0, 1]
    assert len(checked) == 1


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_what_is_no_file_is_refused_at_once(tmp_path, long_file, make):
    (tmp_path / "a.h5").unlink()
    make(tmp_path / "a.h5")
    for refuse in (arrays_module.check_file, arrays_module.read_arrays):
        with pytest.raises(RunDirectoryError, match=r"a\.h5 is a (pipe|folder|link), and a run has a file there"):
            refuse(tmp_path, long_file)
    with pytest.raises(RunDirectoryError, match="a run has a file there"):
        arrays_module.write_arrays(tmp_path, "a.h5", ARRAYS)


def test_a_file_of_another_length_is_not_read(tmp_path, long_file):
    os.truncate(tmp_path / "a.h5", 1 << 40)
    with pytest.raises(RunDirectoryError, match="damaged"):
        arrays_module.check_file(tmp_path, long_file)


@pytest.mark.parametrize("damage", ["missing", "shorter", "empty", "another"])
def test_a_file_that_is_not_what_was_written_is_refused(tmp_path, damage):
    file = arrays_module.write_arrays(tmp_path, "a.h5", ARRAYS)
    path = tmp_path / "a.h5"
    if damage == "missing":
        path.unlink()
    else:
        good = path.read_bytes()
        path.write_bytes({"shorter": good[:-1], "empty": b"", "another": bytes(len(good))}[damage])
    for refuse in (arrays_module.check_file, arrays_module.read_arrays):
        with pytest.raises(RunDirectoryError, match=rf"{path}.*start the run again"):
            refuse(tmp_path, file)


@pytest.mark.parametrize(
    ("number", "failure"), [(errno.ENOSPC, BudgetError), (errno.EROFS, InputError), (errno.EIO, InputError)]
)
@pytest.mark.parametrize("kind", [stat.S_ISREG, stat.S_ISDIR])
def test_what_cannot_be_synchronised_is_one_sentence(tmp_path, failing, kind, number, failure):
    (tmp_path / "a.h5").touch()
    failing("os.fsync", number, lambda descriptor: kind(os.fstat(descriptor).st_mode))
    for synchronise in (atomic_module.synchronise, Store(tmp_path.parent, 0).synchronise):
        files = (
            [tmp_path / "a.h5"] if synchronise is atomic_module.synchronise else [stored(f"{tmp_path.name}/a.h5", 0)]
        )
        with pytest.raises(failure, match=str(tmp_path)):
            synchronise(files)


def test_arrays_for_which_there_is_no_folder(tmp_path):
    with pytest.raises(InputError, match="there is no folder"):
        arrays_module.write_arrays(tmp_path / "none", "layers/0.h5", ARRAYS)


@pytest.mark.parametrize("call", [1, 2, 3])
def test_arrays_that_find_no_room_leave_nothing(tmp_path, call):
    sentence = rf"{tmp_path}/layers/0\.h5 cannot be written: the disk or quota is full"
    with Disk(tmp_path).fail_write(call, errno.ENOSPC), pytest.raises(BudgetError, match=sentence):
        arrays_module.write_arrays(tmp_path, "layers/0.h5", ARRAYS)
    assert not (tmp_path / "layers" / "0.h5").exists()


EXHAUSTED = """
import os, resource, sys
from pathlib import Path
import numpy as np
from extbnsl.files.arrays import load_hdf5, read_arrays, write_arrays

def in_a_process_without_memory(act):
    child = os.fork()
    if child == 0:
        most = (int(Path("/proc/self/statm").read_text().split()[0]) << 12) + (1 << 23)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        held = []
        for size in (1 << 16, 1 << 14, 1 << 12, 1 << 11, 1 << 10):
            try:
                while True:
                    held.append(bytearray(size))
            except MemoryError:
                pass
        try:
            act()
        except MemoryError:
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

folder = Path(sys.argv[1])
load_hdf5()
arrays = {"a": np.arange(2000.0), "b": np.zeros((3000, 5), np.uint8)}
file = write_arrays(folder, "kept", arrays)
print(in_a_process_without_memory(lambda: write_arrays(folder, "new", arrays)))
print(in_a_process_without_memory(lambda: read_arrays(folder, file)))
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="how much address space is in use cannot be told")
def test_where_memory_ends_hdf5_does_not_end_the_process(tmp_path):
    command = [sys.executable, "-c", EXHAUSTED, str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ended.stdout.split() == ["1", "1"]


def stored(name, size):
    return StoredFile(name, size, "")


def test_a_store_counts_what_it_has(tmp_path):
    store = Store(tmp_path, 100)
    store.add([stored("a", 10), stored("b", 5)])
    store.add([stored("a", 10)])
    assert store.used == 15
    store.keep_only([stored("b", 5)])
    assert store.used == 5


@pytest.fixture
def waited(until_it_ends):
    """The files that a store waits for until they are on the disk, where nobody waits in fact."""
    files = []
    until_it_ends(called_by)("files.store", "synchronise", lambda real: files.extend)
    return files


def test_a_file_written_anew_takes_the_place_of_the_former(tmp_path, waited):
    for name in "ab":
        (tmp_path / name).touch()
    store = Store(tmp_path, 100)
    store.add([stored("a", 10), stored("b", 5)], synchronised=True)
    store.add([stored("a", 3)])
    assert store.used == 8
    store.synchronise([stored("a", 3), stored("b", 5)])
    assert waited == [tmp_path / "a"]


def test_a_store_writes_what_it_has_room_for_and_promised_room_is_taken(tmp_path, monkeypatch):
    size = arrays_module.write_arrays(tmp_path, "before.h5", ARRAYS).bytes
    store = Store(tmp_path, 3 * size)
    store.promise(size)
    assert store.free == 2 * size
    store.write("a.h5", ARRAYS)
    store.write("b.h5", ARRAYS)
    assert (store.used, store.free) == (2 * size, 0)
    monkeypatch.setattr(arrays_module, "open", None, raising=False)  # nothing is opened
    with pytest.raises(BudgetError, match="no room left within the disk budget; grant more"):
        store.write("c.h5", ARRAYS)
    monkeypatch.undo()
    store.add([arrays_module.write_arrays(tmp_path, "task.h5", ARRAYS)])
    store.promise(-size)
    assert (store.used, store.free, store.peak) == (3 * size, 0, 3 * size)
    store.keep_only(store.files[1:])
    store.write("c.h5", ARRAYS)
    assert store._synchronised <= store._known.keys(), "only known files are synchronised"
    assert all(name == file.name for name, file in store._known.items()), "files by their names"
    assert 0 <= sum(file.bytes for file in store._known.values()) <= store.used <= store.peak, "nothing is uncounted"


def test_what_is_written_anew_is_to_be_synchronised_anew(tmp_path, waited):
    store = Store(tmp_path, 1 << 30)
    for _ in range(2):
        file = store.write("a.h5", ARRAYS)
        store.synchronise([file])
    assert waited == 2 * [tmp_path / "a.h5"]
    assert store.used == file.bytes


def test_a_file_that_cannot_be_written_is_not_counted(tmp_path):
    store = Store(tmp_path, 1 << 30)
    with Disk(tmp_path).fail_write(2, errno.ENOSPC), pytest.raises(BudgetError):
        store.write("a.h5", ARRAYS)
    assert store.used == 0


def test_a_store_removes_what_it_knows_and_nothing_else(tmp_path):
    for name in ("kept", "gone", "unknown"):
        (tmp_path / name).touch()
    store = Store(tmp_path, 100)
    store.add([stored("kept", 1), stored("gone", 2), stored("gone already", 4)])
    store.keep_only([stored("kept", 1)])
    assert sorted(os.listdir(tmp_path)) == ["kept", "unknown"]
    assert store.used == 1


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM, errno.EROFS, errno.EIO, errno.ENOSPC])
def test_what_cannot_be_removed_stays_counted_and_is_tried_again(tmp_path, number):
    (tmp_path / "a").touch()
    store = Store(tmp_path, 100)
    store.add([stored("a", 10)])
    with failing("os.unlink", number):
        store.keep_only([])
    assert store.used == 10
    store.keep_only([])
    assert store.used == 0
    assert os.listdir(tmp_path) == []


def test_a_file_is_hardly_larger_than_its_arrays(tmp_path):
    for rows in (1, 16_384, 16_385, 100_000):
        file = arrays_module.write_arrays(tmp_path, "some.h5", {"g": np.zeros(rows), "leaf": np.zeros(rows, np.uint8)})
        assert file.bytes == (tmp_path / "some.h5").stat().st_size
        assert file.bytes <= 9.01 * rows + 8192


def test_compressed_arrays_come_back_to_the_bit_and_take_less(tmp_path):
    arrays_module.load_compression()
    arrays = ARRAYS | {"noise": np.random.default_rng(0).integers(0, 2**62, 1000)}
    plain, compressed = (arrays_module.write_arrays(tmp_path, f"{c}.h5", arrays, c) for c in (False, True))
    assert compressed.bytes < plain.bytes / 2
    for name, array in arrays_module.read_arrays(tmp_path, compressed).items():
        assert (array.dtype, array.shape, array.tobytes()) == (
            arrays[name].dtype,
            arrays[name].shape,
            arrays[name].tobytes(),
        )


def test_compression_without_its_library_is_one_sentence(uninstalled):
    uninstalled("hdf5plugin")
    with pytest.raises(InputError, match=r"needs hdf5plugin: pip install 'extbnsl\[compress\]'"):
        arrays_module.load_compression()


def test_content_in_pieces_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "out"
    atomic_module.write_atomically(path, (bytes([i]) for i in range(3)))
    assert path.read_bytes() == b"\0\1\2"

    def broken():
        yield b"new"
        raise MemoryError

    with pytest.raises(MemoryError):
        atomic_module.write_atomically(path, broken())
    assert path.read_bytes() == b"\0\1\2"
    assert os.listdir(tmp_path) == ["out"]
