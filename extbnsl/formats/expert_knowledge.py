"""Knowledge from Python: a Knowledge, a dict with the keys of the file, the path of one, or another package's object.

An object as pgmpy's ExpertKnowledge has `required_edges`, `forbidden_edges`, `search_space` (pairs of parent and child)
and `temporal_order` (a list of lists); what it lacks, or has as None, says nothing.
"""

from collections.abc import Mapping
from os import PathLike
from typing import Any

from extbnsl.core.arguments import path_of
from extbnsl.core.errors import InputError
from extbnsl.core.knowledge import NOTHING, Knowledge

_ATTRIBUTES = {
    "required": "required_edges",
    "forbidden": "forbidden_edges",
    "allowed": "search_space",
    "tiers": "temporal_order",
}


def knowledge_given(given: Any) -> Knowledge:
    """The knowledge that is given, in any of these ways; InputError if it is none."""
    from extbnsl.formats.knowledge_file import knowledge_of, read_knowledge

    if given is None:
        return NOTHING
    if isinstance(given, Knowledge):
        return given
    if isinstance(given, Mapping):
        return knowledge_of(given)
    if isinstance(given, str | PathLike):
        return read_knowledge(path_of(given, "knowledge"))
    if not any(hasattr(given, name) for name in _ATTRIBUTES.values()):
        raise InputError(
            f"knowledge: {type(given).__name__} is none; give a dict with required, forbidden, tiers, ..., a file of "
            "these, or an object with required_edges, forbidden_edges, temporal_order or search_space."
        )
    found: dict[str, Any] = {}
    for key, name in _ATTRIBUTES.items():
        own = getattr(given, name, None)
        if own is not None and len(own) > 0:
            found[key] = [list(part) if isinstance(part, list | tuple | set | frozenset) else part for part in own]
    return knowledge_of(found)
