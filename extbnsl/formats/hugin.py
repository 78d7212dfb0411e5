"""NET of Hugin, read as Hugin (from 5 on), bnlearn, pgmpy, pyAgrum and GeNIe write it.

Blocks are `net`, `node` and `potential`; from 6 on there may be a `class` around them. A table has the numbers of a
potential's `data` in any brackets: the child changes fastest, then its last parent. Intervals without labels of their
own are called `[a,b)`, as the manual of Hugin has them, and numbered states by their numbers. Rows need not sum to 1:
Hugin divides them by their sum, and so do we.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from extbnsl.formats.blocks import Block, blocks_in, family_names, name_in, unquoted, without_comments, words
from extbnsl.formats.tabled import Declared, Family, Source, in_rows

KINDS = "net|node|potential|discrete|continuous|decision|utility|function|instance|temporal|class"
_NODE = re.compile(r"(?:discrete\s+)?node\b(.*)", re.DOTALL)


def read_net(source: Source, text: str) -> Declared:
    """What a text in NET declares; a % within a word, as pyAgrum writes, begins no comment."""
    declared = Declared(source)
    blocks = list(blocks_in(source, without_comments(text, r"|(?<!\w)%[^\n]*"), KINDS))
    for block in blocks:
        if (node := _NODE.fullmatch(block.head)) is not None:
            name = name_in(source, block, node[1])
            declared.variable(name, _states(source, block, name), block.at)
        elif block.head != "net" and not block.head.startswith("potential"):
            head = " ".join(block.head.split())
            raise source.fault(f"{head!r} is no discrete variable: leave it out, or make it one", block.at)
    for block in blocks:
        if block.head.startswith("potential"):
            child, *parents = family_names(source, block.head, block.at, declared.states, bar=True)
            numbers = re.sub("[()]", " ", _attributes(block).get("data", ""))
            if not numbers.strip():
                model = " but a model (such as noisy-or)" if "model_data" in _attributes(block) else ""
                raise source.fault(
                    f"the potential of {child!r} has no data{model}: compute its table in Hugin", block.at
                )
            fill = in_rows(source, words(numbers), block.at, proportional=True)
            declared.family(child, Family(block.at, parents, fill))
    return declared


def _attributes(block: Block) -> dict[str, str]:
    """The attributes of a block, by name."""
    parts = [statement.text.partition("=") for statement in block.statements]
    return {name.strip(): value.strip() for name, _, value in parts}


def _states(source: Source, block: Block, name: str) -> Sequence[str]:
    """The labels of a node's states."""
    attributes = _attributes(block)
    labels = _listed(attributes, "states")
    values = _listed(attributes, "state_values")
    if any(labels) or (not labels and not values):
        return labels
    kind = unquoted(attributes.get("subtype", ""))
    if kind == "number" and len(values) in (len(labels), len(labels) or len(values)):
        return values
    if kind == "interval" and len(values) - 1 in (len(labels), len(labels) or len(values) - 1):
        return [f"[{low},{high})" for low, high in pairwise(values)]
    raise source.fault(f"the states of {name!r} have no labels: name them", block.at)


def _listed(attributes: Mapping[str, str], name: str) -> list[str]:
    """The words of an attribute that is a list in brackets."""
    text = attributes.get(name, "").strip()
    return words(text[1:-1]) if text.startswith("(") and text.endswith(")") else []
