"""The files that a result is written as."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from extbnsl.files.documents import json_text
from extbnsl.files.names import BIF, DOCUMENT, DOT, RESULT

if TYPE_CHECKING:
    from extbnsl.results.result import Result


def outputs(result: "Result", command: str) -> Iterator[tuple[str, bytes]]:
    """The files that tell a result, as (name, content); the parameters are in them if the result has data.

    The result itself comes first, and nothing else is computed before it is taken.
    """
    from extbnsl.formats.bif import bif_text
    from extbnsl.formats.dot import dot_text
    from extbnsl.formats.network_json import network_document
    from extbnsl.networks.parameters import fit

    yield _file(RESULT, json_text(result.document(command), indent=1))
    network, dataset = result.network, result.dataset
    states = None if dataset is None else dataset.states
    tables = None if dataset is None else fit(network, dataset)
    yield _file(DOCUMENT, json_text(network_document(network, states, tables, result.cost)))
    yield _file(DOT, dot_text(network))
    if states is not None and tables is not None:
        yield _file(BIF, bif_text(network, states, tables))


def _file(name: str, text: str) -> tuple[str, bytes]:
    return name, encoded(f"{text.rstrip()}\n")


def encoded(text: str) -> bytes:
    # A file name need not be Unicode; what is not comes out as JSON writes it.
    return text.encode("utf-8", "backslashreplace")
