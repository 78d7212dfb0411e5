"""Networks in XML: XMLBIF 0.3, as Weka, JavaBayes, pgmpy and pyAgrum write it, and XDSL of GeNIe and SMILE.

The files come from anyone. A document that declares entities is refused, whatever they stand for, and nothing outside
the file is ever read (W3C, XML 1.0, section 4.2); so are elements that are nested deeply, or too many.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from xml.parsers import expat

import numpy as np

from extbnsl.core.errors import InputError
from extbnsl.formats.tabled import Declared, Family, Fill, Source, Table, in_rows

DEEPEST = 64  # levels of elements; XDSL has some ten, one more for each submodel in another
MOST_ELEMENTS = 1 << 22


@dataclass(eq=False)
class _Element:
    """An element of XML: its line, the texts in it, and the elements in it."""

    tag: str
    attributes: dict[str, str]
    line: int
    texts: list[str] = field(default_factory=list)
    elements: list["_Element"] = field(default_factory=list)

    @property
    def text(self) -> str:
        """What it says, with single blanks."""
        return " ".join("".join(self.texts).split())

    def all(self, tag: str) -> list["_Element"]:
        """The elements in it with this tag."""
        return [each for each in self.elements if each.tag == tag]

    def one(self, source: Source, tag: str) -> "_Element":
        """The only element in it with this tag; InputError if there is none, or there are several."""
        found = self.all(tag)
        if len(found) != 1:
            raise source.fault(f"<{self.tag}> has {len(found)} elements <{tag}> instead of one: correct it", self.line)
        return found[0]


def read_xml(path: str, blocks: Iterable[bytes]) -> Declared:
    """What a document declares, in XMLBIF or XDSL, by its first element; it comes in blocks."""
    source = Source(path, int)
    root = _Tree(source).root(blocks)
    if root.tag not in _READERS:
        raise InputError(f"{path} is XML of <{root.tag}>, and networks are in <BIF> or <smile>: is it the right file?")
    return _READERS[root.tag](source, root)


class _Tree:
    """The elements of a document, as they are parsed."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._opened = [_Element("", {}, 0)]
        self._count = 0
        self._parser = parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = lambda _: self._opened.pop()
        parser.CharacterDataHandler = lambda text: self._opened[-1].texts.append(text)
        parser.EntityDeclHandler = parser.SkippedEntityHandler = parser.ExternalEntityRefHandler = self._entity

    def root(self, blocks: Iterable[bytes]) -> _Element:
        """The first element of a document, which comes in blocks, with all others in it."""
        top = self._opened[0]
        try:
            for block in blocks:
                self._parser.Parse(block)
            self._parser.Parse(b"", True)
        except expat.ExpatError as error:
            what = expat.ErrorString(error.code)
            raise self._source.fault(f"it is no well-formed XML ({what}): correct it", error.lineno) from None
        except (LookupError, ValueError):
            raise InputError(f"{self._source.path} has an encoding that is not known: save it as UTF-8.") from None
        return top.elements[0]

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._count += 1
        line = self._parser.CurrentLineNumber
        if len(self._opened) > DEEPEST or self._count > MOST_ELEMENTS:
            what = "nested too deeply" if len(self._opened) > DEEPEST else "too many"
            raise self._source.fault(f"the elements are {what} for a network: is it the right file?", line)
        element = _Element(tag, attributes, line)
        self._opened[-1].elements.append(element)
        self._opened.append(element)

    def _entity(self, *_: object) -> int:
        line = self._parser.CurrentLineNumber
        raise self._source.fault("entities have no place in a network: write out what they stand for", line)


def _xmlbif(source: Source, root: _Element) -> Declared:
    version = root.attributes.get("VERSION", "0.3")
    if version != "0.3":
        raise source.fault(f"it is XMLBIF of version {version!r}: save it as 0.3", root.line)
    network, declared = root.one(source, "NETWORK"), Declared(source)
    for variable in network.all("VARIABLE"):
        name, kind = variable.one(source, "NAME").text, variable.attributes.get("TYPE", "nature")
        if kind != "nature":
            raise source.fault(f"{name!r} is a {kind} node: leave it out, or make it one of nature", variable.line)
        declared.variable(name, [state.text for state in variable.all("OUTCOME")], variable.line)
    for definition in network.all("DEFINITION"):
        parents = [parent.text for parent in definition.all("GIVEN")]
        numbers = definition.one(source, "TABLE")
        fill = in_rows(source, numbers.text.split(), numbers.line)
        declared.family(definition.one(source, "FOR").text, Family(definition.line, parents, fill))
    return declared


def _xdsl(source: Source, root: _Element) -> Declared:
    if root.all("dynamic"):
        raise source.fault("it is a dynamic network: unroll it in GeNIe, and save that", root.all("dynamic")[0].line)
    programs = (genie.attributes.get("app", "") for each in root.all("extensions") for genie in each.all("genie"))
    turned = any(program.startswith("aGrUM") for program in programs)
    declared = Declared(source)
    for node in root.one(source, "nodes").elements:
        name = node.attributes.get("id", "")
        if node.tag not in ("cpt", "deterministic"):
            advice = "change it to a general one in GeNIe, or leave it out"
            noisy = " (noisy-or and the like)" if node.tag.startswith("noisy") else ""
            raise source.fault(
                f"{name!r} is a node of the kind {node.tag!r}{noisy}, without a table: {advice}", node.line
            )
        declared.variable(name, [state.attributes.get("id", "") for state in node.all("state")], node.line)
        parents = [parent for each in node.all("parents") for parent in each.text.split()]
        if node.tag == "deterministic":
            fill = _chosen(source, node.one(source, "resultingstates"))
        else:
            numbers = node.one(source, "probabilities")
            fill = in_rows(source, numbers.text.split(), numbers.line)
        declared.family(name, Family(node.line, parents, _turned(fill) if turned else fill))
    return declared


def _turned(fill: Fill) -> Fill:
    """The same for a file of aGrUM (as of 3.3.1), where the first parent changes fastest, which is GeNIe's slowest."""

    def turned(labels: Sequence[Sequence[str]]) -> Table:
        table = fill([*labels[-2::-1], labels[-1]])
        return table.transpose(*reversed(range(len(labels) - 1)), len(labels) - 1)

    return turned


def _chosen(source: Source, states: _Element) -> Fill:
    """What makes the table of a node that has one state for each configuration of its parents."""

    def fill(labels: Sequence[Sequence[str]]) -> Table:
        *arities, arity = map(len, labels)
        found, codes = states.text.split(), {label: code for code, label in enumerate(labels[-1])}
        if len(found) != math.prod(arities):
            raise source.fault(f"expected {math.prod(arities)} states, found {len(found)}", states.line)
        unknown = next((label for label in found if label not in codes), None)
        if unknown is not None:
            raise source.fault(f"the state {unknown!r} is none of {', '.join(codes)}: correct it", states.line)
        return np.eye(arity)[[codes[label] for label in found]].reshape(*arities, arity)

    return fill


_READERS: dict[str, Callable[[Source, _Element], Declared]] = {"BIF": _xmlbif, "smile": _xdsl}
