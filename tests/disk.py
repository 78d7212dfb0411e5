"""A disk that fails: what is left of files written through `extbnsl.files` after a kill, a power loss or a full disk.

While a `Disk` watches, it keeps, beside what processes see, what is on disk for sure: the content of a file when it
was last synchronised, the names in a folder when that folder was. With the rest a power loss may do anything.
"""

import builtins
import contextlib
import io
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from extbnsl.files import arrays, atomic
from extbnsl.files.journal import Journal

CALLS = ("open", "fsync", "replace", "unlink", "mkdir", "rmdir")


class Killed(BaseException):
    """The process has ended; whatever it still tries to do with files (`finally`) raises this again."""


@dataclass(eq=False)
class Node:
    """A file: the content that processes see, and the one at its last fsync; a folder has None."""

    seen: bytes | None
    safe: bytes | None

    def after_power_loss(self, rng):
        """The old content, the new one, nothing, or a part of the new one, cut off or followed by garbage or zeros."""
        if self.seen == self.safe:
            return self.safe
        part = self.seen[: rng.randrange(len(self.seen) + 1)]
        rest = len(self.seen) - len(part)
        return rng.choice([self.safe, self.seen, b"", part, part + rng.randbytes(rest), part + bytes(rest)])


class Disk:
    """All that is below the folder `root`, which is on disk at first.

    Each of watch, crash_at and fail_write is a context; only within it may files be written. The calls that change
    the disk are counted in `calls`, from 1: creations, writes, fsync, renames, removals, new folders.
    """

    def __init__(self, root):
        self.root = Path(root)
        # What each name has stood for since its folder was synchronised, the last of it now; None is nothing.
        self._nodes = {path: [Node(data, data)] for path, data in contents(self.root).items()}

    def crash_at(self, call, after=False):
        """The process is killed at this call, before it has its whole effect or after."""
        return self.watch(call, "after" if after else "before")

    def fail_write(self, call, number):
        """This call raises OSError with this number; half of a write is done."""
        return self.watch(call, number)

    @contextlib.contextmanager
    def watch(self, fatal=0, way=None):
        """Follow what is done in this block."""
        self.calls, self._fatal, self._way, self._dead = 0, fatal, way, False
        self._real = {name: getattr(os, name) for name in CALLS}
        with contextlib.ExitStack() as patches:
            for name in CALLS:
                patches.enter_context(mock.patch.object(os, name, self._watched(name)))
            for module in (arrays, atomic):
                patches.enter_context(mock.patch.object(module, "open", self._open_file, create=True))
            watching = {name: getattr(os, name) for name in CALLS}
            try:
                yield self
            finally:
                assert watching == {name: getattr(os, name) for name in CALLS}, "patched inside of the watch"
                seen = {path: nodes[-1].seen for path, nodes in self._nodes.items() if nodes[-1]}
                assert contents(self.root) == seen, "something was written in a way that is not watched"

    def lose_power(self, rng):
        """Turn the folder into what may be found after a power loss at this moment, and watch that from now on."""
        found = self.after_power_loss(rng)
        restore(self.root, found)
        self._nodes = {path: [Node(data, data)] for path, data in found.items()}

    def after_power_loss(self, rng):
        """What may be found then, as `contents`."""
        found = {self.root: None}
        for path, nodes in sorted(self._nodes.items()):
            node = rng.choice(nodes)
            if node and path.parent in found:
                found[path] = node.after_power_loss(rng)
        del found[self.root]
        return found

    def call(self, effect, half=lambda: None):
        """One call: its effect, or the misfortune that is due."""
        if self._dead:
            raise Killed
        self.calls += 1
        if self.calls != self._fatal:
            return effect()
        with contextlib.suppress(OSError):
            effect() if self._way == "after" else half()
        if isinstance(self._way, int):
            raise OSError(self._way, os.strerror(self._way))
        self._dead = True
        raise Killed

    def node(self, path):
        """What a name stands for now."""
        return self._nodes.get(Path(path), [None])[-1]

    def _bind(self, path, node):
        self._nodes.setdefault(Path(path), [None]).append(node)

    def _watched(self, name):
        """A call of the system, followed below the root: other files, such as those that numba caches, are nobody's."""
        real, own = self._real[name], getattr(self, f"_{name}")

        def do(where, *rest, **options):
            path = path_of(where) if isinstance(where, int) else Path(where)
            return (own if self.root in (path, *path.parents) else real)(where, *rest, **options)

        return do

    def _open(self, path, flags, *mode, **options):
        if not flags & os.O_CREAT:
            return self._real["open"](path, flags, *mode, **options)
        return self.call(lambda: self._create(path, flags, *mode))

    def _create(self, path, *how):
        descriptor = self._real["open"](path, *how)
        if self.node(path):
            self.node(path).seen = b""
        else:
            self._bind(path, Node(b"", b""))
        return descriptor

    def _open_file(self, file, mode):
        if mode == "wb":
            new = file if isinstance(file, int) else os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
            return _Writer(self, new)
        return builtins.open(file, mode)

    def _fsync(self, descriptor):
        self.call(lambda: self._make_safe(path_of(descriptor)))

    def _make_safe(self, path):
        if path.is_dir():
            for inside in (nodes for name, nodes in self._nodes.items() if name.parent == path):
                del inside[:-1]
        else:
            self.node(path).safe = self.node(path).seen

    def _replace(self, source, target):
        self.call(lambda: self._rename(source, target))

    def _rename(self, source, target):
        self._real["replace"](source, target)
        self._bind(target, self.node(source))
        self._bind(source, None)

    def _unlink(self, path):
        self.call(lambda: (self._real["unlink"](path), self._bind(path, None)))

    def _rmdir(self, path):
        self.call(lambda: (self._real["rmdir"](path), self._bind(path, None)))

    def _mkdir(self, path, *mode):
        self.call(lambda: (self._real["mkdir"](path, *mode), self._bind(path, Node(None, None))))


class _Writer(io.FileIO):
    """A file that storage writes: each write is a call, and nothing is held back in a buffer."""

    def __init__(self, disk, descriptor):
        super().__init__(descriptor, "wb")
        self._disk, self._node = disk, disk.node(path_of(descriptor))

    def write(self, data):
        self._disk.call(lambda: self._append(data), half=lambda: self._append(data[: len(data) // 2]))

    def _append(self, data):
        super().write(data)
        self._node.seen += data


def path_of(descriptor):
    """The path of an open file."""
    return Path(os.readlink(f"/proc/self/fd/{descriptor}"))


def contents(root):
    """What is below a folder: the bytes of each file by its path, None for a folder."""
    return {path: None if path.is_dir() else path.read_bytes() for path in Path(root).rglob("*")}


def restore(root, found):
    """Make a folder hold just what `contents` has found."""
    for path in Path(root).iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    for path, data in sorted(found.items()):
        path.mkdir() if data is None else path.write_bytes(data)


@contextlib.contextmanager
def killed_at_line(line, after):
    """The process is killed while it appends this line of its journals, from 1, a part of it written, or after."""
    append, calls = Journal.append, []

    def killing(journal, text):
        calls.append(text)
        if len(calls) == line and not after:
            os.pwrite(journal._file, text.encode()[:20], journal._length)  # torn
            raise Killed
        append(journal, text)
        if len(calls) == line:
            raise Killed

    with mock.patch.object(Journal, "append", killing):
        yield
