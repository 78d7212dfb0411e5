"""The failing disk itself: what is synchronised is never lost, the rest may be, and a killed process does no more."""

import errno
import os
import random

import pytest
from disk import Disk, Killed, contents, restore

from extbnsl.files import arrays
from extbnsl.files import atomic as atomic_module

SEEDS = range(60)


def found(disk):
    """All that power losses leave in the root of the disk, as a set of ((name, content), ...)."""
    states = (disk.after_power_loss(random.Random(seed)) for seed in SEEDS)
    return {tuple(sorted((str(p.relative_to(disk.root)), data) for p, data in s.items())) for s in states}


def put(path, data, synchronised):
    """Write a file with the calls that storage makes."""
    with arrays.open(path, "wb") as file:
        file.write(data)
        if synchronised:
            os.fsync(file.fileno())


def synchronise_folder(folder):
    descriptor = os.open(folder, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def test_a_file_that_was_not_synchronised_may_be_there_in_part(tmp_path):
    disk = Disk(tmp_path)
    with disk.watch():
        put(tmp_path / "f", b"abc", synchronised=False)
    states = found(disk)
    assert {(), (("f", b""),), (("f", b"abc"),), (("f", b"a\0\0"),)} <= states
    assert any(state and len(state[0][1]) == 3 and state[0][1][:1] == b"a" != state[0][1][1:2] for state in states)


def test_a_file_has_a_name_for_sure_only_when_its_folder_is_synchronised(tmp_path):
    disk = Disk(tmp_path)
    with disk.watch():
        put(tmp_path / "f", b"abc", synchronised=True)
    assert found(disk) == {(), (("f", b"abc"),)}
    with disk.watch():
        synchronise_folder(tmp_path)
    assert found(disk) == {(("f", b"abc"),)}


def test_a_file_that_is_overwritten_may_be_the_old_one_or_damaged(tmp_path):
    (tmp_path / "f").write_bytes(b"old")
    disk = Disk(tmp_path)
    with disk.watch():
        put(tmp_path / "f", b"new", synchronised=False)
    assert {(("f", b"old"),), (("f", b"new"),), (("f", b""),)} <= found(disk)


def test_a_rename_or_removal_happens_for_sure_only_when_its_folder_is_synchronised(tmp_path):
    for name in ("source", "target", "gone"):
        (tmp_path / name).write_bytes(name.encode())
    disk = Disk(tmp_path)
    with disk.watch():
        os.replace(tmp_path / "source", tmp_path / "target")
        (tmp_path / "gone").unlink()
    states = [dict(state) for state in found(disk)]
    assert {state.get("target") for state in states} == {b"source", b"target"}
    assert {state.get("gone") for state in states} == {b"gone", None}
    assert {state.get("source") for state in states} == {b"source", None}
    with disk.watch():
        synchronise_folder(tmp_path)
    assert found(disk) == {(("target", b"source"),)}


def test_a_new_folder_may_be_lost_with_all_that_is_in_it(tmp_path):
    disk = Disk(tmp_path)
    with disk.watch():
        (tmp_path / "new").mkdir()
        put(tmp_path / "new" / "f", b"abc", synchronised=True)
        synchronise_folder(tmp_path / "new")
    assert found(disk) == {(), (("new", None), ("new/f", b"abc"))}


def test_what_write_atomically_has_written_is_never_lost(tmp_path):
    disk = Disk(tmp_path)
    with disk.watch():
        atomic_module.write_atomically(tmp_path / "f", b"abc")
    assert {dict(state)["f"] for state in found(disk)} == {b"abc"}


def test_after_a_power_loss_the_folder_holds_what_was_found(tmp_path):
    disk = Disk(tmp_path)
    with disk.watch():
        put(tmp_path / "f", b"abc", synchronised=True)
    lost = next(seed for seed in SEEDS if not disk.after_power_loss(random.Random(seed)))
    disk.lose_power(random.Random(lost))
    assert os.listdir(tmp_path) == []
    with disk.watch():
        put(tmp_path / "g", b"abc", synchronised=True)
    assert found(disk) == {(), (("g", b"abc"),)}


@pytest.mark.parametrize(
    ("call", "after", "left"),
    [
        (1, False, {}),
        (1, True, {"temporary": b""}),
        (2, False, {"temporary": b"12"}),
        (2, True, {"temporary": b"1234"}),
        (4, False, {"temporary": b"1234"}),
        (4, True, {"f": b"1234"}),
    ],
)
def test_a_killed_process_does_no_more(tmp_path, call, after, left):
    with pytest.raises(Killed), Disk(tmp_path).crash_at(call, after):
        atomic_module.write_atomically(tmp_path / "f", b"1234")  # which removes its temporary file when it fails
    found = {"f" if path.name == "f" else "temporary": data for path, data in contents(tmp_path).items()}
    assert found == left


def test_a_full_disk_takes_half_of_a_write_and_goes_on_then(tmp_path):
    disk = Disk(tmp_path)
    with disk.fail_write(2, errno.ENOSPC):
        with pytest.raises(OSError, match="No space left"):
            put(tmp_path / "f", b"abcd", synchronised=False)
        assert (tmp_path / "f").read_bytes() == b"ab"
        put(tmp_path / "g", b"abcd", synchronised=False)
    assert disk.calls == 4
    assert (tmp_path / "g").read_bytes() == b"abcd"


def test_what_is_written_in_other_ways_is_noticed(tmp_path):
    with pytest.raises(AssertionError, match="not watched"), Disk(tmp_path).watch():
        (tmp_path / "f").write_bytes(b"abc")


def test_restore_brings_back_contents(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "f").write_bytes(b"abc")
    before = contents(tmp_path)
    (tmp_path / "a" / "f").write_bytes(b"")
    (tmp_path / "g").touch()
    restore(tmp_path, before)
    assert contents(tmp_path) == before
