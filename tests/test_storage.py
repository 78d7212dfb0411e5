"""Atomic writes: whole or not at all, nothing left over, and a sentence for every way to fail."""

import errno
import json
import os
import stat

import numpy as np
import pytest

from extbnsl import storage
from extbnsl.errors import BudgetError, InputError


def test_write_then_replace(tmp_path):
    path = tmp_path / "out.json"
    storage.write_atomically(path, b"one")
    storage.write_atomically(str(path), b"two")
    assert path.read_bytes() == b"two"
    assert os.listdir(tmp_path) == ["out.json"]


def test_the_umask_decides_who_may_read(tmp_path):
    previous = os.umask(0o022)
    try:
        storage.write_atomically(tmp_path / "out", b"")
    finally:
        os.umask(previous)
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o644


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(InputError, match=r"no.folder.*create it"):
        storage.write_atomically(tmp_path / "no folder" / "out", b"")


def test_a_file_in_place_of_the_folder(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="there is no folder"):
        storage.write_atomically(tmp_path / "file" / "out", b"")


def test_a_folder_or_device_is_not_replaced(tmp_path):
    for path in (tmp_path, "/dev/null"):
        with pytest.raises(InputError, match="not a regular file"):
            storage.write_atomically(path, b"")


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
def test_a_failing_call_keeps_the_old_file_and_leaves_nothing(tmp_path, monkeypatch, call, number, failure, words):
    path = tmp_path / "out"
    path.write_bytes(b"old")

    def fail(*_, **__):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(failure, match=words) as caught:
        storage.write_atomically(path, b"new")
    monkeypatch.undo()
    assert str(path) in str(caught.value)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["out"]


def test_folders_that_cannot_be_synchronised_are_fine(tmp_path, monkeypatch):
    fsync = os.fsync

    def refuse_folders(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", refuse_folders)
    storage.write_atomically(tmp_path / "out", b"data")
    assert (tmp_path / "out").read_bytes() == b"data"


def test_checksum_is_sha256():
    assert storage.checksum(b"abc").startswith("ba7816bf8f01cfea414140de5dae2223")


def test_json_is_strict_and_takes_numpy():
    value = {
        "a": np.float64(0.1),
        2: (np.int64(3), float("inf")),
        "n": np.array([1.0, np.nan]),
        "é": [True, None],
    }
    text = storage.json_text(value)
    assert json.loads(text) == {"a": 0.1, "2": [3, None], "n": [1.0, None], "é": [True, None]}
    assert "é" in text
    assert "Infinity" not in text
