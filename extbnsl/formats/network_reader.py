"""Networks of other programs, in whichever of the formats that have tables: BIF, XMLBIF, XDSL and NET."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path

from extbnsl.core.codec import decode, json_value
from extbnsl.core.errors import InputError
from extbnsl.core.figures import format_size
from extbnsl.data.text import Reading, data_blocks, text_blocks
from extbnsl.files.atomic import open_given, read_given
from extbnsl.formats import bif, hugin
from extbnsl.formats.network_xml import read_xml
from extbnsl.formats.spelling import Change, names_file
from extbnsl.formats.tabled import Declared, Source, TabledNetwork
from extbnsl.networks.network import Network

LARGEST_FILE = 1 << 28  # bytes, unpacked; the largest of the repositories has some 10 MiB
SUFFIXES = (".bif", ".bifxml", ".xmlbif", ".xml", ".xdsl", ".net", ".oobn")
_XML = re.compile(rb"(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?[\s\0]*<")
_FIRST = re.compile(r"(?:\s++|//[^\n]*|/\*.*?\*/|%[^\n]*)*+([^\s\"({]*)", re.DOTALL)


def is_network_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file is named as networks are: .bif .bifxml .xmlbif .xml .xdsl .net .oobn, with or without .gz."""
    return os.fspath(path).lower().removesuffix(".gz").endswith(SUFFIXES)


def read_network(path: str | os.PathLike[str]) -> TabledNetwork:
    """Read a Bayesian network of discrete variables, with its tables, from a file of another program.

    The format is found by the content, and then by the name: BIF, XMLBIF 0.3, XDSL of GeNIe, or NET of Hugin; plain or
    gzip. Where a file of extbnsl spells a name or a state in another way, what it was is what comes back, from the
    comments of BIF or the file beside, `FILE.names.json`. It takes about a second for a million numbers.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    TabledNetwork
        Variables, parents, states and tables, in the order of the file.

    Raises
    ------
    InputError
        Naming the line: for a file that is none of these or has no tables of states, names that are not declared,
        tables that lack a row or do not sum to 1, cycles, and more than 256 MiB.
    """
    name = os.fspath(path)
    blocks = _within(name, data_blocks(name, name, Reading(), open_given))
    first = next(blocks, b"")
    if _XML.match(first):
        first = first.lstrip()  # no blank may stand before the declaration, but some do
        return _with_originals(read_xml(name, chain([first], blocks)).network(), told_beside(name))
    text = b"".join(_within(name, text_blocks(name, Reading(), open_given))).decode()
    return _with_originals(_declared(name, text).network(), bif.originals_in(text) or told_beside(name))


def _within(path: str, blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The blocks of a file; InputError if they are too much."""
    size = 0
    for block in blocks:
        size += len(block)
        if size > LARGEST_FILE:
            raise InputError(f"{path} has more than {format_size(LARGEST_FILE)}: is it the right file?")
        yield block


def _declared(path: str, text: str) -> Declared:
    """What a text declares that is in BIF or in NET, by its first word or, if that tells nothing, by its name."""
    source = Source(path, lambda at: text.count("\n", 0, at) + 1)
    first = _FIRST.match(text)
    word, ending = "" if first is None else first[1], path.lower().removesuffix(".gz")
    if word in bif.KINDS.split("|") or (word not in hugin.KINDS.split("|") and ending.endswith(".bif")):
        return bif.read_bif(source, text)
    if word in hugin.KINDS.split("|") or ending.endswith((".net", ".oobn")):
        return hugin.read_net(source, text)
    raise InputError(f"{path} is none of BIF, XMLBIF, XDSL and NET: is it a file of a network?")


def told_beside(path: str) -> list[Change]:
    """What the file beside an exported one tells of what it spells in another way, if there is one."""
    beside = names_file(Path(path))
    if not beside.exists():
        return []
    with suppress(ValueError):  # Misfit is one
        return decode(list[Change], json_value(read_given(beside, LARGEST_FILE)))
    raise InputError(f"{beside} does not tell names as extbnsl does: move it away.")


def _with_originals(read: TabledNetwork, changes: Sequence[Change]) -> TabledNetwork:
    """The network with the names and labels that somebody had to spell in another way."""
    labels: dict[tuple[str, str], str] = {}
    for change in changes:
        match change:
            case {"variable": str(name), "state": str(state), "label": str(original)}:
                labels[name, state] = original
    states = tuple(
        tuple(labels.get((name, state), state) for state in row)
        for name, row in zip(read.network.names, read.states, strict=True)
    )
    if any(len(set(row)) < len(row) for row in states):
        raise InputError("The original labels of the states of a variable must be distinct.")
    return TabledNetwork(renamed(read.network, changes), states, read.tables)


def renamed(network: Network, changes: Iterable[Change]) -> Network:
    """The network with the names that somebody had to spell in another way; raises as `Network.check` does."""
    names: dict[str, str] = {}
    for change in changes:
        match change:
            case {"variable": str(name), "name": str(original)}:
                names[name] = original
    found = Network(tuple(names.get(name, name) for name in network.names), network.parents)
    found.check()
    return found
