"""Scratch folders: without the right mark nothing in one is touched."""

import os
import stat

import pytest

from extbnsl.core.errors import InputError, RunDirectoryError
from extbnsl.files import names
from extbnsl.files.store import Scratch, check_scratch, is_marked, make_scratch, new_scratch, remove_scratch


@pytest.fixture
def scratch(tmp_path):
    made = new_scratch(tmp_path, tmp_path / "x.run")
    make_scratch(made)
    return made


def test_each_is_another_folder_below_the_one_that_was_given(tmp_path):
    found = [new_scratch(tmp_path, tmp_path / "x.run") for _ in range(2)]
    assert len({one.path for one in found}) == len({one.mark for one in found}) == 2
    for one in found:
        assert one.folder.parent == tmp_path
        assert one.folder.name.startswith("x.run-")
        assert names.is_scratch_path(one.path)


@pytest.mark.parametrize("path", ["/home/user", "/home/../x-00000001", "x-00000001", "/a//x-00000001", "/x-0000001\0"])
def test_other_paths_are_none_of_a_scratch_folder(path):
    assert not names.is_scratch_path(path)


def test_a_folder_that_is_made_is_marked_and_goes_again(scratch):
    assert is_marked(scratch)
    check_scratch(scratch)
    make_scratch(scratch)
    (scratch.folder / "layers").mkdir()
    remove_scratch(scratch)
    assert not scratch.folder.exists()


def test_an_empty_folder_is_what_a_removal_or_a_making_that_was_cut_short_leaves(scratch):
    (scratch.folder / names.MARK).unlink()
    (scratch.folder / names.temporary(names.MARK, 7)).touch()
    make_scratch(scratch)
    assert is_marked(scratch)
    for path in scratch.folder.iterdir():
        path.unlink()
    remove_scratch(scratch)
    assert not scratch.folder.exists()


def test_a_folder_with_anything_in_it_is_not_taken(scratch):
    (scratch.folder / names.MARK).unlink()
    (scratch.folder / "mine.txt").touch()
    with pytest.raises(InputError, match=r"holds 'mine\.txt'"):
        make_scratch(scratch)
    remove_scratch(scratch)
    assert os.listdir(scratch.folder) == ["mine.txt"]


@pytest.mark.parametrize("mark", ["0" * 32, "", None])
def test_without_the_right_mark_a_folder_is_refused_and_left_alone(scratch, mark):
    (scratch.folder / "layers").mkdir()
    if mark is None:
        (scratch.folder / names.MARK).unlink()
    else:
        (scratch.folder / names.MARK).write_text(mark)
    before = sorted(os.listdir(scratch.folder))
    with pytest.raises(RunDirectoryError, match="does not carry the mark"):
        check_scratch(scratch)
    remove_scratch(scratch)
    assert sorted(os.listdir(scratch.folder)) == before


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: os.symlink("/dev/zero", path)])
def test_a_mark_that_is_no_file_is_none(scratch, make):
    (scratch.folder / names.MARK).unlink()
    make(scratch.folder / names.MARK)
    assert not is_marked(scratch)


def test_a_link_to_a_folder_is_none(scratch, tmp_path):
    os.symlink(scratch.folder, tmp_path / "link-00000001")
    assert not is_marked(Scratch(str(tmp_path / "link-00000001"), scratch.mark))


def test_folders_for_arrays_that_are_links_are_refused(scratch, tmp_path):
    (scratch.folder / "layers").symlink_to(tmp_path)
    with pytest.raises(RunDirectoryError, match="layers is a link, and a run has a folder there"):
        check_scratch(scratch)
    assert stat.S_ISLNK(os.lstat(scratch.folder / "layers").st_mode)
