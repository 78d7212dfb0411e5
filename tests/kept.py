"""Values as a manifest keeps them, and as whoever goes on gets them back."""

import json

from extbnsl.core.codec import decode, encode, json_text
from extbnsl.files.arrays import NAMES, named
from extbnsl.parents.exhaustive.state import StoredEnumeration
from extbnsl.search.runs import Run, find_run
from extbnsl.search.state import SearchState


def as_kept(value):
    """The JSON value of a part of a standing, as it comes out of a file."""
    return json.loads(json_text(encode(value, NAMES)))


def search_state(document, files, folder):
    """The state of a search that was kept, with its files in a folder."""
    readers = named(files)
    return decode(SearchState, document, {**readers, Run: lambda run: find_run(run, readers, folder)})


def enumeration(stored):
    """A stored enumeration, when it has been kept."""
    return decode(StoredEnumeration, as_kept(stored), named(stored.files))
