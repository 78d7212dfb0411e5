"""Checkpoints: what is read is what was committed, and anything else is refused with one sentence."""

import contextlib
import errno
import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import marked

import extbnsl
from extbnsl.core.claims import Claim
from extbnsl.core.errors import InputError, RunDirectoryError
from extbnsl.core.knowledge import Knowledge
from extbnsl.files import arrays as arrays_module
from extbnsl.files.arrays import read_arrays, write_arrays
from extbnsl.files.manifest import (
    FORMAT_VERSION,
    Manifest,
    Remembered,
    RunState,
    Spent,
    commit,
    read_manifest,
    recover,
)
from extbnsl.files.names import MANIFEST
from extbnsl.files.store import Store
from extbnsl.machine.workers import Stopped, Workers

STATE = RunState(
    kind="solve",
    digest="ab" * 32,
    claim=Claim("bdeu", 3, 1.0, Knowledge(required=(("a", "b"),), max_parents=(("b", 1),))),
    methods={"seed": 0, "path_extension": True, "polish": None},
    scope={},
    run=Remembered('/data/ünïcode\n".csv', {"header": None}, {"memory": 2**40}),
    upper_bound=6602.118072,
    lower_bound=-1.5e-300,
    spent=Spent({"scores": {"seconds": 0.5}}, 1.5, 2.5, 1 << 20, 1 << 10),
    standing={"order": [2, 0, 1]},
)
NOTHING = RunState("solve", "0" * 64, Claim(), {}, {}, None)
LAYER = {"varset": np.arange(5, dtype=np.uint64) << np.uint64(59), "leaf": np.arange(5, dtype=np.uint8)}
COSTS = {"cost": np.array([0.1, -0.0, np.inf])}


@pytest.fixture(scope="module")
def workers():
    with Workers(2) as pool:
        yield pool


LAYERS = [f"layers/c1-1-{size:02}-000000000000.h5" for size in range(10)]


def write_example(folder, scratch=None):
    """A run directory with two files of arrays and a manifest."""
    place = scratch or folder
    own = scratch and marked(scratch)
    files = (write_arrays(place, LAYERS[0], LAYER), write_arrays(place, "scores.h5", COSTS))
    store = Store(place, 1 << 30, scratch=own)
    store.add(files)
    manifest = Manifest(STATE, files, own)
    commit(folder, store, manifest)
    return manifest


def same(read, written):
    """Whether two files of arrays are alike to the bit."""
    one, other = ({name: (a.dtype, a.shape, a.tobytes()) for name, a in file.items()} for file in (read, written))
    return one == other


def sealed(document):
    """The bytes of a manifest, said once more: an indented JSON text that ends with its checksum."""

    def render(value):
        return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode()

    return render({**document, "checksum": hashlib.sha256(render(document)).hexdigest()})


def refusal(folder):
    """The sentence with which the manifest in a folder is refused."""
    with pytest.raises(RunDirectoryError) as caught:
        read_manifest(folder)
    assert str(folder / MANIFEST) in str(caught.value)
    return str(caught.value)


def test_what_is_read_is_what_was_committed(tmp_path, workers):
    manifest = write_example(tmp_path)
    assert read_manifest(tmp_path) == manifest
    store = recover(tmp_path, manifest, 123, workers)
    assert (store.folder, store.disk, store.used) == (tmp_path, 123, sum(file.bytes for file in manifest.files))
    assert same(read_arrays(tmp_path, manifest.files[0]), LAYER)
    assert same(read_arrays(tmp_path, manifest.files[1]), COSTS)


def test_a_commit_replaces_the_one_before_and_its_files(tmp_path, workers):
    store = recover(tmp_path, write_example(tmp_path), 1 << 30, workers)
    layer = write_arrays(tmp_path, LAYERS[1], LAYER)
    store.add([layer])
    commit(tmp_path, store, Manifest(NOTHING, (layer,), None))
    assert read_manifest(tmp_path) == Manifest(NOTHING, (layer,), None)
    assert sorted(path.name for path in tmp_path.rglob("*.h5")) == [Path(LAYERS[1]).name]
    assert store.used == layer.bytes


def test_a_path_that_is_not_unicode_survives(tmp_path):
    name = os.fsdecode(b"/data/\xff.csv")
    state = replace(NOTHING, run=Remembered(name, {}))
    commit(tmp_path, Store(tmp_path, 1), Manifest(state, (), None))
    assert read_manifest(tmp_path).state == state


def test_a_standing_may_be_any_json_and_infinity_becomes_none(tmp_path):
    standing = {"bound": float("-inf"), "seconds": np.float64(0.1)}
    commit(tmp_path, Store(tmp_path, 1), Manifest(replace(NOTHING, standing=standing), (), None))
    assert read_manifest(tmp_path).state == replace(NOTHING, standing={"bound": None, "seconds": 0.1})


def test_a_flipped_bit_of_any_byte_of_a_manifest_is_noticed(tmp_path):
    write_example(tmp_path)
    data = (tmp_path / MANIFEST).read_bytes()
    for place in range(len(data)):
        damaged = bytearray(data)
        damaged[place] ^= 1 << place % 8
        (tmp_path / MANIFEST).write_bytes(damaged)
        assert "damaged" in refusal(tmp_path)


def test_a_manifest_of_any_other_length_is_noticed(tmp_path):
    write_example(tmp_path)
    data = (tmp_path / MANIFEST).read_bytes()
    for length in range(len(data)):
        (tmp_path / MANIFEST).write_bytes(data[:length])
        assert "damaged" in refusal(tmp_path)
    for more in (b"\n", b"\0", b"{}", data):
        (tmp_path / MANIFEST).write_bytes(data + more)
        assert "damaged" in refusal(tmp_path)


@pytest.mark.parametrize(
    "text", ["null", "[]", "{}", "1e999", '{"checksum": 1}', "[" * 10**5, '{"a":' * 500 + "1" + "}" * 500, "9" * 5000]
)
def test_a_file_that_is_no_manifest_is_refused(tmp_path, text):
    (tmp_path / MANIFEST).write_text(text)
    assert "damaged or no checkpoint" in refusal(tmp_path)


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """A run directory and its manifest, which a test leaves as they are."""
    folder = tmp_path_factory.mktemp("example")
    return folder, write_example(folder)


@given(st.data())
def test_any_flipped_bit_of_a_file_is_noticed(example, workers, data):
    folder, manifest = example
    path = folder / data.draw(st.sampled_from([file.name for file in manifest.files]))
    good = path.read_bytes()
    bit = data.draw(st.integers(0, 8 * len(good) - 1))
    damaged = bytearray(good)
    damaged[bit // 8] ^= 1 << bit % 8
    refused_with(folder, path, bytes(damaged), workers, "damaged")


@pytest.mark.slow
@given(st.data())
def test_a_file_of_any_other_length_is_noticed(example, workers, data):
    folder, manifest = example
    path = folder / data.draw(st.sampled_from([file.name for file in manifest.files]))
    good = path.read_bytes()
    length = data.draw(st.integers(0, len(good) - 1))
    for other in (good[:length], good[:length] + bytes(len(good) - length), good + good[: length + 1]):
        if other != good:
            refused_with(folder, path, other, workers, "damaged")


def refused_with(folder, path, damaged, workers, words):
    """Assert that a run is refused while a file is damaged, that it is named, and that nothing else is touched."""
    good = path.read_bytes()
    path.write_bytes(damaged)
    (folder / "bounds-9-9-9.h5").touch()
    try:
        with pytest.raises(RunDirectoryError, match=words) as caught:
            recover(folder, read_manifest(folder), 1 << 30, workers)
    finally:
        path.write_bytes(good)
    assert str(path) in str(caught.value)
    assert (folder / "bounds-9-9-9.h5").exists()


def test_hdf5_sees_no_damaged_file(tmp_path, monkeypatch):
    file = write_example(tmp_path).files[0]
    (tmp_path / file.name).write_bytes(bytes(file.bytes))
    monkeypatch.setattr(arrays_module, "open_arrays", None)
    with pytest.raises(RunDirectoryError, match="damaged"):
        read_arrays(tmp_path, file)


def test_a_file_that_is_missing_is_named(tmp_path, workers):
    manifest = write_example(tmp_path)
    (tmp_path / "scores.h5").unlink()
    with pytest.raises(RunDirectoryError, match=r"scores\.h5 cannot be read \(No such file.*start the run again"):
        recover(tmp_path, manifest, 1 << 30, workers)


def test_a_newer_format_asks_for_an_upgrade(tmp_path):
    newer = {"format_version": FORMAT_VERSION + 1, "extbnsl": "7.1", "what": "nobody knows"}
    (tmp_path / MANIFEST).write_bytes(sealed(newer))
    said = refusal(tmp_path)
    assert "extbnsl 7.1" in said
    assert "upgrade extbnsl" in said


def test_an_older_format_names_the_version_that_can_resume_it(tmp_path):
    (tmp_path / MANIFEST).write_bytes(sealed({"format_version": 0, "extbnsl": "0.0.1", "state": {}}))
    said = refusal(tmp_path)
    assert "made by extbnsl 0.0.1" in said
    assert f"this is {extbnsl.__version__}" in said
    assert "start a new run" in said


def test_a_folder_without_a_manifest_is_refused(tmp_path):
    with pytest.raises(RunDirectoryError, match=rf"{tmp_path} has no manifest\.json.*start the run again"):
        read_manifest(tmp_path)


def test_a_run_directory_that_is_not_there_is_named(tmp_path):
    (tmp_path / "file").touch()
    for name in ("none", "file"):
        with pytest.raises(InputError, match=f"no run directory .*{name}"):
            read_manifest(tmp_path / name)


def test_a_manifest_that_cannot_be_read_is_named(tmp_path, failing):
    (tmp_path / "a" / MANIFEST).mkdir(parents=True)
    with pytest.raises(RunDirectoryError, match=r"manifest\.json is a folder"):
        read_manifest(tmp_path / "a")
    failing("os.open", errno.EACCES)
    with pytest.raises(InputError, match=r"manifest\.json cannot be read \(Permission denied\)"):
        read_manifest(tmp_path)


def test_a_scratch_folder_that_is_missing_is_named(tmp_path, workers):
    scratch = tmp_path / "disk" / "x.run-00000001"
    (tmp_path / "x.run").mkdir()
    manifest = write_example(tmp_path / "x.run", scratch)
    assert recover(tmp_path / "x.run", manifest, 1 << 30, workers).folder == scratch
    (tmp_path / "disk").rename(tmp_path / "elsewhere")
    with pytest.raises(RunDirectoryError, match=rf"{scratch}, which is not there; mount"):
        recover(tmp_path / "x.run", manifest, 1 << 30, workers)


DEBRIS = ["bounds-3-1-1.h5", LAYERS[9], "runs/counting-01-joint-0-0-5.h5", ".manifest.json.77.tmp"]
DEBRIS += [".network.bif.1.tmp"]
OTHERS = ["result.json", "network.bif", "status.json", "log.jsonl", "solve.log", "lock", "notes.txt", "scores.h5.bak"]
OTHERS += [".hidden", "x.tmp", ".x.tmp", ".x.12.tmp.bak", "layers/notes.txt", "mine/9.h5", "layers/mine/9.h5"]
OTHERS += [
    "mine.h5",
    "bounds-3.h5",
    "layers/9.h5",
    "runs/mine.h5",
    ".notes.txt.12.tmp",
    ".x.12.tmp",
    "layers/scores.h5",
]


@pytest.mark.parametrize("with_scratch", [False, True])
def test_debris_is_removed_and_nothing_else(tmp_path, workers, with_scratch):
    folder, scratch = tmp_path / "x.run", tmp_path / "x.run-00000001"
    if with_scratch:
        marked(scratch)
    places = [folder, scratch] if with_scratch else [folder]
    for place in places:
        for name in (*DEBRIS, *OTHERS):
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).touch()
        (place / "folder.h5").mkdir()
        (place / LAYERS[8]).symlink_to(place / "notes.txt")
    manifest = write_example(folder, scratch if with_scratch else None)
    before = set(tmp_path.rglob("*"))
    recover(folder, manifest, 1 << 30, workers)
    removed = {place / name for place in places[-1:] for name in (*DEBRIS, LAYERS[8])}
    removed |= {folder / name for name in DEBRIS if name.endswith(".tmp")}
    assert before - set(tmp_path.rglob("*")) == removed


def test_a_run_directory_that_is_named_in_two_ways_keeps_its_files(tmp_path, workers):
    """A scratch folder beside the run directory, by way of a link."""
    (tmp_path / "disk" / "x.run").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "disk")
    with contextlib.chdir(tmp_path / "disk"):
        manifest = write_example(Path("x.run"), tmp_path / "link" / "x.run-00000001")
        recover(Path("x.run"), manifest, 1 << 30, workers)
        recover(Path("x.run"), manifest, 1 << 30, workers)


def test_a_stop_ends_the_recovery_with_nothing_removed(tmp_path):
    manifest = write_example(tmp_path)
    (tmp_path / "bounds-9-9-9.h5").touch()
    with Workers(1, lambda: "interrupted") as stopping, pytest.raises(Stopped, match="interrupted"):
        recover(tmp_path, manifest, 1 << 30, stopping)
    assert (tmp_path / "bounds-9-9-9.h5").exists()
