"""What a posterior has so far: what a solve has, and then how far its sums are."""

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.codec import UNKEPT, Misfit, Whole, decode, encode
from extbnsl.files import names
from extbnsl.files.arrays import StoredFile
from extbnsl.files.manifest import Manifest
from extbnsl.files.shelf import Shelf, array_pieces, read_pieces
from extbnsl.proof.commits import Commits, Record
from extbnsl.proof.context import Context
from extbnsl.proof.standing import Standing, read_standing
from extbnsl.solver.engines import KINDS, State

ARRAY = "array"  # in files of its pieces
DIGEST_BYTES = 16  # two pieces have the same by chance with a probability of 1e-20 at worst


@dataclass(frozen=True)
class StoredArray:
    """An array in files: so many rows, some in each."""

    files: tuple[StoredFile, ...]
    length: Whole


@dataclass(frozen=True)
class StoredSums:
    """The state of an engine in files.

    engine: of KINDS.
    state: as JSON values, in which a number stands for each of the arrays.
    """

    engine: Annotated[str, KINDS.__contains__]
    state: Any
    arrays: tuple[StoredArray, ...]

    def read(self, folder: Path, shelf: Shelf) -> State:
        """The state, long arrays on the shelf; Misfit if it is none, RunDirectoryError if a file is damaged."""

        def array(number: Any) -> NDArray[Any]:
            if type(number) is not int or not 0 <= number < len(self.arrays):
                raise Misfit
            own = self.arrays[number]
            (column, rows), *others = read_pieces(folder, own.files, {ARRAY: own.length}, shelf).values() or [(None, 0)]
            if column is None or rows != own.length or others:
                raise Misfit
            return column.array()

        found: State = decode(KINDS[self.engine], self.state, {np.ndarray: array})
        return found


@dataclass
class PosteriorStanding(Standing):
    """What is known so far.

    summing: whether the network of least cost is known, and all networks are being summed.
    sums: how far that is, once it is begun.
    stored: the sums in files.
    """

    summing: Annotated[bool, UNKEPT] = False
    sums: Annotated[State | None, UNKEPT] = None
    stored: StoredSums | None = None

    @property
    def phase(self) -> str:
        return "sums" if self.summing and not self.done else super().phase

    def ended(self) -> "PosteriorStanding":
        return replace(self, counting=None, scores=None, search=None, stored=None, done=True)


def read_posterior(manifest: Manifest, folder: Path, shelf: Shelf, variables: int) -> PosteriorStanding:
    """As `read_standing`, with the sums."""
    standing = read_standing(manifest, folder, shelf, variables, PosteriorStanding)
    if standing.stored is not None:
        standing.sums = standing.stored.read(folder, shelf)
    return standing


class PosteriorCommits(Commits):
    """The commits of a posterior."""

    start = PosteriorStanding
    read = staticmethod(read_posterior)
    standing: PosteriorStanding

    def __init__(self, standing: PosteriorStanding, context: Context, record: Record | None = None) -> None:
        super().__init__(standing, context, record)
        self._written = dict[bytes, StoredFile]()  # the pieces of the last commit by this process, by digests

    def stored(self) -> tuple[StoredFile, ...]:
        """The files of a solve, and those of the sums; a piece that is in a file already stays there."""
        standing, files, arrays = self.standing, super().stored(), list[StoredArray]()
        if standing.sums is None:
            return files
        now = dict[bytes, StoredFile]()

        def shelve(array: NDArray[Any]) -> int:
            pieces = tuple(self._in_file(piece, now) for piece in array_pieces(array))
            arrays.append(StoredArray(pieces, array.shape[0]))
            return len(arrays) - 1

        state = encode(standing.sums, {np.ndarray: shelve})
        standing.stored = StoredSums(standing.sums.engine, state, tuple(arrays))
        self._written = now
        return (*files, *now.values())

    def _in_file(self, piece: NDArray[Any], now: dict[bytes, StoredFile]) -> StoredFile:
        """The file of a piece; `now` gets it, by its digest."""
        digest = hashlib.blake2b(piece.tobytes(), digest_size=DIGEST_BYTES)
        digest.update(f"{piece.dtype} {piece.shape}".encode())
        key = digest.digest()
        if (known := now.get(key) or self._written.get(key)) is None:
            self.standing.version += 1
            known = self.store.write(names.sums(self.standing.version), {ARRAY: piece})
        now[key] = known
        return known
